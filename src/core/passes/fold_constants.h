// Evaluates ops all of whose operands are constants, with the kernels that would run them.
//
//   const a: f64[1,2] = [2, 3]
//   const b: f64[2,1] = [5, 7]         ->   const a_b: f64[1,1] = [31]
//   %0 = matmul(a, b) : f64[1,1]
//
// Must not fire on draws and calls of the host, on constants whose values the text left out, nor
// where the result would hold more elements than the context's limits, nor where evaluating is an
// error (a singular matrix, a subscript out of bounds): that is for the run to throw.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph fold_constants(const Graph& graph, PassContext& context);

}  // namespace moriejit
