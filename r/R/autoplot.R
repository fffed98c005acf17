#' @rdname plot.riata
#' @exportS3Method ggplot2::autoplot
autoplot.riata <- function(object, what = c("path", "coefficients", "importance"), top = 10, ...) {
  refuse_dots(...)
  switch(match.arg(what),
    path = gg_line(path_data(object), "nfeatures", "loss", "se", "features", loss_label(object), object$nfeatures),
    coefficients = gg_norms(norm_data(object), utils::head(names(importance(object)), min(top, length(ink))), object$lambda),
    importance = gg_bars(bar_data(object, top))
  )
}

#' @rdname plot.riata
#' @exportS3Method ggplot2::autoplot
autoplot.cv.riata <- function(object, what = c("cv", "path", "coefficients", "importance"), top = 10, ...) {
  what <- match.arg(what)
  if (what != "cv") return(autoplot.riata(object, what, top, ...))
  data <- cv_data(object)
  data$se <- data$high - data$score
  gg_line(data, "nfeatures", "score", "se", "features, mean over folds", object$score, object$nfeatures)
}

gg_line <- function(data, x, y, se, x_label, y_label, at) {
  shown <- data.frame(x = data[[x]], y = data[[y]], se = data[[se]])
  with_error <- shown[is.finite(shown$se) & shown$se > 0, ]
  ggplot2::ggplot(shown, ggplot2::aes(.data$x, .data$y)) +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = .data$y - .data$se, ymax = .data$y + .data$se), with_error, colour = "#c9ced6"
    ) +
    ggplot2::geom_line(colour = ink[1L]) +
    ggplot2::geom_point(colour = ink[1L]) +
    ggplot2::geom_vline(xintercept = at, linetype = 2, colour = grey) +
    ggplot2::labs(x = x_label, y = y_label)
}

gg_norms <- function(data, named, at) {
  data$name <- factor(ifelse(data$feature %in% named, data$feature, NA), levels = named)
  ggplot2::ggplot(data, ggplot2::aes(.data$lambda, .data$norm, group = .data$feature, colour = .data$name)) +
    ggplot2::geom_line() +
    ggplot2::geom_vline(xintercept = at, linetype = 2, colour = grey) +
    ggplot2::scale_x_log10() +
    ggplot2::scale_colour_manual(values = ink, na.value = "#d5d9df", breaks = named) +
    ggplot2::labs(x = "lambda", y = "norm of linear weights", colour = NULL)
}

gg_bars <- function(data) {
  data$feature <- factor(data$feature, levels = rev(data$feature))
  ggplot2::ggplot(data, ggplot2::aes(.data$importance, .data$feature, fill = .data$selected)) +
    ggplot2::geom_col() +
    ggplot2::scale_fill_manual(values = c(`TRUE` = ink[1L], `FALSE` = "#d5d9df")) +
    ggplot2::labs(x = "lambda at which the feature leaves", y = NULL)
}

utils::globalVariables(".data")
