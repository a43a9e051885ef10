// Comparison, logic, powers and remainders, with R's meaning of NA and of special values.
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
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double truth(bool value) {
  return value ? 1 : 0;
}

template <class F>
void comparison(Registry& r, const char* name, const char* doc, F) {
  Op& op = binary(r, name, [](double x, double y) {
    return std::isnan(x) || std::isnan(y) ? na_value() : truth(F{}(x, y));
  });
  op.doc = doc;
  op.no_vjp = "piecewise constant";
}

struct Equal {
  bool operator()(double x, double y) const { return x == y; }
};
struct Unequal {
  bool operator()(double x, double y) const { return x != y; }
};
struct Less {
  bool operator()(double x, double y) const { return x < y; }
};
struct LessEqual {
  bool operator()(double x, double y) const { return x <= y; }
};
struct GreaterEqual {
  bool operator()(double x, double y) const { return x >= y; }
};

void register_comparisons(Registry& r) {
  comparison(r, "eq", "1 where the operands are equal, else 0; NA where one is NaN.", Equal{});
  comparison(r, "ne", "1 where the operands differ, else 0; NA where one is NaN.", Unequal{});
  comparison(r, "lt", "1 where the first operand is less; NA where one is NaN.", Less{});
  comparison(r, "le", "1 where the first operand is not greater; NA where one is NaN.",
             LessEqual{});
  comparison(r, "ge", "1 where the first operand is not less; NA where one is NaN.",
             GreaterEqual{});
}

void register_logic(Registry& r) {
  Op& logical_and = binary(r, "and", [](double x, double y) {
    if (x == 0 || y == 0) return 0.0;
    return std::isnan(x) || std::isnan(y) ? na_value() : 1.0;
  });
  logical_and.doc = "1 where both operands are not 0; 0 where one is 0, else NA where one is NaN.";
  logical_and.no_vjp = "piecewise constant";
  Op& logical_or = binary(r, "or", [](double x, double y) {
    if ((x != 0 && !std::isnan(x)) || (y != 0 && !std::isnan(y))) return 1.0;
    return std::isnan(x) || std::isnan(y) ? na_value() : 0.0;
  });
  logical_or.doc = "1 where one operand is not 0, else NA where one is NaN, else 0.";
  logical_or.no_vjp = "piecewise constant";
  Op& logical_xor = binary(r, "xor", [](double x, double y) {
    return std::isnan(x) || std::isnan(y) ? na_value() : truth((x != 0) != (y != 0));
  });
  logical_xor.doc = "1 where one operand is 0 and the other is not; NA where one is NaN.";
  logical_xor.no_vjp = "piecewise constant";
}

double modulo(double x, double y) {
  if (y == 0) return kNaN;
  if (std::fabs(y) * kEpsilon > 1 && std::isfinite(x) && std::fabs(x) <= std::fabs(y)) {
    if (std::fabs(x) == std::fabs(y)) return 0;
    return (x < 0 && y > 0) || (y < 0 && x > 0) ? x + y : x;
  }
  const double q = x / y;
  const long double rest =
      static_cast<long double>(x) - std::floor(q) * static_cast<long double>(y);
  const double again = static_cast<double>(rest / y);
  return static_cast<double>(rest - std::floor(again) * static_cast<long double>(y));
}

double whole_quotient(double x, double y) {
  const double q = x / y;
  if (y == 0 || std::fabs(q) * kEpsilon > 1 || !std::isfinite(q)) return q;
  if (std::fabs(q) < 1) {
    return q < 0 || (x < 0 && y > 0) || (x > 0 && y < 0) ? -1 : 0;
  }
  const long double floored = std::floor(q);
  const long double rest = static_cast<long double>(x) - floored * y;
  return static_cast<double>(floored + std::floor(rest / y));
}

double power(double x, double y) {
  if (y == 2) return x * x;
  if (x == 1 || y == 0) return 1;
  if (x == 0) return y > 0 ? 0 : y < 0 ? kInf : y;
  if (std::isfinite(x) && std::isfinite(y)) return std::pow(x, y);
  if (std::isnan(x) || std::isnan(y)) return x + y;
  if (!std::isfinite(x)) {
    if (x > 0) return y < 0 ? 0 : kInf;
    if (std::isfinite(y) && y == std::floor(y)) {
      return y < 0 ? 0 : modulo(y, 2) != 0 ? x : -x;
    }
  }
  if (!std::isfinite(y) && x >= 0) {
    if (y > 0) return x >= 1 ? kInf : 0;
    return x < 1 ? kInf : 0;
  }
  return kNaN;
}

double log_to_base(double x, double base) {
  if (std::isnan(x) || std::isnan(base)) {
    return is_na_value(x) || is_na_value(base) ? na_value() : kNaN;
  }
  const auto log = [](double v) { return v > 0 ? std::log(v) : v == 0 ? -kInf : kNaN; };
  if (base == 10) return x > 0 ? std::log10(x) : x < 0 ? kNaN : -kInf;
  if (base == 2) return x > 0 ? std::log2(x) : x < 0 ? kNaN : -kInf;
  return log(x) / log(base);
}

template <class F>
void slopes(Op& op, F f) {  // f maps x, y and the result to its derivatives by x and y
  op.vjp = [f](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr dy{&b, v.dy};
    const std::pair<Expr, Expr> g = f(Expr{&b, v.in[0]}, Expr{&b, v.in[1]}, Expr{&b, v.out});
    return {reduce_like(selected(dy, dy * g.first), v.in[0]).id,
            reduce_like(selected(dy, dy * g.second), v.in[1]).id};
  };
}

using Two = std::pair<Expr, Expr>;

void register_powers(Registry& r) {
  Op& pow = binary(r, "pow", [](double x, double y) { return power(x, y); });
  pow.doc = "The power; 1^y and x^0 are 1 even for NaN.";
  slopes(pow, [](Expr x, Expr y, Expr out) {
    // Where y is 0 the result is constant in x; the logarithm is only taken where x is positive.
    const Expr by_x = where(y, y * x.apply("pow", y + (-1.0)), y.scalar(0));
    const Expr positive = x.apply("gt", x.scalar(0));
    const Expr log = where(positive, x, x.scalar(1)).apply("log");
    return Two(by_x, out * log);
  });
  Op& mod = binary(r, "mod", [](double x, double y) { return modulo(x, y); });
  mod.doc = "x %% y: the remainder with the sign of y.";
  slopes(mod, [](Expr x, Expr y, Expr) { return Two(x.scalar(1), -x.apply("idiv", y)); });
  Op& idiv = binary(r, "idiv", [](double x, double y) { return whole_quotient(x, y); });
  idiv.doc = "x %/% y: the quotient rounded down.";
  idiv.no_vjp = "piecewise constant";
  Op& atan2 = binary(r, "atan2", [](double x, double y) { return std::atan2(x, y); });
  atan2.doc = "The angle of the point (y, x).";
  slopes(atan2, [](Expr x, Expr y, Expr) {
    const Expr square = x * x + y * y;
    return Two(y / square, -(x / square));
  });
  Op& log_base = binary(r, "log_base", [](double x, double y) { return log_to_base(x, y); });
  log_base.doc = "The logarithm of x to base y.";
  slopes(log_base, [](Expr x, Expr y, Expr out) {
    const Expr log = y.apply("log");
    return Two(1.0 / (x * log), -(out / (y * log)));
  });
}

// A tie is shared evenly; one with a constant counts as the constant, so that pmax(x, 0) has the
// derivative of relu whichever way round it is written.
template <class F>
void extreme_vjp(Op& op, F first_wins) {
  op.vjp = [first_wins](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr x{&b, v.in[0]}, y{&b, v.in[1]}, dy{&b, v.dy};
    const Expr tie = x.apply("eq", y), wins = first_wins(x, y), zero = dy.scalar(0);
    const bool constant = is_constant(b.graph(), v.in[0]) || is_constant(b.graph(), v.in[1]);
    const Expr share = constant ? zero : dy * 0.5;
    return {reduce_like(where(tie, share, where(wins, dy, zero)), v.in[0]).id,
            reduce_like(where(tie, share, where(wins, zero, dy)), v.in[1]).id};
  };
}

void register_extremes(Registry& r) {
  // As R's: what is missing wins, and of equal ones the first.
  Op& pmax = binary(r, "pmax", [](double x, double y) {
    if (std::isnan(x)) return x;
    return std::isnan(y) || y > x ? y : x;
  });
  pmax.doc = "The greater of two elements; NaN where one is; the first of equal ones.";
  extreme_vjp(pmax, [](Expr x, Expr y) { return x.apply("gt", y); });
  Op& pmin = binary(r, "pmin", [](double x, double y) {
    if (std::isnan(x)) return x;
    return std::isnan(y) || y < x ? y : x;
  });
  pmin.doc = "The smaller of two elements; NaN where one is; the first of equal ones.";
  extreme_vjp(pmin, [](Expr x, Expr y) { return y.apply("gt", x); });
}

}  // namespace

void register_compare(Registry& r) {
  register_comparisons(r);
  register_logic(r);
  register_powers(r);
  register_extremes(r);
}

}  // namespace moriejit
