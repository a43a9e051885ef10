# Distributions, and draws from R's random stream.

distributions <- list(
  norm = c(mean = 0, sd = 1), logis = c(location = 0, scale = 1), unif = c(min = 0, max = 1),
  gamma = c(shape = NA, scale = 1), beta = c(shape1 = NA, shape2 = NA), t = c(df = NA),
  chisq = c(df = NA), binom = c(size = NA, prob = NA), pois = c(lambda = NA), geom = c(prob = NA),
  nbinom = c(size = NA, prob = NA), lnorm = c(meanlog = 0, sdlog = 1),
  weibull = c(shape = NA, scale = 1), cauchy = c(location = 0, scale = 1),
  f = c(df1 = NA, df2 = NA), exp = c(scale = 1)
)

rules_random <- function() {
  rules <- list()
  for (name in names(distributions)) {
    for (kind in c("d", "p", "q")) {
      original <- get(paste0(kind, name), envir = asNamespace("stats"))
      rules[[paste0(kind, name)]] <- distribution_rule(original, kind, name)
    }
  }
  drawn <- c("runif", "rnorm", "rbinom", "rpois", "rexp", "rgamma", "rbeta", "rt", "rchisq",
             "rlogis", "rweibull", "rcauchy", "rgeom", "rnbinom", "rlnorm")
  for (name in drawn) {
    rules[[name]] <- draw_rule(get(name, envir = asNamespace("stats")), name)
  }
  list(stats = rules, base = list(
    sample = function(x, size, replace = FALSE, prob = NULL) {
      n <- if (tr_length(x) == 1) concrete(x, "The number of elements to sample") else tr_length(x)
      size <- if (missing(size)) n else concrete(size, "The size of a sample")
      if (tr_length(x) == 1) {
        return(draw_index(n, size, replace, prob))
      }
      at <- draw_index(n, size, replace, prob)
      emit("gather", list(x, at), type = tr_type(x))
    },
    sample.int = function(n, size = n, replace = FALSE, prob = NULL, ...) {
      n <- concrete(n, "The number of elements to sample")
      draw_index(n, concrete(size, "The size of a sample"), replace, prob)
    }
  ))
}

draw_index <- function(n, size, replace, prob) {
  host_call(function(n, size, replace, prob) sample.int(n, size, replace, prob),
            list(n, size, replace, prob), "integer", length = size, random = TRUE)
}

draw_rule <- function(original, name) {
  force(original)
  type <- if (name %in% c("rbinom", "rpois", "rgeom", "rnbinom")) "integer" else "double"
  function(n, ...) {
    size <- if (tr_length(n) > 1) tr_length(n) else concrete(n, "The number of draws")
    host_call(original, c(list(size), list(...)), type, length = size, random = TRUE)
  }
}

# A distribution's function with R's arguments, as an op over recycled operands.
distribution_rule <- function(original, kind, name) {
  force(original)
  force(kind)
  force(name)
  answer <- function(values) {
    if (!has_traced(values)) {
      return(do.call(original, values, quote = TRUE))
    }
    op <- if (name == "norm" && kind == "p") "pnorm3" else paste0(kind, name)
    traced_distribution(op, distributions[[name]], kind, values)
  }
  rule <- function() answer(lapply(as.list(match.call())[-1], eval, parent.frame()))
  formals(rule) <- formals(original)
  rule
}

traced_distribution <- function(op, parameters, kind, values) {
  if (!is.null(values$rate)) {
    values$scale <- trace_arith("div", 1, values$rate)
  }
  flag <- function(name, default) {
    as.numeric(if (is.null(values[[name]])) default else values[[name]])
  }
  if (!is.null(values$ncp)) {
    capture_error("Distributions of traced values take no `ncp`.")
  }
  operands <- c(values[[1]], lapply(names(parameters), function(name) {
    if (!is.null(values[[name]])) values[[name]] else parameters[[name]]
  }))
  if (anyNA(vapply(operands[-1], function(x) is_traced(x) || !is.na(x[1]), NA))) {
    stop("a parameter of the distribution is missing", call. = FALSE)
  }
  attrs <- if (kind == "d") {
    flag("log", FALSE)
  } else {
    c(flag("lower.tail", TRUE), flag("log.p", FALSE))
  }
  sizes <- vapply(operands, tr_length, numeric(1))
  # Attributes are those of the first operand that has the length of the result.
  size <- if (any(sizes == 0)) 0 else max(sizes)
  like <- operands[[which(sizes == size)[[1]]]]
  shape <- core_shape(like)
  emit(op, lapply(operands, stretch, shape), attrs, like = like)
}
