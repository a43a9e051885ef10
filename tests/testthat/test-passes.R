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
  expect_match(check_rules("exp(x)", "concat(x, x)"), "never fires", fixed = TRUE)
})
