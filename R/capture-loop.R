# Loops. A loop of known length is unrolled; one whose condition is traced, or
# that is long, becomes a node with the variables it changes as its state.

max_unrolled <- 1000L

# What a `for` runs over: the elements, where it is unrolled natively; nothing,
# where the loop was captured here.
jit_for <- function(over, name, body) {
  if (is_traced(over)) {
    size <- tr_length(over)
    if (size <= max_unrolled) {
      return(lapply(seq_len(size), function(i) relabel(pick(over, i), names = NULL)))
    }
  } else if (length(over) <= max_unrolled || !is_leaf(over)) {
    return(over)
  }
  frame <- parent.frame()
  check_leaving(body)
  flat <- relabel_vector(over)
  counter <- paste0(".turn:", name)
  assign(counter, 1, envir = frame)
  size <- tr_length(over)
  turn <- function() {
    i <- get(counter, envir = frame)
    value <- emit("gather", list(flat, i), type = tr_type(flat))
    assign(name, relabel(value, dim = NULL), envir = frame)
    eval(body, frame)
    assign(counter, trace_arith("add", i, 1), envir = frame)
  }
  if (!exists(name, envir = frame, inherits = FALSE) || !is_leaf(get(name, envir = frame))) {
    assign(name, if (is_traced(over)) pick(over, 1L) else over[[1]], envir = frame)
  }
  capture_loop(
    frame, unique(c(name, counter, assigned_names(body))),
    function() trace_arith("le", get(counter, envir = frame), size), turn
  )
  rm(list = counter, envir = frame)
  NULL
}

relabel_vector <- function(x) {
  if (is_traced(x)) relabel(x, dim = NULL) else as.vector(x)
}

# Whether a `while` goes on. Where its condition is traced, the whole rest of
# the loop is captured here, and it does not.
jit_while <- function(condition, body, id) {
  frame <- parent.frame()
  loops <- trace_state$current$loops
  turns <- if (is.null(loops[[id]])) 0L else loops[[id]]
  # A look at the condition in a region of its own: it is traced again in the loop.
  if (turns < max_unrolled) {
    known <- peek(condition, frame)
    if (!is_traced(known)) {
      go_on <- if (known) TRUE else FALSE
      trace_state$current$loops[[id]] <- if (go_on) turns + 1L else 0L
      return(go_on)
    }
  }
  trace_state$current$loops[[id]] <- 0L
  check_leaving(body)
  capture_loop(
    frame, unique(c(assigned_names(condition), assigned_names(body))),
    function() eval(condition, frame), function() eval(body, frame)
  )
  FALSE
}

# The value of a condition; where it is traced, what it added to the graph is
# left there for dead code to find, and a draw in it is an error.
peek <- function(condition, frame) {
  depth <- trace_depth_impl()
  names <- assigned_names(condition)
  before <- frame_values(frame, names)
  value <- eval(condition, frame)
  if (is_traced(value)) {
    restore_frame(frame, before, names)
  }
  trace_drop_impl(depth)
  value
}

capture_loop <- function(frame, names, condition, body) {
  start <- frame_values(frame, names)
  state <- flatten_state(start)
  for (attempt in 1:5) {
    traced <- trace_loop(frame, start, state, condition, body, names)
    if (is.null(traced$wider)) {
      break
    }
    state$metas <- traced$wider
  }
  if (!is.null(traced$wider)) {
    capture_error("The types of a loop's variables must settle after some turns.")
  }
  first <- Map(as_state, state$leaves, state$metas)
  results <- trace_control_impl("while", first, c(traced$condition, traced$body), state$metas)
  restore_frame(frame, start, names)
  list2env(fill_state(start, results), envir = frame)
  for (name in setdiff(traced$assigned, names(start))) {
    assign_undefined(name, frame)
  }
}

# A variable that only a turn of the loop defines.
assign_undefined <- function(name, frame) {
  force(name)
  delayedAssign(name, capture_error(
    paste0("`", name, "` must have a value before the loop, if it is used after it."),
    hint = paste0("Assign `", name, "` before the loop.")
  ), assign.env = frame)
}

# The numbers in the loop's variables, in order, and what R knows of each.
flatten_state <- function(values) {
  leaves <- list()
  walk <- function(value) {
    if (is_leaf(value)) {
      leaves[[length(leaves) + 1L]] <<- value
    } else if (is_plain_list(value)) {
      lapply(value, walk)
    }
  }
  lapply(values, walk)
  list(leaves = leaves, metas = lapply(leaves, meta_list))
}

meta_list <- function(x) {
  list(type = tr_type(x), dim = tr_dim(x), length = tr_length(x), names = tr_names(x))
}

as_state <- function(value, meta) {
  if (is_traced(value)) value else array_of(value, meta)
}

array_of <- function(value, meta) {
  value <- as.double(value)
  dim(value) <- meta$dim
  value
}

fill_state <- function(values, results) {
  k <- 0L
  walk <- function(value) {
    if (is_leaf(value)) {
      k <<- k + 1L
      results[[k]]
    } else if (is_plain_list(value)) {
      value[] <- lapply(value, walk)
      value
    } else {
      value
    }
  }
  lapply(values, walk)
}

# Condition and body as closed regions; `wider` where a variable's type grew.
trace_loop <- function(frame, start, state, condition, body, names) {
  depth <- trace_depth_impl()
  on.exit(trace_drop_impl(depth))
  enter <- function() {
    trace_open_region_impl()
    inside <- Map(function(meta, k) {
      trace_state_impl(paste0("s", k), meta$type, meta$dim, meta$names, meta$length)
    }, state$metas, seq_along(state$metas))
    restore_frame(frame, start, names)
    list2env(fill_state(start, inside), envir = frame)
  }
  enter()
  test <- condition()
  check_condition(test)
  test <- if (is_traced(test)) relabel(test, dim = NULL) else as.double(test)
  first <- trace_park_region_impl()
  trace_close_region_impl(first, list(test))
  enter()
  body()
  after <- frame_values(frame, names)
  wider <- widened(start, after, state)
  second <- trace_park_region_impl()
  if (is.null(wider)) {
    trace_close_region_impl(second, flatten_state(after[names(start)])$leaves)
  }
  restore_frame(frame, start, names)
  list(condition = first, body = second, wider = wider, assigned = names(after))
}

# The types that hold before and after a turn; NULL where they do already.
widened <- function(start, after, state) {
  new <- flatten_state(after[names(start)])
  if (length(new$leaves) != length(state$leaves)) {
    loop_error(start, after)
  }
  changed <- FALSE
  metas <- Map(function(old, now, k) {
    if (old$length != now$length || !identical(old$dim, now$dim)) {
      loop_error(start, after)
    }
    if (type_ranks[[now$type]] > type_ranks[[old$type]]) {
      old$type <- now$type
      changed <<- TRUE
    }
    if (!identical(old$names, now$names) && !is.null(old$names)) {
      old["names"] <- list(NULL)
      changed <<- TRUE
    }
    old
  }, state$metas, new$metas, seq_along(new$metas))
  if (changed) metas
}

loop_error <- function(start, after) {
  changed <- Filter(function(name) {
    !identical(lapply(flatten_state(start[name])$metas, `[`, c("dim", "length")),
               lapply(flatten_state(after[name])$metas, `[`, c("dim", "length")))
  }, names(start))
  capture_error(
    "The variables of a loop that depends on traced values must keep their shapes.",
    paste0("The shape of `", changed[[1]], "` changes from turn to turn."),
    "Make it as large as it gets before the loop, and assign to its elements."
  )
}
