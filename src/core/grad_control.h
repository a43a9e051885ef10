// Derivatives of control flow. Nothing is kept from the forward run: a branch is run again inside
// the region that takes it back; a loop's states are made again from the start for each of its
// turns, from the last to the first, which takes time by the square of their number.
#pragma once

#include <vector>

#include "core/graph.h"

namespace moriejit {

// A node of control flow on the way back: `dy` has the gradient of each of its values (kNoValue:
// none), `reached` says for each operand whether its gradient is asked for. Gives these (kNoValue:
// none), as nodes added to the builder.
std::vector<ValueId> control_vjp(Builder& builder, const Node& node, const std::vector<ValueId>& dy,
                                 const std::vector<bool>& reached);

}  // namespace moriejit
