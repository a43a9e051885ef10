// Mathematical functions of each element, with the meaning that R gives them.
#include <cmath>
#include <limits>

#include "core/op.h"
#include "core/ops/expr.h"
#include "core/ops/loops.h"
#include "core/ops/na.h"

namespace moriejit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr double kLn10 = 2.302585092994045684017991454684;

template <class F>
void slope(Op& op, F f) {  // f maps x and y to dy/dx
  op.vjp = [f](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr dy{&b, v.dy};
    return {selected(dy, dy * f(Expr{&b, v.in[0]}, Expr{&b, v.out})).id};
  };
}

double log_of(double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? std::log(x) : x == 0 ? -kInf : kNaN;
}

void register_logs(Registry& r) {
  Op& log = unary(r, "log", 10, [](double x) { return log_of(x); });
  log.doc = "The natural logarithm; NaN below 0.";
  slope(log, [](Expr x, Expr) { return 1.0 / x; });

  Op& log2 = unary(r, "log2", 10, [](double x) {
    return std::isnan(x) ? x : x > 0 ? std::log2(x) : x < 0 ? kNaN : -kInf;
  });
  log2.doc = "The logarithm to base 2.";
  slope(log2, [](Expr x, Expr) { return (1 / kLn2) / x; });

  Op& log10 = unary(r, "log10", 10, [](double x) {
    return std::isnan(x) ? x : x > 0 ? std::log10(x) : x < 0 ? kNaN : -kInf;
  });
  log10.doc = "The logarithm to base 10.";
  slope(log10, [](Expr x, Expr) { return (1 / kLn10) / x; });

  Op& log1p = unary(r, "log1p", 12, [](double x) { return std::log1p(x); });
  log1p.doc = "log(1 + x), accurate for small x.";
  slope(log1p, [](Expr x, Expr) { return 1.0 / (1.0 + x); });

  Op& expm1 = unary(r, "expm1", 12, [](double x) { return std::expm1(x); });
  expm1.doc = "exp(x) - 1, accurate for small x.";
  slope(expm1, [](Expr x, Expr) { return x.apply("exp"); });
}

void register_trigonometry(Registry& r) {
  Op& sin = unary(r, "sin", 12, [](double x) { return std::sin(x); });
  sin.doc = "The sine.";
  slope(sin, [](Expr x, Expr) { return x.apply("cos"); });
  Op& cos = unary(r, "cos", 12, [](double x) { return std::cos(x); });
  cos.doc = "The cosine.";
  slope(cos, [](Expr x, Expr) { return -x.apply("sin"); });
  Op& tan = unary(r, "tan", 15, [](double x) { return std::tan(x); });
  tan.doc = "The tangent.";
  slope(tan, [](Expr, Expr y) { return 1.0 + y * y; });
  Op& asin = unary(r, "asin", 15, [](double x) { return std::asin(x); });
  asin.doc = "The arc sine.";
  slope(asin, [](Expr x, Expr) { return 1.0 / (1.0 - x * x).apply("sqrt"); });
  Op& acos = unary(r, "acos", 15, [](double x) { return std::acos(x); });
  acos.doc = "The arc cosine.";
  slope(acos, [](Expr x, Expr) { return -(1.0 / (1.0 - x * x).apply("sqrt")); });
  Op& atan = unary(r, "atan", 15, [](double x) { return std::atan(x); });
  atan.doc = "The arc tangent.";
  slope(atan, [](Expr x, Expr) { return 1.0 / (1.0 + x * x); });
}

void register_hyperbolic(Registry& r) {
  Op& sinh = unary(r, "sinh", 15, [](double x) { return std::sinh(x); });
  sinh.doc = "The hyperbolic sine.";
  slope(sinh, [](Expr x, Expr) { return x.apply("cosh"); });
  Op& cosh = unary(r, "cosh", 15, [](double x) { return std::cosh(x); });
  cosh.doc = "The hyperbolic cosine.";
  slope(cosh, [](Expr x, Expr) { return x.apply("sinh"); });
  Op& asinh = unary(r, "asinh", 15, [](double x) { return std::asinh(x); });
  asinh.doc = "The inverse hyperbolic sine.";
  slope(asinh, [](Expr x, Expr) { return 1.0 / (1.0 + x * x).apply("sqrt"); });
  Op& acosh = unary(r, "acosh", 15, [](double x) { return std::acosh(x); });
  acosh.doc = "The inverse hyperbolic cosine.";
  slope(acosh, [](Expr x, Expr) { return 1.0 / (x * x + -1.0).apply("sqrt"); });
  Op& atanh = unary(r, "atanh", 15, [](double x) { return std::atanh(x); });
  atanh.doc = "The inverse hyperbolic tangent.";
  slope(atanh, [](Expr x, Expr) { return 1.0 / (1.0 - x * x); });
}

// Steps have the derivative 0 wherever they have one.
void no_slope(Op& op) {
  op.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("zeros_like", {v.in[0]})};
  };
}

void register_steps(Registry& r) {
  Op& abs = unary(r, "abs", 1, [](double x) { return std::fabs(x); });
  abs.doc = "The absolute value.";
  slope(abs, [](Expr x, Expr) { return x.apply("sign"); });
  Op& sign = unary(r, "sign", 1, [](double x) {
    return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
  });
  sign.doc = "-1, 0 or 1.";
  no_slope(sign);
  Op& floor = unary(r, "floor", 1, [](double x) { return std::floor(x); });
  floor.doc = "The largest integer not above x.";
  no_slope(floor);
  Op& ceiling = unary(r, "ceiling", 1, [](double x) { return std::ceil(x); });
  ceiling.doc = "The smallest integer not below x.";
  no_slope(ceiling);
  Op& trunc = unary(r, "trunc", 1, [](double x) { return std::trunc(x); });
  trunc.doc = "x without its fraction.";
  no_slope(trunc);
}

void register_tests(Registry& r) {
  Op& logical_not =
      unary(r, "not", 1, [](double x) { return std::isnan(x) ? x : static_cast<double>(x == 0); });
  logical_not.doc = "1 where x is 0, else 0; NaN stays.";
  Op& is_na = unary(r, "is_na", 1, [](double x) { return static_cast<double>(std::isnan(x)); });
  is_na.doc = "1 where x is NA or NaN.";
  Op& is_nan = unary(r, "is_nan", 1, [](double x) {
    return static_cast<double>(std::isnan(x) && !is_na_value(x));
  });
  is_nan.doc = "1 where x is NaN but not NA.";
  Op& is_finite =
      unary(r, "is_finite", 1, [](double x) { return static_cast<double>(std::isfinite(x)); });
  is_finite.doc = "1 where x is a finite number.";
  Op& is_infinite =
      unary(r, "is_infinite", 1, [](double x) { return static_cast<double>(std::isinf(x)); });
  is_infinite.doc = "1 where x is Inf or -Inf.";
  for (Op* op : {&logical_not, &is_na, &is_nan, &is_finite, &is_infinite}) {
    op->no_vjp = "piecewise constant";
  }
}

void register_types(Registry& r) {
  Op& int_range = unary(r, "int_range", 1, [](double x) {
    return std::fabs(x) <= 2147483647.0 ? x : na_value();  // false for NaN
  });
  int_range.doc = "x where R's integers reach it, else NA.";
  slope(int_range, [](Expr x, Expr) { return x.scalar(1); });
  Op& round_single = unary(r, "round_single", 1, [](double x) {
    return std::isnan(x) ? x : static_cast<double>(static_cast<float>(x));
  });
  round_single.doc = "x rounded to single precision.";
  slope(round_single, [](Expr x, Expr) { return x.scalar(1); });
}

}  // namespace

void register_maths(Registry& r) {
  register_logs(r);
  register_trigonometry(r);
  register_hyperbolic(r);
  register_steps(r);
  register_tests(r);
  register_types(r);
}

}  // namespace moriejit
