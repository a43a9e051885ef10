// Sums, means, products, extremes: of all elements, of rows, of columns, and running ones. Each is
// accumulated in the order and precision that R uses (long double), so that it gives R's bits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/op.h"
#include "core/ops/expr.h"
#include "core/ops/na.h"

namespace moriejit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Long = long double;

double per_input(const std::vector<Shape>& in, Shape) {
  return static_cast<double>(in[0].size());
}

template <class F>  // f maps elements and their number to a number
Op& reduction(Registry& r, const char* name, F f) {
  Op& op = r.add(name);
  op.shape = [](const std::vector<Shape>&, const double*) { return Shape{1, 1}; };
  op.eval = [f](const EvalArgs& a) { *a.out = f(a.in[0].data, a.in[0].shape.size()); };
  op.cost = per_input;
  return op;
}

double narrow(Long sum) {
  if (sum > std::numeric_limits<double>::max()) return kInf;
  if (sum < -std::numeric_limits<double>::max()) return -kInf;
  return static_cast<double>(sum);
}

double sum_of(const double* x, int64_t n) {
  Long sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return narrow(sum);
}

Long mean_long(const double* x, int64_t n) {
  Long sum = 0, rest = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const Long mean = sum / static_cast<Long>(n);
  if (!std::isfinite(static_cast<double>(mean))) return mean;
  for (int64_t i = 0; i < n; ++i) rest += x[i] - mean;
  return mean + rest / static_cast<Long>(n);
}

double variance(const double* x, int64_t n) {
  if (n < 2) return na_value();
  const double mean = static_cast<double>(mean_long(x, n));
  Long sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return static_cast<double>(sum / static_cast<Long>(n - 1));
}

template <class Better>
double extreme(const double* x, int64_t n, double none, Better better) {
  double best = none;
  bool found = false;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) {
      if (!is_na_value(best)) best = x[i];  // NA wins over NaN
      found = true;
    } else if (!found || better(x[i], best)) {
      best = x[i];
      found = true;
    }
  }
  return best;
}

double greatest(const double* x, int64_t n) {
  return extreme(x, n, -kInf, [](double a, double b) { return a > b; });
}

double smallest(const double* x, int64_t n) {
  return extreme(x, n, kInf, [](double a, double b) { return a < b; });
}

// The gradient of an extreme goes to the elements that attain it, in equal parts.
std::vector<ValueId> extreme_vjp(Builder& b, const VjpArgs& v, const char* count) {
  const Expr x{&b, v.in[0]}, hit = x.apply("eq", Expr{&b, v.out});
  const Expr share = Expr{&b, v.dy} / hit.apply(count);
  return {where(hit, share, share.scalar(0)).id};
}

void register_sums(Registry& r) {
  Op& sum = reduction(r, "sum", sum_of);
  sum.doc = "The sum of all elements.";
  sum.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("expand_like", {v.dy, v.in[0]})};
  };
  Op& mean = reduction(
      r, "mean", [](const double* x, int64_t n) { return static_cast<double>(mean_long(x, n)); });
  mean.doc = "The mean of all elements, in two passes.";
  mean.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr dy{&b, v.dy};
    const double n = static_cast<double>(b.shape(v.in[0]).size());
    return {b.op("expand_like", {(dy / n).id, v.in[0]})};
  };
  Op& prod = reduction(r, "prod", [](const double* x, int64_t n) {
    Long product = 1;
    for (int64_t i = 0; i < n; ++i) product *= x[i];
    return narrow(product);
  });
  prod.doc = "The product of all elements.";
  prod.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("prod_others", {v.in[0], v.dy})};
  };
  Op& others = r.add("prod_others");
  others.arity = 2;
  others.shape = [](const std::vector<Shape>& in, const double*) { return in[0]; };
  others.eval = [](const EvalArgs& a) {
    // Products of what is before and after each element: no division by an element that is 0.
    const double* x = a.in[0].data;
    const int64_t n = a.shape.size();
    double before = a.in[1].data[0], after = 1;
    for (int64_t i = 0; i < n; ++i) {
      a.out[i] = before;
      before *= x[i];
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      a.out[i] *= after;
      after *= x[i];
    }
  };
  others.cost = per_input;
  others.no_vjp = "a second derivative of a product is not built";
  others.shape_of_first = true;
  others.doc = "For each element the product of all others, times the second operand.";
  Op& var = reduction(r, "var", variance);
  var.doc = "The sample variance, about the mean; NA for fewer than two elements.";
  var.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr x{&b, v.in[0]}, dy{&b, v.dy};
    const double n = static_cast<double>(b.shape(v.in[0]).size());
    return {((x - x.apply("mean")) * (dy * (2 / (n - 1)))).id};
  };
}

void register_extremes(Registry& r) {
  Op& max = reduction(r, "max", greatest);
  max.doc = "The greatest element; NaN where there is one, NA before NaN; -Inf of none.";
  max.vjp = [](Builder& b, const VjpArgs& v) { return extreme_vjp(b, v, "sum"); };
  Op& min = reduction(r, "min", smallest);
  min.doc = "The smallest element; NaN where there is one, NA before NaN; Inf of none.";
  min.vjp = [](Builder& b, const VjpArgs& v) { return extreme_vjp(b, v, "sum"); };
  Op& all = reduction(r, "all", [](const double* x, int64_t n) {
    double result = 1;
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] == 0) return 0.0;
      if (std::isnan(x[i])) result = na_value();
    }
    return result;
  });
  all.doc = "1 where no element is 0; NA where one may be.";
  Op& any = reduction(r, "any", [](const double* x, int64_t n) {
    double result = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (std::isnan(x[i])) {
        result = na_value();
      } else if (x[i] != 0) {
        return 1.0;
      }
    }
    return result;
  });
  any.doc = "1 where an element is not 0; NA where one may be.";
  const auto which = [](const double* x, int64_t n, bool greatest) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (std::isnan(x[i])) continue;
      if (best < 0 || (greatest ? x[i] > x[best] : x[i] < x[best])) best = i;
    }
    if (best < 0) {
      throw Error(ErrorKind::kInput, "An element must not be missing to be the extreme one.",
                  "All are NA or NaN.");
    }
    return static_cast<double>(best + 1);
  };
  Op& which_max =
      reduction(r, "which_max", [which](const double* x, int64_t n) { return which(x, n, true); });
  which_max.doc = "The position (from 1) of the first greatest element.";
  Op& which_min =
      reduction(r, "which_min", [which](const double* x, int64_t n) { return which(x, n, false); });
  which_min.doc = "The position (from 1) of the first smallest element.";
  which_max.may_fail = which_min.may_fail = true;
  for (Op* op : {&all, &any, &which_max, &which_min}) op->no_vjp = "piecewise constant";
}

template <class F>  // f maps the elements of a row or column to a number
Op& by_line(Registry& r, const char* name, bool rows, F f) {
  Op& op = r.add(name);
  op.shape = [rows](const std::vector<Shape>& in, const double*) {
    return Shape{rows ? in[0].rows : in[0].cols, 1};
  };
  op.eval = [rows, f](const EvalArgs& a) {
    const Shape shape = a.in[0].shape;
    std::vector<double> line(static_cast<size_t>(rows ? shape.cols : 0));
    for (int64_t k = 0; k < a.shape.rows; ++k) {
      if (!rows) {
        a.out[k] = f(a.in[0].data + k * shape.rows, shape.rows);
        continue;
      }
      for (int64_t j = 0; j < shape.cols; ++j) {
        line[static_cast<size_t>(j)] = a.in[0].data[k + j * shape.rows];
      }
      a.out[k] = f(line.data(), shape.cols);
    }
  };
  op.cost = per_input;
  return op;
}

double mean_once(const double* x, int64_t n) {
  Long sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return static_cast<double>(sum / static_cast<Long>(n));
}

// One number for each row or column, repeated along it.
Expr repeated(Builder& b, ValueId line, ValueId like, bool rows) {
  const double cols = static_cast<double>(b.shape(like).cols);
  const ValueId across = rows ? line : b.op("reshape", {line}, {1, cols});
  return {&b, b.op("expand_like", {across, like})};
}

void line_sum_vjp(Op& op, bool rows, bool mean) {
  op.vjp = [rows, mean](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Shape shape = b.shape(v.in[0]);
    const Expr dy = repeated(b, v.dy, v.in[0], rows);
    return {mean ? (dy / static_cast<double>(rows ? shape.cols : shape.rows)).id : dy.id};
  };
}

void line_extreme_vjp(Op& op, bool rows) {
  op.vjp = [rows](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    const Expr x{&b, v.in[0]}, hit = x.apply("eq", repeated(b, v.out, v.in[0], rows));
    const Expr count = hit.apply(rows ? "row_sums" : "col_sums");
    const Expr share = repeated(b, (Expr{&b, v.dy} / count).id, v.in[0], rows);
    return {where(hit, share, share.scalar(0)).id};
  };
}

void register_lines(Registry& r) {
  Op& col_sums = by_line(r, "col_sums", false, [](const double* x, int64_t n) {
    Long sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    return static_cast<double>(sum);
  });
  col_sums.doc = "The sum of each column, as one column.";
  line_sum_vjp(col_sums, false, false);
  Op& row_means = by_line(r, "row_means", true, mean_once);
  row_means.doc = "The mean of each row, as one column.";
  line_sum_vjp(row_means, true, true);
  Op& col_means = by_line(r, "col_means", false, mean_once);
  col_means.doc = "The mean of each column, as one column.";
  line_sum_vjp(col_means, false, true);
  Op& row_max = by_line(r, "row_max", true, greatest);
  row_max.doc = "The greatest element of each row, as one column.";
  line_extreme_vjp(row_max, true);
  Op& row_min = by_line(r, "row_min", true, smallest);
  row_min.doc = "The smallest element of each row, as one column.";
  line_extreme_vjp(row_min, true);
  Op& col_max = by_line(r, "col_max", false, greatest);
  col_max.doc = "The greatest element of each column, as one column.";
  line_extreme_vjp(col_max, false);
  Op& col_min = by_line(r, "col_min", false, smallest);
  col_min.doc = "The smallest element of each column, as one column.";
  line_extreme_vjp(col_min, false);
}

template <class T, class F>
Op& running(Registry& r, const char* name, T start, F step) {
  Op& op = r.add(name);
  op.shape = [](const std::vector<Shape>& in, const double*) { return in[0]; };
  op.eval = [start, step](const EvalArgs& a) {
    T value = start;
    for (int64_t i = 0; i < a.shape.size(); ++i) {
      value = step(value, a.in[0].data[i]);
      a.out[i] = static_cast<double>(value);
    }
  };
  op.cost = per_input;
  op.in_place = op.shape_of_first = true;
  return op;
}

void register_running(Registry& r) {
  Op& cumsum = running(r, "cumsum", Long{0}, [](Long s, double x) { return s + x; });
  cumsum.doc = "The sums of the elements up to each.";
  cumsum.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    // The sums of dy from each on: turned round, summed, turned back.
    const Shape shape = b.shape(v.in[0]);
    const double n = static_cast<double>(shape.size());
    const ValueId turned = b.op("slice", {v.dy}, {n - 1, -1, n});
    const ValueId back = b.op("slice", {b.op("cumsum", {turned})}, {n - 1, -1, n});
    return {b.op("reshape", {back},
                 {static_cast<double>(shape.rows), static_cast<double>(shape.cols)})};
  };
  Op& cumprod = running(r, "cumprod", Long{1}, [](Long s, double x) { return s * x; });
  cumprod.doc = "The products of the elements up to each.";
  cumprod.no_vjp = "a running product has no rule yet that is safe at 0";
  const auto better = [](bool greater) {
    return [greater](double s, double x) {
      if (std::isnan(x) || std::isnan(s)) return s + x;
      return (greater ? s > x : s < x) ? s : x;
    };
  };
  Op& cummax = running(r, "cummax", -kInf, better(true));
  cummax.doc = "The greatest of the elements up to each.";
  Op& cummin = running(r, "cummin", kInf, better(false));
  cummin.doc = "The smallest of the elements up to each.";
  cummax.no_vjp = cummin.no_vjp = "a running extreme has no rule";
}

}  // namespace

void register_reductions(Registry& r) {
  register_sums(r);
  register_extremes(r);
  register_lines(r);
  register_running(r);
}

}  // namespace moriejit
