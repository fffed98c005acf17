x <- as.matrix(mtcars[, -1])
y <- mtcars$mpg

test_that("wrong lengths are named with both numbers", {
  expect_error(riata(x, y[-1]), "y has 31 values and x has 32 rows")
  expect_error(riata(x, y, weights = 1:3), "weights must be 32 numbers")
  expect_error(riata(x, y, penalty.factor = 1:3), "one number for each of the 10 columns")
  expect_error(riata(x, y, groups = 1:3), "one label for each of the 10 columns")
  expect_error(cv.riata(x, y, foldid = 1:3), "foldid must have one number for each of the 32 rows")
  expect_error(cv.riata(x, y, cluster = 1:3), "cluster must have one label for each of the 32 rows")
})

test_that("a missing target is named by its rows", {
  expect_error(riata(x, replace(y, c(3, 5), NA)), "y is missing in row 3, 5")
  expect_error(riata(Ozone ~ ., airquality), "y is missing in row 5, 10, 25, 26, 27 and 32 more")
})

test_that("infinite values are named by column and row", {
  expect_error(riata(replace(x, 5, Inf), y), "infinite in column cyl \\(first in row 5\\)")
  expect_error(riata(data.frame(a = c(1, -Inf, 3), b = 1:3), 1:3), "infinite in column a \\(first in row 2\\)")
})

test_that("arguments that do not exist are refused by name", {
  expect_error(riata(x, y, weigths = 1), "unknown argument weigths")
  expect_error(riata(mpg ~ ., mtcars, alpha = 1), "unknown argument alpha")
  expect_error(cv.riata(x, y, lambda.min.ratio = 1), "unknown argument lambda.min.ratio")
})

test_that("columns that do not exist are refused by name", {
  expect_error(riata(x, y, exclude = "foo"), "exclude: there is no column foo")
  expect_error(riata(x, y, exclude = 11), "there is no column 11")
  expect_error(riata(x, y, penalty.factor = c(foo = 0)), "penalty.factor: there is no column foo")
  expect_error(riata(x, y, exclude = 1:10), "leaves no column")
  expect_error(riata(x, y, groups = list(1:2, 2:3)), "repeated: disp")
})

test_that("a target that does not suit the family is refused with a remedy", {
  expect_error(riata(x, y, family = "bogus"), "family must be one of gaussian, ")
  expect_error(riata(x, letters[rep(1:4, 8)], family = "binomial"), "use family = \"multinomial\"")
  expect_error(riata(x, letters[rep(1:4, 8)], family = "gaussian"), "needs a y of numbers")
  expect_error(riata(x, rep("a", 32)), "one class only")
  expect_error(riata(x, y, family = "cox"), "must be survival times")
  skip_if_not_installed("survival")
  expect_error(riata(x, survival::Surv(y, y > 20), family = "gaussian"), "use family = \"cox\"")
  expect_error(riata(x, survival::Surv(y - 1, y, type = "interval2"), family = "cox"), "intervals are for family = \"aft\"")
})

test_that("tables of other types are refused with a remedy", {
  expect_error(riata(x[, 1], y), "matrix\\(x, ncol = 1\\)")
  expect_error(riata(matrix("a", 32, 2), y), "use data.frame\\(\\)")
  expect_error(riata(list(1, 2), y), "it is list")
  expect_error(riata(data.frame(a = I(as.list(1:32))), y), "column a of x is a list")
  expect_error(riata(cbind(a = y, a = y), y), "several columns named a")
})

test_that("formulas that riata does not have are refused with a remedy", {
  expect_error(riata(mpg ~ cyl * wt, mtcars), "the network finds interactions")
  expect_error(riata(mpg ~ poly(wt, 2), mtcars), "use the column itself")
  expect_error(riata(mpg ~ wt + offset(hp), mtcars), "no offset")
  expect_error(riata(~wt, mtcars), "no target")
  expect_error(riata(mpg ~ 1, mtcars), "no features")
})

test_that("errors of Python are those of R, with R's names and without a traceback", {
  needs_python()
  error <- expect_error(riata(x, y, nfeatures = 100, hidden = 5), "nfeatures=100 exceeds the 10 features of x")
  expect_s3_class(error, "riata_error")
  expect_false(grepl("Traceback", conditionMessage(error)))
  expect_match(error$traceback, "Traceback")
  expect_error(riata(x, -y, family = "poisson", hidden = 5), "not negative")
  expect_error(riata(x, y, M = -1), "M must be")
  expect_error(riata(x, y, penalty.factor = rep(0, 10), hidden = 5), "penalty.factor are all 0")
})

test_that("warnings of Python are those of R", {
  needs_python()
  expect_warning(riata(x, y, hidden = 5, seed = 1, control = quick()), "only 7 validation rows")
})

test_that("new data that do not fit are refused", {
  needs_python()
  fit <- riata(x, y, hidden = 5, nfeatures = 3, seed = 1, control = quick())
  expect_error(predict(fit), "give newx")
  expect_error(predict(fit, x[, 1:3]), "newx has no column drat, wt")
  expect_error(predict(fit, unname(x[, 1:3])), "newx has 3 columns; the model was fitted with 10")
  expect_error(predict(fit, x, s = -1), "s must be numbers from 0 on")
  expect_error(predict(fit, x, s = 1, nfeatures = 1), "one of s and nfeatures")
  expect_error(predict(fit, x, type = "class"), "models of classes")
  expect_error(predict(fit, x, type = "survival"), "family \"cox\" and \"aft\"")
  expect_error(predict(fit, x, newy = 1), "unused argument newy")
  expect_error(predict(fit_cars(), x), "give new data as a data frame")
  expect_error(predict(fit_cars(), mtcars[, 1:3]), "the new data have no column hp, drat")
})
