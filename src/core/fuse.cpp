#include "core/fuse.h"

#include <algorithm>

#include "core/op.h"

namespace moriejit {
namespace {

constexpr size_t kMostMembers = 64;
constexpr size_t kMostOpen = 8;
// Below so many rows, going column by column costs more than fusion gains.
constexpr int64_t kFewRows = 32;

bool can_fuse(const Graph& graph, const Node& node) {
  if (node.op->loop == nullptr || node.args.size() > kMostLoopOperands) return false;
  return node.shape.rows >= kFewRows ||
         std::none_of(node.args.begin(), node.args.end(), [&](ValueId arg) {
           return needs_columns(graph.node(arg).shape, node.shape);
         });
}

StepKind kind_of(const Op& op) {
  if (op.runs_regions) return StepKind::kControl;
  return op.calls_host ? StepKind::kHost : StepKind::kOp;
}

// No open group reads what another open one makes, so they can be closed in any order.
class Scheduler {
 public:
  Scheduler(const Graph& graph, const std::vector<int>& root)
      : graph_(graph), root_(root), group_(graph.nodes.size(), -1) {}

  void visit(ValueId id) {
    const Node& node = graph_.node(id);
    const bool fuses = can_fuse(graph_, node);
    for (ValueId arg : node.args) {
      const int at = open_group_of(arg);
      if (at < 0) continue;
      // A group's own values are read element by element, under their own shape.
      const Shape shape = open_[static_cast<size_t>(at)].draft.shape;
      const bool own = fuses && root_[static_cast<size_t>(arg)] == arg && shape == node.shape;
      if (!own) close(static_cast<size_t>(at));
    }
    if (fuses) {
      join(id, node.shape);
    } else {
      drafts_.push_back({kind_of(*node.op), {id}, node.shape});
    }
  }

  std::vector<Draft> finish() {
    while (!open_.empty()) close(0);
    return std::move(drafts_);
  }

 private:
  struct Open {
    int number;
    Draft draft;
  };

  int open_group_of(ValueId arg) const {
    const auto root = static_cast<size_t>(root_[static_cast<size_t>(arg)]);
    if (root >= group_.size() || group_[root] < 0) return -1;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].number == group_[root]) return static_cast<int>(i);
    }
    return -1;
  }

  void close(size_t at) {
    drafts_.push_back(std::move(open_[at].draft));
    open_.erase(open_.begin() + static_cast<int64_t>(at));
  }

  void join(ValueId id, Shape shape) {
    const auto same = [shape](const Open& open) { return open.draft.shape == shape; };
    auto at = std::find_if(open_.begin(), open_.end(), same);
    if (at != open_.end() && at->draft.ids.size() >= kMostMembers) {
      close(static_cast<size_t>(at - open_.begin()));
      at = open_.end();
    }
    if (at == open_.end()) {
      if (open_.size() >= kMostOpen) close(0);
      open_.push_back({next_++, {StepKind::kGroup, {}, shape}});
      at = open_.end() - 1;
    }
    at->draft.ids.push_back(id);
    group_[static_cast<size_t>(id)] = at->number;
  }

  const Graph& graph_;
  const std::vector<int>& root_;
  std::vector<int> group_;  // for each node, the number of its group
  std::vector<Open> open_;
  std::vector<Draft> drafts_;
  int next_ = 0;
};

}  // namespace

Reach reach_of(Shape operand, Shape result) {
  if (operand == result) return {1, result.rows};
  return {operand.rows == 1 ? 0 : 1, operand.cols == 1 ? 0 : operand.rows};
}

bool needs_columns(Shape operand, Shape result) {
  return operand != result && operand.size() != 1;
}

std::vector<Draft> schedule(const Graph& graph, const std::vector<int>& root) {
  Scheduler scheduler(graph, root);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const bool step = graph.node(id).kind == NodeKind::kOp && root[static_cast<size_t>(id)] == id;
    if (step) scheduler.visit(id);
  }
  return scheduler.finish();
}

}  // namespace moriejit
