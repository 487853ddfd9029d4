# Run with: Rscript same_bytes.R FOLDER, which has people.csv, survey.sav and plan.yaml.
library(shoal)
folder <- commandArgs(TRUE)[1]
at <- function(...) file.path(folder, ...)

people <- read.csv(at("people.csv"), colClasses = c(town = "character"))
people$day <- as.Date(people$day)
plan <- list(
  columns = list(age = "quasi-identifier", town = "quasi-identifier", day = "other", income = list(role = "confidential", decimals = 2, missing = "keep")),
  steps = list(list(partition = "mdav", k = 3)),
  requirements = list(list(privacy = "k-anonymity", k = 3))
)
release <- shoal_protect(people, plan, seed = 5)
shoal_write(release, at("from-r"))
shoal_write(shoal_protect(at("survey.sav"), at("plan.yaml"), seed = 5), at("from-r-sav"))

released <- as.data.frame(release)
stopifnot(
  identical(names(released), c("age", "town", "day", "income")), inherits(released$day, "Date"),
  nrow(released) == nrow(people), all(table(released$age, released$town) %in% c(0L, 3:nrow(people))),
  sum(is.na(released$income)) == sum(is.na(people$income))
)
evidence <- as.data.frame(shoal_audit(at("from-r", "release", "data.csv"), plan))
stopifnot(isTRUE(evidence$holds[1]), evidence$required[1] == 3)
stopifnot(any(grepl("3-anonymity", capture.output(print(release)))))

plan$requirements[[1]]$k <- 30
refusal <- tryCatch(shoal_protect(people, plan, seed = 5), shoal_refused = conditionMessage)
stopifnot(grepl("30-anonymity does not hold", refusal))
mistake <- tryCatch(shoal_protect(people, list(columns = list(age = "key"))), shoal_error = conditionMessage)
stopifnot(grepl("quasi-identifier", mistake))

exposed <- as.data.frame(shoal_exposure(people, list(columns = plan$columns)))
stopifnot(setequal(exposed$column, names(people)), is.numeric(exposed$unique))
stopifnot("mdav" %in% shoal_methods("partition")$name, nrow(shoal_example(n = 20)) == 20)
plan$requirements[[1]]$k <- 3
plan$steps <- list()
plan$explore <- list(method = list("mdav"), k = list(3, 4))
stopifnot(nrow(as.data.frame(shoal_explore(people, plan, at("explored")))) == 2)
compared <- as.data.frame(shoal_compare(at("from-r"), at("from-r")))
stopifnot(nrow(compared) > 0)
shoal_dossier(at("from-r"), at("dossier.html"))

# An object of sdcMicro: its own where it is installed, else one of a class with the slots and types of 5.8.
survey <- data.frame(
  id = 1:60, sex = rep(1:2, 30), town = rep(1:3, 20), job = factor(rep(1:4, 15)), w = 1.5, pay = 100 + 1:60,
  sick = rep(0:1, each = 30), plan = factor(rep(c("a", "b"), 30))
)
if (requireNamespace("sdcMicro", quietly = TRUE)) {
  object <- sdcMicro::createSdcObj(
    survey, keyVars = c("sex", "town", "job"), numVars = "pay", weightVar = "w", sensibleVar = "sick", pramVars = "plan",
    excludeVars = "id"
  )
  object <- sdcMicro::groupAndRename(object, var = "job", before = c("3", "4"), after = "3 or 4")
  object <- sdcMicro::localSuppression(object, k = 3)
  object <- sdcMicro::addNoise(sdcMicro::pram(object), variables = "pay", noise = 50)
} else {
  types <- list(
    numeric = c("keyVars", "pramVars", "numVars", "weightVar", "hhId", "strataVar", "sensibleVar"),
    data.frame = c("origData", "manipKeyVars", "manipPramVars", "manipNumVars", "manipGhostVars"),
    list = c("ghostVars", "originalRisk", "risk", "utility", "pram", "localSuppression", "options", "additionalResults", "set"),
    factor = "manipStrataVar", character = "deletedVars"
  )
  for (type in names(types)) setClassUnion(paste0(type, "OrNULL"), c(type, "NULL"))
  slots <- unlist(lapply(names(types), function(type) setNames(rep(paste0(type, "OrNULL"), length(types[[type]])), types[[type]])))
  setClass("sdcMicroObj", representation = as.list(slots))
  object <- new("sdcMicroObj",
    origData = survey[-1], keyVars = c(1, 2, 3), numVars = 5, weightVar = 4, sensibleVar = 6, pramVars = 7,
    manipKeyVars = transform(survey[2:4], job = factor(ifelse(job %in% 3:4, "3 or 4", job)), sex = c(NA, NA, sex[-(1:2)])),
    manipNumVars = data.frame(pay = survey$pay + 0.5), pram = list(params = list(pd = 0.8)),
    localSuppression = list(totalSupps = 2, anonymity = TRUE, k = 3, combs = NULL), deletedVars = "id"
  )
}
said <- character()
drafted <- withCallingHandlers(shoal_plan_from_sdcmicro(object), warning = function(w) {
  said <<- c(said, conditionMessage(w))
  invokeRestart("muffleWarning")
})
stopifnot(
  length(said) == 2, grepl("does not say how it recoded job\\.", said[1]), grepl("does not say how it changed pay;", said[2]),
  drafted$columns$w == "weight", drafted$columns$id == "identifier", drafted$columns$sick == "confidential"
)
stopifnot(identical(vapply(drafted$steps, function(s) if (is.null(s$mask)) s$partition else s$mask, ""), c("pram", "mdav", "suppress")))
stopifnot(drafted$requirements[[1]]$k == 3, drafted$steps[[1]]$columns[[1]] == "plan", drafted$columns$sex$role == "quasi-identifier")
drafted$columns$pay <- "confidential"
taken <- shoal_protect(survey, drafted, seed = 1)
stopifnot(identical(names(as.data.frame(taken))[1], "sex"))
cat("R is of one mind with Python\n")
