#' riata: feature selection with neural networks
#'
#' [riata()] selects the few columns of a table that predict a target, and fits a neural network that uses only those: the
#' LassoNet. The arguments have the names of 'glmnet' where they mean the same. `vignette("riata")` takes ten minutes, and
#' `vignette("glmnet")` is for those who come from there.
#'
#' The networks are trained by the Python package 'riata', which has to be installed: see [install_riata()].
#'
#' @references Lemhadri, Ruan, Abraham and Tibshirani (2021). LassoNet: A neural network with feature sparsity. *Journal of
#'   Machine Learning Research* 22, 1-29.
#' @name riata-package
#' @keywords internal
NULL

# Python's part is imported when a function needs it for the first time: see python().
python_env <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  if ("py_require" %in% getNamespaceExports("reticulate")) {
    getExportedValue("reticulate", "py_require")("riata", python_version = ">=3.11")
  }
  if (!nzchar(Sys.getenv("RETICULATE_PYTHON"))) {
    try(reticulate::use_virtualenv("r-riata", required = FALSE), silent = TRUE)
  }
}
