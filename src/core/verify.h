// What a legal graph is. Run after capture, after every pass and after parsing.
#pragma once

#include "core/graph.h"

namespace moriejit {

// Throws an internal error that names the first node and the rule it breaks.
void verify(const Graph& graph);

}  // namespace moriejit
