# Tests run against the real Python package, and are skipped where it is not installed.
needs_python <- function() {
  skip_on_cran()
  skip_if_not(riata_available(), "Python with the package riata is not there")
}

# Small networks and few points: enough to see that arguments arrive.
quick <- function(...) riata_control(path_multiplier = 1.2, ...)

fit_cars <- function(...) riata(mpg ~ ., mtcars, hidden = 5, nfeatures = 3, seed = 1, control = quick(), ...)

drawn <- function(n = 200, p = 6, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(n * p), n, dimnames = list(NULL, paste0("x", seq_len(p))))
  list(x = x, y = drop(x[, 1] - x[, 2] + 0.3 * rnorm(n)))
}

# What a script prints in a process of its own.
in_new_process <- function(code, env = character()) {
  file <- tempfile(fileext = ".R")
  writeLines(code, file)
  libraries <- paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  output <- suppressWarnings(
    system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE, stderr = TRUE, env = c(libraries, env))
  )
  paste(output, collapse = "\n")
}
