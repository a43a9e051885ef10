# Arithmetic, comparison and logic: the operators, by the names that R has for
# them.

rules_arith <- function() {
  names <- c(`*` = "mul", `/` = "div", `^` = "pow", `%%` = "mod", `%/%` = "idiv",
             `==` = "eq", `!=` = "ne", `<` = "lt", `<=` = "le", `>` = "gt", `>=` = "ge",
             `&` = "and", `|` = "or")
  operators <- lapply(stats::setNames(nm = names(names)), function(name) {
    binary_rule(get(name, envir = baseenv()), names[[name]])
  })
  list(base = c(operators, list(
    `+` = sign_rule(base::`+`, "add", identity),
    `-` = sign_rule(base::`-`, "sub", function(x) trace_math("neg", x, "")),
    `!` = function(x) {
      if (is_traced(x)) trace_math("not", x, "logical") else !x
    },
    `::` = function(pkg, name) {
      f <- getExportedValue(as.character(substitute(pkg)), as.character(substitute(name)))
      if (is.function(f)) shadow_function(f) else f
    },
    getOption = function(x, default = NULL) {
      current <- trace_state$current
      current$options[x] <- list(getOption(x))
      getOption(x, default)
    },
    options = function(...) {
      args <- list(...)
      reads <- length(args) > 0L && is.null(names(args)) && all(vapply(args, is.character, NA))
      if (!reads) {
        changes_outside("options()")
      }
      values <- base::options(...)  # nolint: undesirable_function_linter. It only reads.
      trace_state$current$options[unlist(args)] <- values[unlist(args)]
      values
    },
    set.seed = function(seed, kind = NULL, normal.kind = NULL, sample.kind = NULL) {
      changes_outside("set.seed()")
    },
    assign = function(x, value, pos = -1, envir = as.environment(pos), inherits = FALSE,
                      immediate = TRUE) {
      frame <- parent.frame()
      if (!missing(pos) || (!missing(envir) && !identical(envir, frame))) {
        changes_outside("assign() into another environment")
      }
      base::assign(x, value, envir = frame)
    },
    Sys.setenv = function(...) changes_outside("Sys.setenv()"),
    Sys.setlocale = function(category = "LC_ALL", locale = "") changes_outside("Sys.setlocale()"),
    attach = function(...) changes_outside("attach()"),
    library = function(...) changes_outside("library()")
  )))
}

binary_rule <- function(original, op) {
  force(original)
  force(op)
  function(e1, e2) {
    if (is_traced(e1) || is_traced(e2)) trace_arith(op, e1, e2) else original(e1, e2)
  }
}

# `+` and `-`, which take one operand or two.
sign_rule <- function(original, op, alone) {
  function(e1, e2) {
    if (missing(e2)) {
      return(if (is_traced(e1)) alone(e1) else original(e1))
    }
    if (is_traced(e1) || is_traced(e2)) trace_arith(op, e1, e2) else original(e1, e2)
  }
}

changes_outside <- function(what) {
  capture_error(
    paste0(what, " changes what lies outside the traced function."),
    hint = "Do it before the compiled function is called."
  )
}
