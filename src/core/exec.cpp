#include "core/exec.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/fixed_plan.h"
#include "core/op.h"

namespace moriejit {
namespace {

struct Value {
  View view;
  double* own = nullptr;               // where it may be written over
  std::shared_ptr<const double> kept;  // what the host's function or a region gave
  std::vector<Buffer> tuple;           // of control flow
};

class Run {
 public:
  Run(const Plan& plan, const MakeResult& result, Workspace& workspace, const Hooks& hooks)
      : plan_(plan),
        graph_(plan.graph),
        result_(result),
        workspace_(workspace),
        hooks_(hooks),
        values_(graph_.nodes.size()),
        made_(graph_.outputs.size(), nullptr) {}

  ~Run() {
    // Whatever ended the run, the workspace is whole again.
    for (size_t id = 0; id < values_.size(); ++id) release(static_cast<ValueId>(id));
  }

  void start(const std::vector<View>& inputs) {
    MORIEJIT_CHECK(inputs.size() == graph_.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Node& node = graph_.node(graph_.inputs[i]);
      if (inputs[i].shape.cols != node.shape.cols) {
        throw Error(ErrorKind::kShape,
                    "`" + node.name + "` must have as many columns as when the graph was traced, " +
                        std::to_string(node.shape.cols) + ".",
                    "It is " + to_string(inputs[i].shape) + ".",
                    inputs[i].shape.cols == 1 ? "A vector counts as one column, not one row." : "");
      }
      value(graph_.inputs[i]).view = inputs[i];
      observe(graph_.inputs[i]);
    }
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.kind != NodeKind::kConstant) continue;
      MORIEJIT_CHECK(node.data != nullptr);
      value(id).view = {node.data.get(), node.shape};
    }
  }

  void step(const Step& step) {
    const Node& node = graph_.node(step.id);
    args_.clear();
    shapes_.clear();
    for (ValueId arg : node.args) {
      args_.push_back(value(arg).view);
      shapes_.push_back(args_.back().shape);
    }
    Value& made = value(step.id);
    if (node.op->runs_regions) {
      made.tuple = node.op->name == "if" ? branch(step) : loop(step, node.attrs[0]);
    } else if (node.op->projects) {
      const Buffer& buffer = value(node.args[0]).tuple[static_cast<size_t>(node.attrs[0])];
      made.view = buffer.view();
      made.kept = buffer.data;
    } else if (node.op->calls_host) {
      const Buffer buffer = call_host(graph_, step.id, args_);
      made.view = buffer.view();
      made.kept = buffer.data;
    } else {
      const Shape shape = node.op->shape(shapes_, node.attrs.data());
      made.own = place(step, shape);
      made.view = {made.own, shape};
      if (node.op->random) MORIEJIT_CHECK(hooks_.uniform);
      node.op->run()({args_.data(), node.attrs.data(), made.own, shape, hooks_});
    }
    poll(node.op->cost(shapes_, made.view.shape));
    observe(step.id);
    for (ValueId id : step.dead) release(id);
  }

  void finish() {
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      const ValueId id = graph_.outputs[k];
      if (placed(id) == static_cast<int>(k)) continue;
      // An input, a constant, what the host gave, or a value that is an output twice.
      const View& view = value(id).view;
      std::copy(view.data, view.data + view.shape.size(), result_(k, view.shape));
    }
  }

 private:
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  int placed(ValueId id) const { return plan_.placed[static_cast<size_t>(id)]; }

  // What happens inside a region is not observed: its values are not this graph's.
  Hooks inner_hooks() const { return {hooks_.poll, hooks_.uniform, {}}; }

  std::vector<Buffer> branch(const Step& step) {
    const bool holds = condition_holds(*args_[0].data);
    const std::vector<View> inputs(args_.begin() + 1, args_.end());
    Workspace workspace;
    return run_all(*step.regions[holds ? 0 : 1], inputs, inner_hooks(), workspace);
  }

  std::vector<Buffer> loop(const Step& step, double states) {
    std::vector<View> inputs = args_;
    std::vector<Buffer> now;
    for (size_t i = 0; i < static_cast<size_t>(states); ++i) {
      Tensor copy(inputs[i].shape);  // what is given back must not be an operand's own memory
      std::copy_n(inputs[i].data, inputs[i].shape.size(), copy.data());
      now.push_back(copy.buffer());
    }
    Workspace workspace;
    const Hooks hooks = inner_hooks();
    for (;;) {
      for (size_t i = 0; i < now.size(); ++i) inputs[i] = now[i].view();
      const Buffer test = run_all(*step.regions[0], inputs, hooks, workspace)[0];
      if (!condition_holds(*test.data)) return now;
      now = run_all(*step.regions[1], inputs, hooks, workspace);
      poll(0);
    }
  }

  // The memory of a new value: its operand's, a result's, or some of the workspace.
  double* place(const Step& step, Shape shape) {
    const ValueId first = graph_.node(step.id).args[0];
    Value& operand = value(first);
    if (step.reuse && operand.own != nullptr && operand.view.shape.size() == shape.size() &&
        placed(step.id) == placed(first)) {
      return std::exchange(operand.own, nullptr);
    }
    const int k = placed(step.id);
    if (k < 0) return workspace_.acquire(shape.size());
    double*& made = made_[static_cast<size_t>(k)];
    MORIEJIT_CHECK(made == nullptr);
    return made = result_(static_cast<size_t>(k), shape);
  }

  void release(ValueId id) {
    Value& dead = value(id);
    if (dead.own != nullptr && placed(id) < 0) workspace_.release(dead.own);
    dead.own = nullptr;
    dead.kept = nullptr;
    dead.tuple.clear();
  }

  // Asks about an interrupt after about every millisecond of work.
  void poll(double cost) {
    constexpr double kStep = 100, kMillisecond = 2e6;
    work_ += cost + kStep;
    if (work_ < kMillisecond || !hooks_.poll) return;
    work_ = 0;
    hooks_.poll();
  }

  void observe(ValueId id) {
    if (hooks_.observe) hooks_.observe(id, value(id).view);
  }

  const Plan& plan_;
  const Graph& graph_;
  const MakeResult& result_;
  Workspace& workspace_;
  const Hooks& hooks_;
  std::vector<Value> values_;
  std::vector<double*> made_;
  std::vector<View> args_;
  std::vector<Shape> shapes_;
  double work_ = 0;
};

}  // namespace

double* Workspace::acquire(int64_t size) {
  size = std::max<int64_t>(size, 1);
  const auto fits = free_.lower_bound(size);
  if (fits != free_.end()) {
    double* data = fits->second;
    free_.erase(fits);
    return data;
  }
  if (!free_.empty()) {  // a free block that is too small would only be held in vain
    const auto largest = std::prev(free_.end());
    blocks_.erase(largest->second);
    free_.erase(largest);
  }
  std::unique_ptr<double[]> fresh(new double[static_cast<size_t>(size)]);
  double* data = fresh.get();
  blocks_[data] = {std::move(fresh), size};
  return data;
}

void Workspace::release(double* data) {
  free_.emplace(blocks_.at(data).size, data);
}

Buffer call_host(const Graph& graph, ValueId id, const std::vector<View>& args) {
  const Node& node = graph.node(id);
  const Buffer buffer = node.callable->call(args);
  if (node.op->arity == kVariadic) {  // a traced program's own, of a stated shape
    // A call for its effect only gives no data.
    if (node.shape.size() == 0 && buffer.data == nullptr) return {node.shape, nullptr};
    if (buffer.shape != node.shape || (buffer.data == nullptr && node.shape.size() > 0)) {
      throw Error(ErrorKind::kCallable,
                  "A function called from a traced program must give what was stated, " +
                      to_string(node.shape) + ".",
                  "It gave " + to_string(buffer.shape) + ".");
    }
    return buffer;
  }
  if (buffer.shape.cols != node.shape.cols && !node.op->shape_of_first) {
    throw Error(ErrorKind::kCallable,
                "A function in a model must give as many columns as when it was traced, " +
                    std::to_string(node.shape.cols) + ".",
                "It gave " + to_string(buffer.shape) + ".");
  }
  if (node.op->shape_of_first && buffer.shape != args[0].shape) {
    throw Error(
        ErrorKind::kCallable,
        "A gradient must have the shape of what it is taken by, " + to_string(args[0].shape) + ".",
        "The function gave " + to_string(buffer.shape) + ".");
  }
  return buffer;
}

namespace {

void run_fixed_plan(const FixedPlan& plan, const std::vector<View>& inputs,
                    const MakeResult& result, const Hooks& hooks) {
  const Graph& graph = *plan.graph;
  MORIEJIT_CHECK(inputs.size() == graph.inputs.size());
  std::vector<const double*> in;
  in.reserve(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    MORIEJIT_CHECK(inputs[k].shape == graph.node(graph.inputs[k]).shape);
    in.push_back(inputs[k].data);
  }
  std::vector<double*> out;
  out.reserve(graph.outputs.size());
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    out.push_back(result(k, graph.node(graph.outputs[k]).shape));
  }
  run_fixed(plan, in.data(), out.data(), hooks);
}

}  // namespace

void run(const Plan& plan, const std::vector<View>& inputs, const MakeResult& result,
         Workspace& workspace, const Hooks& hooks) {
  if (plan.fixed != nullptr && !hooks.observe) {
    // Held here: a function of the host may end in a new plan in this one's place.
    const std::shared_ptr<const FixedPlan> fixed = plan.fixed;
    run_fixed_plan(*fixed, inputs, result, hooks);
    return;
  }
  Run run(plan, result, workspace, hooks);
  run.start(inputs);
  for (const Step& step : plan.steps) {
    try {
      run.step(step);
    } catch (Error& error) {
      error.locate(place_of(plan.graph, step.id));
      throw;
    }
  }
  run.finish();
}

std::vector<Buffer> run_all(const Plan& plan, const std::vector<View>& inputs, const Hooks& hooks,
                            Workspace& workspace) {
  std::vector<Buffer> buffers(plan.graph.outputs.size());
  const MakeResult result = [&buffers](size_t k, Shape shape) {
    Tensor tensor(shape);
    buffers[k] = tensor.buffer();
    return tensor.data();
  };
  run(plan, inputs, result, workspace, hooks);
  return buffers;
}

bool condition_holds(double value) {
  if (std::isnan(value)) {
    throw Error(ErrorKind::kInput, "missing value where TRUE/FALSE needed", "");
  }
  return value != 0;
}

Buffer run_one(const Plan& plan, const std::vector<View>& inputs, const Hooks& hooks) {
  Workspace workspace;
  return run_all(plan, inputs, hooks, workspace)[0];
}

}  // namespace moriejit
