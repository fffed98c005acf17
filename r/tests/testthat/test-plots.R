drawing <- function(code) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit(unlink(file))
  value <- code
  grDevices::dev.off()
  expect_gt(file.size(file), 3000)
  value
}

test_that("every plot is drawn from the numbers of the fit", {
  needs_python()
  data <- drawn()
  fit <- riata(data$x, data$y, hidden = 5, seed = 1, control = quick())
  cv <- cv.riata(data$x, data$y, hidden = 5, nfolds = 3, seed = 1, control = quick())
  path <- drawing(plot(fit))
  expect_identical(path$nfeatures[path$selected][1], fit$nfeatures)
  norms <- drawing(plot(fit, "coefficients"))
  expect_identical(unique(norms$feature), fit$features)
  bars <- drawing(plot(fit, "importance", top = 4))
  expect_identical(bars$feature, names(importance(fit))[1:4])
  scores <- drawing(plot(cv))
  expect_identical(scores$score, cv$cv$cvm)
  stable <- stability(data$x, data$y, hidden = 5, nresamples = 10, seed = 1, control = quick())
  expect_identical(drawing(plot(stable))$frequency, stable$features$frequency)
})

test_that("autoplot draws the same", {
  needs_python()
  skip_if_not_installed("ggplot2")
  data <- drawn()
  cv <- cv.riata(data$x, data$y, hidden = 5, nfolds = 3, seed = 1, control = quick())
  for (what in c("cv", "path", "coefficients", "importance")) {
    plot <- ggplot2::autoplot(cv, what)
    expect_s3_class(plot, "ggplot")
    expect_gt(nrow(ggplot2::layer_data(plot, if (what %in% c("cv", "path")) 2L else 1L)), 2)
  }
})
