# What users give as x, as a table: numbers in a matrix, columns in a list, or a sparse matrix.

as_table <- function(x, what = "x") {
  table <- if (is.data.frame(x)) {
    list(columns = lapply(seq_along(x), function(j) plain_column(x[[j]], names(x)[j], what)), names = names(x), n = nrow(x))
  } else if (inherits(x, "sparseMatrix")) {
    list(sparse = general_sparse(x), names = colnames(x), n = nrow(x))
  } else if (is.matrix(x) && (is.numeric(x) || is.logical(x))) {
    refuse_infinite(x, colnames(x), what)
    list(matrix = unname(x), names = colnames(x), n = nrow(x))
  } else {
    stop(not_a_table(x, what), call. = FALSE)
  }
  table$rows <- row_labels(x)
  table$p <- if (is.data.frame(x)) length(x) else ncol(x)
  table$named <- !is.null(table$names)
  table$names <- column_names(table$names, table$p, what)
  table
}

# Names of rows that someone gave.
row_labels <- function(x) if (is.data.frame(x) && .row_names_info(x) < 0L) NULL else rownames(x)

not_a_table <- function(x, what) {
  held <- paste(class(x), collapse = "/")
  if (is.matrix(x)) held <- paste("a matrix of type", typeof(x))
  remedy <- if (is.character(x)) {
    "use data.frame(), in which columns of text are categories"
  } else if (is.numeric(x) && is.null(dim(x))) {
    "for one column use matrix(x, ncol = 1)"
  } else {
    "use as.matrix() or as.data.frame()"
  }
  paste0(what, " must be a matrix of numbers, a data frame or a sparse matrix; it is ", held, ": ", remedy)
}

column_names <- function(given, p, what) {
  if (is.null(given)) return(paste0("V", seq_len(p)))
  empty <- is.na(given) | !nzchar(given)
  given[empty] <- paste0("V", which(empty))
  repeated <- unique(given[duplicated(given)])
  if (length(repeated)) {
    stop(what, " has several columns named ", some(repeated), ": make the names unique, as with make.unique()", call. = FALSE)
  }
  given
}

# One column as numbers, or as a factor; "text" marks columns of text that are no factors.
plain_column <- function(values, name, what) {
  if (inherits(values, "Date")) return(as.double(values))
  if (inherits(values, "POSIXt")) return(as.double(as.POSIXct(values)) / 86400)
  if (inherits(values, "difftime")) return(as.double(values, units = "days"))
  if (!is.null(dim(values)) || is.list(values)) {
    kind <- if (is.list(values)) "a list" else "a matrix"
    stop("column ", name, " of ", what, " is ", kind, ": give one number or one level per row", call. = FALSE)
  }
  if (is.factor(values)) return(factor(values))
  if (is.character(values)) return(structure(factor(values), text = TRUE))
  if (!is.numeric(values) && !is.logical(values)) {
    stop("column ", name, " of ", what, " is of type ", typeof(values), ": use numbers or a factor", call. = FALSE)
  }
  values <- as.double(values)
  refuse_infinite(matrix(values), name, what)
  values
}

refuse_infinite <- function(x, names, what) {
  bad <- which(colSums(is.infinite(x)) > 0)
  if (!length(bad)) return(invisible())
  labels <- if (is.null(names)) bad else names[bad]
  row <- which(is.infinite(x[, bad[1L]]))[1L]
  stop(
    what, " is infinite in column ", some(labels), " (first in row ", row, "): use NA for a missing number, or drop the row",
    call. = FALSE
  )
}

general_sparse <- function(x) {
  if (!requireNamespace("Matrix", quietly = TRUE)) stop("a sparse matrix needs the package Matrix", call. = FALSE)
  for (kind in c("dMatrix", "generalMatrix", "CsparseMatrix")) if (!methods::is(x, kind)) x <- methods::as(x, kind)
  x
}

some <- function(names, most = 5L) {
  shown <- paste(utils::head(names, most), collapse = ", ")
  if (length(names) > most) paste0(shown, " and ", length(names) - most, " more") else shown
}

# Columns of a table, by position.
columns_of <- function(table, keep) {
  if (identical(keep, seq_len(table$p))) return(table)
  if (!is.null(table$columns)) table$columns <- table$columns[keep]
  if (!is.null(table$matrix)) table$matrix <- table$matrix[, keep, drop = FALSE]
  if (!is.null(table$sparse)) table$sparse <- table$sparse[, keep, drop = FALSE]
  table$names <- table$names[keep]
  table$p <- length(keep)
  table
}

# The positions of columns that are given by name or position.
positions <- function(columns, names, what) {
  if (is.numeric(columns)) {
    unknown <- columns[is.na(columns) | columns < 1 | columns > length(names) | columns %% 1 != 0]
    if (length(unknown)) stop(what, ": there is no column ", some(unknown), " in x, which has ", length(names), call. = FALSE)
    return(as.integer(columns))
  }
  found <- match(columns, names)
  if (anyNA(found)) {
    stop(what, ": there is no column ", some(columns[is.na(found)]), " in x, which has ", some(names), call. = FALSE)
  }
  found
}

# A table on its way to Python.
python_table <- function(table) {
  if (!is.null(table$sparse)) {
    slots <- table$sparse
    return(ask_live("sparse_table", as_texts(table$names), table$n, as_bytes(slots@x), as_codes(slots@i), as_codes(slots@p)))
  }
  blocks <- if (is.null(table$columns)) matrix_blocks(table$matrix) else column_blocks(table$columns, table$n)
  ask_live("table", as_texts(table$names), table$n, blocks)
}

most_bytes <- 2^30 # in one raw vector, which holds less than 2^31

matrix_blocks <- function(x) {
  size <- max(1L, as.integer(most_bytes / 8 / max(nrow(x), 1L)))
  lapply(split(seq_len(ncol(x)), (seq_len(ncol(x)) - 1L) %/% size), function(part) {
    list(kind = "numbers", data = as_bytes(x[, part]))
  }) |> unname()
}

column_blocks <- function(columns, n) {
  runs <- rle(vapply(columns, is.factor, NA))
  ends <- cumsum(runs$lengths)
  blocks <- Map(function(end, length, level) {
    part <- columns[seq(end - length + 1L, end)]
    if (level) lapply(part, level_block) else matrix_blocks(matrix(unlist(part), n))
  }, ends, runs$lengths, runs$values)
  unlist(blocks, recursive = FALSE, use.names = FALSE)
}

level_block <- function(column) {
  codes <- as.integer(column)
  codes[is.na(codes)] <- 0L
  text <- isTRUE(attr(column, "text"))
  list(kind = "levels", data = as_codes(codes - 1L), levels = as_texts(levels(column)), text = text)
}
