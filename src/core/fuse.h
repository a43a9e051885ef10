// The order in which a graph of fixed shapes runs, with runs of elementwise ops put together: their
// loops run block by block, so that what only they read never leaves the cache.
#pragma once

#include <vector>

#include "core/graph.h"

namespace moriejit {

enum class StepKind { kGroup, kOp, kHost, kControl };

struct Draft {
  StepKind kind;
  std::vector<ValueId> ids;  // the members of a group in order, or the one node
  Shape shape;               // of a group's members
};

// How an operand of a group is read: its steps from row to row and from column to column.
struct Reach {
  int64_t down;
  int64_t along;
};
Reach reach_of(Shape operand, Shape result);
// Whether its elements don't lie in the order of the result's.
bool needs_columns(Shape operand, Shape result);

// `root` says for each node which value holds its elements: another than its own where it only
// gives them another shape, or reads them from control flow; such nodes are no steps. Elementwise
// ops of one shape are put off until somebody else reads them; everything else keeps its order.
std::vector<Draft> schedule(const Graph& graph, const std::vector<int>& root);

}  // namespace moriejit
