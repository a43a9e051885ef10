# Reductions: of everything, of rows, of columns, and running ones.

rules_reduce <- function() {
  list(
    base = list(
      sum = function(..., na.rm = FALSE) {
        if (!any_traced(...)) {
          return(sum(..., na.rm = na.rm))
        }
        x <- all_elements(list(...))
        type <- if (tr_type(x) == "double") "double" else "integer"
        if (na.rm) {
          x <- emit("where", list(trace_math("is_na", x, "logical"), 0, x), type = type)
        }
        whole_number(emit("sum", list(x), type = type))
      },
      prod = function(..., na.rm = FALSE) {
        if (!any_traced(...)) {
          return(prod(..., na.rm = na.rm))
        }
        x <- all_elements(list(...))
        if (na.rm) {
          x <- emit("where", list(trace_math("is_na", x, "logical"), 1, x))
        }
        emit("prod", list(x))
      },
      mean = function(x, ...) {
        if (!is_traced(x)) {
          return(mean(x, ...))
        }
        traced_mean(x, ...)
      },
      max = extreme_rule(base::max, "max", -Inf),
      min = extreme_rule(base::min, "min", Inf),
      range = function(..., na.rm = FALSE) {
        if (!any_traced(...)) {
          return(range(..., na.rm = na.rm))
        }
        x <- list(...)
        ends <- list(traced_extreme(x, na.rm, "min", Inf), traced_extreme(x, na.rm, "max", -Inf))
        emit("concat", ends, type = tr_type(ends[[1]]))
      },
      all = logical_rule(base::all, "all", 1),
      any = logical_rule(base::any, "any", 0),
      which.max = which_rule(base::which.max, "which_max"),
      which.min = which_rule(base::which.min, "which_min"),
      pmax = pairwise_rule(base::pmax, "pmax"),
      pmin = pairwise_rule(base::pmin, "pmin"),
      rowSums = line_rule(base::rowSums, "row_sums", TRUE),
      colSums = line_rule(base::colSums, "col_sums", FALSE),
      rowMeans = line_rule(base::rowMeans, "row_means", TRUE),
      colMeans = line_rule(base::colMeans, "col_means", FALSE),
      cumsum = running_rule(base::cumsum, "cumsum", TRUE),
      cumprod = running_rule(base::cumprod, "cumprod", FALSE),
      cummax = running_rule(base::cummax, "cummax", TRUE),
      cummin = running_rule(base::cummin, "cummin", TRUE),
      order = function(..., na.last = TRUE, decreasing = FALSE, method = NULL) {
        if (!any_traced(...)) {
          return(order(..., na.last = na.last, decreasing = decreasing))
        }
        if (...length() > 1L || !isTRUE(na.last)) {
          capture_error("order() of traced values takes one key and puts missing ones last.")
        }
        emit("order", list(..1), as.numeric(decreasing), type = "integer")
      }
    ),
    stats = list(
      var = function(x, y = NULL, na.rm = FALSE, use) {
        if (!any_traced(x, y)) {
          return(if (missing(use)) stats::var(x, y, na.rm) else stats::var(x, y, na.rm, use))
        }
        plain <- is.null(y) && length(tr_dim(x)) < 2L && !na.rm && missing(use)
        if (plain) emit("var", list(x)) else covariance(x, if (is.null(y)) x else y)
      },
      sd = function(x, na.rm = FALSE) {
        if (!is_traced(x)) {
          return(stats::sd(x, na.rm))
        }
        if (na.rm) {
          capture_error("sd() of traced values does not take na.rm = TRUE.")
        }
        trace_math("sqrt", emit("var", list(x)))
      }
    )
  )
}

# All arguments of a reduction as one vector of the highest type.
all_elements <- function(args) {
  args <- lapply(args, function(x) {
    if (is.list(x)) {
      stop("invalid 'type' (list) of argument", call. = FALSE)
    }
    relabel_vector(x)
  })
  if (length(args) == 1L) {
    return(args[[1]])
  }
  emit("concat", args, type = highest_type(args))
}

highest_type <- function(values) {
  types <- vapply(values, tr_type, "")
  if (length(types) == 0L || anyNA(type_ranks[types])) {
    capture_error("Traced values go together with numbers and logicals only.")
  }
  names(type_ranks)[[max(type_ranks[types])]]
}

whole_number <- function(x) {
  if (tr_type(x) == "integer") trace_math("int_range", x, "integer") else x
}

traced_mean <- function(x, trim = 0, na.rm = FALSE, ...) {
  if (trim > 0) {
    capture_error("mean() of traced values does not trim.")
  }
  if (!na.rm) {
    return(emit("mean", list(x)))
  }
  missing <- trace_math("is_na", x, "logical")
  total <- emit("sum", list(emit("where", list(missing, 0, x))))
  trace_arith("div", total, emit("sum", list(trace_math("not", missing, "logical"))))
}

extreme_rule <- function(original, op, none) {
  force(original)
  force(op)
  force(none)
  function(..., na.rm = FALSE) {
    if (any_traced(...)) {
      traced_extreme(list(...), na.rm, op, none)
    } else {
      original(..., na.rm = na.rm)
    }
  }
}

traced_extreme <- function(args, na.rm, op, none) {
  x <- all_elements(args)
  type <- if (tr_type(x) == "double" || tr_length(x) == 0) "double" else "integer"
  if (na.rm) {
    x <- emit("where", list(trace_math("is_na", x, "logical"), none, x), type = type)
  }
  emit(op, list(x), type = type)
}

logical_rule <- function(original, op, neutral) {
  force(original)
  force(op)
  force(neutral)
  function(..., na.rm = FALSE) {
    if (!any_traced(...)) {
      return(original(..., na.rm = na.rm))
    }
    x <- all_elements(list(...))
    if (na.rm) {
      x <- emit("where", list(trace_math("is_na", x, "logical"), neutral, x), type = "logical")
    }
    emit(op, list(x), type = "logical")
  }
}

which_rule <- function(original, op) {
  force(original)
  force(op)
  function(x) {
    if (!is_traced(x)) {
      return(original(x))
    }
    if (!is.null(tr_names(x)) && is.null(tr_dim(x))) {
      capture_error(paste0("The name that ", sub("_", ".", op), "() gives depends on the values."),
                    hint = "Use unname() on its argument.")
    }
    emit(op, list(x), type = "integer")
  }
}

pairwise_rule <- function(original, op) {
  force(original)
  force(op)
  function(..., na.rm = FALSE) {
    if (!any_traced(...)) {
      return(original(..., na.rm = na.rm))
    }
    args <- list(...)
    if (length(args) == 1L) {
      return(args[[1]])
    }
    if (na.rm) {
      capture_error(paste0(op, "() of traced values does not take na.rm = TRUE."))
    }
    combine <- function(x, y) {
      type <- highest_type(list(x, y))
      elementwise2(op, x, y, if (type == "logical") "integer" else type)
    }
    value <- Reduce(combine, args)
    sizes <- vapply(args, tr_length, numeric(1))
    size <- if (any(sizes == 0)) 0 else max(sizes)
    first <- args[[1]]
    # R keeps the attributes of the first argument.
    if (tr_length(first) == size) {
      relabel(value, dim = tr_dim(first), names = tr_names(first))
    } else {
      relabel(value, dim = NULL)
    }
  }
}

line_rule <- function(original, op, rows) {
  force(original)
  force(op)
  force(rows)
  function(x, na.rm = FALSE, dims = 1L) {
    if (!is_traced(x)) {
      return(original(x, na.rm, dims))
    }
    if (length(tr_dim(x)) != 2L || dims != 1L || na.rm) {
      if (length(tr_dim(x)) < 2L) {
        stop("'x' must be an array of at least two dimensions", call. = FALSE)
      }
      capture_error(paste0(sub("_s", "S", sub("_m", "M", op)),
                           "() of traced values takes a matrix, without na.rm."))
    }
    emit(op, list(x), names = tr_names(x)[[if (rows) 1L else 2L]])
  }
}

running_rule <- function(original, op, integers) {
  force(original)
  force(op)
  force(integers)
  function(x) {
    if (!is_traced(x)) {
      return(original(x))
    }
    names <- if (is.null(tr_dim(x))) tr_names(x)
    type <- if (integers && tr_type(x) != "double") "integer" else "double"
    whole_number(relabel(emit(op, list(x), type = type), dim = NULL, names = names))
  }
}

# The covariance of columns, of centred values.
covariance <- function(x, y) {
  centred <- function(x) {
    m <- if (is.null(tr_dim(x))) as_core(x, tr_length(x), 1) else x
    shape <- core_shape(m)
    mean <- as_core(emit("col_means", list(m)), 1, shape[[2]])
    emit("sub", list(m, mean), dim = shape)
  }
  n <- core_shape(x)[[1]]
  product <- emit("matmul", list(centred(x), centred(y)), c(1, 0),
                  dim = c(core_shape(x)[[2]], core_shape(y)[[2]]))
  value <- trace_arith("div", product, n - 1)
  names <- list(if (!is.null(tr_dim(x))) tr_names(x)[[2]],
                if (!is.null(tr_dim(y))) tr_names(y)[[2]])
  vectors <- is.null(tr_dim(x)) && is.null(tr_dim(y))
  relabel(value, dim = if (!vectors) tr_dim(value),
          names = if (!vectors && !all(vapply(names, is.null, NA))) names)
}
