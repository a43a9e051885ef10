// Recognises activations in the formulas that people write for them, and takes the stable form.
//
//   %0 = neg(x)
//   %1 = exp(%0)
//   %2 = add(one, %1)            %0 = sigmoid(x)
//   %3 = div(one, %2)     ->     return %0
//   return %3
//
// The result is at least as accurate: where exp(x) overflows or 1 + exp(x) loses it, the formula
// gives NaN, Inf or 0 and the stable form the number that it means. NaN stays NaN.
//
// Must not fire in exact mode.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph activations(const Graph& graph, PassContext& context);

}  // namespace moriejit
