#' Cross-validation
#'
#' Selects \eqn{\lambda}, and `M` and `hidden` where several are given, by cross-validation. Points of the path are scored on the
#' samples of each fold by networks that have not seen them. Folds agree on a number of features rather than on a \eqn{\lambda}, so
#' the model is the point with about that number on a path of all samples; `lambda.min` and `lambda.1se` are values of that path.
#'
#' @param x A matrix, data frame or sparse matrix, or a formula, as for [riata()].
#' @param y The target.
#' @param formula,data,weights,subset,na.action As for [riata()].
#' @param nfolds Number of folds, drawn at random; classes and events are in proportion.
#' @param foldid Instead, the fold of each row: whole numbers.
#' @param cluster A label for each row: rows with the same one, such as those of a patient, are kept in one fold.
#' @param scoring The name of a score of scikit-learn, such as `"neg_log_loss"` or `"roc_auc"`; `NULL` for that of the family
#'   (accuracy, R squared, explained deviance, concordance). Larger is better.
#' @param select Which point is the model: `"lambda.1se"`, the fewest features within a standard error of the best score, or
#'   `"lambda.min"`, the best score. `NULL` is `"lambda.1se"`, and for `"cox"` `"lambda.min"` with at most one feature for five
#'   events.
#' @param M,hidden As for [riata()]; of several values (a list of shapes for `hidden`) the best is selected.
#' @param njobs How many folds to work on at once; -1 for all cores. Results do not depend on it.
#' @param seed,... As for [riata()], with all of its other arguments.
#' @return An object of classes `"cv.riata"` and `"riata"`: all methods of [riata()] apply to the model that was selected. In
#'   addition it holds
#'   \item{cv}{a data frame with a row for each scored point: `lambda`, the mean number of features `nfeatures` over folds, the
#'     mean score `cvm`, its standard error `cvsd`, `M` and `hidden`,}
#'   \item{lambda.min, lambda.1se}{values of \eqn{\lambda} on the path of all samples,}
#'   \item{nfeatures.min, nfeatures.1se}{the numbers of features that the folds ask for,}
#'   \item{score}{the name of the score.}
#' @examplesIf riata::riata_available()
#' set.seed(1)
#' cv <- cv.riata(mpg ~ ., mtcars, hidden = 10, nfolds = 3)
#' cv
#' predict(cv, mtcars[1:3, ], s = "lambda.min")
#' @export
cv.riata <- function(x, ...) UseMethod("cv.riata")

#' @rdname cv.riata
#' @export
cv.riata.default <- function(x, y, nfolds = 5, foldid = NULL, cluster = NULL, scoring = NULL, select = NULL, M = 10,
                             hidden = 100, njobs = NULL, seed = NULL, ...) {
  given <- list(...)
  problem <- problem_of(x, y, c(given, list(M = M, hidden = hidden, seed = seed)), several = TRUE)
  if (problem$family == "aft") stop("cross-validation is not there for family \"aft\": use riata()", call. = FALSE)
  n <- problem$table$n
  rule <- rule_of(select, problem$family)
  problem$parameters$select <- if (is.null(select) && problem$family == "cox") "auto" else python_rule(rule)
  more <- list(n_jobs = whole(njobs))
  if (!is.null(scoring)) more$scoring <- scoring
  if (is.null(foldid)) more$cv <- whole_number(nfolds, "nfolds")
  estimator <- python_estimator(problem, cv = TRUE, folds_of(foldid, n), more)
  fitted <- fit_problem(problem, estimator, labels_of(cluster, n))
  object <- new_riata(fitted, problem, match.call())
  with_scores(object, fitted, rule)
}

#' @rdname cv.riata
#' @export
cv.riata.formula <- function(formula, data, ..., weights, subset, na.action = stats::na.pass) {
  with_formula(cv.riata.default, match.call(), parent.frame(), list(...))
}

rule_of <- function(select, family) {
  if (is.null(select)) return(if (family == "cox") "lambda.min" else "lambda.1se")
  match.arg(select, c("lambda.1se", "lambda.min"))
}

python_rule <- function(rule) if (rule == "lambda.min") "best" else "1se"

folds_of <- function(foldid, n) {
  if (is.null(foldid)) return(NULL)
  if (length(foldid) != n || anyNA(foldid) || length(unique(foldid)) < 2L) {
    stop("foldid must have one number for each of the ", n, " rows of x, and at least two different ones", call. = FALSE)
  }
  as.list(match(foldid, sort(unique(foldid))) - 1L)
}

labels_of <- function(cluster, n) {
  if (is.null(cluster)) return(NULL)
  if (length(cluster) != n || anyNA(cluster)) {
    stop("cluster must have one label for each of the ", n, " rows of x, none of them missing", call. = FALSE)
  }
  as_texts(cluster)
}

# Adds the scores of folds, and the points of the two rules on the path of all samples.
with_scores <- function(object, live, rule) {
  found <- ask_plain("cross_validated", live)
  results <- found$results
  object$cv <- data.frame(
    lambda = results$lambda_, nfeatures = results$n_selected, cvm = results$mean_test_score, cvsd = results$se_test_score,
    M = results$M, hidden = results$hidden
  )
  object$score <- found$score_name
  object$M <- found$M
  object$hidden <- unlist(found$hidden)
  own <- sub("lambda", "", rule, fixed = TRUE)
  other <- setdiff(c(".min", ".1se"), own)
  same <- object$cv$M == found$M & object$cv$hidden == paste(object$hidden, collapse = " ")
  object[[paste0("lambda", own)]] <- object$lambda
  object[[paste0("nfeatures", own)]] <- found$n_selected
  row <- other_row(object$cv[same, ], other)
  object[[paste0("nfeatures", other)]] <- row$nfeatures
  object[[paste0("lambda", other)]] <- lambda_with(object$path, row$nfeatures, row$lambda)
  object$rule <- rule
  class(object) <- c("cv.riata", "riata")
  object
}

other_row <- function(cv, rule) {
  best <- cv[which.max(cv$cvm), ]
  if (rule == ".min") return(best)
  near <- cv[cv$cvm >= best$cvm - best$cvsd, ]
  near[which.min(near$nfeatures), ]
}

# Of the points with about so many features, or the next smaller number, the one with the nearest lambda.
lambda_with <- function(path, nfeatures, lambda) {
  number <- max(path$nfeatures[path$nfeatures <= round(nfeatures)], min(path$nfeatures))
  lambdas <- path$lambda[path$nfeatures == number]
  lambdas[which.min(abs(lambdas - lambda))]
}

named_lambda <- function(object, s) {
  if (!is.character(s)) return(s)
  s <- match.arg(s, c("lambda.1se", "lambda.min"))
  if (s == object$rule) NULL else object[[s]]
}

#' @rdname predict.riata
#' @export
predict.cv.riata <- function(object, newx, s = NULL, ...) predict.riata(object, newx, s = named_lambda(object, s), ...)

#' @rdname coef.riata
#' @export
coef.cv.riata <- function(object, s = NULL, ...) coef.riata(object, s = named_lambda(object, s), ...)

#' @rdname selected
#' @export
selected.cv.riata <- function(object, s = NULL, ...) selected.riata(object, s = named_lambda(object, s), ...)

#' @export
print.cv.riata <- function(x, ...) {
  cat_call(x)
  rows <- data.frame(
    lambda = signif(c(x$lambda.min, x$lambda.1se), 4L), nfeatures = round(c(x$nfeatures.min, x$nfeatures.1se), 1L),
    row.names = c("lambda.min", "lambda.1se")
  )
  cat("Score of folds: ", x$score, "\n", sep = "")
  print(rows)
  cat("\nModel at ", x$rule, ": ", x$nfeatures, " of ", x$nvars, " features\n", sep = "")
  print_names(ordered_names(x))
  invisible(x)
}
