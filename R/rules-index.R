# Indexing and assignment to elements.

rules_index <- function() {
  list(base = list(
    `[` = function(x, ..., drop = TRUE) {
      index <- dots_given(...)
      if (!is_traced(x) && !has_traced(index)) {
        given <- if (missing(drop)) list() else list(drop = drop)
        return(call_values(base::`[`, c(list(x), index, given)))
      }
      if (is.list(x)) {
        return(call_values(base::`[`, c(list(x), lapply(index, known_index))))
      }
      extract(x, index, drop)
    },
    `[[` = function(x, ...) {
      index <- dots_given(...)
      if (!is_traced(x) && (is.list(x) || !has_traced(index))) {
        return(call_values(base::`[[`, c(list(x), lapply(index, known_index))))
      }
      value <- extract(x, index[names2(index) != "exact"], TRUE)
      if (tr_length(value) != 1) {
        stop("subscript out of bounds", call. = FALSE)
      }
      relabel(value, dim = NULL)
    },
    `[<-` = function(x, ..., value) {
      index <- dots_given(...)
      if (is.list(x) || !has_traced(list(x, value, index))) {
        return(call_values(base::`[<-`, c(list(x), lapply(index, known_index),
                                          list(value = value))))
      }
      replace_elements(x, index, value)
    },
    `[[<-` = function(x, ..., value) {
      if (is.environment(x)) {
        changes_outside("Assignment into an environment")
      }
      index <- dots_given(...)
      if (is_traced(x) || (has_traced(list(index, value)) && is_leaf(x) && length(x) > 0L)) {
        return(replace_elements(x, index, value))
      }
      call_values(base::`[[<-`, c(list(x), lapply(index, known_index), list(value = value)))
    },
    `$<-` = function(x, name, value) {
      if (is.environment(x)) {
        changes_outside("Assignment into an environment")
      }
      if (is_traced(x)) {
        stop("$ operator is invalid for atomic vectors", call. = FALSE)
      }
      name <- substitute(name)
      base::`[[<-`(x, if (is.symbol(name)) as.character(name) else name, value)
    }
  ), utils = list(
    head = function(x, ...) {
      if (is_traced(x)) pick(x, utils::head(positions(x), ...)) else utils::head(x, ...)
    },
    tail = function(x, ...) {
      if (is_traced(x)) pick(x, utils::tail(positions(x), ...)) else utils::tail(x, ...)
    }
  ))
}

names2 <- function(x) if (is.null(names(x))) rep("", length(x)) else names(x)

# The values of `...`, evaluated once; what is left out (as in `x[, 1]`) stays so.
dots_given <- function(...) {
  exprs <- eval(substitute(alist(...)))
  values <- vector("list", length(exprs))
  for (k in seq_along(exprs)) {
    values[k] <- if (is_absent(exprs[[k]])) list(rlang::missing_arg()) else list(...elt(k))
  }
  stats::setNames(values, names(exprs))
}

# A call with values as arguments, of which some may be left out.
call_values <- function(f, args) {
  args <- lapply(args, function(x) if (is.language(x) && !is_absent(x)) call("quote", x) else x)
  eval(as.call(c(list(f), args)), baseenv())
}

known_index <- function(i) {
  if (is_absent(i)) i else concrete(i, "An index into a list")
}

extract <- function(x, index, drop) {
  note_names(index)
  traced <- vapply(index, is_traced, logical(1))
  index[traced] <- lapply(index[traced], static_mask)
  traced <- vapply(index, is_traced, logical(1))
  if (!any(traced)) {
    picked <- call_values(base::`[`, c(list(positions(x)), index, list(drop = drop)))
    return(pick(x, picked))
  }
  if (length(index) == 1L) {
    i <- index[[1]]
    size <- tr_length(x)
    flat <- relabel_vector(x)
    # Beyond the end of a vector R gives NA.
    beyond <- trace_arith("gt", i, size)
    at <- emit("where", list(beyond, NA_real_, trunc_index(i)), like = i)
    return(relabel(emit("gather", list(flat, at), type = tr_type(x), like = i), dim = NULL))
  }
  at <- dynamic_positions(x, index)
  value <- emit("gather", list(x, at$index), type = tr_type(x), dim = dim(at$shape))
  pick(value, call_values(base::`[`, c(list(at$shape), lapply(dim(at$shape), seq_len),
                                       list(drop = drop))))
}

trunc_index <- function(i) if (tr_type(i) == "double") trace_math("trunc", i) else i

# A logical index decides how many elements there are.
static_mask <- function(i) {
  if (tr_type(i) == "logical") concrete(i, "A logical index") else i
}

note_names <- function(index) {
  if (any(vapply(index, is.character, logical(1)))) {
    names_matter()
  }
}

# Positions of matrix elements by indices of which some are traced, and an array
# of the result's dimensions and names.
dynamic_positions <- function(x, index) {
  dims <- tr_dim(x)
  if (length(index) != length(dims)) {
    stop("incorrect number of dimensions", call. = FALSE)
  }
  names <- tr_names(x)
  strides <- c(1, cumprod(dims))
  total <- 1
  sizes <- integer(length(dims))
  result_names <- vector("list", length(dims))
  for (k in seq_along(dims)) {
    i <- index[[k]]
    if (!is_traced(i)) {
      along <- stats::setNames(seq_len(dims[[k]]), names[[k]])
      i <- if (is_absent(i)) along else along[i]
      if (anyNA(i)) {
        stop("subscript out of bounds", call. = FALSE)
      }
      result_names[k] <- list(names(i))
      i <- as.double(unname(i))
    } else {
      inside <- trace_arith("le", i, dims[[k]])
      i <- emit("where", list(inside, trunc_index(i), Inf), like = i)
    }
    sizes[[k]] <- tr_length(i)
    shape <- rep(1, length(dims))
    shape[[k]] <- sizes[[k]]
    step <- trace_or_plain(i, function(i) (i - 1) * strides[[k]],
                           function(i) trace_arith("mul", trace_arith("sub", i, 1), strides[[k]]))
    step <- if (k == 1L) as_core(step, sizes[[k]], 1) else as_core(step, 1, sizes[[k]])
    total <- if (k == 1L) trace_arith("add", step, 1) else spread_sum(total, step)
  }
  all_null <- all(vapply(result_names, is.null, NA))
  list(index = total, shape = array(seq_len(prod(sizes)), sizes,
                                    if (!all_null) result_names))
}

trace_or_plain <- function(x, plain, traced) if (is_traced(x)) traced(x) else plain(x)

# All sums of an element of one column and an element of one row, as a matrix.
spread_sum <- function(a, b) {
  rows <- tr_length(a)
  cols <- tr_length(b)
  emit("add", list(as_core(a, rows, 1), as_core(b, 1, cols)), dim = c(rows, cols))
}

replace_elements <- function(x, index, value) {
  note_names(index)
  type <- highest_type(list(x, value))
  node <- if (is_mask_of(x, index) && tr_length(value) == 1) {
    replace_masked(x, index[[1]], value)
  } else {
    index <- lapply(index, function(i) if (is_traced(i)) static_mask(i) else i)
    at <- replaced_positions(x, index)
    if (is.null(at)) {
      return(grow(x, index, value))
    }
    replace_at(x, at, value, type, several = length(index) > 1L)
  }
  relabel(node, dim = tr_dim(x), names = tr_names(x), type = type)
}

is_mask_of <- function(x, index) {
  length(index) == 1L && is_traced(index[[1]]) && tr_type(index[[1]]) == "logical" &&
    tr_length(index[[1]]) == tr_length(x)
}

replace_masked <- function(x, mask, value) {
  shape <- core_shape(x)
  mask <- as_core(mask, shape[[1]], shape[[2]])
  # A missing element of the mask selects nothing.
  mask <- emit("where", list(trace_math("is_na", mask, "logical"), 0, mask), type = "logical",
               dim = shape)
  emit("where", list(mask, as_core(value, 1, 1), as_core(x, shape[[1]], shape[[2]])), dim = shape)
}

# Where an assignment goes, as positions in x; NULL where x has to grow for it.
replaced_positions <- function(x, index) {
  if (!has_traced(index)) {
    pos <- call_values(base::`[`, c(list(positions(x)), index, list(drop = FALSE)))
    if (!anyNA(pos)) as.double(as.vector(pos))
  } else if (length(index) == 1L) {
    trunc_index(relabel(index[[1]], dim = NULL))
  } else {
    relabel(dynamic_positions(x, index)$index, dim = NULL)
  }
}

replace_at <- function(x, at, value, type, several) {
  size <- tr_length(at)
  if (size == 0) {
    return(x)
  }
  if (tr_length(value) == 0) {
    stop("replacement has length zero", call. = FALSE)
  }
  if (several && size %% tr_length(value) != 0) {
    stop("number of items to replace is not a multiple of replacement length", call. = FALSE)
  }
  emit("assign", list(x, as_core(at, size, 1), stretch(relabel_vector(value), c(size, 1))),
       like = x, type = type)
}

# Assignment beyond the end makes a vector longer.
grow <- function(x, index, value) {
  if (length(index) != 1L || !is.null(tr_dim(x)) || anyNA(index[[1]])) {
    stop("subscript out of bounds", call. = FALSE)
  }
  longer <- positions(x)
  longer[index[[1]]] <- 0L
  known <- longer
  known[!is.na(known) & known == 0L] <- NA
  known[index[[1]]] <- NA
  replace_elements(pick(x, known), index, value)
}
