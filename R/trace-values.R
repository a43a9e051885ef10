# What rules of tracing are written with: questions about traced values, and
# ways to make new ones. A traced value (a tracer) stands for numbers that are
# only known when the program runs; its type, dimensions, length and names are
# known now.

# The state of the trace under way; NULL outside of one. A traced function may
# trace another, so they stack.
trace_state <- new.env(parent = emptyenv())
trace_state$current <- NULL

is_traced <- function(x) is_traced_impl(x)

any_traced <- function(...) has_traced_impl(list(...))

has_traced <- function(list) has_traced_impl(list)

is_countable <- function(x) is.numeric(x) || is.logical(x)

tr_type <- function(x) {
  if (is_traced(x)) trace_meta_impl(x)$type else typeof(x)
}

tr_dim <- function(x) {
  if (is_traced(x)) trace_meta_impl(x)$dim else dim(x)
}

tr_length <- function(x) {
  if (is_traced(x)) trace_meta_impl(x)$length else length(x)
}

# Names, or dimnames of an array. Whoever looks at their text says so with
# names_matter(), since a program otherwise holds for other names as well.
tr_names <- function(x) {
  if (is_traced(x)) {
    trace_meta_impl(x)$names
  } else if (is.null(dim(x))) {
    names(x)
  } else {
    dimnames(x)
  }
}

names_matter <- function() {
  if (!is.null(trace_state$current)) {
    trace_state$current$names_matter <- TRUE
  }
}

# A node of the graph. `args`: tracers, or numbers and logicals, which become
# constants. The result has the dimensions and names of `like`, or `dim` and
# `names`; with neither it is a vector.
emit <- function(op, args, attrs = NULL, type = "double", like = NULL, dim = NULL, names = NULL) {
  trace_emit_impl(op, args, attrs, type, like, if (!is.null(dim)) as.integer(dim), names, -1)
}

as_core <- function(x, rows, cols) trace_as_core_impl(x, rows, cols)

# The same numbers with other type, dimensions or names.
relabel <- function(x, dim = tr_dim(x), names = NULL, type = tr_type(x)) {
  trace_relabel_impl(x, type, if (!is.null(dim)) as.integer(dim), names)
}

# The numbers 1, 2, ... with the dimensions and names of x: what R's own
# functions do to them tells where each element of their result comes from.
positions <- function(x) {
  value <- seq_len(tr_length(x))
  if (!is.null(tr_dim(x))) {
    base::dim(value) <- tr_dim(x)
    base::dimnames(value) <- tr_names(x)
  } else {
    base::names(value) <- tr_names(x)
  }
  value
}

# The elements of x at `pos`, with the dimensions and names of `pos`. An NA
# position gives NA.
pick <- function(x, pos) {
  size <- length(pos)
  names <- tr_names(pos)
  type <- tr_type(x)
  at <- as.vector(pos)
  if (size == tr_length(x) && identical(at, seq_len(size))) {
    return(relabel(x, dim = dim(pos), names = names, type = type))
  }
  step <- even_step(at)
  if (is.na(step)) {
    shape <- core_shape(pos)
    index <- matrix(as.double(at), shape[[1]], shape[[2]])
    return(relabel(emit("gather", list(x, index), type = type, dim = shape),
                   dim = dim(pos), names = names))
  }
  start <- if (size == 0L) 0 else at[[1]] - 1
  part <- emit("slice", list(x), c(start, step, size), type = type)
  relabel(part, dim = dim(pos), names = names)
}

# The step of an arithmetic progression; NA where it is none.
even_step <- function(at) {
  if (length(at) < 2L) {
    return(if (anyNA(at)) NA_real_ else 1)
  }
  step <- at[[2]] - at[[1]]
  if (anyNA(at) || step == 0 || any(diff(at) != step)) NA_real_ else as.double(step)
}

# Rows and columns of the graph's matrix for an R value.
core_shape <- function(x) {
  dims <- tr_dim(x)
  if (is.null(dims)) c(tr_length(x), 1) else c(dims[[1]], prod(dims[-1]))
}

trace_arith <- function(op, e1, e2) trace_arith_impl(op, e1, e2)

trace_math <- function(op, x, type = "double") trace_math_impl(op, x, type)

# The value of something that the trace must know: the program then holds for
# these values only, so the trace starts anew with the inputs it comes from
# given as constants.
concrete <- function(x, what = "this value") {
  if (!is_traced(x)) {
    return(x)
  }
  origins <- trace_origins_impl(x)
  current <- trace_state$current
  # Constants are no leaves.
  keys <- current$leaves[intersect(as.character(origins$ids), names(current$leaves))]
  sizes <- vapply(keys, `[[`, numeric(1), "size")
  if (origins$opaque || length(keys) == 0L || any(sizes > max_static_size)) {
    capture_error(
      paste0(what, " must be known when the function is traced."),
      if (origins$opaque) {
        "It depends on a random draw, an R callback or the state of a loop."
      } else {
        "It depends on values of more elements than a program is specialised for."
      },
      "Compute it outside the function, or pass it as an argument of its own."
    )
  }
  restart_trace(lapply(keys, `[[`, "key"))
}

# More elements than this are never looked at: a program that holds for one
# long vector only would be traced again at every call.
max_static_size <- 1000

restart_trace <- function(keys) {
  leave_trace(structure(
    class = c("jit_restart", "condition"),
    list(message = "trace again", call = NULL, keys = keys)
  ))
}

# An error of capture: what can't be done, why, and what to write instead; the
# line is that of the traced function.
capture_error <- function(rule, found = NULL, hint = NULL) {
  bullets <- c(x = found, i = hint, i = traced_line())
  leave_trace(tryCatch(
    abort_moriejit("capture", c(rule, bullets), call = trace_state$current$call),
    error = identity
  ))
}

# Ends the trace, also where the function's own code catches the condition.
leave_trace <- function(condition) {
  if (!is.null(trace_state$current) && is.null(trace_state$current$end)) {
    trace_state$current$end <- condition
  }
  stop(condition)
}

# Where the traced function is, for messages.
traced_line <- function() {
  line <- trace_state$current$line
  if (is.null(line)) {
    return(NULL)
  }
  paste0("At line ", line$number, ": `", line$text, "`.")
}

# A call of an R function at run time, once a call and in order, with the R
# values of `args`. Stated are type, dimensions and names of what it gives.
host_call <- function(fun, args, type = "double", dim = NULL, names = NULL, length = prod(dim),
                      random = FALSE, gradient = NULL) {
  slots <- which(vapply(args, is_traced, logical(1)))
  for (slot in slots) {
    if (!is.null(tr_names(args[[slot]]))) {
      names_matter()
    }
  }
  if (is.null(dim) && missing(length)) {
    length <- 0
  }
  op <- if (random) "random_call" else "host"
  # Under suppressWarnings() and the like when the program runs, as now.
  for (around in rev(trace_state$current$around)) {
    fun <- wrap_call(fun, around)
  }
  trace_host_impl(fun, as.list(args), as.integer(slots), op, type,
                  if (!is.null(dim)) as.integer(dim), names, length, gradient)
}

wrap_call <- function(fun, around) {
  force(fun)
  force(around)
  function(...) around(fun(...))
}

# Called by the native code when a program runs.
host_run <- function(fun, args) {
  do.call(fun, args, quote = TRUE)
}
