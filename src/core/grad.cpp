#include "core/grad.h"

#include "core/error.h"
#include "core/op.h"
#include "core/verify.h"

namespace moriejit {
namespace {

// Which values the values in `wrt` can change.
std::vector<bool> reached_from(const Graph& graph, const std::vector<ValueId>& wrt) {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (ValueId id : wrt) reached[static_cast<size_t>(id)] = true;
  for (ValueId id = 0; id < graph.size(); ++id) {
    for (ValueId arg : graph.node(id).args) {
      if (reached[static_cast<size_t>(arg)]) reached[static_cast<size_t>(id)] = true;
    }
  }
  return reached;
}

class Reverse {
 public:
  Reverse(const Graph& graph, const std::vector<ValueId>& wrt)
      : forward_(graph),
        builder_(without_outputs(graph)),
        reached_(reached_from(graph, wrt)),
        adjoint_(graph.nodes.size(), kNoValue) {}

  void seed(bool ones) {
    const ValueId out = forward_.outputs[0];
    adjoint(out) =
        ones ? builder_.op("expand_like", {builder_.scalar(1), out})
             : builder_.op("same_shape", {builder_.input("grad_output", builder_.shape(out)), out});
  }

  void sweep() {
    for (ValueId id = forward_.size() - 1; id >= 0; --id) {
      const Node& node = forward_.node(id);
      const bool needed = reached_[static_cast<size_t>(id)] && adjoint(id) != kNoValue;
      if (node.kind != NodeKind::kOp || !needed) continue;
      try {
        pull_back(id, node);
      } catch (Error& error) {
        error.locate(place_of(forward_, id));
        throw;
      }
    }
  }

  Graph finish(const std::vector<ValueId>& wrt) {
    builder_.set_origin({});
    builder_.output(forward_.outputs[0]);
    for (ValueId id : wrt) {
      const ValueId g = adjoint(id);
      builder_.output(g != kNoValue ? g : builder_.op("zeros_like", {id}));
    }
    return builder_.take();
  }

 private:
  static Graph without_outputs(Graph graph) {
    graph.outputs.clear();
    return graph;
  }

  ValueId& adjoint(ValueId id) { return adjoint_[static_cast<size_t>(id)]; }

  void pull_back(ValueId id, const Node& node) {
    const Op& op = *node.op;
    if (!op.vjp) {
      throw Error(ErrorKind::kUnsupported,
                  "`" + op.name + "` has no derivative: " + op.no_vjp + ".");
    }
    builder_.set_origin(node.origin);
    const std::vector<ValueId> grads =
        op.vjp(builder_, {node.args, id, adjoint(id), node.attrs, node.callable});
    for (size_t i = 0; i < node.args.size(); ++i) {
      const ValueId arg = node.args[i];
      if (grads[i] == kNoValue || !reached_[static_cast<size_t>(arg)]) continue;
      ValueId& sum = adjoint(arg);
      sum = sum == kNoValue ? grads[i] : builder_.op("add", {sum, grads[i]});
    }
  }

  const Graph& forward_;
  Builder builder_;
  std::vector<bool> reached_;
  std::vector<ValueId> adjoint_;
};

}  // namespace

Graph vjp_graph(const Graph& graph, const std::vector<ValueId>& wrt, bool ones) {
  MORIEJIT_CHECK(graph.outputs.size() == 1);
  Reverse reverse(graph, wrt);
  reverse.seed(ones);
  reverse.sweep();
  Graph joint = reverse.finish(wrt);
  verify(joint);
  return joint;
}

}  // namespace moriejit
