# Passes over traced programs that golden files can't show: see test-golden.R for those.

check_rules <- function(before = character(), after = character()) {
  moriejit:::check_rules_impl(before, after)
}

test_that("no rule of simplify changes a bit", {
  expect_identical(check_rules(), character())
})

test_that("wrong rules are found out", {
  wrong <- c(
    "add(x, 0)" = "x", "mul(x, 0)" = "0", "sub(0, x)" = "neg(x)", "sub(x, x)" = "0",
    "div(x, x)" = "1", "div(x, 3)" = "mul(x, 0.3333333333333333)", "sum(x)" = "x",
    "where(x, y, y)" = "y", "pmax(x, y)" = "pmax(y, x)", "transpose(x)" = "x", "pow(x, 1)" = "x",
    "add(add(x, y), z)" = "add(x, add(y, z))", "sqrt(mul(x, x))" = "abs(x)",
    "mul(gt(x, 0), x)" = "relu(x)", "neg(sub(x, y))" = "sub(y, x)"
  )
  for (k in seq_along(wrong)) {
    found <- check_rules(names(wrong)[k], wrong[[k]])
    expect_length(found, 1L)
    expect_match(found, paste(names(wrong)[k], "->", wrong[[k]]), fixed = TRUE)
  }
  expect_match(check_rules("add(x, 0)", "x"), "0 becomes -0", fixed = TRUE)
  expect_match(check_rules("exp(x)", "concat(x, 1)"), "never fires", fixed = TRUE)
})

# What the passes make of a formula of x, on some numbers.
run_formula <- function(nodes, x, passes, mode = "default") {
  text <- paste0(
    "fn(x: f64[", length(x), ",1]) {\n  const one: f64[1,1] = [1]\n",
    paste0("  %", seq_along(nodes) - 1, " = ", nodes, " : f64[", length(x), ",1]\n", collapse = ""),
    "  return %", length(nodes) - 1, "\n}"
  )
  if (length(passes) > 0L) text <- moriejit:::text_pass_impl(text, passes, list(), mode)
  value <- moriejit:::text_run_impl(text, list(x = cbind(x)), list(), FALSE)[[1]]
  list(text = text, value = c(value))
}

test_that("recognised activations are stable, and keep NaN and NA", {
  x <- c(-1000, -40, -1, 0, 1, 40, 1000, Inf, -Inf, NaN, NA)
  formulas <- list(
    sigmoid = c("neg(x)", "exp(%0)", "add(one, %1)", "div(one, %2)"),
    sigmoid = c("exp(x)", "add(one, %0)", "div(%0, %1)"),
    softplus = c("exp(x)", "add(one, %0)", "log(%1)"),
    softplus = c("exp(x)", "log1p(%0)")
  )
  right <- list(
    sigmoid = plogis(x),
    softplus = ifelse(x > 0, x, 0) + log1p(exp(-abs(x)))
  )
  for (k in seq_along(formulas)) {
    name <- names(formulas)[k]
    got <- run_formula(formulas[[k]], x, c("cse", "activations", "dead_code"))
    expect_match(got$text, paste0(name, "(x)"), fixed = TRUE)
    expect_equal(got$value, right[[name]], tolerance = 1e-15)
    expect_identical(is.na(got$value) & !is.nan(got$value), is.na(x) & !is.nan(x))
    plain <- run_formula(formulas[[k]], x, character())
    exact <- run_formula(formulas[[k]], x, "traced", "exact")
    expect_identical(exact$value, plain$value)
  }
  # Where the formula itself is wrong, so that there is something to win.
  expect_identical(run_formula(formulas[[3]], 1000, character())$value, Inf)
  expect_identical(run_formula(formulas[[2]], 1000, character())$value, NaN)
})

test_that("passes over traced programs have a reason, and unknown ones are an error", {
  passes <- moriejit:::passes_impl(traced = TRUE)
  expect_true(all(nzchar(passes$reason)))
  expect_identical(passes$name[nrow(passes)], "dead_code")
  expect_error(
    moriejit:::text_pass_impl("fn(x: f64[1,1]) {\n  return x\n}", "no_such", list(), "default"),
    "no pass"
  )
})
