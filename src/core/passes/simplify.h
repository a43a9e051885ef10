// Rewrites that change no bit of any value (but one NaN may stand for another, and NA stays NA):
// a table of rules, see simplify.cpp.
//
//   %0 = mul(x, one)             %0 = transpose(x)
//   %1 = transpose(%0)    ->     return x
//   %2 = transpose(%1)
//   return %2
//
// Must not fire where the shape would be another, nor on what only looks like an identity:
// x + 0 (for -0), x * 0 (for NaN, Inf and -0), 0 - x, x - x, x / x, (x + a) + b, x / 3.
#pragma once

#include "core/passes/pass.h"
#include "core/passes/rules.h"

namespace moriejit {

Graph simplify(const Graph& graph, PassContext& context);

const std::vector<Rule>& simplify_rules();

}  // namespace moriejit
