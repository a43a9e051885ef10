#include "core/group.h"

#include <algorithm>
#include <unordered_map>

namespace moriejit {
namespace {

class GroupMaker {
 public:
  GroupMaker(const Graph& graph, const std::vector<int>& root, const Draft& draft, int step,
             Memory& memory)
      : graph_(graph), root_(root), draft_(draft), step_(step), memory_(memory) {
    find_uses();
  }

  Group make() {
    const bool columns = by_columns();
    group_.shape = columns ? draft_.shape : Shape{draft_.shape.size(), 1};
    const bool alone = draft_.ids.size() == 1 && is_full(draft_.ids[0]);
    group_.block = std::min(alone ? draft_.shape.size() : kFuseBlock, draft_.shape.size());
    for (size_t i = 0; i < draft_.ids.size(); ++i) add(i);
    return std::move(group_);
  }

 private:
  // How the members read a value.
  struct Use {
    size_t last;      // member
    bool everywhere;  // element by element, in the result's shape
  };

  void find_uses() {
    for (size_t i = 0; i < draft_.ids.size(); ++i) {
      for (ValueId arg : graph_.node(draft_.ids[i]).args) {
        const int value = root_[static_cast<size_t>(arg)];
        const bool whole = graph_.node(arg).shape == draft_.shape;
        const auto at = uses_.emplace(value, Use{i, whole});
        if (at.second) order_.push_back(value);
        at.first->second = {i, at.first->second.everywhere && whole};
      }
    }
  }

  bool by_columns() const {
    return std::any_of(draft_.ids.begin(), draft_.ids.end(), [this](ValueId id) {
      const std::vector<ValueId>& args = graph_.node(id).args;
      return std::any_of(args.begin(), args.end(), [this](ValueId arg) {
        return needs_columns(graph_.node(arg).shape, draft_.shape);
      });
    });
  }

  // Read by others than the group.
  bool is_full(int value) const { return memory_.last_reader(value) > step_; }
  bool is_read_after(int value, size_t member) const {
    const auto at = uses_.find(value);
    return at != uses_.end() && at->second.last > member;
  }

  Reach own_reach(int value) const {
    return is_full(value) ? Reach{1, draft_.shape.rows} : Reach{0, 0};
  }

  void add(size_t i) {
    const ValueId id = draft_.ids[i];
    const Node& node = graph_.node(id);
    place(id, i);
    group_.members.push_back({node.op->loop, id, is_full(id), own_reach(id), group_.operands.size(),
                              node.args.size(), group_.attrs.size()});
    group_.attrs.insert(group_.attrs.end(), node.attrs.begin(), node.attrs.end());
    for (ValueId arg : node.args) {
      const int value = root_[static_cast<size_t>(arg)];
      const Reach reach = reach_of(graph_.node(arg).shape, draft_.shape);
      const bool own = std::find(members_.begin(), members_.end(), value) != members_.end();
      group_.operands.push_back({value, own ? own_reach(value) : linear(arg, reach)});
      group_.steps.push_back(
          own || graph_.node(arg).shape == draft_.shape ? 1 : static_cast<int>(reach.down));
    }
    members_.push_back(id);
  }

  // Of one element nothing moves.
  Reach linear(ValueId arg, Reach reach) const {
    return graph_.node(arg).shape.size() == 1 && draft_.shape.size() != 1 ? Reach{0, 0} : reach;
  }

  void place(ValueId id, size_t i) {
    const int from = is_full(id) ? operand_to_overwrite(i) : block_to_overwrite(i);
    if (from >= 0) {
      memory_.take(id, from, step_);
    } else {
      memory_.make(id, is_full(id) ? draft_.shape.size() : group_.block, step_);
    }
  }

  // A state of a loop comes first: it may go on living in its place.
  int operand_to_overwrite(size_t i) const {
    int found = -1;
    for (const int value : order_) {
      const Use& use = uses_.at(value);
      if (!use.everywhere || use.last > i || !memory_.dies(value, step_)) continue;
      if (std::find(members_.begin(), members_.end(), value) != members_.end()) continue;
      if (memory_.input_of(value) >= 0) return value;
      if (found < 0) found = value;
    }
    return found;
  }

  int block_to_overwrite(size_t i) const {
    for (const int value : members_) {
      if (!is_full(value) && !is_read_after(value, i) && memory_.owns(value)) return value;
    }
    return -1;
  }

  const Graph& graph_;
  const std::vector<int>& root_;
  const Draft& draft_;
  const int step_;
  Memory& memory_;
  Group group_;
  std::unordered_map<int, Use> uses_;
  std::vector<int> order_;    // the values of uses_, as they come
  std::vector<int> members_;  // so far
};

}  // namespace

Group make_group(const Graph& graph, const std::vector<int>& root, const Draft& draft, int step,
                 Memory& memory) {
  return GroupMaker(graph, root, draft, step, memory).make();
}

}  // namespace moriejit
