// Elementwise ops of two or three matrices. Operands of one row, one column or one element are
// repeated along the other's rows and columns (a row is a bias; R's own recycling down the columns
// is an operand of one column).
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/op.h"
#include "core/ops/expr.h"

namespace moriejit {
namespace {

int64_t common(int64_t a, int64_t b, const char* what, Shape first, Shape second) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  throw Error(ErrorKind::kShape,
              std::string("Elementwise operands must agree in their number of ") + what +
                  ", or one of them must have one.",
              "The operands are " + to_string(first) + " and " + to_string(second) + ".");
}

Shape broadcast(Shape a, Shape b) {
  return {common(a.rows, b.rows, "rows", a, b), common(a.cols, b.cols, "columns", a, b)};
}

Shape broadcast_all(const std::vector<Shape>& in, const double*) {
  Shape shape = in[0];
  for (size_t i = 1; i < in.size(); ++i) shape = broadcast(shape, in[i]);
  return shape;
}

// Column j of an operand, and the step from row to row (0: one value for all rows).
struct Column {
  const double* data;
  int64_t step;

  Column(const View& view, int64_t j)
      : data(view.data + (view.shape.cols == 1 ? 0 : j * view.shape.rows)),
        step(view.shape.rows == 1 ? 0 : 1) {}
};

double per_element(const std::vector<Shape>&, Shape out) {
  return static_cast<double>(out.size());
}

template <class F>
Op& binary(Registry& r, const char* name, F f) {
  Op& op = r.add(name);
  op.arity = 2;
  op.shape = broadcast_all;
  op.eval = [f](const EvalArgs& a) {
    const int64_t rows = a.shape.rows;
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      const Column x(a.in[0], j), y(a.in[1], j);
      double* out = a.out + j * rows;
      // The plain case and the bias apart, so that the compiler turns them into vector loops.
      if (x.step == 1 && y.step == 1) {
        for (int64_t i = 0; i < rows; ++i) out[i] = f(x.data[i], y.data[i]);
      } else if (x.step == 1) {
        const double value = y.data[0];
        for (int64_t i = 0; i < rows; ++i) out[i] = f(x.data[i], value);
      } else {
        for (int64_t i = 0; i < rows; ++i) out[i] = f(x.data[0], y.data[i * y.step]);
      }
    }
  };
  op.cost = per_element;
  op.elementwise = op.in_place = true;
  return op;
}

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
  where.eval = [](const EvalArgs& a) {
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      const Column test(a.in[0], j), yes(a.in[1], j), no(a.in[2], j);
      double* out = a.out + j * a.shape.rows;
      for (int64_t i = 0; i < a.shape.rows; ++i) {
        const double t = test.data[i * test.step];
        const double value = t != 0 ? yes.data[i * yes.step] : no.data[i * no.step];
        out[i] = std::isnan(t) ? t : value;
      }
    }
  };
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
