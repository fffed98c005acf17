#' Predictions
#'
#' @param object A fit of [riata()] or [cv.riata()].
#' @param newx New samples: a matrix or a data frame with the columns of the fit; for a fit with a formula a data frame.
#' @param s Values of \eqn{\lambda}: the model is the last point of the path whose \eqn{\lambda} does not exceed the value. For
#'   `cv.riata` also `"lambda.1se"` or `"lambda.min"`. By default the selected point.
#' @param nfeatures Instead of `s`, a number of features: the densest point with at most so many.
#' @param type `"response"`: the mean, the probability of the second class (of all classes for more than two), the hazard relative
#'   to an average sample, the median time. `"link"`: the output of the network, such as log odds or the log hazard. `"class"`: the
#'   most probable class. `"survival"`: the probability to be without the event at `times`.
#' @param times For `type = "survival"`; by default all times of the fit.
#' @param strata For `type = "survival"` of a model with strata: the stratum of each sample. A fit with a formula takes it from
#'   the new data.
#' @param refit Whether a point is refitted on its features without the penalty; by default as in the fit. An object that was
#'   saved holds no samples, so there only points that were asked for before are refitted, and a warning says so of others.
#' @param newdata Another name of `newx`.
#' @param ... Not used.
#' @return A vector; a matrix where there are several outputs, classes, times or values of `s`; for several of both a list with
#'   an element for each `s`. For `"class"` of a factor, a factor.
#' @examplesIf riata::riata_available()
#' fit <- riata(Species ~ ., iris, hidden = 10, seed = 1)
#' predict(fit, iris[c(1, 51, 101), ], type = "class")
#' predict(fit, iris[c(1, 51, 101), ], nfeatures = 1)
#' @export
predict.riata <- function(object, newx, s = NULL, nfeatures = NULL, type = c("response", "class", "link", "survival"),
                          times = NULL, strata = NULL, refit = NULL, newdata, ...) {
  refuse_dots(...)
  type <- match.arg(type)
  if (missing(newx)) {
    if (missing(newdata)) stop("give newx, the samples to predict: the fit holds none", call. = FALSE)
    newx <- newdata
  }
  check_type(object, type)
  live_model(object)
  table <- new_table(object, newx)
  if (type == "survival" && is.null(strata) && !is.null(object$formula)) strata <- new_strata(object$formula, newx)
  x <- python_table(table)
  at <- if (is.null(s)) list(NULL) else as.list(s)
  found <- lapply(at, function(one) {
    live <- live_at(object, one, nfeatures, refit %||% object$refit)
    found <- if (type == "survival") predict_survival(live, x, times, strata) else predict_one(object, live, x, type)
    with_rows(found, table$rows)
  })
  joined(found, s)
}

with_rows <- function(found, rows) {
  if (is.null(dim(found))) names(found) <- rows else rownames(found) <- rows
  found
}

refuse_dots <- function(...) {
  given <- names(list(...))
  if (...length()) stop("unused argument ", some(if (is.null(given)) "without a name" else given), call. = FALSE)
}

check_type <- function(object, type) {
  if (type == "class" && !classifies(object$family)) {
    stop("type = \"class\" is for models of classes; this one is of family \"", object$family, "\"", call. = FALSE)
  }
  if (type == "survival" && !survives(object$family)) {
    stop("type = \"survival\" is for family \"cox\" and \"aft\"; this model is of \"", object$family, "\"", call. = FALSE)
  }
}

# The columns of the fit, from new data: by name where both have names, else by position.
new_table <- function(object, newx) {
  if (!is.null(object$formula)) newx <- new_frame(object$formula, newx)
  table <- as_table(newx, "newx")
  keep <- object$columns$keep
  if (table$named && object$columns$named) {
    found <- match(object$features, table$names)
    if (anyNA(found)) stop("newx has no column ", some(object$features[is.na(found)]), call. = FALSE)
    return(columns_of(table, found))
  }
  expected <- length(object$columns$all_names)
  if (table$p != expected) {
    stop("newx has ", table$p, " columns; the model was fitted with ", expected, call. = FALSE)
  }
  table$names <- object$columns$all_names
  columns_of(table, keep)
}

predict_one <- function(object, live, x, type) {
  if (type == "class") return(predict_class(object, live, x))
  kind <- if (type == "link") "link" else if (classifies(object$family)) "probability" else "response"
  found <- in_order(ask_plain("predict", live, x, kind), object)
  if (kind == "probability") {
    colnames(found) <- object$classes
    return(if (object$family == "binomial") found[, 2L] else found)
  }
  if (type == "response" && object$family == "cox") found <- exp(found)
  if (ncol(found) == 1L) return(found[, 1L])
  colnames(found) <- output_labels(object, ncol(found))
  found
}

predict_class <- function(object, live, x) {
  found <- in_order(ask_plain("predict", live, x, "probability"), object)
  factor(object$classes[max.col(found, ties.method = "first")], levels = object$classes, ordered = object$family == "ordinal")
}

predict_survival <- function(live, x, times, strata) {
  more <- list()
  if (!is.null(strata)) more$strata <- as_texts(strata)
  if (!is.null(times)) more$at_times <- as_bytes(check_times(times))
  found <- do.call(ask_plain, c(list("survival", live, x), more))
  colnames(found$survival) <- vapply(found$times, format, "", digits = 15L)
  found$survival
}

check_times <- function(times) {
  if (is.numeric(times) && length(times) && !anyNA(times) && all(times >= 0)) return(times)
  stop("times must be numbers from 0 on, in the unit of y", call. = FALSE)
}

joined <- function(found, s) {
  if (length(found) == 1L) return(found[[1L]])
  names(found) <- lambda_labels(s)
  if (is.null(dim(found[[1L]])) && is.numeric(found[[1L]])) do.call(cbind, found) else found
}
