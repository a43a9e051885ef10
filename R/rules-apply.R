# Functions that call functions.

rules_apply <- function() {
  list(base = list(
    lapply = function(X, FUN, ...) {
      f <- shadow_function(match.fun(FUN))
      over <- elements_of(X)
      out <- vector("list", length(over))
      for (k in seq_along(over)) {
        out[k] <- list(f(over[[k]], ...))
      }
      stats::setNames(out, names(over))
    },
    sapply = function(X, FUN, ..., simplify = TRUE, USE.NAMES = TRUE) {
      f <- shadow_function(match.fun(FUN))
      out <- apply_elements(X, f, ...)
      if (USE.NAMES && is.character(X) && is.null(names(out))) {
        names(out) <- X
      }
      if (isFALSE(simplify) || length(out) == 0L) out else simplify_list(out)
    },
    vapply = function(X, FUN, FUN.VALUE, ..., USE.NAMES = TRUE) {
      f <- shadow_function(match.fun(FUN))
      out <- apply_elements(X, f, ...)
      check_values(out, FUN.VALUE)
      if (USE.NAMES && is.character(X) && is.null(names(out))) {
        names(out) <- X
      }
      if (!USE.NAMES) {
        names(out) <- NULL
      }
      if (length(out) == 0L) vapply(list(), identity, FUN.VALUE) else simplify_list(out)
    },
    Map = function(f, ...) {
      map_values(shadow_function(match.fun(f)), list(...), list())
    },
    mapply = function(FUN, ..., MoreArgs = NULL, SIMPLIFY = TRUE, USE.NAMES = TRUE) {
      out <- map_values(shadow_function(match.fun(FUN)), list(...), as.list(MoreArgs))
      if (!USE.NAMES) {
        names(out) <- NULL
      }
      if (isTRUE(SIMPLIFY) && length(out) > 0L) simplify_list(out) else out
    },
    Reduce = function(f, x, init, right = FALSE, accumulate = FALSE) {
      f <- shadow_function(match.fun(f))
      over <- unname(elements_of(x))
      given <- list(f, over, right = right, accumulate = FALSE)
      if (!missing(init)) {
        given$init <- init
      }
      if (!accumulate) {
        return(do.call(Reduce, given, quote = TRUE))
      }
      given$accumulate <- TRUE
      given$simplify <- FALSE
      out <- do.call(Reduce, given, quote = TRUE)
      single <- all(vapply(out, function(v) is_leaf(v) && tr_length(v) == 1, NA))
      if (single) simplify_list(unname(out)) else out
    },
    Filter = function(f, x) {
      f <- shadow_function(match.fun(f))
      keep <- vapply(elements_of(x), function(one) {
        isTRUE(as.logical(concrete(f(one), "What Filter() asks")))
      }, logical(1))
      if (is_traced(x)) pick(x, positions(x)[keep]) else x[keep]
    },
    do.call = function(what, args, quote = FALSE, envir = parent.frame()) {
      f <- if (is.character(what)) get(what, envir = envir, mode = "function") else what
      call_values(shadow_function(f), as.list(args))
    },
    apply = function(X, MARGIN, FUN, ..., simplify = TRUE) {
      f <- match.fun(FUN)
      if (!is_traced(X)) {
        X <- as.matrix(X)
      }
      if (length(tr_dim(X)) != 2L || !is.numeric(MARGIN) || length(MARGIN) != 1L) {
        if (!is_traced(X)) {
          return(apply(X, MARGIN, FUN, ..., simplify = simplify))
        }
        capture_error("apply() on traced values takes a matrix and MARGIN 1 or 2.")
      }
      op <- if (...length() == 0L && is_traced(X)) line_op(f, MARGIN)
      names <- tr_names(X)[[MARGIN]]
      if (!is.null(op)) {
        return(emit(op, list(X), names = names))
      }
      pos <- positions(X)
      slice <- function(i) if (MARGIN == 1) pos[i, ] else pos[, i]
      f <- shadow_function(f)
      out <- lapply(seq_len(tr_dim(X)[[MARGIN]]), function(i) f(pick_any(X, slice(i)), ...))
      names(out) <- names
      if (isFALSE(simplify) || length(out) == 0L) out else simplify_list(out)
    },
    match.fun = function(FUN, descend = TRUE) {
      f <- if (is.function(FUN)) FUN else get(FUN, envir = parent.frame(2), mode = "function")
      shadow_function(f)
    },
    Recall = function(...) {
      sys.function(sys.parent())(...)
    },
    Vectorize = function(FUN, ...) {
      f <- shadow_function(FUN)
      function(...) simplify_list(map_values(f, list(...), list()))
    }
  ))
}

# What a loop over x sees: list elements, or single values.
elements_of <- function(x) {
  if (!is_traced(x)) {
    return(if (is.list(x)) x else as.list(x))
  }
  stats::setNames(lapply(seq_len(tr_length(x)), function(i) relabel(pick(x, i), names = NULL)),
                  if (is.null(tr_dim(x))) tr_names(x))
}

apply_elements <- function(x, f, ...) {
  over <- elements_of(x)
  out <- vector("list", length(over))
  for (k in seq_along(over)) {
    out[k] <- list(f(over[[k]], ...))
  }
  stats::setNames(out, names(over))
}

# The elements at `pos` of a value that may be traced.
pick_any <- function(x, pos) {
  if (is_traced(x)) {
    return(pick(x, pos))
  }
  value <- as.vector(x)[as.vector(pos)]
  attributes(value) <- attributes(pos)
  value
}

map_values <- function(f, args, more) {
  over <- lapply(args, elements_of)
  sizes <- lengths(over)
  n <- if (any(sizes == 0L)) 0L else max(0L, sizes)
  out <- lapply(seq_len(n), function(i) {
    call_values(f, c(lapply(over, function(x) x[[(i - 1L) %% length(x) + 1L]]), more))
  })
  first <- if (length(args) > 0L) args[[1]]
  if (!is.null(names(over[[1]]))) {
    names(out) <- names(over[[1]])
  } else if (is.character(first)) {
    names(out) <- first
  }
  out
}

# As simplify2array() does, for values that may be traced.
simplify_list <- function(values) {
  if (!has_traced(values)) {
    return(simplify2array(values, higher = FALSE))
  }
  sizes <- vapply(values, function(v) if (is_leaf(v)) tr_length(v) else NA_real_, numeric(1))
  if (anyNA(sizes) || any(sizes != sizes[[1]]) || sizes[[1]] == 0) {
    return(values)
  }
  type <- highest_type(values)
  if (sizes[[1]] == 1) {
    joined <- emit("concat", lapply(unname(values), relabel_vector), type = type)
    return(relabel(joined, dim = NULL, names = single_names(values)))
  }
  rows <- if (is.null(tr_dim(values[[1]]))) tr_names(values[[1]])
  flat <- emit("concat", lapply(unname(values), relabel_vector), type = type)
  names <- list(rows, names(values))
  relabel(flat, dim = c(sizes[[1]], length(values)),
          names = if (!all(vapply(names, is.null, NA))) names)
}

# The names of a list of single values, or else those of the values.
single_names <- function(values) {
  if (!is.null(names(values))) {
    return(names(values))
  }
  inner <- unlist(lapply(values, function(v) if (is.null(tr_dim(v))) tr_names(v)))
  if (length(inner) == length(values)) inner
}

check_values <- function(values, template) {
  for (v in values) {
    if (!is_leaf(v) || tr_length(v) != length(template)) {
      stop("values must be length ", length(template), ",\n but FUN(X[[1]]) result is length ",
           if (is_leaf(v)) tr_length(v) else length(v), call. = FALSE)
    }
    if (is.na(type_ranks[typeof(template)]) ||
          type_ranks[[tr_type(v)]] > type_ranks[[typeof(template)]]) {
      stop("values must be type '", typeof(template), "',\n but FUN(X[[1]]) result is type '",
           tr_type(v), "'", call. = FALSE)
    }
  }
}

# Sums and extremes of rows or columns are ops of their own. (apply() takes a
# mean in two passes, rowMeans() in one: their bits differ.)
line_op <- function(f, margin) {
  known <- list(sum = base::sum, max = base::max, min = base::min)
  endings <- c(sum = "sums", max = "max", min = "min")
  for (name in names(known)) {
    if (identical(f, known[[name]]) || identical(attr(f, "jit_rule"), name)) {
      return(paste0(if (margin == 1) "row_" else "col_", endings[[name]]))
    }
  }
  NULL
}
