#' The lambda of riata that belongs to one of glmnet
#'
#' With `M = 0` both solve the lasso, with another scale of \eqn{\lambda}. \eqn{\beta} belongs to standardised columns, sd has 1/n:
#'
#' | family | glmnet minimises | riata minimises | \eqn{\lambda} of riata |
#' |---|---|---|---|
#' | `gaussian` | RSS / 2n + \eqn{\lambda} sum \eqn{|\beta|} | RSS / (n sd(y)^2) + \eqn{\lambda} sum \eqn{|\beta|} / sd(y) | 2 \eqn{\lambda} / sd(y) |
#' | `binomial`, `multinomial` (grouped), `cox` | -log-likelihood / n + \eqn{\lambda} sum \eqn{|\beta|} | the same | \eqn{\lambda} |
#' | `poisson` | -log-likelihood / n + \eqn{\lambda} sum \eqn{|\beta|} | deviance / (n mean(y)) + \eqn{\lambda} sum \eqn{|\beta|} | 2 \eqn{\lambda} / mean(y) |
#'
#' For coefficients of 'glmnet' also set `refit = FALSE`, `val.size = 0` and `control = riata_control(exact = TRUE)`.
#' `penalty.factor` is not rescaled in riata.
#'
#' @param lambda Values of glmnet, or with `inverse` of riata.
#' @param y The target of the fit.
#' @param family The family.
#' @param weights Weights of the samples, if the fit has any.
#' @param inverse `TRUE` for the other direction.
#' @return Values of riata, or with `inverse` of glmnet.
#' @examplesIf riata::riata_available()
#' x <- as.matrix(mtcars[, -1])
#' y <- mtcars$mpg
#' fit <- riata(x, y,
#'   M = 0, lambda = from_glmnet(0.5, y), refit = FALSE, val.size = 0, seed = 1,
#'   control = riata_control(exact = TRUE)
#' )
#' coef(fit)
#' if (requireNamespace("glmnet", quietly = TRUE)) {
#'   coef(glmnet::glmnet(x, y, lambda = 0.5, thresh = 1e-12))
#' }
#' @export
from_glmnet <- function(lambda, y, family = "gaussian", weights = NULL, inverse = FALSE) {
  family <- family_of(family, y)
  if (!family %in% c("gaussian", "binomial", "multinomial", "poisson", "cox")) {
    stop("glmnet has no family \"", family, "\" like that of riata", call. = FALSE)
  }
  if (family == "gaussian" && !is.null(dim(y)) && ncol(y) > 1L) {
    stop("for several targets lambda of glmnet with standardize.response = TRUE is half of that of riata", call. = FALSE)
  }
  share <- if (is.null(weights)) rep(1 / NROW(y), NROW(y)) else weights / sum(weights)
  factor <- switch(family,
    gaussian = 2 / sqrt(sum(share * (y - sum(share * y))^2)),
    poisson = 2 / sum(share * y),
    1
  )
  if (inverse) lambda / factor else lambda * factor
}
