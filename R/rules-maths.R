# Functions of each element: mathematical functions, rounding, tests.

rules_maths <- function() {
  always_double <- c("exp", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan",
                     "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinpi", "cospi", "tanpi",
                     "gamma", "lgamma", "digamma", "trigamma", "floor", "ceiling")
  base <- lapply(stats::setNames(nm = always_double), function(name) {
    math_rule(get(name, envir = baseenv()), name, "double")
  })
  two <- c("beta", "lbeta", "choose", "lchoose", "atan2")
  base[two] <- lapply(two, function(name) two_rule(get(name, envir = baseenv()), name))
  base$log2 <- math_rule(base::log2, "log2", "double")
  base$log10 <- math_rule(base::log10, "log10", "double")
  base$trunc <- function(x, ...) if (is_traced(x)) trace_math("trunc", x) else trunc(x, ...)
  base$abs <- math_rule(base::abs, "abs", "")
  base$sign <- math_rule(base::sign, "sign", "double")
  base$log <- function(x, base = exp(1)) {
    if (!any_traced(x, base)) {
      return(if (missing(base)) log(x) else log(x, base))
    }
    if (missing(base)) trace_math("log", x) else elementwise2("log_base", x, base)
  }
  base$round <- rounding_rule(base::round, "round", 0)
  base$signif <- rounding_rule(base::signif, "signif", 6)
  base$factorial <- function(x) {
    if (is_traced(x)) trace_math("gamma", trace_arith("add", x, 1)) else factorial(x)
  }
  base$xor <- function(x, y) {
    if (any_traced(x, y)) elementwise2("xor", x, y, "logical") else xor(x, y)
  }
  base$isTRUE <- function(x) {
    if (!is_traced(x)) {
      return(isTRUE(x))
    }
    tr_type(x) == "logical" && tr_length(x) == 1 &&
      concrete(x, "What isTRUE() looks at")
  }
  for (name in c("is.na", "is.nan", "is.finite", "is.infinite")) {
    base[[name]] <- test_rule(get(name, envir = baseenv()), sub(".", "_", name, fixed = TRUE))
  }
  list(base = base)
}

math_rule <- function(original, op, type) {
  force(original)
  force(op)
  force(type)
  function(x) if (is_traced(x)) trace_math(op, x, type) else original(x)
}

test_rule <- function(original, op) {
  force(original)
  force(op)
  function(x) if (is_traced(x)) trace_math(op, x, "logical") else original(x)
}

# A function of two operands that recycle; it keeps attributes as arithmetic does.
elementwise2 <- function(op, x, y, type = "double") {
  names <- trace_arith("add", x, y)
  shape <- core_shape(names)
  emit(op, list(stretch(x, shape), stretch(y, shape)), type = type, like = names)
}

# An operand as an operand of an elementwise op of this shape: the whole, or one number.
stretch <- function(x, shape) {
  size <- tr_length(x)
  if (size == 1) {
    return(as_core(x, 1, 1))
  }
  if (size == prod(shape)) {
    return(as_core(x, shape[[1]], shape[[2]]))
  }
  emit("recycle", list(x), shape, dim = shape)
}

two_rule <- function(original, op) {
  force(original)
  force(op)
  rule <- function(x, y) if (any_traced(x, y)) elementwise2(op, x, y) else original(x, y)
  formals(rule) <- stats::setNames(formals(rule), names(formals(original)))
  arguments <- lapply(names(formals(original)), as.symbol)
  body(rule) <- bquote(
    if (any_traced(.(arguments[[1]]), .(arguments[[2]]))) {
      elementwise2(op, .(arguments[[1]]), .(arguments[[2]]))
    } else {
      original(.(arguments[[1]]), .(arguments[[2]]))
    }
  )
  rule
}

rounding_rule <- function(original, op, default) {
  force(original)
  force(op)
  function(x, digits = default, ...) {
    if (!any_traced(x, digits)) {
      return(original(x, digits))
    }
    keeps <- tr_type(x) != "double" && !is_traced(digits) && op == "round" && digits >= 0
    if (keeps) relabel(x, names = tr_names(x), type = "integer") else elementwise2(op, x, digits)
  }
}
