#' Tidy tables
#'
#' Methods for the generics of 'broom'.
#'
#' @param x A fit of [riata()] or [cv.riata()].
#' @param matrix For `tidy`: `"features"`, a row for each feature; `"path"`, a row for each point of the path; `"cv"`, a row for each
#'   scored point of a cross-validation.
#' @param data Samples, as for [predict.riata()].
#' @param type.predict The type of the predictions.
#' @param ... For `augment`, passed to [predict.riata()].
#' @return `tidy` and `augment`: a data frame, `augment` the samples with the column `.fitted` (and `.class`, or one column for each
#'   class). `glance`: a data frame with one row. They are tibbles where 'tibble' is installed.
#' @examplesIf riata::riata_available() && requireNamespace("generics", quietly = TRUE)
#' fit <- riata(mpg ~ ., mtcars, hidden = 10, seed = 1)
#' generics::tidy(fit)
#' generics::glance(fit)
#' head(generics::augment(fit, mtcars))
#' @name broom
#' @exportS3Method generics::tidy
tidy.riata <- function(x, matrix = c("features", "path"), ...) {
  refuse_dots(...)
  if (match.arg(matrix) == "path") return(as_tibble_if(x$path))
  found <- data.frame(feature = x$features, selected = x$features %in% x$selected, importance = unname(x$importance))
  if (ncol(x$coefficients) == 1L) found$linear <- unname(stats::coef(x)[x$features, 1L])
  rownames(found) <- NULL
  as_tibble_if(found[order(-found$importance), ])
}

#' @rdname broom
#' @exportS3Method generics::tidy
tidy.cv.riata <- function(x, matrix = c("features", "path", "cv"), ...) {
  matrix <- match.arg(matrix)
  if (matrix == "cv") as_tibble_if(x$cv) else tidy.riata(x, matrix, ...)
}

#' @rdname broom
#' @exportS3Method generics::glance
glance.riata <- function(x, ...) {
  refuse_dots(...)
  point <- x$path[match(x$lambda, x$path$lambda), ]
  as_tibble_if(data.frame(
    family = x$family, nfeatures = x$nfeatures, lambda = x$lambda, loss = point$loss, val_loss = point$val_loss,
    nobs = x$nobs, nvars = x$nvars, M = x$M
  ))
}

#' @rdname broom
#' @exportS3Method generics::augment
augment.riata <- function(x, data, type.predict = "response", ...) {
  found <- stats::predict(x, data, type = type.predict, ...)
  data <- as.data.frame(data)
  if (is.null(dim(found))) {
    data$.fitted <- unname(found)
  } else {
    data[paste0(".fitted_", colnames(found))] <- as.data.frame(found)
  }
  if (classifies(x$family) && type.predict == "response") data$.class <- unname(stats::predict(x, data, type = "class", ...))
  as_tibble_if(data)
}

as_tibble_if <- function(data) {
  rownames(data) <- NULL
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(data) else data
}
