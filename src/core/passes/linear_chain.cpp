// 1. Find the chains: products with a constant, each the only reader of the one before.
// 2. Cut each chain into segments (one, except under max-autotune).
// 3. Rebuild: a segment of several products becomes one product with a tree of constants.
#include "core/passes/linear_chain.h"

#include <algorithm>
#include <limits>

#include "core/chain_order.h"
#include "core/op.h"
#include "core/text.h"

namespace moriejit {
namespace {

using Chain = std::vector<ValueId>;  // products, first to last

bool is_kept_apart(const Node& node, const PassContext& context) {
  return std::any_of(node.origin.begin(), node.origin.end(), [&](int op) {
    return std::binary_search(context.keep_apart.begin(), context.keep_apart.end(), op);
  });
}

bool is_link(const Graph& graph, ValueId id, const PassContext& context) {
  const Node& node = graph.node(id);
  return node.kind == NodeKind::kOp && node.op->name == "matmul" && node.attrs[0] == 0 &&
         node.attrs[1] == 0 && is_constant(graph, node.args[1]) &&
         !is_constant(graph, node.args[0]) && !is_kept_apart(node, context);
}

std::vector<Chain> find_chains(const Graph& graph, const PassContext& context) {
  const std::vector<int> readers = count_readers(graph);
  std::vector<Chain> chains;
  std::vector<int> chain_of(graph.nodes.size(), -1);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!is_link(graph, id, context)) continue;
    const size_t before = static_cast<size_t>(graph.node(id).args[0]);
    int& chain = chain_of[static_cast<size_t>(id)];
    if (chain_of[before] >= 0 && readers[before] == 1) {
      chain = chain_of[before];
    } else {
      chain = static_cast<int>(chains.size());
      chains.emplace_back();
    }
    chains[static_cast<size_t>(chain)].push_back(id);
  }
  return chains;
}

// The widths along the chain: dims[k] x dims[k + 1] is the shape of its matrix k.
std::vector<double> chain_dims(const Graph& graph, const Chain& chain) {
  std::vector<double> dims = {
      static_cast<double>(graph.node(graph.node(chain[0]).args[1]).shape.rows)};
  for (ValueId id : chain) dims.push_back(static_cast<double>(graph.node(id).shape.cols));
  return dims;
}

std::vector<int> origins(const Graph& graph, const Chain& chain) {
  std::vector<int> ops;
  for (ValueId id : chain) {
    const std::vector<int>& origin = graph.node(id).origin;
    ops.insert(ops.end(), origin.begin(), origin.end());
  }
  return ops;
}

// Cut points 0 = c[0] < c[1] < ... of the cheapest way through the chain: a segment from i to j
// costs rows * dims[i] * dims[j]. Among equals, the one of fewest segments.
std::vector<size_t> cheapest_cuts(const std::vector<double>& dims, double rows, double limit) {
  const size_t n = dims.size() - 1;
  std::vector<double> cost(n + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> segments(n + 1, 0), from(n + 1, 0);
  cost[0] = 0;
  for (size_t j = 1; j <= n; ++j) {
    for (size_t i = 0; i < j; ++i) {
      if (j - i > 1 && dims[i] * dims[j] > limit) continue;
      const double through = cost[i] + rows * dims[i] * dims[j];
      const bool fewer = through == cost[j] && segments[i] + 1 < segments[j];
      if (through < cost[j] || fewer || segments[j] == 0) {
        cost[j] = through;
        segments[j] = segments[i] + 1;
        from[j] = i;
      }
    }
  }
  std::vector<size_t> cuts = {n};
  while (cuts.back() > 0) cuts.push_back(from[cuts.back()]);
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

std::vector<size_t> cut_chain(const Graph& graph, const Chain& chain, PassContext& context) {
  const std::vector<double> dims = chain_dims(graph, chain);
  if (context.mode == Mode::kMaxAutotune) {
    const double rows = static_cast<double>(graph.node(chain[0]).shape.rows);
    return cheapest_cuts(dims, rows, context.constant_limit);
  }
  if (dims.front() * dims.back() <= context.constant_limit) return {0, chain.size()};
  if (chain.size() > 1) {
    context.refused.push_back(
        {origins(graph, chain),
         "their product would hold " + number_text(dims.front() * dims.back()) + " numbers"});
  }
  return {0};
}

// A segment's product with what flows in, as nodes of the new graph.
class SegmentBuilder {
 public:
  SegmentBuilder(const Graph& old, Rebuild& rebuild) : old_(old), rebuild_(rebuild) {}

  void build(const Chain& chain, size_t begin, size_t end) {
    const Chain segment(chain.begin() + static_cast<std::ptrdiff_t>(begin),
                        chain.begin() + static_cast<std::ptrdiff_t>(end));
    Builder& b = rebuild_.builder();
    b.set_origin(origins(old_, segment));
    const ValueId flow = rebuild_.value(old_.node(segment.front()).args[0]);
    const ValueId product = b.op("matmul", {flow, product_of(segment)});
    b.set_origin({});
    rebuild_.replace(segment.back(), product);
  }

 private:
  ValueId product_of(const Chain& segment) {
    std::vector<ValueId> values;  // the matrices, then the products in order
    for (ValueId id : segment) values.push_back(rebuild_.value(old_.node(id).args[1]));
    const ChainTree tree = matrix_chain_tree(chain_dims(old_, segment));
    for (const auto& pair : tree.products) {
      values.push_back(rebuild_.builder().op("matmul", {values[static_cast<size_t>(pair.left)],
                                                        values[static_cast<size_t>(pair.right)]}));
    }
    return values.back();
  }

  const Graph& old_;
  Rebuild& rebuild_;
};

struct Segment {
  const Chain* chain;
  size_t begin, end;
};

}  // namespace

Graph linear_chain(const Graph& graph, PassContext& context) {
  const std::vector<Chain> chains = find_chains(graph, context);
  std::vector<bool> vanishes(graph.nodes.size(), false);
  std::vector<Segment> ends(graph.nodes.size(), {nullptr, 0, 0});
  for (const Chain& chain : chains) {
    const std::vector<size_t> cuts = cut_chain(graph, chain, context);
    for (size_t s = 1; s < cuts.size(); ++s) {
      const size_t begin = cuts[s - 1], end = cuts[s];
      if (end - begin < 2) continue;
      for (size_t k = begin; k < end; ++k) vanishes[static_cast<size_t>(chain[k])] = true;
      ends[static_cast<size_t>(chain[end - 1])] = {&chain, begin, end};
      context.notes.push_back("made one product of " + std::to_string(end - begin));
    }
  }
  Rebuild rebuild(graph);
  SegmentBuilder segments(graph, rebuild);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Segment& segment = ends[static_cast<size_t>(id)];
    if (segment.chain != nullptr) {
      segments.build(*segment.chain, segment.begin, segment.end);
    } else if (!vanishes[static_cast<size_t>(id)]) {
      rebuild.keep(id);
    }
  }
  return rebuild.finish();
}

}  // namespace moriejit
