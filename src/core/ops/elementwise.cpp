// Ops that map each element of one matrix, in their stable forms. NaN and NA stay what they are.
#include <cmath>

#include "core/op.h"
#include "core/ops/expr.h"
#include "core/ops/loops.h"

namespace moriejit {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;      // 1 / sqrt(2)
constexpr double kInvSqrtTwoPi = 0.39894228040143267794;  // 1 / sqrt(2 pi)

// `f` maps x, y = op(x), dy and the attributes to the gradient of x.
template <class F>
void derivative(Op& op, F f) {
  op.vjp = [f](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {f(Expr{&b, v.in[0]}, Expr{&b, v.out}, Expr{&b, v.dy}, v.attrs).id};
  };
}

using Attrs = const std::vector<double>&;

double logistic(double x) {
  // Two branches, so that exp never overflows.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

// Written so that NaN and -0 stay.
double rectify(double x) {
  return x < 0 ? 0 : x;
}

// By erfc, which does not cancel in the tails.
double normal_cdf(double x) {
  return 0.5 * std::erfc(-x * kSqrtHalf);
}

Expr normal_density(Expr x) {
  return ((x * x) * -0.5).apply("exp") * kInvSqrtTwoPi;
}

Expr positive(Expr x) {
  return x.apply("gt", x.scalar(0));
}

void register_arithmetic(Registry& r) {
  Op& neg = unary(r, "neg", 1, [](double x, const double*) { return -x; });
  neg.doc = "Changes the sign.";
  derivative(neg, [](Expr, Expr, Expr dy, Attrs) { return -dy; });

  Op& exp = unary(r, "exp", 10, [](double x, const double*) { return std::exp(x); });
  exp.kind = "exp";
  exp.doc = "exp(x).";
  derivative(exp, [](Expr, Expr y, Expr dy, Attrs) { return dy * y; });

  Op& sqrt = unary(r, "sqrt", 4, [](double x, const double*) { return std::sqrt(x); });
  sqrt.doc = "The square root; NaN below 0.";
  derivative(sqrt, [](Expr, Expr y, Expr dy, Attrs) { return selected(dy, dy / (y * 2)); });

  Op& pnorm = unary(r, "pnorm", 20, [](double x, const double*) { return normal_cdf(x); });
  pnorm.kind = "pnorm";
  pnorm.doc = "The standard normal distribution function, as R's pnorm(x).";
  derivative(pnorm, [](Expr x, Expr, Expr dy, Attrs) { return dy * normal_density(x); });
}

void register_sigmoids(Registry& r) {
  Op& tanh = unary(r, "tanh", 15, [](double x, const double*) { return std::tanh(x); });
  tanh.kind = "tanh";
  tanh.doc = "The hyperbolic tangent.";
  derivative(tanh, [](Expr, Expr y, Expr dy, Attrs) { return dy * ((1.0 - y) * (1.0 + y)); });

  Op& sigmoid = unary(r, "sigmoid", 12, [](double x, const double*) { return logistic(x); });
  sigmoid.kind = "sigmoid";
  sigmoid.doc = "1 / (1 + exp(-x)), as R's plogis(x); never overflows.";
  // Not y * (1 - y), which is 0 long before the density is.
  derivative(sigmoid,
             [](Expr x, Expr y, Expr dy, Attrs) { return dy * (y * (-x).apply("sigmoid")); });

  Op& softplus = unary(r, "softplus", 22, [](double x, const double*) {
    return rectify(x) + std::log1p(std::exp(-std::fabs(x)));
  });
  softplus.kind = "softplus";
  softplus.doc = "log(1 + exp(x)); never overflows.";
  derivative(softplus, [](Expr x, Expr, Expr dy, Attrs) { return dy * x.apply("sigmoid"); });
}

void register_rectifiers(Registry& r) {
  Op& relu = unary(r, "relu", 1, [](double x, const double*) { return rectify(x); });
  relu.kind = "relu";
  relu.doc = "max(x, 0); NaN, NA and -0 stay.";
  derivative(relu,
             [](Expr x, Expr, Expr dy, Attrs) { return where(positive(x), dy, dy.scalar(0)); });

  Op& leaky = unary(r, "leaky_relu", 1,
                    [](double x, const double* attrs) { return x < 0 ? attrs[0] * x : x; });
  leaky.kind = "leaky_relu";
  leaky.attrs = {{"negative_slope", 0.01}};
  leaky.doc = "x above 0, negative_slope * x below.";
  derivative(leaky, [](Expr x, Expr, Expr dy, Attrs attrs) {
    return where(positive(x), dy, dy * attrs[0]);
  });

  Op& elu = unary(r, "elu", 12, [](double x, const double* attrs) {
    return x > 0 ? x : attrs[0] * std::expm1(x);
  });
  elu.kind = "elu";
  elu.attrs = {{"alpha", 1.0}};
  elu.doc = "x above 0, alpha * (exp(x) - 1) below.";
  derivative(elu, [](Expr x, Expr, Expr dy, Attrs attrs) {
    // exp(min(x, 0)): the branch that is not selected must not overflow either.
    const Expr slope = (-(-x).apply("relu")).apply("exp") * attrs[0];
    return where(positive(x), dy, dy * slope);
  });

  Op& silu = unary(r, "silu", 13, [](double x, const double*) { return x * logistic(x); });
  silu.kind = "silu";
  silu.doc = "x * sigmoid(x), also called swish.";
  derivative(silu, [](Expr x, Expr, Expr dy, Attrs) {
    const Expr s = x.apply("sigmoid");
    return dy * (s + x * (s * (-x).apply("sigmoid")));
  });

  Op& gelu = unary(r, "gelu", 22, [](double x, const double*) { return x * normal_cdf(x); });
  gelu.kind = "gelu";
  gelu.doc = "x * pnorm(x), the exact form by erf.";
  derivative(gelu, [](Expr x, Expr, Expr dy, Attrs) {
    return dy * (x.apply("pnorm") + x * normal_density(x));
  });
}

}  // namespace

void register_elementwise(Registry& r) {
  register_arithmetic(r);
  register_sigmoids(r);
  register_rectifiers(r);
}

}  // namespace moriejit
