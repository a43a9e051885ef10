// Matrix products, sums over rows and columns, and the repetition that undoes a sum.
#include <algorithm>

#include "core/error.h"
#include "core/kernels/gemm.h"
#include "core/op.h"
#include "core/ops/expr.h"

namespace moriejit {
namespace {

Shape transposed_if(Shape s, double flag) {
  return flag != 0 ? Shape{s.cols, s.rows} : s;
}

Shape product_shape(const std::vector<Shape>& in, const double* attrs) {
  const Shape a = transposed_if(in[0], attrs[0]), b = transposed_if(in[1], attrs[1]);
  if (a.cols != b.rows) {
    throw Error(
        ErrorKind::kShape, "A product needs as many rows on its right as columns on its left.",
        "The input is " + to_string(a) + ", what it is multiplied with " + to_string(b) + ".");
  }
  return {a.rows, b.cols};
}

Product product_of(const EvalArgs& a) {
  return {a.in[0], a.attrs[0] != 0, a.in[1], a.attrs[1] != 0, a.out, a.shape};
}

void register_product(Registry& r) {
  Op& matmul = r.add("matmul");
  matmul.kind = "linear";
  matmul.fields = {{"param", Field::Role::kMatrix}};
  matmul.arity = 2;
  matmul.attrs = {{"ta", 0, 0, 1, true, false}, {"tb", 0, 0, 1, true, false}};
  matmul.shape = product_shape;
  matmul.eval = [](const EvalArgs& a) { multiply_plain(product_of(a)); };
  matmul.kernel = [](const EvalArgs& a) { multiply(product_of(a), a.hooks.poll); };
  matmul.cost = [](const std::vector<Shape>& in, Shape out) {
    const double inner =
        out.rows > 0 ? static_cast<double>(in[0].size()) / static_cast<double>(out.rows) : 0;
    return static_cast<double>(out.size()) * inner;
  };
  matmul.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const ValueId x = v.in[0], w = v.in[1];
    const double ta = v.attrs[0], tb = v.attrs[1];
    // y = A B, A = x or t(x): dA = dy t(B), dB = t(A) dy; a transposed operand gets the transpose.
    const ValueId dx =
        ta != 0 ? b.op("matmul", {w, v.dy}, {tb, 1}) : b.op("matmul", {v.dy, w}, {0, 1 - tb});
    const ValueId dw =
        tb != 0 ? b.op("matmul", {v.dy, x}, {1, ta}) : b.op("matmul", {x, v.dy}, {1 - ta, 0});
    return {dx, dw};
  };
  matmul.doc = "The matrix product, of transposes where ta or tb is 1; x %*% param as a linear op.";
}

// Column after column into long doubles, as R does.
void sum_rows(const View& x, double* out) {
  std::vector<long double> sums(static_cast<size_t>(x.shape.rows), 0.0L);
  for (int64_t j = 0; j < x.shape.cols; ++j) {
    const double* column = x.data + j * x.shape.rows;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += column[i];
  }
  for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<double>(sums[i]);
}

double sum_column(const View& x, int64_t j) {
  const double* column = x.data + j * x.shape.rows;
  double sum = 0;
  for (int64_t i = 0; i < x.shape.rows; ++i) sum += column[i];
  return sum;
}

// Sums x down to `target`, each of whose dimensions is x's or 1.
void sum_to(const View& x, Shape target, double* out) {
  if (target == x.shape) {
    if (out != x.data) std::copy(x.data, x.data + x.shape.size(), out);
  } else if (target.cols == x.shape.cols) {
    for (int64_t j = 0; j < x.shape.cols; ++j) out[j] = sum_column(x, j);
  } else if (target.rows == x.shape.rows) {
    sum_rows(x, out);
  } else {
    double sum = 0;
    for (int64_t j = 0; j < x.shape.cols; ++j) sum += sum_column(x, j);
    *out = sum;
  }
}

double per_input(const std::vector<Shape>& in, Shape) {
  return static_cast<double>(in[0].size());
}

void check_repeats(Shape small, Shape large) {
  if ((small.rows == large.rows || small.rows == 1) &&
      (small.cols == large.cols || small.cols == 1)) {
    return;
  }
  throw Error(ErrorKind::kShape, "The smaller operand must repeat along the larger one.",
              "They are " + to_string(small) + " and " + to_string(large) + ".");
}

void register_row_sums(Registry& r) {
  Op& row_sums = r.add("row_sums");
  row_sums.shape = [](const std::vector<Shape>& in, const double*) { return Shape{in[0].rows, 1}; };
  row_sums.eval = [](const EvalArgs& a) { sum_rows(a.in[0], a.out); };
  row_sums.cost = per_input;
  row_sums.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("expand_like", {v.dy, v.in[0]})};
  };
  row_sums.doc = "The sum of each row, as one column.";
}

void register_sum_like(Registry& r) {
  Op& sum_like = r.add("sum_like");
  sum_like.arity = 2;
  sum_like.shape = [](const std::vector<Shape>& in, const double*) {
    check_repeats(in[1], in[0]);
    return in[1];
  };
  sum_like.eval = [](const EvalArgs& a) { sum_to(a.in[0], a.shape, a.out); };
  sum_like.cost = per_input;
  sum_like.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("expand_like", {v.dy, v.in[0]}), kNoValue};
  };
  sum_like.in_place = true;
  sum_like.doc = "The first operand summed down to the shape of the second.";
}

void register_expand_like(Registry& r) {
  Op& expand_like = r.add("expand_like");
  expand_like.arity = 2;
  expand_like.shape = [](const std::vector<Shape>& in, const double*) {
    check_repeats(in[0], in[1]);
    return in[1];
  };
  expand_like.eval = [](const EvalArgs& a) {
    const Shape from = a.in[0].shape;
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      const double* column = a.in[0].data + (from.cols == 1 ? 0 : j * from.rows);
      const int64_t step = from.rows == 1 ? 0 : 1;
      for (int64_t i = 0; i < a.shape.rows; ++i) a.out[j * a.shape.rows + i] = column[i * step];
    }
  };
  expand_like.cost = [](const std::vector<Shape>&, Shape out) {
    return static_cast<double>(out.size());
  };
  expand_like.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("sum_like", {v.dy, v.in[0]}), kNoValue};
  };
  expand_like.doc = "The first operand repeated to the shape of the second.";
}

void register_like_another(Registry& r) {
  Op& same_shape = r.add("same_shape");
  same_shape.arity = 2;
  same_shape.shape = [](const std::vector<Shape>& in, const double*) {
    if (in[0] == in[1]) return in[0];
    throw Error(ErrorKind::kShape,
                "`grad_output` must have the shape of the output, " + to_string(in[1]) + ".",
                "It is " + to_string(in[0]) + ".");
  };
  same_shape.eval = [](const EvalArgs& a) { sum_to(a.in[0], a.shape, a.out); };
  same_shape.cost = per_input;
  same_shape.vjp = [](Builder&, const VjpArgs& v) -> std::vector<ValueId> {
    return {v.dy, kNoValue};
  };
  same_shape.in_place = same_shape.shape_of_first = same_shape.renames = true;
  same_shape.doc = "The first operand, which must have the shape of the second.";

  Op& zeros_like = r.add("zeros_like");
  zeros_like.shape = [](const std::vector<Shape>& in, const double*) { return in[0]; };
  zeros_like.eval = [](const EvalArgs& a) { std::fill(a.out, a.out + a.shape.size(), 0.0); };
  zeros_like.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
  zeros_like.no_vjp = "does not depend on the values of its operand";
  zeros_like.shape_of_first = true;
  zeros_like.doc = "Zeros in the shape of the operand.";
}

}  // namespace

void register_matrix(Registry& r) {
  register_product(r);
  register_row_sums(r);
  register_sum_like(r);
  register_expand_like(r);
  register_like_another(r);
}

}  // namespace moriejit
