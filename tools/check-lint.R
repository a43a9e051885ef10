# Lints the R code with the rules of .lintr; the package must be on the library path, for the
# linter that looks up what the functions use. Run from the root of the repository.

lints <- do.call(c, lapply(c("R", "tests/testthat", "tools"), function(dir) {
  found <- lintr::lint_dir(dir, pattern = "[.][Rr]$", relative_path = FALSE, parse_settings = TRUE)
  # Tests use what testthat attaches and what the helper files define, which it can't see.
  is_wrong <- vapply(found, function(lint) {
    dir != "R" && lint$linter == "object_usage_linter"
  }, logical(1))
  unclass(found)[!is_wrong]
}))

for (lint in lints) {
  cat(sprintf(
    "%s:%d:%d: [%s] %s\n    %s\n", sub(paste0(getwd(), "/"), "", lint$filename, fixed = TRUE),
    lint$line_number, lint$column_number, lint$linter, lint$message, trimws(lint$line)
  ))
}
quit(status = as.integer(length(lints) > 0))
