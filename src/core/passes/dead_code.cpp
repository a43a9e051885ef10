#include "core/passes/dead_code.h"

#include "core/op.h"

namespace moriejit {
namespace {

std::vector<bool> live_values(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (ValueId id : graph.outputs) live[static_cast<size_t>(id)] = true;
  for (ValueId id = graph.size() - 1; id >= 0; --id) {
    const Node& node = graph.node(id);
    const bool effect = node.kind == NodeKind::kOp && !node.op->pure();
    if (effect || node.kind == NodeKind::kInput) live[static_cast<size_t>(id)] = true;
    if (!live[static_cast<size_t>(id)]) continue;
    for (ValueId arg : node.args) live[static_cast<size_t>(arg)] = true;
  }
  return live;
}

}  // namespace

Graph dead_code(const Graph& graph, PassContext& context) {
  const std::vector<bool> live = live_values(graph);
  Rebuild rebuild(graph);
  int dropped = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (live[static_cast<size_t>(id)]) {
      rebuild.keep(id);
    } else {
      ++dropped;
    }
  }
  if (dropped > 0) context.notes.push_back("dropped " + std::to_string(dropped) + " values");
  return rebuild.finish();
}

}  // namespace moriejit
