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

struct Segment {
  Chain chain;
  ChainTree tree;
};

std::vector<size_t> cut_points(const Graph& graph, const Chain& chain, const PassContext& context) {
  if (context.mode != Mode::kMaxAutotune) return {0, chain.size()};
  const double rows = static_cast<double>(graph.node(chain[0]).shape.rows);
  return cheapest_cuts(chain_dims(graph, chain), rows, context.constant_limit);
}

// The most numbers that a product of the tree holds.
double largest_product(const std::vector<double>& dims, const ChainTree& tree) {
  using Span = std::pair<size_t, size_t>;
  std::vector<Span> spans;
  for (size_t k = 0; k + 1 < dims.size(); ++k) spans.emplace_back(k, k + 1);
  double largest = 0;
  for (const ChainTree::Pair& pair : tree.products) {
    const Span span(spans[static_cast<size_t>(pair.left)].first,
                    spans[static_cast<size_t>(pair.right)].second);
    largest = std::max(largest, dims[span.first] * dims[span.second]);
    spans.push_back(span);
  }
  return largest;
}

// The segments of a chain that become one product each.
void add_segments(const Graph& graph, const Chain& chain, PassContext& context,
                  std::vector<Segment>* segments) {
  const std::vector<size_t> cuts = cut_points(graph, chain, context);
  for (size_t s = 1; s < cuts.size(); ++s) {
    const auto at = [&chain](size_t k) { return chain.begin() + static_cast<std::ptrdiff_t>(k); };
    Segment segment{{at(cuts[s - 1]), at(cuts[s])}, {}};
    if (segment.chain.size() < 2) continue;
    const std::vector<double> dims = chain_dims(graph, segment.chain);
    segment.tree = matrix_chain_tree(dims, context.poll);
    const double largest = largest_product(dims, segment.tree);
    if (largest > context.constant_limit) {
      context.refused.push_back({origins(graph, segment.chain),
                                 "their product would hold " + number_text(largest) + " numbers"});
      continue;
    }
    context.notes.push_back("made one product of " + std::to_string(segment.chain.size()));
    segments->push_back(std::move(segment));
  }
}

// A segment's product with what flows into it, as nodes of the new graph.
ValueId build_segment(const Graph& old, const Segment& segment, Rebuild* rebuild) {
  Builder& b = rebuild->builder();
  std::vector<ValueId> values;  // the matrices, then the products in order
  for (ValueId id : segment.chain) values.push_back(rebuild->value(old.node(id).args[1]));
  for (const ChainTree::Pair& pair : segment.tree.products) {
    values.push_back(b.op("matmul", {values[static_cast<size_t>(pair.left)],
                                     values[static_cast<size_t>(pair.right)]}));
  }
  b.set_origin(origins(old, segment.chain));
  const ValueId flow = rebuild->value(old.node(segment.chain.front()).args[0]);
  const ValueId product = b.op("matmul", {flow, values.back()});
  b.set_origin({});
  return product;
}

}  // namespace

Graph linear_chain(const Graph& graph, PassContext& context) {
  std::vector<Segment> segments;
  for (const Chain& chain : find_chains(graph, context)) {
    add_segments(graph, chain, context, &segments);
  }
  // Where each segment ends; its other products vanish.
  std::vector<const Segment*> ends(graph.nodes.size(), nullptr);
  std::vector<bool> vanishes(graph.nodes.size(), false);
  for (const Segment& segment : segments) {
    for (ValueId id : segment.chain) vanishes[static_cast<size_t>(id)] = true;
    ends[static_cast<size_t>(segment.chain.back())] = &segment;
  }
  Rebuild rebuild(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (const Segment* segment = ends[static_cast<size_t>(id)]) {
      rebuild.replace(id, build_segment(graph, *segment, &rebuild));
    } else if (!vanishes[static_cast<size_t>(id)]) {
      rebuild.keep(id);
    }
  }
  return rebuild.finish();
}

}  // namespace moriejit
