# The same table and seed in a Python process of its own, which reads a file.
python_fit <- function(table, estimator, target) {
  file <- tempfile(fileext = ".csv")
  number <- vapply(table, is.numeric, NA)
  table[number] <- lapply(table[number], format, digits = 17L, trim = TRUE)
  write.csv(table, file, row.names = FALSE, quote = FALSE)
  code <- c(
    "import sys, pandas, riata",
    "table = pandas.read_csv(sys.argv[1], float_precision='round_trip')",
    target,
    paste0("model = riata.", estimator, ".fit(X, y)"),
    "print(' '.join(X.columns[model.selected_]))",
    "print(repr(float(model.lambda_)))",
    "print(' '.join(repr(float(v)) for v in model.predict(X)[:5]))"
  )
  script <- tempfile(fileext = ".py")
  writeLines(code, script)
  found <- system2(reticulate::py_config()$python, c("-W", "ignore", script, file), stdout = TRUE)
  list(
    selected = strsplit(found[1L], " ")[[1L]], lambda = as.numeric(found[2L]),
    predicted = as.numeric(strsplit(found[3L], " ")[[1L]])
  )
}

expect_same <- function(fit, x, there, type = "response") {
  expect_identical(fit$selected, there$selected)
  expect_identical(fit$lambda, there$lambda)
  here <- unname(predict(fit, x, type = type)[1:5])
  expect_identical(as.numeric(if (is.factor(here)) as.character(here) else here), there$predicted)
}

test_that("the same numbers and seed give the same in R and in Python, to the bit", {
  needs_python()
  data <- drawn(p = 10)
  fit <- riata(data$x, data$y, hidden = 10, seed = 7)
  there <- python_fit(
    data.frame(data$x, y = data$y), "LassoNetRegressor((10,), random_state=7)", "X, y = table.drop(columns='y'), table['y']"
  )
  expect_same(fit, data$x, there)
  expect_lt(fit$nfeatures, 10)
})

test_that("so do a data frame with a factor, classes and weights of features", {
  needs_python()
  data <- drawn(p = 5, seed = 2)
  town <- factor(sample(c("Cork", "Bergen", "Delft"), 200, TRUE))
  class <- as.integer(data$y + (town == "Cork") > 0)
  table <- data.frame(data$x, town)
  fit <- riata(table, class, family = "binomial", hidden = 10, seed = 3, penalty.factor = c(x3 = 0))
  there <- python_fit(
    cbind(table, class), "LassoNetClassifier((10,), random_state=3, feature_costs={'x3': 0})",
    "X, y = table.drop(columns='class'), table['class']"
  )
  expect_same(fit, table, there, type = "class")
})

test_that("so do survival times", {
  needs_python()
  skip_if_not_installed("survival")
  data <- drawn(seed = 3)
  time <- exp(-data$y) * rexp(200)
  event <- as.integer(runif(200) < 0.7)
  fit <- riata(data$x, survival::Surv(time, event), hidden = 5, seed = 4)
  there <- python_fit(
    data.frame(data$x, time, event), "LassoNetCoxRegressor((5,), random_state=4)",
    "X, y = table.drop(columns=['time', 'event']), table[['time', 'event']]"
  )
  expect_same(fit, data$x, there, type = "link")
})

test_that("matrix products in R's process are those of Python", {
  needs_python()
  code <- c(
    "import torch", "torch.manual_seed(0)",
    "a, b = torch.randn(300, 300), torch.randn(300, 300)",
    "product = float((a @ b).double().sum())"
  )
  script <- tempfile(fileext = ".py")
  writeLines(c(code, "print(repr(product))"), script)
  there <- system2(reticulate::py_config()$python, script, stdout = TRUE)
  here <- reticulate::py_run_string(paste(code, collapse = "\n"), local = TRUE)$product
  expect_identical(here, as.numeric(there))
})

test_that("set.seed repeats a fit, and another seed gives another split", {
  needs_python()
  data <- drawn()
  fit <- function() riata(data$x, data$y, hidden = 5, control = quick())
  set.seed(1)
  first <- fit()
  second <- fit()
  set.seed(1)
  expect_identical(fit()$path, first$path)
  expect_false(identical(second$path, first$path))
})
