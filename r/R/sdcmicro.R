# A plan that says what an object of sdcMicro says. Read from its slots alone, so sdcMicro need not be installed.

shoal_plan_from_sdcmicro <- function(object) {
  if (!methods::is(object, "sdcMicroObj")) {
    stop("An object of the class sdcMicroObj is needed. Make one with sdcMicro::createSdcObj().", call. = FALSE)
  }
  original <- methods::slot(object, "origData")
  name <- function(slot) names(original)[methods::slot(object, slot)]
  roles <- stats::setNames(rep(list("other"), length(original)), names(original))
  for (column in name("sensibleVar")) roles[[column]] <- "confidential"
  for (column in name("keyVars")) roles[[column]] <- list(role = "quasi-identifier", level = "nominal")
  for (column in name("numVars")) roles[[column]] <- list(role = "quasi-identifier", level = "continuous")
  for (column in name("weightVar")) roles[[column]] <- "weight"
  for (column in name("hhId")) roles[[column]] <- "household"
  for (column in name("strataVar")) roles[[column]] <- "stratum"
  for (column in methods::slot(object, "deletedVars")) roles[[column]] <- "identifier"
  steps <- list()
  requirements <- list()
  pram <- name("pramVars")
  if (length(pram) > 0 && length(methods::slot(object, "pram")) > 0) {
    steps <- c(steps, list(list(mask = "pram", columns = as.list(pram))))
  }
  recoded <- setdiff(changed_columns(object, "manipKeyVars", original), pram)
  if (length(recoded) > 0) {
    warning(
      "sdcMicro does not say how it recoded ", paste(recoded, collapse = ", "), ". Add the step `recode`.", call. = FALSE
    )
  }
  if (length(methods::slot(object, "ghostVars")) > 0) {
    warning("Columns linked to keys (ghost variables) are not taken over. Give them roles of their own.", call. = FALSE)
  }
  changed <- changed_columns(object, "manipNumVars", original)
  if (length(changed) > 0) {
    warning(
      "sdcMicro does not say how it changed ", paste(changed, collapse = ", "), "; the plan takes mdav with k = 3. ",
      "Correct it.", call. = FALSE
    )
    steps <- c(steps, list(list(partition = "mdav", k = 3L, columns = as.list(changed))))
  }
  suppressed <- methods::slot(object, "localSuppression")
  if (!is.null(suppressed$k) && is.null(suppressed$combs)) {
    k <- as.integer(suppressed$k[1])
    keys <- as.list(name("keyVars"))
    steps <- c(steps, list(list(mask = "suppress", k = k, columns = keys)))
    needed <- list(privacy = "k-anonymity", k = k, columns = keys, missing = "wildcard")
    requirements <- c(requirements, list(needed))
  } else if (!is.null(suppressed$combs)) {
    warning("Suppression for subsets of the keys is not taken over. Write `subsets` of the mask suppress.", call. = FALSE)
  }
  list(columns = roles, steps = steps, requirements = requirements)
}

# Columns whose values, where they have one, are no longer those of the original.
changed_columns <- function(object, slot, original) {
  now <- methods::slot(object, slot)
  other <- vapply(names(now), function(column) {
    kept <- !is.na(now[[column]])
    !identical(as.character(now[[column]])[kept], as.character(original[[column]])[kept])
  }, TRUE)
  as.character(names(now)[other])
}
