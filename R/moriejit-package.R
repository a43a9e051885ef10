#' moriejit: a compiler for matrix programs and small neural networks
#'
#' A model is a list of ops (see [morie_geron_trace()]): a matrix of
#' observations flows through them from left to right. moriejit captures such a
#' list as a graph, optimises the graph, and runs it and its derivatives in
#' native code.
#'
#' Start with [morie_geron_torch_compile()], or with [as_op_list()] if you have
#' a fitted model. `vignette("start", package = "moriejit")` takes five minutes.
#'
#' @section Options:
#' * `moriejit.gemm`: which routine forms matrix products, read when the package
#'   is loaded. `"auto"` (the default) times R's BLAS against Eigen once a
#'   session, when a medium or a large product is first needed, and takes BLAS
#'   where it is at least 1.2 times as fast; `"blas"` and `"eigen"` choose one,
#'   so that two machines or sessions form their products in the same way.
#'   Products with a dimension below 32, and those of matrices that hold `NaN`,
#'   `NA` or `Inf`, always go to Eigen: a BLAS may skip zero factors and so lose
#'   them.
#'
#' @section Errors:
#' Every error is a condition of class `moriejit_error` and of a finer class:
#' `moriejit_unsupported_error` (an op that does not exist or has no
#' derivative), `moriejit_param_error` (an op's fields),
#' `moriejit_shape_error`, `moriejit_callable_error` (an R function in a model
#' that fails or gives no numeric matrix), `moriejit_input_error` (arguments),
#' `moriejit_graph_error`, `moriejit_format_error` (a graph's text),
#' `moriejit_memory_error` or `moriejit_internal_error`. Those about an op have
#' the fields `op_index` (counted from 0, as in a graph) and `op_kind`.
#'
#' @useDynLib moriejit, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @keywords internal
"_PACKAGE"

.onLoad <- function(libname, pkgname) {
  use_r_blas_impl()
  use_r_maths_impl()
  choice <- getOption("moriejit.gemm", "auto")
  if (rlang::is_string(choice, c("auto", "blas", "eigen"))) {
    set_gemm_impl(choice)
  } else {
    warn_moriejit(
      "option_ignored",
      c(
        "Option `moriejit.gemm` must be \"auto\", \"blas\" or \"eigen\".",
        x = paste0("It is ", describe(choice), ", and is ignored.")
      )
    )
  }
}
