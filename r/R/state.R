# The trained networks of an object: the bytes of the model file, and the object in Python that they stand for.
#
# Both are in an environment, so that a point that was refitted once is in the file that saveRDS() writes later. After
# readRDS() the object in Python is gone, and is loaded from the bytes when it is needed.

remember <- function(object, live) {
  state <- object$model
  file <- tempfile(fileext = ".riata")
  on.exit(unlink(file))
  ask("save", live, file)
  state$bytes <- readBin(file, "raw", file.size(file))
  state$live <- live
  invisible(object)
}

live_model <- function(object) {
  state <- object$model
  if (!is_there(state$live)) {
    state$live <- from_bytes(state$bytes)
    state$points <- NULL
  }
  state$live
}

is_there <- function(live) !is.null(live) && inherits(live, "python.builtin.object") && !reticulate::py_is_null_xptr(live)

from_bytes <- function(bytes) {
  tryCatch(python(), error = function(error) {
    stop(
      "this object holds a trained network, which only Python can run; print(), summary(), selected(), importance() and ",
      "coef() of the selected point work without. ", conditionMessage(error), call. = FALSE
    )
  })
  file <- tempfile(fileext = ".riata")
  on.exit(unlink(file))
  writeBin(bytes, file)
  ask_live("load", file)
}

# The model at a point of its path, refitted if the object is; the same point is made once.
live_at <- function(object, s = NULL, nfeatures = NULL, refit = object$refit) {
  if (is.null(s) && is.null(nfeatures)) return(live_model(object))
  if (!is.null(s) && !is.null(nfeatures)) stop("give one of s and nfeatures", call. = FALSE)
  live <- live_model(object)
  state <- object$model
  key <- paste("at", format(c(s, nfeatures), digits = 17L), is.null(s), refit)
  if (is.null(state$points[[key]]) || !is_there(state$points[[key]])) {
    found <- ask_live("at", live, whole_number(nfeatures, "nfeatures"), one_lambda(s), refit)
    state$points <- c(state$points, stats::setNames(list(found), key))
    if (refit) remember(object, live)
  }
  state$points[[key]]
}

one_lambda <- function(s) {
  if (is.null(s) || (is.numeric(s) && length(s) == 1L && !is.na(s) && s >= 0)) return(s)
  stop("s must be numbers from 0 on, values of lambda; got ", paste(format(s), collapse = ", "), call. = FALSE)
}

whole_number <- function(value, what) {
  if (is.null(value)) return(NULL)
  if (is.numeric(value) && length(value) == 1L && !is.na(value) && value >= 0 && value %% 1 == 0) return(as.integer(value))
  stop(what, " must be one whole number from 0 on", call. = FALSE)
}
