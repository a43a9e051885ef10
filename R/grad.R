#' The gradient of a function
#'
#' `jit_grad()` gives a function of the same arguments as `func` that computes the
#' gradient of its result by reverse-mode differentiation of the traced graph.
#'
#' @param func An R function that gives one number, or a compiled one
#'   ([jit_trace()]).
#' @param wrt Names or numbers of the arguments to differentiate by; by default
#'   every numeric argument that is given.
#' @return A function that gives a list, named by argument, of arrays in the shape
#'   of the arguments.
#' @section At kinks and ties:
#' The derivative of `abs()` and of `relu()` at 0 is 0; that of `max()` and `min()`
#' is shared evenly by equal elements, that of `pmax()` and `pmin()` by the two
#' operands.
#' @section Errors:
#' `moriejit_capture_error` where the function can't be traced or does not give one
#' number, `moriejit_unsupported_error` where an operation has no derivative.
#' @references Griewank, A. and Walther, A. (2008), Evaluating Derivatives, SIAM,
#'   chapter 3.
#' @export
#' @examples
#' g <- jit_grad(function(x, y) sum(x * y^2))
#' g(x = 1:3 / 2, y = c(1, 2, 3))
jit_grad <- function(func, wrt = NULL) {
  state <- new_state(as_traceable(func), "default", FALSE, "double")
  state$wrt <- list(wrt)
  as_jit_function(state)
}

# What a gradient gives: for each argument asked for, the shape of its leaves.
gradient_spec <- function(out, bound, wrt) {
  if (!is_traced(out) || tr_length(out) != 1) {
    capture_error("A function must give one number to have a gradient.",
                  paste0("It gives ", describe_traced(out), "."))
  }
  args <- bound[vapply(bound, function(arg) has_leaf(arg$spec), logical(1))]
  if (!is.null(wrt)) {
    names <- if (is.character(wrt)) wrt else names(bound)[wrt]
    bad <- setdiff(names, names(args))
    if (length(bad) > 0L) {
      capture_error("`wrt` must name arguments that are numeric.",
                    paste0("`", bad[[1]], "` is not."))
    }
    args <- args[names]
  }
  list(kind = "list", value = list(names = names(args)),
       children = unname(lapply(args, function(arg) gradient_leaf(arg$value))))
}

gradient_leaf <- function(value) {
  if (is_plain_list(value)) {
    value <- Filter(has_traced, value)
    list(kind = "list", value = attributes(value), children = unname(lapply(value, gradient_leaf)))
  } else {
    list(kind = "leaf", value = relabel(value, names = tr_names(value), type = "double"))
  }
}

has_leaf <- function(spec) {
  spec$kind == "leaf" || any(vapply(spec$children, has_leaf, logical(1)))
}

describe_traced <- function(x) {
  if (!is_traced(x)) {
    return(describe(x))
  }
  dims <- tr_dim(x)
  paste0(tr_type(x), "[", if (is.null(dims)) tr_length(x) else paste(dims, collapse = ", "), "]")
}
