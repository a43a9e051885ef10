// The passes over traced programs, on random graphs: exact ones keep every bit even of special
// values; the others keep whole numbers, whose sums are the same in every order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"
#include "core/error.h"
#include "core/op.h"
#include "core/ops/na.h"
#include "core/passes/pass.h"
#include "core/reference.h"
#include "core/verify.h"

namespace moriejit::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<double> kSpecial = {
    0, -0.0, 1, -1, 2, 0.5, -4, 3, 1e308, 5e-324, kInfinity, -kInfinity, std::nan(""), na_value()};

// Adds ops to a graph, on values made before; what does not fit is tried again.
class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng) {}
  virtual ~Maker() = default;

  Graph make(int64_t steps) {
    start();
    for (; steps > 0; --steps) {
      for (int attempt = 0; attempt < 30 && !try_step(); ++attempt) {
      }
    }
    for (int64_t n = rng_.between(1, 3); n > 0; --n) b_.output(any());
    return b_.take();
  }

 protected:
  virtual void start() = 0;
  virtual ValueId step() = 0;

  // Rather a recent value.
  ValueId any() {
    const auto n = static_cast<int64_t>(pool_.size());
    const int64_t back = rng_.chance(0.7) ? rng_.below(std::min<int64_t>(n, 4)) : rng_.below(n);
    return pool_[static_cast<size_t>(n - 1 - back)];
  }

  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(rng_.below(static_cast<int64_t>(choices.size())))];
  }

  std::string name() const { return std::to_string(b_.graph().size()); }

  bool try_step() {
    try {
      const ValueId id = step();
      if (id == kNoValue || b_.shape(id).size() > 200) return false;
      pool_.push_back(id);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  Rng& rng_;
  Builder b_;
  std::vector<ValueId> pool_;
};

// What the rules are about, with the numbers that break wrong ones.
class SpecialMaker : public Maker {
 public:
  using Maker::Maker;

 private:
  void start() override {
    rows_ = rng_.between(1, 3);
    cols_ = rng_.between(1, 3);
    for (const Shape shape : shapes()) pool_.push_back(b_.input("x" + name(), shape));
  }

  std::vector<Shape> shapes() const {
    return {{rows_, cols_}, {rows_, 1}, {1, cols_}, {1, 1}, {rows_ * cols_, 1}};
  }

  ValueId constant() {
    const double value = one_of(kSpecial);
    const bool mixed = rng_.chance(0.2);
    const Shape shape = rng_.chance(0.5) ? Shape{1, 1} : one_of(shapes());
    return b_.constant("c" + name(),
                       make_matrix(shape, [&] { return mixed ? one_of(kSpecial) : value; }));
  }

  ValueId operand() { return rng_.chance(0.35) ? constant() : any(); }

  ValueId unary() {
    static const std::vector<const char*> ops = {
        "neg",     "neg",  "abs",       "not",     "is_na",        "is_nan",    "floor",
        "ceiling", "relu", "trunc",     "sign",    "int_range",    "transpose", "transpose",
        "sqrt",    "exp",  "is_finite", "sigmoid", "round_single", "log",       "zeros_like"};
    return b_.op(one_of(ops), {any()});
  }

  ValueId reduction() {
    static const std::vector<const char*> ops = {
        "sum",    "prod",      "mean",     "max",     "min",     "all",
        "any",    "row_sums",  "col_sums", "row_max", "col_min", "cumsum",
        "cummax", "row_means", "sort",     "order",   "var",     "col_means"};
    return b_.op(one_of(ops), {any()});
  }

  ValueId binary() {
    static const std::vector<const char*> ops = {
        "add", "add", "sub",  "mul",         "mul",      "div",  "div",  "pow",
        "gt",  "lt",  "eq",   "ne",          "le",       "ge",   "and",  "or",
        "xor", "mod", "idiv", "expand_like", "sum_like", "pmax", "pmin", "same_shape"};
    return b_.op(one_of(ops), {operand(), operand()});
  }

  ValueId moved() {
    const ValueId x = any();
    const auto n = static_cast<double>(b_.shape(x).size());
    switch (rng_.below(5)) {
      case 0: {
        const auto rows = static_cast<double>(rng_.between(1, 4));
        return b_.op("reshape", {x}, {rows, std::floor(n / rows)});
      }
      case 1: {
        const Shape shape = one_of(shapes());
        return b_.op("recycle", {x},
                     {static_cast<double>(shape.rows), static_cast<double>(shape.cols)});
      }
      case 2: {
        const bool whole = rng_.chance(0.3);
        return b_.op("slice", {x},
                     {whole ? 0 : static_cast<double>(rng_.below(4)),
                      whole ? 1 : static_cast<double>(rng_.between(-2, 2)),
                      whole ? n : static_cast<double>(rng_.between(1, 4))});
      }
      case 3:
        return rng_.chance(0.4) ? b_.op("concat", {x}) : b_.op("concat", {x, operand()});
      default: {
        if (n == 0) return kNoValue;
        const Buffer index = make_matrix(one_of(shapes()), [&] {
          return static_cast<double>(rng_.between(1, static_cast<int64_t>(n)));
        });
        return b_.op("gather", {x, b_.constant("i" + name(), index)});
      }
    }
  }

  ValueId step() override {
    const double kind = rng_.unit();
    if (kind < 0.3) return unary();
    if (kind < 0.7) return binary();
    if (kind < 0.78) return b_.op("where", {operand(), operand(), operand()});
    if (kind < 0.86) return reduction();
    return moved();
  }

  int64_t rows_ = 1, cols_ = 1;
};

// Products, layers, transposes; all numbers are whole, and small enough to be exact.
class ProductMaker : public Maker {
 public:
  using Maker::Maker;

 private:
  Shape any_shape() {
    static const std::vector<int64_t> sizes = {1, 2, 2, 3, 3, 6};
    return {one_of(sizes), one_of(sizes)};
  }

  void start() override {
    for (int k = 0; k < 3; ++k) pool_.push_back(b_.input("x" + name(), any_shape()));
    bounds_.assign(3, 2);
  }

  double bound(ValueId id) const { return bounds_[static_cast<size_t>(id)]; }

  ValueId bounded(ValueId id, double most) {
    bounds_.resize(b_.graph().nodes.size(), most);
    return most < 0x1p50 ? id : kNoValue;
  }

  ValueId constant(Shape shape) {
    const Buffer value =
        make_matrix(shape, [this] { return static_cast<double>(rng_.between(-2, 2)); });
    return bounded(b_.constant("w" + name(), value), 2);
  }

  double flag() { return rng_.chance(0.25) ? 1 : 0; }

  ValueId product(ValueId x, ValueId y, double ta, double tb) {
    const Shape a = b_.shape(x);
    const auto inner = static_cast<double>(ta != 0 ? a.rows : a.cols);
    return bounded(b_.op("matmul", {x, y}, {ta, tb}), inner * bound(x) * bound(y));
  }

  ValueId layer() {
    const ValueId x = any();
    const Shape shape = b_.shape(x);
    const int64_t width = any_shape().cols;
    const bool turned = rng_.chance(0.3);
    if (rng_.chance(0.7)) {
      const ValueId w = constant(turned ? Shape{width, shape.cols} : Shape{shape.cols, width});
      return product(x, w, 0, turned ? 1 : 0);
    }
    const ValueId w = constant(turned ? Shape{shape.rows, width} : Shape{width, shape.rows});
    return product(w, x, turned ? 1 : 0, 0);
  }

  ValueId elementwise() {
    const ValueId x = any();
    const Shape shape = b_.shape(x);
    const std::vector<Shape> fits = {{1, 1}, {1, shape.cols}, {shape.rows, 1}, shape};
    const ValueId y = rng_.chance(0.7) ? constant(one_of(fits)) : any();
    const double kind = rng_.unit();
    if (kind < 0.5) return bounded(b_.op("add", {x, y}), bound(x) + bound(y));
    if (kind < 0.7) return bounded(b_.op("sub", {y, x}), bound(x) + bound(y));
    return bounded(b_.op("mul", {x, y}), bound(x) * bound(y));
  }

  ValueId step() override {
    const double kind = rng_.unit();
    if (kind < 0.3) return product(any(), any(), flag(), flag());
    if (kind < 0.55) return layer();
    if (kind < 0.8) return elementwise();
    const ValueId x = any();
    return bounded(b_.op(kind < 0.95 ? "transpose" : "neg", {x}), bound(x));
  }

  std::vector<double> bounds_;
};

// Products may give another zero.
void require_outputs(const std::vector<Buffer>& a, const std::vector<Buffer>& b, bool bits,
                     const std::string& what) {
  for (size_t k = 0; k < a.size(); ++k) {
    const View x = a[k].view(), y = b[k].view();
    const bool same = bits ? same_values(x, y) : x.shape == y.shape && max_abs_diff(x, y) == 0;
    require(same, what + " changed output " + std::to_string(k));
  }
}

std::vector<Buffer> run_fixed(const Graph& graph, const std::vector<Buffer>& inputs) {
  Workspace workspace;
  return run_all(make_plan(graph, true), views_of(inputs), fresh_hooks(), workspace);
}

void check_passes(const Graph& graph, const std::vector<Buffer>& inputs, bool exact) {
  const std::vector<Buffer> expected = evaluate_outputs(graph, inputs);
  std::vector<std::vector<std::string>> choices = {{}};
  for (const Pass& pass : traced_passes()) choices.push_back({pass.name});
  for (const std::vector<std::string>& names : choices) {
    const std::string what = names.empty() ? "the pipeline" : names[0];
    PassContext context;
    context.exact = exact;
    const Graph after = run_traced_passes(graph, context, names);
    try {
      require_outputs(expected, evaluate_outputs(after, inputs), exact, what);
      require_outputs(expected, run_fixed(after, inputs), exact, what + " in a fixed plan");
      require(same_structure(after, run_traced_passes(after, context, names)),
              what + " changes a graph again");
    } catch (const Failure& failure) {
      throw Failure{failure.why + "; it became\n" + full_text(after)};
    }
  }
}

}  // namespace

void check_traced(Rng& rng) {
  const bool special = rng.chance(0.6);
  const int64_t steps = rng.between(1, rng.chance(0.5) ? 6 : 25);
  const Graph graph = special ? SpecialMaker(rng).make(steps) : ProductMaker(rng).make(steps);
  std::vector<Buffer> inputs;
  for (ValueId id : graph.inputs) {
    inputs.push_back(make_matrix(graph.node(id).shape, [&] {
      const auto number = static_cast<double>(rng.between(-2, 2));
      if (!special) return number;
      return kSpecial[static_cast<size_t>(rng.below(static_cast<int64_t>(kSpecial.size())))];
    }));
  }
  try {
    check_passes(graph, inputs, special);
  } catch (const Failure& failure) {
    throw Failure{failure.why + "\nthe graph:\n" + full_text(graph)};
  }
}

}  // namespace moriejit::test
