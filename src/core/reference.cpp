#include "core/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/exec.h"
#include "core/op.h"

namespace moriejit {

std::vector<Buffer> evaluate(const Graph& graph, const std::vector<View>& inputs,
                             const Hooks& hooks) {
  std::vector<Buffer> values(graph.nodes.size());
  MORIEJIT_CHECK(inputs.size() == graph.inputs.size());
  size_t next_input = 0;
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
