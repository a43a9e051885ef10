#include "naive.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text.h"

namespace moriejit::test {
namespace {

using Real = long double;

constexpr Real kEpsilon = std::numeric_limits<double>::epsilon();
constexpr Real kLargest = std::numeric_limits<double>::max();
constexpr Real kNothing = 1e-300L;  // smaller numbers may have lost their digits
const Real kNaN = std::numeric_limits<Real>::quiet_NaN();

// What an op should give at one place. Its rounding errors are a few epsilon times `scale`.
struct Element {
  Real value;
  Real scale;
  bool unsure = false;  // doubles overflow or lose everything on the way: nothing can be said
};

Element exactly(Real value) {
  return {value, std::fabs(value)};
}
Element roughly(Real value, Real scale) {
  return {value, scale};
}
Element unsure() {
  return {0, 0, true};
}

struct Place {
  const std::vector<View>& in;
  const std::vector<double>& attrs;
  int64_t i, j;

  // Operand k here, repeated along rows and columns where it has one.
  Real at(size_t k) const { return at(k, i, j); }
  Real at(size_t k, int64_t row, int64_t col) const {
    const View& v = in[k];
    return v.data[(v.shape.cols == 1 ? 0 : col) * v.shape.rows + (v.shape.rows == 1 ? 0 : row)];
  }
  Real attr(size_t k) const { return attrs[k]; }
  int64_t cols() const { return in[0].shape.cols; }
};

Real logistic(Real x) {
  return 1 / (1 + std::exp(-x));
}

Real normal(Real x) {
  const Real z = x / std::sqrt(Real{2});
  return x > -2 ? (1 + std::erf(z)) / 2 : std::erfc(-z) / 2;
}

// Rounding z = x / sqrt(2) moves erfc by about 2 z^2 epsilon.
Real tail_scale(Real value, Real x) {
  return value == 0 ? 0 : std::fabs(value) * (1 + x * x);
}

// A product's terms, added up; what infinite and NaN terms make of it does not hang on their order.
Element product(const Place& p) {
  const View &a = p.in[0], &b = p.in[1];
  const bool ta = p.attrs[0] != 0, tb = p.attrs[1] != 0;
  const int64_t inner = ta ? a.shape.rows : a.shape.cols;
  Real sum = 0, size = 0, infinite = 0;
  for (int64_t k = 0; k < inner; ++k) {
    const Real x = ta ? a.data[k + p.i * a.shape.rows] : a.data[p.i + k * a.shape.rows];
    const Real y = tb ? b.data[p.j + k * b.shape.rows] : b.data[k + p.j * b.shape.rows];
    if (std::isfinite(x) && std::isfinite(y)) {
      sum += x * y;
      size += std::fabs(x * y);
    } else {
      infinite += x * y;
    }
  }
  if (std::isnan(infinite)) return exactly(kNaN);
  if (size > kLargest) return unsure();
  if (infinite != 0) return exactly(infinite);
  return roughly(sum, size * static_cast<Real>(inner + 1));
}

struct RowStatistics {
  Real top = -std::numeric_limits<Real>::infinity();
  Real largest = 0, mean = 0, variance = 0;
  bool finite = true;
};

RowStatistics statistics(const Place& p) {
  RowStatistics s;
  const Real n = static_cast<Real>(p.cols());
  for (int64_t j = 0; j < p.cols(); ++j) {
    const Real x = p.at(0, p.i, j);
    s.finite = s.finite && std::isfinite(x);
    s.top = std::isnan(s.top) || std::isnan(x) ? kNaN : std::max(s.top, x);
    s.largest = std::max(s.largest, std::fabs(x));
    s.mean += x / n;
  }
  for (int64_t j = 0; j < p.cols(); ++j) {
    const Real d = p.at(0, p.i, j) - s.mean;
    s.variance += d * d / n;
  }
  return s;
}

Element softmax(const Place& p) {
  const Real top = statistics(p).top, d = p.at(0) - top;
  Real sum = 0;
  for (int64_t j = 0; j < p.cols(); ++j) sum += std::exp(p.at(0, p.i, j) - top);
  const Real value = std::exp(d) / sum;
  return roughly(value, value == 0 ? 0 : value * (1 - d + static_cast<Real>(p.cols())));
}

Element log_softmax(const Place& p) {
  const Real top = statistics(p).top;
  Real sum = 0;
  for (int64_t j = 0; j < p.cols(); ++j) sum += std::exp(p.at(0, p.i, j) - top);
  const Real scale = std::fabs(p.at(0)) + std::fabs(top) + std::log(sum);
  return roughly(p.at(0) - top - std::log(sum), scale + static_cast<Real>(p.cols()));
}

Element layer_norm(const Place& p) {
  const RowStatistics s = statistics(p);
  if (!s.finite) return exactly(kNaN);
  const Real n = static_cast<Real>(p.cols()), weight = p.at(1), bias = p.at(2);
  const Real sd = std::sqrt(s.variance + p.attr(0));
  // How far rounding the mean may move each difference, in standard deviations and epsilons.
  const Real shift = n * s.largest / sd;
  const bool tame = s.largest < 1e150L && sd > 1e-150L && shift * kEpsilon < 1e-3L;
  if (!tame || !std::isfinite(weight) || std::fabs(weight) > 1e150L) return unsure();
  const Real z = (p.at(0) - s.mean) / sd;
  const Real error = (1 + 2 * std::fabs(z)) * shift + std::fabs(z) * n;
  return roughly(z * weight + bias, error * std::fabs(weight) + std::fabs(bias));
}

Element batch_norm(const Place& p) {
  const Real x = p.at(0), mean = p.at(1), variance = p.at(2), weight = p.at(3), bias = p.at(4);
  const Real sd = std::sqrt(variance + p.attr(0));
  const Real z = (x - mean) / sd, size = (std::fabs(x) + std::fabs(mean)) / sd;
  const auto overflows = [](Real r) { return std::isfinite(r) && std::fabs(r) > 1e300L; };
  if (overflows(x) || overflows(mean) || overflows(z) || overflows(z * weight)) return unsure();
  // var + eps that cancelled, or digits that a large weight would bring back
  if (sd < 1e-140L || (z != 0 && std::fabs(z) < kNothing)) return unsure();
  return roughly(z * weight + bias, size * std::fabs(weight) + std::fabs(bias));
}

Element dropout(const Place& p) {
  return exactly(p.at(1) < p.attr(0) ? 0 : p.at(0) / (1 - p.attr(0)));
}

Element leaky_relu(const Place& p) {
  return exactly(p.at(0) < 0 ? p.attr(0) * p.at(0) : p.at(0));
}

// The differences below cancel near 0, which long double makes up for down to 1e-3 * 1e-16.
constexpr Real kNearZero = 1e-3L;

Element elu(const Place& p) {
  const Real x = p.at(0), value = x > 0 ? x : p.attr(0) * (std::exp(x) - 1);
  return roughly(value, std::fabs(value) + kNearZero * std::fabs(p.attr(0)));
}

Element hyperbolic_tangent(const Place& p) {
  const Real value = 1 - 2 / (std::exp(2 * p.at(0)) + 1);
  return roughly(value, std::fabs(value) + kNearZero);
}

Element softplus(const Place& p) {
  const Real x = p.at(0), value = x > 50 ? x : std::log(1 + std::exp(x));
  return roughly(value, std::fabs(value) + kNearZero);
}

struct Row {
  const char* op;
  Real units;  // errors of so many epsilon * scale are rounding
  Element (*at)(const Place&);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"matmul", 1, product},
      {"add", 1, [](const Place& p) { return exactly(p.at(0) + p.at(1)); }},
      {"sub", 1, [](const Place& p) { return exactly(p.at(0) - p.at(1)); }},
      {"mul", 1, [](const Place& p) { return exactly(p.at(0) * p.at(1)); }},
      {"div", 1, [](const Place& p) { return exactly(p.at(0) / p.at(1)); }},
      {"neg", 0, [](const Place& p) { return exactly(-p.at(0)); }},
      {"exp", 4, [](const Place& p) { return exactly(std::exp(p.at(0))); }},
      {"sqrt", 1, [](const Place& p) { return exactly(std::sqrt(p.at(0))); }},
      {"pnorm", 8,
       [](const Place& p) {
         return roughly(normal(p.at(0)), tail_scale(normal(p.at(0)), p.at(0)));
       }},
      {"gelu", 8,
       [](const Place& p) {
         const Real value = p.at(0) * normal(p.at(0));
         return roughly(value, tail_scale(value, p.at(0)));
       }},
      {"tanh", 4, hyperbolic_tangent},
      {"sigmoid", 4, [](const Place& p) { return exactly(logistic(p.at(0))); }},
      {"silu", 4, [](const Place& p) { return exactly(p.at(0) * logistic(p.at(0))); }},
      {"softplus", 4, softplus},
      {"relu", 0, [](const Place& p) { return exactly(p.at(0) < 0 ? 0 : p.at(0)); }},
      {"leaky_relu", 1, leaky_relu},
      {"elu", 4, elu},
      {"softmax", 4, softmax},
      {"log_softmax", 4, log_softmax},
      {"layer_norm", 8, layer_norm},
      {"batch_norm", 8, batch_norm},
      {"dropout", 4, dropout},
      {"callback", 0, nullptr},  // what the host gives is right
  };
  return table;
}

const Row* find_row(const std::string& op) {
  const auto at =
      std::find_if(rows().begin(), rows().end(), [&op](const Row& row) { return op == row.op; });
  return at == rows().end() ? nullptr : &*at;
}

bool fits(double got, const Element& want, Real units) {
  if (want.unsure) return true;
  if (std::isnan(want.value)) return std::isnan(got);
  if (got == want.value) return true;
  if (std::isinf(want.value)) return false;
  // Long double goes further than double does.
  if (std::isinf(got))
    return (got > 0) == (want.value > 0) && std::fabs(want.value) > 0.999L * kLargest;
  return std::fabs(got - want.value) <= units * kEpsilon * want.scale + kNothing;
}

}  // namespace

std::string check_naive(const Op& op, const std::vector<View>& in, const std::vector<double>& attrs,
                        const View& out) {
  const Row* row = find_row(op.name);
  if (row == nullptr || row->at == nullptr) return "";
  for (int64_t j = 0; j < out.shape.cols; ++j) {
    for (int64_t i = 0; i < out.shape.rows; ++i) {
      const Element want = row->at({in, attrs, i, j});
      const double got = out.data[i + j * out.shape.rows];
      if (fits(got, want, row->units)) continue;
      return op.name + " gives " + number_text(got) + " for " +
             number_text(static_cast<double>(want.value)) + " in row " + std::to_string(i) +
             ", column " + std::to_string(j);
    }
  }
  return "";
}

std::string ops_without_row() {
  std::string missing;
  for (const Op& op : all_ops()) {
    if (!op.kind.empty() && find_row(op.name) == nullptr) missing += " " + op.name;
  }
  return missing;
}

}  // namespace moriejit::test
