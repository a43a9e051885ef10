# Functions that put values together, take them apart, or ask and change what
# they are. R's own functions work on the positions of the elements; the values
# follow.

rules_shape <- function() {
  list(base = c(combine_rules(), queries_rules(), attributes_rules(), fill_rules()))
}

combine_rules <- function() {
  list(
    c = function(...) combine_rule(base::c, list(...)),
    cbind = function(..., deparse.level = 1) {
      bind_rule(base::cbind, list(...), eval(substitute(alist(...))), deparse.level)
    },
    rbind = function(..., deparse.level = 1) {
      bind_rule(base::rbind, list(...), eval(substitute(alist(...))), deparse.level)
    },
    append = function(x, values, after = length(x)) {
      if (!any_traced(x, values)) {
        return(append(x, values, after))
      }
      combined(function(parts) append(parts[[1]], parts[[2]], min(after, length(parts[[1]]))),
               list(x, values))
    },
    unlist = function(x, recursive = TRUE, use.names = TRUE) {
      if (is_traced(x) || !has_traced(x)) {
        return(if (is_traced(x)) x else unlist(x, recursive, use.names))
      }
      leaves <- list()
      numbered <- rapply_positions(x, function(leaf) {
        leaves[[length(leaves) + 1L]] <<- leaf
        length(leaves)
      })
      combined(function(parts) unlist(place_parts(numbered, parts), TRUE, use.names), leaves)
    }
  )
}

combine_rule <- function(original, args) {
  if (!has_traced(args)) {
    return(do.call(original, args, quote = TRUE))
  }
  lists <- vapply(args, function(x) is.list(x) || is.function(x), logical(1))
  if (any(lists)) {
    args[!lists] <- lapply(args[!lists], function(x) if (is_traced(x)) list(x) else as.list(x))
    return(do.call(original, args, quote = TRUE))
  }
  args <- Filter(Negate(is.null), args)
  combined(function(parts) do.call(original, parts), args)
}

# `how` puts positions together as R would the values; `parts` are the values.
combined <- function(how, parts) {
  type <- highest_type(parts)
  sizes <- vapply(parts, tr_length, numeric(1))
  starts <- cumsum(c(0, sizes))[seq_along(sizes)]
  places <- Map(function(part, start) positions(part) + as.integer(start), parts, starts)
  if (any(vapply(parts, function(part) !is.null(tr_names(part)), NA))) {
    places <- Map(function(place, part) {
      attributes(place) <- attributes(positions(part))
      place
    }, places, parts)
  }
  pos <- how(places)
  pick(if (length(parts) == 1L) relabel(parts[[1]], dim = NULL, type = type) else
    emit("concat", unname(parts), type = type), pos)
}

bind_rule <- function(original, args, exprs, deparse_level) {
  if (!has_traced(args)) {
    return(do.call(original, c(args, deparse.level = deparse_level), quote = TRUE))
  }
  given <- bound_names(args, exprs, deparse_level)
  there <- !vapply(args, is.null, NA)
  parts <- args[there]
  given <- given[there]
  combined(function(places) {
    names(places) <- given
    do.call(original, c(places, deparse.level = 0))
  }, parts)
}

# The names of what is bound: given ones, or taken from the expressions of vectors.
bound_names <- function(args, exprs, deparse_level) {
  given <- names2(args)
  if (length(exprs) != length(args)) {
    return(given)
  }
  for (k in which(given == "")) {
    named <- deparse_level == 2 || (deparse_level == 1 && is.symbol(exprs[[k]]))
    if (named && length(tr_dim(args[[k]])) != 2L) {
      given[[k]] <- paste(deparse(exprs[[k]]), collapse = "")
    }
  }
  given
}

rapply_positions <- function(x, f) {
  if (is_plain_list(x)) {
    x[] <- lapply(x, rapply_positions, f)
    x
  } else {
    f(x)
  }
}

place_parts <- function(numbered, parts) {
  rapply_positions(numbered, function(k) parts[[k]])
}

queries_rules <- function() {
  # A question to one argument, by R's name for it.
  asks <- function(original, f) {
    force(original)
    force(f)
    rule <- function(x) if (is_traced(x)) f(x) else original(x)
    name <- names(formals(args(original)))[[1]]
    formals(rule) <- stats::setNames(formals(rule), name)
    body(rule) <- do.call(substitute, list(body(rule), list(x = as.symbol(name))))
    rule
  }
  matrix_like <- function(x) length(tr_dim(x)) == 2L
  size <- function(x) {
    n <- tr_length(x)
    if (n <= .Machine$integer.max) as.integer(n) else n
  }
  list(
    length = asks(base::length, size),
    dim = asks(base::dim, tr_dim),
    nrow = asks(base::nrow, function(x) tr_dim(x)[1L]),
    ncol = asks(base::ncol, function(x) tr_dim(x)[2L]),
    NROW = asks(base::NROW, function(x) if (is.null(tr_dim(x))) size(x) else tr_dim(x)[1L]),
    NCOL = asks(base::NCOL, function(x) if (length(tr_dim(x)) > 1L) tr_dim(x)[2L] else 1L),
    seq_along = asks(base::seq_along, function(x) seq_len(tr_length(x))),
    lengths = function(x, use.names = TRUE) {
      sizes <- if (is_traced(x)) rep(1L, tr_length(x)) else vapply(x, size, integer(1))
      if (use.names) stats::setNames(sizes, names(x)) else unname(sizes)
    },
    names = asks(base::names, function(x) {
      names_matter()
      if (is.null(tr_dim(x))) tr_names(x)
    }),
    dimnames = asks(base::dimnames, function(x) {
      names_matter()
      if (!is.null(tr_dim(x))) tr_names(x)
    }),
    rownames = function(x, do.NULL = TRUE, prefix = "row") {
      names_matter()
      if (is_traced(x)) rownames(positions(x), do.NULL, prefix) else rownames(x, do.NULL, prefix)
    },
    colnames = function(x, do.NULL = TRUE, prefix = "col") {
      names_matter()
      if (is_traced(x)) colnames(positions(x), do.NULL, prefix) else colnames(x, do.NULL, prefix)
    },
    is.numeric = asks(base::is.numeric, function(x) tr_type(x) != "logical"),
    is.double = asks(base::is.double, function(x) tr_type(x) == "double"),
    is.integer = asks(base::is.integer, function(x) tr_type(x) == "integer"),
    is.logical = asks(base::is.logical, function(x) tr_type(x) == "logical"),
    is.matrix = asks(base::is.matrix, matrix_like),
    is.array = asks(base::is.array, function(x) !is.null(tr_dim(x))),
    is.null = asks(base::is.null, function(x) FALSE),
    is.object = asks(base::is.object, function(x) FALSE),
    is.data.frame = asks(base::is.data.frame, function(x) FALSE),
    is.factor = asks(base::is.factor, function(x) FALSE),
    is.complex = asks(base::is.complex, function(x) FALSE),
    is.atomic = asks(base::is.atomic, function(x) TRUE),
    is.vector = function(x, mode = "any") {
      if (is_traced(x)) is.vector(like_value(x), mode) else is.vector(x, mode)
    },
    typeof = asks(base::typeof, tr_type),
    mode = asks(base::mode, function(x) mode(like_value(x))),
    storage.mode = asks(base::storage.mode, tr_type),
    class = asks(base::class, function(x) class(like_value(x))),
    inherits = function(x, what, which = FALSE) {
      inherits(if (is_traced(x)) like_value(x) else x, what, which)
    },
    anyNA = function(x, recursive = FALSE) {
      if (is_traced(x)) emit("any", list(trace_math("is_na", x, "logical")), type = "logical") else
        anyNA(x, recursive)
    }
  )
}

# A value of the type, dimensions and names of x.
like_value <- function(x) {
  value <- positions(x)
  storage.mode(value) <- tr_type(x)
  value
}

attributes_rules <- function() {
  moved <- function(original) {
    force(original)
    function(x, value) {
      if (!is_traced(x)) {
        return(original(x, value))
      }
      value <- concrete(value, "A name or dimension")
      pick(x, original(positions(x), value))
    }
  }
  typed <- function(original, type) {
    force(original)
    force(type)
    function(x, ...) {
      if (!is_traced(x)) original(x, ...) else convert(x, type)
    }
  }
  list(
    `dim<-` = moved(base::`dim<-`),
    `names<-` = moved(base::`names<-`),
    `dimnames<-` = moved(base::`dimnames<-`),
    `rownames<-` = moved(base::`rownames<-`),
    `colnames<-` = moved(base::`colnames<-`),
    unname = function(obj, force = FALSE) {
      if (is_traced(obj)) relabel(obj) else unname(obj, force)
    },
    as.numeric = typed(base::as.numeric, "double"),
    as.integer = typed(base::as.integer, "integer"),
    as.logical = typed(base::as.logical, "logical"),
    as.vector = function(x, mode = "any") {
      if (!is_traced(x)) {
        return(as.vector(x, mode))
      }
      switch(mode, any = relabel(x, dim = NULL, names = if (is.null(tr_dim(x))) NULL),
             numeric = , double = convert(x, "double"), integer = convert(x, "integer"),
             logical = convert(x, "logical"), list = as_list_of(x), no_rule("as.vector"))
    },
    as.list = function(x, ...) if (is_traced(x)) as_list_of(x) else as.list(x, ...),
    as.matrix = function(x, ...) {
      if (is_traced(x)) pick(x, as.matrix(positions(x))) else as.matrix(x, ...)
    },
    as.array = function(x, ...) {
      if (is_traced(x)) pick(x, as.array(positions(x))) else as.array(x, ...)
    },
    drop = function(x) if (is_traced(x)) pick(x, drop(positions(x))) else drop(x),
    `storage.mode<-` = function(x, value) {
      if (!is_traced(x)) {
        return(`storage.mode<-`(x, value))
      }
      relabel(convert(x, value), dim = tr_dim(x), names = tr_names(x))
    }
  )
}

convert <- function(x, type) {
  from <- tr_type(x)
  if (type == "integer" && from == "double") {
    x <- trace_math("int_range", trace_math("trunc", x), "integer")
  } else if (type == "logical" && from != "logical") {
    x <- trace_arith("ne", x, 0)
  }
  relabel(x, dim = NULL, type = type)
}

as_list_of <- function(x) {
  stats::setNames(lapply(seq_len(tr_length(x)), function(i) relabel(pick(x, i), names = NULL)),
                  if (is.null(tr_dim(x))) tr_names(x))
}

fill_rules <- function() {
  known <- function(original) {
    force(original)
    function(...) {
      args <- lapply(list(...), concrete, "A length")
      do.call(original, args)
    }
  }
  rearranged <- function(original) {
    force(original)
    function(x, ...) {
      args <- lapply(list(...), concrete, "How elements are repeated or moved")
      if (is_traced(x)) pick(x, do.call(original, c(list(positions(x)), args))) else
        do.call(original, c(list(x), args))
    }
  }
  list(
    seq_len = known(base::seq_len),
    seq = known(base::seq),
    seq.int = known(base::seq.int),
    `:` = function(from, to) {
      concrete(from, "The start of a sequence"):concrete(to, "The end of a sequence")
    },
    numeric = known(base::numeric),
    integer = known(base::integer),
    logical = known(base::logical),
    double = known(base::double),
    vector = known(base::vector),
    rep = rearranged(base::rep),
    rep_len = rearranged(base::rep_len),
    rep.int = rearranged(base::rep.int),
    rev = rearranged(base::rev),
    aperm = rearranged(base::aperm),
    which = function(x, arr.ind = FALSE, useNames = TRUE) {
      which(concrete(x, "What which() looks at"), arr.ind, useNames)
    },
    diff = function(x, ...) {
      if (is_traced(x)) traced_diff(x, ...) else diff(x, ...)
    },
    matrix = function(data = NA, nrow = 1, ncol = 1, byrow = FALSE, dimnames = NULL) {
      sizes <- list()
      if (!missing(nrow)) sizes$nrow <- concrete(nrow, "The number of rows")
      if (!missing(ncol)) sizes$ncol <- concrete(ncol, "The number of columns")
      given <- c(sizes, list(byrow = concrete(byrow, "`byrow`"), dimnames = dimnames))
      if (!is_traced(data)) {
        return(do.call(matrix, c(list(data), given), quote = TRUE))
      }
      pick(data, do.call(matrix, c(list(as.vector(positions(data))), given), quote = TRUE))
    },
    array = function(data = NA, dim = length(data), dimnames = NULL) {
      dim <- concrete(dim, "The dimensions of an array")
      if (!is_traced(data)) {
        return(array(data, dim, dimnames))
      }
      pick(data, array(as.vector(positions(data)), dim, dimnames))
    },
    ifelse = function(test, yes, no) {
      if (!is_traced(test) && !any_traced(yes, no)) {
        return(ifelse(test, yes, no))
      }
      traced_ifelse(test, yes, no)
    }
  )
}

traced_ifelse <- function(test, yes, no) {
  shape <- core_shape(test)
  size <- tr_length(test)
  take <- function(x) {
    stretch(if (tr_length(x) > max(size, 1)) pick(x, seq_len(size)) else x, shape)
  }
  mask <- if (is_traced(test)) test else as.double(as.logical(test))
  value <- emit("where", list(as_core(mask, shape[[1]], shape[[2]]), take(yes), take(no)),
                type = highest_type(list(yes, no)), dim = shape)
  relabel(value, dim = tr_dim(test), names = tr_names(test))
}

traced_diff <- function(x, lag = 1L, differences = 1L, ...) {
  for (k in seq_len(differences)) {
    n <- if (is.null(tr_dim(x))) tr_length(x) else tr_dim(x)[[1]]
    rows <- positions(x)
    later <- if (is.null(tr_dim(x))) rows[-seq_len(lag)] else rows[-seq_len(lag), , drop = FALSE]
    early <- if (is.null(tr_dim(x))) rows[seq_len(max(n - lag, 0))] else
      rows[seq_len(max(n - lag, 0)), , drop = FALSE]
    x <- trace_arith("sub", pick(x, later), pick(x, early))
  }
  x
}
