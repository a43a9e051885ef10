# Loops. A loop of known length is unrolled; one whose condition is traced, or
# that is long, becomes a node with the variables it changes as its state.

max_unrolled <- 1000L

# What a `for` runs over: the elements, where it is unrolled natively; nothing,
# where the loop was captured here.
jit_for <- function(over, name, item, left, body) {
  frame <- parent.frame()
  size <- tr_length(over)
  if (size == 0) {
    assign(name, NULL, envir = frame)
  }
  if (size <= max_unrolled || !is_leaf(over)) {
    return(if (is_traced(over)) lapply(seq_len(size), function(i) element(over, i)) else over)
  }
  check_leaving(body)
  force_promises(list(body), frame)
  for (variable in c(name, item)) {
    if (!exists(variable, envir = frame, inherits = FALSE) ||
          !is_leaf(get(variable, envir = frame))) {
      assign(variable, element(over, 1L), envir = frame)
    }
  }
  capture_for(over, item, left, body, frame)
  NULL
}

element <- function(x, i) if (is_traced(x)) relabel(pick(x, i), names = NULL) else x[[i]]

capture_for <- function(over, item, left, body, frame) {
  flat <- relabel_vector(over)
  size <- tr_length(over)
  counter <- paste0(item, ":turn")
  assign(counter, 1, envir = frame)
  more <- function() {
    go_on <- trace_arith("le", get(counter, envir = frame), size)
    if (is.null(left)) {
      return(go_on)
    }
    trace_arith("and", go_on, trace_math("not", get(left, envir = frame), "logical"))
  }
  turn <- function() {
    i <- get(counter, envir = frame)
    value <- emit("gather", list(flat, i), type = tr_type(flat))
    assign(item, relabel(value, dim = NULL), envir = frame)
    eval(body, frame)
    assign(counter, trace_arith("add", i, 1), envir = frame)
  }
  capture_loop(frame, unique(c(item, counter, assigned_names(body))), more, turn)
  rm(list = counter, envir = frame)
}

relabel_vector <- function(x) {
  if (is_traced(x)) relabel(x, dim = NULL) else as.vector(x)
}

# Whether a `while` goes on. Where its condition is traced, the whole rest of
# the loop is captured here, and it does not.
jit_while <- function(condition, body, id) {
  frame <- parent.frame()
  turns <- trace_state$current$loops[[id]]
  turns <- if (is.null(turns)) 0L else turns
  known <- eval(condition, frame)
  if (!is_traced(known)) {
    go_on <- if (known) TRUE else FALSE
    trace_state$current$loops[[id]] <- if (go_on) turns + 1L else 0L
    if (!go_on || turns < max_unrolled) {
      return(go_on)
    }
  }
  trace_state$current$loops[[id]] <- 0L
  capture_while(known, condition, body, paste0(".go", id), frame)
  FALSE
}

# The condition, which may do things, is evaluated once a turn: what it gave is
# part of the loop's state.
capture_while <- function(known, condition, body, go, frame) {
  check_leaving(body)
  force_promises(list(condition, body), frame)
  ask <- function(value) {
    check_condition(value)
    assign(go, if (is_traced(value)) relabel(value, dim = NULL) else value, envir = frame)
  }
  ask(known)
  capture_loop(frame, c(go, assigned_in(condition, body)), function() get(go, envir = frame),
               function() {
                 eval(body, frame)
                 ask(eval(condition, frame))
               })
  rm(list = go, envir = frame)
}

capture_loop <- function(frame, names, condition, body) {
  start <- frame_values(frame, names)
  state <- flatten_state(start)
  for (attempt in 1:9) {
    traced <- trace_loop(frame, start, state, condition, body, names)
    if (is.null(traced$wider)) {
      break
    }
    start <- traced$start
    state <- list(leaves = flatten_state(start)$leaves, metas = traced$wider)
  }
  if (!is.null(traced$wider)) {
    capture_error("The types of a loop's variables must settle after some turns.")
  }
  first <- Map(as_state, state$leaves, state$metas)
  results <- trace_control_impl("while", first, c(traced$condition, traced$body), state$metas)
  restore_frame(frame, start, names)
  assign_values(fill_state(start, results), frame)
  for (name in setdiff(traced$assigned, names(start))) {
    assign_poison(name, poison(NULL, name), frame)
  }
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
    assign_values(fill_state(start, inside), frame)
  }
  enter()
  test <- condition()
  check_condition(test)
  test <- if (is_traced(test)) relabel(test, dim = NULL) else as.double(test)
  first <- trace_park_region_impl()
  trace_close_region_impl(first, list(test))
  enter()
  # A turn that always ends in an error leaves no new states.
  tryCatch(body(), jit_diverge = function(c) restore_frame(frame, start, names))
  after <- frame_values(frame, names)
  filled <- fill_nothing(start, after)
  wider <- if (identical(filled, start)) widened(start, after, state) else
    flatten_state(filled)$metas
  second <- trace_park_region_impl()
  if (is.null(wider)) {
    trace_close_region_impl(second, flatten_state(after[names(start)])$leaves)
  }
  restore_frame(frame, start, names)
  list(condition = first, body = second, wider = wider, start = filled,
       assigned = names(after))
}

# What a loop returns has no value before, which nobody looks at: zeros will do.
fill_nothing <- function(start, after) {
  for (name in names(start)) {
    if (is_nothing(start[[name]]) && !is_nothing(after[[name]])) {
      start[[name]] <- zeros_like(after[[name]])
    }
  }
  start
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
