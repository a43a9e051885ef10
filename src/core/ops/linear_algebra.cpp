// Linear systems and factorisations.
#include "core/error.h"
#include "core/kernels/solve.h"
#include "core/op.h"
#include "core/ops/expr.h"

namespace moriejit {
namespace {

double cubic(const std::vector<Shape>& in, Shape out) {
  const double n = static_cast<double>(in[0].rows);
  return n * n * (n / 3 + static_cast<double>(out.cols));
}

void check_square(Shape shape, const char* what) {
  if (shape.rows == shape.cols) return;
  throw Error(ErrorKind::kShape, std::string(what) + " must be square.",
              "It is " + to_string(shape) + ".");
}

Op& square_op(Registry& r, const char* name) {
  Op& op = r.add(name);
  op.shape = [](const std::vector<Shape>& in, const double*) {
    check_square(in[0], "The matrix");
    return in[0];
  };
  op.cost = cubic;
  return op;
}

Shape system_shape(const std::vector<Shape>& in, const double*) {
  check_square(in[0], "The matrix of a system");
  if (in[0].cols == in[1].rows) return in[1];
  throw Error(ErrorKind::kShape, "A system needs as many right-hand rows as equations.",
              "They are " + to_string(in[0]) + " and " + to_string(in[1]) + ".");
}

Expr product(Expr a, Expr b, double ta, double tb) {
  return {a.builder, a.builder->op("matmul", {a.id, b.id}, {ta, tb})};
}

void register_systems(Registry& r) {
  Op& solve = r.add("solve");
  solve.arity = 2;
  solve.shape = system_shape;
  solve.eval = [](const EvalArgs& a) { solve_system(a.in[0], a.in[1], a.out); };
  solve.cost = cubic;
  solve.may_fail = true;
  solve.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr turned{&b, b.op("transpose", {v.in[0]})};
    const Expr db{&b, b.op("solve", {turned.id, v.dy})};
    return {(-product(db, Expr{&b, v.out}, 0, 1)).id, db.id};
  };
  solve.doc = "The solution x of a x = b, by LU with row exchanges.";

  Op& triangle = r.add("tri_solve");
  triangle.arity = 2;
  triangle.may_fail = true;
  triangle.attrs = {{"upper", 1, 0, 1, true}, {"trans", 0, 0, 1, true}};
  triangle.shape = [](const std::vector<Shape>& in, const double*) {
    if (in[1].rows <= in[0].rows && in[1].rows <= in[0].cols) return in[1];
    throw Error(ErrorKind::kShape, "A triangular system needs as many equations as rows.",
                "They are " + to_string(in[0]) + " and " + to_string(in[1]) + ".");
  };
  triangle.eval = [](const EvalArgs& a) {
    solve_triangle(a.in[0], a.in[1], a.attrs[0] != 0, a.attrs[1] != 0, a.out);
  };
  triangle.cost = cubic;
  triangle.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr db{&b, b.op("tri_solve", {v.in[0], v.dy}, {v.attrs[0], 1 - v.attrs[1]})};
    const Expr x{&b, v.out};
    const Expr full = v.attrs[1] != 0 ? product(x, db, 0, 1) : product(db, x, 0, 1);
    return {b.op("triangle", {(-full).id}, {v.attrs[0]}), db.id};
  };
  triangle.doc = "The solution of a triangular system, of its transpose where trans is 1.";

  Op& part = square_op(r, "triangle");
  part.attrs = {{"upper", 1, 0, 1, true}};
  part.eval = [](const EvalArgs& a) {
    const int64_t n = a.shape.rows;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < n; ++i) {
        const bool keep = a.attrs[0] != 0 ? i <= j : i >= j;
        a.out[i + j * n] = keep ? a.in[0].data[i + j * n] : 0;
      }
    }
  };
  part.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("triangle", {v.dy}, v.attrs)};
  };
  part.doc = "The upper (or lower) triangle with its diagonal, zeros elsewhere.";
}

void register_factors(Registry& r) {
  Op& chol = square_op(r, "chol");
  chol.may_fail = true;
  chol.eval = [](const EvalArgs& a) { cholesky(a.in[0], a.out); };
  chol.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    // Murray (2016), Differentiation of the Cholesky decomposition: R^-1 sym(P(dy R')) R'^-1, with
    // P the upper triangle with half its diagonal, folded onto the triangle that is read.
    const Expr factor{&b, v.out}, dy{&b, v.dy};
    const Expr inner = product(dy, factor, 0, 1);
    const Expr upper{&b, b.op("triangle", {inner.id}, {1})};
    const Expr strict = upper - Expr{&b, b.op("triangle", {upper.id}, {0})} * 0.5;
    const Expr both = strict + strict.apply("transpose");
    const Expr left{&b, b.op("tri_solve", {factor.id, both.id}, {1, 0})};
    const Expr right{&b, b.op("tri_solve", {factor.id, left.apply("transpose").id}, {1, 0})};
    const Expr full = right * 0.5;
    const Expr folded = full + full.apply("transpose");
    const Expr top{&b, b.op("triangle", {folded.id}, {1})};
    return {(top - Expr{&b, b.op("triangle", {top.id}, {0})} * 0.5).id};
  };
  chol.doc = "The upper Cholesky factor; only the upper triangle is read.";

  Op& inverse = square_op(r, "chol2inv");
  inverse.may_fail = true;
  inverse.eval = [](const EvalArgs& a) { inverse_of_cholesky(a.in[0], a.out); };
  inverse.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    // M = (R'R)^-1: dR = -R M (dy + dy') M, on the triangle.
    const Expr m{&b, v.out}, dy{&b, v.dy}, factor{&b, v.in[0]};
    const Expr both = dy + dy.apply("transpose");
    const Expr full = product(factor, product(product(m, both, 0, 0), m, 0, 0), 0, 0);
    return {b.op("triangle", {(-full).id}, {1})};
  };
  inverse.doc = "The inverse of t(r) r from its upper factor r.";
}

void register_determinants(Registry& r) {
  Op& log = r.add("det_log");
  log.shape = [](const std::vector<Shape>& in, const double*) {
    check_square(in[0], "The matrix of a determinant");
    return Shape{1, 1};
  };
  log.eval = [](const EvalArgs& a) {
    double sign;
    *a.out = log_abs_determinant(a.in[0], &sign);
  };
  log.cost = cubic;
  log.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const int64_t n = b.shape(v.in[0]).rows;
    Tensor identity({n, n});
    for (int64_t i = 0; i < n * n; ++i) identity.data()[i] = i % (n + 1) == 0 ? 1 : 0;
    const ValueId one = b.constant("c" + std::to_string(b.graph().size()), identity.buffer());
    const ValueId turned = b.op("transpose", {v.in[0]});
    return {b.op("mul", {b.op("solve", {turned, one}), v.dy})};
  };
  log.doc = "The logarithm of the determinant's absolute value.";

  Op& sign = r.add("det_sign");
  sign.shape = log.shape;
  sign.eval = [](const EvalArgs& a) { log_abs_determinant(a.in[0], a.out); };
  sign.cost = cubic;
  sign.no_vjp = "piecewise constant";
  sign.doc = "The sign of the determinant.";
}

}  // namespace

void register_linear_algebra(Registry& r) {
  register_systems(r);
  register_factors(r);
  register_determinants(r);
}

}  // namespace moriejit
