#include "core/passes/dead_code.h"

#include <unordered_map>

#include "core/op.h"
#include "core/passes/prune_regions.h"

namespace moriejit {
namespace {

// Readers come first in the sweep, so at each node it is known whether somebody reads it.
class Sweep {
 public:
  explicit Sweep(const Graph& graph) : graph_(graph), live_(graph.nodes.size(), false) {
    for (ValueId id : graph.outputs) mark(id);
    for (ValueId id = graph.size() - 1; id >= 0; --id) visit(id);
  }

  bool live(ValueId id) const { return live_[static_cast<size_t>(id)]; }
  const PrunedControl& control(ValueId id) const { return controls_.at(id); }

 private:
  void mark(ValueId id) { live_[static_cast<size_t>(id)] = true; }

  void visit(ValueId id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::kInput || has_effects(node)) mark(id);
    if (!live(id) || node.kind != NodeKind::kOp) return;
    if (node.op->runs_regions) {
      std::vector<bool>& read = read_[id];
      read.resize(node.regions.back()->outputs.size(), false);
      const auto at = controls_.emplace(id, prune_control(node, read)).first;
      for (ValueId arg : at->second.node.args) mark(arg);
      return;
    }
    if (node.op->projects) {
      std::vector<bool>& read = read_[node.args[0]];
      const auto index = static_cast<size_t>(node.attrs[0]);
      if (read.size() <= index) read.resize(index + 1, false);
      read[index] = true;
    }
    for (ValueId arg : node.args) mark(arg);
  }

  const Graph& graph_;
  std::vector<bool> live_;
  std::unordered_map<ValueId, std::vector<bool>> read_;  // which results of control flow
  std::unordered_map<ValueId, PrunedControl> controls_;
};

// The node that takes the old one's place, over new operands.
Node kept_node(const Graph& graph, const Sweep& sweep, const Rebuild& rebuild, ValueId id) {
  Node node = graph.node(id);
  if (node.kind == NodeKind::kOp && node.op->runs_regions) node = sweep.control(id).node;
  if (node.kind == NodeKind::kOp && node.op->projects) {
    node.attrs[0] = sweep.control(node.args[0]).place[static_cast<size_t>(node.attrs[0])];
  }
  for (ValueId& arg : node.args) arg = rebuild.value(arg);
  return node;
}

}  // namespace

Graph dead_code(const Graph& graph, PassContext& context) {
  const Sweep sweep(graph);
  Rebuild rebuild(graph);
  int dropped = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (sweep.live(id)) {
      rebuild.replace(id, rebuild.builder().copy(kept_node(graph, sweep, rebuild, id)));
    } else {
      ++dropped;
    }
  }
  if (dropped > 0) context.notes.push_back("dropped " + std::to_string(dropped) + " values");
  return rebuild.finish();
}

}  // namespace moriejit
