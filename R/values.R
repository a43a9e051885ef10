# What goes in: matrices of doubles.

# A matrix of doubles from anything that counts as numeric input; called for
# what is not one already.
as_input_matrix <- function(x, argument) {
  rule <- paste0(
    "`", argument, "` must be a numeric, integer or logical matrix, an all-numeric data frame, ",
    "or a vector (which becomes one column)."
  )
  refuse <- function(found, hint = NULL) {
    abort_moriejit("input", c(rule, x = found, i = hint), argument = argument, call = user_frame())
  }
  if (is.data.frame(x)) {
    usable <- vapply(x, is_number_like, logical(1))
    if (!all(usable)) {
      refuse(
        paste0("Not numeric: column `", names(x)[!usable][[1]], "`."),
        "model.matrix() turns factors into numeric columns."
      )
    }
  } else if (!is_number_like(x) || length(dim(x)) > 2L) {
    refuse(paste0("It is ", describe(x), "."))
  }
  x <- as.matrix(x)
  # A class may have an as.matrix() that gives anything.
  if (!is_number_like(x) || length(dim(x)) != 2L) {
    refuse(paste0("as.matrix() gives ", describe(x), "."))
  }
  storage.mode(x) <- "double"
  structure(as.vector(x), dim = dim(x), dimnames = dimnames(x))
}

# Doubles, integers and logicals; not factors, dates, or numbers in disguise
# such as 64-bit integers stored as doubles.
is_number_like <- function(x) {
  (is.numeric(x) || is.logical(x)) && !inherits(x, c("integer64", "difftime"))
}

# Called by the native code for an op that is an R function.
call_callable <- function(f, args, index, total) {
  # Found before `f` runs, which may call the package itself.
  call <- user_frame()
  refuse <- function(rule, found = "", ...) {
    abort_op("callable", rule, found, "", index, total, "callable", ..., call = call)
  }
  value <- rlang::try_fetch(
    do.call(f, args, quote = TRUE),
    error = function(cnd) refuse("The function failed.", parent = cnd)
  )
  if (!is.matrix(value) || !is.numeric(value) || !is_number_like(value)) {
    found <- paste0("It returned ", describe(value), ".")
    refuse("The function must return a numeric matrix.", found)
  }
  if (is.object(value)) as_input_matrix(value, "value") else value
}
