# The published example, whose text is in seed-example.txt.

test_that("the published example prints what was published", {
  A2 <- diag(2) * 2 # nolint: object_name_linter.
  B2 <- diag(2) * 3 # nolint: object_name_linter.
  C2 <- diag(2) * 5 # nolint: object_name_linter.
  result <- morie_geron_torch_compile(list(list(kind = "linear", param = A2),
    list(kind = "linear", param = B2), list(kind = "linear",
      param = C2)), example_inputs = matrix(c(1, 1), 1, 2))
  withr::local_options(width = 80)
  printed <- capture.output(print(result))
  expect_identical(printed, readLines(test_path("seed-example.txt")))
})

test_that("the published example gives a plain list of plain lists", {
  model <- list(lin(diag(2) * 2), lin(diag(2) * 3), lin(diag(2) * 5))
  result <- morie_geron_torch_compile(model, example_inputs = matrix(c(1, 1), 1, 2))
  expect_identical(names(attributes(result)), "names")
  expect_null(attributes(result$compiled))
  expect_null(attributes(result$graph))
  expect_identical(names(attributes(result$compiled[[1L]])), "names")
})
