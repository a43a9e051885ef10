# Lints the R code with the rules of .lintr; the package must be on the library path, for the
# linter that looks up what the functions use. Run from the root of the repository.

is_rules <- function(lint) grepl("^rules-.*[.]R$", basename(lint$filename))

lints <- do.call(c, lapply(c("R", "tests/testthat", "tools"), function(dir) {
  found <- lintr::lint_dir(dir, pattern = "[.][Rr]$", relative_path = FALSE, parse_settings = TRUE)
  is_wrong <- vapply(found, function(lint) {
    switch(lint$linter,
      # Tests use what testthat attaches and what the helper files define, which it can't see.
      object_usage_linter = dir != "R",
      # The rules of tracing take the arguments of R's functions, by R's names for them, and stand
      # in lists: what counts as one function of many branches is a list of many functions.
      object_name_linter = is_rules(lint),
      cyclocomp_linter = is_rules(lint) && grepl("^rules_[a-z]+ <- function", lint$line),
      FALSE
    )
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
