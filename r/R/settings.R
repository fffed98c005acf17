# From the arguments of riata() to the table, the target and the parameters of the estimator in Python.

estimators <- c(
  binomial = "Classifier", multinomial = "Classifier", ordinal = "Classifier", cox = "CoxRegressor",
  aft = "IntervalRegressor"
)
losses <- c(
  poisson = "poisson", gamma = "gamma", tweedie = "tweedie", huber = "huber", laplace = "absolute_error",
  quantile = "quantile", ordinal = "ordinal"
)
distributions <- c(lognormal = "normal", loglogistic = "logistic", weibull = "extreme_value")

# The arguments of riata(), with its defaults where they are not given.
arguments_of <- function(given) {
  known <- formals(riata.default)
  known <- known[setdiff(names(known), c("x", "y", "..."))]
  refuse_unknown(given, names(known))
  missing_ones <- known[setdiff(names(known), names(given))]
  c(given, lapply(missing_ones, eval, envir = topenv()))
}

refuse_unknown <- function(given, known) {
  if (length(given) && (is.null(names(given)) || any(!nzchar(names(given))))) {
    stop("arguments after y must be named, such as family = \"binomial\"", call. = FALSE)
  }
  unknown <- setdiff(names(given), known)
  if (length(unknown)) {
    stop("unknown argument ", some(unknown), "; known are ", paste(known, collapse = ", "), call. = FALSE)
  }
}

# Everything but the fit: what is the same for riata(), cv.riata(), stability() and knockoffs().
problem_of <- function(x, y, given, several = FALSE) {
  arguments <- arguments_of(given)
  table <- as_table(x)
  if (table$n < 2L) stop("x has ", table$n, " rows: at least two are needed", call. = FALSE)
  family <- family_of(arguments$family, y)
  target <- as_target(y, family, table$n, arguments$strata, arguments$id)
  costs <- costs_of(arguments$penalty.factor, table)
  keep <- kept(arguments$exclude, costs, table)
  list(
    table = columns_of(table, keep), keep = keep, all_names = table$names, named = table$named, family = family,
    target = target, weights = weights_of(arguments$weights, table$n), seed = seed_of(arguments$seed),
    parameters = parameters_of(arguments, family, costs[keep], groups_of(arguments$groups, table)[keep], several),
    arguments = arguments
  )
}

costs_of <- function(given, table) {
  if (is.null(given)) return(NULL)
  costs <- rep(1, table$p)
  if (!is.null(names(given))) {
    costs[positions(names(given), table$names, "penalty.factor")] <- given
  } else {
    if (length(given) != table$p) {
      stop(
        "penalty.factor must have one number for each of the ", table$p, " columns of x, or names; it has ", length(given),
        call. = FALSE
      )
    }
    costs <- as.double(given)
  }
  if (anyNA(costs) || any(costs < 0)) stop("penalty.factor must hold numbers from 0 on, none of them missing", call. = FALSE)
  costs
}

# Columns that are left in: an infinite penalty leaves a column out, as in glmnet.
kept <- function(exclude, costs, table) {
  out <- if (is.null(exclude)) integer() else positions(exclude, table$names, "exclude")
  keep <- setdiff(seq_len(table$p), c(out, which(is.infinite(costs))))
  if (!length(keep)) stop("exclude leaves no column of x", call. = FALSE)
  keep
}

# One label per column; columns that no group of a list holds are groups of their own.
groups_of <- function(groups, table) {
  if (is.null(groups)) return(NULL)
  if (!is.list(groups)) {
    if (length(groups) != table$p || anyNA(groups)) {
      stop("groups must have one label for each of the ", table$p, " columns of x, or be a list of columns", call. = FALSE)
    }
    return(match(groups, unique(groups)))
  }
  labels <- length(groups) + seq_len(table$p)
  for (i in seq_along(groups)) {
    members <- positions(groups[[i]], table$names, "groups")
    twice <- members[labels[members] <= length(groups)]
    if (length(twice)) stop("groups must hold a column once; repeated: ", some(table$names[twice]), call. = FALSE)
    labels[members] <- i
  }
  labels
}

weights_of <- function(weights, n) {
  if (is.null(weights)) return(NULL)
  if (!is.numeric(weights) || length(weights) != n || anyNA(weights) || any(weights < 0)) {
    stop(
      "weights must be ", n, " numbers from 0 on, one for each row of x and none missing; got ", length(weights),
      call. = FALSE
    )
  }
  as.double(weights)
}

seed_of <- function(seed) {
  if (is.null(seed)) return(sample.int(.Machine$integer.max, 1L) - 1L)
  if (!is.numeric(seed) || length(seed) != 1L || is.na(seed) || seed < 0 || seed %% 1 != 0 || seed > .Machine$integer.max) {
    stop("seed must be one whole number from 0 on, or NULL to take it from set.seed()", call. = FALSE)
  }
  as.integer(seed)
}

shape_of <- function(hidden) {
  if (is.list(hidden)) return(lapply(hidden, function(each) as.list(as.integer(each))))
  if (!is.numeric(hidden) || anyNA(hidden)) stop("hidden must hold numbers of units, such as 100 or c(50, 20)", call. = FALSE)
  as.list(as.integer(hidden))
}

parameters_of <- function(a, family, costs, groups, several) {
  if (!several && (length(a$M) != 1L || is.list(a$hidden))) {
    stop("one M and one shape of hidden layers, please; cv.riata() takes several of both", call. = FALSE)
  }
  found <- list(
    hidden_dims = shape_of(a$hidden), M = if (length(a$M) == 1L) a$M else as.list(a$M), preprocessing = a$preprocessing,
    missing = a$missing[1L], screening = a$screening, adaptive = a$adaptive, val_size = a$val.size,
    verbose = as.integer(a$trace)
  )
  found["refit"] <- list(refit_of(a$refit))
  if (!is.null(a$nfeatures)) found$n_features_to_select <- whole(a$nfeatures)
  if (!is.null(a$select)) found$select <- a$select
  if (!is.null(a$lambda)) {
    found$lambda_seq <- as.list(sort(unique(a$lambda)))
    if (length(a$lambda) == 1L && is.null(a$select) && !several) found$select <- a$lambda
  }
  if (!is.null(costs)) found$feature_costs <- as.list(costs)
  if (!is.null(groups)) found$feature_groups <- as.list(groups)
  if (family == "cox") found$ties <- a$ties[1L]
  if (family == "aft") found$distribution <- distributions[[match.arg(a$dist, names(distributions)[3:1])]]
  found
}

refit_of <- function(refit) if (isTRUE(refit)) "warm" else refit

# An estimator in Python that is not fitted.
python_estimator <- function(problem, cv = FALSE, folds = NULL, more = list()) {
  family <- problem$family
  name <- paste0("LassoNet", if (family %in% names(estimators)) estimators[[family]] else "Regressor", if (cv) "CV")
  loss <- if (family %in% names(losses)) losses[[family]]
  levels <- if (family == "quantile") as.list(sort(problem$arguments$tau))
  parameters <- c(problem$parameters, more, random_state = problem$seed)
  ask_live("estimator", name, parameters, loss, levels, python_control(problem$arguments$control), folds)
}

python_data <- function(problem) {
  weights <- problem$weights
  list(
    x = python_table(problem$table), y = python_target(problem$target), weights = if (!is.null(weights)) as_bytes(weights)
  )
}
