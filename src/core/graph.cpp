#include "core/graph.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/op.h"

namespace moriejit {
namespace {

// Equal by bits, with -0 and 0 apart and one NaN like itself.
bool same_bits(const double* a, const double* b, size_t count) {
  if (a == nullptr || b == nullptr) return a == b;
  return count == 0 || std::memcmp(a, b, count * sizeof(double)) == 0;
}

bool same_constant(const Node& a, const Node& b) {
  if (a.shape != b.shape) return false;
  // Constants that a text left without values are known by their names.
  if (a.data == nullptr && b.data == nullptr) return a.name == b.name;
  return same_bits(a.data.get(), b.data.get(), static_cast<size_t>(a.shape.size()));
}

bool same_op(const Node& a, const Node& b) {
  const bool same_regions =
      std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(), b.regions.end(),
                 [](const auto& x, const auto& y) { return same_structure(*x, *y); });
  return same_regions && a.op == b.op && a.shape == b.shape && a.callable == b.callable &&
         a.args.size() == b.args.size() && a.attrs.size() == b.attrs.size() &&
         same_bits(a.attrs.data(), b.attrs.data(), a.attrs.size());
}

std::vector<ValueId> ids_of(const Graph& graph, NodeKind kind) {
  std::vector<ValueId> ids;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind == kind) ids.push_back(id);
  }
  return ids;
}

// Walks two graphs side by side; `twin_` maps inputs and ops of one to those of the other.
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b), twin_(a.nodes.size(), kNoValue) {}

  bool pair(const std::vector<ValueId>& in_a, const std::vector<ValueId>& in_b) {
    if (in_a.size() != in_b.size()) return false;
    for (size_t i = 0; i < in_a.size(); ++i) twin_[static_cast<size_t>(in_a[i])] = in_b[i];
    return true;
  }

  bool same_value(ValueId in_a, ValueId in_b) const {
    if (is_constant(a_, in_a)) {
      return is_constant(b_, in_b) && same_constant(a_.node(in_a), b_.node(in_b));
    }
    return twin_[static_cast<size_t>(in_a)] == in_b;
  }

  bool same_values(const std::vector<ValueId>& in_a, const std::vector<ValueId>& in_b) const {
    return std::equal(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                      [this](ValueId x, ValueId y) { return same_value(x, y); });
  }

 private:
  const Graph& a_;
  const Graph& b_;
  std::vector<ValueId> twin_;
};

}  // namespace

std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> readers(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes) {
    for (ValueId arg : node.args) ++readers[static_cast<size_t>(arg)];
  }
  for (ValueId id : graph.outputs) ++readers[static_cast<size_t>(id)];
  return readers;
}

bool has_effects(const Node& node) {
  if (node.kind != NodeKind::kOp) return false;
  if (!node.op->pure()) return true;
  return std::any_of(node.regions.begin(), node.regions.end(), [](const auto& region) {
    return std::any_of(region->nodes.begin(), region->nodes.end(), has_effects);
  });
}

Shape infer_shape(const Graph& graph, const Node& node) {
  if (node.op->projects) {
    const Node& tuple = graph.node(node.args[0]);
    const auto index = static_cast<size_t>(node.attrs[0]);
    if (tuple.regions.empty() || index >= tuple.regions.back()->outputs.size()) {
      throw Error(ErrorKind::kShape, "A result must be one of those of a node of control flow.",
                  "There is none of index " + std::to_string(index) + ".");
    }
    const Graph& region = *tuple.regions.back();
    return region.node(region.outputs[index]).shape;
  }
  if (!node.op->shape) return node.shape;
  std::vector<Shape> shapes;
  for (ValueId arg : node.args) shapes.push_back(graph.node(arg).shape);
  return node.op->shape(shapes, node.attrs.data());
}

OpPlace place_of(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  OpPlace place;
  if (node.kind != NodeKind::kOp || node.origin.empty()) return place;
  place.index = node.origin.front();
  for (const Node& other : graph.nodes) {
    if (other.origin.empty()) continue;
    place.total = std::max(place.total, other.origin.back() + 1);
    // The op itself comes before what its derivative added.
    if (place.kind.empty() && other.origin.front() == place.index) place.kind = other.op->kind;
  }
  if (place.kind.empty()) place.kind = node.op->name;
  return place;
}

bool same_structure(const Graph& a, const Graph& b) {
  const std::vector<ValueId> ops_a = ids_of(a, NodeKind::kOp), ops_b = ids_of(b, NodeKind::kOp);
  Comparison comparison(a, b);
  if (!comparison.pair(a.inputs, b.inputs) || !comparison.pair(ops_a, ops_b)) return false;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    if (a.node(a.inputs[i]).shape != b.node(b.inputs[i]).shape) return false;
  }
  for (size_t i = 0; i < ops_a.size(); ++i) {
    const Node &x = a.node(ops_a[i]), &y = b.node(ops_b[i]);
    if (!same_op(x, y) || !comparison.same_values(x.args, y.args)) return false;
  }
  return comparison.same_values(a.outputs, b.outputs);
}

Node Builder::make_node(const Op& op, const std::vector<ValueId>& args,
                        std::vector<double> attrs) const {
  for (size_t i = attrs.size(); i < op.attrs.size(); ++i) {
    attrs.push_back(op.attrs[i].default_value);
  }
  Node node;
  node.op = &op;
  node.args = args;
  node.attrs = std::move(attrs);
  node.shape = infer_shape(graph_, node);
  return node;
}

ValueId Builder::push(Node node) {
  if (node.kind == NodeKind::kOp && node.origin.empty()) node.origin = origin_;
  graph_.nodes.push_back(std::move(node));
  return graph_.size() - 1;
}

ValueId Builder::input(const std::string& name, Shape shape) {
  Node node;
  node.kind = NodeKind::kInput;
  node.name = name;
  node.shape = shape;
  graph_.inputs.push_back(push(std::move(node)));
  return graph_.inputs.back();
}

ValueId Builder::constant(const std::string& name, const Buffer& value) {
  Node node;
  node.kind = NodeKind::kConstant;
  node.name = name;
  node.shape = value.shape;
  node.data = value.data;
  return push(std::move(node));
}

ValueId Builder::scalar(double value) {
  Tensor tensor({1, 1});
  *tensor.data() = value;
  return constant("c" + std::to_string(graph_.size()), tensor.buffer());
}

ValueId Builder::op(const Op& op, const std::vector<ValueId>& args, std::vector<double> attrs) {
  MORIEJIT_CHECK(op.takes(args.size()) && (op.shape || op.projects));
  return push(make_node(op, args, std::move(attrs)));
}

ValueId Builder::op(const char* name, const std::vector<ValueId>& args, std::vector<double> attrs) {
  return op(op_named(name), args, std::move(attrs));
}

ValueId Builder::callback(const Op& op, std::shared_ptr<Callable> callable,
                          const std::vector<ValueId>& args, Shape shape) {
  Node node;
  node.op = &op;
  node.args = args;
  node.shape = shape;
  node.callable = std::move(callable);
  return push(std::move(node));
}

ValueId Builder::control(const Op& op, const std::vector<ValueId>& args,
                         std::vector<std::shared_ptr<const Graph>> regions,
                         std::vector<double> attrs) {
  Node node = make_node(op, args, std::move(attrs));
  node.regions = std::move(regions);
  return push(std::move(node));
}

ValueId Builder::result(ValueId control, size_t index) {
  return op("result", {control}, {static_cast<double>(index)});
}

ValueId Builder::copy(Node node) {
  if (node.kind == NodeKind::kOp) node.shape = infer_shape(graph_, node);
  const bool is_input = node.kind == NodeKind::kInput;
  const ValueId id = push(std::move(node));
  if (is_input) graph_.inputs.push_back(id);
  return id;
}

}  // namespace moriejit
