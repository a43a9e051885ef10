# prcomp ------------------------------------------------------------------------------------------

test_that("prcomp predicts, centered and scaled or not", {
  train <- USArrests[1:35, ]
  new <- USArrests[36:50, ]
  settings <- expand.grid(center = c(TRUE, FALSE), scale. = c(TRUE, FALSE))
  for (i in seq_len(nrow(settings))) {
    pca <- prcomp(train, center = settings$center[[i]], scale. = settings$scale.[[i]])
    expect_predicts(pca, train, new, predict(pca, new))
  }
  expect_identical(kinds(as_op_list(prcomp(train))), c("bias", "linear"))
  expect_identical(kinds(as_op_list(prcomp(train, scale. = TRUE))), c("bias", "scale", "linear"))
  expect_identical(kinds(as_op_list(prcomp(train, center = FALSE))), "linear")
})

test_that("prcomp keeps center and scale that were given, rank and tol", {
  train <- as.matrix(quakes[1:800, ])
  new <- as.matrix(quakes[801:1000, ])
  given <- prcomp(train, center = c(-20, 180, 300, 4, 30), scale. = c(5, 6, 200, 0.4, 20))
  expect_predicts(given, train, new, predict(given, new))
  few <- prcomp(train, scale. = TRUE, rank. = 2)
  expect_predicts(few, train, new, predict(few, new))
  expect_identical(ncol(as_op_list(few)[[3L]]$param), 2L)
  short <- prcomp(train, tol = 0.1)
  expect_lt(ncol(short$rotation), 5L)
  expect_predicts(short, train, new, predict(short, new))
})

test_that("prcomp by formula takes the columns of the formula", {
  pca <- prcomp(~ Rape + Murder, USArrests)
  columns <- c("Rape", "Murder")
  expect_identical(rownames(as_op_list(pca)[[2L]]$param), columns)
  expect_predicts(pca, USArrests[columns], USArrests[9:1, columns], predict(pca, USArrests[9:1, ]))
})

# lm ----------------------------------------------------------------------------------------------

test_that("lm predicts on new rows", {
  columns <- c("wt", "hp", "qsec")
  fit <- lm(mpg ~ wt + hp + qsec, mtcars[1:20, ])
  ops <- as_op_list(fit)
  expect_identical(kinds(ops), c("linear", "bias"))
  expect_identical(rownames(ops[[1L]]$param), columns)
  expect_predicts(fit, mtcars[1:20, columns], mtcars[21:32, columns], predict(fit, mtcars[21:32, ]))
})

test_that("lm takes a dot, a transformed response, weights and a subset", {
  columns <- setdiff(names(quakes), "mag")
  fit <- lm(log(mag) ~ ., quakes, weights = stations, subset = depth < 500)
  new <- quakes[900:950, ]
  expect_predicts(fit, quakes[1:9, columns], new[columns], predict(fit, new))
})

test_that("lm without intercept, without predictors, without either", {
  fit <- lm(dist ~ speed - 1, cars)
  expect_identical(kinds(as_op_list(fit)), "linear")
  new <- cars[40:50, "speed", drop = FALSE]
  expect_predicts(fit, cars["speed"], new, predict(fit, new))
  none <- matrix(numeric(), 3L, 0L)
  constant <- lm(dist ~ 1, cars)
  expect_identical(dim(as_op_list(constant)[[1L]]$param), c(0L, 1L))
  expect_predicts(constant, none, none, unname(predict(constant, cars[1:3, ])))
  zero <- lm(dist ~ 0, cars)
  expect_predicts(zero, none, none, c(0, 0, 0))
})

test_that("lm of deficient rank counts NA coefficients as 0", {
  d <- transform(mtcars, lb = 1000 * wt)
  columns <- c("wt", "lb", "hp")
  fit <- lm(mpg ~ wt + lb + hp, d[1:20, ])
  expect_true(anyNA(coef(fit)))
  expected <- suppressWarnings(predict(fit, d[21:32, ]))
  expect_predicts(fit, d[1:20, columns], d[21:32, columns], expected)
  both <- lm(cbind(mpg, disp) ~ wt + lb + hp, d[1:20, ])
  expected <- suppressWarnings(predict(both, d[21:32, ]))
  expect_predicts(both, d[1:20, columns], d[21:32, columns], expected)
})

test_that("lm takes a numeric matrix as predictor, with all its columns", {
  d <- data.frame(y = iris$Petal.Width, z = iris$Sepal.Width)
  d$m <- as.matrix(iris[c("Sepal.Length", "Petal.Length")])
  fit <- lm(y ~ m + z, d)
  x <- cbind(d$m, d$z)
  expect_identical(
    rownames(as_op_list(fit)[[1L]]$param),
    c("mSepal.Length", "mPetal.Length", "z")
  )
  expect_predicts(fit, x[1:100, ], x[101:150, ], predict(fit, d[101:150, ]))
})

test_that("lm takes the columns of a design matrix, as the help page says", {
  columns <- model.matrix(~ log(wt) + factor(cyl), mtcars)[, -1L]
  fit <- lm(mpg ~ columns, mtcars)
  expect_predicts(fit, columns, columns[32:1, ], unname(fitted(fit))[32:1])
})

test_that("lm with several responses keeps their names", {
  columns <- c("wt", "hp")
  fit <- lm(cbind(mpg, disp, qsec) ~ wt + hp, mtcars[1:20, ])
  expect_predicts(fit, mtcars[1:20, columns], mtcars[21:32, columns], predict(fit, mtcars[21:32, ]))
  bare <- lm(cbind(mpg, disp) ~ wt + hp - 1, mtcars)
  expect_predicts(bare, mtcars[columns], mtcars[9:1, columns], predict(bare, mtcars[9:1, ]))
  # predict() loses the names of the responses where there is one coefficient for each
  single <- lm(cbind(mpg, disp) ~ wt - 1, mtcars)
  expected <- predict(single, mtcars[9:1, ])
  colnames(expected) <- c("mpg", "disp")
  expect_predicts(single, mtcars["wt"], mtcars[9:1, "wt", drop = FALSE], expected)
})

test_that("names that are not syntactic come back as the data has them", {
  d <- setNames(mtcars[c("mpg", "wt", "hp")], c("miles", "my weight", "hp"))
  fit <- lm(miles ~ `my weight` + hp, d)
  columns <- rownames(as_op_list(fit)[[1L]]$param)
  expect_identical(columns, c("my weight", "hp"))
  expect_predicts(fit, d[columns], d[5:1, columns], predict(fit, d[5:1, ]))
})

test_that("a predictor that the formula takes out again is no column", {
  fit <- lm(Petal.Width ~ . - Species - Sepal.Width, iris)
  columns <- c("Sepal.Length", "Petal.Length")
  expect_predicts(fit, iris[columns], iris[150:100, columns], predict(fit, iris[150:100, ]))
})

test_that("a missing value in a row is a missing prediction in that row only", {
  fit <- lm(Ozone ~ Wind + Temp + Solar.R, airquality)
  columns <- c("Wind", "Temp", "Solar.R")
  new <- airquality[4:20, ]
  expect_predicts(fit, airquality[columns], new[columns], predict(fit, new))
})

test_that("classes that predict as lm and glm do are taken", {
  columns <- c("wt", "hp")
  new <- mtcars[21:32, ]
  fit <- aov(mpg ~ wt + hp, mtcars)
  expect_predicts(fit, mtcars[columns], new[columns], predict(fit, new))
  skip_if_not_installed("MASS")
  fit <- MASS::rlm(mpg ~ wt + hp, mtcars)
  expect_predicts(fit, mtcars[columns], new[columns], predict(fit, new))
  fit <- MASS::glm.nb(stations ~ mag + depth, quakes[1:700, ])
  columns <- c("mag", "depth")
  new <- quakes[701:1000, ]
  expect_predicts(fit, quakes[columns], new[columns], predict(fit, new, type = "response"))
})

test_that("lm on a data set with many columns", {
  skip_if_not_installed("MASS")
  train <- MASS::Boston[1:400, ]
  new <- MASS::Boston[401:506, ]
  columns <- setdiff(names(train), "medv")
  fit <- lm(medv ~ ., train)
  expect_predicts(fit, train[columns], new[columns], predict(fit, new))
})

# glm ---------------------------------------------------------------------------------------------

test_that("glm predicts the response for each link of a binomial", {
  columns <- c("age", "parity", "induced", "spontaneous")
  train <- infert[1:200, ]
  new <- infert[201:248, ]
  last <- c(logit = "sigmoid", probit = "pnorm", cauchit = "callable", cloglog = "callable")
  for (link in names(last)) {
    fit <- glm(case ~ age + parity + induced + spontaneous, binomial(link), train)
    expect_identical(kinds(as_op_list(fit)), c("linear", "bias", last[[link]]))
    expect_predicts(fit, train[columns], new[columns], predict(fit, new, type = "response"))
  }
})

# A line through the transformed response: some links do not find a start on their own.
start_of <- function(family) {
  coef(lm(family$linkfun(waiting) ~ eruptions, faithful[1:200, ]))
}

test_that("glm predicts the response for each link of a count, a positive and a real response", {
  families <- list(
    poisson("log"), poisson("identity"), poisson("sqrt"), quasipoisson("log"),
    Gamma("inverse"), Gamma("identity"), Gamma("log"), inverse.gaussian("1/mu^2"),
    inverse.gaussian("inverse"), gaussian("identity"), gaussian("log"), gaussian("inverse"),
    quasi(link = power(1 / 3), variance = "mu")
  )
  train <- faithful[1:200, ]
  new <- faithful[201:272, ]
  for (family in families) {
    fit <- glm(waiting ~ eruptions, family, train, start = start_of(family))
    expected <- predict(fit, new, type = "response")
    expect_predicts(fit, train["eruptions"], new["eruptions"], expected)
  }
})

test_that("glm without intercept, without predictors, with weights and of deficient rank", {
  bare <- glm(case ~ age - 1, binomial(), infert)
  new <- infert[9:1, "age", drop = FALSE]
  expect_predicts(bare, infert["age"], new, predict(bare, new, type = "response"))
  constant <- glm(case ~ 1, binomial("cauchit"), infert)
  none <- matrix(numeric(), 3L, 0L)
  expected <- unname(predict(constant, infert[1:3, ], type = "response"))
  expect_predicts(constant, none, none, expected)
  d <- transform(mtcars, rate = carb / 8, eight = 8, lb = 1000 * wt)
  fit <- glm(rate ~ wt + lb + hp, binomial(), d, weights = eight)
  expected <- suppressWarnings(predict(fit, d[9:1, ], type = "response"))
  columns <- c("wt", "lb", "hp")
  expect_predicts(fit, d[columns], d[9:1, columns], expected)
})

test_that("an inverse link that stays in R keeps shape and missing values, and has its gradient", {
  fit <- glm(case ~ age + parity, binomial("cauchit"), infert)
  op <- as_op_list(fit)[[3L]]
  x <- matrix(c(-1, NA, 0, 2, NaN, Inf), 2L, dimnames = list(c("a", "b"), NULL))
  got <- op$param(x)
  expect_identical(dimnames(got), dimnames(x))
  expect_identical(is.na(got), is.na(x))
  expect_equal(got[1L, 1:2], c(0.25, 0.5))
  expect_identical(op$param(x[0L, , drop = FALSE]), x[0L, , drop = FALSE])
  dy <- matrix(c(2, 1, 1, 1, 1, 1), 2L)
  expect_equal(op$grad(x, dy)[1L, 1:2], c(2, 1) * dcauchy(c(-1, 0)))

  input <- as.matrix(infert[1:5, c("age", "parity")])
  graph <- morie_geron_trace(as_op_list(fit), input)$graph
  step <- 1e-5 * diag(2L)
  differences <- vapply(1:2, function(j) {
    shift <- matrix(step[j, ], 5L, 2L, byrow = TRUE)
    up <- morie_geron_run_graph(graph, input + shift)
    down <- morie_geron_run_graph(graph, input - shift)
    c(up - down) / 2e-5
  }, numeric(5L))
  gradient <- morie_geron_backward(graph, input)$grad_input
  expect_equal(unname(gradient), differences, tolerance = 1e-6)
})

test_that("an inverse link in R does not keep the model alive", {
  ops <- local({
    big <- infert[rep(seq_len(nrow(infert)), 400L), ]
    as_op_list(glm(case ~ age, binomial("cloglog"), big))
  })
  expect_lt(length(serialize(ops, NULL)), 5e5)
  expect_setequal(ls(environment(ops[[3L]]$param)), c("linkinv", "mu_eta"))
})

test_that("a link of the user is not taken for one of R by its name", {
  halved <- structure(
    list(
      linkfun = function(mu) 2 * qlogis(mu),
      linkinv = function(eta) plogis(eta / 2),
      mu.eta = function(eta) dlogis(eta / 2) / 2,
      valideta = function(eta) TRUE,
      name = "logit"
    ),
    class = "link-glm"
  )
  fit <- glm(case ~ spontaneous, binomial(halved), infert)
  expect_identical(fit$family$link, "logit")
  new <- infert[30:1, "spontaneous", drop = FALSE]
  expect_predicts(fit, infert["spontaneous"], new, predict(fit, new, type = "response"))
})

# Op lists, and lists of them ---------------------------------------------------------------------

test_that("an op list is returned as it is", {
  ops <- list(list(kind = "linear", param = diag(2)), first = tanh, list(kind = "relu"))
  expect_identical(as_op_list(ops), ops)
  expect_identical(as_op_list(list()), list())
})

test_that("op lists of models compose", {
  train <- mtcars[1:20, ]
  new <- mtcars[21:32, ]
  columns <- c("disp", "hp", "wt", "qsec")
  pca <- prcomp(train[columns], scale. = TRUE, rank. = 2)
  fit <- lm(mpg ~ PC1 + PC2, data.frame(mpg = train$mpg, pca$x))
  ops <- c(as_op_list(pca), as_op_list(fit))
  expect_identical(kinds(ops), c("bias", "scale", "linear", "linear", "bias"))
  expected <- predict(fit, as.data.frame(predict(pca, new)))
  expect_predicts(ops, train[columns], new[columns], expected)
})

# Refusals ----------------------------------------------------------------------------------------

test_that("predictors that are not numeric are refused", {
  d <- transform(mtcars,
    gear = factor(gear), carb = factor(carb, ordered = TRUE), vs = vs == 1,
    am = as.character(am), day = as.Date("2024-01-01") + seq_len(32L))
  factors <- lm(mpg ~ wt + gear, d)
  ordered <- lm(mpg ~ carb, d)
  logicals <- glm(mpg ~ hp + vs, gaussian(), d)
  characters <- lm(mpg ~ am, d)
  dates <- lm(mpg ~ day, d)
  several <- lm(mpg ~ wt + gear + vs + log(hp), d)
  for (fit in list(factors, ordered, logicals, characters, dates, several)) {
    expect_unsupported(fit)
  }
  expect_snapshot(error = TRUE, as_op_list(factors))
  expect_snapshot(error = TRUE, as_op_list(ordered))
  expect_snapshot(error = TRUE, as_op_list(logicals))
  expect_snapshot(error = TRUE, as_op_list(characters))
  expect_snapshot(error = TRUE, as_op_list(dates))
  expect_snapshot(error = TRUE, as_op_list(several))
})

test_that("terms that are computed, interactions and offsets are refused", {
  logarithm <- lm(mpg ~ log(wt), mtcars)
  polynomial <- lm(mpg ~ poly(wt, 2), mtcars)
  square <- glm(mpg ~ wt + I(wt^2), gaussian(), mtcars)
  interaction <- lm(mpg ~ wt * hp, mtcars)
  offset_term <- glm(carb ~ wt + offset(log(hp)), poisson(), mtcars)
  offset_zero <- lm(mpg ~ wt, mtcars, offset = rep(0, 32L))
  offset_argument <- lm(mpg ~ wt, mtcars, offset = hp)
  computed <- list(logarithm, polynomial, square, interaction)
  offsets <- list(offset_term, offset_argument, offset_zero)
  for (fit in c(computed, offsets)) {
    expect_unsupported(fit)
  }
  expect_snapshot(error = TRUE, as_op_list(logarithm))
  expect_snapshot(error = TRUE, as_op_list(polynomial))
  expect_snapshot(error = TRUE, as_op_list(square))
  expect_snapshot(error = TRUE, as_op_list(interaction))
  expect_snapshot(error = TRUE, as_op_list(offset_term))
  expect_snapshot(error = TRUE, as_op_list(offset_argument))
})

test_that("models whose predict() may be another are refused", {
  added <- structure(lm(mpg ~ wt, mtcars), class = c("mine", "lm"))
  smooth <- structure(glm(mpg ~ wt, gaussian(), mtcars), class = c("gam", "glm", "lm"))
  expect_unsupported(added)
  expect_unsupported(smooth)
  expect_snapshot(error = TRUE, as_op_list(added))
  expect_snapshot(error = TRUE, as_op_list(smooth))
})

test_that("a fit without a formula is refused", {
  skip_if_not_installed("MASS")
  fit <- MASS::rlm(cbind(1, mtcars$wt), mtcars$mpg)
  expect_unsupported(fit)
  expect_snapshot(error = TRUE, as_op_list(fit))
})

test_that("what is no model and no op list is refused", {
  expect_unsupported("relu")
  expect_unsupported(mtcars)
  expect_unsupported(tanh)
  expect_error(as_op_list(list(kind = "relu")), class = "moriejit_input_error")
  expect_error(as_op_list(list(list(kind = 1))), class = "moriejit_input_error")
  expect_snapshot(error = TRUE, as_op_list("relu"))
  expect_snapshot(error = TRUE, as_op_list(mtcars))
  expect_snapshot(error = TRUE, as_op_list(list(kind = "relu")))
  expect_snapshot(error = TRUE, as_op_list(list(tanh, list(param = diag(2)))))
})

test_that("further arguments are refused", {
  fit <- glm(case ~ age, binomial(), infert)
  expect_error(as_op_list(fit, type = "link"), class = "moriejit_input_error")
  expect_error(as_op_list(list(), 1, 2), class = "moriejit_input_error")
  expect_snapshot(error = TRUE, as_op_list(fit, type = "link"))
})

test_that("every refusal is a moriejit_error that shows the call of as_op_list()", {
  fit <- lm(mpg ~ log(wt), mtcars)
  condition <- expect_error(as_op_list(fit), class = "moriejit_error")
  expect_identical(conditionCall(condition), quote(as_op_list(fit)))
})
