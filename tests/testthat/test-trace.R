# morie_geron_trace() and morie_geron_torchscript(): capture, values and names.

five_kinds <- function() {
  list(
    lin(matrix(c(1, -2, 0.5, 3, 0.25, -1), 3)), bias(c(0.1, -0.2)), op("relu"),
    lin(matrix(c(1, -1, 2, 0.5), 2)), op("tanh"), bias(0.3), op("sigmoid"),
    function(x) x^2 - 1
  )
}

test_that("a node has its fields in order, of their types", {
  model <- list(lin(matrix(1:6, 3)), bias(c(1, 2)), op("relu"), function(x) cbind(x, x))
  traced <- morie_geron_trace(model, matrix(0, 4, 3))
  expect_named(traced, c("graph", "output"))
  node <- function(index, kind, in_shape, out_shape) {
    list(
      index = index, kind = kind, in_shape = in_shape, out_shape = out_shape,
      op = model[[index + 1L]]
    )
  }
  expect_identical(traced$graph, list(
    node(0L, "linear", c(4L, 3L), c(4L, 2L)), node(1L, "bias", c(4L, 2L), c(4L, 2L)),
    node(2L, "relu", c(4L, 2L), c(4L, 2L)), node(3L, "callable", c(4L, 2L), c(4L, 4L))
  ))
})

test_that("an op is recorded as it was given", {
  given <- list(
    list(param = c(a = 1L, b = 2L), kind = "bias"),
    list(kind = "callable", param = identity, grad = function(x, dy) dy),
    list(kind = "dropout", p = 0.1, training = FALSE)
  )
  graph <- morie_geron_trace(given, matrix(0, 1, 2))$graph
  expect_identical(lapply(graph, function(node) node$op), given)
  expect_identical(node_kinds(graph), c("bias", "callable", "dropout"))
})

test_that("the output is that of plain R", {
  withr::local_seed(1)
  model <- five_kinds()
  for (rows in c(0, 1, 2, 5, 64, 65, 200)) {
    x <- random_matrix(rows, 3)
    expect_close(morie_geron_trace(model, x)$output, plain_run(model, x))
    for (n in seq_along(model)) {
      expect_close(morie_geron_trace(model[seq_len(n)], x)$output, plain_run(model[seq_len(n)], x))
    }
  }
})

test_that("large products are those of plain R", {
  withr::local_seed(2)
  for (dims in list(c(33, 40, 37), c(1, 500, 3), c(300, 1, 300), c(200, 150, 120))) {
    x <- random_matrix(dims[[1]], dims[[2]])
    w <- random_matrix(dims[[2]], dims[[3]])
    expect_close(morie_geron_trace(list(lin(w)), x)$output, x %*% w, floor = 10)
  }
})

test_that("an empty model gives its input", {
  x <- matrix(c(1, 2, 3, 4), 2, dimnames = list(c("a", "b"), c("u", "v")))
  expect_identical(morie_geron_trace(list(), x), list(graph = list(), output = x))
  expect_identical(morie_geron_run_graph(list(), x), x)
  expect_identical(morie_geron_trace(list(), 1:3)$output, matrix(c(1, 2, 3)))
  script <- morie_geron_torchscript(list(), x)
  expect_identical(script$replay, x)
  expect_identical(script$shapes, list())
  expect_identical(script$max_diff, 0)
})

test_that("names are those of plain R", {
  x <- matrix(c(1, -2, 3, 4), 2, dimnames = list(c("r1", "r2"), c("c1", "c2")))
  named <- matrix(c(1, 2, 3, 4), 2, dimnames = list(c("c1", "c2"), c("u", "v")))
  rename <- function(x) {
    dimnames(x) <- list(c("p", "q"), c("s", "t"))
    x
  }
  models <- list(
    list(op("relu")), list(bias(c(k = 1, l = 2))), list(lin(named)), list(lin(unname(named))),
    list(lin(named), lin(unname(named))), list(lin(unname(named)), lin(named), op("tanh")),
    list(lin(named), rename), list(lin(named), rename, op("relu"), bias(1)),
    list(rename, lin(unname(named))), list(rename, lin(named)), list(lin(named), unname),
    list(function(x) x[1, , drop = FALSE], lin(named)), list(lin(c(1, 2)))
  )
  for (model in models) {
    traced <- morie_geron_trace(model, x)
    expected <- dimnames(plain_run(model, x))
    expect_identical(dimnames(traced$output), expected)
    expect_identical(dimnames(morie_geron_run_graph(traced$graph, x)), expected)
    compiled <- morie_geron_torch_compile(model, example_inputs = x)
    expect_identical(dimnames(compiled$output), expected)
    expect_identical(dimnames(compiled$eager_output), expected)
    expect_identical(dimnames(morie_geron_run_graph(compiled$compiled, x)), expected)
  }
})

test_that("a callable sees the names that plain R would show it", {
  seen <- NULL
  look <- function(x) {
    seen <<- dimnames(x)
    x
  }
  w <- matrix(1, 2, 2, dimnames = list(NULL, c("u", "v")))
  x <- matrix(1, 2, 2, dimnames = list(c("a", "b"), c("c", "d")))
  morie_geron_trace(list(look), x)
  expect_identical(seen, dimnames(x))
  graph <- morie_geron_trace(list(lin(w), look), x)$graph
  expect_identical(seen, list(c("a", "b"), c("u", "v")))
  morie_geron_run_graph(graph, unname(x))
  expect_identical(seen, list(NULL, c("u", "v")))
})

test_that("there are no names where plain R has none", {
  x <- matrix(1, 2, 2)
  expect_null(dimnames(morie_geron_trace(five_kinds(), matrix(1, 2, 3))$output))
  expect_null(dimnames(morie_geron_trace(list(op("relu")), x)$output))
  rows_only <- matrix(1, 2, 2, dimnames = list(c("a", "b"), NULL))
  expect_identical(
    dimnames(morie_geron_trace(list(lin(x)), rows_only)$output), list(c("a", "b"), NULL)
  )
})

test_that("what counts as numeric is computed as doubles", {
  model <- list(lin(matrix(c(1, 0, 0.5, 2), 2)))
  numbers <- c(2L, NA, -3L, .Machine$integer.max)
  as_double <- matrix(as.numeric(numbers), 2)
  expect_close(morie_geron_trace(model, matrix(numbers, 2))$output, as_double %*% model[[1]]$param)
  flags <- matrix(c(TRUE, FALSE, NA, TRUE), 2)
  expect_close(morie_geron_trace(model, flags)$output, flags %*% model[[1]]$param)
  frame <- data.frame(a = c(1.5, -2), b = c(3L, NA), row.names = c("r", "s"))
  got <- morie_geron_trace(list(op("relu")), frame)$output
  expect_identical(got, matrix(c(1.5, 0, 3, NA), 2, dimnames = list(c("r", "s"), c("a", "b"))))
  expect_identical(morie_geron_trace(list(op("relu")), c(1, -1))$output, matrix(c(1, 0)))
  expect_identical(
    morie_geron_trace(list(op("relu")), c(u = 1L, v = -1L))$output,
    matrix(c(1, 0), dimnames = list(c("u", "v"), NULL))
  )
})

test_that("integers beyond their range are doubles", {
  big <- matrix(.Machine$integer.max, 1, 1)
  expect_identical(morie_geron_trace(list(lin(matrix(2L))), big)$output, matrix(4294967294))
  expect_identical(morie_geron_trace(list(bias(1L)), big)$output, matrix(2147483648))
})

test_that("special values stay what they are", {
  x <- matrix(c(NA, NaN, Inf, -Inf, -0, 0, 5e-324, -1), 2)
  for (model in list(list(), list(op("dropout")), list(op("dropout"), op("dropout")))) {
    traced <- morie_geron_trace(model, x)
    expect_bits(traced$output, x)
    expect_bits(morie_geron_run_graph(traced$graph, x), x)
  }
  relu <- morie_geron_trace(list(op("relu")), x)$output
  expected <- matrix(c(NA, NaN, Inf, 0, -0, 0, 5e-324, 0), 2)
  expect_bits(relu, expected)
})

test_that("NaN and infinities reach every product they belong to", {
  x <- matrix(c(NaN, 1, 2, 3), 2)
  expect_identical(
    is.nan(morie_geron_trace(list(lin(matrix(0, 2, 3))), x)$output),
    matrix(c(TRUE, FALSE), 2, 3)
  )
  infinite <- matrix(c(Inf, 1, 0, 1), 2)
  expect_close(morie_geron_trace(list(lin(diag(2))), infinite)$output, infinite %*% diag(2))
  wide <- matrix(0, 40, 40)
  wide[7, 9] <- NaN
  output <- morie_geron_trace(list(lin(matrix(0, 40, 40))), wide)$output
  expect_identical(which(is.nan(output[, 1])), 7L)
})

test_that("one element, no rows and no columns are matrices too", {
  model <- list(lin(matrix(2)), bias(1), op("tanh"), function(x) x + 1)
  expect_identical(morie_geron_trace(model, 3)$output, matrix(tanh(7) + 1))
  none <- morie_geron_trace(five_kinds(), matrix(0, 0, 3))
  expect_identical(none$output, matrix(0, 0, 2))
  expect_identical(none$graph[[1]]$in_shape, c(0L, 3L))
  no_columns <- list(lin(matrix(0, 0, 2)), bias(c(1, 2)))
  expect_identical(
    morie_geron_trace(no_columns, matrix(0, 3, 0))$output, matrix(c(1, 2), 3, 2, byrow = TRUE)
  )
  to_nothing <- list(lin(matrix(0, 2, 0)), op("relu"), bias(1), lin(matrix(0, 0, 1)))
  expect_identical(morie_geron_trace(to_nothing, matrix(1, 3, 2))$output, matrix(0, 3, 1))
  for (kind in c("relu", "softmax", "log_softmax", "layer_norm", "sigmoid")) {
    for (dims in list(c(0, 3), c(3, 0), c(0, 0))) {
      x <- matrix(0, dims[[1]], dims[[2]])
      expect_identical(morie_geron_trace(list(op(kind)), x)$output, x)
    }
  }
})

test_that("10,000 ops are traced, compiled and run", {
  withr::local_seed(3)
  turn <- matrix(c(cos(0.1), sin(0.1), -sin(0.1), cos(0.1)), 2)
  ops <- list(lin(turn), bias(c(0.01, -0.02)), op("tanh"), lin(turn), lin(t(turn)))
  model <- rep(ops, 2000)
  x <- random_matrix(3, 2)
  expected <- plain_run(model, x)
  elapsed <- system.time({
    traced <- morie_geron_trace(model, x)
    compiled <- morie_geron_torch_compile(model, example_inputs = x)
    replayed <- morie_geron_run_graph(traced$graph, x)
  })[["elapsed"]]
  expect_length(traced$graph, 10000L)
  expect_close(traced$output, expected)
  expect_identical(replayed, traced$output)
  expect_close(compiled$output, expected, tolerance = 1e-9)
  # the last two of each five and the first of the next are one run
  expect_identical(compiled$fused_runs, 2000L)
  expect_identical(compiled$n_compiled, 2000L + 1L + 2L * 2000L)
  expect_lt(elapsed, 30)
})

test_that("10,000 linear ops are one run", {
  turn <- matrix(c(cos(0.1), sin(0.1), -sin(0.1), cos(0.1)), 2)
  compiled <- morie_geron_torch_compile(rep(list(lin(turn)), 10000), example_inputs = diag(2))
  expect_identical(compiled$n_compiled, 1L)
  angle <- 1000
  expect_close(
    compiled$output, matrix(c(cos(angle), sin(angle), -sin(angle), cos(angle)), 2),
    tolerance = 1e-9
  )
})

test_that("nothing is drawn", {
  withr::local_seed(4)
  before <- .Random.seed
  model <- c(five_kinds(), list(op("dropout", p = 0.5, training = TRUE), function(x) x + runif(1)))
  x <- matrix(c(1, 2, 3), 1)
  morie_geron_trace(model, x)
  expect_identical(.Random.seed, before)
  script <- morie_geron_torchscript(model, x)
  expect_identical(.Random.seed, before)
  expect_identical(script$max_diff, 0)
  expect_error(morie_geron_trace(list(function(x) stop(runif(1))), x), class = "moriejit_error")
  expect_identical(.Random.seed, before)
})

test_that("inputs are not modified, nor earlier results", {
  x <- matrix(c(-1, 2, -3, 4), 2)
  w <- matrix(c(1, 2, 3, 4), 2)
  model <- list(op("relu"), lin(w), bias(c(1, 2)), function(x) {
    x[1, 1] <- 100
    x
  }, op("relu"))
  first <- morie_geron_trace(model, x)
  first_output <- first$output + 0
  morie_geron_run_graph(first$graph, x * 10)
  morie_geron_trace(model, x * 20)
  expect_identical(first$output, first_output)
  expect_identical(x, matrix(c(-1, 2, -3, 4), 2))
  expect_identical(w, matrix(c(1, 2, 3, 4), 2))
  expect_identical(model[[2]]$param, w)
})

test_that("the result of an identity is its own", {
  for (model in list(list(), list(op("dropout")), list(identity))) {
    x <- matrix(c(1, 2), 1)
    output <- morie_geron_trace(model, x)$output
    x[1, 1] <- 9
    expect_identical(output, matrix(c(1, 2), 1))
    output[1, 2] <- 7
    expect_identical(x, matrix(c(9, 2), 1))
  }
})

test_that("torchscript replays the trace", {
  withr::local_seed(5)
  model <- five_kinds()
  x <- random_matrix(4, 3)
  script <- morie_geron_torchscript(model, x)
  expect_named(script, c(
    "graph", "output", "replay", "max_diff", "n_nodes", "shapes", "estimate", "n", "method"
  ))
  traced <- morie_geron_trace(model, x)
  expect_identical(script$graph, traced$graph)
  expect_identical(script$output, traced$output)
  expect_identical(script$replay, script$output)
  expect_identical(script$max_diff, 0)
  expect_identical(script$estimate, 0)
  expect_identical(script$n_nodes, 8L)
  expect_identical(script$n, 4L)
  expect_identical(script$shapes[[1]], list(in_shape = c(4L, 3L), out_shape = c(4L, 2L)))
  expect_length(script$shapes, 8L)
  expect_identical(morie_geron_torchscript(list(op("relu")), c(1, 2, 3))$n, 3L)
})

test_that("max_diff is the largest absolute difference of output and replay", {
  differ <- function(first, second) {
    calls <- 0
    changing <- function(x) {
      calls <<- calls + 1
      if (calls == 1) first else second
    }
    morie_geron_torchscript(list(changing), matrix(0, 1, 2))$max_diff
  }
  row <- function(...) matrix(c(...), 1)
  expect_identical(differ(row(1, 2), row(1.25, 2)), 0.25)
  expect_identical(differ(row(1, 2), row(2, -1)), 3)
  expect_identical(differ(row(NaN, 2), row(NaN, 2)), 0)
  expect_identical(differ(row(NA, 2), row(NaN, 2.5)), 0.5)
  expect_identical(differ(row(NaN, 2), row(1, 2)), Inf)
  expect_identical(differ(row(0, 2), row(0, NaN)), Inf)
  expect_identical(differ(row(Inf, -Inf), row(Inf, -Inf)), 0)
  expect_identical(differ(row(Inf, 0), row(-Inf, 0)), Inf)
  expect_identical(differ(matrix(0, 0, 2), matrix(0, 0, 2)), 0)
})
