# Graphs as text, and the op table.

#' Read a graph
#'
#' The text of a graph: its inputs and constants with their types, then a line
#' for each value. It is what the compiler works on, more exact than the list of
#' [morie_geron_trace()]: a `linear` op is a `matmul` with a constant, a `bias`
#' an `add`.
#'
#' @param x A graph as [morie_geron_trace()] or [morie_geron_torch_compile()]
#'   gives it, or a text to read, which is parsed and verified: types are checked
#'   against the rule of each op.
#'
#' @return An object of class `jit_graph`: a string with the text, in its
#'   canonical form. Constants of more than 4 values are shown by a hash of
#'   their bytes; such a text is for people, and can't be read back. A `jit_graph`
#'   is returned as it is.
#'
#' @section Errors:
#' `moriejit_graph_error` for what is no graph, `moriejit_format_error` (which
#' names the line) for a text that can't be read.
#'
#' @examples
#' model <- list(
#'   list(kind = "linear", param = diag(2)),
#'   list(kind = "bias", param = c(1, 2)),
#'   list(kind = "relu")
#' )
#' jit_graph(morie_geron_trace(model, matrix(0, 3, 2))$graph)
#'
#' jit_graph("fn(x: f64[3,2]) {
#'   %0 = softmax(x) : f64[3,2]
#'   return %0
#' }")
#' @export
jit_graph <- function(x) {
  check_given(x = missing(x))
  if (inherits(x, "jit_graph")) {
    return(x)
  }
  text <- if (rlang::is_string(x)) {
    text_check_impl(x, list())
  } else {
    graph_text_impl(x)
  }
  structure(text, class = "jit_graph")
}

#' @export
print.jit_graph <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

#' @export
format.jit_graph <- function(x, ...) {
  sub("\n$", "", unclass(x))
}

#' The ops
#'
#' One row for each op of the compiler.
#'
#' @return A data frame: `name` (in the text of a graph, see [jit_graph()]),
#'   `kind` (in an op list, see [morie_geron_trace()]; `NA` where it has none
#'   and only appears in graphs), `fields` (of the op in a list: parameters,
#'   those with `?` may be left out), `attributes` (numbers beside the
#'   parameters, with their defaults), `operands`, `elementwise`, `random`,
#'   `derivative` (`"yes"`, or why there is none) and `description`.
#' @examples
#' ops <- jit_ops()
#' ops[!is.na(ops$kind), c("kind", "description")]
#' @export
jit_ops <- function() {
  ops <- ops_impl()
  text <- function(field) vapply(ops, function(op) op[[field]], character(1))
  joined <- function(field) {
    vapply(ops, function(op) paste(op[[field]], collapse = ", "), character(1))
  }
  flag <- function(field) vapply(ops, function(op) op[[field]], logical(1))
  kind <- text("kind")
  data.frame(
    name = text("name"),
    kind = ifelse(nzchar(kind), kind, NA_character_),
    fields = joined("fields"),
    attributes = joined("attributes"),
    operands = vapply(ops, function(op) op$operands, integer(1)),
    elementwise = flag("elementwise"),
    random = flag("random"),
    derivative = ifelse(flag("derivative"), "yes", text("no_derivative")),
    description = text("doc")
  )
}
