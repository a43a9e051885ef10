// 1. Find the products that only another product reads: with it they are one chain.
// 2. Flatten each chain into its factors, some of them transposed: t(A B) is t(B) t(A).
// 3. Where another order is cheaper, build that.
#include "core/passes/matrix_chain.h"

#include <algorithm>

#include "core/chain_order.h"
#include "core/op.h"
#include "core/text.h"

namespace moriejit {
namespace {

struct Factor {
  ValueId value;
  bool transposed;
};

struct Chain {
  std::vector<Factor> factors;
  std::vector<ValueId> products;
  double cost = 0;  // as it stands
};

// Which products belong to the chain of their only reader.
std::vector<bool> find_inner(const Graph& graph, const Op* matmul) {
  const std::vector<int> readers = count_readers(graph);
  std::vector<bool> inner(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.op != matmul) continue;
    for (ValueId arg : node.args) {
      const bool only = readers[static_cast<size_t>(arg)] == 1;
      if (graph.node(arg).op == matmul && only) inner[static_cast<size_t>(arg)] = true;
    }
  }
  return inner;
}

double cost_of(const Graph& graph, const Node& node) {
  return node.op->cost({graph.node(node.args[0]).shape, graph.node(node.args[1]).shape},
                       node.shape);
}

Chain flatten(const Graph& graph, ValueId root, const std::vector<bool>& inner) {
  Chain chain;
  std::vector<Factor> open = {{root, false}};
  while (!open.empty()) {
    const Factor next = open.back();
    open.pop_back();
    if (next.value != root && !inner[static_cast<size_t>(next.value)]) {
      chain.factors.push_back(next);
      continue;
    }
    const Node& node = graph.node(next.value);
    chain.products.push_back(next.value);
    chain.cost += cost_of(graph, node);
    const Factor left{node.args[0], (node.attrs[0] != 0) != next.transposed};
    const Factor right{node.args[1], (node.attrs[1] != 0) != next.transposed};
    // The one to come first goes on top.
    open.push_back(next.transposed ? left : right);
    open.push_back(next.transposed ? right : left);
  }
  return chain;
}

std::vector<double> dims_of(const Graph& graph, const Chain& chain) {
  std::vector<double> dims;
  for (const Factor& factor : chain.factors) {
    const Shape shape = graph.node(factor.value).shape;
    if (dims.empty())
      dims.push_back(static_cast<double>(factor.transposed ? shape.cols : shape.rows));
    dims.push_back(static_cast<double>(factor.transposed ? shape.rows : shape.cols));
  }
  return dims;
}

ValueId build(const Graph& graph, const Chain& chain, const ChainTree& tree, Rebuild* rebuild) {
  std::vector<Factor> values;
  for (const Factor& factor : chain.factors) {
    values.push_back({rebuild->value(factor.value), factor.transposed});
  }
  std::vector<int> origin;
  for (ValueId id : chain.products) {
    const std::vector<int>& of = graph.node(id).origin;
    origin.insert(origin.end(), of.begin(), of.end());
  }
  Builder& b = rebuild->builder();
  b.set_origin(std::move(origin));
  for (const ChainTree::Pair& pair : tree.products) {
    const Factor left = values[static_cast<size_t>(pair.left)];
    const Factor right = values[static_cast<size_t>(pair.right)];
    const double ta = left.transposed ? 1 : 0, tb = right.transposed ? 1 : 0;
    values.push_back({b.op("matmul", {left.value, right.value}, {ta, tb}), false});
  }
  b.set_origin({});
  return values.back().value;
}

}  // namespace

Graph matrix_chain(const Graph& graph, PassContext& context) {
  if (context.exact) return graph;
  const Op* const matmul = &op_named("matmul");
  const std::vector<bool> inner = find_inner(graph, matmul);
  std::vector<bool> vanishes(graph.nodes.size(), false);
  std::vector<std::pair<Chain, ChainTree>> better;
  std::vector<int> better_at(graph.nodes.size(), -1);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).op != matmul || inner[static_cast<size_t>(id)]) continue;
    Chain chain = flatten(graph, id, inner);
    if (chain.factors.size() < 3) continue;
    ChainTree tree = matrix_chain_tree(dims_of(graph, chain), context.poll);
    if (!(tree.cost < chain.cost)) continue;
    context.notes.push_back("a product of " + std::to_string(chain.factors.size()) + ": " +
                            number_text(chain.cost) + " multiplications, now " +
                            number_text(tree.cost));
    for (ValueId product : chain.products) vanishes[static_cast<size_t>(product)] = true;
    better_at[static_cast<size_t>(id)] = static_cast<int>(better.size());
    better.emplace_back(std::move(chain), std::move(tree));
  }
  Rebuild rebuild(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const int at = better_at[static_cast<size_t>(id)];
    if (at >= 0) {
      const auto& [chain, tree] = better[static_cast<size_t>(at)];
      rebuild.replace(id, build(graph, chain, tree, &rebuild));
    } else if (!vanishes[static_cast<size_t>(id)]) {
      rebuild.keep(id);
    }
  }
  return rebuild.finish();
}

}  // namespace moriejit
