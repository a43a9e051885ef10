// Ops that move elements: no arithmetic is done on them.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/op.h"
#include "core/ops/expr.h"
#include "core/ops/na.h"

namespace moriejit {
namespace {

double per_output(const std::vector<Shape>&, Shape out) {
  return static_cast<double>(out.size());
}

Op& mover(Registry& r, const char* name, int arity) {
  Op& op = r.add(name);
  op.arity = arity;
  op.cost = per_output;
  return op;
}

int64_t whole(double value) {
  return static_cast<int64_t>(value);
}

// `value` in the shape of `like`.
ValueId shaped(Builder& b, ValueId value, ValueId like) {
  const Shape shape = b.shape(like);
  if (b.shape(value) == shape) return value;
  return b.op("reshape", {value},
              {static_cast<double>(shape.rows), static_cast<double>(shape.cols)});
}

[[noreturn]] void out_of_bounds() {
  throw Error(ErrorKind::kInput, "subscript out of bounds", "");
}

void register_shapes(Registry& r) {
  Op& transpose = mover(r, "transpose", 1);
  transpose.shape = [](const std::vector<Shape>& in, const double*) {
    return Shape{in[0].cols, in[0].rows};
  };
  transpose.eval = [](const EvalArgs& a) {
    const double* x = a.in[0].data;
    for (int64_t j = 0; j < a.shape.cols; ++j) {
      for (int64_t i = 0; i < a.shape.rows; ++i) {
        a.out[i + j * a.shape.rows] = x[j + i * a.shape.cols];
      }
    }
  };
  transpose.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("transpose", {v.dy})};
  };
  transpose.doc = "The transpose.";

  Op& reshape = mover(r, "reshape", 1);
  reshape.attrs = {{"rows", 0, 0}, {"cols", 0, 0}};
  reshape.shape = [](const std::vector<Shape>& in, const double* attrs) {
    const Shape shape{whole(attrs[0]), whole(attrs[1])};
    if (shape.size() == in[0].size()) return shape;
    throw Error(ErrorKind::kShape, "Another shape must hold as many elements.",
                to_string(in[0]) + " can't become " + to_string(shape) + ".");
  };
  reshape.eval = [](const EvalArgs& a) {
    if (a.out != a.in[0].data) std::copy_n(a.in[0].data, a.shape.size(), a.out);
  };
  reshape.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {shaped(b, v.dy, v.in[0])};
  };
  reshape.in_place = reshape.renames = true;
  reshape.doc = "The same elements, in the same order, as rows x cols.";

  Op& recycle = mover(r, "recycle", 1);
  recycle.attrs = {{"rows", 0, 0}, {"cols", 0, 0}};
  recycle.shape = [](const std::vector<Shape>& in, const double* attrs) {
    const Shape shape{whole(attrs[0]), whole(attrs[1])};
    if (in[0].size() > 0 || shape.size() == 0) return shape;
    throw Error(ErrorKind::kShape, "No elements can't be repeated.", "");
  };
  recycle.eval = [](const EvalArgs& a) {
    const int64_t n = a.in[0].shape.size();
    for (int64_t i = 0; i < a.shape.size(); ++i) a.out[i] = a.in[0].data[i % n];
  };
  recycle.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const int64_t n = b.shape(v.in[0]).size();
    Tensor index(b.shape(v.out));
    for (int64_t i = 0; i < index.shape().size(); ++i) {
      index.data()[i] = static_cast<double>(i % n + 1);
    }
    const ValueId at = b.constant("c" + std::to_string(b.graph().size()), index.buffer());
    return {b.op("scatter_add", {v.in[0], at, v.dy})};
  };
  recycle.doc = "The elements repeated in order to fill rows x cols.";
}

void register_pieces(Registry& r) {
  Op& concat = mover(r, "concat", kVariadic);
  concat.shape = [](const std::vector<Shape>& in, const double*) {
    Shape shape{0, 1};
    for (const Shape& one : in) shape.rows += one.size();
    return shape;
  };
  // The number of operands is not in EvalArgs: they are read until the result is full.
  concat.eval = [](const EvalArgs& a) {
    int64_t done = 0;
    for (size_t k = 0; done < a.shape.rows; ++k) {
      const View& part = a.in[k];
      std::copy_n(part.data, part.shape.size(), a.out + done);
      done += part.shape.size();
    }
  };
  concat.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    std::vector<ValueId> grads;
    double start = 0;
    for (ValueId in : v.in) {
      const double n = static_cast<double>(b.shape(in).size());
      grads.push_back(shaped(b, b.op("slice", {v.dy}, {start, 1, n}), in));
      start += n;
    }
    return grads;
  };
  concat.doc = "The elements of all operands, as one column.";

  Op& slice = mover(r, "slice", 1);
  slice.attrs = {{"start", 0, 0}, {"step", 1}, {"count", 0, 0}};
  slice.shape = [](const std::vector<Shape>& in, const double* attrs) {
    const int64_t start = whole(attrs[0]), count = whole(attrs[2]);
    const int64_t last = start + whole(attrs[1]) * (count - 1);
    const int64_t n = in[0].size();
    if (count > 0 && (start >= n || last < 0 || last >= n)) out_of_bounds();
    return Shape{count, 1};
  };
  slice.eval = [](const EvalArgs& a) {
    const double* x = a.in[0].data + whole(a.attrs[0]);
    const int64_t step = whole(a.attrs[1]);
    for (int64_t i = 0; i < a.shape.rows; ++i) a.out[i] = x[i * step];
  };
  slice.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    Tensor index(b.shape(v.out));
    for (int64_t i = 0; i < index.shape().size(); ++i) {
      index.data()[i] = v.attrs[0] + 1 + v.attrs[1] * static_cast<double>(i);
    }
    const ValueId at = b.constant("c" + std::to_string(b.graph().size()), index.buffer());
    return {b.op("scatter_add", {v.in[0], at, v.dy})};
  };
  slice.doc = "`count` elements from position `start` (from 0) on, in steps, as one column.";
}

// The element that an index names; -1 for NA.
int64_t place(double index, int64_t n) {
  if (std::isnan(index)) return -1;
  if (!(index >= 1 && index < static_cast<double>(n) + 1)) out_of_bounds();
  return whole(index) - 1;
}

void register_indexing(Registry& r) {
  Op& gather = mover(r, "gather", 2);
  gather.may_fail = true;
  gather.shape = [](const std::vector<Shape>& in, const double*) { return in[1]; };
  gather.eval = [](const EvalArgs& a) {
    const int64_t n = a.in[0].shape.size();
    for (int64_t i = 0; i < a.shape.size(); ++i) {
      const int64_t at = place(a.in[1].data[i], n);
      a.out[i] = at < 0 ? na_value() : a.in[0].data[at];
    }
  };
  gather.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("scatter_add", {v.in[0], v.in[1], v.dy}), kNoValue};
  };
  gather.doc = "The elements at the positions (from 1) of the second operand; NA at NA.";

  Op& scatter = mover(r, "scatter_add", 3);
  scatter.shape = [](const std::vector<Shape>& in, const double*) { return in[0]; };
  scatter.eval = [](const EvalArgs& a) {
    std::fill_n(a.out, a.shape.size(), 0.0);
    for (int64_t i = 0; i < a.in[1].shape.size(); ++i) {
      const int64_t at = place(a.in[1].data[i], a.shape.size());
      if (at >= 0) a.out[at] += a.in[2].data[i];
    }
  };
  scatter.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {kNoValue, kNoValue, shaped(b, b.op("gather", {v.dy, v.in[1]}), v.in[2])};
  };
  scatter.doc =
      "Zeros in the shape of the first operand, with the elements of the third added at the "
      "positions of the second.";

  Op& assign = mover(r, "assign", 3);
  assign.may_fail = true;
  assign.shape = [](const std::vector<Shape>& in, const double*) {
    if (in[2].size() == in[1].size() || in[2].size() == 1) return in[0];
    throw Error(ErrorKind::kShape, "There must be one value for each position, or one for all.",
                to_string(in[1]) + " positions and " + to_string(in[2]) + " values.");
  };
  assign.eval = [](const EvalArgs& a) {
    const int64_t n = a.shape.size(), step = a.in[2].shape.size() == 1 ? 0 : 1;
    if (a.out != a.in[0].data) std::copy_n(a.in[0].data, n, a.out);
    for (int64_t i = 0; i < a.in[1].shape.size(); ++i) {
      const int64_t at = place(a.in[1].data[i], n);
      if (at < 0) {
        throw Error(ErrorKind::kInput, "NAs are not allowed in subscripted assignments", "");
      }
      a.out[at] = a.in[2].data[i * step];
    }
  };
  assign.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    // An element that was written more than once counts where it was written last.
    const Expr zero{&b, b.scalar(0)};
    const ValueId kept = b.op("assign", {v.dy, v.in[1], zero.id});
    const ValueId order = b.op("last_writer", {v.in[0], v.in[1]});
    const Expr taken{&b, b.op("gather", {v.dy, v.in[1]})};
    const Expr values = where(Expr{&b, order}, taken, zero);
    return {kept, kNoValue, shaped(b, reduce_like(values, v.in[2]).id, v.in[2])};
  };
  assign.in_place = assign.shape_of_first = true;
  assign.doc = "The first operand with the elements at the positions of the second replaced.";

  Op& last = mover(r, "last_writer", 2);
  last.shape = [](const std::vector<Shape>& in, const double*) { return in[1]; };
  last.eval = [](const EvalArgs& a) {
    std::vector<int64_t> writer(static_cast<size_t>(a.in[0].shape.size()), -1);
    for (int64_t i = 0; i < a.shape.size(); ++i) {
      writer[static_cast<size_t>(place(a.in[1].data[i], a.in[0].shape.size()))] = i;
    }
    for (int64_t i = 0; i < a.shape.size(); ++i) {
      const int64_t at = place(a.in[1].data[i], a.in[0].shape.size());
      a.out[i] = writer[static_cast<size_t>(at)] == i ? 1 : 0;
    }
  };
  last.no_vjp = "does not depend on the values of its operands";
  last.doc = "1 for each position that no later one repeats.";
}

// Positions in order, with NaN last; equal elements keep their order.
std::vector<int64_t> ordered(const View& x, bool decreasing) {
  std::vector<int64_t> order(static_cast<size_t>(x.shape.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&x, decreasing](int64_t a, int64_t b) {
    const double u = x.data[a], v = x.data[b];
    if (std::isnan(u) || std::isnan(v)) return !std::isnan(u) && std::isnan(v);
    return decreasing ? u > v : u < v;
  });
  return order;
}

void register_sorting(Registry& r) {
  Op& order = mover(r, "order", 1);
  order.attrs = {{"decreasing", 0, 0, 1, true}};
  order.shape = [](const std::vector<Shape>& in, const double*) { return Shape{in[0].size(), 1}; };
  order.eval = [](const EvalArgs& a) {
    const std::vector<int64_t> at = ordered(a.in[0], a.attrs[0] != 0);
    for (size_t i = 0; i < at.size(); ++i) a.out[i] = static_cast<double>(at[i] + 1);
  };
  order.no_vjp = "piecewise constant";
  order.doc = "The positions (from 1) that sort the elements; missing ones last.";

  Op& sort = mover(r, "sort", 1);
  sort.attrs = order.attrs;
  sort.shape = order.shape;
  sort.eval = [](const EvalArgs& a) {
    const std::vector<int64_t> at = ordered(a.in[0], a.attrs[0] != 0);
    for (size_t i = 0; i < at.size(); ++i) a.out[i] = a.in[0].data[at[i]];
  };
  sort.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const ValueId at = b.op("order", {v.in[0]}, v.attrs);
    return {b.op("scatter_add", {v.in[0], at, v.dy})};
  };
  sort.doc = "The elements in order, as one column; missing ones last.";
}

}  // namespace

void register_structure(Registry& r) {
  register_shapes(r);
  register_pieces(r);
  register_indexing(r);
  register_sorting(r);
}

}  // namespace moriejit
