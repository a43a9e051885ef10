#include "core/kernels/solve.h"

#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/error.h"

namespace moriejit {
namespace {

using Matrix = Eigen::MatrixXd;
using In = Eigen::Map<const Matrix>;
using Out = Eigen::Map<Matrix>;

In in(const View& view) {
  return In(view.data, view.shape.rows, view.shape.cols);
}

Out out_of(double* data, int64_t rows, int64_t cols) {
  return Out(data, rows, cols);
}

[[noreturn]] void fail(const std::string& text) {
  throw Error(ErrorKind::kInput, text, "");
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// The first pivot that is exactly 0; -1 where there is none.
int64_t zero_pivot(const Eigen::PartialPivLU<Matrix>& lu) {
  const auto& factors = lu.matrixLU();
  for (int64_t i = 0; i < factors.rows(); ++i) {
    if (factors(i, i) == 0) return i;
  }
  return -1;
}

}  // namespace

void solve_system(const View& a, const View& b, double* out) {
  if (a.shape.rows == 0 || b.shape.size() == 0) return;
  const Eigen::PartialPivLU<Matrix> lu(in(a));
  const int64_t zero = zero_pivot(lu);
  if (zero >= 0) {
    const std::string at = std::to_string(zero + 1);
    fail("Lapack routine dgesv: system is exactly singular: U[" + at + "," + at + "] = 0");
  }
  const double condition = lu.rcond();
  if (condition < std::numeric_limits<double>::epsilon()) {
    fail("system is computationally singular: reciprocal condition number = " + number(condition));
  }
  out_of(out, b.shape.rows, b.shape.cols) = lu.solve(in(b));
}

void cholesky(const View& a, double* out) {
  const int64_t n = a.shape.rows;
  Out r = out_of(out, n, n);
  // By columns of the upper triangle, which alone is read; so the order of a failure is known.
  const In x = in(a);
  r.setZero();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < j; ++i) {
      r(i, j) = (x(i, j) - r.col(i).head(i).dot(r.col(j).head(i))) / r(i, i);
    }
    const double rest = x(j, j) - r.col(j).head(j).squaredNorm();
    if (!(rest > 0)) {
      fail("the leading minor of order " + std::to_string(j + 1) + " is not positive definite");
    }
    r(j, j) = std::sqrt(rest);
  }
}

void inverse_of_cholesky(const View& r, double* out) {
  const int64_t n = r.shape.rows;
  const Matrix inverse = in(r).triangularView<Eigen::Upper>().solve(Matrix::Identity(n, n));
  out_of(out, n, n) = inverse * inverse.transpose();
}

void solve_triangle(const View& r, const View& b, bool upper, bool transposed, double* out) {
  const int64_t n = b.shape.rows;
  const auto factor = in(r).topLeftCorner(n, n);
  for (int64_t i = 0; i < n; ++i) {
    if (factor(i, i) == 0) {
      fail("singular matrix in '" + std::string(upper ? "backsolve" : "forwardsolve") +
           "'. First zero in diagonal [" + std::to_string(i + 1) + "]");
    }
  }
  Out x = out_of(out, n, b.shape.cols);
  if (upper && !transposed) {
    x = factor.triangularView<Eigen::Upper>().solve(in(b));
  } else if (upper) {
    x = factor.transpose().triangularView<Eigen::Lower>().solve(in(b));
  } else if (!transposed) {
    x = factor.triangularView<Eigen::Lower>().solve(in(b));
  } else {
    x = factor.transpose().triangularView<Eigen::Upper>().solve(in(b));
  }
}

double log_abs_determinant(const View& a, double* sign) {
  *sign = 1;
  if (a.shape.rows == 0) return 0;
  const Eigen::PartialPivLU<Matrix> lu(in(a));
  if (zero_pivot(lu) >= 0) return -std::numeric_limits<double>::infinity();
  *sign = static_cast<double>(lu.permutationP().determinant());
  double sum = 0;
  for (int64_t i = 0; i < a.shape.rows; ++i) {
    const double pivot = lu.matrixLU()(i, i);
    sum += std::log(std::fabs(pivot));
    if (pivot < 0) *sign = -*sign;
  }
  return sum;
}

}  // namespace moriejit
