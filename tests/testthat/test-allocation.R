# The growth of R's heap while `code` runs, in bytes: what it allocates and is still held at once.
heap_growth <- function(code) {
  before <- gc(reset = TRUE)["Vcells", "used"]
  force(code)
  8 * (gc()["Vcells", "max used"] - before)
}

test_that("a run copies neither its input nor a parameter, and allocates its result once", {
  x <- matrix(rnorm(1e6), ncol = 10)
  model <- list(
    list(kind = "bias", param = rnorm(10)),
    list(kind = "relu"),
    list(kind = "linear", param = matrix(rnorm(50), 10)),
    list(kind = "tanh")
  )
  for (mode in c("default", "reduce-overhead")) {
    graph <- morie_geron_torch_compile(model, mode, x)$compiled
    morie_geron_run_graph(graph, x)
    result <- 8 * nrow(x) * 5
    expect_lt(heap_growth(morie_geron_run_graph(graph, x)), 1.2 * result)
  }
})

test_that("a large parameter is not copied to run", {
  w <- matrix(1, 2000, 1000)
  graph <- morie_geron_trace(list(list(kind = "linear", param = w)), matrix(1, 1, 2000))$graph
  expect_lt(heap_growth(morie_geron_run_graph(graph, matrix(1, 1, 2000))), 1e6)
})
