// Ops that look at a whole row (softmax, layer norm), and batch norm in its evaluation form.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/op.h"
#include "core/ops/expr.h"

namespace moriejit {
namespace {

using Role = Field::Role;

constexpr int64_t kBlock = 64;
using Rows = std::array<double, kBlock>;

// Matrices lie column by column, so rows are worked on kBlock at a time: every inner loop runs down
// a piece of a column. `f` is called with the first row of a block and the number of its rows.
template <class F>
void for_row_blocks(Shape shape, F f) {
  for (int64_t begin = 0; begin < shape.rows; begin += kBlock) {
    f(begin, std::min(kBlock, shape.rows - begin));
  }
}

// Calls f(i, element) for each element of the block, column by column; i counts its rows.
template <class F>
void for_block(const View& x, int64_t begin, int64_t count, F f) {
  for (int64_t j = 0; j < x.shape.cols; ++j) {
    const int64_t start = j * x.shape.rows + begin;
    for (int64_t i = 0; i < count; ++i) f(i, start + i);
  }
}

// The largest value of each row (NaN wins), and the sum of exp(x - largest).
void row_max_and_sum(const View& x, int64_t begin, int64_t count, Rows& top, Rows& sum) {
  top.fill(-std::numeric_limits<double>::infinity());
  sum.fill(0);
  for_block(x, begin, count, [&](int64_t i, int64_t at) {
    const size_t k = static_cast<size_t>(i);
    if (!(x.data[at] <= top[k])) top[k] = std::isnan(top[k]) ? top[k] : x.data[at];
  });
  for_block(x, begin, count, [&](int64_t i, int64_t at) {
    const size_t k = static_cast<size_t>(i);
    sum[k] += std::exp(x.data[at] - top[k]);
  });
}

// The operands beside the first have one value for each of its columns, or one for all.
Shape shape_with_rows(const std::vector<Shape>& in, const double*) {
  for (size_t i = 1; i < in.size(); ++i) {
    if (in[i].rows == 1 && (in[i].cols == 1 || in[i].cols == in[0].cols)) continue;
    throw Error(ErrorKind::kShape,
                "An operand for the columns must have one row, and one value for each column or "
                "one for all.",
                "The input is " + to_string(in[0]) + ", operand " + std::to_string(i) + " is " +
                    to_string(in[i]) + ".");
  }
  return in[0];
}

Op& rowwise(Registry& r, const char* name, int arity, double work) {
  Op& op = r.add(name);
  op.kind = name;
  op.arity = arity;
  op.shape = shape_with_rows;
  op.cost = [work](const std::vector<Shape>&, Shape out) {
    return work * static_cast<double>(out.size());
  };
  op.in_place = op.shape_of_first = true;
  return op;
}

void register_softmax(Registry& r) {
  Op& softmax = rowwise(r, "softmax", 1, 14);
  softmax.eval = [](const EvalArgs& a) {
    for_row_blocks(a.shape, [&](int64_t begin, int64_t count) {
      Rows top, sum;
      row_max_and_sum(a.in[0], begin, count, top, sum);
      for_block(a.in[0], begin, count, [&](int64_t i, int64_t at) {
        const size_t k = static_cast<size_t>(i);
        a.out[at] = std::exp(a.in[0].data[at] - top[k]) / sum[k];
      });
    });
  };
  softmax.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr y{&b, v.out}, dy{&b, v.dy};
    return {(y * (dy - (dy * y).apply("row_sums"))).id};
  };
  softmax.doc = "exp(x) / sum(exp(x)) by row, with the row's maximum taken out.";

  Op& log_softmax = rowwise(r, "log_softmax", 1, 14);
  log_softmax.eval = [](const EvalArgs& a) {
    for_row_blocks(a.shape, [&](int64_t begin, int64_t count) {
      Rows top, sum;
      row_max_and_sum(a.in[0], begin, count, top, sum);
      for (double& s : sum) s = std::log(s);
      for_block(a.in[0], begin, count, [&](int64_t i, int64_t at) {
        const size_t k = static_cast<size_t>(i);
        a.out[at] = a.in[0].data[at] - top[k] - sum[k];
      });
    });
  };
  log_softmax.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr y{&b, v.out}, dy{&b, v.dy};
    return {(dy - y.apply("exp") * dy.apply("row_sums")).id};
  };
  log_softmax.doc = "The logarithm of softmax, without forming it.";
}

// One value for each column, or one for all.
double at_column(const View& row, int64_t j) {
  return row.data[row.shape.cols == 1 ? 0 : j];
}

void layer_norm_block(const EvalArgs& a, int64_t begin, int64_t count) {
  const View& x = a.in[0];
  const double width = static_cast<double>(x.shape.cols);
  Rows mean, sd;
  mean.fill(0);
  sd.fill(0);
  for_block(x, begin, count,
            [&](int64_t i, int64_t at) { mean[static_cast<size_t>(i)] += x.data[at]; });
  for (double& m : mean) m /= width;
  // Two passes: a mean of squares less a squared mean cancels.
  for_block(x, begin, count, [&](int64_t i, int64_t at) {
    const double d = x.data[at] - mean[static_cast<size_t>(i)];
    sd[static_cast<size_t>(i)] += d * d;
  });
  for (double& s : sd) s = std::sqrt(s / width + a.attrs[0]);
  for (int64_t j = 0; j < x.shape.cols; ++j) {
    const double weight = at_column(a.in[1], j), bias = at_column(a.in[2], j);
    const int64_t start = j * x.shape.rows + begin;
    for (int64_t i = 0; i < count; ++i) {
      const size_t k = static_cast<size_t>(i);
      a.out[start + i] = (x.data[start + i] - mean[k]) / sd[k] * weight + bias;
    }
  }
}

void register_layer_norm(Registry& r) {
  Op& op = rowwise(r, "layer_norm", 3, 12);
  op.fields = {{"weight", Role::kRow, false, 1}, {"bias", Role::kRow, false, 0}};
  op.attrs = {{"eps", 1e-5, 0}};
  op.eval = [](const EvalArgs& a) {
    for_row_blocks(a.shape,
                   [&](int64_t begin, int64_t count) { layer_norm_block(a, begin, count); });
  };
  op.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr x{&b, v.in[0]}, weight{&b, v.in[1]}, dy{&b, v.dy};
    const double width = static_cast<double>(b.shape(v.in[0]).cols);
    const auto row_means = [width](Expr e) { return e.apply("row_sums") / width; };
    const Expr centred = x - row_means(x);
    const Expr sd = (row_means(centred * centred) + v.attrs[0]).apply("sqrt");
    const Expr z = centred / sd, g = dy * weight;
    const Expr dx = (g - row_means(g) - z * row_means(g * z)) / sd;
    return {dx.id, reduce_like(dy * z, v.in[1]).id, reduce_like(dy, v.in[2]).id};
  };
  op.doc =
      "Each row less its mean, over sqrt(its variance + eps), times weight, plus bias "
      "(variance with divisor ncol).";
}

void register_batch_norm(Registry& r) {
  Op& op = rowwise(r, "batch_norm", 5, 4);
  op.fields = {{"mean", Role::kRow},
               {"var", Role::kRow},
               {"weight", Role::kRow, false, 1},
               {"bias", Role::kRow, false, 0}};
  op.attrs = {{"eps", 1e-5, 0}};
  op.eval = [](const EvalArgs& a) {
    const int64_t rows = a.shape.rows;
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      const double mean = at_column(a.in[1], j);
      const double sd = std::sqrt(at_column(a.in[2], j) + a.attrs[0]);
      const double weight = at_column(a.in[3], j), bias = at_column(a.in[4], j);
      const double* x = a.in[0].data + j * rows;
      for (int64_t i = 0; i < rows; ++i) {
        a.out[j * rows + i] = (x[i] - mean) / sd * weight + bias;
      }
    }
  };
  op.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr x{&b, v.in[0]}, mean{&b, v.in[1]}, var{&b, v.in[2]}, weight{&b, v.in[3]};
    const Expr dy{&b, v.dy}, sd = (var + v.attrs[0]).apply("sqrt");
    const Expr z = (x - mean) / sd, dx = dy * (weight / sd);
    const Expr dvar = (dx * z) / sd * -0.5;
    return {dx.id, reduce_like(-dx, v.in[1]).id, reduce_like(dvar, v.in[2]).id,
            reduce_like(dy * z, v.in[3]).id, reduce_like(dy, v.in[4]).id};
  };
  op.doc =
      "Column j less mean[j], over sqrt(var[j] + eps), times weight[j], plus bias[j]: batch norm "
      "as it is evaluated.";
}

}  // namespace

void register_rowwise(Registry& r) {
  register_softmax(r);
  register_layer_norm(r);
  register_batch_norm(r);
}

}  // namespace moriejit
