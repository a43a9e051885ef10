#include "core/passes/round_to_single.h"

#include <memory>

#include "core/op.h"
#include "core/passes/rebuild.h"

namespace moriejit {
namespace {

// A tuple has no numbers of its own, and its results were rounded in the regions.
bool needs_rounding(const Node& node) {
  if (node.kind != NodeKind::kOp) return true;
  return !node.op->runs_regions && !node.op->projects && node.shape.size() > 0;
}

}  // namespace

Graph round_to_single(const Graph& graph) {
  Rebuild rebuild(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    Node node = rebuild.renamed(id);
    for (auto& region : node.regions) {
      region = std::make_shared<const Graph>(round_to_single(*region));
    }
    const bool round = needs_rounding(node);
    const ValueId made = rebuild.builder().copy(std::move(node));
    rebuild.replace(id, round ? rebuild.builder().op("round_single", {made}) : made);
  }
  return rebuild.finish();
}

}  // namespace moriejit
