# The op-list functions of the package: capture, run, replay, compile, backward.
# Their results are plain lists, in the published order of their fields.

#' Capture an op list as a graph
#'
#' `morie_geron_trace()` sends example inputs through a model, op by op, and
#' records the graph: what each op is, and the shapes that go into it and come
#' out. `morie_geron_run_graph()` runs a graph on other inputs, in native code.
#' `morie_geron_torchscript()` does both and compares: the replay must give what
#' the trace gave.
#'
#' @section Op lists:
#' A model is a list of ops, applied from left to right to a numeric matrix `x`
#' whose rows are observations. An op is a list with its `kind` and the fields
#' of that kind, or an R function.
#'
#' | op | means |
#' |---|---|
#' | `list(kind = "linear", param = W)` | `x %*% W`; a vector `W` is one column |
#' | `list(kind = "bias", param = b)` | adds `b[j]` to column `j` |
#' | `list(kind = "scale", param = s)` | multiplies column `j` by `s[j]` |
#' | `list(kind = "relu")` | `max(x, 0)`; `NaN`, `NA` and `-0` stay |
#' | kinds `"tanh"`, `"sigmoid"`, `"softplus"`, `"silu"`, `"gelu"` | by element |
#' | kinds `"exp"`, `"pnorm"` | by element |
#' | `list(kind = "elu", alpha = 1)` | `x` above 0, `alpha * (exp(x) - 1)` below |
#' | `list(kind = "leaky_relu", negative_slope = 0.01)` | `x` above 0, that times `x` below |
#' | kinds `"softmax"`, `"log_softmax"` | by row |
#' | `list(kind = "layer_norm", weight, bias, eps = 1e-5)` | normalises each row |
#' | `list(kind = "batch_norm", mean, var, weight, bias, eps = 1e-5)` | with given moments |
#' | `list(kind = "dropout", p = 0.5, training = FALSE)` | the identity, or training dropout |
#' | a function | an R function of the matrix that returns a numeric matrix |
#' | `list(kind = "callable", param = f, grad = g)` | the same, with its gradient |
#'
#' Vectors that belong to columns (`param` of a bias or scale, `weight`, `bias`,
#' `mean`, `var`) have `ncol(x)` values, or one for all columns; `weight` and
#' `bias` of the norms may be left out. [jit_ops()] describes each kind.
#'
#' An empty list is the identity. Everything stays a matrix.
#'
#' Row names of the input and column names of the
#' last linear op reach the output, as in plain R.
#'
#' A function may be called once for each run that a call makes (capture,
#' replay, compiled run); it should be a function of its argument. Random draws
#' (training dropout, functions that draw) come from R's stream.
#' `morie_geron_run_graph()` and [morie_geron_backward()] draw as plain R would;
#' functions that trace or compile leave the stream as they found it. (What R
#' does not keep in `.Random.seed`, the spare value of
#' `RNGkind(normal.kind = "Box-Muller")`, can't be put back.)
#'
#' @param model A list of ops; see below, and [as_op_list()] for fitted models.
#' @param example_inputs The matrix to trace with: numeric, integer or logical,
#'   or an all-numeric data frame; a vector becomes one column. Integers and
#'   logicals are computed as doubles.
#' @param graph A graph: the `graph` of a trace, or the `compiled` of
#'   [morie_geron_torch_compile()].
#' @param x The matrix to run on, with as many columns as the traced one; the
#'   number of rows may differ. A vector is one column here too: for one row, use
#'   `x[1, , drop = FALSE]`.
#'
#' @return `morie_geron_trace()`: a list of `graph` and `output`. A graph is a
#'   list with a node for each op: `index` (from 0), `kind`, `in_shape` and
#'   `out_shape` (integer pairs: rows, columns) and `op`, the op as given.
#'
#'   `morie_geron_run_graph()`: the output, a numeric matrix.
#'
#'   `morie_geron_torchscript()`: a list of `graph`, `output` (of the trace),
#'   `replay` (the graph run again), `max_diff` (the largest absolute difference
#'   of the two: 0 where they are empty; two `NaN`, or the same infinity, count
#'   as equal; a `NaN` on one side only gives `Inf`), `n_nodes`, `shapes` (a list
#'   with `in_shape` and `out_shape` of each node), `estimate` (`max_diff`
#'   again), `n` (rows of the input) and `method`.
#'
#' @section Errors:
#' Of class `moriejit_error` and a finer one, see [moriejit-package]: an unknown
#' kind, a missing or non-numeric field, shapes that do not conform, a bias of
#' the wrong length, a function that fails or gives no numeric matrix, inputs
#' that are missing or not numeric, a `graph` that is none. The message names
#' the op.
#'
#' @seealso [morie_geron_torch_compile()] to make it faster,
#'   [morie_geron_backward()] for gradients, [jit_graph()] to read a graph.
#'
#' @examples
#' model <- list(
#'   list(kind = "linear", param = matrix(c(1, -1, 2, 0.5), 2)),
#'   list(kind = "bias", param = c(0.1, -0.2)),
#'   list(kind = "relu")
#' )
#' x <- matrix(c(1, 2, 3, 4), 2)
#' traced <- morie_geron_trace(model, x)
#' traced$output
#' morie_geron_run_graph(traced$graph, rbind(x, 5))
#' morie_geron_torchscript(model, x)$max_diff
#' @export
morie_geron_trace <- function(model, example_inputs) {
  check_given(model = missing(model), example_inputs = missing(example_inputs))
  trace_impl(model, example_inputs)[c("graph", "output")]
}

#' @rdname morie_geron_trace
#' @export
morie_geron_run_graph <- function(graph, x) {
  # Looked at here first: a run of a small graph takes about as long as the check.
  if (missing(graph) || missing(x)) {
    check_given(graph = missing(graph), x = missing(x))
  }
  run_graph_impl(graph, x)
}

#' @rdname morie_geron_trace
#' @export
morie_geron_torchscript <- function(model, example_inputs) {
  check_given(model = missing(model), example_inputs = missing(example_inputs))
  traced <- trace_impl(model, example_inputs)
  replayed <- replay_impl(traced$graph, example_inputs, traced$output)
  list(
    graph = traced$graph,
    output = traced$output,
    replay = replayed$replay,
    max_diff = replayed$max_diff,
    n_nodes = length(traced$graph),
    shapes = lapply(traced$graph, function(node) node[c("in_shape", "out_shape")]),
    estimate = replayed$max_diff,
    n = traced$n,
    method = "Graph capture (hmtsc) with verified replay"
  )
}

# Arguments by name, and whether each is missing.
check_given <- function(..., call = rlang::caller_env()) {
  for (argument in ...names()) {
    if (!...elt(match(argument, ...names()))) next
    abort_moriejit(
      "input",
      c(
        paste0("`", argument, "` must be given."),
        x = "It is missing.",
        i = if (argument == "example_inputs") "The graph is captured by running them."
      ),
      argument = argument,
      call = call
    )
  }
}

#' Compile an op list
#'
#' Captures a model (see [morie_geron_trace()]), folds runs of linear ops into
#' one product each, and checks the result against the model as written.
#'
#' @details
#' `mode`, matched without regard to case:
#' * `"default"`: every run of two or more consecutive `linear` ops becomes one,
#'   which holds their product, formed in the cheapest association
#'   ([morie_geron_matmul_order()]). Dropout outside training is the identity:
#'   it vanishes, and a run goes on through it.
#' * `"reduce-overhead"`: the same plan, run from buffers that stay laid out
#'   between calls of [morie_geron_run_graph()] with this very list. The list
#'   itself does not carry the mode: a copy read from a file, or a list that
#'   eight others have been run since, runs as under `"default"`, with the same
#'   results.
#' * `"max-autotune"`: decides by cost. A run is cut where keeping its matrices
#'   apart takes fewer multiplications at call time than their product would: a
#'   bottleneck such as 1000 -> 10 -> 1000 stays two ops. It is the shortest path
#'   over the run's cut points, where a step from `i` to `j` costs `rows *
#'   dims[i] * dims[j]`; among equals, the one with fewest ops. The number of
#'   rows is that of `example_inputs`.
#'
#' The replay decides. Each fused product is compared with one that can neither
#' overflow nor vanish on the way; then the graph is run on `example_inputs`, and
#' each fused run is compared with its ops on the very matrix that reaches them.
#' Where a difference exceeds rounding, or where forming the product would take a
#' matrix of more than 100 million numbers, that run stays as written, with a
#' warning of class `moriejit_fusion_rejected` that says which ops and why.
#' (`"max-autotune"` just looks for another cut where the whole product would be
#' too large.)
#'
#' @section Counts:
#' `flops_eager`, `flops_compiled` and `speedup` are counts of multiplications
#' in linear ops by the published definition of this function, not times. An op
#' that stays as it is adds `rows * nrow(W) * ncol(W)` to both. A fused op with
#' product `P` adds `rows * nrow(P) * ncol(P)` to `flops_compiled`, and to
#' `flops_eager` the same for its first matrix, `rows * nrow(W1) * ncol(W1)`,
#' then `ncol(W[k-1]) * nrow(W[k]) * ncol(W[k])` for each further one. So the
#' eager count of a run is not what running it op by op takes, which is `rows *
#' nrow(W[k]) * ncol(W[k])` for every matrix: work that out from the shapes in
#' `graph`. Measure times with `bench::mark()`, as `vignette("start", package =
#' "moriejit")` does.
#'
#' @inheritParams morie_geron_trace
#' @param mode `"default"`, `"reduce-overhead"` or `"max-autotune"`.
#'
#' @return A list:
#' * `compiled`: the compiled graph, to run with [morie_geron_run_graph()]. Its
#'   nodes are numbered anew; one that replaces several ops has `fused_from`,
#'   their indices in `graph`.
#' * `graph`: the captured graph.
#' * `output`, `eager_output`: what `compiled` and `graph` give.
#' * `max_diff`: the largest absolute difference of the two, as in
#'   [morie_geron_torchscript()].
#' * `n_ops`, `n_compiled`: ops before and after.
#' * `fused_runs`: nodes of `compiled` that replace several ops.
#' * `flops_eager`, `flops_compiled` and `speedup`, their ratio (1 where nothing
#'   was counted): counts by a convention, not times, see Counts.
#' * `mode`, `estimate` (`speedup` again), `n` (rows of the input) and `method`, a
#'   fixed label.
#'
#' @inheritSection morie_geron_trace Errors
#' @references Hu, T. C. and Shing, M. T. (1984) Computation of matrix chain
#'   products, part II. *SIAM Journal on Computing* 13, 228-251.
#'
#' @examples
#' A2 <- diag(2) * 2
#' B2 <- diag(2) * 3
#' C2 <- diag(2) * 5
#' morie_geron_torch_compile(list(list(kind = "linear", param = A2),
#'     list(kind = "linear", param = B2), list(kind = "linear",
#'         param = C2)), example_inputs = matrix(c(1, 1), 1, 2))
#'
#' # A bottleneck stays two ops where cost decides.
#' set.seed(1)
#' narrow <- list(
#'   list(kind = "linear", param = matrix(rnorm(100 * 3), 100)),
#'   list(kind = "linear", param = matrix(rnorm(3 * 100), 3))
#' )
#' x <- matrix(rnorm(10 * 100), 10)
#' morie_geron_torch_compile(narrow, example_inputs = x)$n_compiled
#' morie_geron_torch_compile(narrow, "max-autotune", x)$n_compiled
#' @export
morie_geron_torch_compile <- function(model, mode = "default", example_inputs) {
  mode <- match_mode(mode)
  check_given(model = missing(model), example_inputs = missing(example_inputs))
  result <- compile_impl(model, mode, example_inputs)
  for (run in result$rejected) {
    warn_moriejit(
      "fusion_rejected",
      c(
        paste0(
          "Ops ", format_indices(run$ops), " (indices from 0, kind \"linear\") stay separate."
        ),
        x = paste0("Fused, ", run$reason, ".")
      ),
      ops = run$ops
    )
  }
  counted <- result$flops_eager > 0 || result$flops_compiled > 0
  speedup <- if (counted) result$flops_eager / result$flops_compiled else 1
  list(
    compiled = result$compiled,
    graph = result$graph,
    output = result$output,
    eager_output = result$eager_output,
    max_diff = result$max_diff,
    n_ops = length(result$graph),
    n_compiled = length(result$compiled),
    fused_runs = sum(vapply(result$compiled, function(node) !is.null(node$fused_from), logical(1))),
    flops_eager = result$flops_eager,
    flops_compiled = result$flops_compiled,
    speedup = speedup,
    mode = mode,
    estimate = speedup,
    n = result$n,
    method = paste(
      "Graph capture (hmtsc) + linear-chain fusion, with matrix-chain DP",
      "association under max-autotune"
    )
  )
}

match_mode <- function(mode, call = rlang::caller_env()) {
  modes <- c("default", "reduce-overhead", "max-autotune")
  if (!rlang::is_string(mode) || !validUTF8(mode) || !tolower(mode) %in% modes) {
    abort_moriejit(
      "input",
      c(
        "`mode` must be \"default\", \"reduce-overhead\" or \"max-autotune\".",
        x = paste0("It is ", describe(mode), ".")
      ),
      argument = "mode",
      call = call
    )
  }
  tolower(mode)
}

# 0, 1 and 2 as "0-2" where they are consecutive.
format_indices <- function(ops) {
  if (length(ops) > 1L && all(diff(ops) == 1L)) {
    return(paste0(ops[[1]], "-", ops[[length(ops)]]))
  }
  paste(ops, collapse = ", ")
}

#' Gradients of a graph
#'
#' The vector-Jacobian product of a captured or compiled graph: the gradient of
#' `sum(grad_output * output)` by the input and by every parameter, in reverse
#' mode. It is built as a graph from each op's derivative rule, and runs in
#' native code.
#'
#' @inheritParams morie_geron_trace
#' @param grad_output The gradient that reaches the output, a matrix of its
#'   shape; ones by default, so that the gradient is that of `sum(output)`.
#'
#' @return A list of `output`; `grad_input`, in the shape of `x`; and
#'   `grad_params`, with an entry for each node: the gradient of its `param`, in
#'   the shape of the param as given, with its names; for kinds with fields of
#'   other names (`layer_norm`, `batch_norm`) a list of the gradients of those
#'   that were given; `NULL` where there is none. The entries of a compiled
#'   graph are those of its own nodes, some of which are fused: to train a model,
#'   use the `graph` of a trace, whose nodes are the model's ops.
#'
#' @section Conventions:
#' The derivative of `relu`, `leaky_relu` and `elu` at 0 is the one from below
#' (0, `negative_slope`, `alpha`). Where the input is `NaN` or `NA`, so is the
#' gradient of what depends on it. What a rectifier does not select never
#' reaches the gradient, not even as `0 * Inf`. Dropout in training uses the
#' same draws forward and backward.
#'
#' An R function in the model needs `grad` beside it: `list(kind = "callable",
#' param = f, grad = g)` where `g(x, dy)` gives the gradient by `x` for the
#' incoming gradient `dy`, in the shape of `x`. (A function that carries an
#' attribute `"grad"` works too.)
#'
#' @inheritSection morie_geron_trace Errors
#' @references Griewank, A. and Walther, A. (2008) *Evaluating Derivatives*.
#'   SIAM, chapter 3.
#'
#' @examples
#' model <- list(
#'   list(kind = "linear", param = matrix(c(1, -1, 2, 0.5), 2)),
#'   list(kind = "tanh")
#' )
#' x <- matrix(c(1, 2, 3, 4), 2)
#' graph <- morie_geron_trace(model, x)$graph
#' back <- morie_geron_backward(graph, x)
#' back$grad_params[[1]]
#'
#' # Gradient descent on a squared error: change the params in the graph.
#' y <- matrix(c(0.5, -0.5, 0.2, 0.1), 2)
#' for (step in 1:100) {
#'   error <- morie_geron_run_graph(graph, x) - y
#'   step_back <- morie_geron_backward(graph, x, 2 * error / nrow(x))
#'   graph[[1]]$op$param <- graph[[1]]$op$param - 0.05 * step_back$grad_params[[1]]
#' }
#' mean(error^2)
#'
#' # The gradient of sum(output) by finite differences.
#' total <- function(w) sum(tanh(x %*% matrix(w, 2)))
#' w <- c(1, -1, 2, 0.5)
#' vapply(1:4, function(i) {
#'   h <- replace(numeric(4), i, 1e-6)
#'   (total(w + h) - total(w - h)) / 2e-6
#' }, numeric(1))
#' @export
morie_geron_backward <- function(graph, x, grad_output = NULL) {
  check_given(graph = missing(graph), x = missing(x))
  backward_impl(graph, x, grad_output)
}
