# Formulas: which columns of a data frame are features. Factors stay whole, so there is no model matrix.

with_formula <- function(fit, call, where, given) {
  parts <- formula_parts(call, where)
  object <- do.call(fit, c(list(parts$x, parts$y), given, parts$more))
  object$call <- call
  if (is.environment(object$model)) object$formula <- parts[c("terms", "strata", "target")]
  object
}

formula_parts <- function(call, where) {
  wanted <- match(c("formula", "data", "weights", "subset", "na.action"), names(call), 0L)
  frame_call <- call[c(1L, wanted)]
  frame_call[[1L]] <- quote(stats::model.frame)
  frame_call$formula <- readable_formula(eval(call$formula, where), eval(call$data, where))
  if (is.null(call$na.action)) frame_call$na.action <- quote(stats::na.pass)
  frame <- eval(frame_call, where)
  terms <- stats::terms(frame)
  labels <- feature_labels(terms)
  strata <- attr(terms, "specials")$strata
  strata_name <- if (!is.null(strata)) names(frame)[strata]
  more <- list()
  if (!is.null(frame[["(weights)"]])) more$weights <- frame[["(weights)"]]
  if (!is.null(strata_name)) more$strata <- frame[[strata_name]]
  y <- stats::model.response(frame)
  if (is.null(y)) stop("the formula has no target on its left side: use y ~ .", call. = FALSE)
  if (!is.null(names(y))) names(y) <- NULL
  list(
    x = feature_frame(frame, labels), y = y, more = more, terms = feature_terms(terms), strata = strata_name,
    target = attr(terms, "variables")[[2L]]
  )
}

# Surv() and strata() are found whether or not the package survival is attached.
readable_formula <- function(formula, data) {
  if (!inherits(formula, "formula")) stop("formula must be a formula, such as y ~ .", call. = FALSE)
  if (requireNamespace("survival", quietly = TRUE)) {
    scope <- new.env(parent = environment(formula))
    scope$Surv <- survival::Surv
    scope$strata <- survival::strata
    environment(formula) <- scope
  }
  stats::terms(formula, specials = "strata", data = if (is.data.frame(data)) data)
}

feature_labels <- function(terms) {
  if (length(attr(terms, "offset"))) stop("riata takes no offset(): subtract it from y, or leave it out", call. = FALSE)
  order <- attr(terms, "order")
  labels <- attr(terms, "term.labels")
  if (any(order > 1L)) {
    stop(
      "the formula holds the interaction ", some(labels[order > 1L]), ": name columns only, the network finds interactions",
      call. = FALSE
    )
  }
  special <- attr(terms, "specials")$strata
  if (is.null(special)) return(labels)
  setdiff(labels, as.character(attr(terms, "variables"))[-1L][special])
}

feature_frame <- function(frame, labels) {
  if (!length(labels)) stop("the formula has no features on its right side", call. = FALSE)
  labels <- gsub("^`(.*)`$", "\\1", labels)
  columns <- lapply(labels, function(label) frame[[label]])
  wide <- vapply(columns, function(column) !is.null(dim(column)), NA)
  if (any(wide)) {
    stop("the term ", some(labels[wide]), " of the formula has several columns: use the column itself", call. = FALSE)
  }
  names(columns) <- labels
  structure(columns, class = "data.frame", row.names = attr(frame, "row.names"))
}

# Terms for new data: without the target and without strata.
feature_terms <- function(terms) {
  stats::terms(stats::reformulate(feature_labels(terms), env = environment(terms)))
}

new_frame <- function(formula, newdata) {
  if (!is.data.frame(newdata)) {
    stop("the model was fitted with a formula: give new data as a data frame", call. = FALSE)
  }
  gone <- setdiff(all.vars(formula$terms), names(newdata))
  gone <- gone[!vapply(gone, exists, NA, envir = environment(formula$terms), mode = "numeric")]
  if (length(gone)) stop("the new data have no column ", some(gone), call. = FALSE)
  frame <- stats::model.frame(formula$terms, newdata, na.action = stats::na.pass)
  feature_frame(frame, attr(formula$terms, "term.labels"))
}

new_strata <- function(formula, newdata) {
  if (is.null(formula$strata)) return(NULL)
  as.character(eval(str2lang(formula$strata), newdata, environment(formula$terms)))
}
