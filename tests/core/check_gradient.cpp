// Derivative graphs: against differences of values, against themselves with dead code dropped, and
// against those of a graph that was traced with another number of rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"
#include "core/error.h"
#include "core/grad.h"
#include "core/op.h"
#include "core/passes/pass.h"
#include "core/reference.h"

namespace moriejit::test {
namespace {

// The values that the output is a function of: the inputs, then the constants.
std::vector<ValueId> variables_of(const Graph& graph) {
  std::vector<ValueId> ids = graph.inputs;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (is_constant(graph, id)) ids.push_back(id);
  }
  return ids;
}

// How much the ops that divide by sqrt(... + eps) may blow up the rounding of what flows in.
double amplification(const Graph& graph) {
  double factor = 1;
  for (const Node& node : graph.nodes) {
    const int at = node.kind == NodeKind::kOp ? attr_index(*node.op, "eps") : -1;
    if (at >= 0) factor *= std::max(1.0, 1 / std::sqrt(node.attrs[static_cast<size_t>(at)]));
  }
  return factor;
}

// sum(weights * output), as a function of one element.
class Slope {
 public:
  Slope(const Graph& graph, const std::vector<Buffer>& inputs, const Buffer& weights)
      : graph_(graph), inputs_(inputs), weights_(weights), noise_(1e-15 * amplification(graph)) {}

  // Variable k of variables_of(graph).
  Buffer variable(size_t k, ValueId id) const {
    return k < inputs_.size() ? inputs_[k] : Buffer{graph_.node(id).shape, graph_.node(id).data};
  }

  // The derivative along element `at` of variable k; false where the function is not smooth there.
  bool at(size_t k, ValueId id, int64_t at, double* slope, double* error) {
    const double centre = variable(k, id).data.get()[at],
                 h = 1e-4 * std::max(1.0, std::fabs(centre));
    const auto f = [&](double moved) { return loss(k, id, at, moved); };
    const double here = f(centre), right = f(centre + h), left = f(centre - h);
    const double wide = (right - left) / (2 * h);
    const double half = (f(centre + h / 2) - f(centre - h / 2)) / h;
    *slope = (4 * half - wide) / 3;
    const double noise = noise_ * (1e3 * size_ + 1) / h;
    *error = std::fabs(half - wide) + noise + 1e-6 * (1 + std::fabs(half));
    // A kink beside the point shows in the two steps, one at the very point in the two sides.
    const double bend = std::fabs(right - here - (here - left)) / h;
    return std::isfinite(*slope) && size_ < 1e4 && noise < 1e-2 &&
           std::fabs(half - wide) <= 1e-4 * (1 + std::fabs(half)) &&
           bend <= 1e-2 * (1 + std::fabs(half));
  }

 private:
  double loss(size_t k, ValueId id, int64_t at, double moved) {
    const Buffer value = variable(k, id);
    Tensor changed(value.shape);
    std::copy(value.data.get(), value.data.get() + value.shape.size(), changed.data());
    changed.data()[at] = moved;
    Graph graph = graph_;
    std::vector<Buffer> inputs = inputs_;
    (k < inputs.size() ? inputs[k].data : graph.node(id).data) = changed.buffer().data;
    const std::vector<Buffer> values = evaluate(graph, views_of(inputs), fresh_hooks());
    const View out = values[static_cast<size_t>(graph.outputs[0])].view();
    double sum = 0;
    size_ = 0;
    for (int64_t i = 0; i < out.shape.size(); ++i) {
      sum += out.data[i] * weights_.data.get()[i];
      size_ += std::fabs(out.data[i] * weights_.data.get()[i]);
    }
    // What is far away in between comes back with fewer digits than it shows.
    for (const Buffer& between : values) {
      for (int64_t i = 0; i < between.shape.size(); ++i) {
        if (!(std::fabs(between.data.get()[i]) < 1e4)) size_ = INFINITY;
      }
    }
    return sum;
  }

  const Graph& graph_;
  const std::vector<Buffer>& inputs_;
  const Buffer& weights_;
  const double noise_;  // relative rounding of a loss
  double size_ = 0;     // of the last loss, without what cancels
};

void compare_slopes(const Graph& graph, const std::vector<Buffer>& inputs, const Buffer& weights,
                    const std::vector<Buffer>& joint, Rng& rng) {
  Slope slope(graph, inputs, weights);
  const std::vector<ValueId> ids = variables_of(graph);
  for (size_t k = 0; k < ids.size(); ++k) {
    const Buffer& gradient = joint[k + 1];
    require(slope.variable(k, ids[k]).shape == gradient.shape,
            "a gradient has another shape than its value");
    const int64_t size = gradient.shape.size();
    for (int64_t n = std::min<int64_t>(size, 3); n > 0; --n) {
      const int64_t at = rng.below(size);
      double expected = 0, error = 0;
      if (!slope.at(k, ids[k], at, &expected, &error)) continue;
      const double got = gradient.data.get()[at];
      require(std::fabs(got - expected) <= error,
              "the derivative by element " + std::to_string(at) + " of value " +
                  std::to_string(ids[k]) + " is " + number_text(got) + ", differences say " +
                  number_text(expected));
    }
  }
}

void require_same(const std::vector<Buffer>& a, const std::vector<Buffer>& b,
                  const std::string& why) {
  require(a.size() == b.size(), why);
  for (size_t k = 0; k < a.size(); ++k) require(same_values(a[k].view(), b[k].view()), why);
}

bool is_differentiable(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kOp || !node.op->calls_host) continue;
    try {
      node.callable->gradient();
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

void check_refusal(const Graph& graph) {
  try {
    vjp_graph(graph, {graph.inputs[0]}, true);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kUnsupported && error.place().index >= 0,
            "a function without gradient is not named");
    return;
  }
  require(false, "a function without gradient was differentiated");
}

Buffer ones(Shape shape) {
  return make_matrix(shape, [] { return 1.0; });
}

// The graph of derivatives runs on any number of rows as if it had been traced with them.
void check_other_rows(const Program& program, const Graph& joint, int64_t rows) {
  const Buffer x = program.other_x(rows, 11);
  std::vector<ListOp> ops;
  for (const ListOp& op : program.ops) {
    ops.push_back({op.kind, op.operands, op.numbers, op.callable, std::nullopt});
  }
  const Capture capture = capture_op_list(ops, x.view(), fresh_hooks());
  const Graph traced = vjp_graph(capture.graph, variables_of(capture.graph), false);
  const Buffer weights = plain_matrix(capture.graph.node(capture.graph.outputs[0]).shape, 3);
  require_same(evaluate_outputs(joint, {x, weights}), evaluate_outputs(traced, {x, weights}),
               "derivatives on " + std::to_string(rows) + " rows differ from traced ones");
}

// The values of the graph of derivatives, which must not change with passes over it.
std::vector<Buffer> check_joint(const Graph& joint, const std::vector<Buffer>& inputs) {
  const std::vector<Buffer> values = check_run(joint, inputs).outputs;
  for (const char* pass : {"dead_code", "fold_constants"}) {
    PassContext context;
    const Graph after = run_passes(joint, context, {pass});
    require_same(values, check_run(after, inputs).outputs,
                 std::string(pass) + " changes derivatives");
  }
  return values;
}

}  // namespace

void check_gradient(const Program& program, const Capture& capture, Rng& rng) {
  const Graph& graph = capture.graph;
  if (!is_differentiable(graph)) return check_refusal(graph);
  const std::vector<ValueId> ids = variables_of(graph);
  const Graph joint = vjp_graph(graph, ids, false);
  const Shape out = graph.node(graph.outputs[0]).shape;
  const Buffer weights = plain_matrix(out, 3);
  const std::vector<Buffer> values = check_joint(joint, {program.x, weights});
  require_same(evaluate_outputs(vjp_graph(graph, ids, true), {program.x}),
               evaluate_outputs(joint, {program.x, ones(out)}),
               "derivatives along ones differ from those along a matrix of ones");
  for (const int64_t rows : {0, 1, 3}) check_other_rows(program, joint, rows);
  if (program.tame) compare_slopes(graph, {program.x}, weights, values, rng);
}

void check_gradient(Graph graph, Rng& rng) {
  graph.outputs = {graph.outputs.back()};
  std::vector<Buffer> inputs;
  for (size_t k = 0; k < graph.inputs.size(); ++k) {
    inputs.push_back(plain_matrix(graph.node(graph.inputs[k]).shape, rng.next()));
  }
  // Whole numbers are full of ties, at which nothing has a derivative.
  for (Node& node : graph.nodes) {
    if (node.kind == NodeKind::kConstant) node.data = plain_matrix(node.shape, rng.next()).data;
  }
  Graph joint;
  try {
    joint = vjp_graph(graph, variables_of(graph), false);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kUnsupported, error.what());
    return;  // gt and draws have no derivative
  }
  const Buffer weights = plain_matrix(graph.node(graph.outputs[0]).shape, 3);
  std::vector<Buffer> joint_inputs = inputs;
  joint_inputs.push_back(weights);
  compare_slopes(graph, inputs, weights, check_joint(joint, joint_inputs), rng);
}

}  // namespace moriejit::test
