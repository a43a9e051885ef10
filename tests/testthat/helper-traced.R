# Traced functions against plain R.

# `func` traced with the arguments, and then called with them and with every list of arguments in
# `calls`, gives what plain R gives: to the bit with `exact = TRUE`, up to rounding without.
# A value's type, dimensions and names count, and that a call fails. Warnings that R gives because
# of values ("NaNs produced") do not: compiled code has none.
expect_traced <- function(func, ..., calls = list(), tolerance = 1e-12) {
  examples <- list(...)
  exact <- do.call(jit_trace, c(list(func), examples, exact = TRUE), quote = TRUE)
  fast <- do.call(jit_trace, c(list(func), examples), quote = TRUE)
  for (args in c(list(examples), calls)) {
    expected <- outcome(func, args)
    expect_identical(outcome(exact, args), expected)
    expect_equal(outcome(fast, args), expected, tolerance = tolerance)
  }
  invisible(fast)
}

# What a call does: its value or that it fails, and where it leaves R's stream of random numbers
# when it starts from the same place.
outcome <- function(func, args) {
  withr::local_seed(1)
  value <- tryCatch(
    suppressWarnings(do.call(func, args, quote = TRUE)),
    error = function(e) structure(list(), class = "failed")
  )
  list(value = value, seed = .Random.seed)
}

# How often each op is in the graph of a traced function.
ops_of <- function(f) {
  lines <- grep("^ +%", strsplit(f$graph, "\n")[[1]], value = TRUE)
  table(sub("^ +%\\S+ = (\\w+).*", "\\1", lines))
}

trace_error <- function(func, ...) {
  tryCatch(jit_trace(func, ...), moriejit_error = function(e) e)
}
