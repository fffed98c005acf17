towns <- function(n = 300) {
  set.seed(4)
  table <- data.frame(
    area = rnorm(n), noise = rnorm(n),
    town = factor(sample(c("Cork", "Bergen", "Delft"), n, TRUE), levels = c("Cork", "Oslo", "Bergen", "Delft"))
  )
  table$price <- table$area + 2 * (table$town == "Cork") + 0.2 * rnorm(n)
  table
}

test_that("a factor is one feature, and a level that does not occur makes no difference", {
  needs_python()
  table <- towns()
  fit <- riata(price ~ ., table, hidden = 10, nfeatures = 2, seed = 1)
  expect_setequal(selected(fit), c("area", "town"))
  expect_true(is.na(coef(fit)["town", ]))
  table$town <- droplevels(table$town)
  again <- riata(price ~ ., table, hidden = 10, nfeatures = 2, seed = 1)
  expect_identical(predict(fit, table), predict(again, table))
  expect_gt(cor(predict(fit, table), table$price), 0.95)
})

test_that("text is like a factor, and a new level predicts as an average sample", {
  needs_python()
  table <- towns()
  fit <- riata(price ~ ., table, hidden = 10, nfeatures = 2, seed = 1)
  table$town <- as.character(table$town)
  text <- riata(price ~ ., table, hidden = 10, nfeatures = 2, seed = 1)
  expect_identical(predict(text, table), predict(fit, table))
  new <- table[1:2, ]
  new$town <- "Espoo"
  expect_true(all(is.finite(predict(fit, new))))
})

test_that("a class without rows is left out with a warning", {
  needs_python()
  two <- iris[iris$Species != "setosa", ]
  expect_warning(fit <- riata(Species ~ ., two, hidden = 5, nfeatures = 2, seed = 1), "no row of y has the level setosa")
  expect_identical(fit$family, "binomial")
  expect_identical(fit$classes, c("versicolor", "virginica"))
})

test_that("a tibble and a matrix give the same as a data frame", {
  needs_python()
  skip_if_not_installed("tibble")
  x <- mtcars[, -1]
  fit <- function(x) riata(x, mtcars$mpg, hidden = 5, nfeatures = 3, seed = 1, control = quick())
  frame <- fit(x)
  expect_identical(fit(tibble::as_tibble(x))$path, frame$path)
  expect_identical(fit(as.matrix(x))$path, frame$path)
  expect_equal(unname(predict(frame, tibble::as_tibble(x))), unname(predict(frame, x)))
  formula <- riata(mpg ~ ., tibble::as_tibble(mtcars), hidden = 5, nfeatures = 3, seed = 1, control = quick())
  expect_identical(formula$path, frame$path)
})

test_that("missing numbers are kept, or refused where that is asked for", {
  needs_python()
  air <- airquality[!is.na(airquality$Ozone), ]
  fit <- riata(Ozone ~ ., air, hidden = 5, nfeatures = 3, seed = 1, control = quick())
  expect_identical(fit$nobs, nrow(air))
  expect_true(all(is.finite(predict(fit, airquality))))
  expect_error(riata(Ozone ~ ., air, hidden = 5, missing = "error", seed = 1), "NaN")
  dropped <- riata(Ozone ~ ., airquality, hidden = 5, nfeatures = 3, seed = 1, control = quick(), na.action = na.omit)
  expect_identical(dropped$nobs, sum(complete.cases(airquality)))
})

test_that("weights, subset and variables of the data frame work in a formula", {
  needs_python()
  cars <- transform(mtcars, heavy = rep(1:2, 16))
  fit <- riata(mpg ~ log(hp) + wt, cars,
    weights = heavy, subset = cyl > 4, hidden = 5, nfeatures = 2, seed = 1, control = quick()
  )
  expect_identical(fit$nobs, sum(mtcars$cyl > 4))
  expect_identical(fit$features, c("log(hp)", "wt"))
  x <- data.frame(`log(hp)` = log(cars$hp), wt = cars$wt, check.names = FALSE)
  plain <- riata(x[cars$cyl > 4, ], cars$mpg[cars$cyl > 4],
    weights = cars$heavy[cars$cyl > 4], hidden = 5, nfeatures = 2, seed = 1, control = quick()
  )
  expect_identical(fit$path, plain$path)
  expect_equal(predict(fit, cars[1:3, ]), predict(plain, x[1:3, ]), ignore_attr = TRUE)
})

test_that("names with blanks can be used", {
  needs_python()
  cars <- stats::setNames(mtcars[, c("mpg", "wt", "hp")], c("mpg", "the weight", "hp"))
  fit <- riata(mpg ~ ., cars, hidden = 5, nfeatures = 1, seed = 1, control = quick())
  expect_identical(fit$features, c("the weight", "hp"))
  expect_length(predict(fit, cars), 32)
})

test_that("excluded columns play no part, and an infinite penalty is the same", {
  needs_python()
  x <- as.matrix(mtcars[, -1])
  fit <- function(x, ...) riata(x, mtcars$mpg, hidden = 5, nfeatures = 3, seed = 1, control = quick(), ...)
  without <- fit(x[, -5])
  expect_identical(fit(x, exclude = "wt")$path, without$path)
  expect_identical(fit(x, exclude = 5)$path, without$path)
  infinite <- fit(x, penalty.factor = c(wt = Inf))
  expect_identical(infinite$path, without$path)
  expect_equal(predict(infinite, unname(x)), predict(without, x), ignore_attr = TRUE)
})

test_that("a penalty of 0 keeps a column", {
  needs_python()
  data <- drawn()
  fit <- riata(data$x, data$y, hidden = 5, nfeatures = 2, penalty.factor = c(1, 1, 1, 1, 1, 0), seed = 1)
  expect_true("x6" %in% selected(fit))
})

test_that("groups enter and leave together, however they are given", {
  needs_python()
  data <- drawn()
  fit <- function(groups) riata(data$x, data$y, hidden = 5, seed = 1, groups = groups, control = quick())
  labels <- fit(c("a", "a", "b", "b", "c", "d"))
  expect_identical(fit(list(1:2, c("x3", "x4")))$path, labels$path)
  for (k in 1:6) {
    chosen <- selected(labels, nfeatures = k)
    expect_identical("x1" %in% chosen, "x2" %in% chosen)
    expect_identical("x3" %in% chosen, "x4" %in% chosen)
  }
})

test_that("a sparse matrix gives what the dense one does, or an error that says what to do", {
  needs_python()
  skip_if_not_installed("Matrix")
  set.seed(1)
  dense <- matrix(rnorm(2000) * (runif(2000) < 0.2), 200, dimnames = list(NULL, paste0("x", 1:10)))
  y <- dense[, 1] - dense[, 2] + 0.1 * rnorm(200)
  sparse <- Matrix::Matrix(dense, sparse = TRUE)
  expect_s4_class(sparse, "dgCMatrix")
  fit <- function(x) riata(x, y, hidden = 5, nfeatures = 2, seed = 1, preprocessing = "standard")
  found <- tryCatch(fit(sparse), error = function(error) error)
  if (inherits(found, "error")) {
    expect_match(conditionMessage(found), "use as.matrix(x)", fixed = TRUE)
  } else {
    expect_setequal(selected(found), selected(fit(dense)))
    expect_length(predict(found, sparse), 200)
  }
})

test_that("dates are numbers of days", {
  needs_python()
  data <- drawn(p = 2)
  day <- as.Date("2020-01-01") + 0:199
  fit <- riata(data.frame(data$x, day), data$y + as.numeric(day) / 20, hidden = 5, nfeatures = 3, seed = 1)
  expect_identical(names(importance(fit))[1], "day")
})
