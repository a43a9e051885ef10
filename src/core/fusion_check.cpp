#include "core/fusion_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/chain_order.h"
#include "core/error.h"
#include "core/kernels/gemm.h"
#include "core/reference.h"
#include "core/text.h"

namespace moriejit {
namespace {

using Limits = std::numeric_limits<double>;
using Poll = std::function<void()>;

Buffer times(const View& a, const View& b, const Poll& poll) {
  Tensor out({a.shape.rows, b.shape.cols});
  multiply({a, false, b, false, out.data(), out.shape()}, poll);
  return out.buffer();
}

template <class F>
Buffer map(const View& x, F f) {
  Tensor out(x.shape);
  std::transform(x.data, x.data + x.shape.size(), out.data(), f);
  return out.buffer();
}

double absolute(double x) {
  return std::fabs(x);
}

double largest(const View& x) {
  double top = 0;
  for (int64_t i = 0; i < x.shape.size(); ++i) top = std::max(top, std::fabs(x.data[i]));
  return top;
}

bool all_finite(const View& x) {
  return std::all_of(x.data, x.data + x.shape.size(), [](double v) { return std::isfinite(v); });
}

// How many roundings a product of these matrices may take part in, at most.
double count_terms(const std::vector<View>& matrices) {
  double terms = 0;
  for (const View& matrix : matrices) terms += static_cast<double>(matrix.shape.rows) + 1;
  return terms;
}

// A product whose largest elements neither overflow nor vanish: value * 2^exponent, and the same
// product of absolute values, whose largest is about 1.
struct Scaled {
  Buffer value, bound;
  int exponent;
};

Scaled scaled(const Buffer& value, const Buffer& bound, int exponent) {
  const double top = largest(bound.view());
  if (top == 0) return {value, bound, exponent};
  const int shift = std::ilogb(top);
  const auto down = [shift](double x) { return std::ldexp(x, -shift); };
  return {map(value.view(), down), map(bound.view(), down), exponent + shift};
}

// In the order that the fused product was formed in, which is the cheapest.
Scaled scaled_product(const std::vector<View>& matrices, const Poll& poll) {
  std::vector<double> dims = {static_cast<double>(matrices.front().shape.rows)};
  std::vector<Scaled> values;
  for (const View& matrix : matrices) {
    dims.push_back(static_cast<double>(matrix.shape.cols));
    values.push_back(scaled(map(matrix, [](double x) { return x; }), map(matrix, absolute), 0));
  }
  for (const ChainTree::Pair& pair : matrix_chain_tree(dims, poll).products) {
    const Scaled left = std::exchange(values[static_cast<size_t>(pair.left)], {});
    const Scaled right = std::exchange(values[static_cast<size_t>(pair.right)], {});
    values.push_back(scaled(times(left.value.view(), right.value.view(), poll),
                            times(left.bound.view(), right.bound.view(), poll),
                            left.exponent + right.exponent));
  }
  return values.back();
}

}  // namespace

std::unordered_map<int, ValueId> ops_by_index(const Graph& graph) {
  std::unordered_map<int, ValueId> ops;
  for (ValueId id = 0; id < graph.size(); ++id) {
    for (int index : graph.node(id).origin) ops[index] = id;
  }
  return ops;
}

FusionCheck::FusionCheck(const Graph& eager, const Graph& compiled, Poll poll)
    : poll_(std::move(poll)) {
  const auto ops = ops_by_index(eager);
  for (const Node& node : compiled.nodes) {
    if (node.kind != NodeKind::kOp || node.origin.size() < 2) continue;
    const Node& product = compiled.node(node.args[1]);
    MORIEJIT_CHECK(product.data != nullptr);
    Fusion fusion{node.origin, {product.data.get(), product.shape}, {}, {}};
    for (int index : node.origin) {
      const Node& matrix = eager.node(eager.node(ops.at(index)).args[1]);
      fusion.matrices.push_back({matrix.data.get(), matrix.shape});
    }
    check_product(fusion);
    if (fusion.refused) continue;
    begins_.emplace(eager.node(ops.at(node.origin.front())).args[0], fusions_.size());
    ends_[ops.at(node.origin.back())] = fusions_.size();
    fusions_.push_back(std::move(fusion));
  }
}

void FusionCheck::observe(ValueId id, const View& view) {
  const auto end = ends_.find(id);
  if (end != ends_.end()) check_replay(fusions_[end->second], view);
  const auto begin = begins_.equal_range(id);
  for (auto at = begin.first; at != begin.second; ++at) {
    fusions_[at->second].in = map(view, [](double x) { return x; });
  }
}

void FusionCheck::refuse(Fusion& fusion, const std::string& reason) {
  fusion.refused = true;
  refused_.push_back({fusion.ops, reason});
}

// The product must be what the matrices give when nothing can overflow or vanish on the way,
// whatever the example is like that it will be replayed on. Matrices that are not finite are left
// to the replay.
void FusionCheck::check_product(Fusion& fusion) {
  if (!std::all_of(fusion.matrices.begin(), fusion.matrices.end(), all_finite)) return;
  if (!all_finite(fusion.product)) return refuse(fusion, "their product overflows");
  const Scaled right = scaled_product(fusion.matrices, poll_);
  const double terms = count_terms(fusion.matrices), factor = 2 * terms * Limits::epsilon();
  const double floor = terms * std::ldexp(Limits::denorm_min(), -right.exponent);
  const Shape shape = fusion.product.shape;
  for (int64_t j = 0; j < shape.cols; ++j) {
    double top = 0;
    for (int64_t at = j * shape.rows; at < (j + 1) * shape.rows; ++at) {
      const double bound = right.bound.data.get()[at];
      const double given = std::ldexp(fusion.product.data[at], -right.exponent);
      top = std::max(top, bound);
      if (std::fabs(given - right.value.data.get()[at]) <= factor * bound + floor) continue;
      return refuse(fusion, "their product loses more than rounding on the way");
    }
    // The least normal number is 2^-1022: a column below 2^-970 has lost digits, or all of them.
    if (top > 0 && std::ilogb(top) + right.exponent < -970) {
      return refuse(fusion, "their product vanishes");
    }
  }
}

// Both ways carry an error of at most about n eps |x| |W1| ... |Wk|, n the sum of the inner
// dimensions, whatever cancels: a larger difference is not rounding.
void FusionCheck::check_replay(Fusion& fusion, const View& eager) {
  const Buffer fused = times(fusion.in.view(), fusion.product, poll_);
  // Numbers below the least normal one are rounded to its fraction.
  Buffer bound = map(fusion.in.view(), [](double x) { return std::fabs(x) + Limits::min(); });
  for (const View& matrix : fusion.matrices) {
    bound = times(bound.view(), map(matrix, absolute).view(), poll_);
  }
  fusion.in = {};
  const double terms = count_terms(fusion.matrices), factor = 2 * terms * Limits::epsilon();
  const double floor = terms * Limits::denorm_min();
  double worst = 0;
  for (int64_t i = 0; i < eager.shape.size(); ++i) {
    const double diff = difference(eager.data[i], fused.data.get()[i]);
    const bool rounding = diff <= factor * bound.data.get()[i] + floor && std::isfinite(diff);
    if (diff != 0 && !rounding) worst = std::max(worst, diff);
  }
  if (worst == 0) return;
  refuse(fusion, "their product differs from the separate ones by up to " + number_text(worst) +
                     ", which is more than rounding");
}

}  // namespace moriejit
