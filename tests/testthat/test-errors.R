# The errors that are about ops. Their texts are in _snaps/errors.md.

test_that("unknown kinds", {
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(op("relu"), op("rleu")), x), "unsupported", 1L, "rleu")
  expect_refused(morie_geron_trace(list(op("")), x), "unsupported", 0L, "")
  expect_refused(
    morie_geron_torch_compile(list(op("RELU")), example_inputs = x), "unsupported", 0L, "RELU"
  )
  expect_refused(morie_geron_torchscript(list(op("matmul")), x), "unsupported", 0L, "matmul")
})

test_that("models that are no list of ops", {
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(NULL, x), "param")
  expect_refused(morie_geron_trace(3, x), "param")
  expect_refused(morie_geron_trace("relu", x), "param")
  expect_refused(morie_geron_trace(mean, x), "param")
  expect_refused(morie_geron_trace(data.frame(kind = "relu"), x), "param")
  expect_refused(morie_geron_trace(op("relu"), x), "param")
  expect_refused(morie_geron_torch_compile(NULL, example_inputs = x), "param")
  expect_refused(morie_geron_torchscript(lm(dist ~ speed, cars), x), "param")
})

test_that("ops without a kind", {
  x <- matrix(0, 2, 2)
  for (bad in list(list(), list(param = 1), "relu", NULL, 3, NA, list("relu"), op(NULL), op(3),
                   op(NA_character_), op(c("relu", "tanh")), op(factor("relu")))) {
    cnd <- expect_error(
      morie_geron_trace(list(op("relu"), bad), x),
      class = "moriejit_param_error"
    )
    expect_identical(cnd$op_index, 1L)
  }
  expect_snapshot(error = TRUE, {
    morie_geron_trace(list(list(param = 1)), x)
    morie_geron_trace(list(op("relu"), "relu"), x)
    morie_geron_trace(list(op(NA_character_)), x)
  })
})

test_that("missing params", {
  for (kind in c("linear", "bias", "scale", "batch_norm", "callable")) {
    cnd <- expect_error(trace_one(op(kind)), class = "moriejit_param_error")
    expect_identical(list(cnd$op_index, cnd$op_kind), list(0L, kind))
    expect_error(trace_one(op(kind, param = NULL)), class = "moriejit_param_error")
  }
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(op("linear")), x), "param", 0L, "linear")
  expect_refused(morie_geron_trace(list(op("batch_norm", mean = 1)), x), "param", 0L, "batch_norm")
})

test_that("params that are not numeric", {
  wrong <- list(
    "a", TRUE, factor("a"), list(1), data.frame(a = 1), 1i, array(1, c(1, 1, 1)), mean,
    as.raw(1), matrix("a"), matrix(TRUE, 2, 2), NA
  )
  for (param in wrong) {
    for (kind in c("linear", "bias", "scale")) {
      cnd <- expect_error(
        trace_one(op(kind, param = param)),
        class = "moriejit_param_error", info = class(param)[[1]]
      )
      expect_identical(list(cnd$op_index, cnd$op_kind), list(0L, kind))
    }
    expect_error(trace_one(op("layer_norm", weight = param)), class = "moriejit_param_error")
  }
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(lin("a")), x), "param", 0L, "linear")
  expect_refused(morie_geron_trace(list(lin(data.frame(a = 1))), x), "param", 0L, "linear")
  expect_refused(morie_geron_trace(list(bias(factor("a"))), x), "param", 0L, "bias")
  expect_refused(
    morie_geron_trace(list(lin(array(1, c(1, 2, 3)))), x), "param", 0L, "linear"
  )
})

test_that("dates and durations are no params", {
  for (param in list(as.Date("2020-02-02"), as.difftime(1, units = "hours"), Sys.time())) {
    expect_error(trace_one(bias(param)), class = "moriejit_param_error")
    expect_error(trace_one(lin(param), matrix(0, 2, 1)), class = "moriejit_param_error")
  }
})

test_that("fields that the kind does not have", {
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(op("bias", parm = 1)), x), "param", 0L, "bias")
  expect_refused(morie_geron_trace(list(op("relu", param = 1)), x), "param", 0L, "relu")
  expect_refused(
    morie_geron_trace(list(op("layer_norm", weigth = 1)), x), "param", 0L, "layer_norm"
  )
  expect_refused(morie_geron_trace(list(op("dropout", 0.5)), x), "param", 0L, "dropout")
  expect_error(trace_one(op("linear", param = diag(2), ta = 1)), class = "moriejit_param_error")
})

test_that("fields that a callable does not have", {
  for (bad in list(
    op("callable", param = identity, gard = function(x, dy) dy),
    op("callable", param = identity, grad = "gradient"),
    op("callable", param = identity, p = 1)
  )) {
    cnd <- expect_error(trace_one(bad), class = "moriejit_param_error")
    expect_identical(list(cnd$op_index, cnd$op_kind), list(0L, "callable"))
  }
})

test_that("attributes out of range", {
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(op("dropout", p = 2)), x), "param", 0L, "dropout")
  expect_refused(morie_geron_trace(list(op("layer_norm", eps = -1)), x), "param", 0L, "layer_norm")
  expect_refused(morie_geron_trace(list(op("elu", alpha = Inf)), x), "param", 0L, "elu")
  expect_refused(morie_geron_trace(list(op("dropout", p = NaN)), x), "param", 0L, "dropout")
  expect_refused(
    morie_geron_trace(list(op("leaky_relu", negative_slope = "a")), x), "param", 0L, "leaky_relu"
  )
  for (bad in list(
    op("dropout", p = -0.1), op("dropout", p = NA), op("dropout", p = c(0.1, 0.2)),
    op("dropout", p = numeric()), op("dropout", p = 1i), op("dropout", p = list(0.5)),
    op("dropout", training = NA), op("dropout", training = 2), op("dropout", training = "yes"),
    op("elu", alpha = factor(1)), op("batch_norm", mean = 0, var = 1, eps = -Inf)
  )) {
    expect_error(trace_one(bad), class = "moriejit_param_error")
  }
})

test_that("a small number out of range is shown as it is", {
  cnd <- expect_error(trace_one(op("layer_norm", eps = -1e-7)), class = "moriejit_param_error")
  expect_match(conditionMessage(cnd), "-1e-07", fixed = TRUE)
})

test_that("shapes that do not conform, with both shapes", {
  x <- matrix(0, 4, 2)
  expect_refused(morie_geron_trace(list(lin(diag(3))), x), "shape", 0L, "linear")
  expect_refused(
    morie_geron_trace(list(op("relu"), lin(matrix(0, 2, 3)), lin(c(1, 2))), x),
    "shape", 2L, "linear"
  )
  expect_refused(
    morie_geron_torch_compile(list(lin(diag(2)), lin(matrix(0, 0, 2))), example_inputs = x),
    "shape", 1L, "linear"
  )
  expect_error(trace_one(lin(matrix(1, 1, 2))), class = "moriejit_shape_error")
  expect_error(trace_one(lin(5)), class = "moriejit_shape_error")
})

test_that("vectors of another length than there are columns", {
  x <- matrix(0, 4, 2)
  expect_refused(morie_geron_trace(list(bias(c(1, 2, 3))), x), "shape", 0L, "bias")
  expect_refused(morie_geron_trace(list(bias(numeric())), x), "shape", 0L, "bias")
  expect_refused(morie_geron_trace(list(bias(diag(2))), x), "shape", 0L, "bias")
  expect_refused(
    morie_geron_trace(list(op("batch_norm", mean = 1:3, var = 1)), x), "shape", 0L, "batch_norm"
  )
  expect_error(trace_one(bias(c(1, 2)), matrix(0, 2, 1)), class = "moriejit_shape_error")
  expect_error(trace_one(bias(c(1, 2, 3, 4)), matrix(0, 4, 2)), class = "moriejit_shape_error")
  expect_error(trace_one(op("scale", param = 1:3)), class = "moriejit_shape_error")
  expect_error(trace_one(op("layer_norm", bias = 1:3)), class = "moriejit_shape_error")
})

test_that("callables that fail keep their own message", {
  x <- matrix(0, 2, 2)
  own <- function(x) stop("my own message")
  expect_refused(morie_geron_trace(list(op("relu"), own), x), "callable", 1L, "callable")
  cnd <- expect_error(morie_geron_trace(list(own), x))
  expect_identical(conditionMessage(cnd$parent), "my own message")
  classed <- function(x) rlang::abort("mine", class = "my_class")
  cnd <- expect_error(
    morie_geron_torch_compile(list(classed), example_inputs = x),
    class = "moriejit_callable_error"
  )
  expect_s3_class(cnd$parent, "my_class")
  expect_error(trace_one(function() 1), class = "moriejit_callable_error")
})

test_that("a callable that never ends its calls is an error too", {
  endless <- function(x) endless(x)
  withr::local_options(expressions = 500)
  expect_error(trace_one(endless), class = "moriejit_callable_error")
  expect_identical(trace_one(op("relu"))$output, matrix(0, 2, 2))
})

test_that("callables that give no numeric matrix", {
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(function(x) c(x)), x), "callable", 0L, "callable")
  expect_refused(morie_geron_trace(list(as.data.frame), x), "callable", 0L, "callable")
  expect_refused(
    morie_geron_trace(list(function(x) matrix("a", 2, 2)), x), "callable", 0L, "callable"
  )
  for (bad in list(
    function(x) NULL, function(x) x > 0, function(x) array(0, c(2, 2, 2)), function(x) x + 1i,
    function(x) list(x), function(x) 1, function(x) matrix(list(1, 2), 1), function(x) mean,
    function(x) array(1, 2)
  )) {
    cnd <- expect_error(trace_one(bad), class = "moriejit_callable_error")
    expect_identical(list(cnd$op_index, cnd$op_kind), list(0L, "callable"))
  }
  expect_identical(trace_one(function(x) matrix(1:4, 2))$output, matrix(c(1, 2, 3, 4), 2))
})

test_that("callables without a function", {
  x <- matrix(0, 2, 2)
  expect_refused(morie_geron_trace(list(op("callable", param = 3)), x), "param", 0L, "callable")
})

test_that("an op's error says its place in a long list", {
  model <- rep(list(op("relu")), 1000)
  model[[900]] <- bias("a")
  cnd <- expect_error(morie_geron_trace(model, 1), class = "moriejit_param_error")
  expect_match(conditionMessage(cnd), "Op 900 of 1000 (index 899, kind \"bias\")", fixed = TRUE)
})

test_that("an error of a call inside a callable is that call's", {
  inner <- function(x) morie_geron_run_graph(3, x)
  cnd <- expect_error(trace_one(inner), class = "moriejit_callable_error")
  expect_identical(conditionCall(cnd)[[1]], quote(morie_geron_trace))
  expect_s3_class(cnd$parent, "moriejit_graph_error")
  expect_identical(conditionCall(cnd$parent)[[1]], quote(morie_geron_run_graph))
})
