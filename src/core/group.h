// Makes a group of elementwise ops ready to run: which of its values need memory of their full
// size, and which a block of it.
#pragma once

#include <vector>

#include "core/fixed_plan.h"
#include "core/memory.h"

namespace moriejit {

Group make_group(const Graph& graph, const std::vector<int>& root, const Draft& draft, int step,
                 Memory& memory);

}  // namespace moriejit
