# The body of a function, rewritten so that it can be traced: control flow goes
# through functions that the trace supplies, and `return`, `break` and `next`
# inside branches become plain nesting. On values that are not traced the
# rewritten body does what the original does.

# An expression in which every call of control flow is one of the trace's own.
# `used`: whether somebody looks at its value.
rewrite <- function(expr, used = TRUE) {
  if (!is.call(expr)) {
    return(expr)
  }
  head <- expr[[1]]
  name <- if (is.symbol(head)) as.character(head) else ""
  rule <- rewrite_rules[[name]]
  if (is.null(rule)) rewrite_parts(expr) else rule(expr, used)
}

rewrite_parts <- function(expr) {
  for (i in seq_along(expr)) {
    if (is.call(expr[[i]])) {  # an argument that is left out can't be given a name
      expr[[i]] <- rewrite(expr[[i]])
    }
  }
  expr
}

internal <- function(name, ...) as.call(c(list(as.symbol(name)), list(...)))

quoted <- function(expr) call("quote", expr)

rewrite_if <- function(expr, used) {
  expr[[2]] <- rewrite(expr[[2]])
  for (i in seq_along(expr)[-(1:2)]) {
    if (is.call(expr[[i]])) {
      expr[[i]] <- rewrite(expr[[i]], used)
    }
  }
  expr[[1]] <- as.symbol(if (used) "jit:if" else "jit:when")
  expr
}

rewrite_block <- function(expr, used) {
  lines <- attr(expr, "srcref")
  parts <- as.list(expr)[-1]
  out <- list(as.symbol("{"))
  for (k in seq_along(parts)) {
    if (!is.null(lines) && is.call(parts[[k]])) {
      out <- c(out, list(internal("jit:at", line_of(lines[[k + 1L]]))))
    }
    out <- c(out, list(rewrite(parts[[k]], used && k == length(parts))))
  }
  as.call(out)
}

line_of <- function(srcref) {
  list(number = srcref[[1]], text = trimws(as.character(srcref)[[1]]))
}

# The variable is assigned by the body, so that it stays as it is when the loop is left.
rewrite_for <- function(expr, used) {
  item <- as.symbol(paste0(".item", new_loop_id()))
  loop <- flatten_loop(block(list(call("<-", expr[[2]], item), expr[[4]])))
  body <- rewrite(loop$body, FALSE)
  over <- internal("jit:for", rewrite(expr[[3]]), as.character(expr[[2]]), as.character(item),
                   loop$left, quoted(body))
  loop$wrap(call("for", item, over, loop$inside(body)))
}

rewrite_while <- function(expr, used) {
  endless <- identical(expr[[1]], as.symbol("repeat"))
  loop <- flatten_loop(if (endless) expr[[2]] else expr[[3]])
  condition <- loop$condition(if (endless) TRUE else expr[[2]])
  body <- rewrite(loop$body, FALSE)
  again <- internal("jit:while", quoted(rewrite(condition)), quoted(body), new_loop_id())
  loop$wrap(call("while", again, body))
}

new_loop_id <- function() {
  trace_state$loop_id <- (if (is.null(trace_state$loop_id)) 0 else trace_state$loop_id) + 1
  as.character(trace_state$loop_id)
}

rewrite_switch <- function(expr, used) {
  expr <- rewrite_parts(expr)
  if (length(expr) > 1L) {
    expr[[2]] <- internal("jit:known", expr[[2]])
  }
  expr
}

rewrite_function <- function(expr, used) {
  parts <- expr[[2]]
  for (i in seq_along(parts)) {
    if (is.call(parts[[i]])) {
      parts[[i]] <- rewrite(parts[[i]])
    }
  }
  call("function", parts, rewrite_body(expr[[3]]))
}

# The body of a function: `return` at the end of a branch is the branch's value.
rewrite_body <- function(body) {
  if (leaves_branch(body, "return")) {
    body <- settle(list(body), settle_return)
  }
  rewrite(body)
}

rewrite_named <- function(name) {
  force(name)
  function(expr, used) {
    expr <- rewrite_parts(expr)
    expr[[1]] <- as.symbol(name)
    expr
  }
}

rewrite_super <- function(expr, used) {
  internal("jit:super", quoted(expr[[2]]), rewrite(expr[[3]]))
}

rewrite_internal <- function(expr, used) {
  internal("jit:internal", quoted(rewrite_parts(expr)))
}

rewrite_rules <- list(
  `if` = rewrite_if,
  `for` = rewrite_for,
  `while` = rewrite_while,
  `repeat` = rewrite_while,
  `{` = rewrite_block,
  `switch` = rewrite_switch,
  `function` = rewrite_function,
  `&&` = rewrite_named("jit:and"),
  `||` = rewrite_named("jit:or"),
  `<<-` = rewrite_super,
  `.Internal` = rewrite_internal,
  `quote` = function(expr, used) expr,
  `bquote` = function(expr, used) expr,
  `~` = function(expr, used) expr
)

# `return`, `break` and `next` ------------------------------------------------

is_call_of <- function(expr, names) {
  is.call(expr) && is.symbol(expr[[1]]) && as.character(expr[[1]]) %in% names
}

# Whether a branch of an `if`, or a loop, leaves by one of the words.
leaves_branch <- function(expr, words, inside = FALSE) {
  if (!is.call(expr) || is_call_of(expr, c("function", "quote", "bquote"))) {
    return(FALSE)
  }
  if (is_call_of(expr, words)) {
    return(inside)
  }
  if (is_loop(expr)) {
    words <- setdiff(words, c("break", "next"))
    inside <- TRUE
  }
  if (length(words) == 0L) {
    return(FALSE)
  }
  inside <- inside || is_call_of(expr, c("if", "switch"))
  any(vapply(calls_in(expr), leaves_branch, NA, words, inside))
}

# The parts of a call that are calls. (An argument that is left out can't be given a name.)
calls_in <- function(expr) {
  parts <- as.list(expr)
  parts[vapply(parts, is.call, NA)]
}

mentions <- function(expr, words) leaves_branch(expr, words, inside = TRUE)

statements <- function(expr) {
  if (is_call_of(expr, "{")) as.list(expr)[-1] else list(expr)
}

block <- function(parts) as.call(c(list(as.symbol("{")), parts))

# Statements as one block in which what follows an `if` that may leave has moved
# into the branches that go on. `how` gives the words and what stands for them.
settle <- function(parts, how) {
  done <- list()
  while (length(parts) > 0L) {
    part <- parts[[1]]
    rest <- parts[-1]
    if (is_call_of(part, how$words)) {
      return(block(c(done, how$leave(part))))
    }
    if (is_call_of(part, "if") && mentions(part, how$words)) {
      return(block(c(done, list(split_branches(part, rest, how)))))
    }
    opened <- open_statement(part, how)
    done <- c(done, opened$done)
    parts <- c(opened$todo, rest)
  }
  block(done)
}

# What stands for a statement other than `if`: done with, or to be settled in turn.
open_statement <- function(part, how) {
  if (is_call_of(part, "{") && mentions(part, how$words)) {
    list(todo = statements(part))
  } else if (!is.null(how$loop) && is_loop(part) && mentions(part, "return")) {
    how$loop(part)
  } else {
    list(done = list(part))
  }
}

# An `if` of which a branch may leave; what follows it goes into both branches.
split_branches <- function(expr, rest, how) {
  other <- if (length(expr) == 4L) statements(expr[[4]]) else how$nothing
  call("if", expr[[2]], settle(c(statements(expr[[3]]), rest), how),
       settle(c(other, rest), how))
}

is_loop <- function(expr) is_call_of(expr, c("for", "while", "repeat"))

# A loop that may return: it breaks, and what follows asks whether it did.
loop_that_returns <- function(loop) {
  id <- new_loop_id()
  flag <- as.symbol(paste0(".returned", id))
  value <- as.symbol(paste0(".value", id))
  body <- length(loop)
  loop[[body]] <- substitute_return(loop[[body]], flag, value)
  list(
    done = list(call("<-", flag, FALSE), call("<-", value, internal("jit:nothing")), loop),
    todo = list(call("if", flag, call("return", value)))
  )
}

substitute_return <- function(expr, flag, value) {
  if (is_call_of(expr, "return")) {
    result <- if (length(expr) > 1L) expr[[2]] else NULL
    return(block(list(call("<-", value, result), call("<-", flag, TRUE), call("break"))))
  }
  if (is.call(expr) && !is_call_of(expr, "function")) {
    for (i in seq_along(expr)) {
      if (is.call(expr[[i]])) {
        expr[[i]] <- substitute_return(expr[[i]], flag, value)
      }
    }
  }
  expr
}

settle_return <- list(
  words = "return",
  leave = function(part) if (length(part) > 1L) list(part[[2]]) else list(NULL),
  nothing = list(),
  loop = loop_that_returns
)

# The body of a loop without `break` and `next` in its branches. `condition`
# adds to the loop's condition that it was not left; `inside` ends a `for`'s
# turn; `wrap` puts what must stand before the loop there.
flatten_loop <- function(body) {
  if (!leaves_branch(body, c("break", "next"))) {
    return(list(body = body, condition = identity, inside = identity, wrap = identity))
  }
  left <- as.symbol(paste0(".left", new_loop_id()))
  how <- list(
    words = c("break", "next"),
    leave = function(part) {
      if (is_call_of(part, "break")) list(call("<-", left, TRUE)) else list(NULL)
    },
    nothing = list()
  )
  go_on <- call("!", left)
  settled <- settle(list(body), how)
  list(
    left = as.character(left),
    body = call("if", go_on, settled),
    condition = function(condition) {
      if (isTRUE(condition)) go_on else call("&&", go_on, condition)
    },
    inside = function(body) {
      block(list(body, call("if", internal("jit:is_true", left), call("break"))))
    },
    wrap = function(loop) block(list(call("<-", left, FALSE), loop, NULL))
  )
}
