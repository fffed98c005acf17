saved <- function(fit, x, ...) {
  file <- tempfile(fileext = ".rds")
  saveRDS(list(fit = fit, x = x), file)
  file
}

predicted_elsewhere <- function(file, arguments = "", env = character()) {
  result <- tempfile(fileext = ".rds")
  code <- c(
    sprintf("given <- readRDS('%s')", file), "library(riata)",
    sprintf("saveRDS(predict(given$fit, given$x%s), '%s')", arguments, result)
  )
  said <- in_new_process(code, env)
  if (file.exists(result)) readRDS(result) else stop(said)
}

test_that("a saved object predicts the same in a new R process, to the bit", {
  needs_python()
  fit <- fit_cars()
  expect_identical(predicted_elsewhere(saved(fit, mtcars)), predict(fit, mtcars))
})

test_that("a point that was refitted before the object was saved is there afterwards", {
  needs_python()
  fit <- fit_cars()
  here <- predict(fit, mtcars, nfeatures = 8)
  expect_false(identical(here, predict(fit, mtcars, nfeatures = 8, refit = FALSE)))
  expect_identical(predicted_elsewhere(saved(fit, mtcars), ", nfeatures = 8"), here)
})

test_that("a survival model keeps its baseline", {
  needs_python()
  skip_if_not_installed("survival")
  data <- drawn()
  y <- survival::Surv(rexp(200) * exp(-data$y), runif(200) < 0.7)
  fit <- riata(data$x, y, hidden = 5, nfeatures = 2, seed = 1, control = quick())
  here <- predict(fit, data$x[1:9, ], type = "survival", times = c(0.1, 1))
  file <- saved(fit, data$x[1:9, ])
  expect_identical(predicted_elsewhere(file, ", type = 'survival', times = c(0.1, 1)"), here)
})

test_that("other points of a loaded object are the penalised networks, and a warning says so", {
  needs_python()
  fit <- fit_cars()
  fit$model <- list2env(list(bytes = fit$model$bytes), parent = emptyenv())
  expect_warning(predict(fit, mtcars, nfeatures = 8), "not refitted")
  expect_silent(predict(fit, mtcars, nfeatures = 8, refit = FALSE))
})

test_that("an object without Python prints what it knows, and says what to do for the rest", {
  needs_python()
  fit <- fit_cars()
  file <- saved(fit, mtcars)
  without <- c("RETICULATE_PYTHON=/nonexistent/python", "PYTHONPATH=")
  code <- c(
    sprintf("given <- readRDS('%s')", file), "library(riata)", "print(given$fit)", "x <- summary(given$fit)",
    "stopifnot(is.matrix(coef(given$fit)), length(importance(given$fit)) == 10, !riata_available())",
    "predict(given$fit, given$x)"
  )
  said <- gsub("\\s+", " ", in_new_process(code, without))
  expect_match(said, paste(fit$nfeatures, "of 10 features"), fixed = TRUE)
  expect_match(said, "this object holds a trained network, which only Python can run", fixed = TRUE)
  expect_match(said, "call install_riata()", fixed = TRUE)
  expect_no_match(said, "Traceback", fixed = TRUE)
})

test_that("without Python a fit says what to do", {
  code <- c("library(riata)", "riata(mpg ~ ., mtcars)")
  said <- gsub("\\s+", " ", in_new_process(code, c("RETICULATE_PYTHON=/nonexistent/python", "PYTHONPATH=")))
  expect_match(said, "call install_riata(), or set the environment variable RETICULATE_PYTHON", fixed = TRUE)
  expect_no_match(said, "Traceback", fixed = TRUE)
})
