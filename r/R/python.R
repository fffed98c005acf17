#' Is Python's part of riata there?
#'
#' @return `TRUE` if Python and its package 'riata' can be loaded, else `FALSE`. Looking for them starts Python, and takes some
#'   seconds the first time.
#' @examples
#' riata_available()
#' @export
riata_available <- function() !inherits(try(python(), silent = TRUE), "try-error")

#' Install the Python package
#'
#' Creates a virtual environment and installs 'riata' there, with PyTorch and all else that it needs. The environment
#' `"r-riata"` is found by itself in later sessions. To use a Python that has 'riata' already, set the environment variable
#' `RETICULATE_PYTHON` to it before R starts, or call [reticulate::use_python()] before the first fit.
#'
#' @param package What to install: the name of the package, or the path of a clone or a wheel.
#' @param envname Name of the virtual environment.
#' @param ... Passed to [reticulate::virtualenv_create()], such as `python = "/usr/bin/python3.12"`: riata needs Python 3.11 or
#'   later.
#' @return The name of the environment, invisibly.
#' @examples
#' \dontrun{
#' install_riata()
#' install_riata("~/src/riata") # from a clone
#' }
#' @export
install_riata <- function(package = "riata", envname = "r-riata", ...) {
  reticulate::virtualenv_create(envname, ...)
  reticulate::virtualenv_install(envname, if (file.exists(package)) normalizePath(package) else package)
  message("Installed. Restart R, so that it starts with this Python.")
  invisible(envname)
}

# The module of inst/python, imported once.
python <- function() {
  if (is.null(python_env$module)) {
    python_env$module <- tryCatch(imported(), error = function(error) stop(no_python(conditionMessage(error)), call. = FALSE))
  }
  python_env$module
}

imported <- function() {
  where <- system.file("python", package = "riata")
  reticulate::import("riata", convert = FALSE)
  reticulate::import_from_path("riata_torch", path = where, convert = FALSE)
  reticulate::import_from_path("riata_bridge", path = where, convert = FALSE)
}

no_python <- function(why) {
  first <- strsplit(trimws(why), "\n")[[1L]][1L]
  where <- if (reticulate::py_available()) paste(" in", reticulate::py_config()$python) else ""
  paste0(
    "Python with the package 'riata' is needed, and could not be loaded (", first, where, "). Either call install_riata(), ",
    "or set the environment variable RETICULATE_PYTHON to a Python that has it; then restart R."
  )
}

# Call a function of the module. Its answer holds a value, the warnings, and the error if there was one.
ask <- function(name, ...) {
  arguments <- list(...) # first, as a model that cannot be loaded has an error of its own
  answer <- do.call(python()[[name]], arguments)
  warnings <- as.character(unlist(part(answer, "warnings")))
  for (text in warnings) warning(in_r(text), call. = FALSE)
  error <- part(answer, "error")
  if (!is.null(error)) python_error(error)
  answer
}

part <- function(answer, name) reticulate::py_to_r(reticulate::py_get_item(answer, name))

python_error <- function(error) {
  known <- error[[2L]] %in% c("ValueError", "TypeError", "ReplicaError", "ModelFileError", "AttributeError")
  text <- if (known) in_r(error[[1L]]) else paste0(error[[2L]], " in Python: ", error[[1L]])
  stop(structure(
    class = c("riata_error", "error", "condition"),
    list(message = text, call = NULL, traceback = error[[3L]])
  ))
}

# The names that arguments have in R, in a message of Python.
in_r <- function(text) {
  words <- c(
    n_features_to_select = "nfeatures", sample_weight = "weights", feature_costs = "penalty.factor",
    feature_groups = "groups", hidden_dims = "hidden", random_state = "seed", val_size = "val.size", lambda_seq = "lambda",
    n_features = "nfeatures", X = "x", max_false = "max.false", n_resamples = "nresamples", n_draws = "ndraws", n_fits = "nfits"
  )
  for (word in names(words)) text <- gsub(paste0("\\b", word, "\\b"), words[[word]], text)
  text
}

# A value of Python that stays there.
ask_live <- function(name, ...) {
  answer <- ask(name, ...) # before reticulate is called, which would start Python without our error
  reticulate::py_get_item(answer, "found")
}

# A value of Python as one of R.
ask_plain <- function(name, ...) {
  answer <- ask(name, ...)
  unpacked(part(answer, "found"))
}

unpacked <- function(value) {
  if (!is.list(value)) return(value)
  kind <- if ("kind" %in% names(value)) value$kind else ""
  if (identical(kind, "frame")) return(unpacked_frame(value))
  if (identical(kind, "text")) return(as_text(value$values))
  if (identical(kind, "numbers") || identical(kind, "flags")) return(unpacked_array(value, kind))
  lapply(value, unpacked)
}

unpacked_array <- function(value, kind) {
  shape <- as.integer(unlist(value$shape))
  found <- readBin(value$data, "double", prod(shape), endian = "little")
  if (kind == "flags") found <- found != 0
  if (length(shape) > 1L) dim(found) <- shape
  found
}

unpacked_frame <- function(value) {
  columns <- lapply(value$columns, unpacked)
  names(columns) <- as_text(value$names)
  as.data.frame(columns, check.names = FALSE, stringsAsFactors = FALSE)
}

as_text <- function(values) {
  vapply(as.list(values), function(each) if (is.null(each)) NA_character_ else as.character(each), "")
}

# Numbers as bytes, and text as a list even where there is one only.
as_bytes <- function(values) writeBin(as.double(values), raw(), endian = "little")
as_codes <- function(values) writeBin(as.integer(values), raw(), endian = "little")
as_texts <- function(values) as.list(as.character(values))
