#' Select features and fit a network that uses only those
#'
#' Solves the path of the LassoNet from the dense model to the empty one and selects a point. A network
#' \eqn{f(x) = skip(x) + g(x)}, with a linear part and hidden layers, minimises
#' \deqn{loss + \lambda \sum_j c_j a_j \|skip_j\|, \quad \|first_j\|_\infty \le M \|skip_j\|}{
#'   loss + lambda sum_j c_j a_j |skip_j|,  |first_j|_inf <= M |skip_j|}
#' so a feature whose linear weights are zero is out of the model. `M = 0` is the lasso.
#'
#' @section Families:
#' | `family` | y | what is minimised |
#' |---|---|---|
#' | `"gaussian"` | numbers, or a matrix of several | mean squared error |
#' | `"binomial"` | two classes: a factor, text, `TRUE`/`FALSE`, 0/1 | \eqn{-}log-likelihood |
#' | `"multinomial"` | classes | \eqn{-}log-likelihood; all classes share their features |
#' | `"ordinal"` | an ordered factor | \eqn{-}log-likelihood of the steps from a class to the next |
#' | `"poisson"`, `"gamma"`, `"tweedie"` | counts, amounts | deviance, of the mean exp(f) |
#' | `"huber"`, `"laplace"` | numbers | Huber's loss, absolute error |
#' | `"quantile"` | numbers | pinball loss, of the levels `tau` |
#' | `"cox"` | `survival::Surv(time, event)` or `Surv(start, stop, event)` | \eqn{-}log partial likelihood / n |
#' | `"aft"` | `Surv` with intervals | \eqn{-}log-likelihood of log T = f + \eqn{\sigma} error |
#'
#' Without `family` it is taken from y: a factor or text gives `"binomial"` or `"multinomial"`, an ordered factor `"ordinal"`,
#' `TRUE`/`FALSE` `"binomial"`, `Surv` `"cox"` or, with intervals, `"aft"`, and numbers `"gaussian"`.
#'
#' @section Columns:
#' Columns of a data frame may hold numbers, factors, text, dates and missing values. A factor is one feature with weights for
#' each of its levels; levels that do not occur are ignored, and in new data a level that was not there counts as an average
#' sample. A missing number becomes the mean with a mark (see `missing`), a missing level is a level of its own. A formula names
#' columns, such as `y ~ .` or `y ~ log(age) + town`; it takes no interactions, as the network finds them.
#'
#' @param x A matrix of numbers with a row per sample, a data frame, or a sparse matrix of the package 'Matrix'; or a formula.
#' @param y The target: see below.
#' @param formula,data A formula such as `y ~ .`, and the data frame it is about. `strata(...)` on the right side gives the
#'   strata of a Cox model.
#' @param family The loss; a name, or a family of 'stats' such as `binomial()`.
#' @param weights Non-negative weights of the samples; only their ratios count.
#' @param penalty.factor Penalty weight \eqn{c_j} of each column, by position or, for some, by name: 0 keeps a column always,
#'   `Inf` leaves it out. Unlike in 'glmnet' they are not rescaled.
#' @param exclude Columns to leave out, by position or name.
#' @param groups Columns that enter and leave together: one label per column, or a list of columns by position or name.
#' @param M Hierarchy coefficient: 0 for the lasso, large values for a network without a constraint.
#' @param hidden Numbers of units of the hidden layers.
#' @param nfeatures Select the densest point with at most so many features.
#' @param select How a point is selected otherwise: `"1se"`, the fewest features whose validation loss is within a standard error of
#'   the best; `"best"`, the lowest validation loss; or a value of \eqn{\lambda}. `NULL` is `"1se"`, and for `"cox"` `"auto"`: the
#'   lowest validation loss with at most one feature for five events.
#' @param lambda The grid of \eqn{\lambda} instead of an automatic one. Of a single value the model is that at this value. For
#'   values of 'glmnet' see [from_glmnet()].
#' @param refit Refit a point on its features without the penalty before it is compared or used, as `relax = TRUE` with
#'   `gamma = 0` in 'glmnet'; `FALSE` for penalised coefficients; `"scratch"` to begin from new weights.
#' @param tau Quantiles, for `family = "quantile"`.
#' @param ties For `"cox"`: how events at the same time count.
#' @param dist For `"aft"`: the distribution of times.
#' @param strata,id For `"cox"`: a label for each row. Each stratum has its own baseline hazard; rows with the same `id` are of
#'   one subject and stay together where samples are split.
#' @param preprocessing How columns become inputs: `"auto"`, `"standard"` (centre and scale, always so for `M = 0`),
#'   `"piecewise"`, or `NULL` for columns as they are.
#' @param missing What a missing number becomes: the mean and a mark, the mean, or an error.
#' @param adaptive Exponent of the adaptive penalty weights \eqn{a_j}; `"auto"` is 0.5, and 0 for `M = 0`.
#' @param screening What is tested before the path: `"auto"`, `"marginal"`, `"pairs"` or `NULL` for nothing.
#' @param val.size Share of the samples held out to select a point; 0 for none.
#' @param control How networks are trained, by [riata_control()].
#' @param seed A whole number; `NULL` takes it from R's random numbers, so that [set.seed()] repeats a fit.
#' @param trace 1 shows a progress bar.
#' @param subset,na.action As for [stats::lm()], but rows with missing values are kept by default; `na.omit` drops them.
#' @param ... For the formula method, the arguments of the other; else nothing.
#' @return An object of class `"riata"`, with
#'   \item{selected}{names of the selected features,}
#'   \item{nfeatures, lambda}{their number, and \eqn{\lambda},}
#'   \item{path}{a data frame with a row for each point of the path,}
#'   \item{importance}{of each feature, larger is more important,}
#'   \item{interactions}{pairs and triples of features that matter together,}
#'   \item{seed, family, M, hidden, nobs, nvars, features, call}{what was fitted.}
#'
#'   The trained networks are in it too: [saveRDS()] and [readRDS()] keep them. See [predict.riata()], [coef.riata()],
#'   [plot.riata()], [selected()], [importance()], [interactions()], [report()].
#' @seealso [cv.riata()] for cross-validation, [stability()] and [knockoffs()] for how sure a selection is.
#' @examplesIf riata::riata_available()
#' set.seed(1)
#' fit <- riata(mpg ~ ., data = mtcars, hidden = 10, nfeatures = 3)
#' fit
#' selected(fit)
#' predict(fit, mtcars[1:3, ])
#'
#' x <- as.matrix(iris[, 1:4])
#' classes <- riata(x, iris$Species, hidden = 10)
#' table(predict(classes, x, type = "class"), iris$Species)
#' @export
riata <- function(x, ...) UseMethod("riata")

#' @rdname riata
#' @export
riata.default <- function(x, y,
                          family = c(
                            "gaussian", "binomial", "multinomial", "ordinal", "poisson", "gamma", "tweedie", "huber",
                            "laplace", "quantile", "cox", "aft"
                          ),
                          weights = NULL, penalty.factor = NULL, exclude = NULL, groups = NULL, M = 10, hidden = 100,
                          nfeatures = NULL, select = NULL, lambda = NULL, refit = TRUE, tau = 0.5,
                          ties = c("breslow", "efron"), dist = c("weibull", "loglogistic", "lognormal"), strata = NULL,
                          id = NULL, preprocessing = "auto", missing = c("indicator", "mean", "error"), adaptive = "auto",
                          screening = "auto", val.size = 0.2, control = riata_control(), seed = NULL, trace = 0, ...) {
  refuse_unknown(list(...), setdiff(names(formals(riata.default)), c("x", "y", "...")))
  given <- setdiff(names(formals(riata.default)), c("x", "y", "..."))
  problem <- problem_of(x, y, mget(given))
  fitted <- fit_problem(problem, python_estimator(problem))
  new_riata(fitted, problem, match.call())
}

#' @rdname riata
#' @export
riata.formula <- function(formula, data, ..., weights, subset, na.action = stats::na.pass) {
  with_formula(riata.default, match.call(), parent.frame(), list(...))
}

fit_problem <- function(problem, estimator, groups = NULL) {
  data <- python_data(problem)
  if (!is.null(problem$table$sparse)) return(fit_sparse(estimator, data, groups))
  ask_live("fit", estimator, data$x, data$y, data$weights, groups)
}

fit_sparse <- function(estimator, data, groups) {
  tryCatch(ask_live("fit", estimator, data$x, data$y, data$weights, groups), riata_error = function(error) {
    text <- conditionMessage(error)
    if (!grepl("sparse", text, ignore.case = TRUE)) stop(error)
    text <- sub("[ .]*Use '\\.toarray\\(\\)'.*", "", text)
    stop("x is sparse, which cannot be used here: use as.matrix(x). Python says: ", text, call. = FALSE)
  })
}

new_riata <- function(live, problem, call) {
  names <- problem$table$names
  about <- ask_plain("described", live)
  state <- new.env(parent = emptyenv())
  object <- structure(class = "riata", list(
    call = call, family = problem$family, nobs = problem$table$n, nvars = length(names), features = names,
    classes = problem$target$levels, labels = problem$target$labels, order = class_order(problem$target, about$classes),
    outputs = problem$target$outputs, M = problem$arguments$M, hidden = problem$arguments$hidden,
    tau = if (problem$family == "quantile") sort(problem$arguments$tau),
    refit = !identical(problem$arguments$refit, FALSE), seed = problem$seed, path = named_path(about$path),
    importance = stats::setNames(about$importance, names), interactions = about$interactions,
    screening = about$screening, score_name = about$score_name, version = about$version,
    columns = problem[c("keep", "all_names", "named")], model = state
  ))
  remember(object, live)
  at_point(object, ask_plain("point", live, as_texts(names)))
}

# Where the classes of R are among those of Python, which sorts text by itself.
class_order <- function(target, classes) {
  if (is.character(target$labels)) match(target$levels, classes) else seq_along(target$levels)
}

# Outputs of Python, one column each, in the order of R. Of two classes there is one, the log odds of the second.
in_order <- function(found, object) {
  order <- object$order
  if (ncol(found) == length(order)) return(found[, order, drop = FALSE])
  if (ncol(found) == 1L && identical(order, 2:1)) return(-found)
  found
}

named_path <- function(path) {
  names(path) <- sub("lambda_", "lambda", sub("n_selected", "nfeatures", names(path), fixed = TRUE), fixed = TRUE)
  path$nfeatures <- as.integer(path$nfeatures)
  path
}

at_point <- function(object, point) {
  object$selected <- object$features[point$selected]
  object$nfeatures <- sum(point$selected)
  object$lambda <- point$lambda
  object$coefficients <- coefficient_matrix(object, point)
  object
}

# One column per output, features as rows, with the intercept of a linear model above them.
coefficient_matrix <- function(object, point) {
  if (is.null(point$coefficients)) return(NULL)
  found <- t(point$coefficients)
  rownames(found) <- object$features
  if (!is.null(point$intercept) && !survives(object$family)) found <- rbind("(Intercept)" = point$intercept, found)
  found <- in_order(found, object)
  colnames(found) <- output_labels(object, ncol(found))
  found
}

output_labels <- function(object, n) {
  if (n == 1L) return(NULL)
  if (!is.null(object$outputs) && n == length(object$outputs)) return(object$outputs)
  if (!is.null(object$tau) && n == length(object$tau)) return(paste0("tau=", object$tau))
  if (!is.null(object$classes) && n == length(object$classes)) return(object$classes)
  if (!is.null(object$classes) && n == length(object$classes) - 1L) {
    return(paste(utils::head(object$classes, -1L), object$classes[-1L], sep = "|"))
  }
  paste0("y", seq_len(n))
}
