# From an R function and example inputs to a program.

# Traces again: no program that the function has holds for these arguments.
# Called by the native code, with the arguments by formal argument (`...` as a
# list).
jit_retrace <- function(state, args) {
  if (!has_native_impl(state)) {
    state$native <- jit_native_impl()
  }
  state$log <- c(state$log, list(retrace_reason(state, args)))
  static <- character()
  for (attempt in seq_len(50L)) {
    restart <- tryCatch(trace_once(state, args, static), jit_restart = identity)
    if (!inherits(restart, "jit_restart")) {
      return(invisible())
    }
    new <- setdiff(unlist(restart$keys), static)
    if (length(new) == 0L) {
      break
    }
    static <- c(static, new)
  }
  abort_moriejit("internal", "A trace asks again and again for the same values.")
}

trace_once <- function(state, args, static) {
  before <- trace_state$current
  trace_begin_impl()
  on.exit({
    trace_end_impl()
    trace_state$current <- before
  })
  current <- new_trace(state, static)
  trace_state$current <- current
  bound <- Map(bind_arg, args, names(args), MoreArgs = list(current = current))
  out <- withCallingHandlers(
    run_traced(state, bound),
    error = function(e) wrap_error(e, current)
  )
  if (!is.null(current$end)) {
    stop(current$end)
  }
  spec <- list(
    args = unname(lapply(bound, `[[`, "spec")),
    out = if (is.null(state$wrt)) out_spec(out) else gradient_spec(out, bound, state$wrt[[1]]),
    loss = if (!is.null(state$wrt)) out,
    captured = current$captured, options = current$options,
    names_matter = current$names_matter, mode = state$mode, exact = state$exact,
    dtype = state$dtype, notes = list(static = static)
  )
  jit_add_program_impl(state, spec, unname(args), state$limit)
}

new_trace <- function(state, static) {
  current <- new.env(parent = emptyenv())
  current$static <- static
  current$leaves <- current$captured <- current$options <- current$loops <- list()
  current$copies <- list()
  current$names_matter <- FALSE
  current$call <- state$call
  current
}

# An argument as the traced function sees it, and what it must be for the
# program to hold.
bind_arg <- function(value, path, current) {
  if (is_absent(value)) {
    return(list(spec = list(kind = "missing")))
  }
  if (is_input(value) && !path %in% current$static) {
    tracer <- trace_input_impl(path, value)
    id <- as.character(trace_id_impl(tracer))
    current$leaves[[id]] <- list(key = path, size = length(value), example = value)
    return(list(spec = list(kind = "leaf", value = value), value = tracer))
  }
  if (is_plain_list(value) || is.data.frame(value)) {
    keys <- if (is.null(names(value))) seq_along(value) else names(value)
    parts <- Map(bind_arg, unclass(value), paste0(path, "$", keys),
                 MoreArgs = list(current = current))
    filled <- lapply(unname(parts), `[[`, "value")
    attributes(filled) <- attributes(value)
    return(list(
      spec = list(kind = "list", value = value, children = unname(lapply(parts, `[[`, "spec"))),
      value = filled
    ))
  }
  list(spec = list(kind = "static", value = value), value = value)
}

# An argument that was not given.
is_absent <- function(x) identical(x, rlang::missing_arg())

# Numbers and logical arrays are inputs; a single TRUE or FALSE is a setting.
is_input <- function(x) {
  type <- typeof(x)
  number <- type == "double" || type == "integer" || (type == "logical" && length(x) != 1L)
  number && !is.object(x) && plain_attributes(x)
}

run_traced <- function(state, bound) {
  f <- instrument(state$func)
  call <- list(f)
  for (name in names(bound)) {
    if (bound[[name]]$spec$kind == "missing") {
      next
    }
    value <- bound[[name]]$value
    values <- if (name == "...") value else stats::setNames(list(value), name)
    call <- c(call, lapply(values, function(x) if (is.language(x)) call("quote", x) else x))
  }
  # A function that always ends in an error has no value.
  tryCatch(eval(as.call(call), globalenv()), jit_diverge = function(c) NULL)
}

wrap_error <- function(e, current) {
  if (inherits(e, "moriejit_error")) {
    return()
  }
  abort_moriejit("capture", c(conditionMessage(e), i = traced_line()), parent = e,
                 call = current$call)
}

# The result of a traced function: outputs of the graph in their lists.
out_spec <- function(value) {
  if (is_traced(value)) {
    list(kind = "leaf", value = value)
  } else if (typeof(value) == "list" && has_traced(value)) {
    list(kind = "list", value = attributes(value), children = lapply(unclass(unname(value)),
                                                                     out_spec))
  } else if (is.function(value) || is.environment(value)) {
    capture_error("A traced function can't return a function or an environment.",
                  hint = "Return the numbers that it would compute.")
  } else {
    list(kind = "static", value = value)
  }
}

# Why the programs there are do not hold.
retrace_reason <- function(state, args) {
  list(time = length(state$log) + 1L, args = lapply(args, describe_arg),
       captured = jit_broken_impl(state))
}

describe_arg <- function(x) {
  if (is_absent(x)) {
    "missing"
  } else if (is_input(x)) {
    shape <- if (is.null(dim(x))) length(x) else paste(dim(x), collapse = ", ")
    paste0(typeof(x), "[", shape, "]", if (!is.null(tr_names(x))) " with names")
  } else {
    describe(x)
  }
}
