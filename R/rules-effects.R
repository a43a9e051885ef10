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
      host_call(function(...) base::warning(..., call. = FALSE), list(...))
      invisible(NULL)
    },
    stop = function(..., call. = TRUE, domain = NULL) {
      if (trace_depth_impl() > 1L) {
        host_call(function(...) base::stop(..., call. = FALSE), list(...))
        diverge()
      }
      if (any_traced(...)) {
        capture_error("stop() with a traced message ends the trace.",
                      hint = "Give stop() a text that does not depend on traced values.")
      }
      base::stop(..., call. = FALSE)
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

check_holds <- function(value, text, named) {
  if (!(is.logical(value) && !anyNA(value) && all(value))) {
    base::stop(if (named) text else failed_text(value, text), call. = FALSE)
  }
}

failed_text <- function(value, text) {
  if (is.logical(value) && length(value) > 1L) paste(text, "are not all TRUE") else
    paste(text, "is not TRUE")
}
