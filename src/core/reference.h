// The plain evaluator: node by node, every op by its reference evaluation, every value kept. It is
// what plans, kernels and passes are compared with.
#pragma once

#include <vector>

#include "core/hooks.h"

namespace moriejit {

// The value of every node of the graph.
std::vector<Buffer> evaluate(const Graph& graph, const std::vector<View>& inputs,
                             const Hooks& hooks);

// The absolute difference. Two NaN, or the same infinity, are equal; a NaN on one side only makes
// it infinite.
double difference(double a, double b);

// The largest difference of two matrices of one shape; 0 where they are empty.
double max_abs_diff(const View& a, const View& b);

}  // namespace moriejit
