# The verbs of the Python package under the same names, with shoal_ before them.

labels_of <- function(table) if (reticulate::py_has_attr(table, "value_labels")) table

named <- function(...) Filter(Negate(is.null), list(...))

shoal_protect <- function(data, plan, seed = NULL) {
  table <- to_table(data)
  release <- do.call(ask, c(list("protect", table, plain(plan)), named(seed = plain(seed))))
  value_of(release, "rows", labels_of(table))
}

shoal_assess <- function(data, plan, seed = NULL) {
  value_of(do.call(ask, c(list("assess", to_table(data), plain(plan)), named(seed = plain(seed)))), "rows")
}

shoal_audit <- function(data, plan, original = NULL, private = NULL) {
  released <- if (is.character(data)) data else to_table(data)
  before <- if (is.null(original)) NULL else to_table(original)
  if (!is.null(before) && reticulate::py_has_attr(before, "value_labels")) before <- before$frame
  value_of(do.call(ask, c(list("audit", released, plain(plan)), named(original = before, private = private))), "rows")
}

shoal_exposure <- function(data, plan) {
  table <- to_table(data)
  if (reticulate::py_has_attr(table, "value_labels")) table <- table$frame
  value_of(ask("exposure", table, ask_plan(plan)), "figures")
}

ask_plan <- function(plan) bridge()$shoal$Plan$of(plain(plan))

shoal_explore <- function(data, plan, directory, seed = 0L, workers = 1L) {
  value_of(
    ask("explore", to_table(data), plain(plan), directory, seed = plain(seed), workers = plain(workers)), "rows"
  )
}

shoal_compare <- function(...) {
  releases <- lapply(list(...), function(one) if (inherits(one, "shoal_value")) one$python else one)
  value_of(do.call(ask, c(list("compare"), releases)), "rows")
}

shoal_dossier <- function(release, file, private = FALSE) {
  from <- if (inherits(release, "shoal_value")) release$python else release
  ask("dossier", from, private = private)$write(file)
  invisible(file)
}

shoal_write <- function(release, directory, overwrite = FALSE, unproved = FALSE) {
  arguments <- named(overwrite = overwrite, unproved = unproved, labels = release$labels)
  do.call(ask, c(list("write", release$python, directory), arguments))
  invisible(directory)
}

shoal_read <- function(file) to_data_frame(ask("read", file)$frame)

shoal_example <- function(name = "hospital", n = 1000L, seed = 0L) {
  to_data_frame(ask("example", name, n = plain(n), seed = plain(seed)))
}

shoal_methods <- function(kind = NULL) to_data_frame(do.call(ask, c(list("catalogue"), named(kind = kind))))
