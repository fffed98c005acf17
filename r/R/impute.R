#' Fill in missing entries
#'
#' Trains a network to predict entries of a table that are hidden from it, and fills in those that are missing. Known entries stay
#' as they are.
#'
#' @param x A matrix of numbers, or a data frame. Only columns of numbers, dates excepted, are filled and used; factors and text are
#'   returned as they are.
#' @param nfeatures Fill in all columns from at most so many.
#' @param hidden Numbers of units of the hidden layers.
#' @param control How networks are trained, by [riata_control()].
#' @param seed A whole number; `NULL` takes it from R's random numbers.
#' @param trace 1 shows a progress bar.
#' @param object What `impute` returned.
#' @param newx,newdata New samples with the columns of `x`.
#' @param ... Not used.
#' @return An object of class `"riata_impute"`: `x` is the table without missing entries in its numeric columns, `nmissing` the
#'   number of entries that were filled, `path` the error with fewer and fewer columns as inputs. [predict()] fills new samples.
#' @examplesIf riata::riata_available()
#' sum(is.na(airquality))
#' filled <- impute(airquality, hidden = 20, seed = 1)
#' filled
#' head(filled$x)
#' predict(filled, airquality[5, ])
#' @export
impute <- function(x, ...) UseMethod("impute")

#' @rdname impute
#' @export
impute.default <- function(x, nfeatures = NULL, hidden = c(256, 256), control = riata_control(), seed = NULL, trace = 0, ...) {
  refuse_dots(...)
  numeric <- numeric_columns(x)
  table <- as_table(numeric_part(x, numeric))
  seed <- seed_of(seed)
  parameters <- list(
    hidden_dims = shape_of(hidden), keep_empty_features = TRUE, verbose = as.integer(trace), random_state = seed
  )
  if (!is.null(nfeatures)) parameters$n_features_to_select <- whole_number(nfeatures, "nfeatures")
  estimator <- ask_live("estimator", "LassoNetImputer", parameters, NULL, NULL, python_control(control))
  data <- python_table(table)
  live <- ask_live("fit", estimator, data)
  about <- ask_plain("imputer", live)
  state <- new.env(parent = emptyenv())
  object <- structure(class = "riata_impute", list(
    call = match.call(), nobs = table$n, nvars = table$p, features = table$names, columns = numeric,
    selected = table$names[about$selected], path = named_path(about$path), seed = seed, version = about$version, model = state
  ))
  remember(object, live)
  object$nmissing <- sum(is.na(numeric_part(x, numeric)))
  object$x <- put_back(x, numeric, ask_plain("filled", live, data))
  object
}

numeric_columns <- function(x) {
  if (!is.data.frame(x)) return(seq_len(ncol(as_matrix_like(x))))
  numeric <- which(vapply(x, function(column) (is.numeric(column) || is.logical(column)) && is.null(dim(column)), NA))
  if (!length(numeric)) stop("x has no column of numbers to fill in", call. = FALSE)
  unname(numeric)
}

as_matrix_like <- function(x) {
  if (is.matrix(x)) return(x)
  stop(not_a_table(x, "x"), call. = FALSE)
}

numeric_part <- function(x, numeric) if (is.data.frame(x)) as.data.frame(x)[numeric] else x

# The filled columns in the table that was given, with the type of whole numbers where nothing was filled.
put_back <- function(x, numeric, filled) {
  if (!is.data.frame(x)) return(structure(filled, dimnames = dimnames(x)))
  for (k in seq_along(numeric)) {
    gaps <- is.na(x[[numeric[k]]])
    if (any(gaps)) x[[numeric[k]]][gaps] <- filled[gaps, k]
  }
  x
}

#' @rdname impute
#' @export
predict.riata_impute <- function(object, newx, newdata, ...) {
  refuse_dots(...)
  if (missing(newx)) newx <- newdata
  where <- if (is.data.frame(newx)) positions(object$features, names(newx), "newx") else object$columns
  table <- as_table(numeric_part(newx, where), "newx")
  if (table$p != object$nvars) stop("newx has ", table$p, " columns; the fit had ", object$nvars, call. = FALSE)
  table$names <- object$features
  put_back(newx, where, ask_plain("filled", live_model(object), python_table(table)))
}

#' @rdname selected
#' @export
selected.riata_impute <- function(object, ...) object$selected

#' @export
print.riata_impute <- function(x, ...) {
  cat_call(x)
  cat(
    x$nmissing, " entries filled in ", x$nobs, " rows and ", x$nvars, " columns, from ", length(x$selected), " columns\n",
    sep = ""
  )
  invisible(x)
}
