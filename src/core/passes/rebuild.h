// The bookkeeping that passes share: walks an old graph, makes a new one, and knows which new value
// stands for which old one.
#pragma once

#include "core/graph.h"

namespace moriejit {

class Rebuild {
 public:
  explicit Rebuild(const Graph& old) : old_(old), renamed_(old.nodes.size(), kNoValue) {}

  Builder& builder() { return builder_; }
  const Graph& graph() const { return builder_.graph(); }
  ValueId value(ValueId id) const { return renamed_[static_cast<size_t>(id)]; }

  // The old node, over new operands.
  Node renamed(ValueId id) const {
    Node node = old_.node(id);
    for (ValueId& arg : node.args) arg = value(arg);
    return node;
  }

  void keep(ValueId id) { replace(id, builder_.copy(renamed(id))); }
  void replace(ValueId id, ValueId by) { renamed_[static_cast<size_t>(id)] = by; }

  // Outputs are what stands for the old ones.
  Graph finish() {
    for (ValueId id : old_.outputs) builder_.output(value(id));
    return builder_.take();
  }

 private:
  const Graph& old_;
  Builder builder_;
  std::vector<ValueId> renamed_;
};

}  // namespace moriejit
