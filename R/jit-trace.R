#' Compile an R function, an op list or a fitted model
#'
#' `jit_trace()` runs `func` once with stand-ins for its arguments, records what
#' it computes as a graph, optimises the graph, and gives a function that is
#' called like `func` and computes the same in compiled code.
#'
#' What is recorded holds for arguments of the same types and shapes. When an
#' argument has another type, shape or (where it is not a number) value, or when
#' a variable or option that `func` read has changed, the function is traced
#' again; [jit_explain()] says when and why. `if`, `while` and `for` on values
#' that are only known at run time are kept as such.
#'
#' Functions in R code that can be traced: arithmetic, comparison and logic, the
#' mathematical functions, sums and other reductions, matrix algebra, indexing
#' and assignment, `apply()` and its relatives, distributions and random draws,
#' the activations of this package, and every R function that is made of these.
#' A function that is not needs [jit_callback()].
#'
#' @param func An R function, an op list, or a model that [as_op_list()] knows.
#' @param ... Example inputs, matched as a call of `func` would match them.
#'   Without any, the first call is traced. Numeric and logical vectors and
#'   arrays (also in lists) are inputs; everything else is a setting for which
#'   the program is specialised.
#' @param mode `"default"` runs every pass that keeps the results and fuses;
#'   `"reduce-overhead"` also keeps all memory between calls; `"max-autotune"`
#'   also times alternatives.
#' @param exact `FALSE` lets products be taken in another order and affine layers
#'   be folded, so that results differ by rounding; `TRUE` keeps every
#'   operation as written.
#' @param dtype `"double"`, or `"float"`: every operation is rounded to single
#'   precision.
#' @param training For op lists: whether dropout drops; by default each op says so
#'   itself.
#' @return A function of class `jit_function` with the arguments of `func`. It
#'   can be saved with [saveRDS()] and used in other processes.
#'   `f$graph` is the text of the captured graph after optimisation,
#'   `f$graph_for(...)` that of the program for given arguments.
#' @section Errors: `moriejit_capture_error` where `func` can't be traced, with
#'   the line and what to write instead.
#' @seealso [jit_explain()], [jit_verify()], [jit_callback()]
#' @export
#' @examples
#' f <- jit_trace(function(x, w) sum((x %*% w)^2), matrix(1, 2, 3), matrix(1, 3, 2))
#' f(matrix(1:6, 2), matrix(0.5, 3, 2))
jit_trace <- function(func, ..., mode = c("default", "reduce-overhead", "max-autotune"),
                      exact = FALSE, dtype = c("double", "float"), training = NULL) {
  mode <- rlang::arg_match(mode)
  dtype <- rlang::arg_match(dtype)
  check_flag(exact = exact)
  if (!is.null(training)) {
    check_flag(training = training)
  }
  state <- new_state(as_traceable(func, training), mode, exact, dtype)
  if (...length() > 0L) {
    probe <- with_formals(state, quote(jit_arguments_impl))
    jit_retrace(state, stats::setNames(probe(...), names(formals(state$func))))
  }
  as_jit_function(state)
}

# A setting that must be TRUE or FALSE, by its name.
check_flag <- function(...) {
  if (!rlang::is_bool(..1)) {
    abort_moriejit("param", c(paste0("`", ...names(), "` must be TRUE or FALSE."),
                              x = paste0("It is ", describe(..1), ".")), call = user_frame())
  }
}

new_state <- function(func, mode, exact, dtype) {
  state <- new.env(parent = emptyenv())
  state$func <- func
  state$symbols <- lapply(names(formals(func)), as.symbol)
  state$mode <- mode
  state$exact <- exact
  state$dtype <- dtype
  state$limit <- 16L
  state$log <- list()
  state
}

as_traceable <- function(func, training = NULL) {
  if (inherits(func, "jit_function")) {
    jit_state(func)$func
  } else if (is.primitive(func)) {
    rlang::as_closure(func)
  } else if (is.function(func)) {
    func
  } else {
    op_list_function(func, training)
  }
}

# A function of the same arguments, without defaults, that hands its frame on.
with_formals <- function(state, native) {
  args <- lapply(formals(state$func), function(default) rlang::missing_arg())
  body <- as.call(list(native, state, as.call(list(base::environment))))
  rlang::new_function(args, body, env = topenv())
}

as_jit_function <- function(state) {
  structure(with_formals(state, quote(jit_call_impl)), class = "jit_function")
}

jit_state <- function(f) body(unclass(f))[[2]]
