#include "core/chain_order.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/chain_hu_shing.h"
#include "core/error.h"

namespace moriejit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The cost of one product. A factor of zero wins over any overflow: Inf * 0 would be NaN.
double cost_of(double outer, double inner) {
  return inner == 0 ? 0 : outer * inner;
}

struct Cut {
  double cost;
  size_t at;
};

// What the costs of the cuts of one sub-chain are made of: left[k] + right[k] + outer * dims[k].
struct Cuts {
  const double* left;
  const double* right;
  const double* dims;
  double outer;

  double cost(size_t k) const { return left[k] + right[k] + cost_of(outer, dims[k]); }
};

// Betters `best` by the cuts `begin` to `end`; a tie leaves it alone.
void scan(const Cuts& cuts, size_t begin, size_t end, Cut* best) {
  for (size_t k = begin; k < end; ++k) {
    const double cost = cuts.cost(k);
    if (cost < best->cost) *best = {cost, k};
  }
}

constexpr size_t kBlock = 32;   // cuts that are compared before their least is looked at
constexpr size_t kColumns = 8;  // columns of costs that the cache holds with a row

// Two numbers at a time, in the vector types of GCC and Clang, which R is built with everywhere.
using Two = double __attribute__((vector_size(16)));

Two load(const double* at) {
  Two two;
  std::memcpy(&two, at, sizeof two);
  return two;
}

Two smaller(Two a, Two b) {
  return a < b ? a : b;
}

// The least cost of kBlock cuts; `outer` is finite, so nothing can be NaN.
double least(const Cuts& cuts, size_t begin) {
  const auto cost = [&cuts](size_t k) {
    return load(cuts.left + k) + load(cuts.right + k) + load(cuts.dims + k) * cuts.outer;
  };
  Two even = cost(begin), odd = cost(begin + 2);
  for (size_t k = begin + 4; k < begin + kBlock; k += 4) {
    even = smaller(cost(k), even);
    odd = smaller(cost(k + 2), odd);
  }
  const Two both = smaller(even, odd);
  return std::min(both[0], both[1]);
}

// The cheapest of `count` cuts, the first of equals. Only in the first block that has the least
// cost is it looked up where.
Cut best_cut(const Cuts& cuts, size_t count) {
  Cut best = {kInf, 0};
  if (count < kBlock || !(cuts.outer < kInf)) {
    scan(cuts, 0, count, &best);
    return best;
  }
  for (size_t begin = 0; begin < count; begin += kBlock) {
    // The last block overlaps the one before; what both have cannot be less again.
    const size_t at = std::min(begin, count - kBlock);
    const double cost = least(cuts, at);
    if (cost < best.cost) best = {cost, at};
  }
  const size_t block = best.at;
  best = {kInf, block};
  scan(cuts, block, block + kBlock, &best);
  return best;
}

// Matrix j's push and then closings[j] times "multiply the last two values" is the chain's product,
// as in any expression without its brackets.
ChainTree tree_of(const std::vector<double>& dims, const std::vector<int32_t>& closings) {
  struct Open {
    int32_t value;
    double begin, cost;  // the first matrix's rows; what the value costs
  };
  const size_t n = closings.size();
  ChainTree tree;
  tree.products.reserve(n - 1);
  std::vector<Open> open;
  for (size_t j = 0; j < n; ++j) {
    open.push_back({static_cast<int32_t>(j), dims[j], 0});
    for (int32_t c = closings[j]; c > 0; --c) {
      MORIEJIT_CHECK(open.size() >= 2);
      const Open right = open.back();
      open.pop_back();
      Open& left = open.back();
      tree.products.push_back({left.value, right.value});
      // In the table's order of operations, so that equal trees have equal costs to the last bit.
      left.cost = left.cost + right.cost + cost_of(cost_of(left.begin, dims[j + 1]), right.begin);
      left.value = static_cast<int32_t>(n + tree.products.size() - 1);
    }
  }
  MORIEJIT_CHECK(open.size() == 1);
  tree.cost = open.back().cost;
  return tree;
}

}  // namespace

// S. S. Godbole, On efficient computation of matrix chain products, IEEE Trans. Comput. C-22
// (1973).
// 1. Take the last matrices j from left to right, a few at a time,
// 2. and for these the first matrices i from right to left: all shorter sub-chains are known then.
// 3. The cuts k = i ... j - 1 cost cost(i, k) + cost(k + 1, j) + dims[i] dims[j + 1] dims[k + 1].
// Costs are kept by rows, and those of the current columns by columns too, so that step 3 reads
// both one after the other; a row is in the cache for all columns but the first.
ChainTable matrix_chain_table(const std::vector<double>& dims, const std::function<void()>& poll) {
  MORIEJIT_CHECK(dims.size() >= 2);
  const size_t n = dims.size() - 1;
  ChainTable table;
  table.split.assign(n * n, 0);
  std::vector<double> rows(n * (n + 1) / 2, 0), columns(kColumns * n, 0);
  for (size_t first = 0; first < n; first += kColumns) {
    if (poll) poll();
    const size_t end = std::min(first + kColumns, n);
    for (size_t i = end; i-- > 0;) {
      double* row = &rows[i * n - i * (i + 1) / 2 + i];  // cost(i, i), cost(i, i + 1), ...
      if (i >= first) columns[(i - first) * n + i] = 0;
      for (size_t j = std::max(first, i + 1); j < end; ++j) {
        double* column = &columns[(j - first) * n];
        const Cut best =
            best_cut({row, column + i + 1, &dims[i + 1], cost_of(dims[i], dims[j + 1])}, j - i);
        column[i] = row[j - i] = best.cost;
        table.split[i + j * n] = static_cast<int32_t>(i + best.at + 1);
      }
    }
  }
  table.cost = rows[n - 1];
  return table;
}

// See chain_hu_shing for the algorithm.
ChainTree matrix_chain_tree(const std::vector<double>& dims, const std::function<void()>& poll) {
  MORIEJIT_CHECK(dims.size() >= 2);
  return tree_of(dims, hu_shing_closings(dims, poll));
}

}  // namespace moriejit
