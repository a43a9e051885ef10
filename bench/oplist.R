# Compiled op lists against the same ops in plain R: the medians of both, and their ratio.
library(moriejit)

linear <- function(dims) {
  list(kind = "linear", param = matrix(rnorm(prod(dims)) / sqrt(dims[[1]]), dims[[1]]))
}

# Plain R as one would write it by hand, fast but readable.
plain_ops <- list(
  linear = function(x, op) x %*% op$param,
  bias = function(x, op) x + rep(op$param, each = nrow(x)),
  scale = function(x, op) x * rep(op$param, each = nrow(x)),
  sigmoid = function(x, op) 1 / (1 + exp(-x)),
  softmax = function(x, op) {
    e <- exp(x - do.call(pmax, as.list(as.data.frame(x))))
    e / rowSums(e)
  }
)

plain <- function(model, x) {
  for (op in model) x <- plain_ops[[op$kind]](x, op)
  x
}

# Medians of both by turns, in microseconds; the clock is read once in `batch` calls.
race <- function(f, g) {
  seconds <- function(f, calls) {
    system.time(for (i in seq_len(calls)) f(), gcFirst = FALSE)[["elapsed"]]
  }
  calls_for <- function(f) {
    calls <- 1
    while (seconds(f, calls) < 0.03) calls <- 2 * calls
    calls
  }
  batch <- c(calls_for(f), calls_for(g))
  once <- function(i) c(seconds(f, batch[[1]]), seconds(g, batch[[2]])) / batch
  times <- vapply(1:11, once, numeric(2))
  1e6 * apply(times, 1, stats::median)
}

report <- function(name, model, x, mode = "default") {
  compiled <- morie_geron_torch_compile(model, mode, x)
  result <- morie_geron_run_graph(compiled$compiled, x)
  reference <- plain(model, x)
  scale <- max(abs(reference), 1)
  stopifnot(max(abs(result - reference)) < 1e-9 * scale)
  times <- race(function() plain(model, x), function() morie_geron_run_graph(compiled$compiled, x))
  data.frame(
    workload = name, mode = mode, rows = nrow(x),
    ops = paste(compiled$n_ops, "->", compiled$n_compiled),
    plain_us = signif(times[[1]], 3), compiled_us = signif(times[[2]], 3),
    ratio = signif(times[[1]] / times[[2]], 3)
  )
}

set.seed(1)
chain <- lapply(1:8, function(i) linear(c(256, 256)))
bottleneck <- list(linear(c(1000, 10)), linear(c(10, 1000)))

glass <- as.matrix(MASS::fgl[, 2:9])
pca <- prcomp(glass, scale. = TRUE, rank. = 5)
scores <- data.frame(predict(pca, glass), RI = MASS::fgl$RI, type = MASS::fgl$type)
fit <- lm(RI ~ PC1 + PC2 + PC3 + PC4 + PC5, scores)
net <- nnet::nnet(
  type ~ PC1 + PC2 + PC3 + PC4 + PC5, scores,
  size = 6, decay = 0.05, maxit = 200, trace = FALSE
)
pca_lm <- c(as_op_list(pca), as_op_list(fit))
pca_net <- c(as_op_list(pca), as_op_list(net))
many <- glass[rep(seq_len(nrow(glass)), length.out = 20000), ]

writeLines(paste("R's BLAS:", basename(extSoftVersion()[["BLAS"]])))
print(
  rbind(
    report("chain of 8 x 256", chain, matrix(rnorm(32 * 256), 32)),
    report("bottleneck 1000-10-1000", bottleneck, matrix(rnorm(32 * 1000), 32)),
    report("bottleneck 1000-10-1000", bottleneck, matrix(rnorm(32 * 1000), 32), "max-autotune"),
    report("PCA, linear model", pca_lm, glass[1, , drop = FALSE]),
    report("PCA, linear model", pca_lm, glass),
    report("PCA, linear model", pca_lm, many),
    report("PCA, nnet", pca_net, glass[1, , drop = FALSE]),
    report("PCA, nnet", pca_net, glass),
    report("PCA, nnet", pca_net, many)
  ),
  row.names = FALSE
)
