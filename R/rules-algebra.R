# Matrix algebra.

rules_algebra <- function() {
  list(base = list(
    `%*%` = function(x, y) {
      if (any_traced(x, y)) traced_product(x, y, FALSE, FALSE) else x %*% y
    },
    crossprod = function(x, y = NULL) {
      if (any_traced(x, y)) traced_product(x, if (is.null(y)) x else y, TRUE, FALSE) else
        crossprod(x, y)
    },
    tcrossprod = function(x, y = NULL) {
      if (any_traced(x, y)) traced_product(x, if (is.null(y)) x else y, FALSE, TRUE) else
        tcrossprod(x, y)
    },
    t = function(x) {
      if (!is_traced(x)) {
        return(t(x))
      }
      if (length(tr_dim(x)) != 2L) {
        return(pick(x, t(positions(x))))
      }
      names <- tr_names(x)
      emit("transpose", list(x), type = tr_type(x), dim = rev(tr_dim(x)),
           names = if (!is.null(names)) rev(names))
    },
    outer = function(X, Y, FUN = "*", ...) {
      if (!any_traced(X, Y)) {
        return(outer(X, Y, FUN, ...))
      }
      traced_outer(X, Y, shadow_function(match.fun(FUN)), ...)
    },
    `%o%` = function(X, Y) {
      if (any_traced(X, Y)) traced_outer(X, Y, shadow_function(base::`*`)) else outer(X, Y)
    },
    diag = function(x = 1, nrow, ncol, names = TRUE) {
      if (!is_traced(x)) {
        given <- list(x)
        if (!missing(nrow)) given$nrow <- concrete(nrow, "The number of rows")
        if (!missing(ncol)) given$ncol <- concrete(ncol, "The number of columns")
        return(do.call(diag, given))
      }
      if (length(tr_dim(x)) == 2L) {
        return(pick(x, diag(positions(x), names = names)))
      }
      if (tr_length(x) == 1 && missing(nrow)) {
        return(diag(concrete(x, "The size of a diagonal matrix")))
      }
      rows <- if (missing(nrow)) tr_length(x) else nrow
      cols <- if (missing(ncol)) rows else ncol
      place <- diag(seq_len(tr_length(x)), rows, cols)
      filled <- pick(x, as.vector(place[row(place) == col(place)]))
      assign_diagonal(matrix(0, rows, cols), filled)
    },
    `diag<-` = function(x, value) {
      if (!any_traced(x, value)) {
        return(`diag<-`(x, value))
      }
      size <- min(tr_dim(x))
      if (tr_length(value) != 1 && tr_length(value) != size) {
        stop("replacement diagonal has wrong length", call. = FALSE)
      }
      assign_diagonal(x, value)
    },
    solve = function(a, b, ...) {
      if (missing(b)) {
        if (is_traced(a)) traced_solve(a) else solve(a, ...)
      } else if (any_traced(a, b)) {
        traced_solve(a, b)
      } else {
        solve(a, b, ...)
      }
    },
    chol = function(x, ...) {
      if (!is_traced(x)) {
        return(chol(x, ...))
      }
      names <- tr_names(x)
      emit("chol", list(square(x)), dim = core_shape(x),
           names = if (!is.null(names)) list(names[[1]], names[[2]]))
    },
    chol2inv = function(x, size = NCOL(x), LINPACK = FALSE) {
      if (!is_traced(x)) {
        return(chol2inv(x, size))
      }
      if (is.null(tr_dim(x))) {
        return(trace_arith("div", 1, trace_arith("mul", x, x)))
      }
      emit("chol2inv", list(x), dim = tr_dim(x))
    },
    backsolve = function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE) {
      if (!any_traced(r, x)) {
        return(backsolve(r, x, upper.tri = upper.tri, transpose = transpose))
      }
      traced_triangle(r, x, upper.tri, transpose)
    },
    forwardsolve = function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
      if (!any_traced(l, x)) {
        return(forwardsolve(l, x, upper.tri = upper.tri, transpose = transpose))
      }
      traced_triangle(l, x, upper.tri, transpose)
    },
    det = function(x, ...) {
      if (!is_traced(x)) {
        return(det(x, ...))
      }
      check_square(x)
      trace_arith("mul", emit("det_sign", list(x)), trace_math("exp", emit("det_log", list(x))))
    },
    determinant = function(x, logarithm = TRUE, ...) {
      if (!is_traced(x)) {
        return(determinant(x, logarithm, ...))
      }
      check_square(x)
      modulus <- emit("det_log", list(x))
      list(modulus = if (logarithm) modulus else trace_math("exp", modulus),
           sign = emit("det_sign", list(x), type = "integer"))
    },
    row = function(x, ...) if (is_traced(x)) row(positions(x), ...) else row(x, ...),
    col = function(x, ...) if (is_traced(x)) col(positions(x), ...) else col(x, ...),
    upper.tri = function(x, diag = FALSE) upper.tri(if (is_traced(x)) positions(x) else x, diag),
    lower.tri = function(x, diag = FALSE) lower.tri(if (is_traced(x)) positions(x) else x, diag)
  ))
}

# R's rules of what a vector is in a product.
product_shapes <- function(x, y, tx, ty) {
  xd <- tr_dim(x)
  yd <- tr_dim(y)
  if (length(xd) == 2L && length(yd) == 2L) {
    list(xd, yd)
  } else if (length(xd) == 2L) {
    list(xd, vector_shape(tr_length(y), xd[[if (tx) 1L else 2L]], column = !ty))
  } else if (length(yd) == 2L) {
    list(vector_shape(tr_length(x), yd[[if (ty) 2L else 1L]], column = tx), yd)
  } else if (tx || ty) {
    list(c(tr_length(x), 1), c(tr_length(y), 1))
  } else {
    vectors_shapes(tr_length(x), tr_length(y))
  }
}

# A vector next to a matrix lies along its inner dimension, of size `inner`, where it can.
vector_shape <- function(n, inner, column) {
  if ((n == inner) == column) c(n, 1) else c(1, n)
}

vectors_shapes <- function(nx, ny) {
  if (nx == ny) {
    list(c(1, nx), c(ny, 1))
  } else if (ny == 1) {
    list(c(nx, 1), c(1, 1))
  } else if (nx == 1) {
    list(c(1, 1), c(1, ny))
  } else {
    list(c(1, nx), c(ny, 1))
  }
}

traced_product <- function(x, y, tx, ty) {
  shapes <- product_shapes(x, y, tx, ty)
  inner <- c(shapes[[1]][[if (tx) 1 else 2]], shapes[[2]][[if (ty) 2 else 1]])
  if (inner[[1]] != inner[[2]]) {
    stop("non-conformable arguments", call. = FALSE)
  }
  a <- as_core(x, shapes[[1]][[1]], shapes[[1]][[2]])
  b <- as_core(y, shapes[[2]][[1]], shapes[[2]][[2]])
  names <- list(line_names(x, if (tx) 2L else 1L), line_names(y, if (ty) 1L else 2L))
  emit("matmul", list(a, b), c(tx, ty),
       dim = c(shapes[[1]][[if (tx) 2 else 1]], shapes[[2]][[if (ty) 1 else 2]]),
       names = if (!all(vapply(names, is.null, NA))) names)
}

line_names <- function(x, which) {
  if (length(tr_dim(x)) == 2L) tr_names(x)[[which]]
}

traced_outer <- function(x, y, f, ...) {
  dims <- c(if (is.null(tr_dim(x))) tr_length(x) else tr_dim(x),
            if (is.null(tr_dim(y))) tr_length(y) else tr_dim(y))
  names <- if (is.null(tr_dim(x)) && is.null(tr_dim(y))) list(tr_names(x), tr_names(y))
  nx <- tr_length(x)
  ny <- tr_length(y)
  at <- seq_len(nx * ny)
  value <- f(pick(x, (at - 1L) %% nx + 1L), pick(y, (at - 1L) %/% nx + 1L), ...)
  if (tr_length(value) != nx * ny) {
    stop("dims [product ", nx * ny, "] do not match the length of object [", tr_length(value), "]",
         call. = FALSE)
  }
  relabel(value, dim = dims, names = if (!all(vapply(names, is.null, NA))) names)
}

assign_diagonal <- function(x, value) {
  dims <- tr_dim(x)
  size <- min(dims)
  at <- (seq_len(size) - 1) * dims[[1]] + seq_len(size)
  type <- highest_type(list(x, value))
  emit("assign", list(x, matrix(as.double(at), size, 1), stretch(value, c(size, 1))),
       like = x, type = type)
}

check_square <- function(x) {
  dims <- tr_dim(x)
  if (length(dims) != 2L || dims[[1]] != dims[[2]]) {
    stop("'a' must be a square matrix", call. = FALSE)
  }
}

square <- function(x) {
  if (is.null(tr_dim(x))) {
    return(as_core(x, 1, tr_length(x)))
  }
  check_square(x)
  x
}

traced_solve <- function(a, b) {
  if (is.null(tr_dim(a))) {
    a <- as_core(a, tr_length(a), 1)
  }
  check_square(a)
  n <- tr_dim(a)[[1]]
  names <- tr_names(a)
  if (missing(b)) {
    return(emit("solve", list(a, base::diag(n)), dim = c(n, n),
                names = if (!is.null(names)) list(names[[2]], names[[1]])))
  }
  vector <- is.null(tr_dim(b))
  rows <- if (vector) tr_length(b) else tr_dim(b)[[1]]
  if (rows != n) {
    stop(sprintf("'b' (%d x %d) must be compatible with 'a' (%d x %d)", as.integer(rows),
                 as.integer(if (vector) 1L else tr_dim(b)[[2]]), n, n), call. = FALSE)
  }
  value <- emit("solve", list(a, as_core(b, rows, tr_length(b) / rows)),
                dim = if (!vector) tr_dim(b))
  both <- list(names[[2]], if (!vector) tr_names(b)[[2]])
  if (vector) {
    relabel(value, dim = NULL, names = names[[2]])
  } else {
    relabel(value, names = if (!all(vapply(both, is.null, NA))) both)
  }
}

traced_triangle <- function(r, x, upper, transpose) {
  vector <- is.null(tr_dim(x))
  rows <- if (vector) tr_length(x) else tr_dim(x)[[1]]
  if (rows < tr_dim(r)[[2]]) {
    stop("invalid argument values in 'backsolve'", call. = FALSE)
  }
  value <- emit("tri_solve", list(r, as_core(x, rows, tr_length(x) / rows)), c(upper, transpose),
                dim = if (!vector) tr_dim(x))
  if (vector) relabel(value, dim = NULL) else value
}
