// Drops what nobody reads.
//
//   %0 = exp(x)                  %0 = relu(x)
//   %1 = relu(x)          ->     return %0
//   return %1
//
// Of control flow, also what its regions make for nobody: results, states of loops, operands.
//
// Must not fire on inputs (they are the signature), nor on draws and calls of the host, which are
// effects (in a region as well), nor on what these read.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph dead_code(const Graph& graph, PassContext& context);

}  // namespace moriejit
