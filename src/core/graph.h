// The graph: a list of nodes in single assignment form, each giving one matrix. Operands always
// stand before their reader, so the order of the nodes is an order of execution.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace moriejit {

struct Op;

// A value is named by the index of the node that makes it.
using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

// A function of the host language, kept as an opaque node.
class Callable {
 public:
  virtual ~Callable() = default;
  virtual Buffer call(const std::vector<View>& args) = 0;
  // The vector-Jacobian product as another callable of (x, dy); throws where the host gave none.
  virtual std::shared_ptr<Callable> gradient() = 0;
};

enum class NodeKind { kInput, kConstant, kOp };

struct Graph;

struct Node {
  NodeKind kind = NodeKind::kOp;
  Shape shape;
  std::string name;                    // inputs and constants
  std::shared_ptr<const double> data;  // constants; null where the text gave no values
  const Op* op = nullptr;              // ops
  std::vector<ValueId> args;           // ops: operands
  std::vector<double> attrs;           // ops: in the order of op->attrs
  std::shared_ptr<Callable> callable;  // ops that call the host
  // Ops of control flow: the programs that they run. What a region reads from outside comes in as
  // an operand of the node, so a region is a whole graph by itself.
  std::vector<std::shared_ptr<const Graph>> regions;
  std::vector<int> origin;  // ops: indices of the list's ops that it stands for
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;

  const Node& node(ValueId id) const { return nodes[static_cast<size_t>(id)]; }
  Node& node(ValueId id) { return nodes[static_cast<size_t>(id)]; }
  ValueId size() const { return static_cast<ValueId>(nodes.size()); }
};

inline bool is_constant(const Graph& graph, ValueId id) {
  return graph.node(id).kind == NodeKind::kConstant;
}

// How many operands and outputs read each value.
std::vector<int> count_readers(const Graph& graph);

// Whether running a node does more than give its value (it draws, or calls the host), itself or in
// one of its regions: such a node is never folded, merged, dropped or moved.
bool has_effects(const Node& node);

// The shape that a node's operands give it by its op's rule; the stated one where only running
// tells.
Shape infer_shape(const Graph& graph, const Node& node);

// Where a node came from, for error messages.
struct OpPlace;
OpPlace place_of(const Graph& graph, ValueId id);

// Same structure: inputs and ops in the same order, with the same operands, attributes and shapes;
// constants by bits. Names do not matter, nor do constants that nobody reads or where they stand.
bool same_structure(const Graph& a, const Graph& b);

// Adds nodes to a graph; every op's shape rule runs here, so a bad shape is an error at the place
// that asked for the node.
class Builder {
 public:
  Builder() = default;
  explicit Builder(Graph graph) : graph_(std::move(graph)) {}

  ValueId input(const std::string& name, Shape shape);
  ValueId constant(const std::string& name, const Buffer& value);
  ValueId scalar(double value);
  // Attributes that are not given take the op's defaults.
  ValueId op(const Op& op, const std::vector<ValueId>& args, std::vector<double> attrs = {});
  ValueId op(const char* name, const std::vector<ValueId>& args, std::vector<double> attrs = {});
  // A node of the host's function; only running it tells its shape, so the caller states it.
  ValueId callback(const Op& op, std::shared_ptr<Callable> callable,
                   const std::vector<ValueId>& args, Shape shape);
  // A node that runs regions; its values are read with `result`.
  ValueId control(const Op& op, const std::vector<ValueId>& args,
                  std::vector<std::shared_ptr<const Graph>> regions,
                  std::vector<double> attrs = {});
  ValueId result(ValueId control, size_t index);
  // A node of another graph whose operands are values of this one; its shape is worked out anew.
  ValueId copy(Node node);
  void output(ValueId id) { graph_.outputs.push_back(id); }
  // The list's ops that the nodes added from now on stand for.
  void set_origin(std::vector<int> origin) { origin_ = std::move(origin); }

  Shape shape(ValueId id) const { return graph_.node(id).shape; }
  const Graph& graph() const { return graph_; }
  Graph take() { return std::move(graph_); }

 private:
  ValueId push(Node node);
  Node make_node(const Op& op, const std::vector<ValueId>& args, std::vector<double> attrs) const;

  Graph graph_;
  std::vector<int> origin_;
};

}  // namespace moriejit
