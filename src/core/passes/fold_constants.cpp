#include "core/passes/fold_constants.h"

#include <algorithm>

#include "core/error.h"
#include "core/op.h"

namespace moriejit {
namespace {

// The product of w0_w1 and w2 is w0_w2: a name says which constants a value was made of.
std::string folded_name(const Graph& graph, const Node& node) {
  const std::string& first = graph.node(node.args.front()).name;
  const std::string& last = graph.node(node.args.back()).name;
  return first.substr(0, first.find('_')) + "_" + last.substr(last.rfind('_') + 1);
}

bool can_fold(const Graph& graph, const Node& node, const PassContext& context) {
  if (node.kind != NodeKind::kOp || !node.op->pure() || !node.op->eval) return false;
  double operands = 0;
  for (ValueId arg : node.args) {
    if (!is_constant(graph, arg) || graph.node(arg).data == nullptr) return false;
    operands += static_cast<double>(graph.node(arg).shape.size());
  }
  const auto size = static_cast<double>(node.shape.size());
  return size <= context.constant_limit && size <= std::max(operands, context.growth_limit);
}

Buffer evaluate_node(const Graph& graph, const Node& node, const Hooks& hooks) {
  std::vector<View> args;
  for (ValueId arg : node.args) args.push_back({graph.node(arg).data.get(), graph.node(arg).shape});
  Tensor result(node.shape);
  node.op->run()({args.data(), node.attrs.data(), result.data(), node.shape, hooks});
  return result.buffer();
}

}  // namespace

Graph fold_constants(const Graph& graph, PassContext& context) {
  Rebuild rebuild(graph);
  Hooks hooks;
  hooks.poll = context.poll;
  for (ValueId id = 0; id < graph.size(); ++id) {
    // In the new graph: what was folded before counts as a constant here.
    const Node node = rebuild.renamed(id);
    if (!can_fold(rebuild.graph(), node, context)) {
      rebuild.keep(id);
      continue;
    }
    Buffer value;
    try {
      value = evaluate_node(rebuild.graph(), node, hooks);
    } catch (const Error&) {  // is for the run to throw, if it gets there
      rebuild.keep(id);
      continue;
    }
    const std::string name = folded_name(rebuild.graph(), node);
    rebuild.replace(id, rebuild.builder().constant(name, value));
    context.notes.push_back("evaluated " + name + " = " + node.op->name + "(...)");
  }
  return rebuild.finish();
}

}  // namespace moriejit
