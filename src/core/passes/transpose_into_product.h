// A transpose that a product reads becomes a flag of the product: nothing is moved.
//
//   %0 = transpose(x)
//   %1 = matmul(%0, y)    ->     %0 = matmul(x, y) {ta=1}
//   return %1                    return %0
//
// Must not fire in exact mode: the kernels may add up in another order.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph transpose_into_product(const Graph& graph, PassContext& context);

}  // namespace moriejit
