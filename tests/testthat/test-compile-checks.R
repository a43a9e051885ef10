# morie_geron_torch_compile(): fusions that the replay refuses, and random ops.

# Compiles, and gives the result with the warnings of refused runs.
compile_watched <- function(model, x, mode = "default") {
  warned <- list()
  result <- withCallingHandlers(
    morie_geron_torch_compile(model, mode, x),
    moriejit_fusion_rejected = function(cnd) {
      warned <<- c(warned, list(cnd))
      rlang::cnd_muffle(cnd)
    }
  )
  list(result = result, warned = warned)
}

expect_refusal <- function(model, x, ops = seq_along(model) - 1L) {
  for (mode in modes) {
    watched <- compile_watched(model, x, mode)
    expect_length(watched$warned, 1L)
    expect_identical(watched$warned[[1]]$ops, ops)
    expect_identical(watched$result$compiled, watched$result$graph)
    expect_identical(watched$result$fused_runs, 0L)
    expect_bits(watched$result$output, watched$result$eager_output)
    expect_identical(watched$result$max_diff, 0)
    expect_identical(watched$result$speedup, 1)
  }
}

test_that("a product that overflows is not used", {
  expect_refusal(list(lin(diag(2) * 1e200), lin(diag(2) * 1e200)), matrix(1e-300, 1, 2))
})

test_that("a product that underflows is not used", {
  expect_refusal(list(lin(diag(2) * 1e-200), lin(diag(2) * 1e-200)), matrix(1e300, 1, 2))
})

test_that("a product that loses digits to denormal numbers is not used", {
  expect_refusal(list(lin(matrix(pi * 1e-160)), lin(matrix(exp(1) * 1e-160))), matrix(1e300))
})

test_that("a product that makes NaN of infinities elsewhere is not used", {
  # Inf * 0 is NaN on the way: the second column would lose it
  expect_refusal(list(lin(diag(2)), lin(diag(2))), matrix(c(Inf, 1), 1))
})

test_that("a product is used where NaN and infinities come out the same", {
  for (x in list(matrix(c(NaN, 1, 2, 3), 2), matrix(c(NA, 1), 1), matrix(NaN, 2, 2))) {
    result <- morie_geron_torch_compile(list(lin(diag(2)), lin(diag(2))), example_inputs = x)
    expect_identical(result$n_compiled, 1L)
    expect_identical(result$max_diff, 0)
    expect_identical(is.na(result$output), is.na(x %*% diag(2)))
  }
  result <- morie_geron_torch_compile(
    list(lin(matrix(2)), lin(matrix(3))),
    example_inputs = matrix(c(Inf, -Inf, 1))
  )
  expect_identical(result$output, matrix(c(Inf, -Inf, 6)))
  expect_identical(result$n_compiled, 1L)
})

test_that("rounding is no reason to refuse, whatever cancels", {
  withr::local_seed(1)
  for (i in 1:50) {
    a <- random_matrix(5, 5) * 10^runif(25, -8, 8)
    b <- random_matrix(5, 5)
    model <- list(lin(a), lin(b), lin(solve(a, tol = 0)), lin(b[, 1:2]))
    expect_identical(compile_watched(model, random_matrix(3, 5))$warned, list())
  }
  cancelling <- list(lin(matrix(c(1, 1 + 1e-15, 1, -1), 2)), lin(matrix(c(1e8, -1e8, 3, 7), 2)))
  expect_identical(compile_watched(cancelling, matrix(c(1, -1), 1))$warned, list())
})

test_that("the other runs of a model still fuse", {
  small <- lin(diag(2) * 1e-200)
  w <- lin(diag(2) * 2)
  model <- list(w, w, op("relu"), small, small, bias(1), w, w, w)
  watched <- compile_watched(model, matrix(1e300, 1, 2))
  expect_length(watched$warned, 1L)
  expect_identical(watched$warned[[1]]$ops, 3:4)
  expect_identical(
    fused_from(watched$result$compiled), list(0:1, NULL, NULL, NULL, NULL, 6:8)
  )
  expect_identical(watched$result$fused_runs, 2L)
  expect_close(watched$result$output, plain_run(model, matrix(1e300, 1, 2)))
  expect_identical(watched$result$flops_eager, (4 + 8) + 4 + 4 + (4 + 8 + 8))
  expect_identical(watched$result$flops_compiled, 4 + 4 + 4 + 4)
})

test_that("each refused run has its warning", {
  small <- lin(matrix(1e-200))
  model <- list(small, small, op("relu"), bias(1e300), small, small, small)
  watched <- compile_watched(model, matrix(1e300))
  expect_identical(lapply(watched$warned, function(cnd) cnd$ops), list(0:1, 4:6))
})

test_that("the warning says which ops and why", {
  expect_snapshot({
    invisible(morie_geron_torch_compile(
      list(op("relu"), lin(matrix(1e200)), lin(matrix(1e200)), lin(matrix(0.5))),
      example_inputs = matrix(1e-300)
    ))
    invisible(morie_geron_torch_compile(
      list(lin(matrix(1e-200)), op("dropout"), lin(matrix(1e-200))),
      example_inputs = matrix(1e308)
    ))
  })
  expect_warning(
    morie_geron_torch_compile(
      list(lin(matrix(1e200)), lin(matrix(1e200))),
      example_inputs = matrix(1e-300)
    ),
    class = "moriejit_fusion_rejected"
  )
})

test_that("a product that overflows or vanishes is refused whatever the example is like", {
  huge <- lin(diag(1e200, 2))
  tiny <- lin(diag(1e-200, 2))
  back <- lin(diag(1e300, 2))
  for (x in list(matrix(1, 1, 2), matrix(0, 3, 2), matrix(0, 0, 2), matrix(1e-200, 1, 2))) {
    for (model in list(list(huge, huge), list(tiny, tiny), list(tiny, tiny, back))) {
      watched <- compile_watched(model, x)
      expect_length(watched$warned, 1L)
      expect_identical(watched$result$n_compiled, length(model))
    }
    zeros <- list(lin(diag(c(1, 0))), lin(diag(c(1, 1e-200))))
    expect_identical(compile_watched(zeros, x)$warned, list())
  }
})

test_that("a run whose product would be too large stays, and says so", {
  long <- lin(matrix(1, 1, 20000))
  model <- list(lin(matrix(1, 20000, 1)), long, op("relu"))
  watched <- compile_watched(model, matrix(1, 1, 20000))
  expect_length(watched$warned, 1L)
  expect_match(conditionMessage(watched$warned[[1]]), "400000000 numbers", fixed = TRUE)
  expect_identical(watched$result$n_compiled, 3L)
})

test_that("training dropout keeps a share and scales it up", {
  withr::local_seed(2)
  n <- 40000
  x <- matrix(3, n / 4, 4)
  for (p in c(0.1, 0.5, 0.8)) {
    model <- list(op("dropout", p = p, training = TRUE))
    output <- morie_geron_torch_compile(model, example_inputs = x)$output
    expect_setequal(unique(c(output)), c(0, 3 / (1 - p)))
    sd_of_mean <- 3 * sqrt(p / (1 - p) / n)
    expect_lt(abs(mean(output) - 3), 5 * sd_of_mean)
    expect_equal(var(c(output)), 9 * p / (1 - p), tolerance = 0.1)
    # no column, and no row after another, depends on the rest
    expect_lt(abs(cor(output[, 1], output[, 2])), 0.05)
    expect_lt(abs(cor(output[-1, 1], output[-nrow(output), 1])), 0.05)
    runif(1)
  }
})

test_that("p of 0 and 1 are the ends of dropout", {
  x <- matrix(c(1, -2, 3, 4), 2)
  run <- function(p) morie_geron_trace(list(op("dropout", p = p, training = TRUE)), x)$output
  expect_identical(run(0), x)
  expect_identical(run(1), matrix(0, 2, 2))
})

test_that("training dropout follows the seed, and each run draws anew", {
  graph <- morie_geron_trace(list(op("dropout", training = TRUE)), matrix(1, 4, 5))$graph
  x <- matrix(1, 4, 5)
  withr::local_seed(3)
  first <- morie_geron_run_graph(graph, x)
  second <- morie_geron_run_graph(graph, x)
  expect_false(identical(first, second))
  set.seed(3)
  expect_identical(morie_geron_run_graph(graph, x), first)
  expect_identical(morie_geron_run_graph(graph, x), second)
  set.seed(3)
  expect_identical(first, ifelse(matrix(runif(20), 4) < 0.5, 0, 2))
})

test_that("compiling draws nothing, and both its runs see the same draws", {
  model <- list(
    op("dropout", training = TRUE), lin(diag(3)), lin(diag(3)),
    function(x) x + rnorm(length(x)), op("dropout", p = 0.2, training = TRUE)
  )
  x <- matrix(1, 6, 3)
  withr::local_seed(4)
  before <- .Random.seed
  first <- morie_geron_torch_compile(model, example_inputs = x)
  second <- morie_geron_torch_compile(model, example_inputs = x)
  expect_identical(.Random.seed, before)
  expect_identical(second, first)
  expect_identical(first$max_diff, 0)
  expect_bits(first$output, first$eager_output)
  expect_identical(morie_geron_run_graph(first$compiled, x), first$output)
  set.seed(4)
  expect_identical(morie_geron_run_graph(first$graph, x), first$output)
})

test_that("compiling leaves no seed where there was none", {
  withr::local_preserve_seed()
  x <- matrix(1, 2, 2)
  for (model in list(list(op("dropout", training = TRUE)), list(function(x) x + runif(4)),
                     list(op("relu")))) {
    suppressWarnings(rm(".Random.seed", envir = globalenv()))
    morie_geron_torch_compile(model, example_inputs = x)
    expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
    morie_geron_torchscript(model, x)
    expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
  }
})

test_that("compiling keeps the kind of generator", {
  withr::local_seed(5, .rng_kind = "Wichmann-Hill")
  before <- .Random.seed
  morie_geron_torch_compile(list(op("dropout", training = TRUE)), example_inputs = matrix(1, 2, 2))
  expect_identical(.Random.seed, before)
  expect_identical(RNGkind()[[1]], "Wichmann-Hill")
})

test_that("callables are called in order, once a run", {
  calls <- character()
  note <- function(name) {
    force(name)
    function(x) {
      calls <<- c(calls, name)
      x + 1
    }
  }
  model <- list(note("a"), lin(diag(2)), note("b"), lin(diag(2)), lin(diag(2)), note("c"))
  x <- matrix(0, 1, 2)
  morie_geron_trace(model, x)
  expect_identical(calls, c("a", "b", "c"))
  calls <- character()
  result <- morie_geron_torch_compile(model, example_inputs = x)
  # capture, eager run, compiled run
  expect_identical(calls, rep(c("a", "b", "c"), 3))
  calls <- character()
  morie_geron_run_graph(result$compiled, x)
  expect_identical(calls, c("a", "b", "c"))
})

test_that("inputs and params are not modified by compiling", {
  w <- matrix(c(1, 2, 3, 4), 2)
  x <- matrix(c(-1, 2), 1)
  model <- list(op("relu"), lin(w), lin(w), bias(c(1, 2)), op("relu"))
  for (result in compile_all(model, x)) {
    morie_geron_run_graph(result$compiled, x * 3)
    morie_geron_backward(result$compiled, x)
  }
  expect_identical(w, matrix(c(1, 2, 3, 4), 2))
  expect_identical(x, matrix(c(-1, 2), 1))
})
