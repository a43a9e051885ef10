// What a legal graph is. Run after capture, after every pass and after parsing.
#pragma once

#include <string>
#include <vector>

#include "core/graph.h"

namespace moriejit {

// Throws an internal error that names the first node and the rule it breaks.
void verify(const Graph& graph);

std::vector<Shape> output_shapes(const Graph& graph);

// What is wrong with the regions of a node of control flow: nothing, or the rule that they break.
// Regions are graphs by themselves that take the node's operands (an `if` keeps its condition).
std::string wrong_regions(const Graph& graph, const Node& node);

}  // namespace moriejit
