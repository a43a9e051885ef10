// What dead_code does to a node of control flow: results that nobody reads are no longer made,
// states of a loop that only make themselves are no longer kept, operands that no region reads any
// more are no longer taken.
#pragma once

#include <vector>

#include "core/graph.h"

namespace moriejit {

struct PrunedControl {
  Node node;               // over the operands that are left, by their old ids
  std::vector<int> place;  // for each result of before: which one it is now; -1: none
};

// `read` says which results of the node are read.
PrunedControl prune_control(Node node, std::vector<bool> read);

}  // namespace moriejit
