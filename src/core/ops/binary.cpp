// Elementwise ops of two or three matrices. Operands of one row, one column or one element are
// repeated along the other's rows and columns (a row is a bias; R's own recycling down the columns
// is an operand of one column).
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/op.h"
#include "core/ops/expr.h"
#include "core/ops/loops.h"

namespace moriejit {
namespace {

// `f` maps the operands, the result and dy to the gradients before broadcasting is undone.
template <class F>
void derivative(Op& op, F f) {
  op.vjp = [f](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const std::pair<Expr, Expr> g =
        f(Expr{&b, v.in[0]}, Expr{&b, v.in[1]}, Expr{&b, v.out}, Expr{&b, v.dy});
    return {reduce_like(g.first, v.in[0]).id, reduce_like(g.second, v.in[1]).id};
  };
}

using Two = std::pair<Expr, Expr>;
using Role = Field::Role;

void register_arithmetic(Registry& r) {
  Op& add = binary(r, "add", [](double x, double y) { return x + y; });
  add.kind = "bias";
  add.fields = {{"param", Role::kRow}};
  add.doc = "The sum; as a bias, adds param[j] to column j.";
  derivative(add, [](Expr, Expr, Expr, Expr dy) { return Two(dy, dy); });

  Op& sub = binary(r, "sub", [](double x, double y) { return x - y; });
  sub.doc = "The difference.";
  derivative(sub, [](Expr, Expr, Expr, Expr dy) { return Two(dy, -dy); });

  Op& mul = binary(r, "mul", [](double x, double y) { return x * y; });
  mul.kind = "scale";
  mul.fields = {{"param", Role::kRow}};
  mul.doc = "The product of elements; as a scale, multiplies column j by param[j].";
  derivative(mul, [](Expr x, Expr y, Expr, Expr dy) { return Two(dy * y, dy * x); });

  Op& div = binary(r, "div", [](double x, double y) { return x / y; });
  div.doc = "The quotient.";
  derivative(div, [](Expr, Expr y, Expr out, Expr dy) { return Two(dy / y, -(dy * out / y)); });
}

void register_select(Registry& r) {
  Op& gt = binary(r, "gt", [](double x, double y) {
    return std::isnan(x) || std::isnan(y) ? x + y : static_cast<double>(x > y);
  });
  gt.doc = "1 where the first operand is greater, else 0; NaN where one is NaN.";
  gt.no_vjp = "piecewise constant";

  Op& where = r.add("where");
  where.arity = 3;
  where.shape = broadcast_all;
  where.loop = ternary_loop([](double test, double yes, double no) {
    const double value = test != 0 ? yes : no;
    return std::isnan(test) ? test : value;
  });
  where.eval = eval_by<3>(where.loop);
  where.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr test{&b, v.in[0]}, dy{&b, v.dy}, zero = dy.scalar(0);
    return {kNoValue, reduce_like(moriejit::where(test, dy, zero), v.in[1]).id,
            reduce_like(moriejit::where(test, zero, dy), v.in[2]).id};
  };
  where.cost = per_element;
  where.elementwise = where.in_place = true;
  where.doc = "The second operand where the first is not 0, else the third; NaN where it is NaN.";
}

}  // namespace

void register_binary(Registry& r) {
  register_arithmetic(r);
  register_select(r);
}

}  // namespace moriejit
