// Hu and Shing's algorithm for the cheapest association of a chain of matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace moriejit {

// For each matrix of the chain, how many products end with it; together these counts say which
// association it is. `dims` and `poll` are as in matrix_chain_tree().
std::vector<int32_t> hu_shing_closings(const std::vector<double>& dims,
                                       const std::function<void()>& poll);

}  // namespace moriejit
