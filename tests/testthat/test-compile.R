# morie_geron_torch_compile(): what is fused, what is counted, what comes out.

test_that("the result has its fields in order, of their types", {
  x <- matrix(1, 3, 2)
  for (mode in modes) {
    result <- morie_geron_torch_compile(list(lin(diag(2)), lin(diag(2)), op("relu")), mode, x)
    expect_identical(vapply(result, typeof, ""), c(
      compiled = "list", graph = "list", output = "double", eager_output = "double",
      max_diff = "double", n_ops = "integer", n_compiled = "integer", fused_runs = "integer",
      flops_eager = "double", flops_compiled = "double", speedup = "double", mode = "character",
      estimate = "double", n = "integer", method = "character"
    ))
    expect_identical(result$mode, mode)
    expect_identical(result$n, 3L)
    expect_identical(result$estimate, result$speedup)
    expect_identical(result$n_ops, length(result$graph))
    expect_identical(result$n_compiled, length(result$compiled))
  }
})

test_that("the mode is matched without regard to case", {
  x <- matrix(1, 1, 1)
  compile <- function(mode) morie_geron_torch_compile(list(op("relu")), mode, x)$mode
  expect_identical(compile("DEFAULT"), "default")
  expect_identical(compile("Reduce-Overhead"), "reduce-overhead")
  expect_identical(compile("max-AUTOTUNE"), "max-autotune")
  expect_identical(morie_geron_torch_compile(list(), example_inputs = x)$mode, "default")
})

test_that("the counts follow their formulas", {
  withr::local_seed(1)
  for (i in 1:40) {
    dims <- sample(0:9, sample(2:6, 1), TRUE)
    rows <- sample(0:5, 1)
    result <- morie_geron_torch_compile(
      random_chain(dims),
      example_inputs = random_matrix(rows, dims[[1]])
    )
    n <- length(dims) - 1L
    size <- dims[seq_len(n)] * dims[-1L]
    before <- c(rows, dims[seq_len(n)[-1L]])
    expect_identical(result$flops_eager, as.double(sum(before * size)))
    expect_identical(result$flops_compiled, as.double(rows * dims[[1L]] * dims[[n + 1L]]))
    if (result$flops_compiled > 0) {
      expect_identical(result$speedup, result$flops_eager / result$flops_compiled)
    }
  }
})

test_that("an op that stays counts the same on both sides", {
  x <- matrix(1, 4, 3)
  model <- list(lin(matrix(1, 3, 5)), op("relu"), lin(matrix(1, 5, 2)), bias(1))
  for (result in compile_all(model, x)) {
    expect_identical(result$flops_eager, 4 * 15 + 4 * 10)
    expect_identical(result$flops_compiled, 4 * 15 + 4 * 10)
    expect_identical(result$speedup, 1)
    expect_identical(result$fused_runs, 0L)
    expect_identical(result$compiled, result$graph)
  }
})

test_that("the speedup is 1 where nothing was counted", {
  models <- list(list(), list(op("relu"), bias(1)), list(identity), list(op("dropout")))
  for (model in models) {
    for (result in compile_all(model, matrix(1, 2, 2))) {
      expect_identical(unlist(result[c("flops_eager", "flops_compiled", "speedup", "estimate")]), c(
        flops_eager = 0, flops_compiled = 0, speedup = 1, estimate = 1
      ))
    }
  }
  empty <- morie_geron_torch_compile(list(lin(diag(2))), example_inputs = matrix(0, 0, 2))
  expect_identical(empty$speedup, 1)
})

test_that("one vector is one column", {
  model <- list(lin(matrix(c(1, 2, 3, 4), 2)), lin(c(5, 6)), lin(7), lin(matrix(c(1, 2), 1)))
  result <- morie_geron_torch_compile(model, example_inputs = matrix(c(1, -1), 1))
  product <- model[[1]]$param %*% c(5, 6) %*% 7 %*% matrix(c(1, 2), 1)
  expect_identical(result$n_compiled, 1L)
  expect_identical(result$compiled[[1]]$op, lin(product))
  expect_identical(result$flops_eager, 1 * 4 + 2 * 2 + 1 * 1 + 1 * 2)
})

test_that("runs are separated by other ops", {
  w <- diag(2)
  between <- list(bias(1), op("relu"), op("softmax"), identity, op("scale", param = 2))
  for (other in between) {
    model <- list(lin(w), lin(w * 2), other, lin(w * 3), lin(w * 4), lin(w * 5))
    result <- morie_geron_torch_compile(model, example_inputs = matrix(1, 1, 2))
    expect_identical(result$fused_runs, 2L)
    expect_identical(result$n_compiled, 3L)
    expect_identical(fused_from(result$compiled), list(0:1, NULL, 3:5))
    expect_identical(vapply(result$compiled, function(node) node$index, 1L), 0:2)
    expect_identical(result$compiled[[1]]$op$param, w * 2)
    expect_identical(result$compiled[[3]]$op$param, w * 60)
    expect_identical(result$compiled[[2]]$op, other)
  }
})

test_that("a fused node has its shapes, and its fused_from last", {
  model <- list(op("relu"), lin(matrix(1, 2, 3)), lin(matrix(1, 3, 4)), bias(1))
  result <- morie_geron_torch_compile(model, example_inputs = matrix(1, 5, 2))
  expect_identical(result$compiled[[2]], list(
    index = 1L, kind = "linear", in_shape = c(5L, 2L), out_shape = c(5L, 4L),
    op = lin(matrix(3, 2, 4)), fused_from = 1:2
  ))
  expect_identical(result$compiled[[3]], list(
    index = 2L, kind = "bias", in_shape = c(5L, 4L), out_shape = c(5L, 4L), op = bias(1)
  ))
})

test_that("the fused product has the names of R's own", {
  a <- matrix(1:4 + 0, 2, dimnames = list(c("a", "b"), c("c", "d")))
  b <- matrix(1:4 + 0, 2, dimnames = list(c("e", "f"), c("g", "h")))
  for (pair in list(list(a, b), list(unname(a), b), list(a, unname(b)), list(a, c(u = 1, v = 2)))) {
    fused <- morie_geron_torch_compile(lapply(pair, lin), example_inputs = matrix(1, 1, 2))
    expect_identical(fused$compiled[[1]]$op$param, pair[[1]] %*% pair[[2]])
  }
})

test_that("a bottleneck is kept where cost decides", {
  withr::local_seed(2)
  x <- random_matrix(5, 1000)
  results <- compile_all(random_chain(c(1000, 10, 1000)), x)
  expect_identical(results[["max-autotune"]]$n_compiled, 2L)
  expect_identical(results[["max-autotune"]]$fused_runs, 0L)
  expect_identical(results[["max-autotune"]]$flops_compiled, 5 * 10000 * 2)
  for (mode in modes[1:2]) {
    expect_identical(results[[mode]]$n_compiled, 1L)
    expect_identical(results[[mode]]$flops_compiled, 5 * 1e6)
  }
})

# The cost of the cheapest way through the cut points, and the fewest ops among the ways that cost
# so much, by trying all of them.
cheapest_by_trial <- function(dims, rows) {
  n <- length(dims) - 1L
  ways <- vapply(seq_len(2^(n - 1)) - 1, function(set) {
    cut <- bitwAnd(set, 2^(seq_len(n - 1) - 1)) > 0
    points <- dims[c(TRUE, cut, TRUE)]
    c(rows * sum(points[-1L] * points[-length(points)]), sum(cut) + 1)
  }, c(0, 0))
  cheapest <- ways[1L, ] == min(ways[1L, ])
  list(cost = min(ways[1L, ]), ops = as.integer(min(ways[2L, cheapest])))
}

test_that("max-autotune takes the cheapest cuts, and is never worse than default", {
  withr::local_seed(3)
  for (i in 1:40) {
    dims <- sample(c(1:6, 12, 20), sample(2:7, 1), TRUE)
    rows <- sample(1:4, 1)
    x <- random_matrix(rows, dims[[1]])
    model <- random_chain(dims)
    auto <- morie_geron_torch_compile(model, "max-autotune", x)
    plain <- morie_geron_torch_compile(model, "default", x)
    expect_identical(auto$flops_compiled, cheapest_by_trial(dims, rows)$cost)
    expect_lte(auto$flops_compiled, plain$flops_compiled)
    expect_close(auto$output, plain_run(model, x), 1e-10, floor = max(abs(auto$output)))
  }
})

test_that("among equals max-autotune takes the fewest ops", {
  withr::local_seed(7)
  chains <- lapply(1:150, function(i) sample(1:6, sample(5:8, 1), TRUE))
  got <- lapply(c(list(c(2, 1, 2), rep(3, 8)), chains), function(dims) {
    x <- matrix(1, 1, dims[[1]])
    result <- morie_geron_torch_compile(random_chain(dims), "max-autotune", x)
    list(dims = dims, cost = result$flops_compiled, ops = result$n_compiled)
  })
  expected <- lapply(got, function(one) c(one["dims"], cheapest_by_trial(one$dims, 1)))
  expect_identical(got, expected)
})

# The multiplications among constants in a graph's text: those that form a product.
constant_cost <- function(text) {
  lines <- strsplit(text, "\n")[[1]]
  shape_of <- function(line) as.numeric(strsplit(gsub(".*\\[|\\].*", "", line), ",")[[1]])
  shapes <- list()
  for (line in grep("const ", lines, value = TRUE)) {
    shapes[[sub(" *const ([^:]+):.*", "\\1", line)]] <- shape_of(line)
  }
  cost <- 0
  for (line in grep("matmul", lines, value = TRUE)) {
    args <- strsplit(sub(".*matmul\\((.*)\\).*", "\\1", line), ", ")[[1]]
    if (args[[1]] == "x") next
    out <- shape_of(line)
    cost <- cost + prod(out) * shapes[[args[[1]]]][[2]]
    shapes[[sub(" *(%[0-9]+) =.*", "\\1", line)]] <- out
  }
  cost
}

test_that("products are formed in the cheapest association", {
  withr::local_seed(4)
  for (i in 1:40) {
    dims <- sample(1:30, sample(3:9, 1), TRUE)
    k <- seq_len(length(dims) - 1L)
    flow <- c("x", paste0("%", k - 1L))
    text <- paste(c(
      sprintf("fn(x: f64[2,%d]) {", dims[[1]]),
      sprintf("  const W%d: f64[%d,%d]", k, dims[k], dims[k + 1L]),
      sprintf("  %%%d = matmul(%s, W%d) : f64[2,%d]", k - 1L, flow[k], k, dims[k + 1L]),
      paste("  return", flow[[length(flow)]]), "}"
    ), collapse = "\n")
    fused <- moriejit:::text_pass_impl(text, "linear_chain", list(), "default")
    expect_identical(constant_cost(fused), morie_geron_matmul_order(dims)$cost)
  }
})

test_that("zero dimensions are no obstacle", {
  for (dims in list(c(2, 0, 3), c(0, 2, 3), c(2, 3, 0), c(2, 0, 0, 2), c(0, 0))) {
    for (rows in c(0, 3)) {
      x <- matrix(1, rows, dims[[1]])
      for (result in compile_all(random_chain(dims), x)) {
        expect_identical(result$output, matrix(0, rows, dims[[length(dims)]]))
        expect_identical(result$eager_output, result$output)
        expect_identical(result$max_diff, 0)
      }
    }
  }
  hollow <- list(lin(matrix(0, 2, 0)), lin(matrix(0, 0, 2)), bias(c(1, 2)))
  result <- morie_geron_torch_compile(hollow, example_inputs = matrix(5, 2, 2))
  expect_identical(result$output, matrix(c(1, 2), 2, 2, byrow = TRUE))
})

test_that("output, eager_output and max_diff are what the graphs give", {
  withr::local_seed(5)
  model <- c(random_chain(c(4, 6, 3)), list(bias(c(1, 2, 3)), op("tanh")), random_chain(c(3, 5, 2)))
  x <- random_matrix(7, 4)
  for (result in compile_all(model, x)) {
    expect_identical(result$output, morie_geron_run_graph(result$compiled, x))
    expect_identical(result$eager_output, morie_geron_run_graph(result$graph, x))
    expect_identical(result$max_diff, max(abs(result$output - result$eager_output)))
    expect_lt(result$max_diff, 1e-13)
    expect_close(result$output, plain_run(model, x))
    expect_identical(result$graph, morie_geron_trace(model, x)$graph)
  }
})

test_that("max_diff compares what the two runs gave", {
  differ <- function(values) {
    calls <- 0
    changing <- function(x) {
      calls <<- calls + 1
      matrix(values[[calls]], 1)
    }
    morie_geron_torch_compile(list(changing), example_inputs = matrix(0, 1, 2))
  }
  result <- differ(list(c(1, 2), c(1, 5), c(1, 4.5)))
  expect_identical(result$max_diff, max(abs(result$output - result$eager_output)))
  expect_identical(result$max_diff, 0.5)
  expect_identical(differ(list(c(1, 2), c(NaN, 1), c(2, 1)))$max_diff, Inf)
  expect_identical(differ(list(c(1, 2), c(NaN, Inf), c(NaN, Inf)))$max_diff, 0)
  empty <- morie_geron_torch_compile(list(op("relu")), example_inputs = matrix(0, 0, 2))
  expect_identical(empty$max_diff, 0)
})

test_that("reduce-overhead gives the same bits call after call", {
  withr::local_seed(6)
  model <- c(
    random_chain(c(5, 40, 40)), list(bias(rnorm(40)), op("gelu")), random_chain(c(40, 3)),
    list(function(x) x - rowMeans(x), op("softmax"))
  )
  x <- random_matrix(50, 5)
  result <- morie_geron_torch_compile(model, "reduce-overhead", x)
  first <- morie_geron_run_graph(result$compiled, x)
  expect_identical(first, result$output)
  kept <- first + 0
  for (rows in c(50, 1, 200, 0, 50, 3, 50)) {
    new <- random_matrix(rows, 5)
    got <- morie_geron_run_graph(result$compiled, new)
    again <- morie_geron_run_graph(result$compiled, new)
    expect_bits(again, got)
    expect_close(got, morie_geron_run_graph(result$graph, new))
    expect_bits(morie_geron_run_graph(result$compiled, x), kept)
  }
  expect_bits(first, kept)
})

test_that("dropout outside training vanishes, and a run goes on through it", {
  w <- diag(2)
  model <- list(lin(w), op("dropout", p = 0.3), lin(w * 2), op("dropout"), op("relu"))
  x <- matrix(c(1, -2), 1)
  for (result in compile_all(model, x)) {
    expect_identical(node_kinds(result$compiled), c("linear", "relu"))
    expect_identical(fused_from(result$compiled), list(0:2, NULL))
    expect_identical(result$n_ops, 5L)
    expect_identical(result$output, matrix(c(2, 0), 1))
    expect_identical(result$flops_eager, 4 + 8)
  }
  alone <- morie_geron_torch_compile(list(op("dropout")), example_inputs = x)
  expect_identical(alone$output, x)
  # what is nothing but the identity stays, or any number of columns would do
  expect_identical(alone$n_compiled, 1L)
  expect_error(morie_geron_run_graph(alone$compiled, 1:4), class = "moriejit_shape_error")
  only_one <- morie_geron_torch_compile(list(op("dropout"), lin(w)), example_inputs = x)
  expect_null(only_one$compiled[[1]]$fused_from)
  expect_identical(only_one$compiled[[1]]$index, 0L)
  expect_identical(only_one$fused_runs, 0L)
})

test_that("dropout in training is a boundary", {
  w <- diag(2)
  model <- list(lin(w), lin(w), op("dropout", training = TRUE), lin(w), lin(w))
  result <- morie_geron_torch_compile(model, example_inputs = matrix(1, 1, 2))
  expect_identical(fused_from(result$compiled), list(0:1, NULL, 3:4))
  expect_identical(node_kinds(result$compiled), c("linear", "dropout", "linear"))
  expect_identical(result$compiled[[2]]$op, model[[3]])
})
