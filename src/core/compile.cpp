#include "core/compile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/error.h"
#include "core/kernels/gemm.h"
#include "core/op.h"
#include "core/plan.h"
#include "core/text.h"

namespace moriejit {
namespace {

Buffer times(const View& a, const View& b) {
  Tensor out({a.shape.rows, b.shape.cols});
  multiply({a, false, b, false, out.data(), out.shape()});
  return out.buffer();
}

Buffer absolute(const View& x) {
  Tensor out(x.shape);
  std::transform(x.data, x.data + x.shape.size(), out.data(),
                 [](double v) { return std::fabs(v); });
  return out.buffer();
}

// One fused product and the ops of the eager graph that it stands for.
struct Fusion {
  std::vector<int> ops;
  View product;
  std::vector<ValueId> products;  // eager products, first to last
  Buffer in;                      // what flowed into the first
};

// The ops of the eager graph by the list's index.
std::unordered_map<int, ValueId> ops_by_index(const Graph& graph) {
  std::unordered_map<int, ValueId> ops;
  for (ValueId id = 0; id < graph.size(); ++id) {
    for (int index : graph.node(id).origin) ops[index] = id;
  }
  return ops;
}

// Watches an eager run and checks each fusion as soon as its last product is there, so that only
// what flows into a run is held.
class FusionCheck {
 public:
  FusionCheck(const Graph& eager, const Graph& compiled) : eager_(eager) {
    const auto ops = ops_by_index(eager);
    for (const Node& node : compiled.nodes) {
      if (node.kind != NodeKind::kOp || node.origin.size() < 2) continue;
      const Node& product = compiled.node(node.args[1]);
      Fusion fusion{node.origin, {product.data.get(), product.shape}, {}, {}};
      for (int index : node.origin) fusion.products.push_back(ops.at(index));
      fusions_.push_back(std::move(fusion));
    }
    for (size_t f = 0; f < fusions_.size(); ++f) {
      begins_.emplace(eager.node(fusions_[f].products.front()).args[0], f);
      ends_[fusions_[f].products.back()] = f;
    }
  }

  void observe(ValueId id, const View& view) {
    const auto end = ends_.find(id);
    if (end != ends_.end()) check(fusions_[end->second], view);
    const auto begin = begins_.equal_range(id);
    for (auto at = begin.first; at != begin.second; ++at) {
      Tensor copy(view.shape);
      std::copy(view.data, view.data + view.shape.size(), copy.data());
      fusions_[at->second].in = copy.buffer();
    }
  }

  std::vector<Refusal> take_rejected() { return std::move(rejected_); }

 private:
  // Both results carry an error of at most about n eps |x| |W1| ... |Wk|, n the sum of the inner
  // dimensions: the same bound whatever cancels. A larger difference is a product that overflowed
  // or lost everything.
  void check(Fusion& fusion, const View& eager) {
    const Buffer fused = times(fusion.in.view(), fusion.product);
    Buffer bound = absolute(fusion.in.view());
    double terms = 0;
    for (ValueId id : fusion.products) {
      const Node& matrix = eager_.node(eager_.node(id).args[1]);
      bound = times(bound.view(), absolute({matrix.data.get(), matrix.shape}).view());
      terms += static_cast<double>(matrix.shape.rows) + 1;
    }
    const double factor = 2 * terms * std::numeric_limits<double>::epsilon();
    const double floor = terms * std::numeric_limits<double>::denorm_min();
    double worst = 0;
    for (int64_t i = 0; i < eager.shape.size(); ++i) {
      const double x = eager.data[i], y = fused.data.get()[i];
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      const double diff = std::fabs(x - y);
      if (diff <= factor * bound.data.get()[i] + floor && std::isfinite(diff)) continue;
      worst = std::isnan(diff) ? std::numeric_limits<double>::infinity() : std::max(worst, diff);
    }
    fusion.in = {};
    if (worst == 0) return;
    rejected_.push_back({fusion.ops, "their product differs from the separate ones by up to " +
                                         number_text(worst) + ", which is more than rounding"});
  }

  const Graph& eager_;
  std::vector<Fusion> fusions_;
  std::unordered_multimap<ValueId, size_t> begins_;
  std::unordered_map<ValueId, size_t> ends_;
  std::vector<Refusal> rejected_;
};

}  // namespace

Compiled compile(const Graph& graph, const View& x, Mode mode, const MakeResult& eager_output,
                 const Hooks& hooks) {
  PassContext context;
  context.mode = mode;
  context.poll = hooks.poll;
  Compiled compiled{run_passes(graph, context), {}};

  FusionCheck check(graph, compiled.graph);
  Hooks watching = hooks;
  watching.observe = [&check](ValueId id, const View& view) { check.observe(id, view); };
  Workspace workspace;
  run(make_plan(graph), {x}, eager_output, workspace, watching);

  compiled.rejected = check.take_rejected();
  if (!compiled.rejected.empty()) {
    for (const Refusal& refusal : compiled.rejected) {
      context.keep_apart.insert(context.keep_apart.end(), refusal.ops.begin(), refusal.ops.end());
    }
    std::sort(context.keep_apart.begin(), context.keep_apart.end());
    context.refused.clear();
    compiled.graph = run_passes(graph, context);
  }
  compiled.rejected.insert(compiled.rejected.end(), context.refused.begin(), context.refused.end());
  return compiled;
}

// A product of one op adds rows * nrow(W) * ncol(W) to both counts. A fused one adds that of its
// product P to the compiled count, and to the eager count the same for its first matrix, then
// ncol(W[k-1]) * nrow(W[k]) * ncol(W[k]) for each further one.
Multiplications count_multiplications(const Graph& eager, const Graph& compiled) {
  const auto ops = ops_by_index(eager);
  Multiplications count;
  for (const Node& node : compiled.nodes) {
    if (node.kind != NodeKind::kOp || node.op->name != "matmul") continue;
    const double rows = static_cast<double>(compiled.node(node.args[0]).shape.rows);
    const auto size = [](const Graph& graph, ValueId id) {
      return static_cast<double>(graph.node(id).shape.size());
    };
    count.compiled += rows * size(compiled, node.args[1]);
    double before = rows;  // rows for the first matrix, then the columns of the one before
    for (int index : node.origin) {
      const ValueId matrix = eager.node(ops.at(index)).args[1];
      count.eager += before * size(eager, matrix);
      before = static_cast<double>(eager.node(matrix).shape.cols);
    }
  }
  return count;
}

}  // namespace moriejit
