#include "core/plan_text.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/fixed_plan.h"
#include "core/text.h"

namespace moriejit {
namespace {

// The bodies of groups, each kept once.
class Bodies {
 public:
  std::string name_of(const std::string& body) {
    auto at = std::find(bodies_.begin(), bodies_.end(), body);
    if (at == bodies_.end()) at = bodies_.insert(bodies_.end(), body);
    return "fused_" + std::to_string(at - bodies_.begin() + 1);
  }

  std::string text() const {
    std::string text;
    for (size_t i = 0; i < bodies_.size(); ++i) {
      text += "fused_" + std::to_string(i + 1) + bodies_[i] + "\n";
    }
    return text;
  }

 private:
  std::vector<std::string> bodies_;
};

std::string comma(const std::string& text) {
  return text.empty() ? "" : ", ";
}

// a, b, ..., z, a2, b2, ...
std::string letter(size_t i) {
  const std::string name(1, static_cast<char>('a' + i % 26));
  return i < 26 ? name : name + std::to_string(i / 26 + 1);
}

class PlanText {
 public:
  PlanText(const FixedPlan& plan, Bodies& bodies, const std::string& indent)
      : plan_(plan),
        graph_(*plan.graph),
        bodies_(bodies),
        indent_(indent),
        names_(value_names(graph_)),
        printed_(graph_.nodes.size(), false) {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const int root = plan.root[static_cast<size_t>(id)];
      if (root != id) aliases_[root].push_back(id);
    }
  }

  std::string text() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).kind != NodeKind::kOp) add_aliases(id);
    }
    for (const FixedStep& step : plan_.steps) add_step(step);
    const std::string outputs = join(graph_.outputs);
    std::string inputs, constants;
    for (ValueId id : graph_.inputs) {
      inputs += comma(inputs) + name(id) + ": " + type_text(graph_.node(id).shape);
    }
    for (ValueId id : plan_.constants) {
      if (!printed_[static_cast<size_t>(id)]) continue;  // in the bodies of groups only
      const Node& node = graph_.node(id);
      constants +=
          line() + "const " + name(id) + ": " + type_text(node.shape) + values_text(node) + "\n";
    }
    return indent_ + "fn(" + inputs + ") {\n" + constants + body_ + line() + "return" +
           (outputs.empty() ? "" : " ") + outputs + "\n" + indent_ + "}\n";
  }

 private:
  std::string line() const { return indent_ + "  "; }

  const std::string& name(ValueId id) {
    printed_[static_cast<size_t>(id)] = true;
    return names_[static_cast<size_t>(id)];
  }

  std::string join(const std::vector<ValueId>& ids) {
    std::string text;
    for (ValueId id : ids) text += comma(text) + name(id);
    return text;
  }

  // Numbered in the order in which they run.
  std::string new_name(ValueId id) {
    return names_[static_cast<size_t>(id)] = "%" + std::to_string(count_++);
  }

  // Nodes that only give a value another shape, or read it from control flow, are no steps.
  void add_aliases(int root) {
    const auto at = aliases_.find(root);
    if (at == aliases_.end()) return;
    for (ValueId id : at->second) add_node(id, type_text(graph_.node(id).shape));
  }

  void add_node(ValueId id, const std::string& type) {
    const Node& node = graph_.node(id);
    const std::string args = join(node.args);
    body_ += line() + new_name(id) + " = " + node.op->name + "(" + args + ")" + attrs_text(node) +
             " : " + type + "\n";
  }

  void add_step(const FixedStep& step) {
    if (step.kind == StepKind::kGroup) {
      add_group(step.group);
    } else if (step.kind == StepKind::kControl) {
      add_control(step);
    } else {
      add_node(step.id, type_text(graph_.node(step.id).shape));
      add_aliases(step.id);
    }
  }

  void add_control(const FixedStep& step) {
    std::string types;
    for (ValueId id : step.control.second->graph->outputs) {
      types += comma(types) + type_text(step.control.second->graph->node(id).shape);
    }
    add_node(step.id,
             "(" + types + ") [\n" + PlanText(*step.control.first, bodies_, line() + "  ").text() +
                 PlanText(*step.control.second, bodies_, line() + "  ").text() + line() + "]");
    for (const int value : step.control.results) add_aliases(value);
  }

  void add_group(const Group& group) {
    if (group.members.size() == 1) {
      add_node(group.members[0].out, type_text(graph_.node(group.members[0].out).shape));
      add_aliases(group.members[0].out);
      return;
    }
    std::vector<ValueId> outs;
    for (const GroupMember& member : group.members) {
      if (member.full) outs.push_back(member.out);
    }
    std::vector<ValueId> operands;
    const std::string called = bodies_.name_of(group_body(group, &operands));
    const std::string args = join(operands);
    std::string results;
    for (ValueId id : outs) results += comma(results) + new_name(id);
    body_ += line() + results + (outs.empty() ? "" : " = ") + called + "(" + args +
             ") : " + type_text(graph_.node(group.members[0].out).shape) + "\n";
    for (ValueId id : outs) add_aliases(id);
  }

  // Gives the values that it reads as well, in the order of its parameters.
  std::string group_body(const Group& group, std::vector<ValueId>* operands) const {
    std::unordered_map<ValueId, std::string> local;
    std::string body, parameters, results;
    for (const GroupMember& member : group.members) {
      const Node& node = graph_.node(member.out);
      std::string args;
      for (ValueId arg : node.args) {
        if (local.count(arg) == 0) local[arg] = operand_name(arg, operands, &parameters);
        args += comma(args) + local[arg];
      }
      local[member.out] = "%" + std::to_string(&member - group.members.data());
      if (member.full) results += comma(results) + local[member.out];
      body +=
          local[member.out] + " = " + node.op->name + "(" + args + ")" + attrs_text(node) + "; ";
    }
    return "(" + parameters + "): " + body + "return " + results;
  }

  // A number stands for itself.
  std::string operand_name(ValueId id, std::vector<ValueId>* operands,
                           std::string* parameters) const {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::kConstant && node.shape.size() == 1 && node.data != nullptr) {
      return number_text(node.data.get()[0]);
    }
    const std::string name = letter(operands->size());
    *parameters += comma(*parameters) + name;
    operands->push_back(id);
    return name;
  }

  const FixedPlan& plan_;
  const Graph& graph_;
  Bodies& bodies_;
  const std::string indent_;
  std::vector<std::string> names_;
  std::vector<bool> printed_;
  std::unordered_map<int, std::vector<ValueId>> aliases_;  // by the value that they show
  std::string body_;
  int count_ = 0;
};

}  // namespace

std::string describe_plan(const Plan& plan) {
  if (plan.fixed == nullptr) return to_text(plan.graph);
  Bodies bodies;
  const std::string text = PlanText(*plan.fixed, bodies, "").text();
  return text + bodies.text();
}

}  // namespace moriejit
