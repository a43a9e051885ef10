// Reverse-mode derivatives, graph to graph: it only asks each op for its rule.
#pragma once

#include <vector>

#include "core/graph.h"

namespace moriejit {

// The vector-Jacobian product of a graph of one output. The new graph has the old one's inputs and,
// unless `ones` asks for a vector of ones, a further input `grad_output` in the shape of the
// output; its outputs are the old output, then the gradient of each value in `wrt`, in order.
Graph vjp_graph(const Graph& graph, const std::vector<ValueId>& wrt, bool ones);

// The same of a region of control flow: its inputs, then the gradients of the `given` outputs, give
// the gradients of the `wanted` inputs.
Graph region_vjp(const Graph& region, const std::vector<size_t>& wanted,
                 const std::vector<size_t>& given);

// Which outputs of a region these inputs can change.
std::vector<bool> outputs_reached(const Graph& region, const std::vector<size_t>& inputs);

}  // namespace moriejit
