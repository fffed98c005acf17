# y, as the target of a family.

families <- c(
  "gaussian", "binomial", "multinomial", "ordinal", "poisson", "gamma", "tweedie", "huber", "laplace", "quantile", "cox", "aft"
)

family_of <- function(family, y) {
  if (inherits(family, "family")) family <- tolower(family$family)
  if (identical(family, "mgaussian")) family <- "gaussian"
  if (length(family) == 1L) {
    if (!family %in% families) {
      stop("family must be one of ", paste(families, collapse = ", "), "; got ", family, call. = FALSE)
    }
    return(family)
  }
  if (inherits(y, "Surv")) return(if (attr(y, "type") %in% c("right", "counting")) "cox" else "aft")
  if (is.ordered(y)) return("ordinal")
  if (is.factor(y) || is.character(y)) return(if (length(unique(stats::na.omit(y))) > 2L) "multinomial" else "binomial")
  if (is.logical(y)) "binomial" else "gaussian"
}

classifies <- function(family) family %in% c("binomial", "multinomial", "ordinal")
survives <- function(family) family %in% c("cox", "aft")

# Returns what Python needs, and the levels of classes in the order of R.
as_target <- function(y, family, n, strata = NULL, id = NULL) {
  if (is.data.frame(y)) y <- if (length(y) == 1L) y[[1L]] else as.matrix(y)
  if (is.matrix(y) && ncol(y) == 1L && !inherits(y, "Surv")) y <- drop(unname(y))
  check_length(y, n)
  check_known(y)
  if (survives(family)) return(as_times(y, family, strata, id))
  if (!is.null(strata)) stop("strata are for family = \"cox\"", call. = FALSE)
  if (inherits(y, "Surv")) stop("y holds survival times: use family = \"cox\" or \"aft\"", call. = FALSE)
  if (classifies(family)) as_classes(y, family) else as_numbers(y, family)
}

check_length <- function(y, n) {
  given <- if (is.null(dim(y))) length(y) else nrow(y)
  if (given != n) stop("y has ", given, " values and x has ", n, " rows: give one value per row", call. = FALSE)
}

check_known <- function(y) {
  gone <- if (inherits(y, "Surv") || !is.null(dim(y))) rowSums(is.na(unclass(y))) > 0 else is.na(y)
  if (any(gone)) {
    stop("y is missing in row ", some(which(gone)), ": leave out rows without a target", call. = FALSE)
  }
}

as_numbers <- function(y, family) {
  if (!is.numeric(y) && !is.logical(y)) {
    stop(
      "family = \"", family, "\" needs a y of numbers; y is ", paste(class(y), collapse = "/"),
      ": for classes use family = \"binomial\" or \"multinomial\"", call. = FALSE
    )
  }
  if (any(is.infinite(y))) stop("y is infinite in row ", some(which(is.infinite(y))), call. = FALSE)
  n <- if (is.null(dim(y))) length(y) else nrow(y)
  list(kind = "numbers", values = as.double(y), n = n, flat = is.null(dim(y)), outputs = output_names(y))
}

output_names <- function(y) {
  if (is.null(dim(y))) NULL else colnames(y) %||% paste0("y", seq_len(ncol(y)))
}

as_classes <- function(y, family) {
  if (!is.null(dim(y))) {
    stop("family = \"", family, "\" needs one column of classes; y has ", ncol(y), call. = FALSE)
  }
  values <- if (is.factor(y)) y else factor(y)
  unused <- setdiff(levels(values), as.character(values))
  if (length(unused)) {
    warning("no row of y has the level ", some(unused), ": it is left out", call. = FALSE)
    values <- factor(values)
  }
  if (nlevels(values) < 2L) stop("y holds one class only, ", levels(values), ": there is nothing to tell apart", call. = FALSE)
  if (family == "binomial" && nlevels(values) > 2L) {
    stop("family = \"binomial\" needs two classes; y holds ", nlevels(values), ": use family = \"multinomial\"", call. = FALSE)
  }
  labels <- if (is.numeric(y)) as.double(levels(values)) else levels(values)
  if (is.numeric(labels) && all(labels %% 1 == 0)) labels <- as.integer(labels)
  if (family == "ordinal") labels <- seq_len(nlevels(values)) - 1L # Python takes the order from numbers
  list(kind = "classes", codes = as.integer(values) - 1L, labels = labels, levels = levels(values))
}

as_times <- function(y, family, strata, id) {
  if (!inherits(y, "Surv")) y <- surv_of(y)
  type <- attr(y, "type")
  columns <- unclass(y)
  if (type == "right") {
    found <- list(time = columns[, "time"], event = columns[, "status"])
  } else if (type == "counting") {
    found <- list(entry = columns[, "start"], time = columns[, "stop"], event = columns[, "status"])
  } else if (type %in% c("interval", "left") && family == "aft") {
    found <- bounds(columns, type)
  } else {
    stop("family = \"", family, "\" takes no times of type \"", type, "\": intervals are for family = \"aft\"", call. = FALSE)
  }
  if (family == "aft" && !is.null(strata)) stop("strata are for family = \"cox\"", call. = FALSE)
  for (name in c("strata", "id")) {
    labels <- list(strata = strata, id = id)[[name]]
    if (is.null(labels)) next
    if (length(labels) != nrow(columns) || anyNA(labels)) {
      stop(name, " must have one label for each of the ", nrow(columns), " rows, none of them missing", call. = FALSE)
    }
    found[[name]] <- as.character(labels)
  }
  list(kind = "times", columns = found)
}

# Lower and upper bounds: status 0 is right-censored, 1 exact, 2 left-censored, 3 an interval.
bounds <- function(columns, type) {
  if (type == "left") {
    status <- ifelse(columns[, "status"] == 1, 1, 2)
    first <- second <- columns[, "time"]
  } else {
    status <- columns[, "status"]
    first <- columns[, "time1"]
    second <- columns[, "time2"]
  }
  lower <- ifelse(status == 2, 0, first)
  upper <- ifelse(status == 0, Inf, ifelse(status == 3, second, first))
  list(lower = unname(lower), upper = unname(upper))
}

# Times of glmnet's old form: a matrix with the columns time and status.
surv_of <- function(y) {
  if (is.null(dim(y)) || is.null(colnames(y)) || !all(c("time", "status") %in% colnames(y))) {
    stop("y must be survival times, as survival::Surv(time, event), or a matrix with columns time and status", call. = FALSE)
  }
  status <- y[, "status"]
  if (!all(status %in% c(0, 1))) {
    stop("the column status of y must hold 1 for an event and 0 for a censored time", call. = FALSE)
  }
  structure(cbind(time = y[, "time"], status = status), type = "right", class = "Surv")
}

python_target <- function(target) {
  switch(target$kind,
    numbers = ask_live("numbers", as_bytes(target$values), target$n, target$flat),
    classes = ask_live("classes", as_codes(target$codes), as.list(target$labels)),
    times = {
      text <- names(target$columns) %in% c("strata", "id")
      ask_live("times", c(lapply(target$columns[!text], as_bytes), lapply(target$columns[text], as_texts)))
    }
  )
}

`%||%` <- function(a, b) if (is.null(a)) b else a
