# The worked example on real data: 214 fragments of forensic glass (MASS::fgl), their oxides by
# weight, refractive index and type. A principal component analysis of the oxides feeds a linear
# model of the refractive index and a small neural network for the type. Each pipeline is fitted by
# R, written as an op list, compiled, and compared with R's own predict().
library(moriejit)

heading <- function(text) writeLines(c("", text, strrep("-", nchar(text))))
say <- function(...) writeLines(paste0(...))

# The median of repeated calls, in milliseconds.
milliseconds <- function(f) {
  1000 * as.numeric(bench::mark(f(), min_iterations = 20, filter_gc = FALSE)$median)
}

# What running the linear ops of a graph takes: rows x rows of the matrix x its columns, each.
multiplications <- function(graph) {
  linear <- Filter(function(node) node$kind == "linear", graph)
  sum(vapply(linear, function(node) prod(node$in_shape) * node$out_shape[[2]], numeric(1)))
}

# Compiles `model` on `train`, shows what became of it, and compares with `by_r` on `new`.
compile_and_compare <- function(model, train, new, by_r) {
  compiled <- morie_geron_torch_compile(model, example_inputs = train)
  say("Captured:")
  print(jit_graph(compiled$graph))
  say("Compiled:")
  print(jit_graph(compiled$compiled))
  say(
    compiled$n_ops, " ops became ", compiled$n_compiled, "; ", compiled$fused_runs,
    " run of linear ops was fused."
  )
  say(
    "Multiplications in linear ops: ", multiplications(compiled$graph), " -> ",
    multiplications(compiled$compiled), " (by the published count, which is another: ",
    compiled$flops_eager, " -> ", compiled$flops_compiled, ")."
  )
  ours <- morie_geron_run_graph(compiled$compiled, new)
  error <- max(abs(ours - by_r(new)))
  say("Largest difference from R's predict() on ", nrow(new), " new rows: ", signif(error, 2), ".")
  # nnet cuts its logistic units off at +-15, which shows at 3e-7; everything else is rounding.
  if (!(error < 1e-6)) stop("the compiled model does not agree with predict()")
  times <- c(
    milliseconds(function() by_r(new)),
    milliseconds(function() morie_geron_run_graph(compiled$compiled, new))
  )
  say(
    "Time: R's predict() ", signif(times[[1]], 3), " ms, compiled ", signif(times[[2]], 3),
    " ms: ", signif(times[[1]] / times[[2]], 2), " times as fast."
  )
  invisible(compiled)
}

glass <- MASS::fgl
oxides <- as.matrix(glass[, 2:9])
set.seed(1)
many <- oxides[sample(nrow(oxides), 20000, replace = TRUE), ]
many <- many * exp(0.01 * rnorm(length(many)))
say("Data: ", nrow(oxides), " fragments of glass, ", ncol(oxides), " oxides; predictions for ",
    nrow(many), " resampled, slightly changed rows.")

pca <- prcomp(oxides, scale. = TRUE, rank. = 5)
scores <- data.frame(predict(pca, oxides), RI = glass$RI, type = glass$type)

heading("1. Principal components, then a linear model of the refractive index")
fit <- lm(RI ~ PC1 + PC2 + PC3 + PC4 + PC5, scores)
compile_and_compare(
  c(as_op_list(pca), as_op_list(fit)), oxides, many,
  function(x) predict(fit, data.frame(predict(pca, x)))
)

heading("2. Principal components, then a neural network for the type of glass")
net <- nnet::nnet(
  type ~ PC1 + PC2 + PC3 + PC4 + PC5, scores,
  size = 6, decay = 0.05, maxit = 500, trace = FALSE
)
compiled <- compile_and_compare(
  c(as_op_list(pca), as_op_list(net)), oxides, many,
  function(x) predict(net, data.frame(predict(pca, x)), type = "raw")
)
guess <- levels(glass$type)[max.col(morie_geron_run_graph(compiled$compiled, oxides))]
say("Types told apart on the data it was fitted on: ", round(100 * mean(guess == glass$type)), "%.")

heading("3. What moves the network's answer")
back <- morie_geron_backward(compiled$compiled, oxides[1, , drop = FALSE], t(c(1, 0, 0, 0, 0, 0)))
say("Gradient of the first fragment's probability of being \"", levels(glass$type)[[1]],
    "\" by its oxides:")
print(signif(back$grad_input, 3))

say("\nEverything agreed. Next: README.md, then vignettes/start.Rmd.")
