#include "core/grad.h"

#include <string>
#include <unordered_map>

#include "core/error.h"
#include "core/grad_control.h"
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

  // The gradient of one more output, as an input.
  void seed_output(size_t k) {
    const ValueId out = forward_.outputs[k];
    add_to(out, builder_.input("grad" + std::to_string(k), forward_.node(out).shape));
  }

  void sweep() {
    for (ValueId id = forward_.size() - 1; id >= 0; --id) {
      const Node& node = forward_.node(id);
      const bool has = adjoint(id) != kNoValue || tuples_.count(id) > 0;
      if (node.kind != NodeKind::kOp || !has || !reached_[static_cast<size_t>(id)]) continue;
      try {
        if (node.op->projects) {
          collect(id, node);
        } else if (node.op->runs_regions) {
          pull_back_control(id, node);
        } else {
          pull_back(id, node);
        }
      } catch (Error& error) {
        error.locate(place_of(forward_, id));
        throw;
      }
    }
  }

  Graph finish(const std::vector<ValueId>& wrt) {
    builder_.output(forward_.outputs[0]);
    return finish_gradients(wrt);
  }

  Graph finish_gradients(const std::vector<ValueId>& wrt) {
    builder_.set_origin({});
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
      add_to(arg, grads[i]);
    }
  }

  void add_to(ValueId id, ValueId gradient) { adjoint(id) = sum_of(adjoint(id), gradient); }

  ValueId sum_of(ValueId a, ValueId b) { return a == kNoValue ? b : builder_.op("add", {a, b}); }

  // What `result` reads belongs to the node of control flow.
  void collect(ValueId id, const Node& node) {
    std::vector<ValueId>& tuple = tuples_[node.args[0]];
    tuple.resize(forward_.node(node.args[0]).regions.back()->outputs.size(), kNoValue);
    ValueId& sum = tuple[static_cast<size_t>(node.attrs[0])];
    sum = sum_of(sum, adjoint(id));
  }

  void pull_back_control(ValueId id, const Node& node) {
    builder_.set_origin(node.origin);
    std::vector<bool> reached;
    for (ValueId arg : node.args) reached.push_back(reached_[static_cast<size_t>(arg)]);
    const std::vector<ValueId> grads = control_vjp(builder_, node, tuples_.at(id), reached);
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (grads[i] != kNoValue && reached[i]) add_to(node.args[i], grads[i]);
    }
  }

  const Graph& forward_;
  Builder builder_;
  std::vector<bool> reached_;
  std::vector<ValueId> adjoint_;
  std::unordered_map<ValueId, std::vector<ValueId>> tuples_;  // gradients of control flow's values
};

std::vector<ValueId> inputs_at(const Graph& region, const std::vector<size_t>& places) {
  std::vector<ValueId> ids;
  for (size_t place : places) ids.push_back(region.inputs[place]);
  return ids;
}

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

Graph region_vjp(const Graph& region, const std::vector<size_t>& wanted,
                 const std::vector<size_t>& given) {
  const std::vector<ValueId> wrt = inputs_at(region, wanted);
  Reverse reverse(region, wrt);
  for (size_t k : given) reverse.seed_output(k);
  reverse.sweep();
  return reverse.finish_gradients(wrt);
}

std::vector<bool> outputs_reached(const Graph& region, const std::vector<size_t>& inputs) {
  const std::vector<bool> reached = reached_from(region, inputs_at(region, inputs));
  std::vector<bool> outputs;
  for (ValueId id : region.outputs) outputs.push_back(reached[static_cast<size_t>(id)]);
  return outputs;
}

}  // namespace moriejit
