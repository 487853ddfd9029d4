# How values cross between R and Python: columns as lists, so that the two need not agree on arrays.

bridge <- local({
  module <- NULL
  function() {
    if (is.null(module)) {
      folder <- system.file("python", package = "shoal", mustWork = TRUE)
      module <<- reticulate::import_from_path("shoal_bridge", path = folder, convert = FALSE)
    }
    module
  }
})

# Call a function of the bridge or of the package; a refusal becomes an R error of the class shoal_error.
ask <- function(.verb, ...) {
  answer <- bridge()$answer(.verb, ...)
  error <- reticulate::py_to_r(answer[["error"]])
  if (!is.null(error)) {
    kind <- reticulate::py_to_r(answer[["kind"]])
    classes <- c(if (kind %in% c("NotProved", "Refused")) "shoal_refused", "shoal_error", "error", "condition")
    stop(structure(class = classes, list(message = error, call = NULL)))
  }
  answer[["value"]]
}

# A plan as lists, in which whole numbers are whole; the path of a plan's file stays one.
plain <- function(value) {
  if (is.list(value)) {
    return(lapply(value, plain))
  }
  if (is.numeric(value) && all(is.finite(value)) && all(value == round(value)) && all(abs(value) < 2^31)) {
    return(as.integer(value))
  }
  value
}

kind_of <- function(column) {
  if (inherits(column, "Date")) "day"
  else if (is.factor(column) || is.character(column)) "text"
  else if (is.logical(column)) if (all(is.na(column)) && length(column) > 0) "empty" else "truth"
  else if (is.integer(column)) "whole"
  else if (is.numeric(column)) "number"
  else stop("Columns of the class ", class(column)[1], " are not known here. Make them text or numbers.", call. = FALSE)
}

to_table <- function(data) {
  if (is.character(data) && length(data) == 1) {
    return(ask("read", data))
  }
  if (inherits(data, "python.builtin.object")) {
    return(data)
  }
  columns <- lapply(names(data), function(name) {
    column <- data[[name]]
    kind <- kind_of(column)
    values <- if (kind %in% c("text", "day")) as.character(column) else unclass(column)
    blank <- switch(kind, text = , day = "", truth = FALSE, whole = 0L, number = 0, empty = FALSE)
    missing <- is.na(column)
    values[missing] <- blank
    list(name = name, kind = kind, values = as.list(unname(values)), missing = as.list(unname(missing)))
  })
  bridge()$table(columns)
}

to_data_frame <- function(frame) {
  columns <- reticulate::py_to_r(bridge()$columns(frame))
  made <- lapply(columns, function(column) {
    values <- unlist(column$values)
    values <- switch(column$kind,
      whole = as.integer(values), number = as.numeric(values), truth = as.logical(values), as.character(values)
    )
    values[as.logical(unlist(column$missing))] <- NA
    if (column$kind == "day") as.Date(values) else values
  })
  names(made) <- vapply(columns, function(column) column$name, "")
  as.data.frame(made, check.names = FALSE, optional = TRUE)
}

value_of <- function(python, rows, labels = NULL) {
  structure(list(python = python, rows = rows, labels = labels), class = "shoal_value")
}

print.shoal_value <- function(x, ...) {
  cat(reticulate::py_repr(x$python), "\n", sep = "")
  invisible(x)
}

as.data.frame.shoal_value <- function(x, ...) to_data_frame(ask(x$rows, x$python))
