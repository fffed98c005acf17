#' Stability selection
#'
#' Fits on many random halves of the samples and selects the features that many halves agree on, with a bound on the expected
#' number of false selections (Meinshausen and Buehlmann, 2010; Shah and Samworth, 2013).
#'
#' @param x,y As for [riata()]; `x` may be a formula.
#' @param formula,data,weights,subset,na.action As for [riata()].
#' @param max.false Bound on the expected number of false selections.
#' @param nresamples Number of halves, even.
#' @param threshold Share of the halves, above 0.5, that have to take a feature; `NULL` for 0.75.
#' @param taken Number of features taken from each half; `NULL` for the largest that keeps the bound.
#' @param cluster A label for each row: rows with the same one go to the same half.
#' @param njobs How many halves to fit at once; -1 for all cores. Results do not depend on it.
#' @param seed,trace,... As for [riata()], with all of its other arguments.
#' @return An object of class `"riata_stability"` with `selected`, the data frame `features` (`feature`, `frequency`, `selected`), and
#'   `threshold`, `taken`, `bound`.
#' @examplesIf riata::riata_available()
#' set.seed(1)
#' quick <- riata_control(path_multiplier = 1.2)
#' stability(mpg ~ ., mtcars, hidden = 5, nresamples = 10, control = quick)
#' @export
stability <- function(x, ...) UseMethod("stability")

#' @rdname stability
#' @export
stability.default <- function(x, y, max.false = 1, nresamples = 100, threshold = NULL, taken = NULL, cluster = NULL,
                              njobs = NULL, seed = NULL, trace = 0, ...) {
  problem <- problem_of(x, y, c(list(...), list(seed = seed)))
  parameters <- list(
    max_false = max.false, n_resamples = whole(nresamples), threshold = threshold, n_features = whole(taken),
    n_jobs = whole(njobs), verbose = as.integer(trace), random_state = problem$seed
  )
  live <- fit_selector("StabilitySelector", problem, parameters, labels_of(cluster, problem$table$n))
  found <- ask_plain("evidence", live, list("frequencies", "threshold", "n_features_taken", "false_bound"))
  features <- data.frame(feature = problem$table$names, frequency = found$frequencies, selected = found$selected)
  evidence_object("riata_stability", live, features, features$frequency, match.call(), list(
    threshold = found$threshold, taken = found$n_features_taken, bound = found$false_bound, nresamples = nresamples
  ))
}

#' @rdname stability
#' @export
stability.formula <- function(formula, data, ..., weights, subset, na.action = stats::na.pass) {
  with_formula(stability.default, match.call(), parent.frame(), list(...))
}

#' Knockoffs
#'
#' Compares each feature with a knockoff, a column that is correlated with the others as the feature is and independent of the
#' target, and selects with a bound on the expected share of false selections (Barber and Candes, 2015). A selection has at
#' least 1 / `fdr` features, or none.
#'
#' @param x,y As for [riata()]; `x` may be a formula.
#' @param formula,data,weights,subset,na.action As for [riata()].
#' @param fdr The bound.
#' @param ndraws How many times knockoffs are drawn; with several, the selection depends less on the seed.
#' @param nfits Fits with different seeds for each draw.
#' @param njobs How many fits to run at once; -1 for all cores. Results do not depend on it.
#' @param seed,trace,... As for [riata()], with all of its other arguments.
#' @return An object of class `"riata_knockoffs"` with `selected`, the data frame `features` (`feature`, `statistic`, `selected`), and
#'   `fdr` and `threshold`.
#' @examplesIf riata::riata_available()
#' set.seed(1)
#' x <- matrix(rnorm(4000), ncol = 20)
#' y <- drop(x[, 1:8] %*% rep(1, 8)) + rnorm(200)
#' quick <- riata_control(path_multiplier = 1.2)
#' knockoffs(x, y, fdr = 0.2, nfits = 1, hidden = 5, control = quick)
#' @export
knockoffs <- function(x, ...) UseMethod("knockoffs")

#' @rdname knockoffs
#' @export
knockoffs.default <- function(x, y, fdr = 0.1, ndraws = 1, nfits = 4, njobs = NULL, seed = NULL, trace = 0, ...) {
  problem <- problem_of(x, y, c(list(...), list(seed = seed)))
  parameters <- list(
    fdr = fdr, n_draws = whole(ndraws), n_fits = whole(nfits), n_jobs = whole(njobs), verbose = as.integer(trace),
    random_state = problem$seed
  )
  live <- fit_selector("KnockoffSelector", problem, parameters)
  found <- ask_plain("evidence", live, list("statistics", "threshold", "groups"))
  statistics <- found$statistics
  if (!is.null(dim(statistics))) statistics <- colMeans(statistics)
  features <- data.frame(
    feature = problem$table$names, statistic = statistics[found$groups + 1], selected = found$selected
  )
  more <- list(fdr = fdr, ndraws = ndraws, threshold = found$threshold)
  evidence_object("riata_knockoffs", live, features, features$statistic, match.call(), more)
}

#' @rdname knockoffs
#' @export
knockoffs.formula <- function(formula, data, ..., weights, subset, na.action = stats::na.pass) {
  with_formula(knockoffs.default, match.call(), parent.frame(), list(...))
}

fit_selector <- function(name, problem, parameters, groups = NULL) {
  fit_problem(problem, ask_live("selector", name, python_estimator(problem), parameters), groups)
}

evidence_object <- function(class, live, features, order, call, more) {
  state <- new.env(parent = emptyenv())
  state$live <- live
  features <- features[order(-order), ]
  rownames(features) <- NULL
  structure(c(list(call = call, selected = features$feature[features$selected], features = features, model = state), more),
    class = class
  )
}

#' @rdname selected
#' @export
selected.riata_stability <- function(object, ...) object$selected

#' @rdname selected
#' @export
selected.riata_knockoffs <- function(object, ...) object$selected

#' @export
print.riata_stability <- function(x, ...) {
  cat_call(x)
  cat(
    "Taken from at least ", format(100 * x$threshold), "% of ", x$nresamples, " halves (", x$taken, " features from each); ",
    "at most ", format(x$bound, digits = 3L), " of them false on average:\n", sep = ""
  )
  print_names(x$selected)
  invisible(x)
}

#' @export
print.riata_knockoffs <- function(x, ...) {
  cat_call(x)
  cat("Selected with a share of false ones of at most ", format(x$fdr), " on average:\n", sep = "")
  print_names(x$selected)
  invisible(x)
}
