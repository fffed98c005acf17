test_that("cross-validation has the values that glmnet's users look for", {
  needs_python()
  data <- drawn()
  cv <- cv.riata(data$x, data$y, hidden = 5, nfolds = 3, seed = 1, control = quick())
  expect_s3_class(cv, c("cv.riata", "riata"), exact = TRUE)
  expect_true(all(c(cv$lambda.min, cv$lambda.1se) %in% cv$path$lambda))
  expect_gte(cv$lambda.1se, cv$lambda.min)
  expect_lte(cv$nfeatures.1se, cv$nfeatures.min)
  expect_named(cv$cv, c("lambda", "nfeatures", "cvm", "cvsd", "M", "hidden"))
  expect_identical(predict(cv, data$x), predict(cv, data$x, s = "lambda.1se"))
  expect_length(predict(cv, data$x, s = "lambda.min"), 200)
  expect_identical(dim(coef(cv, s = "lambda.min")), c(6L, 1L))
  expect_setequal(selected(cv), c("x1", "x2"))
  expect_output(print(cv), "lambda.1se")
})

test_that("folds that are given are used, whatever their numbers", {
  needs_python()
  fit <- function(foldid) {
    cv.riata(Species ~ ., iris, hidden = 5, foldid = foldid, seed = 1, control = quick())$cv
  }
  expect_identical(fit(rep(1:3, 50)), fit(rep(c(10, 20, 30), 50)))
  expect_false(identical(fit(rep(1:3, 50)), fit(rep(1:3, each = 50)[order(rep(1:50, 3))][150:1])))
})

test_that("M and shapes are selected", {
  needs_python()
  cv <- cv.riata(Species ~ ., iris, hidden = list(5, c(5, 5)), M = c(0, 10), nfolds = 3, seed = 1, control = quick())
  expect_setequal(unique(cv$cv$M), c(0, 10))
  expect_setequal(unique(cv$cv$hidden), c("5", "5 5"))
  expect_true(cv$M %in% c(0, 10))
  expect_error(riata(Species ~ ., iris, M = c(0, 10)), "cv.riata\\(\\) takes several")
})

test_that("the rule, the score and clusters can be given", {
  needs_python()
  fit <- function(...) cv.riata(Species ~ ., iris, hidden = 5, nfolds = 3, seed = 1, control = quick(), ...)
  best <- fit(select = "lambda.min")
  expect_identical(best$rule, "lambda.min")
  expect_identical(predict(best, iris), predict(best, iris, s = "lambda.min"))
  expect_identical(fit(scoring = "neg_log_loss")$score, "neg_log_loss")
  expect_false(identical(fit(cluster = rep(1:30, 5))$cv, best$cv))
  expect_error(fit(scoring = "bogus"), "bogus")
})

test_that("survival times are scored by concordance", {
  needs_python()
  skip_if_not_installed("survival")
  data <- drawn()
  y <- survival::Surv(rexp(200) * exp(-data$y), runif(200) < 0.8)
  cv <- cv.riata(data$x, y, hidden = 5, nfolds = 3, seed = 1, control = quick())
  expect_identical(cv$score, "concordance")
  expect_identical(cv$rule, "lambda.min")
  expect_true(all(c("x1", "x2") %in% selected(cv)))
  expect_error(cv.riata(data$x, y, family = "aft"), "use riata\\(\\)")
})
