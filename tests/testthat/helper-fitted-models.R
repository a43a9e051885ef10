# Compiles the op list of `model` on `train`, runs it on `new`, and on one row of it, in each way
# there is, and compares with what predict() says of `new`.
expect_predicts <- function(model, train, new, expected, tolerance = 1e-10) {
  ops <- if (inherits(model, "list")) model else as_op_list(model)
  expected <- as.matrix(expected)
  for (mode in c("default", "reduce-overhead", "max-autotune")) {
    compiled <- morie_geron_torch_compile(ops, mode, train)
    expect_same(morie_geron_run_graph(compiled$compiled, new), expected, tolerance)
    expect_same(morie_geron_run_graph(compiled$graph, new), expected, tolerance)
    expect_lt(compiled$max_diff, 1e-9 * max(1, abs(compiled$output), na.rm = TRUE))
  }
  traced <- morie_geron_trace(ops, train)
  expect_same(morie_geron_run_graph(traced$graph, new), expected, tolerance)
  one <- morie_geron_run_graph(compiled$compiled, new[2L, , drop = FALSE])
  expect_same(one, expected[2L, , drop = FALSE], tolerance)
}

expect_same <- function(got, expected, tolerance) {
  expect_true(is.matrix(got))
  expect_identical(dim(got), dim(expected))
  expect_identical(colnames(got), colnames(expected))
  # NA or NaN: which of the two a product gives is up to the BLAS
  got[is.na(got)] <- NA
  expect_equal(unname(got), unname(expected), tolerance = tolerance)
}

expect_unsupported <- function(model) {
  expect_error(as_op_list(model), class = "moriejit_unsupported_error")
}

kinds <- function(ops) vapply(ops, function(op) op$kind, "")
