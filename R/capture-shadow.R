# Functions as the trace sees them. A traced function runs as a copy whose
# enclosing environment is shadowed: names of functions with a rule give the
# rule, the user's and the packages' own functions are copied in the same way
# when they are first called, and variables are recorded as they are read.

# The function that stands for `f` while a trace is under way.
shadow_function <- function(f, name = "this function") {
  if (!is.null(attr(f, "jit_rule"))) {
    return(f)
  }
  rule <- rule_of(f)
  if (!is.null(rule)) {
    return(rule)
  }
  if (is.primitive(f)) {
    return(guard_primitive(f, name))
  }
  if (is_left_alone(f)) {
    return(f)
  }
  instrument(f)
}

# The table of rules: for each name, the originals that have one.
rule_table <- function() {
  if (is.null(trace_state$rules)) {
    trace_state$rules <- build_rules()
  }
  trace_state$rules
}

build_rules <- function() {
  table <- new.env(parent = emptyenv())
  namespace <- topenv()
  families <- ls(namespace, pattern = "^rules_")
  for (family in families) {
    packages <- get(family, envir = namespace)()
    for (package in names(packages)) {
      for (name in names(packages[[package]])) {
        rule <- packages[[package]][[name]]
        attr(rule, "jit_rule") <- name
        original <- get(name, envir = asNamespace(package))
        table[[name]] <- c(table[[name]], list(list(original = original, rule = rule)))
      }
    }
  }
  table
}

rule_of <- function(f) {
  table <- rule_table()
  if (is.primitive(f)) {
    entries <- table[[primitive_name(f)]]
  } else {
    entries <- unlist(mget(ls(table, all.names = TRUE), envir = table), FALSE, FALSE)
  }
  for (entry in entries) {
    if (identical(entry$original, f)) {
      return(entry$rule)
    }
  }
  NULL
}

primitive_name <- function(f) {
  sub('^.*\\("(.*)"\\).*$', "\\1", format(f)[[1]])
}

# A rule by the name that the original was found under, which is quick.
rule_named <- function(name, f) {
  for (entry in rule_table()[[name]]) {
    if (identical(entry$original, f)) {
      return(entry$rule)
    }
  }
  NULL
}

# Primitives that only hand values on.
transparent <- c("list", "invisible", "(", "is.function", "is.list", "is.environment",
                 "is.character", "is.symbol", "is.name", "is.call", "nargs", "interactive",
                 "environment<-", "lazyLoadDBfetch", "standardGeneric", "emptyenv", "baseenv",
                 "globalenv", "proc.time", "gc.time", "seq_along")

guard_primitive <- function(f, name) {
  name <- primitive_name(f)
  if (name %in% transparent || typeof(f) == "special") {
    return(f)
  }
  guarded <- function(...) {
    if (any_traced(...)) {
      no_rule(name)
    }
    f(...)
  }
  attr(guarded, "jit_rule") <- name
  guarded
}

no_rule <- function(name) {
  capture_error(
    paste0("`", name, "()` can't be traced: there is no rule for it."),
    hint = "Wrap it with jit_callback(), which keeps it as a call of R."
  )
}

# Functions of R that evaluate their arguments in the caller's frame, or never
# touch numbers.
left_alone <- c(
  "local",
  "force", "forceAndCall", "eval", "evalq", "substitute", "match.arg", "sys.call",
  "sys.function", "match.call", "parent.frame", "nargs", "Sys.time", "paste", "paste0",
  "sprintf", "format", "formatC", "nchar", "toupper", "tolower", "requireNamespace",
  "library", "loadNamespace", "environment", "new.env", "conditionMessage", "simpleError",
  "signalCondition", "isTRUE", "isFALSE", "identical", "inherits", "Negate", "Vectorize",
  "withVisible", "on.exit", "bquote", "is.element", "setdiff", "exists"
)

is_left_alone <- function(f) {
  if (is.null(trace_state$left_alone)) {
    trace_state$left_alone <- lapply(
      Filter(function(name) exists(name, baseenv()), left_alone), get, envir = baseenv()
    )
  }
  namespace <- environment(f)
  if (!identical(namespace, baseenv()) && !identical(namespace, .BaseNamespaceEnv)) {
    return(identical(namespace, topenv()))
  }
  any(vapply(trace_state$left_alone, identical, logical(1), f))
}

# A copy of a closure in a shadowed environment; one for each closure in a trace.
instrument <- function(f) {
  current <- trace_state$current
  for (known in current$copies) {
    if (identical(known$original, f)) {
      return(known$copy)
    }
  }
  functions <- new.env(parent = environment(f))
  variables <- new.env(parent = functions)
  list2env(internal_functions(), envir = functions)
  assign("jit:variables", TRUE, envir = variables)
  copy <- f
  environment(copy) <- variables
  body(copy) <- rewrite_body(generic_body(body(f)))
  formals(copy) <- as.pairlist(lapply(formals(f), function(default) {
    if (is.call(default)) rewrite(default) else default
  }))
  environment(copy) <- variables
  attr(copy, "srcref") <- NULL
  attr(copy, "jit_rule") <- "copy"
  current$copies <- c(current$copies, list(list(original = f, copy = copy)))
  shadow_names(copy, environment(f), functions, variables)
  copy
}

shadow_names <- function(f, env, functions, variables) {
  # Of the rewritten body, which calls functions that the original does not.
  names <- unique(c(all.names(body(f)), unlist(lapply(formals(f), all.names))))
  # `f(x) <- y` calls `f<-`.
  names <- c(names, paste0(replaced_by(body(f)), "<-"))
  for (name in setdiff(names, c("", "...", "<-"))) {
    shadow_name(name, env, functions, variables)
  }
}

# The functions on the left of assignments.
replaced_by <- function(expr) {
  found <- character()
  if (is_call_of(expr, c("<-", "=", "jit:super")) && length(expr) > 1L) {
    target <- expr[[2]]
    while (is.call(target) && length(target) > 1L) {
      if (is.symbol(target[[1]])) {
        found <- c(found, as.character(target[[1]]))
      }
      target <- target[[2]]
    }
  }
  for (k in seq_along(expr)) {
    if (is.call(expr[[k]])) {
      found <- c(found, replaced_by(expr[[k]]))
    }
  }
  unique(found)
}

shadow_name <- function(name, env, functions, variables) {
  delay <- function(value, to) {
    delayedAssign(name, value, assign.env = to)
  }
  where <- binding_env(name, env)
  if (is.null(where)) {
    return()
  }
  if (is_package_env(where)) {
    original <- get0(name, where, mode = "function", inherits = FALSE)
    if (!is.null(original)) {
      delay(shadow_named(name, original), functions)
    }
    return()
  }
  delay(read_captured(name, where), variables)
  beyond <- find_function(name, parent.env(where))
  if (!is.null(beyond)) {
    delay(shadow_named(name, beyond), functions)
  }
}

shadow_named <- function(name, f) {
  rule <- rule_named(name, f)
  if (is.null(rule)) shadow_function(f, name) else rule
}

find_function <- function(name, env) {
  get0(name, envir = env, mode = "function")
}

binding_env <- function(name, env) {
  while (!identical(env, emptyenv())) {
    if (exists(name, envir = env, inherits = FALSE)) {
      return(env)
    }
    env <- parent.env(env)
  }
  NULL
}

is_package_env <- function(env) {
  identical(env, baseenv()) || isNamespace(env) || !is.null(attr(env, "path")) ||
    grepl("^(package|imports):", environmentName(env)) ||
    grepl("^imports:", paste0("", attr(env, "name")))
}

# The value of a variable from outside the function, recorded: when it changes,
# the program no longer holds. Arrays of doubles come in as values of the graph,
# so that new ones can take their place without a new trace.
read_captured <- function(name, env) {
  current <- trace_state$current
  value <- get(name, envir = env, inherits = FALSE)
  key <- paste("captured", name, rlang::obj_address(env))
  as_array <- is.double(value) && !is.object(value) && length(value) > 1L &&
    plain_attributes(value) && !key %in% current$static
  record <- list(env = env, name = name, value = value, id = -1L)
  result <- value
  if (as_array) {
    result <- trace_captured_impl(name, value)
    record$id <- trace_id_impl(result)
    current$leaves[[as.character(record$id)]] <- list(key = key, size = length(value))
  } else if (is.function(value)) {
    result <- shadow_function(value, name)
  }
  current$captured <- c(current$captured, list(record))
  result
}

plain_attributes <- function(x) {
  all(names(attributes(x)) %in% c("dim", "dimnames", "names"))
}

# What the rewritten code calls.
internal_functions <- function() {
  list(
    `jit:if` = jit_if,
    `jit:when` = jit_when,
    `jit:for` = jit_for,
    `jit:while` = jit_while,
    `jit:and` = jit_and,
    `jit:or` = jit_or,
    `jit:nothing` = jit_nothing,
    `jit:super` = jit_super,
    `jit:known` = jit_known,
    `jit:internal` = jit_internal,
    `jit:at` = jit_at,
    `jit:is_true` = jit_is_true,
    `jit:dispatch` = jit_dispatch
  )
}

jit_at <- function(line) {
  trace_state$current$line <- line
}

jit_is_true <- function(x) !is_traced(x) && isTRUE(x)

jit_known <- function(x) concrete(x, "The value that `switch` looks at")

# `<<-` to a variable of the traced code itself; others are not the program's.
jit_super <- function(target, value) {
  frame <- parent.frame()
  name <- target
  while (is.call(name)) {
    name <- name[[2]]
  }
  name <- as.character(name)
  env <- parent.env(frame)
  while (!exists("jit:variables", envir = env, inherits = FALSE)) {
    if (exists(name, envir = env, inherits = FALSE)) {
      return(assign_super(name, target, value, env, frame))
    }
    env <- parent.env(env)
  }
  capture_error(
    paste0("`<<-` to `", name, "` changes a variable outside the traced function."),
    hint = "Return the value instead, and assign it where the function is called."
  )
}

assign_super <- function(name, target, value, env, frame) {
  if (trace_depth_impl() > 1L) {
    capture_error(
      paste0("`<<-` to `", name, "` in a branch or loop on traced values can't be captured."),
      hint = "Return the value from the branch, and assign it with `<-`."
    )
  }
  if (is.call(target)) {
    place <- new.env(parent = frame)
    assign(name, get(name, envir = env), envir = place)
    eval(as.call(list(as.symbol("<-"), target, quote(`jit:value`))),
         list2env(list(`jit:value` = value), envir = place))
    assign(name, get(name, envir = place), envir = env)
  } else {
    assign(name, value, envir = env)
  }
  invisible(value)
}

# Compiled code of R itself: fine on values that are not traced.
jit_internal <- function(expr) {
  frame <- parent.frame()
  for (arg in as.list(expr[[2]])[-1]) {
    value <- if (identical(arg, quote(...))) {
      eval(quote(list(...)), frame)
    } else if (is.symbol(arg) || is.call(arg)) {
      eval(arg, frame)
    }
    if (has_traced(value)) {
      no_rule(as.character(expr[[2]][[1]]))
    }
  }
  eval(expr, frame)
}

# S3 generics -------------------------------------------------------------------

generic_body <- function(body) {
  last <- if (is_call_of(body, "{")) body[[length(body)]] else body
  if (is_call_of(last, "UseMethod")) {
    return(internal("jit:dispatch", as.character(last[[2]])))
  }
  body
}

jit_dispatch <- function(generic) {
  frame <- parent.frame()
  f <- sys.function(sys.parent())
  first <- names(formals(f))[[1]]
  object <- if (first == "...") eval(quote(..1), frame) else get(first, envir = frame)
  classes <- if (is_traced(object)) implicit_class(object) else .class2(object)
  for (class in c(classes, "default")) {
    method <- utils::getS3method(generic, class, optional = TRUE, envir = environment(f))
    if (!is.null(method)) {
      call <- sys.call(sys.parent())
      call[[1]] <- shadow_function(method, paste0(generic, ".", class))
      return(eval(call, parent.frame(2)))
    }
  }
  no_rule(generic)
}

implicit_class <- function(x) {
  dims <- length(tr_dim(x))
  c(if (dims == 2L) c("matrix", "array") else if (dims > 0L) "array",
    switch(tr_type(x), double = c("double", "numeric"), integer = c("integer", "numeric"),
           logical = "logical"))
}
