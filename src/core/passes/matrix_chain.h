// Multiplies products of several matrices in the cheapest order, also under transposes.
//
//   %0 = matmul(a, b)            %0 = matmul(b, v)
//   %1 = matmul(%0, v)    ->     %1 = matmul(a, %0)
//   return %1                    return %1
//
// Must not fire in exact mode (other sums round otherwise), where a product in between has another
// reader or is an output, nor where the order is as cheap as any.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph matrix_chain(const Graph& graph, PassContext& context);

}  // namespace moriejit
