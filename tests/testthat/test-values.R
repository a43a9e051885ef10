# What counts as an input matrix, and how a value is described in an error.

test_that("what is numeric becomes a matrix of doubles", {
  input <- function(x) moriejit:::as_input_matrix(x, "x")
  expect_bits(input(1:3), matrix(c(1, 2, 3)))
  expect_bits(input(c(TRUE, NA)), matrix(c(1, NA)))
  expect_bits(input(c(a = 1L)), matrix(1, dimnames = list("a", NULL)))
  expect_bits(input(array(1:3, 3)), matrix(c(1, 2, 3)))
  expect_bits(input(matrix(c(1L, NA), 1)), matrix(c(1, NA), 1))
  expect_bits(input(numeric()), matrix(0, 0, 1))
  expect_bits(input(matrix(integer(), 2, 0)), matrix(0, 2, 0))
  expect_bits(input(data.frame(a = 1:2)), matrix(c(1, 2), dimnames = list(NULL, "a")))
  expect_identical(dim(input(data.frame(row.names = c("a", "b")))), c(2L, 0L))
  nested <- data.frame(a = 1:2)
  nested$m <- matrix(3:6, 2)
  expect_identical(unname(input(nested)), matrix(c(1, 2, 3, 4, 5, 6), 2))
})

test_that("other attributes are dropped", {
  scaled <- scale(matrix(c(1L, 2L, 3L, 5L), 2))
  class(scaled) <- "odd"
  expect_identical(names(attributes(moriejit:::as_input_matrix(scaled, "x"))), "dim")
  table <- table(c(1, 2, 2), c("a", "b", "b"))
  got <- morie_geron_trace(list(op("relu")), table)$output
  expect_identical(names(attributes(got)), c("dim", "dimnames"))
  expect_identical(unname(got), matrix(c(1, 0, 0, 2), 2))
})

test_that("a value is described in a few words", {
  described <- function(...) vapply(list(...), moriejit:::describe, "")
  expect_snapshot(writeLines(described(
    NULL, mean, iris, "a", NA_character_, 1, 2L, NA, 1i, c(1, 2), letters, list(), list(1),
    matrix("a", 2, 3), array(0, c(1, 2, 3)), matrix(list(1)), factor("a"), factor(c("a", "b")),
    as.Date("2020-02-02"), quote(a), quote(a + b), globalenv(), numeric(), structure(1, class = "u")
  )))
})

test_that("what is not numeric is refused, with what it is", {
  refused <- list(
    "a", letters, factor(c("a", "b")), 1i, list(1, 2), array(0, c(1, 2, 2)), NULL,
    as.Date("2020-02-02"), as.difftime(1, units = "hours"), mean, globalenv(),
    matrix("a"), matrix(list(1)), matrix(1i), as.raw(1), Sys.time(), y ~ x, data.frame(a = "b"),
    data.frame(a = 1, b = factor("c")), data.frame(a = as.Date("2020-02-02")),
    structure(5e-324, class = "integer64")
  )
  for (x in refused) {
    expect_error(
      morie_geron_trace(list(op("relu")), x),
      class = "moriejit_input_error", info = class(x)[[1]]
    )
  }
})

test_that("code that is passed as a value is not run", {
  x <- matrix(0, 1, 1)
  graph <- morie_geron_trace(list(op("relu")), x)$graph
  for (code in list(quote(1 + 1), quote(no_such_name))) {
    refused <- function(expr, class) {
      cnd <- rlang::catch_cnd(expr, "error")
      expect_s3_class(cnd, paste0("moriejit_", class, "_error"))
    }
    refused(morie_geron_trace(list(op("relu")), code), "input")
    refused(morie_geron_run_graph(graph, code), "input")
    refused(morie_geron_backward(graph, x, code), "input")
    refused(morie_geron_trace(code, x), "param")
    refused(morie_geron_trace(list(code), x), "param")
    refused(morie_geron_trace(list(lin(code)), x), "param")
    refused(morie_geron_trace(list(op("elu", alpha = code)), x), "param")
    refused(morie_geron_run_graph(code, x), "graph")
  }
})
