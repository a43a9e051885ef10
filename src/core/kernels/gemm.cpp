#include "core/kernels/gemm.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

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

int64_t inner_of(const Product& p) { return p.transpose_a ? p.a.shape.rows : p.a.shape.cols; }

// Products of about one cost profile share a probe: one row or column, small, or large.
enum Class { kVector, kSmall, kLarge, kClasses };

Class class_of(int64_t m, int64_t n, int64_t k) {
  if (m == 1 || n == 1) return kVector;
  constexpr double kSmallWork = 48.0 * 48 * 48;
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return work <= kSmallWork ? kSmall : kLarge;
}

enum class Verdict { kUnknown, kEigen, kBlas };

struct State {
  Blas blas;
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
  static const std::array<std::array<int64_t, 3>, kClasses> kSizes = {
      {{1, 256, 256}, {16, 32, 32}, {128, 128, 128}}};
  const int64_t m = kSizes[which][0], n = kSizes[which][1], k = kSizes[which][2];
  const std::vector<double> a(static_cast<size_t>(m * k), 0.5), b(static_cast<size_t>(k * n), 0.25);
  std::vector<double> out(static_cast<size_t>(m * n));
  const Product product = {{a.data(), {m, k}}, false, {b.data(), {k, n}}, false, out.data(), {m, n}};
  const double eigen = seconds_of([&] { multiply_eigen(product); });
  const double blas = seconds_of([&] { state().blas.gemm(product, k); });
  return blas * 1.2 < eigen ? Verdict::kBlas : Verdict::kEigen;
}

bool all_finite(const View& view) {
  const int64_t n = view.shape.size();
  double sum = 0;  // x * 0 is 0 for finite x only, and no sum of such terms forgets a NaN
  for (int64_t i = 0; i < n; ++i) sum += view.data[i] * 0;
  return sum == 0;
}

bool fits_blas(const Product& p, int64_t inner) {
  const int64_t limit = std::numeric_limits<int>::max();
  return std::max({p.shape.rows, p.shape.cols, inner}) <= limit;
}

bool use_blas(const Product& p, int64_t inner) {
  State& s = state();
  if (s.blas.gemm == nullptr || s.choice == GemmChoice::kEigen || !fits_blas(p, inner)) return false;
  if (s.choice == GemmChoice::kAuto) {
    Verdict& verdict = s.verdicts[class_of(p.shape.rows, p.shape.cols, inner)];
    if (verdict == Verdict::kUnknown) verdict = probe(class_of(p.shape.rows, p.shape.cols, inner));
    if (verdict == Verdict::kEigen) return false;
  }
  // The reference BLAS skips zero factors and so loses NaN * 0 and Inf * 0.
  return all_finite(p.a) && all_finite(p.b);
}

}  // namespace

void multiply(const Product& p) {
  const int64_t inner = inner_of(p);
  if (p.shape.size() == 0) return;
  if (inner == 0) {
    std::fill(p.out, p.out + p.shape.size(), 0.0);
  } else if (use_blas(p, inner)) {
    state().blas.gemm(p, inner);
  } else {
    multiply_eigen(p);
  }
}

void multiply_plain(const Product& p) {
  const int64_t inner = inner_of(p);
  const int64_t a_row = p.transpose_a ? p.a.shape.rows : 1, a_k = p.transpose_a ? 1 : p.a.shape.rows;
  const int64_t b_col = p.transpose_b ? 1 : p.b.shape.rows, b_k = p.transpose_b ? p.b.shape.rows : 1;
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

void set_blas(const Blas& blas) { state().blas = blas; }

void set_gemm_choice(GemmChoice choice) { state().choice = choice; }

std::string gemm_backend(int64_t m, int64_t n, int64_t k) {
  const State& s = state();
  if (s.blas.gemm == nullptr || s.choice == GemmChoice::kEigen) return "eigen";
  if (s.choice == GemmChoice::kBlas) return "blas";
  switch (s.verdicts[class_of(m, n, k)]) {
    case Verdict::kEigen:
      return "eigen";
    case Verdict::kBlas:
      return "blas";
    case Verdict::kUnknown:
      break;
  }
  return "unprobed";
}

}  // namespace moriejit
