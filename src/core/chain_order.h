// The cheapest association of a chain of n matrices, matrix k being dims[k] x dims[k + 1], where
// `dims` holds n + 1 whole numbers, finite and not negative. Costs are multiplications, counted in
// double: from 2^53 on they are rounded, and where a double ends they are Inf, never NaN.
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

// The dynamic programme: n^3 / 6 steps, 8 n^2 bytes. `poll`, unless empty, is called once every few
// columns and may throw.
ChainTable matrix_chain_table(const std::vector<double>& dims, const std::function<void()>& poll);

// Values 0 to n - 1 are the matrices; value n + p is the product of the pair `products[p]`. Both
// factors come before their product, and the last product is that of the whole chain.
struct ChainTree {
  struct Pair {
    int32_t left, right;
  };
  double cost = 0;
  std::vector<Pair> products;
};

// One best association, in n log n steps; among equals always the same, but not always the one
// that the table has. `poll`, unless empty, is called now and then and may throw.
ChainTree matrix_chain_tree(const std::vector<double>& dims,
                            const std::function<void()>& poll = {});

}  // namespace moriejit
