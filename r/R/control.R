#' How networks are trained
#'
#' The parameters of Python's `riata.Training`, for the argument `control` of [riata()] and the others. The defaults suit most
#' tables.
#'
#' @param path_multiplier Smallest ratio of one \eqn{\lambda} to the last.
#' @param n_iters Most iterations (epochs) for the dense model and refits, and for every other \eqn{\lambda}: a number or two. The
#'   second says how closely the path is solved. `NA` is the default, about 1000 and 14.
#' @param patience Iterations without a better validation objective after which a \eqn{\lambda} is left, a number or two; `NULL` to
#'   stop on `tol` alone.
#' @param tol Relative fall of the objective over 20 iterations under which a \eqn{\lambda} is solved; `NULL` is the default of the
#'   model, 1e-4 for most.
#' @param batch_size Samples per update; `NULL` for all, `"auto"` for all of fewer than 2000.
#' @param learning_rate Size of the first steps.
#' @param dropout Share of hidden units that are dropped at each update.
#' @param gamma L2 penalty on the weights above the first layer.
#' @param dtype `"float32"` or `"float64"`.
#' @param device Where to train, such as `"cpu"` or `"cuda"`; `NULL` for a GPU where there is one.
#' @param exact `TRUE` solves every \eqn{\lambda} until the objective stops falling, with double precision and all samples: for
#'   digits, as in a comparison with 'glmnet', at many times the time. It sets `n_iters`, `patience`, `tol`, `batch_size` and
#'   `dtype` where they are not given.
#' @return A list of class `"riata_control"`.
#' @examples
#' riata_control(batch_size = 64, dropout = 0.1)
#' riata_control(exact = TRUE)$n_iters
#' @export
riata_control <- function(path_multiplier = 1.02, n_iters = NULL, patience = "auto", tol = NULL, batch_size = "auto",
                          learning_rate = 1e-3, dropout = 0, gamma = 1e-4, dtype = c("float32", "float64"), device = NULL,
                          exact = FALSE) {
  if (exact) {
    if (missing(n_iters)) n_iters <- c(100, 5000)
    if (missing(patience)) patience <- NULL
    if (missing(tol)) tol <- 1e-10
    if (missing(batch_size)) batch_size <- NULL
    if (missing(dtype)) dtype <- "float64"
  }
  given <- list(
    path_multiplier = path_multiplier, n_iters = whole(n_iters), patience = whole(patience), tol = tol,
    batch_size = whole(batch_size), learning_rate = learning_rate, dropout = dropout, gamma = gamma,
    dtype = match.arg(dtype), device = device
  )
  structure(given, class = "riata_control")
}

# Whole numbers as Python takes them: one, or a list with NULL for what is missing.
whole <- function(values) {
  if (!is.numeric(values) && !(is.logical(values) && all(is.na(values)))) return(values)
  each <- lapply(values, function(value) {
    if (is.na(value)) return(NULL)
    if (value %% 1 == 0 && abs(value) <= .Machine$integer.max) as.integer(value) else value
  })
  if (length(each) == 1L) each[[1L]] else each
}

python_control <- function(control) {
  if (inherits(control, "riata_control")) return(unclass(control))
  stop("control must be made by riata_control(), as in control = riata_control(batch_size = 64)", call. = FALSE)
}
