# Fitted models as op lists. A model is taken only where its op list predicts what predict() does;
# whatever this file does not know for sure is refused, never guessed.

#' A fitted model as an op list
#'
#' `as_op_list()` writes the prediction of a fitted model as an op list: a plain list of ops, to be
#' applied left to right to a numeric matrix whose rows are observations. Everything that takes an
#' op list takes the result: [morie_geron_torch_compile()], [morie_geron_trace()], ... Op lists
#' compose: `c(as_op_list(pca), as_op_list(fit))` is a regression on principal components in one
#' model.
#'
#' @section Input columns:
#' An op list takes its columns **by position**, not by name, and does not look at the names: what
#' is said below of `predict()` holds for `newdata` with these columns in this order. The row
#' names of its first matrix are the columns to pass, in order (a net fitted on a matrix has not
#' kept them): for an `lm()` they are `rownames(as_op_list(fit)[[1]]$param)`.
#'
#' * [prcomp()]: the variables, in the order of `rownames(x$rotation)`. The output equals
#'   `predict(x, newdata)`.
#' * [lm()], with one response or several, also `aov()` and `MASS::rlm()`: the predictors in the
#'   order of the terms of the formula, without the intercept. Equals `predict(x, newdata)`.
#' * [glm()], also `MASS::glm.nb()`: as for `lm()`. Equals
#'   `predict(x, newdata, type = "response")`.
#' * `nnet::nnet()`: by formula, as for `lm()` (they are `x$coefnames`); by matrix, the columns of
#'   that matrix. Equals `predict(x, newdata, type = "raw")`.
#'
#' Each term of a formula must be one plain numeric variable, or one numeric matrix, which counts
#' with all its columns. Factors, characters, logicals, interactions, offsets and transformed terms
#' such as `log(x)`, `poly(x, 2)` or `I(x^2)` need work on the data that an op list does not do.
#' For these build the columns with [model.matrix()], fit on them, and pass the same columns:
#' ```r
#' columns <- model.matrix(~ log(wt) + factor(cyl), mtcars)[, -1]
#' fit <- lm(mpg ~ columns, mtcars)
#' as_op_list(fit)  # takes model.matrix(~ log(wt) + factor(cyl), newdata)[, -1]
#' ```
#'
#' @section Where the numbers can differ from `predict()`:
#' Beyond rounding, only here:
#' * The inverse links of R stop short of their limits: `logit` beyond \eqn{\pm 30}{+-30}, `probit`
#'   beyond about \eqn{\pm 8.13}{+-8.13}, and `log` below `.Machine$double.eps`, which is the least
#'   mean that R returns. The ops `sigmoid`, `pnorm` and `exp` go on, so there the two
#'   differ by up to `.Machine$double.eps`. Other links run R's own function, as a callable.
#' * `nnet` sets a logistic unit to exactly 0 or 1 where its input is beyond \eqn{\pm 15}{+-15}; the
#'   op `sigmoid` does not. Each such unit differs by less than 3.1e-7.
#' * Coefficients that are `NA` (a fit of deficient rank) count as 0, as in `predict()`. Their
#'   columns must still be passed, and a missing or infinite value there gives `NA` or `NaN`.
#' * `predict()` of a model with one response gives a vector, the op list a matrix of one column.
#' * A row with missing values gives missing values; `predict()` of an `nnet()` on a matrix stops.
#'
#' A model without predictors (`y ~ 1`) takes a matrix with no columns and one row for each
#' prediction; its `linear` op has no rows.
#'
#' @param x A fitted model, or an op list.
#' @param ... For methods of other classes; the methods here take no further arguments.
#'
#' @returns An op list, a plain list without a class: for `prcomp()` `bias` (if centered), `scale`
#'   (if scaled), `linear`; for `lm()` `linear`, `bias` (if there is an intercept); for `glm()` the
#'   same and then the inverse of the link: nothing, `sigmoid`, `exp`, `pnorm` or a callable with
#'   its gradient; for `nnet()` `linear`, `bias`, `sigmoid`, `linear`, `bias` and then nothing,
#'   `sigmoid` or `softmax`. Matrices carry the names of the predictors and of the predictions. An
#'   op list is returned as it is.
#'
#' @section Errors:
#' All have class `moriejit_error`, and a finer one:
#' * `moriejit_unsupported_error`: a model, a term or a net that the ops cannot express (of nets:
#'   skip-layer connections, which includes `nnet::multinom()`, and censored fits), or a class built
#'   on one of these models whose `predict()` may be its own, such as that of `mgcv::gam()`.
#' * `moriejit_input_error`: a list that is not an op list, or further arguments.
#'
#' @source The models and their `predict()` methods are those of R: see the help pages of
#'   [prcomp()], [lm()], [glm()] with [family()] and [make.link()], and of `nnet::nnet()` in package
#'   nnet.
#'
#' @examples
#' # principal components
#' pca <- prcomp(USArrests, scale. = TRUE, rank. = 2)
#' compiled <- morie_geron_torch_compile(as_op_list(pca), example_inputs = USArrests)
#' all.equal(compiled$output, predict(pca, USArrests), check.attributes = FALSE)
#'
#' # a regression, on rows that it has not seen
#' fit <- lm(mpg ~ wt + hp, mtcars[1:20, ])
#' ops <- as_op_list(fit)
#' predictors <- rownames(ops[[1]]$param)
#' compiled <- morie_geron_torch_compile(ops, example_inputs = mtcars[1:20, predictors])
#' predicted <- morie_geron_run_graph(compiled$compiled, mtcars[21:32, predictors])
#' all.equal(c(predicted), unname(predict(fit, mtcars[21:32, ])))
#'
#' # a small net
#' if (requireNamespace("nnet", quietly = TRUE)) {
#'   net <- nnet::nnet(Species ~ ., iris, size = 3, decay = 0.01, trace = FALSE)
#'   compiled <- morie_geron_torch_compile(as_op_list(net), example_inputs = iris[, net$coefnames])
#'   all.equal(compiled$output, predict(net, iris), tolerance = 1e-6, check.attributes = FALSE)
#' }
#' @export
as_op_list <- function(x, ...) {
  UseMethod("as_op_list")
}

#' @rdname as_op_list
#' @export
as_op_list.default <- function(x, ...) {
  abort_moriejit(
    "unsupported",
    c(
      "`x` must be an op list or a fitted model that `as_op_list()` knows.",
      x = paste0("`x` has class ", class_label(x), "."),
      i = "Known are the fits of `prcomp()`, `lm()`, `glm()` and `nnet::nnet()`."
    ),
    call = rlang::current_env()
  )
}

#' @rdname as_op_list
#' @export
as_op_list.list <- function(x, ...) {
  refuse_arguments(...length(), rlang::current_env())
  wrong <- which(!vapply(x, has_form_of_op, NA))
  if (length(wrong) > 0L) {
    abort_moriejit(
      "input",
      c(
        "Every element of an op list must be a function or a list with a string `kind`.",
        x = paste0("Element ", wrong[[1L]], " ", describe_no_op(x[[wrong[[1L]]]]), "."),
        i = "A single op must be in a list too: `list(list(kind = \"relu\"))`."
      ),
      call = rlang::current_env()
    )
  }
  x
}

#' @rdname as_op_list
#' @export
as_op_list.prcomp <- function(x, ...) {
  call <- rlang::current_env()
  refuse_arguments(...length(), call)
  check_model_class(x, c("prcomp", "irlba_prcomp"), "prcomp", call)
  check_parts(is.list(x) && is.matrix(x$rotation) && is.numeric(x$rotation), "rotation", call)
  # center and scale are FALSE where they were not asked for
  c(
    if (is.numeric(x$center)) list(list(kind = "bias", param = -as.numeric(x$center))),
    if (is.numeric(x$scale)) list(list(kind = "scale", param = 1 / as.numeric(x$scale))),
    list(list(kind = "linear", param = x$rotation))
  )
}

#' @rdname as_op_list
#' @export
as_op_list.lm <- function(x, ...) {
  call <- rlang::current_env()
  refuse_arguments(...length(), call)
  check_model_class(x, c("lm", "mlm", "aov", "maov", "rlm"), "lm", call)
  check_parts(is.list(x), "terms", call)
  check_plain_predictors(x, call)
  check_parts(has_coefficients(x), "coefficients", call)
  linear_predictor_ops(x)
}

#' @rdname as_op_list
#' @export
as_op_list.glm <- function(x, ...) {
  call <- rlang::current_env()
  refuse_arguments(...length(), call)
  check_model_class(x, c("glm", "lm", "negbin"), "glm", call)
  check_parts(is.list(x), "terms", call)
  check_plain_predictors(x, call)
  check_parts(has_coefficients(x), "coefficients", call)
  check_parts(is.list(x$family) && is.function(x$family$linkinv), "family", call)
  c(linear_predictor_ops(x), inverse_link_ops(x$family))
}

#' @rdname as_op_list
#' @export
as_op_list.nnet <- function(x, ...) {
  call <- rlang::current_env()
  refuse_arguments(...length(), call)
  check_model_class(x, c("nnet", "nnet.formula", "multinom"), "nnet", call)
  check_parts(is.list(x) && length(x$n) == 3L && length(x$wts) == length(x$conn), "wts", call)
  check_net(x, call)
  if (inherits(x, "nnet.formula")) {
    check_plain_predictors(x, call)
  }
  weights <- net_weights(x)
  c(
    affine_ops(weights$hidden),
    list(list(kind = "sigmoid")),
    affine_ops(weights$output),
    net_output_ops(x)
  )
}

# Op lists ----------------------------------------------------------------------------------------

has_form_of_op <- function(op) {
  is.function(op) || (is.list(op) && rlang::is_string(op[["kind"]]))
}

describe_no_op <- function(x) {
  if (is.list(x)) "is a list without a string `kind`" else paste("has class", class_label(x))
}

class_label <- function(x) {
  paste0("<", paste(class(x), collapse = "/"), ">")
}

# An argument such as `type = "link"` must not be taken in silence.
refuse_arguments <- function(n, call) {
  if (n > 0L) {
    abort_moriejit(
      "input",
      c(
        "`as_op_list()` takes `x` alone.",
        x = paste0("There ", if (n == 1L) "is 1 further argument." else paste("are", n, "more."))
      ),
      call = call
    )
  }
}

# A class that builds on another inherits its methods, but its predict() may be its own (a gam() is
# a glm, and its terms look like plain variables): only the classes known to share it are taken.
check_model_class <- function(x, known, base, call) {
  added <- setdiff(class(x), known)
  if (length(added) > 0L) {
    abort_moriejit(
      "unsupported",
      c(
        paste0("The model must be known to predict as `", base, "()` does."),
        x = paste0("`x` has class ", class_label(x), "; `", added[[1L]], "` is not known."),
        i = paste0("If its `predict()` is that of `", base, "()`, remove the added class first.")
      ),
      call = call
    )
  }
}

# A fit that lacks what its class has, or was changed by hand, must not be guessed at.
check_parts <- function(whole, part, call) {
  if (!isTRUE(whole)) {
    abort_moriejit(
      "unsupported",
      c(
        "A fitted model must be as its fitting function made it.",
        x = paste0("Its `", part, "` is missing or of another form.")
      ),
      call = call
    )
  }
}

# The intercept, if there is one, comes first; the rest are predictors.
has_coefficients <- function(x) {
  if (!is.numeric(x$coefficients)) {
    return(FALSE)
  }
  named <- rownames(as.matrix(x$coefficients))
  length(named) == NROW(x$coefficients) &&
    identical(which(named == "(Intercept)"), seq_len(attr(x$terms, "intercept")))
}

# Models of a formula -----------------------------------------------------------------------------

check_plain_predictors <- function(x, call) {
  problem <- predictors_problem(x$terms, x$offset)
  if (length(problem) > 0L) {
    abort_moriejit(
      "unsupported",
      c("Every term of the model must be one plain numeric variable or matrix.", problem),
      call = call
    )
  }
}

# Bullets of what was found and what to do, or NULL.
predictors_problem <- function(terms, offset) {
  if (!inherits(terms, "terms")) {
    return(c(x = "The model was not fitted by a formula.", i = "Fit it by `y ~ columns`."))
  }
  if (!is.null(attr(terms, "offset")) || !is.null(offset)) {
    return(c(
      x = "The model has an offset.",
      i = "Write its op list by hand: an offset is one more input column, with coefficient 1."
    ))
  }
  problems <- lapply(seq_along(attr(terms, "term.labels")), term_problem, terms = terms)
  problems <- unlist(problems)
  if (length(problems) > 0L) {
    c(
      rlang::set_names(problems, "x"),
      i = "Build the columns with `model.matrix()`, fit on them, pass the same columns as input."
    )
  }
}

# What keeps term j from being columns of the input, or NULL. The rows of `factors` are the
# `variables` (a call to list(), hence the shift by one), response included.
term_problem <- function(j, terms) {
  label <- attr(terms, "term.labels")[[j]]
  used <- which(attr(terms, "factors")[, j] > 0)
  if (length(used) != 1L) {
    return(paste0("Term `", label, "` is an interaction."))
  }
  variable <- attr(terms, "variables")[[used + 1L]]
  if (!is.symbol(variable)) {
    return(paste0("Term `", label, "` is computed from the data."))
  }
  name <- as.character(variable)
  type <- as.list(attr(terms, "dataClasses"))[[name]]
  if (is.null(type)) {
    type <- "unknown"
  }
  if (type == "numeric" || startsWith(type, "nmatrix.")) {
    return(NULL)
  }
  found <- switch(type,
    factor = "a factor",
    ordered = "an ordered factor",
    character = "character",
    logical = "logical",
    "not known to be numeric"
  )
  paste0("Variable `", name, "` is ", found, ".")
}

linear_predictor_ops <- function(x) {
  coefficients <- x$coefficients
  if (!is.matrix(coefficients)) {
    coefficients <- matrix(
      as.numeric(coefficients),
      ncol = 1L,
      dimnames = list(names(coefficients), NULL)
    )
  }
  rownames(coefficients) <- bare_names(rownames(coefficients))
  # coefficients that could not be estimated: predict() leaves their columns out
  coefficients[is.na(coefficients)] <- 0
  if (attr(x$terms, "intercept") == 1L) {
    affine_ops(coefficients)
  } else {
    list(list(kind = "linear", param = coefficients))
  }
}

# The names of the columns as the data has them: model.matrix() quotes `my name`.
bare_names <- function(names) {
  sub("^`(.*)`$", "\\1", names)
}

# `weights` has the constant in its first row.
affine_ops <- function(weights) {
  list(
    list(kind = "linear", param = weights[-1L, , drop = FALSE]),
    list(kind = "bias", param = as.numeric(weights[1L, ]))
  )
}

# Links -------------------------------------------------------------------------------------------

# A user's link may be named "logit" and be another function; R's own live in namespace stats.
inverse_link_ops <- function(family) {
  link <- family$link
  if (!identical(environment(family$linkinv), asNamespace("stats"))) {
    link <- "of the user"
  }
  switch(link,
    identity = list(),
    logit = list(list(kind = "sigmoid")),
    log = list(list(kind = "exp")),
    probit = list(list(kind = "pnorm")),
    list(link_callable(family$linkinv, family$mu.eta))
  )
}

# The closures see this frame alone: the two link functions, not the model. Forced, because a
# promise would hold the caller's frame, and the model with it.
link_callable <- function(linkinv, mu_eta) {
  force(linkinv)
  force(mu_eta)
  list(
    kind = "callable",
    param = function(x) at_known(x, linkinv),
    grad = function(x, dy) dy * at_known(x, mu_eta)
  )
}

# f of the elements that are not missing, in the matrix that they came from: link functions drop
# dimensions, some stop at an empty vector or at NA.
at_known <- function(x, f) {
  known <- !is.na(x)
  if (any(known)) {
    x[known] <- f(as.numeric(x[known]))
  }
  x
}
