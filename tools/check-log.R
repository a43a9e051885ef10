# Reads the log of R CMD check and fails on every ERROR, WARNING and NOTE but the ones that a
# package gets only because it's new on CRAN, or because there's no network here.
# Usage: Rscript tools/check-log.R FILE

harmless <- c(
  "^Maintainer:", "^New submission$", "^Days since last update", "^$",
  "unable to verify current time"
)

log <- commandArgs(TRUE)
lines <- readLines(log, encoding = "UTF-8", warn = FALSE)
checks <- tools::check_packages_in_dir_details(logs = log, drop_ok = FALSE)
bad <- checks[checks$Status %in% c("NOTE", "WARNING", "ERROR", "FAILURE"), ]

is_harmless <- function(output) {
  said <- trimws(strsplit(output, "\n", fixed = TRUE)[[1]])
  all(grepl(paste(harmless, collapse = "|"), said))
}
bad <- bad[!vapply(bad$Output, is_harmless, logical(1)), ]

for (i in seq_len(nrow(bad))) {
  cat(sprintf("\n%s: %s\n%s\n", bad$Status[i], bad$Check[i], bad$Output[i]))
}

# The log of a run that died, or one this script can't read, must not pass for a clean one.
status <- grep("^Status: ", lines, value = TRUE)
if (length(status) != 1) {
  cat("\nR CMD check did not end with a status\n")
  quit(status = 1)
}
if (grepl("ERROR|WARNING", status) && nrow(bad) == 0) {
  cat("\n", status, ", but the log doesn't show where\n", sep = "")
  quit(status = 1)
}
quit(status = as.integer(nrow(bad) > 0))
