#' Activations
#'
#' The activations of neural networks as plain R functions of numeric vectors and
#' matrices, in the numerically stable forms that compiled code uses. [jit_trace()]
#' keeps each as one operation.
#'
#' | function | value |
#' |---|---|
#' | `relu(x)` | `max(x, 0)`; `NaN`, `NA` and `-0` stay |
#' | `leaky_relu(x, negative_slope)` | `x` above 0, `negative_slope * x` below |
#' | `elu(x, alpha)` | `x` above 0, `alpha * (exp(x) - 1)` below |
#' | `gelu(x)` | `x * pnorm(x)` |
#' | `silu(x)` | `x * sigmoid(x)` |
#' | `sigmoid(x)` | `1 / (1 + exp(-x))` |
#' | `softplus(x)` | `log(1 + exp(x))` |
#' | `softmax(x)` | `exp(x)` divided by its sum, for each row |
#' | `log_softmax(x)` | the logarithm of `softmax(x)` |
#'
#' @param x A numeric vector or array. For `softmax()` and `log_softmax()` a matrix,
#'   of which each row is one distribution, or a vector, which is one row.
#' @param negative_slope,alpha Single numbers.
#' @return Numbers in the shape of `x`, with its names.
#' @section Errors: `moriejit_input_error` where `x` is not numeric.
#' @references Goodfellow, I., Bengio, Y. and Courville, A. (2016), Deep Learning,
#'   MIT Press, sections 6.2 and 6.3. Hendrycks, D. and Gimpel, K. (2016), Gaussian
#'   Error Linear Units, arXiv:1606.08415. Clevert, D.-A., Unterthiner, T. and
#'   Hochreiter, S. (2015), Exponential Linear Units, arXiv:1511.07289.
#' @name activations
#' @examples
#' relu(c(-1, 0, 2))
#' softmax(rbind(c(1, 2, 3), c(1000, 1000, 1000)))
#' f <- jit_trace(function(x, w) softmax(relu(x %*% w)), diag(2), matrix(1:4 / 4, 2))
#' f(diag(2), matrix(1:4 / 4, 2))
NULL

#' @rdname activations
#' @export
relu <- function(x) activation("relu", x)

#' @rdname activations
#' @export
leaky_relu <- function(x, negative_slope = 0.01) {
  activation("leaky_relu", x, negative_slope = negative_slope)
}

#' @rdname activations
#' @export
elu <- function(x, alpha = 1) activation("elu", x, alpha = alpha)

#' @rdname activations
#' @export
gelu <- function(x) activation("gelu", x)

#' @rdname activations
#' @export
silu <- function(x) activation("silu", x)

#' @rdname activations
#' @export
sigmoid <- function(x) activation("sigmoid", x)

#' @rdname activations
#' @export
softplus <- function(x) activation("softplus", x)

#' @rdname activations
#' @export
softmax <- function(x) row_activation("softmax", x)

#' @rdname activations
#' @export
log_softmax <- function(x) row_activation("log_softmax", x)

# Traced values get a node, plain ones are computed by the same kernel.
activation <- function(op, x, ...) {
  if (is_traced(x)) {
    return(emit(op, list(x), c(...), like = x))
  }
  plain_activation(op, x, as.matrix(as.vector(x)), ...)
}

row_activation <- function(op, x) {
  if (!is_traced(x)) {
    return(plain_activation(op, x, if (is.null(dim(x))) matrix(x, 1L) else x))
  }
  if (length(tr_dim(x)) == 2L) {
    return(emit(op, list(x), like = x))
  }
  row <- as_core(x, 1, tr_length(x))
  relabel(emit(op, list(row), like = row), dim = NULL, names = tr_names(x))
}

plain_activation <- function(op, x, rows, ...) {
  if (!is_countable(x) || is.object(x) || length(dim(rows)) != 2L) {
    abort_moriejit("input", c(paste0("`", op, "()` takes numbers."),
                              x = paste0("`x` is ", describe(x), ".")), call = user_frame())
  }
  value <- morie_geron_trace(list(list(kind = op, ...)), rows)$output
  attributes(value) <- attributes(x)
  value
}

rules_activations <- function() {
  # They ask themselves whether they are traced.
  names <- c("relu", "leaky_relu", "elu", "gelu", "silu", "sigmoid", "softplus", "softmax",
             "log_softmax")
  list(moriejit = mget(names, envir = topenv()))
}
