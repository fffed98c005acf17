exact <- function() riata_control(exact = TRUE, n_iters = c(100, 3000), tol = 1e-9)

# Coefficients of both at values of lambda that correspond, for standardised columns.
expect_lasso <- function(x, y, family, lambdas, ...) {
  needs_python()
  skip_if_not_installed("glmnet")
  ours <- from_glmnet(lambdas, y, family)
  fit <- riata(x, y, family, M = 0, lambda = ours, select = max(ours), refit = FALSE, val.size = 0, control = exact(), seed = 1)
  mine <- coef(fit, s = ours)
  lasso <- glmnet::glmnet(x, y, family, lambda = sort(lambdas, decreasing = TRUE), thresh = 1e-13, maxit = 1e6, ...)
  theirs <- as.matrix(coef(lasso, s = lambdas))
  sd <- apply(x, 2, function(column) sqrt(mean((column - mean(column))^2)))
  scale <- if (family == "cox") sd else c(1, sd)
  expect_lt(max(abs(mine - theirs) * scale), 1e-3)
  expect_identical(unname(mine != 0), unname(theirs != 0))
  expect_gt(max(abs(theirs[names(sd), ] * sd)), 0.2)
}

test_that("M = 0 is the lasso of glmnet for numbers", {
  expect_lasso(as.matrix(mtcars[, -1]), mtcars$mpg, "gaussian", c(0.2, 0.5, 2))
})

test_that("M = 0 is the lasso of glmnet for two classes", {
  data <- drawn(p = 8, seed = 2)
  expect_lasso(data$x, rbinom(200, 1, plogis(data$y)), "binomial", c(0.02, 0.1))
})

test_that("M = 0 is the lasso of glmnet for survival times", {
  skip_if_not_installed("survival")
  columns <- c("time", "status", "age", "sex", "ph.ecog", "ph.karno", "pat.karno", "meal.cal", "wt.loss")
  lung <- na.omit(survival::lung[, columns])
  y <- survival::Surv(lung$time, lung$status == 2)
  expect_lasso(as.matrix(lung[, -(1:2)]), y, "cox", c(0.01, 0.03, 0.1))
})

test_that("M = 0 is the lasso of glmnet for counts", {
  data <- drawn(n = 100, p = 4, seed = 3)
  expect_lasso(data$x, rpois(100, exp(0.5 + 0.4 * data$y)), "poisson", 0.1)
})

test_that("weights mean the same, and so does penalty.factor once glmnet's are rescaled", {
  needs_python()
  skip_if_not_installed("glmnet")
  data <- drawn(n = 100, p = 4)
  weights <- runif(100, 0.5, 2)
  factors <- c(1, 3, 0.5, 1)
  lasso <- glmnet::glmnet(data$x, data$y, weights = weights, penalty.factor = factors, lambda = 0.2, thresh = 1e-13)
  rescaled <- factors * 4 / sum(factors) # as glmnet does
  fit <- riata(data$x, data$y,
    M = 0, lambda = from_glmnet(0.2, data$y, weights = weights), weights = weights, penalty.factor = rescaled,
    refit = FALSE, val.size = 0, control = exact(), seed = 1
  )
  expect_lt(max(abs(coef(fit) - as.matrix(coef(lasso)))), 1e-3)
})

test_that("lambda goes from glmnet to riata and back", {
  y <- c(1, 5, 2, 8)
  expect_equal(from_glmnet(from_glmnet(0.3, y), y, inverse = TRUE), 0.3)
  expect_equal(from_glmnet(0.3, y, "binomial"), 0.3)
  expect_equal(from_glmnet(0.3, y, "poisson"), 0.6 / 4)
  expect_error(from_glmnet(0.3, y, "quantile"), "no family")
})

test_that("a linear model with an intercept predicts what its coefficients say", {
  needs_python()
  data <- drawn()
  fit <- riata(data$x, data$y > 0, M = 0, val.size = 0, lambda = 0.05, seed = 1)
  coefficients <- coef(fit)
  link <- cbind(1, data$x) %*% coefficients
  expect_equal(drop(link), predict(fit, data$x, type = "link"), tolerance = 1e-5)
})
