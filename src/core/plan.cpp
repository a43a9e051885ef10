#include "core/plan.h"

#include <algorithm>

#include "core/fixed_plan.h"
#include "core/op.h"

namespace moriejit {
namespace {

constexpr int kForever = -2;  // outputs are read by the caller

// For each value, the last node that reads it (kNoValue: none).
std::vector<ValueId> last_readers(const Graph& graph) {
  std::vector<ValueId> last(graph.nodes.size(), kNoValue);
  for (ValueId id = 0; id < graph.size(); ++id) {
    for (ValueId arg : graph.node(id).args) last[static_cast<size_t>(arg)] = id;
  }
  for (ValueId id : graph.outputs) last[static_cast<size_t>(id)] = kForever;
  return last;
}

bool is_computed(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  return node.kind == NodeKind::kOp && !node.op->calls_host && !node.op->runs_regions &&
         !node.op->projects;
}

// An op that is not elementwise must not find its other operands written over.
bool may_overwrite(const Node& node) {
  const bool once = std::count(node.args.begin(), node.args.end(), node.args[0]) == 1;
  return node.op->in_place && (once || node.op->elementwise);
}

// Which values have the same number of columns whatever the number of rows. (Those of a product
// with a transpose may not.)
std::vector<bool> fixed_columns(const Graph& graph) {
  std::vector<bool> fixed(graph.nodes.size(), true);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOp) continue;
    const bool follows_first = node.op->shape_of_first || node.op->elementwise;
    bool known = follows_first ? fixed[static_cast<size_t>(node.args[0])] : node.op->pure();
    for (size_t i = 1; i < node.args.size(); ++i) {
      if (!node.op->shape_of_first) known = known && is_constant(graph, node.args[i]);
    }
    fixed[static_cast<size_t>(id)] = known;
  }
  return fixed;
}

// Whether the result always has the shape of its first operand, whatever the number of rows.
bool keeps_shape(const Graph& graph, const Node& node, const std::vector<bool>& fixed) {
  if (node.op->shape_of_first) return true;
  if (!node.op->elementwise || node.shape != graph.node(node.args[0]).shape) return false;
  if (!fixed[static_cast<size_t>(node.args[0])]) return false;
  for (size_t i = 1; i < node.args.size(); ++i) {
    const Node& operand = graph.node(node.args[i]);
    if (operand.kind != NodeKind::kConstant || operand.shape.rows != 1) return false;
  }
  return true;
}

}  // namespace

Plan make_plan(Graph graph, bool fixed_shapes) {
  Plan plan;
  if (fixed_shapes) plan.fixed = make_fixed_plan(std::make_shared<const Graph>(graph));
  const std::vector<ValueId> last = last_readers(graph);
  std::vector<bool> reuses(graph.nodes.size(), false);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOp) continue;
    Step step{id, false, {}, {}};
    for (const auto& region : node.regions) {
      step.regions.push_back(std::make_shared<const Plan>(make_plan(*region)));
    }
    for (size_t i = 0; i < node.args.size(); ++i) {
      const ValueId arg = node.args[i];
      if (last[static_cast<size_t>(arg)] != id || graph.node(arg).kind != NodeKind::kOp) continue;
      if (i == 0) step.reuse = may_overwrite(node) && is_computed(graph, arg);
      if (step.dead.empty() || step.dead.back() != arg) step.dead.push_back(arg);
    }
    reuses[static_cast<size_t>(id)] = step.reuse;
    plan.steps.push_back(std::move(step));
  }
  const std::vector<bool> fixed = fixed_columns(graph);
  plan.placed.assign(graph.nodes.size(), -1);
  for (size_t k = graph.outputs.size(); k-- > 0;) {
    ValueId id = graph.outputs[k];
    while (is_computed(graph, id)) {
      plan.placed[static_cast<size_t>(id)] = static_cast<int>(k);
      if (!reuses[static_cast<size_t>(id)] || !keeps_shape(graph, graph.node(id), fixed)) break;
      id = graph.node(id).args[0];
    }
  }
  plan.graph = std::move(graph);
  return plan;
}

}  // namespace moriejit
