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
  capture_if(cond, substitute(yes), if (!missing(no)) substitute(no), frame)
}

check_condition <- function(cond) {
  size <- tr_length(cond)
  if (size != 1) {
    stop(if (size == 0) "argument is of length zero" else "the condition has length > 1",
         call. = FALSE)
  }
}

capture_if <- function(cond, yes, no, frame) {
  check_condition(cond)
  check_leaving(yes)
  check_leaving(no)
  cond <- relabel(cond, dim = NULL)
  names <- unique(c(assigned_names(yes), assigned_names(no)))
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
  merge_branches(cond, then, other, frame, names)
}

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

frame_values <- function(frame, names) {
  there <- names[vapply(names, exists, logical(1), envir = frame, inherits = FALSE)]
  mget(there, envir = frame)
}

restore_frame <- function(frame, values, names) {
  list2env(values, envir = frame)
  gone <- setdiff(intersect(names, ls(frame, all.names = TRUE)), names(values))
  rm(list = gone, envir = frame)
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

# What stands for a value that R would only have after one of the branches.
poison <- function(cond, what) {
  structure(list(cond = cond, what = what), class = "jit_poison")
}

merge_branches <- function(cond, then, other, frame, names) {
  plan <- new_merge(cond)
  if (then$diverged || other$diverged) {
    only <- if (then$diverged) other else then
    merged <- lapply(only$values, keep_value, plan = plan)
    value <- keep_value(only$value, plan)
  } else {
    both <- intersect(names(then$values), names(other$values))
    merged <- lapply(stats::setNames(both, both), function(name) {
      merge_value(then$values[[name]], other$values[[name]], plan, name)
    })
    value <- merge_value(then$value, other$value, plan, NULL)
    for (name in setdiff(union(names(then$values), names(other$values)), both)) {
      merged[[name]] <- poison(cond, name)
    }
  }
  outputs <- branch_outputs(plan, then, other)
  close_branches(list(then, other), outputs)
  results <- trace_control_impl("if", list(cond), c(then$region, other$region), plan$metas)
  merged <- lapply(merged, fill_merged, results = results)
  list2env(merged, envir = frame)
  value <- fill_merged(value, results)
  if (then$visible || other$visible) value else invisible(value)
}

close_branches <- function(branches, outputs) {
  for (i in seq_along(branches)) {
    trace_close_region_impl(branches[[i]]$region, outputs[[i]])
  }
}

# A branch that ends in an error still has outputs, which nobody sees.
branch_outputs <- function(plan, then, other) {
  zeros <- lapply(plan$metas, function(meta) {
    array(0, if (is.null(meta$dim)) meta$length else meta$dim)
  })
  list(
    if (then$diverged) zeros else plan$then,
    if (other$diverged) zeros else if (then$diverged) plan$then else plan$other
  )
}

# Merging: results become outputs of both regions, in the order they are met.
new_merge <- function(cond) {
  plan <- new.env(parent = emptyenv())
  plan$cond <- cond
  plan$then <- plan$other <- plan$metas <- list()
  plan
}

slot_for <- function(plan, a, b, meta) {
  plan$then <- c(plan$then, list(a))
  plan$other <- c(plan$other, list(b))
  plan$metas <- c(plan$metas, list(meta))
  structure(list(index = length(plan$metas)), class = "jit_slot")
}

keep_value <- function(value, plan) {
  if (is_traced(value)) {
    slot_for(plan, value, value, trace_meta_impl(value))
  } else if (is_plain_list(value)) {
    value[] <- lapply(value, keep_value, plan = plan)
    value
  } else {
    value
  }
}

is_plain_list <- function(x) typeof(x) == "list" && !is.object(x)

merge_value <- function(a, b, plan, name) {
  if (identical(a, b)) {
    return(a)
  }
  if (is_same_kind_of_list(a, b)) {
    a[] <- Map(function(x, y) merge_value(x, y, plan, name), a, b)
    return(a)
  }
  if (is_leaf(a) && is_leaf(b)) {
    meta <- merged_meta(a, b)
    if (!is.null(meta)) {
      return(slot_for(plan, a, b, meta))
    }
  }
  poison(plan$cond, name)
}

is_same_kind_of_list <- function(a, b) {
  is_plain_list(a) && is_plain_list(b) && length(a) == length(b) &&
    identical(attributes(a), attributes(b))
}

is_leaf <- function(x) is_traced(x) || (is_countable(x) && !is.object(x))

type_ranks <- c(logical = 1, integer = 2, double = 3)

merged_meta <- function(a, b) {
  same <- tr_length(a) == tr_length(b) && identical(tr_dim(a), tr_dim(b)) &&
    identical(tr_names(a), tr_names(b))
  if (!same) {
    return(NULL)
  }
  types <- c(tr_type(a), tr_type(b))
  list(type = types[[which.max(type_ranks[types])]], dim = tr_dim(a), length = tr_length(a),
       names = tr_names(a))
}

fill_merged <- function(value, results) {
  if (inherits(value, "jit_slot")) {
    results[[value$index]]
  } else if (is_plain_list(value)) {
    value[] <- lapply(value, fill_merged, results = results)
    value
  } else {
    value
  }
}

# The condition must be known after all: the branches differ in more than values.
unpoison <- function(x) {
  what <- if (is.null(x$what)) "the result of `if`" else paste0("`", x$what, "` after `if`")
  concrete(x$cond, paste0("The condition decides the shape or kind of ", what, ", so it"))
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
  env <- new.env(parent = frame)
  assign("jit:run", run, envir = env)
  capture_if(decided, decides, quote(`jit:run`()), env)
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
