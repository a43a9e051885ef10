// Arithmetic on values of the graph that is being built, so that a derivative rule reads like its
// formula. Only for ops/.
#pragma once

#include "core/graph.h"
#include "core/op.h"

namespace moriejit {

struct Expr {
  Builder* builder;
  ValueId id;

  Expr apply(const char* op) const { return {builder, builder->op(op, {id})}; }
  Expr apply(const char* op, Expr other) const {
    return {builder, builder->op(op, {id, other.id})};
  }
  Expr scalar(double value) const { return {builder, builder->scalar(value)}; }
};

inline Expr operator-(Expr a) {
  return a.apply("neg");
}
inline Expr operator+(Expr a, Expr b) {
  return a.apply("add", b);
}
inline Expr operator-(Expr a, Expr b) {
  return a.apply("sub", b);
}
inline Expr operator*(Expr a, Expr b) {
  return a.apply("mul", b);
}
inline Expr operator/(Expr a, Expr b) {
  return a.apply("div", b);
}
inline Expr operator+(Expr a, double b) {
  return a + a.scalar(b);
}
inline Expr operator*(Expr a, double b) {
  return a * a.scalar(b);
}
inline Expr operator/(Expr a, double b) {
  return a / a.scalar(b);
}
inline Expr operator+(double a, Expr b) {
  return b.scalar(a) + b;
}
inline Expr operator/(double a, Expr b) {
  return b.scalar(a) / b;
}
inline Expr operator-(double a, Expr b) {
  return b.scalar(a) - b;
}

// Selects, so that what is not selected never leaks (0 * Inf is NaN).
inline Expr where(Expr condition, Expr yes, Expr no) {
  Builder* b = condition.builder;
  return {b, b->op("where", {condition.id, yes.id, no.id})};
}

// 0 where dy is 0: what is infinite or NaN in a place that nothing depends on does not leak.
inline Expr selected(Expr dy, Expr gradient) {
  return where(dy, gradient, dy.scalar(0));
}

// The gradient of an operand that was broadcast: `g` summed down to the shape of `ref`. A graph
// runs with other numbers of rows than it was made with, so an operand of one row or column may be
// broadcast then even if it has the very shape now.
inline Expr reduce_like(Expr g, ValueId ref) {
  Builder* b = g.builder;
  const Shape shape = b->shape(ref);
  if (shape.rows != 1 && shape.cols != 1 && shape == b->shape(g.id)) return g;
  return {b, b->op("sum_like", {g.id, ref})};
}

}  // namespace moriejit
