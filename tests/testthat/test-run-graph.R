# morie_geron_run_graph(): the same graph on other inputs, in other sessions, and the cache of
# programs behind it.

small_model <- function() {
  list(lin(matrix(c(1, -1, 2, 0.5), 2)), bias(c(0.5, -0.5)), op("relu"), lin(c(1, 2)))
}

test_that("the number of rows may differ", {
  withr::local_seed(1)
  model <- c(small_model(), list(function(x) x + nrow(x)), list(bias(1)))
  for (traced_rows in c(0, 1, 3)) {
    x <- random_matrix(traced_rows, 2)
    traced <- morie_geron_trace(model, x)
    compiled <- morie_geron_torch_compile(model, "reduce-overhead", x)
    for (rows in c(1, 0, 5, 200, 2)) {
      new <- random_matrix(rows, 2)
      expect_close(morie_geron_run_graph(traced$graph, new), plain_run(model, new))
      expect_close(morie_geron_run_graph(compiled$graph, new), plain_run(model, new))
      expect_close(morie_geron_run_graph(compiled$compiled, new), plain_run(model, new))
    }
  }
})

test_that("x is taken as example_inputs are", {
  graph <- morie_geron_trace(small_model(), matrix(0, 1, 2))$graph
  frame <- data.frame(a = 1:3, b = c(0.5, 2, NA))
  expected <- plain_run(small_model(), as.matrix(frame))
  expect_close(morie_geron_run_graph(graph, frame), expected)
  expect_close(
    morie_geron_run_graph(graph, matrix(1:4, 2)), plain_run(small_model(), matrix(1:4, 2))
  )
  column <- morie_geron_trace(list(op("tanh")), 1)$graph
  expect_identical(morie_geron_run_graph(column, c(1, 2)), matrix(tanh(c(1, 2))))
})

test_that("saved graphs run, here and in a fresh process", {
  withr::local_seed(2)
  model <- c(
    small_model(), list(function(x) x^2, lin(matrix(c(1, 2), 1)), lin(matrix(c(1, 0, 1, 1), 2)))
  )
  x <- random_matrix(3, 2)
  compiled <- morie_geron_torch_compile(model, example_inputs = x)
  graphs <- compiled[c("graph", "compiled")]
  expected <- lapply(graphs, morie_geron_run_graph, x)
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(graphs, file)
  expect_identical(lapply(readRDS(file), morie_geron_run_graph, x), expected)
  fresh <- in_fresh_process(quote(lapply(it$graphs, morie_geron_run_graph, it$x)),
                            list(graphs = graphs, x = x))
  expect_equal(fresh, expected)
})

test_that("a graph changed by the user is run as it is now", {
  x <- matrix(c(1, 2), 1)
  graph <- morie_geron_trace(small_model(), x)$graph
  model <- small_model()
  morie_geron_run_graph(graph, x)
  for (value in c(99, -3, 7)) {
    graph[[1]]$op$param[1, 1] <- value
    model[[1]]$param[1, 1] <- value
    expect_close(morie_geron_run_graph(graph, x), plain_run(model, x))
  }
  graph[[2]]$op$param[[2]] <- 5
  model[[2]]$param[[2]] <- 5
  expect_close(morie_geron_run_graph(graph, x), plain_run(model, x))
  graph[[3]]$op$kind <- graph[[3]]$kind <- "tanh"
  model[[3]]$kind <- "tanh"
  expect_close(morie_geron_run_graph(graph, x), plain_run(model, x))
  graph[[4]] <- NULL
  expect_close(morie_geron_run_graph(graph, x), plain_run(model[1:3], x))
})

test_that("a graph in an environment, or read from a file, is no different", {
  x <- matrix(c(1, 2), 1)
  env <- new.env()
  env$graph <- unserialize(serialize(morie_geron_trace(list(lin(diag(2))), x)$graph, NULL))
  expect_identical(morie_geron_run_graph(env$graph, x), x)
  env$graph[[1]]$op$param[1, 1] <- 99
  expect_identical(morie_geron_run_graph(env$graph, x), matrix(c(99, 2), 1))
  change <- function(graph) {
    graph[[1]]$op$param[2, 2] <- 10
    morie_geron_run_graph(graph, x)
  }
  expect_identical(change(env$graph), matrix(c(99, 20), 1))
  expect_identical(morie_geron_run_graph(env$graph, x), matrix(c(99, 2), 1))
})

test_that("a compiled graph and its gradients follow a change too", {
  x <- matrix(c(1, 2), 1)
  result <- morie_geron_torch_compile(
    list(lin(diag(2)), lin(diag(2) * 3)), "reduce-overhead",
    example_inputs = x
  )
  compiled <- result$compiled
  expect_identical(morie_geron_backward(compiled, x)$grad_input, matrix(3, 1, 2))
  compiled[[1]]$op$param[1, 1] <- 50
  expect_identical(morie_geron_run_graph(compiled, x), matrix(c(50, 6), 1))
  expect_identical(morie_geron_backward(compiled, x)$grad_input, matrix(c(50, 3), 1))
  expect_identical(morie_geron_run_graph(result$compiled, x), matrix(c(3, 6), 1))
})

test_that("the model can change without the graph", {
  w <- diag(2)
  graph <- morie_geron_trace(list(lin(w)), w)$graph
  w[1, 1] <- 5
  expect_identical(morie_geron_run_graph(graph, diag(2)), diag(2))
})

test_that("many graphs run by turns", {
  x <- matrix(c(1, 2), 1)
  graphs <- lapply(1:30, function(k) morie_geron_trace(list(bias(k), lin(diag(2) * k)), x)$graph)
  turns <- c(1:30, 30:1, rbind(1:10, 21:30))
  for (round in 1:3) {
    got <- lapply(turns, function(k) morie_geron_run_graph(graphs[[k]], x))
    expect_identical(got, lapply(turns, function(k) (x + k) * k))
    gc()
  }
})

test_that("graphs made and dropped leave nothing behind for the next", {
  x <- matrix(1, 1, 1)
  got <- vapply(1:300, function(k) {
    graph <- morie_geron_trace(list(lin(matrix(k))), x)$graph
    if (k %% 100 == 0) gc()
    c(morie_geron_run_graph(graph, x))
  }, 0)
  expect_identical(got, as.double(1:300))
})

test_that("a callable may call the package", {
  inner <- morie_geron_trace(list(lin(diag(2) * 2)), matrix(0, 1, 2))$graph
  model <- list(
    bias(1),
    function(x) morie_geron_run_graph(inner, x),
    function(x) {
      # more graphs than are kept
      for (k in 1:20) x <- morie_geron_trace(list(bias(k)), x)$output
      x
    },
    op("relu"),
    function(x) morie_geron_torch_compile(rep(list(lin(diag(2))), 2), example_inputs = x)$output
  )
  x <- matrix(c(1, 2, 3, 4), 2)
  expected <- (x + 1) * 2 + 210
  result <- morie_geron_torch_compile(model, "reduce-overhead", x)
  expect_identical(result$output, expected)
  expect_identical(result$eager_output, expected)
  for (i in 1:3) {
    expect_identical(morie_geron_run_graph(result$compiled, x), expected)
    expect_identical(morie_geron_run_graph(result$graph, x), expected)
  }
})

test_that("a graph may run itself", {
  self <- NULL
  countdown <- function(x) {
    if (is.null(self) || x[1, 1] < 0.5) {
      return(x)
    }
    inner <- morie_geron_run_graph(self, rbind(x, x) - 1)
    x + sum(inner) / 2
  }
  for (mode in modes) {
    self <- NULL
    x <- matrix(3, 1, 1, dimnames = list("a", "b"))
    self <- morie_geron_torch_compile(
      list(bias(0), countdown, op("relu"), bias(1)), mode, x
    )$compiled
    by_hand <- function(x) {
      total <- if (x[1, 1] < 0.5) x else x + sum(by_hand(rbind(x, x) - 1)) / 2
      ifelse(total < 0, 0, total) + 1
    }
    expect_equal(morie_geron_run_graph(self, x), by_hand(x))
  }
})

test_that("an error in a callable leaves everything usable", {
  fail <- FALSE
  moody <- function(x) {
    if (fail) stop("not now")
    x * 2
  }
  model <- list(bias(1), moody, op("relu"))
  x <- matrix(c(1, 2), 1)
  for (mode in modes) {
    fail <- FALSE
    graph <- morie_geron_torch_compile(model, mode, x)$compiled
    for (i in 1:3) {
      fail <- TRUE
      expect_error(morie_geron_run_graph(graph, x), class = "moriejit_callable_error")
      fail <- FALSE
      expect_identical(morie_geron_run_graph(graph, x), (x + 1) * 2)
    }
  }
})

test_that("a jump out of a callable leaves everything usable", {
  jump <- FALSE
  leave <- structure(class = c("leave", "condition"), list(message = "bye", call = NULL))
  model <- list(bias(1), function(x) {
    if (jump) signalCondition(leave)
    x
  })
  x <- matrix(c(1, 2), 1)
  graph <- morie_geron_torch_compile(model, "reduce-overhead", x)$compiled
  jump <- TRUE
  for (i in 1:20) {
    left <- tryCatch(morie_geron_run_graph(graph, x), leave = function(cnd) "left")
    expect_identical(left, "left")
    left <- tryCatch(morie_geron_trace(model, x), leave = function(cnd) "left")
    expect_identical(left, "left")
  }
  jump <- FALSE
  gc()
  expect_identical(morie_geron_run_graph(graph, x), x + 1)
})

test_that("a callable's rows and columns may depend on the input's rows", {
  gram <- list(function(x) crossprod(x), op("relu"))
  graph <- morie_geron_trace(gram, matrix(1, 3, 2))$graph
  expect_identical(morie_geron_run_graph(graph, matrix(1, 7, 2)), matrix(7, 2, 2))
  squeeze <- list(function(x) matrix(colSums(x), 1), lin(diag(2)))
  graph <- morie_geron_trace(squeeze, matrix(1, 3, 2))$graph
  expect_identical(morie_geron_run_graph(graph, matrix(1, 9, 2)), matrix(9, 1, 2))
})

test_that("a callable that gives other columns than it did is an error, not a crash", {
  model <- list(function(x) tcrossprod(x), lin(diag(3)), bias(c(1, 2, 3)))
  graph <- morie_geron_trace(model, matrix(1, 3, 2))$graph
  expect_error(morie_geron_run_graph(graph, matrix(1, 5, 2)), class = "moriejit_error")
  expect_identical(
    morie_geron_run_graph(graph, matrix(1, 3, 2)), plain_run(model, matrix(1, 3, 2))
  )
})

test_that("results are the same in a forked child", {
  withr::local_seed(3)
  x <- random_matrix(50, 40)
  graph <- morie_geron_trace(list(lin(random_matrix(40, 40)), op("tanh")), x)$graph
  expected <- morie_geron_run_graph(graph, x)
  cores <- if (.Platform$OS.type == "windows") 1L else 2L
  children <- parallel::mclapply(1:4, function(k) {
    list(
      run = morie_geron_run_graph(graph, x),
      traced = morie_geron_trace(list(lin(diag(k))), diag(k))$output
    )
  }, mc.cores = cores)
  for (k in 1:4) expect_identical(children[[k]], list(run = expected, traced = diag(k)))
  expect_identical(morie_geron_run_graph(graph, x), expected)
})

test_that("random draws come from R's stream, in program order", {
  noise <- function(x) x + rnorm(length(x))
  model <- list(noise, op("dropout", p = 0.4, training = TRUE), noise)
  x <- matrix(1, 3, 4)
  graph <- morie_geron_trace(model, x)$graph
  withr::local_seed(6)
  by_hand <- x + rnorm(12)
  by_hand <- ifelse(matrix(runif(12), 3) < 0.4, 0, by_hand / 0.6) + rnorm(12)
  after <- .Random.seed
  set.seed(6)
  expect_equal(morie_geron_run_graph(graph, x), by_hand)
  expect_identical(.Random.seed, after)
  expect_false(identical(morie_geron_run_graph(graph, x), by_hand))
})
