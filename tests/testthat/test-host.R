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
  expect_true(all(vapply(report, function(pass) pass$changed, NA)))
  expect_gt(min(lengths(lapply(report, function(pass) pass$notes))), 0)
  without <- moriejit:::text_report_impl(text, "linear_chain", list())
  expect_length(without, length(report) - 1L)
  expect_error(
    moriejit:::text_report_impl(text, "no_such_pass", list()),
    class = "moriejit_unsupported_error"
  )
})
