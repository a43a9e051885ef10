# After a branch on a traced value: what the variables and the value are, where
# the branches give different ones.

# What stands for a value that R would only have after one of the branches.
poison <- function(cond, what) {
  structure(list(cond = cond, what = what), class = "jit_poison")
}

is_poison <- function(x) inherits(x, "jit_poison")

merge_branches <- function(cond, then, other, frame, used) {
  plan <- new_merge(cond)
  value <- NULL
  if (then$diverged || other$diverged) {
    only <- if (then$diverged) other else then
    merged <- Map(keep_value, only$values, names(only$values), MoreArgs = list(plan = plan))
    if (used) {
      value <- keep_value(only$value, NULL, plan)
    }
  } else {
    both <- intersect(names(then$values), names(other$values))
    merged <- lapply(stats::setNames(both, both), function(name) {
      merge_value(then$values[[name]], other$values[[name]], plan, name)
    })
    if (used) {
      value <- merge_value(then$value, other$value, plan, NULL)
    }
    for (name in setdiff(union(names(then$values), names(other$values)), both)) {
      merged[[name]] <- poison(cond, name)
    }
  }
  if (is_poison(value)) {
    unpoison(value)
  }
  outputs <- branch_outputs(plan, then, other)
  close_branches(list(then, other), outputs)
  results <- trace_control_impl("if", list(cond), c(then$region, other$region), plan$metas)
  merged <- lapply(merged, fill_merged, results = results)
  assign_values(merged, frame)
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

keep_value <- function(value, name, plan) {
  if (is_traced(value)) {
    slot_for(plan, value, value, trace_meta_impl(value))
  } else if (is_plain_list(value)) {
    value[] <- lapply(value, keep_value, name = name, plan = plan)
    value
  } else if (is_poison(value)) {
    poison(plan$cond, name)
  } else {
    value
  }
}

is_plain_list <- function(x) typeof(x) == "list" && !is.object(x)

merge_value <- function(a, b, plan, name) {
  if (identical(a, b)) {
    return(a)
  }
  if (is_nothing(a)) {
    a <- zeros_like(b)
  } else if (is_nothing(b)) {
    b <- zeros_like(a)
  }
  if (is_same_kind_of_list(a, b)) {
    merged <- Map(function(x, y) merge_value(x, y, plan, name), a, b)
    if (any(vapply(merged, is_poison, NA))) {
      return(poison(plan$cond, name))
    }
    a[] <- merged
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

# What a loop returns before it does. Nobody looks at it then.
jit_nothing <- function() structure(list(), class = "jit_nothing")

is_nothing <- function(x) inherits(x, "jit_nothing")

zeros_like <- function(x) {
  if (is_leaf(x)) {
    zeros <- vector(tr_type(x), tr_length(x))
    base::dim(zeros) <- tr_dim(x)
    if (is.null(tr_dim(x))) names(zeros) <- tr_names(x) else dimnames(zeros) <- tr_names(x)
    zeros
  } else if (is_plain_list(x)) {
    x[] <- lapply(x, zeros_like)
    x
  } else {
    x
  }
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
  if (is.null(x$cond)) {
    capture_error(
      paste0("`", x$what, "` must have a value before the loop, if it is used after it."),
      hint = paste0("Assign `", x$what, "` before the loop.")
    )
  }
  what <- if (is.null(x$what)) "the result of `if`" else paste0("`", x$what, "` after `if`")
  concrete(x$cond, paste0("The condition decides the shape or kind of ", what, ", so it"))
}
