# Control flow on traced values. The rewritten body of a traced function calls
# these; on values that are not traced they do what R does, natively, so that
# `return`, `break` and laziness keep their meaning.

jit_if <- function(cond, yes, no) {
  if (!is_traced(cond)) {
    if (cond) {
      return(yes)
    }
    return(if (missing(no)) invisible(NULL) else no)
  }
  frame <- parent.frame()
  capture_if(cond, substitute(yes), if (!missing(no)) substitute(no), frame, TRUE)
}

# An `if` whose value nobody looks at.
jit_when <- function(cond, yes, no) {
  if (!is_traced(cond)) {
    return(if (cond) yes else if (!missing(no)) no)
  }
  frame <- parent.frame()
  capture_if(cond, substitute(yes), if (!missing(no)) substitute(no), frame, FALSE)
}

check_condition <- function(cond) {
  size <- tr_length(cond)
  if (size != 1) {
    stop(if (size == 0) "argument is of length zero" else "the condition has length > 1",
         call. = FALSE)
  }
}

capture_if <- function(cond, yes, no, frame, used, names = assigned_in(yes, no)) {
  check_condition(cond)
  check_leaving(yes)
  check_leaving(no)
  force_promises(list(yes, no), frame)
  cond <- relabel(cond, dim = NULL)
  before <- frame_values(frame, names)
  then <- trace_branch(yes, frame, names)
  restore_frame(frame, before, names)
  other <- trace_branch(no, frame, names)
  restore_frame(frame, before, names)
  if (then$diverged && other$diverged) {
    close_branches(list(then, other), list(list(), list()))
    trace_control_impl("if", list(cond), c(then$region, other$region), list())
    diverge()
  }
  merge_branches(cond, then, other, frame, used)
}

assigned_in <- function(...) unique(unlist(lapply(list(...), assigned_names)))

check_leaving <- function(expr) {
  if (mentions(expr, c("return", "break", "next"))) {
    capture_error(
      "`return`, `break` and `next` in a branch on traced values must stand as statements.",
      hint = "Write `if (test) { ...; return(value) }` instead of using it inside a call."
    )
  }
}

# Names that an expression assigns to, in the frame where it is evaluated.
assigned_names <- function(expr) {
  if (!is.call(expr) || is_call_of(expr, c("function", "quote"))) {
    return(character())
  }
  found <- assigned_here(expr)
  # The bodies of loops are quoted, and run in the same frame.
  if (is_call_of(expr, c("jit:for", "jit:while"))) {
    expr <- lapply(as.list(expr), function(part) {
      if (is_call_of(part, "quote")) part[[2]] else part
    })
  }
  for (k in seq_along(expr)) {
    if (is.call(expr[[k]])) {
      found <- c(found, assigned_names(expr[[k]]))
    }
  }
  unique(found)
}

# The variable that a call itself assigns to: `x` in `x$a[1] <- 2`.
assigned_here <- function(expr) {
  if (!is_call_of(expr, c("<-", "=", "for", "jit:super"))) {
    return(character())
  }
  target <- expr[[2]]
  while (is.call(target) && length(target) > 1L) {
    target <- target[[2]]
  }
  if (is.symbol(target) || is.character(target)) as.character(target) else character()
}

# The values of the variables that a frame has; a poison stays what it is.
frame_values <- function(frame, names) {
  there <- names[vapply(names, exists, logical(1), envir = frame, inherits = FALSE)]
  values <- lapply(stats::setNames(there, there), function(name) {
    promise <- eval(call("substitute", as.symbol(name)), frame)
    if (is_poisoned(promise)) promise[[2]] else get(name, envir = frame, inherits = FALSE)
  })
  values
}

assign_values <- function(values, frame) {
  for (name in names(values)) {
    if (inherits(values[[name]], "jit_poison")) {
      assign_poison(name, values[[name]], frame)
    } else {
      assign(name, values[[name]], envir = frame)
    }
  }
}

restore_frame <- function(frame, values, names) {
  assign_values(values, frame)
  gone <- setdiff(intersect(names, ls(frame, all.names = TRUE)), names(values))
  rm(list = gone, envir = frame)
}

# A variable that has no value; who looks at it is told why.
assign_poison <- function(name, poison, frame) {
  do.call(delayedAssign, list(name, call("unpoison", poison), topenv(), frame))
}

is_poisoned <- function(promise) {
  is_call_of(promise, "unpoison") && inherits(promise[[2]], "jit_poison")
}

# Arguments that are evaluated when they are first looked at, which must not be
# in a branch or loop: they have one value for the whole function.
force_promises <- function(exprs, frame) {
  names <- unique(unlist(lapply(exprs, all.names)))
  while (!exists("jit:variables", envir = frame, inherits = FALSE) &&
           !identical(frame, emptyenv())) {
    for (name in intersect(names, ls(frame, all.names = TRUE))) {
      force_promise(name, frame)
    }
    frame <- parent.env(frame)
  }
}

force_promise <- function(name, frame) {
  if (name == "...") {
    look <- quote(list(...))
  } else {
    look <- as.symbol(name)
    promise <- eval(call("substitute", look), frame)
    if (is_poisoned(promise) || !is.call(promise) && !is.symbol(promise)) {
      return()
    }
  }
  before <- trace_counts_impl()
  # An error is left to the branch that looks at the argument.
  tryCatch(eval(look, frame), error = identity)
  if (trace_counts_impl()[["risky"]] > before[["risky"]]) {
    capture_error(
      paste0("Whether `", name, "` is evaluated depends on traced values."),
      "Evaluating it draws random numbers, calls R or may fail.",
      paste0("Write `force(", name, ")` at the start of the function.")
    )
  }
}

# Runs an expression in a region of its own, which stays open for its outputs.
trace_branch <- function(expr, frame, names) {
  depth <- trace_depth_impl()
  trace_open_region_impl()
  ok <- FALSE
  on.exit(if (!ok) trace_drop_impl(depth))
  diverged <- FALSE
  value <- tryCatch(
    withVisible(eval(expr, frame)),
    jit_diverge = function(c) {
      diverged <<- TRUE
      list(value = NULL, visible = FALSE)
    }
  )
  values <- frame_values(frame, names)
  region <- trace_park_region_impl()
  ok <- TRUE
  list(value = value$value, visible = value$visible, values = values, region = region,
       diverged = diverged)
}

# Leaves a branch that ends in an error.
diverge <- function() {
  stop(structure(class = c("jit_diverge", "condition"), list(message = "", call = NULL)))
}

# Logic that stops early -------------------------------------------------------

jit_and <- function(a, b) short_circuit(a, b, substitute(b), parent.frame(), FALSE)

jit_or <- function(a, b) short_circuit(a, b, substitute(b), parent.frame(), TRUE)

# `decides` is the value of `a` that makes `b` unneeded.
short_circuit <- function(a, b, expr, frame, decides) {
  if (!is_traced(a)) {
    return(known_first(a, b, decides))
  }
  check_condition(a)
  a <- trace_arith("ne", relabel(a, dim = NULL), 0)
  op <- if (decides) "or" else "and"
  missing <- trace_math("is_na", a, "logical")
  decided <- emit("where", list(missing, 0, trace_arith("eq", a, as.double(decides))),
                  type = "logical")
  run <- function() {
    value <- b
    check_condition(value)
    trace_arith(op, a, if (is_traced(value)) relabel(value, dim = NULL) else as.logical(value))
  }
  force_promises(list(expr), frame)
  capture_if(decided, decides, as.call(list(run)), frame, TRUE, assigned_names(expr))
}

# `a` is known; `b` is evaluated where R would.
known_first <- function(a, b, decides) {
  native <- if (decides) base::`||` else base::`&&`
  known <- native(a, !decides)
  if (isTRUE(known == decides)) {
    return(decides)
  }
  if (!is_traced(b)) {
    return(native(known, b))
  }
  check_condition(b)
  trace_arith(if (decides) "or" else "and", known, relabel(b, dim = NULL))
}
