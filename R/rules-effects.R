# What a program does beside computing: conditions, printing, checks.

rules_effects <- function() {
  effect <- function(original) {
    force(original)
    function(...) {
      host_call(original, list(...))
      invisible(NULL)
    }
  }
  list(base = list(
    cat = effect(base::cat),
    message = effect(base::message),
    print = function(x, ...) {
      host_call(base::print, list(x, ...))
      invisible(x)
    },
    warning = function(..., call. = TRUE, immediate. = FALSE, noBreaks. = FALSE, domain = NULL) {
      host_call(signaller(base::warning), list(...))
      invisible(NULL)
    },
    stop = function(..., call. = TRUE, domain = NULL) {
      if (trace_depth_impl() > 1L) {
        host_call(signaller(base::stop), list(...))
        diverge()
      }
      if (any_traced(...)) {
        capture_error("stop() with a traced message ends the trace.",
                      hint = "Give stop() a text that does not depend on traced values.")
      }
      signaller(base::stop)(...)
    },
    stopifnot = function(..., exprs, exprObject, local = TRUE) {
      exprs <- as.list(substitute(list(...)))[-1]
      for (k in seq_along(exprs)) {
        value <- ...elt(k)
        text <- if (is.null(names(exprs)) || names(exprs)[[k]] == "") {
          paste0(paste(deparse(exprs[[k]]), collapse = " "))
        } else {
          names(exprs)[[k]]
        }
        if (is_traced(value)) {
          named <- !is.null(names(exprs)) && names(exprs)[[k]] != ""
          host_call(check_holds, list(value, text, named))
        } else if (!(is.logical(value) && !anyNA(value) && all(value))) {
          base::stop(failed_text(value, text), call. = FALSE)
        }
      }
      invisible(NULL)
    }
  ))
}

# Handlers run while the function is traced. What happens when its program runs
# is out of their reach, so nothing that they would see may happen then.
rules_handlers <- function() {
  muffling <- function(original) {
    force(original)
    function(expr, ...) {
      current <- trace_state$current
      around <- current$around
      current$around <- c(around, list(original))
      on.exit(current$around <- around)
      original(expr, ...)
    }
  }
  list(base = list(
    tryCatch = function(expr, ..., finally) {
      handling(base::tryCatch(expr, ..., finally = finally), ...names())
    },
    withCallingHandlers = function(expr, ...) {
      handling(base::withCallingHandlers(expr, ...), ...names())
    },
    try = function(expr, silent = FALSE, ...) {
      handling(base::try(expr, silent, ...), "error")
    },
    suppressWarnings = muffling(base::suppressWarnings),
    suppressMessages = muffling(base::suppressMessages)
  ))
}

# `value` is evaluated under handlers of these classes of conditions.
handling <- function(value, classes) {
  before <- trace_counts_impl()
  force(value)
  added <- trace_counts_impl() - before
  warns <- any(classes %in% c("warning", "simpleWarning", "condition")) && added[["ops"]] > 0
  if (length(classes) > 0L && (warns || added[["risky"]] > 0)) {
    capture_error(
      "A handler can't catch what happens when a compiled function runs.",
      if (added[["risky"]] > 0) {
        "What it stands around may fail, or calls R."
      } else {
        "Compiled code gives none of the warnings that R gives about values."
      },
      "Put the handler around the call of the compiled function."
    )
  }
  value
}

# Gives a condition without the call, which would be one of a rule.
signaller <- function(original) {
  force(original)
  function(...) {
    if (...length() == 1L && inherits(..1, "condition")) original(..1) else
      original(..., call. = FALSE)
  }
}

check_holds <- function(value, text, named) {
  if (!(is.logical(value) && !anyNA(value) && all(value))) {
    base::stop(if (named) text else failed_text(value, text), call. = FALSE)
  }
}

failed_text <- function(value, text) {
  if (is.logical(value) && length(value) > 1L) paste(text, "are not all TRUE") else
    paste(text, "is not TRUE")
}
