// The cheapest association of a chain of n matrices, matrix k being dims[k] x dims[k + 1]. Costs
// are multiplications, counted in double.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace moriejit {

// `split` is n x n, column by column, 1-based: for i < j, split[i, j] is the last matrix of the
// left factor in the best product of matrices i to j, the smallest where several are best; else 0.
struct ChainTable {
  double cost = 0;
  std::vector<int32_t> split;
};

// The dynamic programme: n^3 / 6 steps, 12 n^2 bytes. `poll` is called once a column.
ChainTable matrix_chain_table(const std::vector<double>& dims, const std::function<void()>& poll);

// Values 0 to n - 1 are the matrices; value n + p is the product of the pair `products[p]`. The
// last product is that of the whole chain.
struct ChainTree {
  struct Pair {
    int32_t left, right;
  };
  double cost = 0;
  std::vector<Pair> products;
};

// One best association, in n log^2 n steps; among equals, any.
ChainTree matrix_chain_tree(const std::vector<double>& dims);

}  // namespace moriejit
