# Weights to start from, so that the tests do not draw random numbers.
start_weights <- function(inputs, hidden, outputs) {
  sin(seq_len((inputs + 1) * hidden + (hidden + 1) * outputs)) / 2
}

# nnet cuts its logistic units at +-15; within that the two agree to rounding, and the decay of 0.2
# keeps these nets there.
iris_scaled <- data.frame(scale(iris[1:4]), Species = iris$Species)
iris_odd <- iris_scaled[seq(1L, 149L, 2L), ]
iris_even <- iris_scaled[seq(2L, 150L, 2L), ]

test_that("nnet by formula predicts classes: softmax for three, sigmoid for two", {
  skip_if_not_installed("nnet")
  net <- nnet::nnet(Species ~ ., iris_odd,
    size = 3L, decay = 0.2, Wts = start_weights(4L, 3L, 3L), trace = FALSE)
  ops <- as_op_list(net)
  expect_identical(kinds(ops), c("linear", "bias", "sigmoid", "linear", "bias", "softmax"))
  expect_identical(rownames(ops[[1L]]$param), names(iris)[1:4])
  expect_predicts(net, iris_odd[1:4], iris_even[1:4], predict(net, iris_even))

  two <- droplevels(iris_odd[iris_odd$Species != "setosa", ])
  net <- nnet::nnet(Species ~ Petal.Length + Petal.Width, two,
    size = 2L, decay = 0.2, Wts = start_weights(2L, 2L, 1L), trace = FALSE)
  expect_identical(kinds(as_op_list(net))[[6L]], "sigmoid")
  expect_predicts(net, two[3:4], iris_even[3:4], predict(net, iris_even))
})

test_that("nnet by formula predicts numbers, one response or several", {
  skip_if_not_installed("nnet")
  new <- iris_even[1:3]
  net <- nnet::nnet(Petal.Width ~ Sepal.Length + Sepal.Width + Petal.Length, iris_odd,
    size = 4L, linout = TRUE, decay = 0.2, Wts = start_weights(3L, 4L, 1L), trace = FALSE)
  expect_identical(kinds(as_op_list(net)), c("linear", "bias", "sigmoid", "linear", "bias"))
  expect_predicts(net, iris_odd[1:3], new, predict(net, iris_even))
  net <- nnet::nnet(cbind(Petal.Width, Petal.Length) ~ Sepal.Length + Sepal.Width, iris_odd,
    size = 1L, linout = TRUE, decay = 0.2, Wts = start_weights(2L, 1L, 2L), trace = FALSE)
  expect_predicts(net, iris_odd[1:2], iris_even[1:2], predict(net, iris_even))
})

test_that("nnet by matrix predicts: linout, least squares, entropy, softmax", {
  skip_if_not_installed("nnet")
  x <- as.matrix(iris_odd[1:4])
  new <- as.matrix(iris_even[1:4])
  classes <- nnet::class.ind(iris_odd$Species)
  fit <- function(y, ...) {
    nnet::nnet(x, y,
      size = 2L, Wts = start_weights(4L, 2L, NCOL(y)), decay = 0.2, trace = FALSE, ...)
  }
  nets <- list(
    fit(iris_odd$Petal.Width, linout = TRUE),
    fit(classes),
    fit(classes[, "virginica"], entropy = TRUE),
    fit(classes, entropy = TRUE),
    fit(classes, softmax = TRUE),
    fit(classes, softmax = TRUE, mask = rep(c(TRUE, TRUE, FALSE), length.out = 19L))
  )
  last <- c("bias", "sigmoid", "sigmoid", "sigmoid", "softmax", "softmax")
  for (i in seq_along(nets)) {
    ops <- as_op_list(nets[[i]])
    expect_identical(kinds(ops)[[length(ops)]], last[[i]])
    expect_predicts(nets[[i]], x, new, predict(nets[[i]], new))
  }
})

test_that("a saturated unit differs from nnet by what the help page says", {
  skip_if_not_installed("nnet")
  x <- matrix(c(-14, -16, 14, 16, -40, 40), ncol = 1L)
  net <- nnet::nnet(x, x, size = 1L, linout = TRUE, Wts = c(0, 1, 0, 1), maxit = 0, trace = FALSE)
  got <- morie_geron_trace(as_op_list(net), x)$output
  expect_lt(max(abs(got - predict(net, x))), 3.1e-7)
})

test_that("nets with other connections, censored nets and factors are refused", {
  skip_if_not_installed("nnet")
  x <- as.matrix(iris_odd[1:4])
  classes <- nnet::class.ind(iris_odd$Species)
  fit <- function(...) nnet::nnet(..., rang = 0, maxit = 1, trace = FALSE)
  skip_layer <- fit(x, iris_odd$Petal.Width, size = 2L, skip = TRUE)
  no_hidden <- fit(x, iris_odd$Petal.Width, size = 0L, skip = TRUE)
  censored <- fit(x, classes, size = 2L, censored = TRUE)
  multinomial <- nnet::multinom(Species ~ Petal.Length, iris_odd, trace = FALSE)
  factors <- fit(Petal.Width ~ Petal.Length + Species, iris_odd, size = 2L)
  computed <- fit(Petal.Width ~ exp(Petal.Length), iris_odd, size = 2L)
  for (net in list(skip_layer, no_hidden, censored, multinomial, factors, computed)) {
    expect_unsupported(net)
  }
  expect_snapshot(error = TRUE, as_op_list(skip_layer))
  expect_snapshot(error = TRUE, as_op_list(no_hidden))
  expect_snapshot(error = TRUE, as_op_list(censored))
  expect_snapshot(error = TRUE, as_op_list(multinomial))
  expect_snapshot(error = TRUE, as_op_list(factors))
  expect_snapshot(error = TRUE, as_op_list(computed))
})
