#' Keep an R function as it is inside a compiled one
#'
#' `jit_callback()` marks a function that [jit_trace()] must not look into: it
#' becomes one node of the graph, which calls the R function when the program runs,
#' once a call and in the order of the program. Its conditions (errors, warnings,
#' messages) pass through.
#'
#' @param fun A function of numeric arguments that gives a numeric vector or array.
#' @param shape What it gives: `NULL` for the shape of its first argument, the length
#'   of a vector, the dimensions of an array, or a function that computes one of these
#'   from the shapes of the arguments (lengths or dimensions).
#' @param type The type of what it gives.
#' @param gradient `NULL`, or a function of the first argument and the gradient of the
#'   result that gives the gradient of that argument.
#' @return A function like `fun` that can be called in traced functions and elsewhere.
#' @section Errors: `moriejit_callable_error` where `fun` gives another type or shape
#'   than stated.
#' @export
#' @examples
#' smooth <- jit_callback(function(x) stats::lowess(x)$y)
#' f <- jit_trace(function(x) sum((x - smooth(x))^2), c(1, 3, 2, 4))
#' f(c(1, 3, 2, 4))
jit_callback <- function(fun, shape = NULL, type = c("double", "integer", "logical"),
                         gradient = NULL) {
  type <- rlang::arg_match(type)
  if (!is.function(fun)) {
    abort_moriejit("param", c("`fun` must be a function.",
                              x = paste0("It is ", describe(fun), ".")))
  }
  if (!is.null(gradient) && !is.function(gradient)) {
    abort_moriejit("param", c("`gradient` must be a function or NULL.",
                              x = paste0("It is ", describe(gradient), ".")))
  }
  callback <- function(...) {
    if (is.null(trace_state$current)) {
      return(fun(...))
    }
    args <- list(...)
    dim <- callback_shape(shape, args)
    if (length(dim) == 1L) {
      host_call(fun, args, type, length = dim, gradient = gradient)
    } else {
      host_call(fun, args, type, dim = dim, gradient = gradient)
    }
  }
  attr(callback, "jit_rule") <- "callback"
  callback
}

callback_shape <- function(shape, args) {
  shapes <- lapply(args, function(x) if (is.null(tr_dim(x))) tr_length(x) else tr_dim(x))
  if (is.function(shape)) {
    shape <- do.call(shape, shapes)
  } else if (is.null(shape)) {
    if (length(shapes) == 0L) {
      capture_error("A callback without arguments needs `shape`.")
    }
    shape <- shapes[[1]]
  }
  if (!is.numeric(shape) || length(shape) == 0L || anyNA(shape) || any(shape < 0)) {
    capture_error("`shape` of a callback must be a length or dimensions.",
                  paste0("It is ", describe(shape), "."))
  }
  shape
}
