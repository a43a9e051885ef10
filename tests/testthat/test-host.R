# What R functions and R's memory can do to a run under way.

test_that("a callable must give as many columns as when it was traced", {
  widen <- function(x) if (nrow(x) > 2) cbind(x, x) else x
  x <- matrix(1, 2, 3)
  for (after in list(bias(1:3), op("relu"), op("layer_norm", weight = 1:3))) {
    graph <- morie_geron_trace(list(widen, after), x)$graph
    cnd <- expect_error(
      morie_geron_run_graph(graph, matrix(1, 5, 3)),
      class = "moriejit_callable_error"
    )
    expect_identical(cnd$op_index, 0L)
  }
})

test_that("a callable whose shape changes from call to call is an error of its own", {
  calls <- 0
  moody <- function(x) {
    calls <<- calls + 1
    x[seq_len(min(calls, nrow(x))), , drop = FALSE]
  }
  x <- matrix(1, 5, 2)
  expect_error(morie_geron_torchscript(list(moody), x), class = "moriejit_callable_error")
  expect_error(
    morie_geron_torch_compile(list(moody), example_inputs = x),
    class = "moriejit_callable_error"
  )
})

test_that("names are those of a run, whatever its callables run", {
  inner <- NULL
  again <- function(x, dy) {
    morie_geron_run_graph(inner, matrix(1, 2, 2, dimnames = list(c("p", "q"), NULL)))
    dy
  }
  model <- list(list(kind = "callable", param = function(x) x + 1, grad = again))
  x <- matrix(1, 2, 2, dimnames = list(c("a", "b"), c("u", "v")))
  inner <- morie_geron_trace(model, x)$graph
  back <- morie_geron_backward(inner, x)
  expect_identical(dimnames(back$output), dimnames(x))
})

test_that("a collection while the stream is put back does not take the result", {
  had <- exists(".Random.seed", globalenv(), inherits = FALSE)
  kept <- if (had) get(".Random.seed", globalenv())
  withr::defer({
    rm(".Random.seed", envir = globalenv())
    if (had) assign(".Random.seed", kept, globalenv())
  })
  set.seed(1)
  seed <- get(".Random.seed", globalenv())
  rm(".Random.seed", envir = globalenv())
  makeActiveBinding(".Random.seed", function(value) {
    if (missing(value)) return(seed)
    gc()
    seed <<- value
  }, globalenv())
  x <- matrix(as.numeric(1:6), 2)
  model <- list(function(x) x * 2)
  traced <- morie_geron_trace(model, x)
  compiled <- morie_geron_torch_compile(model, example_inputs = x)
  expect_identical(traced$output, x * 2)
  expect_identical(compiled$output, x * 2)
  expect_identical(traced$graph[[1]]$kind, "callable")
})

test_that("what dimensions are called stays, as in a product of R", {
  w <- matrix(1, 2, 3, dimnames = list(from = c("u", "v"), to = c("p", "q", "r")))
  x <- matrix(1, 2, 2, dimnames = list(case = c("a", "b"), from = c("u", "v")))
  expect_identical(dimnames(morie_geron_trace(list(lin(w)), x)$output), dimnames(x %*% w))
  expect_identical(dimnames(morie_geron_trace(list(op("relu")), x)$output), dimnames(x))
  named <- morie_geron_torch_compile(list(lin(w), lin(t(w))), example_inputs = x)
  expect_identical(dimnames(named$output), dimnames(x %*% w %*% t(w)))
})

test_that("an op has each field once, and flags are TRUE or FALSE", {
  twice <- list(kind = "bias", param = 1, param = 2)
  expect_error(trace_one(twice), class = "moriejit_param_error")
  expect_error(trace_one(op("dropout", training = 0.5)), class = "moriejit_param_error")
  expect_identical(
    trace_one(op("dropout", p = 1, training = 1))$output,
    trace_one(op("scale", param = 0))$output
  )
})

test_that("a result that does not fit is an error of the package", {
  model <- list(lin(matrix(0, 0, 200000)))
  expect_error(
    morie_geron_trace(model, matrix(0, 2000000, 0)),
    class = "moriejit_memory_error"
  )
})

test_that("arguments that are missing are errors of the package", {
  graph <- morie_geron_trace(list(op("relu")), matrix(1))$graph
  expect_snapshot(error = TRUE, {
    morie_geron_trace(example_inputs = 1)
    morie_geron_run_graph(graph)
    morie_geron_run_graph(x = 1)
    morie_geron_backward(graph)
    morie_geron_matmul_order()
    jit_graph()
  })
})

test_that("a graph whose node and op disagree is no graph", {
  graph <- morie_geron_trace(list(lin(diag(2))), matrix(1, 1, 2))$graph
  graph[[1]]$kind <- "bias"
  expect_error(morie_geron_run_graph(graph, matrix(1, 1, 2)), class = "moriejit_graph_error")
})

test_that("a jit_graph is returned as it is", {
  shown <- jit_graph(morie_geron_trace(list(lin(diag(3))), matrix(1, 1, 3))$graph)
  expect_identical(jit_graph(shown), shown)
})

test_that("each pass reports what it did, and can be left out", {
  text <- "fn(x: f64[1,1]) {
    const a: f64[1,1] = [2]
    const b: f64[1,1] = [3]
    %0 = matmul(x, a) : f64[1,1]
    %1 = matmul(%0, b) : f64[1,1]
    return %1
  }"
  report <- moriejit:::text_report_impl(text, character(), list())
  expect_identical(
    vapply(report, function(pass) pass$pass, ""), moriejit:::passes_impl()$name
  )
  changed <- vapply(report, function(pass) pass$changed, NA)
  # what nobody reads is no part of a graph's structure
  expect_identical(changed, moriejit:::passes_impl()$name != "dead_code")
  expect_gt(min(lengths(lapply(report, function(pass) pass$notes))), 0)
  without <- moriejit:::text_report_impl(text, "linear_chain", list())
  expect_length(without, length(report) - 1L)
  expect_error(
    moriejit:::text_report_impl(text, "no_such_pass", list()),
    class = "moriejit_unsupported_error"
  )
})

test_that("a time limit is an error, as in R", {
  withr::defer(setTimeLimit())
  expect_error(
    {
      setTimeLimit(elapsed = 0.2, transient = TRUE)
      morie_geron_matmul_order(rep(c(10, 20, 30), 700))
    },
    "time limit"
  )
  expect_identical(morie_geron_matmul_order(c(2, 3, 4))$cost, 24)
})

test_that("texts that only look right are refused", {
  wrong <- c(
    "fn(x: f64[1,1]) {\n}",
    "fn(%0: f64[1,1]) {\n  return %0\n}",
    "fn(return: f64[1,1]) {\n  return return\n}",
    "fn(x: f64[1,1] y: f64[1,1]) {\n  return x\n}",
    "fn(x: f64[1,2]) {\n  const a: f64[1,2] = [1-2]\n  return x\n}",
    "fn(x: f64[1,1]) {\n  %0 = elu(x) {alpha=1, alpha=2} : f64[1,1]\n  return %0\n}",
    "fn(x: f64[2,5]) {\n  const w: f64[1,2] = [1, 2]\n  const b: f64[1,1] = [0]
      %0 = layer_norm(x, w, b) : f64[2,5]\n  return %0\n}",
    "fn(x: f64[2,5], u: f64[1,1]) {\n  %0 = dropout(x, u) : f64[2,5]\n  return %0\n}"
  )
  for (text in wrong) {
    expect_error(jit_graph(text), class = "moriejit_format_error")
  }
})

test_that("fits that were changed by hand are not guessed at", {
  fit <- lm(mpg ~ wt + hp, mtcars)
  turned <- within(unclass(fit), coefficients <- rev(coefficients))
  bare <- fit
  bare$coefficients <- NULL
  net <- nnet::nnet(mpg ~ wt, mtcars, size = 2, linout = TRUE, trace = FALSE)
  net$wts <- net$wts[-1]
  logistic <- glm(am ~ wt, binomial, mtcars)
  logistic$family <- "binomial"
  damaged <- list(
    structure(turned, class = "lm"), bare, net, logistic,
    structure(list(), class = "nnet"), structure(1, class = "lm"), structure(1, class = "prcomp")
  )
  for (fit in damaged) {
    expect_error(as_op_list(fit), class = "moriejit_unsupported_error")
  }
})
