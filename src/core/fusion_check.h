// Decides which fused products stand: each must be right in itself, and must give, on the matrix
// that reaches it, what the ops it replaces give.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "core/graph.h"
#include "core/passes/pass.h"

namespace moriejit {

class FusionCheck {
 public:
  // `compiled` is `eager` after passes; its fused products are constants.
  FusionCheck(const Graph& eager, const Graph& compiled, std::function<void()> poll);

  // Watches an eager run. A fusion is checked as soon as the last of its ops is there, so that only
  // what flows into a run of products is held.
  void observe(ValueId id, const View& view);

  std::vector<Refusal> take_refused() { return std::move(refused_); }

 private:
  struct Fusion {
    std::vector<int> ops;
    View product;
    std::vector<View> matrices;  // that it is the product of
    Buffer in;                   // what flowed into the first
    bool refused = false;
  };

  void refuse(Fusion& fusion, const std::string& reason);
  void check_product(Fusion& fusion);
  void check_replay(Fusion& fusion, const View& eager);

  std::function<void()> poll_;
  std::vector<Fusion> fusions_;
  std::unordered_multimap<ValueId, size_t> begins_;
  std::unordered_map<ValueId, size_t> ends_;
  std::vector<Refusal> refused_;
};

// The ops of a captured graph by their index in the list.
std::unordered_map<int, ValueId> ops_by_index(const Graph& graph);

}  // namespace moriejit
