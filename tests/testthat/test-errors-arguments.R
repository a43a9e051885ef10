# The errors that are about arguments. Their texts are in _snaps/errors-arguments.md.

test_that("example_inputs that are missing", {
  model <- list(op("relu"))
  expect_refused(morie_geron_trace(model), "input")
  expect_refused(morie_geron_torchscript(model), "input")
  expect_refused(morie_geron_torch_compile(model), "input")
  expect_refused(morie_geron_torch_compile(model, "max-autotune"), "input")
})

test_that("example_inputs that are not numeric", {
  model <- list(op("relu"))
  expect_refused(morie_geron_trace(model, "a"), "input")
  expect_refused(morie_geron_trace(model, c("a", "b")), "input")
  expect_refused(morie_geron_trace(model, factor(c("a", "b"))), "input")
  expect_refused(morie_geron_trace(model, 1i), "input")
  expect_refused(morie_geron_trace(model, list(1, 2)), "input")
  expect_refused(morie_geron_trace(model, array(0, c(1, 2, 3))), "input")
  expect_refused(morie_geron_trace(model, iris), "input")
  expect_refused(morie_geron_trace(model, NULL), "input")
  expect_refused(morie_geron_trace(model, as.Date("2020-02-02")), "input")
  expect_refused(morie_geron_trace(model, matrix("a", 1, 1)), "input")
  expect_refused(morie_geron_torch_compile(model, example_inputs = "a"), "input")
  expect_refused(morie_geron_torchscript(model, NULL), "input")
  cnd <- expect_error(morie_geron_trace(model, NULL))
  expect_identical(cnd$argument, "example_inputs")
})

test_that("x that is not numeric, or has other columns", {
  graph <- morie_geron_trace(list(lin(diag(2))), matrix(0, 1, 2))$graph
  expect_refused(morie_geron_run_graph(graph, "a"), "input")
  expect_refused(morie_geron_run_graph(graph, NULL), "input")
  expect_refused(morie_geron_run_graph(graph, matrix(0, 2, 3)), "shape")
  expect_refused(morie_geron_run_graph(graph, c(1, 2)), "shape")
  expect_refused(morie_geron_backward(graph, list()), "input")
  cnd <- expect_error(morie_geron_run_graph(graph, "a"))
  expect_identical(cnd$argument, "x")
  wide <- morie_geron_trace(list(op("relu")), matrix(0, 1, 2))$graph
  for (cols in c(0, 1, 3)) {
    expect_error(
      morie_geron_run_graph(wide, matrix(0, 1, cols)),
      class = "moriejit_shape_error"
    )
  }
})

test_that("graphs that are none", {
  x <- matrix(0, 1, 2)
  traced <- morie_geron_trace(list(lin(diag(2)), op("relu")), x)
  graph <- traced$graph
  expect_refused(morie_geron_run_graph(3, x), "graph")
  expect_refused(morie_geron_run_graph(NULL, x), "graph")
  expect_refused(morie_geron_run_graph(traced, x), "graph")
  expect_refused(morie_geron_run_graph(list(op("relu")), x), "graph")
  expect_refused(morie_geron_run_graph(list(1), x), "graph")
  expect_refused(morie_geron_run_graph(jit_graph(graph), x), "graph")
  expect_refused(morie_geron_backward("a", x), "graph")
  expect_refused(jit_graph(3), "graph")
  expect_refused(jit_graph(traced), "graph")
  for (bad in list("a", mean, iris, globalenv(), list(list()), graph[[1]], list(NULL), NA)) {
    expect_error(morie_geron_run_graph(bad, x), class = "moriejit_graph_error")
    expect_error(morie_geron_backward(bad, x), class = "moriejit_graph_error")
  }
})

test_that("nodes that are no nodes", {
  x <- matrix(0, 1, 2)
  graph <- morie_geron_trace(list(lin(diag(2)), op("relu")), x)$graph
  for (field in c("index", "kind", "in_shape", "out_shape", "op")) {
    for (k in 1:2) {
      broken <- graph
      broken[[k]][[field]] <- NULL
      cnd <- expect_error(morie_geron_run_graph(broken, x), class = "moriejit_graph_error")
      expect_match(conditionMessage(cnd), paste0("Node ", k - 1L, " has no `", field, "`"))
    }
  }
  shapes <- list(NULL, 1L, c(1L, 2L, 3L), "a", c(-1L, 2L), c(NA, 2L), list(1, 2), c(1, NaN))
  for (shape in shapes) {
    broken <- graph
    broken[[1]]["out_shape"] <- list(shape)
    expect_error(morie_geron_run_graph(broken, x), class = "moriejit_graph_error")
    broken <- graph
    broken[[1]]["in_shape"] <- list(shape)
    expect_error(morie_geron_run_graph(broken, x), class = "moriejit_graph_error")
  }
  broken <- graph
  broken[[1]]$in_shape <- c(1L, -2L)
  expect_refused(morie_geron_run_graph(broken, x), "graph")
  broken <- graph
  broken[[2]]$op <- op("rleu")
  expect_refused(morie_geron_run_graph(broken, x), "unsupported", 1L, "rleu")
  broken <- graph
  broken[[1]]$op$param <- "a"
  expect_refused(morie_geron_run_graph(broken, x), "param", 0L, "linear")
  broken[[1]]$op <- NA
  expect_error(morie_geron_run_graph(broken, x), class = "moriejit_param_error")
})

test_that("shapes that are not whole are not cut off", {
  x <- matrix(0, 1, 2)
  graph <- morie_geron_trace(list(op("relu")), x)$graph
  for (shape in list(c(1, 2.5), c(1, Inf), c(1e300, 2))) {
    broken <- graph
    broken[[1]]$in_shape <- shape
    expect_error(morie_geron_run_graph(broken, x), class = "moriejit_graph_error")
  }
})

test_that("dims that are no dimensions", {
  expect_refused(morie_geron_matmul_order(5), "input")
  expect_refused(morie_geron_matmul_order(numeric()), "input")
  expect_refused(morie_geron_matmul_order(c(2, -3)), "input")
  expect_refused(morie_geron_matmul_order(c(2, 3.5, 4)), "input")
  expect_refused(morie_geron_matmul_order(c(2, NA)), "input")
  expect_refused(morie_geron_matmul_order(c(2, Inf)), "input")
  expect_refused(morie_geron_matmul_order(c(2, 1e10)), "input")
  expect_refused(morie_geron_matmul_order(c("2", "3")), "input")
  expect_refused(morie_geron_matmul_order(NULL), "input")
  for (bad in list(c(TRUE, TRUE), list(2, 3), c(2i, 3), factor(2:3), c(NaN, 2), c(NA, 2L), mean,
                   as.Date(c("2020-02-02", "2020-02-03")), iris)) {
    expect_error(morie_geron_matmul_order(bad), class = "moriejit_input_error")
  }
})

test_that("modes that there are not", {
  x <- matrix(0, 1, 1)
  model <- list(op("relu"))
  expect_refused(morie_geron_torch_compile(model, "fast", x), "input")
  expect_refused(morie_geron_torch_compile(model, c("default", "max-autotune"), x), "input")
  expect_refused(morie_geron_torch_compile(model, NULL, x), "input")
  expect_refused(morie_geron_torch_compile(model, 1, x), "input")
  for (bad in list(NA_character_, NA, "", "defaul", " default", factor("default"), character(),
                   list("default"), x)) {
    expect_error(morie_geron_torch_compile(model, bad, x), class = "moriejit_input_error")
  }
  cnd <- expect_error(morie_geron_torch_compile(model, "fast", x))
  for (mode in modes) expect_match(conditionMessage(cnd), mode, fixed = TRUE)
})

test_that("arguments that are missing", {
  expect_error(morie_geron_trace(example_inputs = 1), "\\bmodel\\b")
  expect_error(morie_geron_run_graph(list()), "\\bx\\b")
  expect_error(morie_geron_matmul_order(), "\\bdims\\b")
})

test_that("nothing is left behind by errors", {
  x <- matrix(1, 1, 2)
  graph <- morie_geron_trace(list(lin(diag(2))), x)$graph
  for (i in 1:10) {
    expect_error(morie_geron_run_graph(graph, "a"), class = "moriejit_error")
    expect_error(morie_geron_run_graph(list(graph), x), class = "moriejit_error")
    expect_error(morie_geron_trace(list(lin("a")), x), class = "moriejit_error")
    expect_error(morie_geron_trace(list(lin(diag(3))), x), class = "moriejit_error")
  }
  gc()
  expect_identical(morie_geron_run_graph(graph, x), x)
})
