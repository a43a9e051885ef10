// The plan of a graph: its ops in order, where each value dies, which op may write over its
// operand, and which values are born in a result's memory. It does not depend on the number of
// rows.
#pragma once

#include <memory>
#include <vector>

#include "core/graph.h"

namespace moriejit {

struct FixedPlan;
struct Plan;

struct Step {
  ValueId id;
  bool reuse = false;         // may write over its first operand, which dies here
  std::vector<ValueId> dead;  // values that nobody reads after this step
  std::vector<std::shared_ptr<const Plan>> regions;
};

struct Plan {
  Graph graph;
  std::vector<Step> steps;
  // For each node: the output in whose memory its value is made, or -1. A chain of ops that may
  // write over their operands, ending in an output, is made there from its first op on.
  std::vector<int> placed;
  // Where all shapes are fixed: what runs, unless values are observed.
  std::shared_ptr<const FixedPlan> fixed;
};

// `fixed_shapes` says that the graph only ever runs on inputs of its own shapes.
Plan make_plan(Graph graph, bool fixed_shapes = false);

}  // namespace moriejit
