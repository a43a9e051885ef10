# jit_graph(): graphs as text.

small_graph <- function() {
  model <- list(
    lin(matrix(c(1, -1, 2, 0.5), 2)), bias(c(0.1, -0.2)), op("leaky_relu", negative_slope = 0.2),
    op("dropout", p = 0.1, training = TRUE), op("layer_norm"), op("softmax")
  )
  morie_geron_trace(model, matrix(0, 3, 2))$graph
}

text <- function(...) paste(c(...), collapse = "\n")

test_that("a graph prints as text", {
  expect_snapshot(jit_graph(small_graph()))
  expect_snapshot(jit_graph(list()))
  expect_snapshot(jit_graph(morie_geron_trace(list(op("callable", param = identity)), 1)$graph))
  fused <- morie_geron_torch_compile(
    list(lin(diag(2)), lin(diag(2) * 3), op("relu")),
    example_inputs = diag(2)
  )
  expect_snapshot(jit_graph(fused$compiled))
})

test_that("printing gives the graph back, unseen", {
  graph <- jit_graph(small_graph())
  capture.output(shown <- withVisible(print(graph)))
  expect_identical(shown, list(value = graph, visible = FALSE))
  expect_s3_class(graph, "jit_graph")
  expect_identical(paste0(format(graph), "\n"), unclass(graph))
})

test_that("what is printed can be read, to the last digit", {
  numbers <- c(0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0, NaN, NA, Inf, -Inf, 1e22, 123456789)
  for (pair in split(numbers[1:10], rep(1:5, each = 2))) {
    graph <- jit_graph(morie_geron_trace(list(bias(pair)), matrix(0, 1, 2))$graph)
    expect_identical(jit_graph(unclass(graph)), graph)
    x <- matrix(-0, 1, 2)
    ran <- moriejit:::text_run_impl(unclass(graph), list(x), list(), FALSE)[[1]]
    expect_bits(ran, x + pair)
  }
  graph <- jit_graph(small_graph())
  expect_identical(jit_graph(unclass(graph)), graph)
  expect_true(moriejit:::text_same_impl(unclass(graph), format(graph)))
})

test_that("constants of more than four values are hashed", {
  hash_of <- function(w, rows = 3) {
    graph <- jit_graph(morie_geron_trace(list(lin(w)), matrix(0, rows, nrow(w)))$graph)
    regmatches(graph, regexpr("#[0-9a-f]{16}", graph))
  }
  expect_identical(hash_of(matrix(c(1, 2, 3, 4), 2)), character())
  expect_length(hash_of(matrix(c(1, 2, 3, 4, 5), 1)), 1L)
  w <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  expect_identical(hash_of(w), hash_of(w + 0, rows = 9))
  expect_false(identical(hash_of(w), hash_of(replace(w, 6, 6 + 1e-15))))
  expect_false(identical(hash_of(w * 0), hash_of(w * -0)))
})

test_that("a text is brought into its canonical form", {
  loose <- text(
    "# a comment", "fn( x:f64[3,2] ,y : f64[1,2]){", "", "\tconst  c:f64[1,1]= [1e0 ]",
    "  %0=add(x,y):f64[3,2]", "%1 = mul(%0, c) : f64[3,2]\r", " return %1,%0", "}", ""
  )
  expect_snapshot(jit_graph(loose))
  expect_identical(jit_graph(unclass(jit_graph(loose))), jit_graph(loose))
})

test_that("a graph can be saved as it is", {
  graph <- jit_graph(small_graph())
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(graph, file)
  expect_identical(readRDS(file), graph)
  lines <- withr::local_tempfile()
  writeLines(format(graph), lines)
  expect_identical(jit_graph(paste(readLines(lines), collapse = "\n")), graph)
})

test_that("the graph text has the rows of the trace", {
  wide <- morie_geron_trace(list(op("relu")), matrix(0, 7, 5))$graph
  expect_match(unclass(jit_graph(wide)), "fn(x: f64[7,5])", fixed = TRUE)
  empty <- morie_geron_trace(list(op("relu")), matrix(0, 0, 0))$graph
  expect_match(unclass(jit_graph(empty)), "%0 = relu(x) : f64[0,0]", fixed = TRUE)
})

body <- function(...) text("fn(x: f64[3,2]) {", ..., "}")

test_that("texts that can't be read", {
  expect_refused(jit_graph(""), "format")
  expect_refused(jit_graph("relu(x)"), "format")
  expect_refused(jit_graph(body("  %0 = rleu(x) : f64[3,2]", "  return %0")), "format")
  expect_refused(jit_graph(body("  %0 = relu(y) : f64[3,2]", "  return %0")), "format")
  expect_refused(jit_graph(body("  %1 = relu(x) : f64[3,2]", "  return %1")), "format")
  expect_refused(jit_graph(body("  %0 = relu(x, x) : f64[3,2]", "  return %0")), "format")
  expect_refused(jit_graph(body("  %0 = relu(x) {p=1} : f64[3,2]", "  return %0")), "format")
  expect_refused(jit_graph(body("  const c: f64[1,2] = [1]", "  return c")), "format")
  expect_refused(
    jit_graph(body("  const c: f64[1,2] = #0123456789abcdef", "  return c")), "format"
  )
  expect_refused(jit_graph(body("  const x: f64[1,1] = [1]", "  return x")), "format")
  expect_refused(jit_graph(body("  const c: f64[1.5,1]", "  return c")), "format")
  expect_refused(jit_graph("fn(x: f64[3,2]) {\n  return x"), "format")
  expect_refused(jit_graph(text(body("  return x"), "more")), "format")
  expect_refused(jit_graph(body("  return x y")), "format")
})

test_that("types are checked against the rule of each op", {
  expect_refused(jit_graph(body("  %0 = relu(x) : f64[2,3]", "  return %0")), "format")
  expect_refused(
    jit_graph(body("  const w: f64[3,1]", "  %0 = matmul(x, w) : f64[3,1]", "  return %0")),
    "format"
  )
  expect_error(
    jit_graph(body("  const b: f64[1,3]", "  %0 = add(x, b) : f64[3,2]", "  return %0")),
    class = "moriejit_format_error"
  )
  out_of_range <- body(
    "  %0 = uniform_like(x) : f64[3,2]", "  %1 = dropout(x, %0) {p=2} : f64[3,2]", "  return %1"
  )
  expect_refused(jit_graph(out_of_range), "graph")
})

test_that("texts cut off or garbled are errors, never a crash", {
  whole <- unclass(jit_graph(small_graph()))
  read <- function(text) tryCatch(jit_graph(text), moriejit_error = function(cnd) "an error")
  lengths <- unique(c(seq(1L, nchar(whole) - 3L, by = 5L), nchar(whole) - 9:3))
  for (n in lengths) expect_identical(read(substr(whole, 1L, n)), "an error")
  withr::local_seed(1)
  letters <- strsplit(whole, "")[[1]]
  for (i in 1:100) {
    garbled <- letters
    at <- sample(length(garbled), 3)
    garbled[at] <- sample(c("{", "}", "%", "9", "-", "[", ",", "\n", "#", "e", "(", "\u00e9"), 3)
    expect_type(read(paste(garbled, collapse = "")), "character")
  }
})

test_that("only one string or a graph list is taken", {
  for (bad in list(c("a", "b"), NA_character_, character(), NA, mean, list(1))) {
    expect_error(jit_graph(bad), class = "moriejit_error")
  }
})
