# Every condition of the package is made here.

# `message`: the rule, then bullets: x = what was found, i = what to do.
abort_moriejit <- function(class, message, ..., call = rlang::caller_env()) {
  rlang::abort(
    message,
    class = c(paste0("moriejit_", class, "_error"), "moriejit_error"),
    ...,
    call = call
  )
}

warn_moriejit <- function(class, message, ...) {
  rlang::warn(message, class = c(paste0("moriejit_", class), "moriejit_warning"), ...)
}

# The frame of the package's function that the user called, for an error that
# arises below it: the innermost frame whose function is exported.
user_frame <- function() {
  namespace <- topenv()
  exports <- mget(getNamespaceExports(namespace), envir = namespace, inherits = TRUE)
  for (i in rev(seq_len(sys.nframe()))) {
    called <- sys.function(i)
    if (any(vapply(exports, identical, logical(1), called))) {
      return(sys.frame(i))
    }
  }
  rlang::caller_env()
}

# "Op 2 of 3 (index 1, kind "linear")": users count from 1, graphs from 0.
op_label <- function(index, total, kind) {
  if (nchar(kind) > 40L) {
    kind <- paste0(substr(kind, 1L, 40L), "...")
  }
  sprintf("Op %d of %d (index %d, kind \"%s\")", index + 1L, total, index, kind)
}

# An error that is about one op, which leads the message.
abort_op <- function(class, rule, found, hint, index, total, kind, ..., call = user_frame()) {
  if (index >= 0L) {
    rule <- c(paste0(op_label(index, total, if (nzchar(kind)) kind else "?"), ": ", rule))
  }
  bullets <- c(x = found, i = hint)
  abort_moriejit(
    class,
    c(rule, bullets[nzchar(bullets)]),
    op_index = if (index >= 0L) index,
    op_kind = if (index >= 0L) kind,
    ...,
    call = call
  )
}

# Called by the native code, whose errors carry their parts.
raise_core_error <- function(class, rule, found, hint, index, total, kind) {
  if (class %in% c("unsupported", "internal") && !is.null(trace_state$current)) {
    leave_trace(tryCatch(abort_op(class, rule, found, hint, index, total, kind),
                         error = identity))
  }
  abort_op(class, rule, found, hint, index, total, kind)
}

# What a value is, in a few words, for "found".
describe <- function(x) {
  if (is.null(x)) {
    "NULL"
  } else if (is.function(x)) {
    "a function"
  } else if (is.data.frame(x)) {
    "a data frame"
  } else if (length(dim(x)) >= 2L) {
    paste0("a ", paste(dim(x), collapse = " x "), " array of type ", type_label(x))
  } else if (rlang::is_string(x)) {
    paste0("\"", x, "\"")
  } else {
    describe_vector(x)
  }
}

describe_vector <- function(x) {
  size <- paste0(type_label(x), " and length ", length(x))
  if (is.atomic(x) && length(x) == 1L) {
    paste0(format(x), " (", type_label(x), ")")
  } else if (is.object(x)) {
    paste0("an object of class ", size)
  } else if (is.vector(x)) {
    paste0("a vector of type ", size)
  } else {
    paste0("of type ", type_label(x))
  }
}

type_label <- function(x) {
  if (is.object(x)) paste0("<", class(x)[[1]], ">") else typeof(x)
}
