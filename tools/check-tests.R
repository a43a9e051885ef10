# Runs the tests in a folder against the installed package, and writes how many test_that()
# blocks passed, failed and were skipped.
# Usage: Rscript tools/check-tests.R DIR PACKAGE COUNT_FILE

args <- commandArgs(TRUE)
library(testthat)
library(args[[2]], character.only = TRUE)

results <- as.data.frame(test_dir(
  args[[1]],
  package = args[[2]], load_package = "installed", stop_on_failure = FALSE,
  reporter = MultiReporter$new(list(SummaryReporter$new(max_reports = 50L)))
))

# A warning that a test doesn't expect fails it.
failed <- results$failed > 0 | results$error | results$warning > 0
skipped <- !failed & results$skipped
passed <- !failed & !skipped

for (i in which(failed | skipped)) {
  cat(sprintf(
    "%s %s: %s (%d failed, %d warnings)\n", if (failed[i]) "FAIL" else "skip",
    results$file[i], results$test[i], results$failed[i], results$warning[i]
  ))
}
counts <- c(sum(passed), sum(failed), sum(skipped))
cat(sprintf("%d passed, %d failed, %d skipped\n", counts[1], counts[2], counts[3]))
if (sum(counts) == 0) {
  cat("no test was run\n")
  quit(status = 1)
}
cat(counts, "\n", file = args[[3]])
quit(status = as.integer(any(failed)))
