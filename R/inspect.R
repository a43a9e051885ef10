# What a compiled function shows of itself.

#' Look inside a compiled function
#'
#' A compiled function has two texts: `f$graph` is the captured graph after all
#' passes, `f$graph_for(...)` what runs for these arguments, in order, with fused
#' groups as one line each and spelled out once below. `print()` and `summary()` give
#' an overview, `as.function()` the program as plain R code.
#'
#' @param x A compiled function of [jit_trace()].
#' @param name `graph` or `graph_for`; a call of `f$graph_for()` takes arguments as
#'   a call of `f` does.
#' @return `$graph` and `$graph_for()` give a `jit_graph` (see [jit_graph()]).
#' @section Errors: `moriejit_input_error` where the function has not been traced yet.
#' @name jit_function
#' @examples
#' f <- jit_trace(function(x, y) sqrt(x * x + y * y), c(3, 1), c(4, 1))
#' f
#' f$graph
#' f$graph_for(c(3, 1), c(4, 1))
NULL

#' @rdname jit_function
#' @export
`$.jit_function` <- function(x, name) {
  state <- jit_state(x)
  switch(name,
    graph = as_graph_text(jit_text_impl(state, "optimised")),
    graph_for = function(...) {
      jit_prepare_impl(state, with_formals(state, quote(jit_arguments_impl))(...))
      as_graph_text(jit_text_impl(state, "plan"))
    },
    abort_moriejit("input", c("A compiled function has `graph` and `graph_for()`.",
                              x = paste0("There is no `", name, "`.")))
  )
}

as_graph_text <- function(text) structure(text, class = "jit_graph")

#' @export
print.jit_function <- function(x, ...) {
  state <- jit_state(x)
  arguments <- paste(names(formals(state$func)), collapse = ", ")
  cat("<jit_function (", arguments, ")>\n", sep = "")
  cat("mode ", state$mode, if (state$exact) ", exact", ", ", state$dtype, "\n", sep = "")
  if (!is_traced_once(state)) {
    cat("not traced yet\n")
    return(invisible(x))
  }
  facts <- jit_facts_impl(state)
  times <- length(state$log)
  cat("traced ", times, if (times == 1L) " time" else " times", ", last for ",
      signature_text(state), "\n", sep = "")
  cat(facts$before[["nodes"]], " ops captured, ", facts$after[["nodes"]], " after passes\n",
      sep = "")
  invisible(x)
}

is_traced_once <- function(state) has_native_impl(state) && length(state$log) > 0L

signature_text <- function(state) {
  args <- state$log[[length(state$log)]]$args
  paste0("(", paste0(names(args), ": ", unlist(args), collapse = ", "), ")")
}

#' What the compiler did, and why
#'
#' @param f A compiled function of [jit_trace()].
#' @return An object of class `jit_explanation`, a list of data frames: `passes` (what
#'   each changed, with its notes), `cost` (ops, scalar operations, bytes written
#'   before and after), `guards` (what must stay as it is for the program to hold) and
#'   `traces` (when the function was traced, for which arguments, and what had changed).
#' @export
#' @examples
#' f <- jit_trace(function(x) (x * 1 + 0) / 4, c(1, 2))
#' jit_explain(f)
jit_explain <- function(f) {
  state <- jit_state(check_jit_function(f))
  facts <- jit_facts_impl(state)
  guards <- rbind(
    guard_rows("argument", names(formals(state$func)), unlist(last_of(state$log)$args)),
    guard_rows("variable", unique(facts$captured), "as it is"),
    guard_rows("option", facts$options, "as it is"),
    guard_rows("value of", as.character(facts$notes$static), "as it is")
  )
  structure(list(
    passes = do.call(rbind, lapply(facts$passes, function(pass) {
      data.frame(pass = pass$pass, changed = pass$changed,
                 notes = paste(pass$notes, collapse = "; "))
    })),
    cost = rbind(before = facts$before, after = facts$after),
    guards = guards,
    traces = do.call(rbind, lapply(state$log, function(entry) {
      data.frame(args = paste(names(entry$args), unlist(entry$args), sep = ": ", collapse = ", "),
                 changed = paste(entry$captured, collapse = ", "))
    })),
    refreshes = facts$refreshes
  ), class = "jit_explanation")
}

last_of <- function(x) x[[length(x)]]

guard_rows <- function(kind, name, must_be) {
  if (length(name) > 0L) data.frame(kind = kind, name = name, must_be = must_be)
}

check_jit_function <- function(f) {
  if (inherits(f, "jit_function")) {
    return(f)
  }
  abort_moriejit("input", c("`f` must be a compiled function, as jit_trace() gives it.",
                            x = paste0("It is ", describe(f), ".")))
}

#' @export
print.jit_explanation <- function(x, ...) {
  cat("Passes\n")
  changed <- x$passes[x$passes$changed | nzchar(x$passes$notes), ]
  for (k in seq_len(nrow(changed))) {
    cat("  ", format(changed$pass[[k]], width = 24), changed$notes[[k]], "\n", sep = "")
  }
  if (nrow(changed) == 0L) {
    cat("  nothing to change\n")
  }
  cat("Cost\n")
  print(x$cost)
  cat("Guards\n")
  for (k in seq_len(NROW(x$guards))) {
    cat("  ", x$guards$kind[[k]], " ", x$guards$name[[k]], ": ", x$guards$must_be[[k]], "\n",
        sep = "")
  }
  cat("Traces\n")
  for (k in seq_len(NROW(x$traces))) {
    changed <- x$traces$changed[[k]]
    cat("  ", k, ". ", x$traces$args[[k]], if (nzchar(changed)) paste0(" (changed: ", changed, ")"),
        "\n", sep = "")
  }
  if (x$refreshes > 0) {
    cat("Captured arrays took new values ", x$refreshes, " times without a new trace.\n", sep = "")
  }
  invisible(x)
}

#' @export
summary.jit_function <- function(object, ...) {
  facts <- jit_facts_impl(jit_state(object))
  count <- function(graph) table(graph$label[graph$kind == "op"])
  structure(list(captured = count(facts$captured_graph), optimised = count(facts$graph),
                 cost = rbind(before = facts$before, after = facts$after)),
            class = "jit_summary")
}

#' @export
print.jit_summary <- function(x, ...) {
  ops <- union(names(x$captured), names(x$optimised))
  count <- function(table) ifelse(ops %in% names(table), table[ops], 0L)
  print(data.frame(op = ops, captured = as.integer(count(x$captured)),
                   after_passes = as.integer(count(x$optimised))), row.names = FALSE)
  print(x$cost)
  invisible(x)
}

#' Compare a compiled function with plain R
#'
#' Calls the R function and the compiled one with the same arguments and the same
#' random stream.
#'
#' @param f A compiled function of [jit_trace()].
#' @param ... Arguments as in a call of `f`.
#' @param tolerance The largest relative difference that counts as equal.
#' @return A list of class `jit_verification`: `equal`, `max_difference` (relative to
#'   the larger of 1 and the expected value), `expected` and `found`.
#' @export
#' @examples
#' f <- jit_trace(function(x) exp(x) / sum(exp(x)), c(1, 2, 3))
#' jit_verify(f, c(0.5, 1, -1))
jit_verify <- function(f, ..., tolerance = 1e-10) {
  state <- jit_state(check_jit_function(f))
  seed <- get0(".Random.seed", globalenv(), inherits = FALSE)
  expected <- state$func(...)
  after <- get0(".Random.seed", globalenv(), inherits = FALSE)
  if (!identical(seed, after)) {
    if (is.null(seed)) {
      rm(".Random.seed", envir = globalenv())
    } else {
      assign(".Random.seed", seed, envir = globalenv())
    }
  }
  found <- f(...)
  difference <- largest_difference(expected, found)
  same_kind <- identical(shape_of_value(expected), shape_of_value(found))
  structure(list(equal = same_kind && isTRUE(difference <= tolerance),
                 max_difference = difference, same_shape = same_kind, expected = expected,
                 found = found), class = "jit_verification")
}

shape_of_value <- function(x) {
  if (is_plain_list(x)) {
    c(list(attributes(x)), lapply(x, shape_of_value))
  } else {
    list(typeof(x), length(x), attributes(x))
  }
}

largest_difference <- function(expected, found) {
  a <- unlist(expected)
  b <- unlist(found)
  if (length(a) != length(b) || !is.numeric(a) && !is.logical(a)) {
    return(if (identical(a, b)) 0 else Inf)
  }
  if (!identical(is.na(a), is.na(b))) {
    return(Inf)
  }
  there <- !is.na(a) & a != b
  if (any(there)) max(abs(a[there] - b[there]) / pmax(1, abs(a[there]))) else 0
}

#' @export
print.jit_verification <- function(x, ...) {
  cat(if (x$equal) "equal" else "different", ", largest relative difference ",
      format(x$max_difference, digits = 3), if (!x$same_shape) ", type or shape differs", "\n",
      sep = "")
  invisible(x)
}
