# morie_geron_matmul_order(): the matrix-chain dynamic programme.

# The textbook programme, smallest split first.
plain_order <- function(dims) {
  n <- length(dims) - 1L
  cost <- matrix(0, n, n)
  split <- matrix(0L, n, n)
  for (len in seq_len(n)[-1L]) {
    for (i in seq_len(n - len + 1L)) {
      j <- i + len - 1L
      k <- seq(i, j - 1L)
      product <- dims[[i]] * dims[k + 1L] * dims[[j + 1L]]
      tried <- cost[i, k] + cost[k + 1L, j] + product
      best <- which.min(tried)
      cost[i, j] <- tried[[best]]
      split[i, j] <- k[[best]]
    }
  }
  list(cost = cost[1L, n], split = split)
}

# Every association, by recursion.
cost_by_trial <- function(dims) {
  n <- length(dims) - 1L
  if (n == 1L) {
    return(0)
  }
  min(vapply(seq_len(n - 1L), function(k) {
    left <- seq_len(k + 1L)
    cost_by_trial(dims[left]) + cost_by_trial(dims[(k + 1L):(n + 1L)]) +
      dims[[1L]] * dims[[k + 1L]] * dims[[n + 1L]]
  }, 0))
}

# What the association of `split` takes.
cost_of_split <- function(dims, split, i = 1L, j = nrow(split)) {
  if (i == j) {
    return(0)
  }
  k <- split[i, j]
  cost_of_split(dims, split, i, k) + cost_of_split(dims, split, k + 1L, j) +
    dims[[i]] * dims[[k + 1L]] * dims[[j + 1L]]
}

test_that("cost and split are those of the textbook programme", {
  withr::local_seed(1)
  chains <- lapply(1:200, function(i) sample(1:50, sample(2:13, 1), TRUE))
  expect_identical(lapply(chains, morie_geron_matmul_order), lapply(chains, plain_order))
})

test_that("zeros, ones and ties take the smallest split", {
  withr::local_seed(2)
  values <- list(0:1, 0:3, 1:2, c(1, 1, 7), c(5, 5))
  chains <- lapply(1:200, function(i) sample(values[[i %% 5 + 1]], sample(3:10, 1), TRUE))
  expect_identical(lapply(chains, morie_geron_matmul_order), lapply(chains, plain_order))
  expect_identical(
    morie_geron_matmul_order(rep(2, 5))$split,
    matrix(c(0L, 0L, 0L, 0L, 1L, 0L, 0L, 0L, 1L, 2L, 0L, 0L, 1L, 2L, 3L, 0L), 4)
  )
})

test_that("no association is cheaper", {
  withr::local_seed(3)
  for (i in 1:60) {
    dims <- sample(0:12, sample(2:7, 1), TRUE)
    order <- morie_geron_matmul_order(dims)
    expect_identical(order$cost, as.double(cost_by_trial(dims)))
    expect_identical(cost_of_split(dims, order$split), order$cost)
  }
})

test_that("the example of the textbook", {
  order <- morie_geron_matmul_order(c(30, 35, 15, 5, 10, 20, 25))
  expect_named(order, c("cost", "split"))
  expect_identical(order$cost, 15125)
  expect_identical(order$split[1, ], c(0L, 1L, 1L, 3L, 3L, 3L))
  expect_identical(order$split[upper.tri(order$split)], c(
    1L, 1L, 2L, 3L, 3L, 3L, 3L, 3L, 3L, 4L, 3L, 3L, 3L, 5L, 5L
  ))
})

test_that("types and shapes", {
  order <- morie_geron_matmul_order(c(2L, 3L, 4L))
  expect_identical(typeof(order$cost), "double")
  expect_identical(typeof(order$split), "integer")
  expect_identical(dim(order$split), c(2L, 2L))
  expect_identical(morie_geron_matmul_order(c(7, 5)), list(cost = 0, split = matrix(0L)))
  expect_identical(morie_geron_matmul_order(c(0, 0))$cost, 0)
  expect_identical(morie_geron_matmul_order(c(a = 2, b = 3, c = 4)), order)
})

test_that("large dimensions do not overflow", {
  big <- .Machine$integer.max
  order <- morie_geron_matmul_order(c(big, 1, big, 1))
  expect_identical(order$cost, 2 * as.double(big))
  expect_identical(order$split[1, 3], 1L)
  expect_equal(morie_geron_matmul_order(rep(big, 3))$cost, as.double(big)^3)
})

test_that("2,000 matrices are a matter of seconds", {
  withr::local_seed(4)
  dims <- sample(1:100, 2001, TRUE)
  elapsed <- system.time(order <- morie_geron_matmul_order(dims))[["elapsed"]]
  expect_lt(elapsed, 30)
  expect_identical(dim(order$split), c(2000L, 2000L))
  at <- order$split[upper.tri(order$split)]
  expect_true(all(at >= row(order$split)[upper.tri(order$split)]))
  expect_true(all(at < col(order$split)[upper.tri(order$split)]))
  withr::local_options(expressions = 50000)
  expect_identical(cost_of_split(dims, order$split), order$cost)
  # a part of the chain has its own best order in the same table
  expect_identical(order$split[1:40, 1:40], morie_geron_matmul_order(dims[1:41])$split)
})
