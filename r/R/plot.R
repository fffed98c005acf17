#' Plots
#'
#' `plot` draws with base graphics; [ggplot2::autoplot()] draws the same with 'ggplot2'.
#'
#' @param x,object A fit of [riata()] or [cv.riata()].
#' @param what `"path"`: the loss against the number of features, with the selected point. `"coefficients"`: the norm of the linear weights
#'   of each feature along the path. `"importance"`: the most important features as bars. `"cv"`: the mean score of the folds, with
#'   one standard error.
#' @param top How many features to show, or to name.
#' @param ... For `plot`, graphical parameters.
#' @return `plot`: what was drawn, as a data frame, invisibly. `autoplot`: a plot.
#' @examplesIf riata::riata_available()
#' fit <- riata(mpg ~ ., mtcars, hidden = 10, seed = 1)
#' plot(fit)
#' plot(fit, "coefficients")
#' plot(fit, "importance")
#' @export
plot.riata <- function(x, what = c("path", "coefficients", "importance"), top = 10, ...) {
  switch(match.arg(what), path = draw_path(x, ...), coefficients = draw_norms(x, top, ...), importance = draw_bars(x, top, ...))
}

#' @rdname plot.riata
#' @export
plot.cv.riata <- function(x, what = c("cv", "path", "coefficients", "importance"), top = 10, ...) {
  what <- match.arg(what)
  if (what == "cv") draw_cv(x, ...) else plot.riata(x, what, top, ...)
}

ink <- c("#1f5fa8", "#c8501e", "#3a8a4d", "#8a4fa3", "#b0891a", "#3c9aa6", "#a33b5b", "#5b6470", "#7a8f2a", "#d17b9e")
grey <- "#8a8f98"

# What is drawn, as data frames: the same for plot and autoplot.

path_data <- function(object) {
  path <- object$path
  validated <- any(is.finite(path$val_loss))
  data.frame(
    nfeatures = path$nfeatures, lambda = path$lambda, loss = if (validated) path$val_loss else path$loss,
    se = if (validated) path$val_loss_se else NA_real_, selected = path$lambda == object$lambda
  )
}

loss_label <- function(object) {
  if (any(is.finite(object$path$val_loss))) "validation loss, before the refit" else "training loss, before the refit"
}

norm_data <- function(object) {
  norms <- ask_plain("norms", live_model(object))
  keep <- object$path$lambda > 0
  data.frame(
    lambda = rep(object$path$lambda[keep], ncol(norms)), norm = as.vector(norms[keep, ]),
    feature = rep(object$features, each = sum(keep))
  )
}

bar_data <- function(object, top) {
  found <- utils::head(importance(object), top)
  data.frame(feature = names(found), importance = unname(found), selected = names(found) %in% object$selected)
}

cv_data <- function(object) {
  cv <- object$cv[object$cv$M == object$M & object$cv$hidden == paste(object$hidden, collapse = " "), ]
  data.frame(nfeatures = cv$nfeatures, score = cv$cvm, low = cv$cvm - cv$cvsd, high = cv$cvm + cv$cvsd)
}

# Room for numbers that stand upright beside the axis; returns the settings from before.
margins <- function() graphics::par(mar = c(4.1, 5.6, 2.1, 1.1), mgp = c(2.6, 0.7, 0))

side_label <- function(text) graphics::title(ylab = text, line = 4)

draw_path <- function(object, ...) {
  old <- margins()
  on.exit(graphics::par(old))
  data <- path_data(object)
  range <- range(data$loss, if (!all(is.na(data$se))) c(data$loss - data$se, data$loss + data$se), finite = TRUE)
  graphics::plot(data$nfeatures, data$loss,
    type = "n", xlab = "features", ylab = "", ylim = range, las = 1, bty = "l", ...
  )
  side_label(loss_label(object))
  bars <- is.finite(data$se) & data$se > 0
  graphics::segments(data$nfeatures, data$loss - data$se, y1 = data$loss + data$se, col = ifelse(bars, "#c9ced6", NA))
  graphics::lines(data$nfeatures, data$loss, col = ink[1L])
  graphics::points(data$nfeatures, data$loss, col = ink[1L], pch = 16, cex = 0.7)
  graphics::abline(v = object$nfeatures, lty = 2, col = grey)
  graphics::mtext(paste(object$nfeatures, "selected"), at = object$nfeatures, col = grey, cex = 0.8)
  invisible(data)
}

draw_norms <- function(object, top, ...) {
  old <- margins()
  on.exit(graphics::par(old))
  data <- norm_data(object)
  wide <- matrix(data$norm, ncol = object$nvars)
  lambdas <- unique(data$lambda)
  named <- utils::head(names(importance(object)), min(top, length(ink)))
  colours <- stats::setNames(rep("#d5d9df", object$nvars), object$features)
  colours[named] <- ink[seq_along(named)]
  order <- order(object$features %in% named)
  graphics::matplot(lambdas, wide[, order, drop = FALSE],
    type = "l", log = "x", lty = 1, lwd = 1.5, col = colours[order], xlab = "lambda", ylab = "", las = 1, bty = "l", ...
  )
  side_label("norm of linear weights")
  graphics::abline(v = object$lambda, lty = 2, col = grey)
  graphics::legend("topright", named, col = ink, lty = 1, lwd = 1.5, bty = "n", cex = 0.8)
  invisible(data)
}

draw_bars <- function(object, top, ...) {
  data <- bar_data(object, top)
  shown <- data[rev(seq_len(nrow(data))), ]
  old <- graphics::par(mar = c(4.1, min(14, 1 + 0.55 * max(nchar(data$feature))), 1.1, 1.1))
  on.exit(graphics::par(old))
  graphics::barplot(shown$importance,
    names.arg = shown$feature, horiz = TRUE, las = 1, border = NA, col = ifelse(shown$selected, ink[1L], "#d5d9df"),
    xlim = c(0, max(pretty(c(0, shown$importance)))), xlab = "lambda at which the feature leaves", ...
  )
  invisible(data)
}

draw_cv <- function(object, ...) {
  old <- margins()
  on.exit(graphics::par(old))
  data <- cv_data(object)
  graphics::plot(data$nfeatures, data$score,
    type = "n", ylim = range(data$low, data$high, finite = TRUE), xlab = "features, mean over folds", ylab = "",
    las = 1, bty = "l", ...
  )
  side_label(object$score)
  some_error <- data$high > data$low
  graphics::segments(data$nfeatures, data$low, y1 = data$high, col = ifelse(some_error, "#c9ced6", NA))
  graphics::lines(data$nfeatures, data$score, col = ink[1L])
  graphics::points(data$nfeatures, data$score, col = ink[1L], pch = 16, cex = 0.7)
  graphics::abline(v = c(object$nfeatures.min, object$nfeatures.1se), lty = 2:3, col = grey)
  graphics::legend("bottomright", c("lambda.min", "lambda.1se"), lty = 2:3, col = grey, bty = "n", cex = 0.8)
  invisible(data)
}

#' Plots of evidence
#'
#' @param x What [stability()] or [knockoffs()] returned.
#' @param top How many features to show.
#' @param ... Graphical parameters.
#' @return What was drawn, as a data frame, invisibly.
#' @examplesIf riata::riata_available()
#' quick <- riata_control(path_multiplier = 1.2)
#' plot(stability(mpg ~ ., mtcars, hidden = 5, nresamples = 10, control = quick, seed = 1))
#' @export
plot.riata_stability <- function(x, top = 20, ...) {
  draw_evidence(x$features, "frequency", x$threshold, "share of the halves that take the feature", top, ...)
}

#' @rdname plot.riata_stability
#' @export
plot.riata_knockoffs <- function(x, top = 20, ...) {
  draw_evidence(x$features, "statistic", x$threshold[1L], "importance less that of the knockoff", top, ...)
}

draw_evidence <- function(features, column, threshold, label, top, ...) {
  data <- utils::head(features, top)
  shown <- data[rev(seq_len(nrow(data))), ]
  old <- graphics::par(mar = c(4.1, min(14, 1 + 0.55 * max(nchar(data$feature))), 1.1, 1.1))
  on.exit(graphics::par(old))
  graphics::barplot(shown[[column]],
    names.arg = shown$feature, horiz = TRUE, las = 1, border = NA, col = ifelse(shown$selected, ink[1L], "#d5d9df"),
    xlab = label, ...
  )
  if (is.finite(threshold)) graphics::abline(v = threshold, lty = 2, col = grey)
  invisible(data)
}
