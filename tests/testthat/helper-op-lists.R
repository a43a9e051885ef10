# Ops, matrices, and op lists in plain R.

lin <- function(w) list(kind = "linear", param = w)
bias <- function(b) list(kind = "bias", param = b)
op <- function(kind, ...) list(kind = kind, ...)

random_matrix <- function(rows, cols) matrix(rnorm(rows * cols), rows, cols)

# Linear ops with random matrices that lead through these widths.
random_chain <- function(dims) {
  lapply(seq_len(length(dims) - 1L), function(k) lin(random_matrix(dims[[k]], dims[[k + 1L]])))
}

# An op list without the package.
plain_run <- function(model, x) {
  x <- as.matrix(x)
  storage.mode(x) <- "double"
  Reduce(plain_op, model, x)
}

plain_op <- function(x, op) {
  if (is.function(op)) {
    return(op(x))
  }
  switch(op$kind,
    linear = x %*% op$param,
    bias = sweep(x, 2, rep_len(op$param, ncol(x)), "+"),
    relu = replace(x, which(x < 0), 0),
    tanh = tanh(x),
    # plogis() drops the shape of an empty matrix
    sigmoid = array(plogis(x), dim(x), dimnames(x)),
    dropout = x,
    stop("plain_op() does not know ", op$kind)
  )
}

modes <- c("default", "reduce-overhead", "max-autotune")

compile_all <- function(model, x) {
  stats::setNames(lapply(modes, function(m) morie_geron_torch_compile(model, m, x)), modes)
}

node_kinds <- function(graph) vapply(graph, function(node) node$kind, "")

fused_from <- function(graph) lapply(graph, function(node) node$fused_from)

# Number by number: missing at the same places, equal at infinities, else near. Tolerances are
# relative to the number expected, or to `floor` where that is smaller.
expect_close <- function(got, expected, tolerance = 1e-12, floor = 1) {
  expect_identical(dim(got), dim(expected))
  got <- as.vector(got)
  expected <- as.vector(expected)
  expect_identical(is.na(got), is.na(expected))
  known <- !is.na(expected)
  same <- got[known] == expected[known]
  allowed <- tolerance * pmax(abs(expected[known]), floor)
  near <- abs(got[known] - expected[known]) <= allowed
  wrong <- which(!(same | (near & is.finite(expected[known]))))
  at <- which(known)[wrong]
  expect(
    length(at) == 0L,
    paste0("element ", at, " is ", got[at], ", not ", expected[at], collapse = "\n")
  )
}

# Bit by bit: NaN is not NA, -0 is not 0.
expect_bits <- function(got, expected) {
  expect_identical(got, expected)
  expect_true(identical(got, expected, num.eq = FALSE))
}

# An error of the package: its class, op and function, and its text as a snapshot.
expect_refused <- function(expr, class, index = NULL, kind = NULL) {
  expr <- substitute(expr)
  env <- parent.frame()
  cnd <- rlang::catch_cnd(eval(expr, env), "error")
  expect_s3_class(cnd, c(paste0("moriejit_", class, "_error"), "moriejit_error"))
  expect_identical(cnd$op_index, index)
  expect_identical(cnd$op_kind, kind)
  expect_identical(conditionCall(cnd)[[1L]], expr[[1L]])
  eval(bquote(expect_snapshot(error = TRUE, .(expr))), env)
}

# The value of `code` in a fresh R process that has the package and the file `rds` as `it`.
in_fresh_process <- function(code, it) {
  rds <- withr::local_tempfile(fileext = ".rds")
  result <- withr::local_tempfile(fileext = ".rds")
  script <- withr::local_tempfile(fileext = ".R")
  saveRDS(it, rds)
  writeLines(c(
    "library(moriejit)",
    paste0("it <- readRDS(", deparse(rds), ")"),
    paste0("saveRDS({", paste(deparse(code), collapse = "\n"), "}, ", deparse(result), ")")
  ), script)
  libraries <- unique(dirname(find.package(c("moriejit", "Rcpp", "rlang"))))
  withr::local_envvar(R_TESTS = "", R_LIBS = paste(libraries, collapse = .Platform$path.sep))
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)))
  expect_identical(status, 0L)
  readRDS(result)
}

trace_one <- function(op, x = matrix(0, 2, 2)) morie_geron_trace(list(op), x)
