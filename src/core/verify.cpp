#include "core/verify.h"

#include "core/error.h"
#include "core/op.h"

namespace moriejit {
namespace {

[[noreturn]] void illegal(ValueId id, const std::string& rule) {
  throw Error(ErrorKind::kInternal, "A graph that moriejit made is not legal.",
              "Node " + std::to_string(id) + ": " + rule + ".");
}

bool is_control(const Node& node) {
  return node.kind == NodeKind::kOp && node.op->runs_regions;
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
    if (is_control(graph.node(arg)) != op.projects) illegal(id, "an operand of the wrong kind");
  }
  if (op.calls_host && node.callable == nullptr) illegal(id, "no function to call");
  const Shape shape = infer_shape(graph, node);
  if (shape != node.shape) {
    illegal(id, "its shape is " + to_string(node.shape) + ", the rule of " + op.name + " gives " +
                    to_string(shape));
  }
}

void verify_control(const Graph& graph, ValueId id, const Node& node) {
  const std::string wrong = wrong_regions(graph, node);
  if (!wrong.empty()) illegal(id, wrong);
  for (const auto& region : node.regions) verify(*region);
}

}  // namespace

std::vector<Shape> output_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (ValueId id : graph.outputs) shapes.push_back(graph.node(id).shape);
  return shapes;
}

std::string wrong_regions(const Graph& graph, const Node& node) {
  const bool branch = node.op->name == "if";
  if (node.regions.size() != 2) return "it needs two regions";
  if (branch && node.args.empty()) return "it needs a condition";
  std::vector<Shape> operands, inputs;
  for (ValueId arg : node.args) operands.push_back(graph.node(arg).shape);
  if (branch) {
    if (operands[0] != Shape{1, 1}) return "its condition is not one number";
    operands.erase(operands.begin());
  }
  for (const auto& region : node.regions) {
    inputs.clear();
    for (ValueId input : region->inputs) inputs.push_back(region->node(input).shape);
    if (inputs != operands) return "a region does not take its operands";
  }
  const std::vector<Shape> first = output_shapes(*node.regions[0]);
  const std::vector<Shape> second = output_shapes(*node.regions[1]);
  if (branch) return first == second ? "" : "its branches differ in shape";
  const auto states = static_cast<size_t>(node.attrs[0]);
  if (states > operands.size()) return "it has more states than operands";
  operands.resize(states);
  if (first != std::vector<Shape>{{1, 1}}) return "its condition is not one number";
  return second == operands ? "" : "its states change their shapes";
}

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
    if (is_control(graph.node(id))) illegal(id, "an output that is no matrix");
  }
}

}  // namespace moriejit
