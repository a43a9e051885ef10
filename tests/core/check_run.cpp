// Runs of plans, step by step: an error bound of a whole program would have to be too wide to tell
// anything, one of a single op is exact.
#include <algorithm>

#include "checks.h"
#include "core/error.h"
#include "core/op.h"
#include "core/reference.h"
#include "naive.h"

namespace moriejit::test {
namespace {

Buffer copy_of(const View& view) {
  Tensor copy(view.shape);
  std::copy(view.data, view.data + view.shape.size(), copy.data());
  return copy.buffer();
}

// The reference evaluation of one op.
Buffer reference_of(const Node& node, const std::vector<View>& in) {
  std::vector<Shape> shapes;
  for (const View& view : in) shapes.push_back(view.shape);
  Tensor out(node.op->shape(shapes, node.attrs.data()));
  node.op->eval({in.data(), node.attrs.data(), out.data(), out.shape(), Hooks{}});
  return out.buffer();
}

void check_step(const Node& node, const std::vector<View>& in, const View& out) {
  if (node.op->calls_host) {
    require(same_values(node.callable->call(in).view(), out), "a callable's value was changed");
    return;
  }
  if (node.op->random) return;  // compared with those of the evaluator
  require_none(check_naive(*node.op, in, node.attrs, out), "a run");
  const Buffer reference = reference_of(node, in);
  require(reference.shape == out.shape, node.op->name + " ran with another shape");
  require_none(check_naive(*node.op, in, node.attrs, reference.view()), "the reference");
  // Kernels with products sum in an order of their own.
  if (node.op->kernel) return;
  require(same_values(reference.view(), out), node.op->name + " runs other than its reference");
}

// A run that is stopped in the middle leaves its workspace usable.
void interrupt(const Plan& plan, const std::vector<Buffer>& inputs, Workspace& workspace) {
  struct Stop {};
  size_t left = plan.steps.size() / 2;
  Hooks hooks = fresh_hooks();
  hooks.observe = [&left](ValueId, const View&) {
    if (left-- == 0) throw Stop{};
  };
  std::vector<Buffer> outputs(plan.graph.outputs.size());
  const MakeResult result = [&outputs](size_t k, Shape shape) {
    Tensor tensor(shape);
    outputs[k] = tensor.buffer();
    return tensor.data();
  };
  try {
    run(plan, views_of(inputs), result, workspace, hooks);
  } catch (const Stop&) {
  }
}

void check_draws(const Graph& graph, const std::vector<Buffer>& inputs, const Watched& run) {
  const std::vector<Buffer> values = evaluate(graph, views_of(inputs), fresh_hooks());
  bool products = false;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOp) continue;
    products = products || node.op->kernel;
    const View evaluated = values[static_cast<size_t>(id)].view();
    require(evaluated.shape == run.value(id).shape, "the evaluator gives another shape");
    // Up to the first product, and for draws always, every bit is the same.
    if (products && !node.op->random) continue;
    require(same_values(evaluated, run.value(id).view()), "the evaluator gives another value");
  }
}

}  // namespace

void require(bool condition, const std::string& why) {
  if (!condition) throw Failure{why};
}

void require_none(const std::string& wrong, const std::string& where) {
  if (!wrong.empty()) throw Failure{where + ": " + wrong};
}

std::vector<View> Watched::operands(const Node& node) const {
  std::vector<View> views;
  for (ValueId arg : node.args) views.push_back(value(arg).view());
  return views;
}

Watched watch(const Plan& plan, const std::vector<Buffer>& inputs, Workspace& workspace) {
  Watched watched;
  watched.outputs.resize(plan.graph.outputs.size());
  for (const Node& node : plan.graph.nodes) watched.values.push_back({node.shape, node.data});
  Hooks hooks = fresh_hooks();
  hooks.observe = [&watched](ValueId id, const View& view) {
    watched.values[static_cast<size_t>(id)] = copy_of(view);
  };
  const MakeResult result = [&watched](size_t k, Shape shape) {
    require(watched.outputs[k].data == nullptr, "a plan made a result twice");
    Tensor tensor(shape);
    watched.outputs[k] = tensor.buffer();
    return tensor.data();
  };
  run(plan, views_of(inputs), result, workspace, hooks);
  return watched;
}

Watched check_run(const Graph& graph, const std::vector<Buffer>& inputs) {
  const Plan plan = make_plan(graph);
  Workspace workspace;
  Watched first = watch(plan, inputs, workspace);
  for (const Node& node : graph.nodes) {
    const auto id = static_cast<ValueId>(&node - graph.nodes.data());
    if (node.kind == NodeKind::kOp) check_step(node, first.operands(node), first.value(id).view());
  }
  const int64_t blocks = workspace.blocks();
  interrupt(plan, inputs, workspace);
  const Watched second = watch(plan, inputs, workspace);
  require(workspace.blocks() <= blocks, "a workspace grows from run to run");
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    require(same_values(first.outputs[k].view(), first.value(graph.outputs[k]).view()),
            "an output is not the value that was made");
    require(same_values(first.outputs[k].view(), second.outputs[k].view()),
            "a second run in the same workspace gives another output");
  }
  check_draws(graph, inputs, first);
  return first;
}

void check_values(const Program& program, const Capture& capture) {
  const Watched run = check_run(capture.graph, {program.x});
  if (capture.output.data != nullptr) {
    require(same_values(capture.output.view(), run.outputs[0].view()),
            "capture gives another output than a run");
  }
  for (const int64_t rows : {0, 1, 2, 70}) {
    check_run(capture.graph, {program.other_x(rows, static_cast<uint64_t>(rows))});
  }
}

}  // namespace moriejit::test
