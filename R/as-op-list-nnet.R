# Nets of nnet::nnet() as op lists: what as_op_list() needs to know of their weights.

# Units are numbered 0 (the constant 1), then inputs, hidden units, outputs: x$n has their counts.
# x$nconn[j + 1] weights precede those that lead into unit j; x$conn holds for each weight the unit
# that it comes from. A net of one hidden layer, unit by unit, is thus
#   each hidden unit: the constant, then the inputs; each output: the constant, then hidden units
# so that x$wts is two matrices, one after the other, with one column for each receiving unit.
layered_connections <- function(n) {
  hidden <- n[[1L]] + seq_len(n[[2L]])
  list(
    conn = c(rep(c(0, seq_len(n[[1L]])), n[[2L]]), rep(c(0, hidden), n[[3L]])),
    incoming = c(rep(0, 1L + n[[1L]]), rep(1 + n[[1L]], n[[2L]]), rep(1 + n[[2L]], n[[3L]]))
  )
}

net_weights <- function(x) {
  n <- x$n
  n_hidden <- (n[[1L]] + 1) * n[[2L]]
  is_hidden <- seq_along(x$wts) <= n_hidden
  hidden <- matrix(x$wts[is_hidden], n[[1L]] + 1, n[[2L]])
  output <- matrix(x$wts[!is_hidden], n[[2L]] + 1, n[[3L]])
  if (!is.null(x$coefnames)) {
    rownames(hidden) <- c("(constant)", bare_names(x$coefnames))
  }
  colnames(output) <- colnames(x$fitted.values)
  list(hidden = hidden, output = output)
}

# Units from x$nsunits on are linear: with linout = TRUE, and with softmax, all the outputs.
net_output_ops <- function(x) {
  if (isTRUE(x$softmax)) {
    list(list(kind = "softmax"))
  } else if (x$nsunits < x$nunits) {
    list()
  } else {
    list(list(kind = "sigmoid"))
  }
}

check_net <- function(x, call) {
  problem <- net_problem(x)
  if (!is.null(problem)) {
    abort_moriejit(
      "unsupported",
      c("A net must lead from the inputs through one hidden layer to the outputs.", problem),
      call = call
    )
  }
}

net_problem <- function(x) {
  if (inherits(x, "multinom")) {
    return(c(
      x = "`x` is a fit of `multinom()`, which has no hidden layer.",
      i = "Its ops are `linear` and `bias` of its coefficients, a column of 0 first, and `softmax`."
    ))
  }
  if (isTRUE(x$censored)) {
    return(c(x = "`x` was fitted with `censored = TRUE`."))
  }
  if (x$n[[2L]] == 0) {
    return(c(x = "`x` has no hidden units (`size = 0`)."))
  }
  expected <- layered_connections(x$n)
  layered <- length(x$conn) == length(expected$conn) &&
    all(x$conn == expected$conn) &&
    all(diff(x$nconn) == expected$incoming)
  if (!layered) {
    return(c(
      x = "`x` has other connections.",
      i = "Fit it with `skip = FALSE`."
    ))
  }
  NULL
}
