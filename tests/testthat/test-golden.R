# The graphs in ir/, through the package as R built it: with its kernels and R's BLAS. The format of
# the files, and the same checks without R, are in tests/core/golden.cpp.

read_golden <- function(file) {
  lines <- readLines(test_path("ir", file))
  word_after <- function(key, default) {
    found <- regmatches(lines[[1]], regexec(paste0(key, ": ([^:]+?)( [a-z]+:|$)"), lines[[1]]))[[1]]
    if (length(found) == 0L) default else trimws(found[[2]])
  }
  cut <- which(lines == "---")
  before <- paste(lines[seq(3L, cut - 1L)], collapse = "\n")
  after <- paste(lines[seq(cut + 1L, length(lines))], collapse = "\n")
  passes <- word_after("passes", "")
  list(
    before = before,
    after = if (after == "unchanged") before else after,
    passes = if (passes == "all") character() else strsplit(passes, ", *")[[1]],
    mode = word_after("mode", "default"),
    values_differ = word_after("values", "same") == "differ"
  )
}

runs_pass <- function(case, passes) {
  length(case$passes) == 0L || any(c(passes, "traced") %in% case$passes)
}

# Passes over traced programs may count on the shapes.
fixes_shapes <- function(case) !all(case$passes %in% moriejit:::passes_impl()$name)

rounds_otherwise <- function(case) {
  case$mode != "exact" &&
    runs_pass(case, c("linear_chain", "activations", "affine", "matrix_chain",
                      "transpose_into_product"))
}

pass_of <- function(text, passes, mode = "default") {
  moriejit:::text_pass_impl(text, passes, list(), mode)
}

# Constants of more than a few values come out as hashes, which only compare as text; dead_code
# drops those that nobody reads any more.
tidied <- function(case, text, passes) {
  if (length(passes) > 0L && !identical(passes, "traced")) passes <- union(passes, "dead_code")
  pass_of(text, passes, case$mode)
}

expect_structure <- function(case) {
  got <- pass_of(case$before, case$passes, case$mode)
  if (!grepl("= #", got, fixed = TRUE)) expect_true(moriejit:::text_same_impl(got, case$after))
  expect_identical(tidied(case, case$before, case$passes), tidied(case, case$after, "dead_code"))
  expect_identical(
    tidied(case, case$after, case$passes), tidied(case, case$after, "dead_code"),
    info = "a second run"
  )
  for (text in c(case$before, case$after)) {
    printed <- moriejit:::text_check_impl(text, list())
    if (grepl("= #", printed, fixed = TRUE)) next
    expect_identical(printed, paste0(text, "\n"))
  }
}

# Numbers between -2 and 2 that the name and the shape decide, some of them special.
numbers_for <- function(name, rows, cols, special = FALSE) {
  set.seed(sum(utf8ToInt(name)) * 1000 + rows * 31 + cols)
  values <- runif(rows * cols, -2, 2)
  if (special) {
    chosen <- runif(rows * cols) < 0.3
    values[chosen] <- sample(c(NaN, Inf, -Inf, -0, 0), sum(chosen), replace = TRUE)
  }
  matrix(values, rows, cols)
}

# The inputs, or the constants without values, of a text, by name; inputs with as many rows as the
# first get `rows`.
holes_of <- function(text, kind, rows = NULL, special = FALSE) {
  holes <- moriejit:::text_holes_impl(text)
  holes <- holes[holes$kind == kind, ]
  if (!is.null(rows)) holes$rows[holes$rows == holes$rows[1]] <- rows
  values <- Map(numbers_for, holes$name, holes$rows, holes$cols, special)
  stats::setNames(values, holes$name)
}

# The values, or the message where an input is one that the program can't take: a condition that is
# missing ends a run however it is run.
run_text <- function(text, inputs, reference) {
  set.seed(1)
  tryCatch(
    moriejit:::text_run_impl(text, inputs, holes_of(text, "constant"), reference),
    moriejit_input_error = conditionMessage
  )
}

# By bits, but one NaN is like another.
agree <- function(a, b, tolerance) {
  if (tolerance == 0) return(identical(a, b, num.eq = FALSE))
  isTRUE(all.equal(a, b, tolerance = tolerance))
}

expect_values <- function(case, rows, special) {
  changed <- !identical(case$before, case$after)
  reassociated <- rounds_otherwise(case) && changed
  # Sums in another order may make NaN of infinities elsewhere.
  if (special && reassociated) return(invisible())
  inputs <- holes_of(case$before, "input", rows, special)
  plain <- tryCatch(
    run_text(case$before, inputs, TRUE),
    moriejit_shape_error = function(cnd) NULL
  )
  # A constant or another input may fix the number of rows.
  if (is.null(plain) && !is.null(rows)) return(invisible())
  # A fold takes the kernels of a run, which round otherwise than the plain evaluator.
  rounding <- if (reassociated || runs_pass(case, "fold_constants")) 1e-12 else 0
  kept <- agree(plain, run_text(case$after, inputs, TRUE), rounding) &&
    agree(
      run_text(case$before, inputs, FALSE), run_text(case$after, inputs, FALSE),
      if (reassociated) 1e-12 else 0
    )
  expect_identical(kept, !case$values_differ)
  expect_equal(run_text(case$before, inputs, FALSE), plain, tolerance = 1e-12)
}

for (file in list.files(test_path("ir"), "[.]ir$", recursive = TRUE)) {
  test_that(file, {
    withr::local_preserve_seed()
    case <- read_golden(file)
    expect_structure(case)
    for (special in c(FALSE, TRUE)) {
      expect_values(case, NULL, special)
      if (fixes_shapes(case)) next
      expect_values(case, 1, special)
      expect_values(case, 7, special)
    }
  })
}

test_that("every pass has golden files", {
  expect_setequal(basename(list.dirs(test_path("ir"), recursive = FALSE)),
                  c(moriejit:::passes_impl()$name, moriejit:::passes_impl(traced = TRUE)$name,
                    "pipeline", "traced"))
})
