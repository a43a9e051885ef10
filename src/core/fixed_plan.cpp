#include "core/fixed_plan.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/frame.h"
#include "core/group.h"
#include "core/memory.h"

namespace moriejit {
namespace {

// Plans of regions by what of them may be written over: branches may stand deep in each other, so
// none is planned twice.
class Planner {
 public:
  std::shared_ptr<const FixedPlan> plan(const std::shared_ptr<const Graph>& graph,
                                        std::vector<int> home);

 private:
  std::map<std::pair<const Graph*, std::vector<int>>, std::shared_ptr<const FixedPlan>> known_;
};

// The input in whose memory an output could be made, each op writing over its first operand; -1.
int input_under(const Graph& graph, ValueId id) {
  for (;;) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::kInput) {
      const auto at = std::find(graph.inputs.begin(), graph.inputs.end(), id);
      return static_cast<int>(at - graph.inputs.begin());
    }
    if (node.kind != NodeKind::kOp) return -1;
    if (node.op->projects) {
      const Node& control = graph.node(node.args[0]);
      int operand = static_cast<int>(node.attrs[0]);
      if (control.op->name == "if") {
        const Graph& branch = *control.regions[0];
        operand = input_under(branch, branch.outputs[static_cast<size_t>(operand)]) + 1;
        if (operand == 0) return -1;
      }
      id = control.args[static_cast<size_t>(operand)];
      continue;
    }
    if (node.op->runs_regions || !(node.op->in_place || node.op->renames)) return -1;
    id = node.args[0];
  }
}

class Layout {
 public:
  Layout(Planner& planner, std::shared_ptr<const Graph> graph, std::vector<int> home)
      : planner_(planner),
        graph_(*graph),
        plan_(std::make_shared<FixedPlan>()),
        wanted_(std::move(home)) {
    plan_->graph = std::move(graph);
    number_values();
  }

  std::shared_ptr<FixedPlan> make() {
    const std::vector<Draft> drafts = schedule(graph_, plan_->root);
    memory_ = Memory(plan_->values, static_cast<int>(drafts.size()));
    find_lives(drafts);
    for (size_t k = 0; k < wanted_.size(); ++k) {
      if (wanted_[k] >= 0) memory_.place_in_input(graph_.inputs[k], k);
    }
    for (const Draft& draft : drafts) add(draft);
    place_outputs();
    finish();
    return plan_;
  }

 private:
  int root(ValueId id) const { return plan_->root[static_cast<size_t>(id)]; }

  void number_values() {
    int next = graph_.size();
    std::vector<int> first(graph_.nodes.size(), -1);  // of what control flow gives
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      int value = id;
      if (node.kind == NodeKind::kOp && node.op->runs_regions) {
        first[static_cast<size_t>(id)] = next;
        next += static_cast<int>(node.regions.back()->outputs.size());
      } else if (node.kind == NodeKind::kOp && node.op->projects) {
        value = first[static_cast<size_t>(node.args[0])] + static_cast<int>(node.attrs[0]);
      } else if (node.kind == NodeKind::kOp && node.op->renames) {
        value = root(node.args[0]);
      }
      plan_->root.push_back(value);
      if (node.kind == NodeKind::kConstant) plan_->constants.push_back(id);
    }
    tuples_ = std::move(first);
    plan_->values = static_cast<size_t>(next);
  }

  void find_lives(const std::vector<Draft>& drafts) {
    for (size_t s = 0; s < drafts.size(); ++s) {
      for (ValueId id : drafts[s].ids) {
        for (ValueId arg : graph_.node(id).args) memory_.read(root(arg), static_cast<int>(s));
      }
    }
    for (ValueId id : graph_.outputs) memory_.read_forever(root(id));
  }

  void add(const Draft& draft) {
    const auto s = static_cast<int>(plan_->steps.size());
    FixedStep step{};
    step.kind = draft.kind;
    step.id = draft.ids.back();
    step.shape = draft.shape;
    for (ValueId id : draft.ids) step.cost += cost_of(graph_.node(id));
    const Node& node = graph_.node(step.id);
    if (draft.kind == StepKind::kGroup) {
      step.group = make_group(graph_, plan_->root, draft, s, memory_);
    } else if (draft.kind == StepKind::kControl) {
      step.control = make_control(node, s);
    } else {
      add_op(step, node, s);
    }
    plan_->steps.push_back(std::move(step));
  }

  double cost_of(const Node& node) const {
    std::vector<Shape> shapes;
    for (ValueId arg : node.args) shapes.push_back(graph_.node(arg).shape);
    return node.op->cost(shapes, node.shape);
  }

  std::vector<int> roots(const std::vector<ValueId>& args) const {
    std::vector<int> values;
    for (ValueId arg : args) values.push_back(root(arg));
    return values;
  }

  void add_op(FixedStep& step, const Node& node, int s) {
    step.op = node.op;
    step.attrs = node.attrs.data();
    step.operands = roots(node.args);
    step.views = plan_->view_shapes.size();
    for (ValueId arg : node.args) plan_->view_shapes.push_back(graph_.node(arg).shape);
    if (step.kind == StepKind::kHost) return;
    if (node.op->in_place && graph_.node(node.args[0]).shape.size() == node.shape.size() &&
        (count(step.operands, step.operands[0]) == 1) && memory_.dies(step.operands[0], s)) {
      memory_.take(step.id, step.operands[0], s);
    } else {
      memory_.make(step.id, node.shape.size(), s);
    }
  }

  static int64_t count(const std::vector<int>& values, int value) {
    return std::count(values.begin(), values.end(), value);
  }

  ControlCall make_control(const Node& node, int s) {
    ControlCall call;
    call.operands = roots(node.args);
    const int first = tuples_[static_cast<size_t>(&node - graph_.nodes.data())];
    const Graph& last = *node.regions.back();
    for (size_t k = 0; k < last.outputs.size(); ++k) {
      call.results.push_back(first + static_cast<int>(k));
      call.sizes.push_back(last.node(last.outputs[k]).shape.size());
    }
    call.branch = node.op->name == "if";
    if (call.branch) {
      plan_branches(call, node, s);
    } else {
      plan_loop(call, node, s);
    }
    return call;
  }

  // Whether a node of control flow may give its operand's memory to one of its results.
  bool may_give(const ControlCall& call, size_t operand, int s) const {
    const int value = call.operands[operand];
    return memory_.dies(value, s) && count(call.operands, value) == 1;
  }

  void plan_branches(ControlCall& call, const Node& node, int s) {
    const Graph &yes = *node.regions[0], &no = *node.regions[1];
    std::vector<int> home(yes.inputs.size(), -1);
    for (size_t k = 0; k < yes.outputs.size(); ++k) {
      const int input = input_under(yes, yes.outputs[k]);
      if (input < 0 || input != input_under(no, no.outputs[k])) continue;
      const auto at = static_cast<size_t>(input);
      const bool fits = yes.node(yes.inputs[at]).shape.size() == call.sizes[k];
      if (home[at] < 0 && fits && may_give(call, at + 1, s)) home[at] = static_cast<int>(k);
    }
    for (;;) {
      call.first = planner_.plan(node.regions[0], home);
      call.second = planner_.plan(node.regions[1], call.first->home);
      if (call.second->home == call.first->home) break;
      home = call.second->home;
    }
    std::vector<int> operand(call.results.size(), -1);
    for (size_t i = 0; i < home.size(); ++i) {
      const int k = call.first->home[i];
      if (k >= 0) operand[static_cast<size_t>(k)] = call.operands[i + 1];
    }
    for (size_t k = 0; k < call.results.size(); ++k) {
      if (operand[k] >= 0) {
        memory_.take(call.results[k], operand[k], s);
      } else {
        memory_.make(call.results[k], call.sizes[k], s);
      }
    }
  }

  void plan_loop(ControlCall& call, const Node& node, int s) {
    std::vector<int> home(node.args.size(), -1);
    for (size_t k = 0; k < call.results.size(); ++k) home[k] = static_cast<int>(k);
    call.first = planner_.plan(node.regions[0], std::vector<int>(node.args.size(), -1));
    call.second = planner_.plan(node.regions[1], home);
    for (size_t k = 0; k < call.results.size(); ++k) {
      const bool stays = call.second->home[k] >= 0;
      if (stays && may_give(call, k, s)) {
        memory_.take(call.results[k], call.operands[k], s);
      } else {
        memory_.make(call.results[k], call.sizes[k], s);
      }
      call.spare.push_back(stays ? -1 : static_cast<int>(plan_->values++));
      if (!stays) memory_.make(call.spare.back(), call.sizes[k], s);
    }
  }

  void place_outputs() {
    plan_->home.assign(graph_.inputs.size(), -1);
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      const int value = root(graph_.outputs[k]);
      const int input = memory_.input_of(value);
      if (input >= 0 && wanted_[static_cast<size_t>(input)] == static_cast<int>(k)) {
        plan_->home[static_cast<size_t>(input)] = static_cast<int>(k);
      } else if (!memory_.place_in_result(value, k)) {
        plan_->copies.emplace_back(value, k);
      }
    }
  }

  void finish() {
    for (size_t k = 0; k < graph_.inputs.size(); ++k) {
      plan_->in_input.emplace_back(graph_.inputs[k], k);
    }
    memory_.lay_out(*plan_);
  }

  Planner& planner_;
  const Graph& graph_;
  std::shared_ptr<FixedPlan> plan_;
  std::vector<int> wanted_;
  std::vector<int> tuples_;
  Memory memory_;
};

// What can't be done in place the first time is not tried again.
std::shared_ptr<const FixedPlan> Planner::plan(const std::shared_ptr<const Graph>& graph,
                                               std::vector<int> home) {
  for (;;) {
    auto& known = known_[{graph.get(), home}];
    if (known == nullptr) known = Layout(*this, graph, home).make();
    if (known->home == home) return known;
    home = known->home;
  }
}

}  // namespace

FixedPlan::FixedPlan() = default;
FixedPlan::~FixedPlan() = default;

std::shared_ptr<const FixedPlan> make_fixed_plan(std::shared_ptr<const Graph> graph) {
  std::vector<int> home(graph->inputs.size(), -1);
  return Planner().plan(graph, std::move(home));
}

}  // namespace moriejit
