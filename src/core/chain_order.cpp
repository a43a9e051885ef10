#include "core/chain_order.h"

#include <algorithm>
#include <limits>

#include "core/chain_polygon.h"
#include "core/error.h"

namespace moriejit {
namespace {

// Two numbers at a time, on every compiler that we build with.
using Pair = double __attribute__((vector_size(16), aligned(8), may_alias));

// The smallest of left[k] + right[k] + scale * dims[k]; `at` is the first k that gives it.
double best_cut(const double* left, const double* right, const double* dims, double scale,
                size_t count, std::vector<double>& cost, size_t* at) {
  size_t k = 0;
  Pair low = Pair{} + std::numeric_limits<double>::infinity();
  for (; k + 2 <= count; k += 2) {
    const Pair sum = *reinterpret_cast<const Pair*>(left + k) +
                     *reinterpret_cast<const Pair*>(right + k) +
                     *reinterpret_cast<const Pair*>(dims + k) * scale;
    *reinterpret_cast<Pair*>(&cost[k]) = sum;
    low = sum < low ? sum : low;
  }
  double best = std::min(low[0], low[1]);
  for (; k < count; ++k) {
    cost[k] = left[k] + right[k] + scale * dims[k];
    best = std::min(best, cost[k]);
  }
  *at = static_cast<size_t>(
      std::find(cost.begin(), cost.begin() + static_cast<std::ptrdiff_t>(count), best) -
      cost.begin());
  return best;
}

}  // namespace

// Godbole (1973), with the triangle of costs kept twice, by rows and by columns, so that the inner
// loop reads both factors' costs one after the other.
// 1. For each last matrix j, from left to right, and each first matrix i, from j - 1 down:
// 2. the candidates are the cuts k = i ... j - 1, of cost(i, k) + cost(k + 1, j) + d_i d_k+1 d_j+1.
ChainTable matrix_chain_table(const std::vector<double>& dims, const std::function<void()>& poll) {
  MORIEJIT_CHECK(dims.size() >= 2);
  const size_t n = dims.size() - 1;
  ChainTable table;
  table.split.assign(n * n, 0);
  // Row i holds cost(i, i), cost(i, i + 1), ...; rows follow one another.
  std::vector<double> by_row(n * (n + 1) / 2, 0), column(n, 0), scratch(n, 0);
  const auto row = [n](size_t i) { return i * n - i * (i + 1) / 2 + i; };  // where cost(i, i) is
  for (size_t j = 1; j < n; ++j) {
    if (poll) poll();
    column[j] = 0;  // cost(k, j) for k = j, j - 1, ...
    for (size_t i = j; i-- > 0;) {
      size_t at = 0;
      const double cost = best_cut(&by_row[row(i)], &column[i + 1], &dims[i + 1],
                                   dims[i] * dims[j + 1], j - i, scratch, &at);
      column[i] = cost;
      by_row[row(i) + (j - i)] = cost;
      table.split[i + j * n] = static_cast<int32_t>(i + at + 1);
    }
  }
  table.cost = by_row[n - 1];
  return table;
}

ChainTree matrix_chain_tree(const std::vector<double>& dims) {
  MORIEJIT_CHECK(dims.size() >= 2);
  ChainTree tree;
  const int32_t n = static_cast<int32_t>(dims.size()) - 1;
  // Diagonals of the triangulated polygon are products: (i, j) is that of matrices i to j - 1. In
  // order of their ends, those that end together from the shortest, each joins the last two values.
  std::vector<Diagonal> diagonals = best_triangulation(dims);
  diagonals.push_back({0, n});
  std::sort(diagonals.begin(), diagonals.end(), [](const Diagonal& a, const Diagonal& b) {
    return a.end != b.end ? a.end < b.end : a.begin > b.begin;
  });
  struct Open {
    int32_t value, begin;
  };
  std::vector<Open> open;
  int32_t next_matrix = 0;
  for (const Diagonal& d : diagonals) {
    if (d.end - d.begin < 2) continue;  // a chain of one matrix
    for (; next_matrix < d.end; ++next_matrix) open.push_back({next_matrix, next_matrix});
    MORIEJIT_CHECK(open.size() >= 2);
    const Open right = open.back();
    open.pop_back();
    const Open left = open.back();
    MORIEJIT_CHECK(left.begin == d.begin);
    tree.products.push_back({left.value, right.value});
    const auto dim = [&dims](int32_t i) { return dims[static_cast<size_t>(i)]; };
    tree.cost += dim(d.begin) * dim(right.begin) * dim(d.end);
    open.back().value = n + static_cast<int32_t>(tree.products.size()) - 1;
  }
  MORIEJIT_CHECK(static_cast<int32_t>(tree.products.size()) == n - 1);
  return tree;
}

}  // namespace moriejit
