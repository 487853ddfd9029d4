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

# An object with the slots of sdcMicro 5.7, as its class is declared there.
setClass("sdcMicroObj", representation(
  origData = "ANY", keyVars = "ANY", pramVars = "ANY", numVars = "ANY", ghostVars = "ANY", weightVar = "ANY", hhId = "ANY",
  strataVar = "ANY", sensibleVar = "ANY", manipNumVars = "ANY", pram = "ANY", localSuppression = "ANY", deletedVars = "ANY"
))
survey <- data.frame(
  id = 1:60, sex = rep(1:2, 30), town = rep(1:3, 20), w = 1.5, pay = 100 + 1:60, sick = rep(0:1, each = 30)
)
noisy <- data.frame(pay = survey$pay + 0.5)
object <- new("sdcMicroObj",
  origData = survey, keyVars = 2:3, pramVars = NULL, numVars = 5, ghostVars = NULL, weightVar = 4, hhId = NULL,
  strataVar = NULL, sensibleVar = 6, manipNumVars = noisy, pram = NULL, localSuppression = list(k = 3), deletedVars = "id"
)
said <- NULL
drafted <- withCallingHandlers(shoal_plan_from_sdcmicro(object), warning = function(w) {
  said <<- conditionMessage(w)
  invokeRestart("muffleWarning")
})
stopifnot(grepl("does not say how it changed pay", said), drafted$columns$w == "weight", drafted$columns$id == "identifier")
stopifnot(drafted$columns$sick == "confidential", drafted$steps[[2]]$mask == "suppress", drafted$requirements[[1]]$k == 3)
taken <- shoal_protect(survey, drafted, seed = 1)
stopifnot(identical(names(as.data.frame(taken))[1], "sex"))
cat("R is of one mind with Python\n")
