#include "core/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/exec.h"
#include "core/op.h"

namespace moriejit {
namespace {

std::vector<Buffer> outputs_of(const Graph& graph, const std::vector<View>& inputs,
                               const Hooks& hooks) {
  const std::vector<Buffer> values = evaluate(graph, inputs, hooks);
  std::vector<Buffer> outputs;
  for (ValueId id : graph.outputs) {  // which may be inputs, whose memory is the caller's
    const View view = values[static_cast<size_t>(id)].view();
    Tensor copy(view.shape);
    std::copy_n(view.data, view.shape.size(), copy.data());
    outputs.push_back(copy.buffer());
  }
  return outputs;
}

std::vector<Buffer> evaluate_control(const Node& node, std::vector<View> args,
                                     const std::vector<Buffer>& operands, const Hooks& hooks) {
  if (node.op->name == "if") {
    const size_t region = condition_holds(*args[0].data) ? 0 : 1;
    args.erase(args.begin());
    return outputs_of(*node.regions[region], args, hooks);
  }
  std::vector<Buffer> states(operands.begin(),
                             operands.begin() + static_cast<int64_t>(node.attrs[0]));
  while (condition_holds(*outputs_of(*node.regions[0], args, hooks)[0].data)) {
    states = outputs_of(*node.regions[1], args, hooks);
    for (size_t i = 0; i < states.size(); ++i) args[i] = states[i].view();
    if (hooks.poll) hooks.poll();
  }
  return states;
}

}  // namespace

std::vector<Buffer> evaluate(const Graph& graph, const std::vector<View>& inputs,
                             const Hooks& hooks) {
  std::vector<Buffer> values(graph.nodes.size());
  MORIEJIT_CHECK(inputs.size() == graph.inputs.size());
  size_t next_input = 0;
  std::map<ValueId, std::vector<Buffer>> tuples;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    Buffer& value = values[static_cast<size_t>(id)];
    if (node.kind == NodeKind::kInput) {
      const View& view = inputs[next_input++];
      value = {view.shape, std::shared_ptr<const double>(std::shared_ptr<void>(), view.data)};
      continue;
    }
    if (node.kind == NodeKind::kConstant) {
      value = {node.shape, node.data};
      continue;
    }
    std::vector<View> args;
    std::vector<Shape> shapes;
    for (ValueId arg : node.args) {
      args.push_back(values[static_cast<size_t>(arg)].view());
      shapes.push_back(args.back().shape);
    }
    if (node.op->runs_regions) {
      std::vector<Buffer> operands;
      for (ValueId arg : node.args) operands.push_back(values[static_cast<size_t>(arg)]);
      tuples[id] = evaluate_control(node, args, operands, hooks);
      continue;
    }
    if (node.op->projects) {
      value = tuples[node.args[0]][static_cast<size_t>(node.attrs[0])];
      continue;
    }
    if (node.op->calls_host) {
      value = call_host(graph, id, args);
      continue;
    }
    Tensor tensor(node.op->shape(shapes, node.attrs.data()));
    node.op->eval({args.data(), node.attrs.data(), tensor.data(), tensor.shape(), hooks});
    value = tensor.buffer();
  }
  return values;
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double diff = std::fabs(a - b);
  return std::isnan(diff) ? std::numeric_limits<double>::infinity() : diff;
}

double max_abs_diff(const View& a, const View& b) {
  MORIEJIT_CHECK(a.shape == b.shape);
  double largest = 0;
  for (int64_t i = 0; i < a.shape.size(); ++i) {
    largest = std::max(largest, difference(a.data[i], b.data[i]));
  }
  return largest;
}

}  // namespace moriejit
