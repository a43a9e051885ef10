// Special functions, and densities, distribution functions and quantiles. Their values come from
// the host's library (see maths.h); the records are made of one table.
#include <array>
#include <string>
#include <vector>

#include "core/maths.h"
#include "core/op.h"
#include "core/ops/expr.h"
#include "core/ops/loops.h"

namespace moriejit {
namespace {

constexpr int kMost = 4;  // operands

Op& host_op(Registry& r, const std::string& name, int arity, const std::string& doc) {
  Op& op = r.add(name);
  op.arity = arity;
  op.shape = broadcast_all;
  op.eval = [name, arity](const EvalArgs& a) {
    const HostFunction f = host_function(name);
    std::array<double, kMost> x{};
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      for (int64_t i = 0; i < a.shape.rows; ++i) {
        for (int k = 0; k < arity; ++k) {
          const Shape s = a.in[k].shape;
          const int64_t row = s.rows == 1 ? 0 : i, col = s.cols == 1 ? 0 : j;
          x[static_cast<size_t>(k)] = a.in[k].data[row + col * s.rows];
        }
        a.out[i + j * a.shape.rows] = f(x.data(), a.attrs);
      }
    }
  };
  op.cost = [](const std::vector<Shape>&, Shape out) {
    return 50 * static_cast<double>(out.size());
  };
  op.elementwise = op.in_place = true;
  op.doc = doc;
  op.no_vjp = "the derivative is not known to the package";
  return op;
}

// f maps operands and result to the derivatives by each operand (id kNoValue: none).
template <class F>
void slopes(Op& op, F f) {
  op.no_vjp.clear();
  op.vjp = [f](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    std::vector<Expr> in;
    for (ValueId id : v.in) in.push_back(Expr{&b, id});
    const Expr dy{&b, v.dy};
    std::vector<ValueId> grads;
    for (const Expr& slope : f(in, Expr{&b, v.out}, v.attrs)) {
      const ValueId arg = v.in[grads.size()];
      grads.push_back(slope.id == kNoValue ? kNoValue
                                           : reduce_like(selected(dy, dy * slope), arg).id);
    }
    grads.resize(v.in.size(), kNoValue);
    return grads;
  };
}

using Exprs = std::vector<Expr>;
using Numbers = const std::vector<double>&;

Expr of(const char* op, const Exprs& in, const std::vector<double>& attrs) {
  std::vector<ValueId> ids;
  for (const Expr& e : in) ids.push_back(e.id);
  return {in[0].builder, in[0].builder->op(op, ids, attrs)};
}

void register_gamma(Registry& r) {
  Op& gamma = host_op(r, "gamma", 1, "The gamma function.");
  slopes(gamma,
         [](const Exprs& x, Expr y, Numbers) -> Exprs { return {y * x[0].apply("digamma")}; });
  Op& lgamma = host_op(r, "lgamma", 1, "The logarithm of the gamma function's absolute value.");
  slopes(lgamma, [](const Exprs& x, Expr, Numbers) -> Exprs { return {x[0].apply("digamma")}; });
  Op& digamma = host_op(r, "digamma", 1, "The derivative of lgamma.");
  slopes(digamma, [](const Exprs& x, Expr, Numbers) -> Exprs { return {x[0].apply("trigamma")}; });
  host_op(r, "trigamma", 1, "The second derivative of lgamma.");
  Op& beta = host_op(r, "beta", 2, "The beta function.");
  slopes(beta, [](const Exprs& x, Expr y, Numbers) -> Exprs {
    const Expr both = (x[0] + x[1]).apply("digamma");
    return {y * (x[0].apply("digamma") - both), y * (x[1].apply("digamma") - both)};
  });
  Op& lbeta = host_op(r, "lbeta", 2, "The logarithm of the beta function.");
  slopes(lbeta, [](const Exprs& x, Expr, Numbers) -> Exprs {
    const Expr both = (x[0] + x[1]).apply("digamma");
    return {x[0].apply("digamma") - both, x[1].apply("digamma") - both};
  });
  host_op(r, "choose", 2, "The binomial coefficient.");
  host_op(r, "lchoose", 2, "The logarithm of the binomial coefficient's absolute value.");
}

void register_rounding(Registry& r) {
  for (const char* name : {"round", "signif"}) {
    Op& op = host_op(r, name, 2,
                     name == std::string("round")
                         ? "x rounded to the second operand's decimal places."
                         : "x rounded to the second operand's significant digits.");
    op.no_vjp = "piecewise constant";
  }
  constexpr double kPi = 3.141592653589793238462643383280;
  Op& sinpi = host_op(r, "sinpi", 1, "sin(pi x).");
  slopes(sinpi,
         [=](const Exprs& x, Expr, Numbers) -> Exprs { return {x[0].apply("cospi") * kPi}; });
  Op& cospi = host_op(r, "cospi", 1, "cos(pi x).");
  slopes(cospi,
         [=](const Exprs& x, Expr, Numbers) -> Exprs { return {x[0].apply("sinpi") * -kPi}; });
  Op& tanpi = host_op(r, "tanpi", 1, "tan(pi x).");
  slopes(tanpi, [=](const Exprs&, Expr y, Numbers) -> Exprs { return {(1.0 + y * y) * kPi}; });
}

struct Family {
  const char* name;
  int parameters;
  const char* title;
};

constexpr Family kFamilies[] = {
    {"norm", 2, "normal"},      {"logis", 2, "logistic"},
    {"exp", 1, "exponential"},  {"unif", 2, "uniform"},
    {"gamma", 2, "gamma"},      {"beta", 2, "beta"},
    {"t", 1, "Student's t"},    {"chisq", 1, "chi-squared"},
    {"binom", 2, "binomial"},   {"pois", 1, "Poisson"},
    {"geom", 1, "geometric"},   {"nbinom", 2, "negative binomial"},
    {"lnorm", 2, "log-normal"}, {"weibull", 2, "Weibull"},
    {"cauchy", 2, "Cauchy"},    {"f", 2, "F"},
};

// The density f of a p-function of one kind gives the derivative by its first operand.
void probability_slope(Op& op, const std::string& density) {
  slopes(op, [density](const Exprs& x, Expr y, Numbers attrs) -> Exprs {
    const Expr d = of(density.c_str(), x, {0});
    const Expr up = attrs[0] != 0 ? d : -d;
    return {attrs[1] != 0 ? up / y.apply("exp") : up};
  });
}

// Derivatives of log densities by the value and by the parameters.
void density_slopes(Op& op, const std::string& name) {
  const auto scaled = [&op](auto log_slopes) {
    slopes(op, [log_slopes](const Exprs& x, Expr y, Numbers attrs) {
      Exprs s = log_slopes(x);
      for (Expr& e : s) {
        if (attrs[0] == 0 && e.id != kNoValue) e = e * y;
      }
      return s;
    });
  };
  const auto none = [](const Exprs& x) { return Expr{x[0].builder, kNoValue}; };
  if (name == "norm") {
    scaled([](const Exprs& x) -> Exprs {
      const Expr z = (x[0] - x[1]) / x[2];
      return {-(z / x[2]), z / x[2], (z * z + -1.0) / x[2]};
    });
  } else if (name == "exp") {  // by the scale, 1 / rate
    scaled([](const Exprs& x) -> Exprs {
      return {-(1.0 / x[1]) + x[0] * 0.0, (x[0] / x[1] + -1.0) / x[1]};
    });
  } else if (name == "pois") {
    scaled([none](const Exprs& x) -> Exprs { return {none(x), x[0] / x[1] + -1.0}; });
  } else if (name == "binom") {
    scaled([none](const Exprs& x) -> Exprs {
      return {none(x), none(x), x[0] / x[2] - (x[1] - x[0]) / (1.0 - x[2])};
    });
  } else if (name == "logis") {
    scaled([](const Exprs& x) -> Exprs {
      const Expr z = (x[0] - x[1]) / x[2];
      const Expr t = (z * 0.5).apply("tanh");
      return {-(t / x[2]), t / x[2], (z * t + -1.0) / x[2]};
    });
  } else if (name == "gamma") {  // by the shape and the scale
    scaled([](const Exprs& x) -> Exprs {
      return {(x[1] + -1.0) / x[0] - 1.0 / x[2], (x[0] / x[2]).apply("log") - x[1].apply("digamma"),
              (x[0] / x[2] - x[1]) / x[2]};
    });
  }
}

void register_distributions(Registry& r) {
  for (const Family& family : kFamilies) {
    const std::string name = family.name, title = family.title;
    Op& density = host_op(r, "d" + name, family.parameters + 1,
                          "The density of the " + title + " distribution, or its logarithm.");
    density.attrs = {{"log", 0, 0, 1, true}};
    density_slopes(density, name);
    const std::string p = name == "norm" ? "pnorm3" : "p" + name;
    Op& probability =
        host_op(r, p, family.parameters + 1, "The " + title + " distribution function.");
    probability.attrs = {{"lower", 1, 0, 1, true}, {"log", 0, 0, 1, true}};
    const bool continuous = name != "binom" && name != "pois" && name != "geom" && name != "nbinom";
    if (continuous) probability_slope(probability, "d" + name);
    Op& quantile = host_op(r, "q" + name, family.parameters + 1,
                           "The quantile function of the " + title + " distribution.");
    quantile.attrs = probability.attrs;
  }
}

}  // namespace

void register_special(Registry& r) {
  register_gamma(r);
  register_rounding(r);
  register_distributions(r);
}

}  // namespace moriejit
