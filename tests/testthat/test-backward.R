# morie_geron_backward(): shapes, defaults, compiled graphs, callables.

graph_of <- function(model, x) morie_geron_trace(model, x)$graph

test_that("gradients of a small net are those by hand", {
  w1 <- matrix(c(1, -1, 2, 0.5), 2)
  w2 <- matrix(c(0.3, -0.7), 2)
  model <- list(lin(w1), bias(c(0.1, -0.2)), op("tanh"), lin(w2), bias(0.5))
  x <- matrix(c(0.2, -0.4, 0.6, 0.1, 0.3, -0.5), 3)
  back <- morie_geron_backward(graph_of(model, x), x)
  expect_named(back, c("output", "grad_input", "grad_params"))
  hidden <- tanh(sweep(x %*% w1, 2, c(0.1, -0.2), "+"))
  ones <- matrix(1, 3, 1)
  before <- (ones %*% t(w2)) * (1 - hidden^2)
  expect_close(back$output, hidden %*% w2 + 0.5)
  expect_close(back$grad_input, before %*% t(w1))
  expect_length(back$grad_params, 5L)
  expect_close(back$grad_params[[1]], t(x) %*% before)
  expect_equal(back$grad_params[[2]], colSums(before))
  expect_null(back$grad_params[[3]])
  expect_close(back$grad_params[[4]], t(hidden) %*% ones)
  expect_equal(back$grad_params[[5]], 3)
})

test_that("grad_output weighs the output, and is ones by default", {
  withr::local_seed(1)
  x <- random_matrix(3, 2)
  graph <- graph_of(list(lin(random_matrix(2, 2)), op("sigmoid")), x)
  back <- morie_geron_backward(graph, x)
  expect_identical(morie_geron_backward(graph, x, matrix(1, 3, 2)), back)
  expect_identical(morie_geron_backward(graph, x, matrix(1L, 3, 2)), back)
  one <- matrix(0, 3, 2)
  one[2, 1] <- 5
  weighed <- morie_geron_backward(graph, x, one)
  expect_identical(weighed$output, back$output)
  expect_identical(weighed$grad_input[c(1, 3), ], matrix(0, 2, 2))
  expect_true(all(weighed$grad_input[2, ] != 0))
  expect_identical(weighed$grad_params[[1]][, 2], c(0, 0))
})

test_that("a gradient has the shape and the names of the param as given", {
  x <- matrix(c(1, 2), 1)
  params <- list(
    bias(c(1, 2)), bias(c(a = 1, b = 2)), bias(matrix(c(1, 2), 1)), bias(matrix(c(1, 2), 2)),
    bias(3), bias(c(z = 3)), bias(matrix(3)), bias(1:2), bias(array(c(1, 2), 2)),
    lin(c(1, 2)), lin(c(u = 1, v = 2)), lin(matrix(1:4, 2)),
    lin(matrix(1, 2, 2, dimnames = list(c("a", "b"), c("c", "d")))),
    op("scale", param = c(a = 1, b = 2)), op("scale", param = 2)
  )
  for (given in params) {
    gradient <- morie_geron_backward(graph_of(list(given), x), x)$grad_params[[1]]
    expect_identical(attributes(gradient), attributes(given$param))
    expect_identical(typeof(gradient), "double")
    expect_length(gradient, length(given$param))
  }
  expect_identical(morie_geron_backward(graph_of(list(bias(3)), x), x)$grad_params, list(2))
  ones <- matrix(1, 1, 1)
  expect_identical(
    morie_geron_backward(graph_of(list(lin(matrix(4))), ones), ones)$grad_params, list(ones)
  )
})

test_that("the input's gradient has the names of the input", {
  x <- matrix(1, 2, 2, dimnames = list(c("a", "b"), c("c", "d")))
  model <- list(lin(matrix(1, 2, 3, dimnames = list(NULL, c("u", "v", "w")))))
  back <- morie_geron_backward(graph_of(model, x), x)
  expect_identical(dimnames(back$grad_input), dimnames(x))
  expect_identical(dimnames(back$output), list(c("a", "b"), c("u", "v", "w")))
  frame <- morie_geron_backward(graph_of(model, x), data.frame(c = 1:2, d = 3:4))
  expect_identical(dimnames(frame$grad_input), list(NULL, c("c", "d")))
})

test_that("norms give a list of the gradients of the fields that were given", {
  withr::local_seed(2)
  x <- random_matrix(4, 3)
  grads <- function(...) morie_geron_backward(graph_of(list(op(...)), x), x)$grad_params
  expect_identical(grads("layer_norm"), list(NULL))
  expect_named(grads("layer_norm", weight = c(1, 2, 3))[[1]], "weight")
  both <- grads("layer_norm", bias = c(a = 1, b = 2, c = 3), weight = matrix(1, 1, 3))[[1]]
  expect_setequal(names(both), c("weight", "bias"))
  expect_identical(both$bias, c(a = 4, b = 4, c = 4))
  expect_identical(dim(both$weight), c(1L, 3L))
  scalars <- grads("batch_norm", mean = 0, var = 1, weight = 2)[[1]]
  expect_setequal(names(scalars), c("mean", "var", "weight"))
  expect_identical(lengths(scalars), c(mean = 1L, var = 1L, weight = 1L))
  expect_equal(scalars$mean, -12 * 2 / sqrt(1 + 1e-5))
  expect_equal(scalars$weight, sum(x) / sqrt(1 + 1e-5))
})

test_that("nodes without a param have NULL", {
  x <- matrix(1, 2, 2)
  model <- list(op("relu"), op("dropout"), op("elu", alpha = 2), op("softmax"))
  expect_identical(
    morie_geron_backward(graph_of(model, x), x)$grad_params, list(NULL, NULL, NULL, NULL)
  )
  empty <- morie_geron_backward(list(), x, x * 3)
  expect_identical(empty, list(output = x, grad_input = x * 3, grad_params = list()))
  expect_identical(morie_geron_backward(list(), x * 7)$grad_input, x)
})

test_that("compiled graphs have gradients, the fused product its own", {
  withr::local_seed(3)
  model <- c(random_chain(c(3, 5, 2)), list(bias(c(1, 2)), op("sigmoid")), random_chain(c(2, 4, 1)))
  x <- random_matrix(6, 3)
  for (result in compile_all(model, x)) {
    eager <- morie_geron_backward(result$graph, x)
    compiled <- morie_geron_backward(result$compiled, x)
    expect_close(compiled$grad_input, eager$grad_input)
    expect_close(compiled$output, eager$output)
    expect_length(compiled$grad_params, length(result$compiled))
    for (k in seq_along(result$compiled)) {
      expect_identical(
        dim(compiled$grad_params[[k]]), dim(result$compiled[[k]]$op$param)
      )
    }
  }
  fused <- morie_geron_torch_compile(random_chain(c(3, 5, 2)), example_inputs = x)$compiled
  dy <- random_matrix(6, 2)
  expect_close(morie_geron_backward(fused, x, dy)$grad_params[[1]], t(x) %*% dy)
})

test_that("one op used twice has a gradient for each use", {
  shared <- lin(matrix(c(1, 2, 3, 4), 2))
  x <- matrix(c(1, -1), 1)
  back <- morie_geron_backward(graph_of(list(shared, shared), x), x)
  w <- shared$param
  dy <- matrix(1, 1, 2)
  expect_equal(back$grad_params[[2]], t(x %*% w) %*% dy)
  expect_equal(back$grad_params[[1]], t(x) %*% (dy %*% t(w)))
})

test_that("callables give their own gradient, in either form", {
  square <- function(x) x^2
  gradient <- function(x, dy) 2 * x * dy
  carrying <- structure(square, grad = gradient)
  x <- matrix(c(1, -2, 3, 0.5), 2)
  w <- diag(2) * 3
  for (form in list(op("callable", param = square, grad = gradient), carrying)) {
    model <- list(lin(w), form, bias(c(1, 2)))
    back <- morie_geron_backward(graph_of(model, x), x)
    expect_equal(back$grad_input, 2 * (x * 3) * 3)
    expect_equal(back$grad_params[[1]], t(x) %*% (2 * x * 3))
    expect_null(back$grad_params[[2]])
    expect_equal(back$output, (3 * x)^2 + rep(c(1, 2), each = 2))
    expect_equal(morie_geron_trace(model, x)$output, back$output)
    compiled <- morie_geron_torch_compile(model, example_inputs = x)$compiled
    expect_equal(morie_geron_backward(compiled, x)$grad_input, back$grad_input)
  }
})

test_that("a callable's gradient sees x and dy as matrices", {
  seen <- NULL
  form <- op("callable", param = function(x) x %*% c(1, 2), grad = function(x, dy) {
    seen <<- list(x = x, dy = dy)
    dy %*% t(c(1, 2))
  })
  x <- matrix(c(1, 2, 3, 4, 5, 6), 3)
  dy <- matrix(c(7, 8, 9))
  back <- morie_geron_backward(graph_of(list(form), x), x, dy)
  expect_identical(seen, list(x = x, dy = dy))
  expect_identical(back$grad_input, dy %*% t(c(1, 2)))
})

test_that("a callable without a gradient is an error only where it is needed", {
  x <- matrix(1, 1, 2)
  graph <- graph_of(list(op("relu"), function(x) x), x)
  expect_refused(morie_geron_backward(graph, x), "unsupported", 1L, "callable")
  expect_identical(morie_geron_run_graph(graph, x), x)
})

test_that("a callable's gradient of another shape, or of no number, is an error", {
  x <- matrix(1, 2, 2)
  wrong <- list(
    function(x, dy) dy[1, , drop = FALSE], function(x, dy) cbind(dy, dy), function(x, dy) c(dy),
    function(x, dy) NULL, function(x, dy) matrix("a", 2, 2), function(x, dy) stop("no gradient"),
    function(x) x
  )
  for (grad in wrong) {
    graph <- graph_of(list(bias(1), op("callable", param = identity, grad = grad)), x)
    cnd <- expect_error(morie_geron_backward(graph, x), class = "moriejit_error")
    expect_identical(cnd$op_index, 1L)
    expect_identical(cnd$op_kind, "callable")
  }
  graph <- graph_of(list(op("callable", param = identity, grad = wrong[[1]])), x)
  expect_snapshot(error = TRUE, morie_geron_backward(graph, x))
})

test_that("grad_output of another shape is an error", {
  x <- matrix(1, 3, 2)
  graph <- graph_of(list(lin(diag(2)), op("relu")), x)
  for (dy in list(matrix(1, 2, 2), matrix(1, 3, 1), 1, matrix(1, 2, 3), matrix(1, 0, 2))) {
    expect_error(morie_geron_backward(graph, x, dy), class = "moriejit_shape_error")
    expect_error(morie_geron_backward(list(), x, dy), class = "moriejit_shape_error")
  }
  expect_refused(morie_geron_backward(graph, x, matrix(1, 2, 2)), "shape")
  expect_refused(morie_geron_backward(graph, x, "a"), "input")
  expect_refused(morie_geron_backward(graph, matrix(1, 3, 3)), "shape")
})

test_that("training dropout draws once, for both directions", {
  model <- list(bias(2), op("dropout", p = 0.4, training = TRUE))
  x <- matrix(1, 30, 20)
  graph <- graph_of(model, x)
  withr::local_seed(4)
  back <- morie_geron_backward(graph, x)
  expect_equal(back$output, 3 * back$grad_input)
  expect_setequal(unique(c(back$grad_input)), c(0, 1 / 0.6))
  after <- .Random.seed
  set.seed(4)
  expect_identical(morie_geron_run_graph(graph, x), back$output)
  expect_identical(.Random.seed, after)
  set.seed(4)
  expect_identical(morie_geron_backward(graph, x), back)
})

all_kinds_model <- function() {
  list(
    lin(matrix(c(1, -0.5, 0.25, 2, 0.3, -1), 2)), bias(c(0.1, 0.2, 0.3)), op("gelu"),
    op("layer_norm", weight = c(1, 2, 3), bias = 0.5), op("scale", param = c(1, -1, 2)),
    op("batch_norm", mean = 0.1, var = c(1, 2, 3), weight = 2), op("elu"), op("scale", param = 3),
    op("callable", param = function(x) x^2, grad = function(x, dy) 2 * x * dy), op("softmax")
  )
}

test_that("gradients are right for other rows than were traced", {
  withr::local_seed(5)
  model <- all_kinds_model()
  for (traced_rows in c(0, 1, 4)) {
    graph <- graph_of(model, random_matrix(traced_rows, 2))
    for (rows in c(1, 5, 0, 4)) {
      x <- random_matrix(rows, 2)
      dy <- random_matrix(rows, 3)
      back <- morie_geron_backward(graph, x, dy)
      fresh <- morie_geron_backward(graph_of(model, x), x, dy)
      expect_identical(back, fresh)
      # the sum over rows of each row's own gradient
      by_row <- lapply(seq_len(rows), function(i) {
        morie_geron_backward(graph, x[i, , drop = FALSE], dy[i, , drop = FALSE])
      })
      rows_together <- do.call(rbind, c(list(matrix(0, 0, 2)), lapply(by_row, `[[`, "grad_input")))
      expect_close(back$grad_input, rows_together)
      for (k in c(1, 2, 5, 8)) {
        parts <- lapply(by_row, function(one) one$grad_params[[k]])
        expect_equal(back$grad_params[[k]], Reduce(`+`, parts, model[[k]]$param * 0))
      }
      expect_identical(dim(morie_geron_backward(graph, x)$grad_input), dim(x))
    }
  }
})

test_that("ten passes through one graph agree", {
  withr::local_seed(6)
  x <- random_matrix(5, 2)
  graph <- graph_of(all_kinds_model(), x)
  first <- morie_geron_backward(graph, x)
  for (i in 1:10) {
    expect_identical(morie_geron_backward(graph, x), first)
    expect_identical(morie_geron_run_graph(graph, x), first$output)
  }
})

test_that("a thousand ops have gradients", {
  turn <- matrix(c(cos(0.1), sin(0.1), -sin(0.1), cos(0.1)), 2)
  x <- matrix(c(1, 0), 1)
  back <- morie_geron_backward(graph_of(rep(list(lin(turn), bias(0)), 1000), x), x)
  all_turns <- matrix(c(cos(100), sin(100), -sin(100), cos(100)), 2)
  expect_equal(back$grad_input, matrix(1, 1, 2) %*% t(all_turns))
  expect_length(back$grad_params, 2000L)
})
