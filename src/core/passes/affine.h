// Runs of products with constants, shifts and scales become one product and one shift, whose
// constants fold_constants then evaluates; x may also stand on the right of its matrices.
//
//   %0 = matmul(x, w1)           %0 = matmul(b1, w2)
//   %1 = add(%0, b1)             %1 = matmul(w1, w2)
//   %2 = matmul(%1, w2)   ->     %2 = matmul(x, %1)
//   return %2                    %3 = add(%2, %0)
//                                return %3
//
// Must not fire in exact mode, where a value in between has another reader or is an output, where
// running does not get cheaper (a bottleneck), where the constants would grow beyond the context's
// limits or evaluating them costs more than many runs win, on scales along the rows (a factor for
// each row of x %*% w), on constants that are not finite or whose product might overflow, nor
// without a product.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph affine(const Graph& graph, PassContext& context);

}  // namespace moriejit
