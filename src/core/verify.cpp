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

}  // namespace

void verify(const Graph& graph) {
  size_t inputs = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.shape.rows < 0 || node.shape.cols < 0) illegal(id, "a negative dimension");
    if (node.kind == NodeKind::kOp) {
      if (node.op == nullptr) illegal(id, "no op");
      verify_op(graph, id, node);
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
