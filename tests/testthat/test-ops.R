# Every kind that jit_ops() lists, against plain R and against finite differences.

by_column <- function(v, x) matrix(rep_len(v, ncol(x)), nrow(x), ncol(x), byrow = TRUE)

norm_rows <- function(x, op) {
  d <- x - rowMeans(x)
  z <- d / sqrt(rowMeans(d^2) + 1e-5)
  z * by_column(op$weight, x) + by_column(op$bias, x)
}

norm_columns <- function(x, op) {
  z <- (x - by_column(op$mean, x)) / by_column(sqrt(op$var + 1e-5), x)
  z * by_column(op$weight, x) + by_column(op$bias, x)
}

elementwise_case <- function(kind, formula, ...) {
  op <- op(kind, ...)
  list(make = function(cols) op, formula = function(x, op) formula(x))
}

log_sum <- function(x) apply(x, 1, max) + log(rowSums(exp(x - apply(x, 1, max))))

# For each kind: an op for so many columns, and what it is in plain R.
cases <- list(
  linear = list(
    make = function(cols) lin(random_matrix(cols, 3)),
    formula = function(x, op) x %*% op$param
  ),
  bias = list(
    make = function(cols) bias(rnorm(cols)),
    formula = function(x, op) x + by_column(op$param, x)
  ),
  scale = list(
    make = function(cols) op("scale", param = rnorm(cols)),
    formula = function(x, op) x * by_column(op$param, x)
  ),
  relu = elementwise_case("relu", function(x) replace(x, which(x < 0), 0)),
  tanh = elementwise_case("tanh", tanh),
  sigmoid = elementwise_case("sigmoid", plogis),
  softplus = elementwise_case("softplus", function(x) pmax(x, 0) + log1p(exp(-abs(x)))),
  exp = elementwise_case("exp", exp),
  pnorm = elementwise_case("pnorm", pnorm),
  silu = elementwise_case("silu", function(x) x * plogis(x)),
  gelu = elementwise_case("gelu", function(x) x * pnorm(x)),
  elu = elementwise_case("elu", function(x) pmax(x, 0) + 1.5 * expm1(pmin(x, 0)), alpha = 1.5),
  leaky_relu = elementwise_case(
    "leaky_relu", function(x) x * ifelse(is.na(x) | x >= 0, 1, 0.2),
    negative_slope = 0.2
  ),
  dropout = elementwise_case("dropout", identity, p = 0.3),
  softmax = list(
    make = function(cols) op("softmax"),
    formula = function(x, op) exp(x - log_sum(x))
  ),
  log_softmax = list(
    make = function(cols) op("log_softmax"),
    formula = function(x, op) x - log_sum(x)
  ),
  layer_norm = list(
    make = function(cols) op("layer_norm", weight = rnorm(cols), bias = rnorm(cols)),
    formula = norm_rows
  ),
  batch_norm = list(
    make = function(cols) {
      op(
        "batch_norm",
        mean = rnorm(cols), var = rexp(cols) + 0.1, weight = rnorm(cols), bias = rnorm(cols)
      )
    },
    formula = norm_columns
  ),
  callable = list(
    make = function(cols) {
      op("callable",
        param = function(x) x^2 + tanh(x),
        grad = function(x, dy) dy * (2 * x + 1 - tanh(x)^2)
      )
    },
    formula = function(x, op) x^2 + tanh(x)
  )
)

# The central difference, extrapolated once (Richardson).
difference <- function(f, v) {
  slope <- function(i, h) {
    step <- replace(numeric(length(v)), i, h)
    (f(v + step) - f(v - step)) / (2 * h)
  }
  vapply(seq_along(v), function(i) {
    h <- 5e-4 * max(1, abs(v[[i]]))
    (4 * slope(i, h / 2) - slope(i, h)) / 3
  }, 0)
}

# Numbers away from the kinks at 0.
ordinary_matrix <- function(rows, cols) {
  matrix(sample(c(-1, 1), rows * cols, TRUE) * runif(rows * cols, 0.2, 2.5), rows, cols)
}

fields_of <- function(op) setdiff(names(op), c("kind", "grad", "alpha", "negative_slope", "p"))

expect_gradients <- function(case, rows, cols) {
  op <- case$make(cols)
  x <- ordinary_matrix(rows, cols)
  graph <- trace_one(op, x)$graph
  dy <- random_matrix(rows, ncol(case$formula(x, op)))
  back <- morie_geron_backward(graph, x, dy)
  total <- function(x, op) sum(dy * case$formula(x, op))
  by_x <- difference(function(v) total(matrix(v, rows, cols), op), c(x))
  expect_close(back$grad_input, matrix(by_x, rows, cols), 1e-8)
  expect_close(back$output, case$formula(x, op))
  fields <- if (op$kind == "callable") character() else fields_of(op)
  for (field in fields) {
    got <- back$grad_params[[1]]
    if (is.list(got)) got <- got[[field]]
    by_field <- difference(function(v) {
      op[[field]][] <- v
      total(x, op)
    }, c(op[[field]]))
    expect_close(c(got), by_field, 1e-7)
  }
  if (length(fields) == 0L) expect_null(back$grad_params[[1]])
}

test_that("every kind has a case here", {
  kinds <- jit_ops()$kind
  expect_setequal(names(cases), kinds[!is.na(kinds)])
})

for (kind in names(cases)) {
  test_that(paste("values of", kind, "are those of plain R"), {
    withr::local_seed(1)
    for (dims in list(c(5, 4), c(1, 4), c(5, 1), c(1, 1), c(70, 3), c(130, 2))) {
      op <- cases[[kind]]$make(dims[[2]])
      x <- random_matrix(dims[[1]], dims[[2]]) * 3
      traced <- trace_one(op, x)
      expect_close(traced$output, cases[[kind]]$formula(x, op))
      expect_identical(morie_geron_run_graph(traced$graph, x), traced$output)
    }
  })

  test_that(paste("extreme values of", kind, "are those of plain R"), {
    withr::local_seed(2)
    extreme <- c(1e3, -1e3, Inf, -Inf, NaN, NA, -0, 0, 5e-324, -5e-324, 36, -36, -10, 709, -745)
    x <- random_matrix(length(extreme), 3)
    x[, 2] <- extreme
    x <- rbind(x, 1e3, -1e3, 0)
    op <- cases[[kind]]$make(3)
    got <- trace_one(op, x)$output
    expected <- cases[[kind]]$formula(x, op)
    by_element <- jit_ops()$elementwise[match(kind, jit_ops()$kind)]
    if (by_element) {
      # each element by itself, to the last digits however small, NA apart from NaN
      expect_close(got, expected, 1e-11, floor = 1e-300)
      expect_identical(is.nan(got), is.nan(expected))
      zero <- which(expected == 0)
      expect_identical(1 / got[zero], 1 / expected[zero])
    } else {
      expect_close(got, expected, 1e-11)
    }
  })

  test_that(paste("gradients of", kind, "are those of finite differences"), {
    withr::local_seed(3)
    for (dims in list(c(3, 4), c(1, 4), c(4, 1), c(1, 1), c(66, 5))) {
      expect_gradients(cases[[kind]], dims[[1]], dims[[2]])
    }
  })
}

test_that("values that other compilers got wrong", {
  run <- function(kind, x, ...) trace_one(op(kind, ...), x)$output
  expect_equal(c(run("gelu", -10)), -7.61985302416053e-23, tolerance = 1e-13)
  expect_bits(run("relu", c(NaN, NA, -1, -0)), matrix(c(NaN, NA, 0, -0)))
  expect_identical(run("sigmoid", c(-1e3, 1e3, -Inf, Inf)), matrix(c(0, 1, 0, 1)))
  expect_identical(run("softmax", matrix(c(1000, 1000), 1)), matrix(0.5, 1, 2))
  expect_identical(run("softmax", matrix(c(-1000, 0), 1)), matrix(c(0, 1), 1))
  expect_equal(run("log_softmax", matrix(c(1000, 1000), 1)), matrix(-log(2), 1, 2))
  expect_identical(run("log_softmax", matrix(c(-1000, 0), 1)), matrix(c(-1000, 0), 1))
  expect_identical(run("layer_norm", c(3, -1e10, 1e-300)), matrix(0, 3, 1))
  expect_identical(run("softplus", c(-800, 800)), matrix(c(0, 800)))
  expect_identical(run("elu", c(800, -800)), matrix(c(800, -1)))
  far <- run("layer_norm", matrix(1e8 + c(0, 1, 2), 1), eps = 0)
  expect_equal(far, matrix(c(-1, 0, 1) * sqrt(1.5), 1))
})

test_that("the gradient of sigmoid is the density, where 1 - y is 0 too", {
  x <- c(-700, -40, -1, 0, 1, 40, 700, 1e3, -1e3)
  graph <- trace_one(op("sigmoid"), x)$graph
  expect_close(
    morie_geron_backward(graph, x)$grad_input, matrix(dlogis(x)), 1e-12,
    floor = 1e-300
  )
})

test_that("gradients are finite where the values are", {
  x <- c(-1e3, -40, 0, 40, 1e3)
  for (kind in c("tanh", "sigmoid", "softplus", "silu", "gelu", "pnorm", "elu", "relu",
                 "leaky_relu")) {
    gradient <- morie_geron_backward(trace_one(op(kind), x)$graph, x)$grad_input
    expect_true(all(is.finite(gradient)), info = kind)
  }
  wide <- matrix(c(1000, -1000, 0, 1000, 1000, 5), 2)
  for (kind in c("softmax", "log_softmax", "layer_norm")) {
    back <- morie_geron_backward(trace_one(op(kind), wide)$graph, wide, wide / 1000)
    expect_true(all(is.finite(back$grad_input)), info = kind)
  }
  steady <- matrix(4, 2, 3)
  gradient <- morie_geron_backward(trace_one(op("layer_norm"), steady)$graph, steady)$grad_input
  expect_identical(gradient, matrix(0, 2, 3))
})

test_that("the conventions at kinks are the documented ones", {
  slope <- function(x, ...) c(morie_geron_backward(trace_one(op(...), x)$graph, x)$grad_input)
  expect_identical(slope(c(0, -0, 1, -1), "relu"), c(0, 0, 1, 0))
  expect_identical(slope(c(0, -0, 1, -1), "leaky_relu", negative_slope = 0.3), c(0.3, 0.3, 1, 0.3))
  expect_identical(slope(c(0, -0, 1), "elu", alpha = 2), c(2, 2, 1))
})

test_that("NaN and NA reach the gradient of what depends on them, and no other", {
  x <- matrix(c(NaN, 1, NA, 2), 2)
  kinks <- c("relu", "leaky_relu", "elu", "tanh", "sigmoid", "softplus", "silu", "gelu", "exp")
  for (kind in kinks) {
    gradient <- morie_geron_backward(trace_one(op(kind), x)$graph, x)$grad_input
    expect_identical(is.na(gradient), is.na(x), info = kind)
  }
  for (kind in c("softmax", "log_softmax", "layer_norm")) {
    back <- morie_geron_backward(trace_one(op(kind), x)$graph, x, matrix(c(1, 2, 3, 4), 2))
    expect_identical(is.na(back$grad_input), matrix(c(TRUE, FALSE), 2, 2), info = kind)
  }
})

test_that("what a rectifier does not select never reaches the gradient", {
  for (bad in c(Inf, -Inf, NaN)) {
    graph <- trace_one(op("relu"), c(-1, 2))$graph
    got <- morie_geron_backward(graph, c(-1, 2), matrix(c(bad, 1)))$grad_input
    expect_identical(got, matrix(c(0, 1)))
  }
  infinite <- morie_geron_backward(trace_one(op("relu"), c(-Inf, Inf))$graph, c(-Inf, Inf))
  expect_identical(infinite$grad_input, matrix(c(0, 1)))
  # exp(800) is infinite on the side of elu that is not taken
  expect_identical(
    morie_geron_backward(trace_one(op("elu"), 800)$graph, 800)$grad_input, matrix(1)
  )
})

test_that("one value stands for all columns, and a left out field for its default", {
  withr::local_seed(4)
  x <- random_matrix(5, 3)
  expect_identical(trace_one(bias(2), x)$output, x + 2)
  expect_identical(trace_one(op("scale", param = 2), x)$output, x * 2)
  full <- op("layer_norm", weight = rep(2, 3), bias = rep(1, 3))
  expect_close(trace_one(op("layer_norm", weight = 2, bias = 1), x)$output, norm_rows(x, full))
  plain <- op("layer_norm", weight = rep(1, 3), bias = rep(0, 3))
  expect_close(trace_one(op("layer_norm"), x)$output, norm_rows(x, plain))
  expect_close(
    trace_one(op("batch_norm", mean = 1, var = 4, eps = 0), x)$output, (x - 1) / 2
  )
  absent <- op("layer_norm", weight = NULL, bias = NULL)
  expect_close(trace_one(absent, x)$output, norm_rows(x, plain))
  column <- matrix(c(1, 2, 3))
  expect_identical(trace_one(bias(column), x)$output, trace_one(bias(t(column)), x)$output)
  expect_close(trace_one(bias(column), x)$output, x + by_column(c(column), x))
})

test_that("a bias is added along the columns, in the square case too", {
  expect_identical(
    trace_one(bias(c(10, 20)), matrix(0, 2, 2))$output, matrix(c(10, 10, 20, 20), 2)
  )
  expect_identical(
    trace_one(op("scale", param = c(10, 20)), matrix(1, 2, 2))$output, matrix(c(10, 10, 20, 20), 2)
  )
})

test_that("the table of ops is complete", {
  ops <- jit_ops()
  expect_named(ops, c(
    "name", "kind", "fields", "attributes", "operands", "elementwise", "random", "derivative",
    "description"
  ))
  expect_identical(anyDuplicated(ops$name), 0L)
  expect_identical(anyDuplicated(ops$kind[!is.na(ops$kind)]), 0L)
  expect_true(all(nzchar(ops$description)))
  expect_true(all(nzchar(ops$derivative)))
  expect_true(all(grepl("[.]$", ops$description)))
  published <- c("linear", "bias", "relu", "tanh", "sigmoid", "callable")
  expect_identical(setdiff(published, ops$kind), character())
  expect_setequal(ops$name[ops$random], c("uniform_like", "random_call"))
})

test_that("every record has its parts", {
  for (record in moriejit:::ops_impl()) {
    # The caller states what the host's functions give; control flow is run by what runs the graph.
    by_host <- record$name %in% c("callback", "callback_vjp", "host", "random_call")
    control <- record$name %in% c("if", "while", "result")
    expect_identical(record$has_shape, !by_host && record$name != "result", info = record$name)
    expect_identical(record$has_eval, !by_host && !control, info = record$name)
    expect_true(record$has_cost, info = record$name)
    expect_identical(nzchar(record$no_derivative), !record$derivative, info = record$name)
  }
})

test_that("the fields of the table are those that an op takes", {
  ops <- jit_ops()
  for (kind in setdiff(names(cases), "callable")) {
    row <- ops[match(kind, ops$kind), ]
    stated <- unlist(strsplit(c(row$fields, row$attributes), ", "))
    stated <- sub("[?=].*", "", stated)
    expect_identical(setdiff(fields_of(cases[[kind]]$make(2)), stated), character(), info = kind)
    given <- c(list(kind = kind), cases[[kind]]$make(2)[-1], list(surplus = 1))
    expect_error(trace_one(given, matrix(1, 1, 2)), class = "moriejit_param_error", info = kind)
  }
})
