#' Coefficients
#'
#' The weights of the linear part of the network, on the original scale of x and y. For `M = 0` this is the whole model, and
#' there is an intercept where all columns are numbers. For `M > 0` the hidden layers add to them, so that they are not the
#' direction of an effect: see [effects.riata()]. A factor has `NA`, as it has no slope.
#'
#' @inheritParams predict.riata
#' @return A matrix with a row for each feature, zero where it is out, and a column for each output. For several values of `s` a
#'   column for each or, with several outputs, a list.
#' @examplesIf riata::riata_available()
#' lasso <- riata(mpg ~ ., mtcars,
#'   M = 0, val.size = 0, lambda = c(0.1, 0.5), select = 0.5, refit = FALSE, seed = 1
#' )
#' coef(lasso, s = c(0.1, 0.5))
#' @export
coef.riata <- function(object, s = NULL, nfeatures = NULL, refit = NULL, ...) {
  refuse_dots(...)
  if (is.null(s) && is.null(nfeatures) && is.null(refit)) return(labelled(object$coefficients, object$lambda))
  refit <- refit %||% object$refit
  at <- if (is.null(s)) list(NULL) else as.list(s)
  if (is.null(s) && is.null(nfeatures)) at <- list(object$lambda)
  found <- lapply(at, function(one) {
    live <- live_at(object, one, nfeatures, refit)
    point <- ask_plain("point", live, as_texts(object$features))
    labelled(coefficient_matrix(object, point), one %||% point$lambda)
  })
  if (length(found) == 1L) return(found[[1L]])
  if (ncol(found[[1L]]) == 1L) return(do.call(cbind, found))
  stats::setNames(found, lambda_labels(s))
}

lambda_labels <- function(s) paste0("s=", signif(s, 4L))

# A slope that does not exist is NA; a single output is named by lambda.
labelled <- function(found, lambda) {
  found[is.nan(found)] <- NA
  if (ncol(found) == 1L) colnames(found) <- lambda_labels(lambda)
  found
}

#' Selected features
#'
#' @param object A fit of [riata()], [cv.riata()], [stability()], [knockoffs()] or [impute()].
#' @param s,nfeatures Another point of the path: a value of \eqn{\lambda}, or at most so many features.
#' @param ... Not used.
#' @return The names of the features.
#' @examplesIf riata::riata_available()
#' fit <- riata(mpg ~ ., mtcars, hidden = 10, seed = 1)
#' selected(fit)
#' selected(fit, nfeatures = 2)
#' @export
selected <- function(object, ...) UseMethod("selected")

#' @rdname selected
#' @export
selected.riata <- function(object, s = NULL, nfeatures = NULL, ...) {
  refuse_dots(...)
  if (is.null(s) && is.null(nfeatures)) return(object$selected)
  live <- live_at(object, s, nfeatures, refit = FALSE)
  object$features[ask_plain("point", live, as_texts(object$features))$selected]
}

#' Importances
#'
#' Without new data, of a selected feature the \eqn{\lambda} at which it leaves the path, and the others below by what they explain
#' of the target; no two are equal. With samples that the model was not fitted on, the rise of the loss where the values of a
#' feature are shuffled, with an interval.
#'
#' @param object A fit of [riata()] or [cv.riata()].
#' @param newx,newy Samples that the model was not fitted on, and their target; for a fit with a formula `newx` is a data frame
#'   that may hold the target.
#' @param n_repeats Permutations of each feature.
#' @param level Coverage of the intervals.
#' @param seed A whole number; `NULL` takes it from R's random numbers.
#' @param ... Not used.
#' @return A named vector, the most important first; with new data, a data frame with the columns `feature`, `importance`, `low`,
#'   `high` and `se`.
#' @examplesIf riata::riata_available()
#' new <- seq(1, nrow(iris), by = 3)
#' fit <- riata(Species ~ ., iris[-new, ], hidden = 10, seed = 1)
#' importance(fit)
#' importance(fit, iris[new, ], seed = 1)
#' @export
importance <- function(object, ...) UseMethod("importance")

#' @rdname importance
#' @export
importance.riata <- function(object, newx = NULL, newy = NULL, n_repeats = 20, level = 0.95, seed = NULL, ...) {
  refuse_dots(...)
  if (is.null(newx)) return(sort(object$importance, decreasing = TRUE))
  data <- new_samples(object, newx, newy)
  ask_plain("permutation", live_model(object), data$x, data$y, as.integer(n_repeats), level, seed_of(seed))
}

# New samples with their target, in Python.
new_samples <- function(object, newx, newy) {
  live_model(object)
  table <- new_table(object, newx)
  if (is.null(newy)) newy <- new_target(object, newx)
  check_length(newy, table$n)
  target <- if (classifies(object$family)) known_classes(object, newy) else as_target(newy, object$family, table$n)
  list(x = python_table(table), y = python_target(target))
}

new_target <- function(object, newx) {
  if (is.null(object$formula)) stop("give newy, the target of the new samples", call. = FALSE)
  left <- object$formula$target
  gone <- setdiff(all.vars(left), names(newx))
  if (length(gone)) stop("the new data have no column ", some(gone), ": give newy", call. = FALSE)
  eval(left, newx, environment(object$formula$terms))
}

# Classes of new samples, some of which may not occur.
known_classes <- function(object, y) {
  check_known(y)
  codes <- match(as.character(y), object$classes)
  if (anyNA(codes)) {
    stop("the new target holds ", some(unique(as.character(y)[is.na(codes)])), ", which the fit does not know", call. = FALSE)
  }
  list(kind = "classes", codes = codes - 1L, labels = object$labels)
}

#' Interactions
#'
#' Pairs (in narrow tables also triples) of features that are associated with the target together, found before the path.
#'
#' @param object A fit of [riata()] or [cv.riata()].
#' @param ... Not used.
#' @return A data frame with the columns `feature_1`, `feature_2`, `feature_3` (`NA` for a pair), `statistic`, `p_value` (corrected
#'   for all tests) and `selected`. The attribute `"screening"` says what was tested.
#' @examplesIf riata::riata_available()
#' set.seed(1)
#' x <- matrix(runif(4000, -1, 1), ncol = 10)
#' y <- x[, 3] * x[, 7] > 0 # neither column says anything by itself
#' interactions(riata(x, y, hidden = 20))
#' @export
interactions <- function(object, ...) UseMethod("interactions")

#' @rdname interactions
#' @export
interactions.riata <- function(object, ...) {
  refuse_dots(...)
  structure(object$interactions, screening = object$screening)
}

#' Effects of the selected features
#'
#' In which direction and how much each selected feature changes the predictions for samples that the model was not fitted on.
#'
#' @param object A fit of [riata()] or [cv.riata()].
#' @param newx Samples.
#' @param seed A whole number, for the samples that are used where there are many.
#' @param ... Not used.
#' @return A data frame with the columns `feature`, `shape` ("rises", "falls", ...), `size`, `towards` (the class) and `text`.
#' @examplesIf riata::riata_available()
#' fit <- riata(mpg ~ ., mtcars, hidden = 10, nfeatures = 3, seed = 1)
#' effects(fit, mtcars)
#' @importFrom stats effects
#' @export
effects.riata <- function(object, newx, seed = 0, ...) {
  refuse_dots(...)
  ask_plain("effects", live_model(object), python_table(new_table(object, newx)), seed_of(seed))
}

#' Report
#'
#' Evaluates a fit, and the other points of its path, on samples that it was not fitted on, and writes one HTML file that opens in
#' any browser: the answer, a slider along the path, scores, and the selected features with their effects. It holds
#' distributions of these samples: mind before you pass it on.
#'
#' @param object A fit of [riata()] or [cv.riata()].
#' @param newx,newy Samples that the model was not fitted on, and their target; for a fit with a formula `newx` is a data frame
#'   that may hold the target.
#' @param file Where to write.
#' @param title At the top.
#' @param stability,knockoffs Results of [stability()] and [knockoffs()] on the same columns, made in this session.
#' @param open Whether to open the file in a browser.
#' @param seed A whole number, for permutations.
#' @param ... Not used.
#' @return The path of the file, invisibly. The answer is printed.
#' @examplesIf riata::riata_available()
#' new <- seq(1, nrow(iris), by = 3)
#' fit <- riata(Species ~ ., iris[-new, ], hidden = 10, seed = 1)
#' report(fit, iris[new, ], file = tempfile(fileext = ".html"), open = FALSE)
#' @export
report <- function(object, ...) UseMethod("report")

#' @rdname report
#' @export
report.riata <- function(object, newx, newy = NULL, file = "report.html", title = "", stability = NULL, knockoffs = NULL,
                         open = interactive(), seed = 0, ...) {
  refuse_dots(...)
  data <- new_samples(object, newx, newy)
  given <- lapply(list(stability = stability, knockoffs = knockoffs), live_selector)
  answer <- ask_plain(
    "report", live_model(object), data$x, data$y, path.expand(file), title, given$stability, given$knockoffs, seed_of(seed)
  )
  message(paste(strwrap(paste(unlist(answer), collapse = " ")), collapse = "\n"))
  if (open) utils::browseURL(file)
  invisible(file)
}

live_selector <- function(selector) {
  if (is.null(selector)) return(NULL)
  if (is_there(selector$model$live)) return(selector$model$live)
  stop("the result of ", class(selector)[1L], "() is of another session: run it again for the report", call. = FALSE)
}

#' @export
print.riata <- function(x, ...) {
  cat_call(x)
  cat(x$nfeatures, " of ", x$nvars, " features, lambda = ", format(x$lambda, digits = 3L), ":\n", sep = "")
  print_names(ordered_names(x))
  invisible(x)
}

cat_call <- function(x) cat("Call: ", paste(deparse(x$call, width.cutoff = 60L), collapse = "\n      "), "\n\n", sep = "")

print_names <- function(names) {
  if (length(names)) cat(strwrap(some(names, 40L), indent = 2L, exdent = 2L), sep = "\n") else cat("  none\n")
}

ordered_names <- function(object) object$selected[order(-object$importance[object$selected])]

#' Summary of a fit
#'
#' @param object A fit of [riata()] or [cv.riata()].
#' @param x What `summary` returned.
#' @param ... Not used.
#' @return A list of class `"summary.riata"` with the data frames `features` (importance and linear weights of the selected ones) and
#'   `interactions`, and the numbers of `path` at the selected point.
#' @examplesIf riata::riata_available()
#' summary(riata(mpg ~ ., mtcars, hidden = 10, seed = 1))
#' @export
summary.riata <- function(object, ...) {
  names <- ordered_names(object)
  weights <- object$coefficients[names, , drop = FALSE]
  features <- data.frame(importance = object$importance[names], row.names = names)
  if (ncol(weights) == 1L) features$linear <- weights[, 1L]
  point <- object$path[match(object$lambda, object$path$lambda), ]
  structure(
    c(object[c("call", "family", "nobs", "nvars", "nfeatures", "lambda", "M", "hidden", "seed", "interactions", "screening")],
      list(features = features, point = point)),
    class = "summary.riata"
  )
}

#' @rdname summary.riata
#' @export
print.summary.riata <- function(x, ...) {
  cat_call(x)
  cat("Family ", x$family, ", ", x$nobs, " rows, ", x$nvars, " features, M = ", format(x$M), ", hidden = ",
    paste(x$hidden, collapse = ", "), ", seed = ", x$seed, "\n", sep = "")
  cat("Selected: ", x$nfeatures, " features, lambda = ", format(x$lambda, digits = 3L), sep = "")
  if (is.finite(x$point$val_loss)) cat(", validation loss before the refit ", format(x$point$val_loss, digits = 4L), sep = "")
  cat("\n\n")
  if (x$nfeatures) print(signif(x$features, 4L))
  if (nrow(x$interactions)) {
    cat("\nInteractions (", x$screening, "):\n", sep = "")
    print(utils::head(x$interactions, 10L), row.names = FALSE)
  } else {
    cat("\nNo clear interactions; tested: ", x$screening, "\n", sep = "")
  }
  invisible(x)
}
