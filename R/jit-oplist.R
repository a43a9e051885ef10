# Op lists as functions that can be traced.

# An op list, or a model that as_op_list() knows, as a function of its input.
# `training`: whether dropout drops; NULL leaves that to the ops.
op_list_function <- function(model, training) {
  model <- as_op_list(model)
  if (!is.null(training)) {
    model <- lapply(model, set_training, training)
  }
  function(x) op_list_value(model, x)
}

set_training <- function(op, training) {
  if (is.list(op) && identical(op$kind, "dropout")) {
    op$training <- training
  }
  op
}

op_list_value <- function(model, x) {
  if (!has_traced(list(x))) {
    return(morie_geron_run_graph(morie_geron_trace(model, x)$graph, x))
  }
  value <- traced_matrix(x)
  callable <- vapply(model, is_callable_op, logical(1))
  # What a callable gives is seen by running the ops before it on the example.
  example <- if (any(callable)) example_of(x)
  parts <- split(seq_along(model), cumsum(c(0, diff(callable) != 0))[seq_along(model)])
  for (part in parts) {
    if (callable[[part[[1]]]]) {
      for (k in part) {
        example <- morie_geron_trace(model[k], example)$output
        value <- callable_value(model[[k]], value, example)
      }
    } else {
      value <- trace_op_list_impl(model[part], value, part[[1]], length(model))
      example <- if (any(callable)) morie_geron_trace(model[part], example)$output
    }
  }
  value
}

is_callable_op <- function(op) is.function(op) || identical(op$kind, "callable")

callable_value <- function(op, x, example) {
  f <- if (is.function(op)) op else op$param
  gradient <- if (is.function(op)) attr(op, "grad") else op$grad
  host_call(f, list(x), dim = dim(example), names = dimnames(example), gradient = gradient)
}

# The input of an op list as a matrix: a vector is one column, a data frame its columns.
traced_matrix <- function(x) {
  if (is.list(x)) {
    names(x) <- names2(x)
    x <- do.call(rule_named("cbind", base::cbind), x)
  }
  if (length(tr_dim(x)) > 2L) {
    stop("`x` must be a matrix.", call. = FALSE)
  }
  shape <- core_shape(x)
  relabel(x, dim = shape, names = if (!is.null(tr_dim(x))) tr_names(x), type = "double")
}

# The value that an argument had when it was traced.
example_of <- function(x) {
  if (is.list(x)) {
    return(do.call(cbind, lapply(x, example_of)))
  }
  leaf <- if (is_traced(x)) trace_state$current$leaves[[as.character(trace_id_impl(x))]]
  if (is.null(leaf)) x else leaf$example
}
