// Re-associates chains of products with constants, so that the constants are multiplied first, in
// the cheapest order (fold_constants then evaluates them).
//
//   %0 = matmul(x, w0)                 %0 = matmul(w0, w1)
//   %1 = matmul(%0, w1)         ->     %1 = matmul(x, %0)
//   return %1                          return %1
//
// In mode max-autotune a chain is cut where keeping its matrices apart takes fewer multiplications
// for the traced number of rows: the shortest path over the chain's cut points.
//
// Must not fire where a product in between has another reader or is an output, where an operand is
// transposed or not constant, on ops that the context keeps apart, nor where the product would hold
// more elements than the context's limit.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph linear_chain(const Graph& graph, PassContext& context);

}  // namespace moriejit
