test_that("a fit says what it selected", {
  needs_python()
  fit <- fit_cars()
  expect_s3_class(fit, "riata")
  expect_lte(fit$nfeatures, 3)
  expect_identical(selected(fit), fit$selected)
  expect_identical(fit$nfeatures, length(fit$selected))
  expect_true(fit$lambda %in% fit$path$lambda)
  expect_named(fit$path[1:2], c("lambda", "nfeatures"))
  expect_setequal(names(importance(fit)), names(mtcars)[-1])
  expect_false(is.unsorted(-importance(fit)))
  expect_true(all(selected(fit) == names(importance(fit))[seq_len(fit$nfeatures)] | fit$nfeatures > 1))
  expect_output(print(fit), "of 10 features, lambda =")
  expect_output(print(summary(fit)), "Selected: ")
})

test_that("the family is that of y unless it is given", {
  needs_python()
  x <- as.matrix(iris[, 1:4])
  fit <- function(y, ...) riata(x, y, hidden = 5, nfeatures = 2, seed = 1, control = quick(), ...)
  expect_identical(fit(iris$Species)$family, "multinomial")
  expect_identical(fit(iris$Species == "setosa")$family, "binomial")
  expect_identical(fit(iris$Sepal.Length)$family, "gaussian")
  expect_identical(fit(factor(rep(1:3, each = 50), ordered = TRUE))$family, "ordinal")
  expect_identical(fit(as.integer(iris$Species), family = stats::poisson())$family, "poisson")
  skip_if_not_installed("survival")
  time <- survival::Surv(iris$Sepal.Length, rep(1:0, 75))
  expect_identical(fit(time)$family, "cox")
  expect_identical(fit(time, family = "aft")$family, "aft")
})

test_that("classes keep their names and the order of their levels", {
  needs_python()
  y <- factor(iris$Species, levels = c("virginica", "setosa", "versicolor"))
  fit <- riata(iris[, 1:4], y, hidden = 10, nfeatures = 2, seed = 1)
  probability <- predict(fit, iris[, 1:4])
  expect_identical(colnames(probability), levels(y))
  expect_equal(rowSums(probability), rep(1, 150), tolerance = 1e-6)
  class <- predict(fit, iris[, 1:4], type = "class")
  expect_identical(levels(class), levels(y))
  expect_gt(mean(class == y), 0.9)
  link <- predict(fit, iris[, 1:4], type = "link")
  expect_equal(exp(link) / rowSums(exp(link)), probability, tolerance = 1e-5)
  lasso <- riata(iris[, 1:4], y, M = 0, lambda = 0.01, val.size = 0, seed = 1)
  linear <- cbind(1, as.matrix(iris[, 1:4])) %*% coef(lasso)
  expect_equal(linear, predict(lasso, iris[, 1:4], type = "link"), tolerance = 1e-4, ignore_attr = TRUE)
})

test_that("the probability of two classes is that of the second level", {
  needs_python()
  data <- drawn()
  y <- factor(ifelse(data$y > 0, "high", "low"), levels = c("low", "high"))
  fit <- riata(data$x, y, hidden = 5, nfeatures = 2, seed = 1)
  probability <- predict(fit, data$x)
  expect_gt(mean(probability[y == "high"]), mean(probability[y == "low"]) + 0.5)
  expect_equal(plogis(predict(fit, data$x, type = "link")), probability, tolerance = 1e-6)
  expect_identical(predict(fit, data$x, type = "class") == "high", probability > 0.5)
  lasso <- riata(data$x, y, M = 0, lambda = 0.05, val.size = 0, seed = 1)
  expect_equal(drop(cbind(1, data$x) %*% coef(lasso)), predict(lasso, data$x, type = "link"), tolerance = 1e-4)
})

test_that("every loss for numbers predicts in the unit of y", {
  needs_python()
  data <- drawn(p = 4)
  positive <- exp(data$y / 2)
  for (family in c("gaussian", "poisson", "gamma", "tweedie", "huber", "laplace", "quantile")) {
    fit <- riata(data$x, positive, family, hidden = 5, nfeatures = 2, seed = 1)
    expect_gt(cor(predict(fit, data$x), positive, method = "spearman"), 0.9)
    expect_lt(abs(median(predict(fit, data$x)) - median(positive)), 0.5)
  }
})

test_that("the link of a rate is the logarithm of its mean", {
  needs_python()
  data <- drawn(p = 3)
  fit <- riata(data$x, rpois(200, exp(data$y / 2)), "poisson", hidden = 5, seed = 1, control = quick())
  expect_equal(exp(predict(fit, data$x, type = "link")), predict(fit, data$x))
})

test_that("quantiles are columns that do not cross", {
  needs_python()
  data <- drawn(p = 3)
  fit <- riata(data$x, data$y, "quantile", tau = c(0.9, 0.1), hidden = 5, nfeatures = 2, seed = 1, control = quick())
  predicted <- predict(fit, data$x)
  expect_identical(colnames(predicted), c("tau=0.1", "tau=0.9"))
  expect_true(all(predicted[, 1] <= predicted[, 2]))
})

test_that("several targets are columns with their names", {
  needs_python()
  fit <- riata(as.matrix(mtcars[, 3:7]), as.matrix(mtcars[, 1:2]), hidden = 5, nfeatures = 2, seed = 1, control = quick())
  expect_identical(colnames(predict(fit, as.matrix(mtcars[, 3:7]))), c("mpg", "cyl"))
  expect_identical(colnames(coef(fit)), c("mpg", "cyl"))
})

test_that("survival probabilities fall with time, and hazards order them", {
  needs_python()
  skip_if_not_installed("survival")
  data <- drawn()
  y <- survival::Surv(rexp(200) * exp(-data$y), runif(200) < 0.8)
  for (family in c("cox", "aft")) {
    fit <- riata(data$x, y, family, hidden = 5, nfeatures = 2, seed = 1, control = quick())
    curves <- predict(fit, data$x, type = "survival", times = c(0.1, 0.5, 1))
    expect_identical(dim(curves), c(200L, 3L))
    expect_true(all(curves >= 0 & curves <= 1 & curves[, 3] <= curves[, 1]))
    risk <- predict(fit, data$x) * if (family == "cox") 1 else -1
    expect_lt(cor(curves[, 2], risk, method = "spearman"), -0.99)
  }
})

test_that("strata of a formula have a baseline each, and are no features", {
  needs_python()
  skip_if_not_installed("survival")
  lung <- na.omit(survival::lung[, c("time", "status", "age", "sex", "ph.ecog")])
  lung$site <- rep(c("a", "b"), length.out = nrow(lung))
  fit <- riata(Surv(time, status == 2) ~ . - site + strata(site), lung, hidden = 5, nfeatures = 2, seed = 1, control = quick())
  expect_identical(fit$features, c("age", "sex", "ph.ecog"))
  twice <- lung[c(1, 1), ]
  twice$site <- c("a", "b")
  curves <- predict(fit, twice, type = "survival", times = 300)
  expect_false(curves[1] == curves[2])
})

test_that("late entries and intervals arrive", {
  needs_python()
  skip_if_not_installed("survival")
  data <- drawn()
  time <- exp(data$y / 2)
  entry <- survival::Surv(time / 2, time, rep(1:0, 100))
  expect_identical(riata(data$x, entry, hidden = 5, nfeatures = 2, seed = 1, control = quick())$family, "cox")
  visits <- c(0, 0.5, 1, 2, Inf)
  after <- findInterval(time, visits)
  lower <- ifelse(after == 1, NA, visits[after])
  upper <- ifelse(after == 4, NA, visits[after + 1])
  fit <- riata(data$x, survival::Surv(lower, upper, type = "interval2"), hidden = 5, nfeatures = 2, seed = 1)
  expect_setequal(selected(fit), c("x1", "x2"))
  expect_gt(cor(predict(fit, data$x), time, method = "spearman"), 0.8)
})

test_that("any point of the path can be asked for", {
  needs_python()
  data <- drawn()
  fit <- riata(data$x, data$y, hidden = 5, seed = 1, control = quick())
  expect_lte(length(selected(fit, nfeatures = 1)), 1)
  expect_length(selected(fit, s = 0), 6)
  several <- predict(fit, data$x, s = c(0, fit$lambda))
  expect_identical(dim(several), c(200L, 2L))
  expect_equal(several[, 2], predict(fit, data$x), tolerance = 1e-6)
  expect_identical(dim(coef(fit, s = c(0, 1, 2))), c(6L, 3L))
})

test_that("trace shows progress, and 0 shows none", {
  needs_python()
  said <- in_new_process(c(
    "library(riata)", "fit <- riata(mpg ~ ., mtcars, hidden = 5, nfeatures = 3, seed = 1, trace = 1)"
  ))
  expect_match(said, "path of [0-9]+ points")
  expect_silent(fit_cars())
})
