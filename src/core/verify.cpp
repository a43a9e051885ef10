#include "core/verify.h"

#include "core/error.h"
#include "core/op.h"

namespace moriejit {
namespace {

[[noreturn]] void illegal(ValueId id, const std::string& rule) {
  throw Error(ErrorKind::kInternal, "A graph that moriejit made is not legal.",
              "Node " + std::to_string(id) + ": " + rule + ".");
}

void verify_op(const Graph& graph, ValueId id, const Node& node) {
  const Op& op = *node.op;
  if (!op.takes(node.args.size())) illegal(id, "wrong number of operands");
  if (node.attrs.size() != op.attrs.size()) illegal(id, "wrong number of attributes");
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    if (!op.attrs[i].allows(node.attrs[i])) {
      illegal(id, "attribute " + op.attrs[i].name + " is out of range");
    }
  }
  for (ValueId arg : node.args) {
    if (arg < 0 || arg >= id) illegal(id, "an operand that does not stand before it");
  }
  if (op.calls_host && node.callable == nullptr) illegal(id, "no function to call");
  const Shape shape = infer_shape(graph, node);
  if (shape != node.shape) {
    illegal(id, "its shape is " + to_string(node.shape) + ", the rule of " + op.name + " gives " +
                    to_string(shape));
  }
}

void need(bool holds, ValueId id, const char* rule) {
  if (!holds) illegal(id, rule);
}

std::vector<Shape> output_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.outputs) shapes.push_back(graph.node(id).shape);
  return shapes;
}

// Regions are graphs by themselves that take the node's operands (an `if` keeps its condition).
void verify_control(const Graph& graph, ValueId id, const Node& node) {
  const bool branch = node.op->name == "if";
  need(node.regions.size() == 2 && (!branch || !node.args.empty()), id, "it needs two regions");
  std::vector<Shape> operands;
  for (size_t i = branch ? 1 : 0; i < node.args.size(); ++i) {
    operands.push_back(graph.node(node.args[i]).shape);
  }
  for (const auto& region : node.regions) {
    verify(*region);
    std::vector<Shape> inputs;
    for (ValueId input : region->inputs) inputs.push_back(region->node(input).shape);
    need(inputs == operands, id, "a region does not take its operands");
  }
  const std::vector<Shape> first = output_shapes(*node.regions[0]);
  const std::vector<Shape> second = output_shapes(*node.regions[1]);
  if (branch) {
    need(graph.node(node.args[0]).shape == Shape{1, 1}, id, "its condition is not one number");
    need(first == second, id, "its branches differ in shape");
    return;
  }
  const auto states = static_cast<size_t>(node.attrs[0]);
  need(states <= operands.size(), id, "it has more states than operands");
  operands.resize(states);
  need(first == std::vector<Shape>{{1, 1}}, id, "its condition is not one number");
  need(second == operands, id, "its states change their shapes");
}

}  // namespace

void verify(const Graph& graph) {
  size_t inputs = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.shape.rows < 0 || node.shape.cols < 0) illegal(id, "a negative dimension");
    if (node.kind == NodeKind::kOp) {
      if (node.op == nullptr) illegal(id, "no op");
      verify_op(graph, id, node);
      if (node.op->runs_regions) verify_control(graph, id, node);
    } else if (!node.args.empty()) {
      illegal(id, "an input or constant with operands");
    }
    if (node.kind == NodeKind::kInput) {
      if (inputs >= graph.inputs.size() || graph.inputs[inputs++] != id) {
        illegal(id, "an input that the signature does not list in order");
      }
    }
  }
  if (inputs != graph.inputs.size()) illegal(graph.size(), "the signature lists more inputs");
  for (ValueId id : graph.outputs) {
    if (id < 0 || id >= graph.size()) illegal(id, "an output that does not exist");
  }
}

}  // namespace moriejit
