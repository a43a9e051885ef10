#include "core/kernels/gemm.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>

#include "core/error.h"

namespace moriejit {
namespace {

using Matrix = Eigen::Map<const Eigen::MatrixXd>;

void multiply_eigen(const Product& p) {
  const Matrix a(p.a.data, p.a.shape.rows, p.a.shape.cols);
  const Matrix b(p.b.data, p.b.shape.rows, p.b.shape.cols);
  Eigen::Map<Eigen::MatrixXd> out(p.out, p.shape.rows, p.shape.cols);
  if (p.transpose_a && p.transpose_b) {
    out.noalias() = a.transpose() * b.transpose();
  } else if (p.transpose_a) {
    out.noalias() = a.transpose() * b;
  } else if (p.transpose_b) {
    out.noalias() = a * b.transpose();
  } else {
    out.noalias() = a * b;
  }
}

int64_t inner_of(const Product& p) {
  return p.transpose_a ? p.a.shape.rows : p.a.shape.cols;
}

// Products of about one size share a probe. Narrow ones, and vectors, are Eigen's: looking for NaN
// in the operands, as a BLAS asks for, would cost as much as the product.
enum Class { kNarrow, kMedium, kLarge, kClasses };

Class class_of(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kNarrowBelow = 32;
  constexpr double kMediumWork = 128.0 * 128 * 128;
  if (std::min({m, n, k}) < kNarrowBelow) return kNarrow;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return work <= kMediumWork ? kMedium : kLarge;
}

enum class Verdict { kUnknown, kEigen, kBlas };

struct State {
  BlasGemm blas = nullptr;
  GemmChoice choice = GemmChoice::kAuto;
  std::array<Verdict, kClasses> verdicts{};
};

State& state() {
  static State instance;
  return instance;
}

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < 3; ++repetition) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

// Times both on a product typical of the class. BLAS must win clearly: then noise can't make two
// sessions on one machine differ in their last bits.
Verdict probe(Class which) {
  const int64_t n = which == kMedium ? 64 : 160;
  Tensor a({n, n}), b({n, n}), out({n, n});
  std::fill(a.data(), a.data() + n * n, 0.5);
  std::fill(b.data(), b.data() + n * n, 0.25);
  const Product product = {a.view(), false, b.view(), false, out.data(), {n, n}};
  const double eigen = seconds_of([&] { multiply_eigen(product); });
  const double blas = seconds_of([&] { state().blas(product, n); });
  return blas * 1.2 < eigen ? Verdict::kBlas : Verdict::kEigen;
}

// x * 0 is 0 for finite x only, and no sum of such terms forgets a NaN. Four sums, since each waits
// for its last addition.
bool all_finite(const View& view) {
  const int64_t n = view.shape.size();
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int s = 0; s < 4; ++s) sums[s] += view.data[i + s] * 0;
  }
  for (; i < n; ++i) sums[0] += view.data[i] * 0;
  return sums[0] + sums[1] + sums[2] + sums[3] == 0;
}

bool fits_blas(const Product& p, int64_t inner) {
  const int64_t limit = std::numeric_limits<int>::max();
  return std::max({p.shape.rows, p.shape.cols, inner}) <= limit;
}

// Columns j to j + count - 1 of a product. Those of a transposed b are rows, which do not lie
// together, so it is done whole.
Product columns_of(const Product& p, int64_t j, int64_t count) {
  if (count == p.shape.cols) return p;
  Product panel = p;
  panel.b = {p.b.data + j * p.b.shape.rows, {p.b.shape.rows, count}};
  panel.out = p.out + j * p.shape.rows;
  panel.shape.cols = count;
  return panel;
}

bool prefers_blas(int64_t m, int64_t n, int64_t k) {
  State& s = state();
  const Class which = class_of(m, n, k);
  if (s.blas == nullptr || s.choice == GemmChoice::kEigen || which == kNarrow) return false;
  if (s.choice == GemmChoice::kBlas) return true;
  Verdict& verdict = s.verdicts[which];
  if (verdict == Verdict::kUnknown) verdict = probe(which);
  return verdict == Verdict::kBlas;
}

// The reference BLAS skips zero factors and so loses NaN * 0 and Inf * 0.
bool use_blas(const Product& p, int64_t inner) {
  return prefers_blas(p.shape.rows, p.shape.cols, inner) && fits_blas(p, inner) &&
         all_finite(p.a) && all_finite(p.b);
}

}  // namespace

void multiply(const Product& p, const std::function<void()>& poll) {
  const int64_t inner = inner_of(p);
  if (p.shape.size() == 0) return;
  if (inner == 0) {
    std::fill(p.out, p.out + p.shape.size(), 0.0);
    return;
  }
  const bool blas = use_blas(p, inner);
  // About a tenth of a second between two looks at the user's wish to stop.
  constexpr double kPanelWork = 1e9;
  const double column_work = static_cast<double>(p.shape.rows) * static_cast<double>(inner);
  const int64_t wanted = std::max<int64_t>(static_cast<int64_t>(kPanelWork / column_work), 64);
  const int64_t width = p.transpose_b ? p.shape.cols : wanted;
  for (int64_t j = 0; j < p.shape.cols; j += width) {
    const Product panel = columns_of(p, j, std::min(width, p.shape.cols - j));
    if (blas) {
      state().blas(panel, inner);
    } else {
      multiply_eigen(panel);
    }
    if (poll && width < p.shape.cols) poll();
  }
}

void multiply_plain(const Product& p) {
  const int64_t inner = inner_of(p);
  const int64_t a_row = p.transpose_a ? p.a.shape.rows : 1,
                a_k = p.transpose_a ? 1 : p.a.shape.rows;
  const int64_t b_col = p.transpose_b ? 1 : p.b.shape.rows,
                b_k = p.transpose_b ? p.b.shape.rows : 1;
  for (int64_t j = 0; j < p.shape.cols; ++j) {
    for (int64_t i = 0; i < p.shape.rows; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += p.a.data[i * a_row + k * a_k] * p.b.data[k * b_k + j * b_col];
      }
      p.out[j * p.shape.rows + i] = sum;
    }
  }
}

void set_blas(BlasGemm gemm) {
  state().blas = gemm;
}

void set_gemm_choice(GemmChoice choice) {
  state().choice = choice;
}

}  // namespace moriejit
