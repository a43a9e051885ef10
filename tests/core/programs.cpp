#include "programs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/op.h"

namespace moriejit::test {
namespace {

double na_value() {
  const uint64_t bits = 0x7FF00000000007A2ULL;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double wild_number(Rng& rng) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double specials[] = {std::nan(""), na_value(), kInfinity, -kInfinity, 0.0,
                             -0.0,         5e-324,     1e308,     -1e308,     1.0};
  if (rng.chance(0.5)) return rng.spread(-3, 3);
  if (rng.chance(0.5)) return specials[rng.below(10)];
  return rng.spread(-1, 1) * std::pow(10, rng.spread(-200, 200));
}

double number(Rng& rng, bool tame) {
  return tame ? rng.spread(-2, 2) : wild_number(rng);
}

Buffer random_matrix(Rng& rng, Shape shape, bool tame) {
  // Not every matrix of a wild program is wild, or all results would be NaN.
  const bool all_tame = tame || rng.chance(0.6);
  return make_matrix(shape, [&] { return number(rng, all_tame); });
}

// Small sizes, 0 and 1 are where mistakes are.
int64_t random_size(Rng& rng) {
  const double u = rng.unit();
  if (u < 0.07) return 0;
  if (u < 0.3) return 1;
  return u < 0.8 ? rng.between(2, 6) : rng.between(7, 40);
}

// Functions of a host: keeps, doubles or squares, with a gradient or without.
class HostFunction : public Callable {
 public:
  enum Kind { kLine, kSquare, kTwice, kFirstColumn, kKinds };

  explicit HostFunction(Kind kind) : kind_(kind) {}

  Buffer call(const std::vector<View>& args) override {
    const View& x = args[0];
    const int64_t cols = kind_ == kTwice         ? 2 * x.shape.cols
                         : kind_ == kFirstColumn ? std::min<int64_t>(x.shape.cols, 1)
                                                 : x.shape.cols;
    int64_t at = 0;
    return make_matrix({x.shape.rows, cols}, [&] {
      const double v = x.data[at++ % x.shape.size()];
      return kind_ == kLine ? 3 * v - 1 : kind_ == kSquare ? v * v : v;
    });
  }

  std::shared_ptr<Callable> gradient() override;

 private:
  Kind kind_;
};

class HostGradient : public Callable {
 public:
  explicit HostGradient(HostFunction::Kind kind) : kind_(kind) {}

  Buffer call(const std::vector<View>& args) override {
    const View &x = args[0], &dy = args[1];
    int64_t at = 0;
    return make_matrix(x.shape, [&] {
      const int64_t k = at++;
      if (kind_ == HostFunction::kTwice) return dy.data[k] + dy.data[k + x.shape.size()];
      return kind_ == HostFunction::kLine ? 3 * dy.data[k] : 2 * x.data[k] * dy.data[k];
    });
  }

  std::shared_ptr<Callable> gradient() override { return nullptr; }

 private:
  HostFunction::Kind kind_;
};

std::shared_ptr<Callable> HostFunction::gradient() {
  if (kind_ == kFirstColumn) throw Error(ErrorKind::kUnsupported, "This function has no gradient.");
  return std::make_shared<HostGradient>(kind_);
}

Buffer random_field(Rng& rng, const Field& field, int64_t cols, bool tame) {
  if (field.role == Field::Role::kMatrix) return random_matrix(rng, {cols, random_size(rng)}, tame);
  const int64_t count = rng.chance(0.2) ? 1 : cols;
  const Shape shape = rng.chance(0.5) ? Shape{1, count} : Shape{count, 1};
  const Buffer drawn = random_matrix(rng, shape, tame);
  if (field.name != "var") return drawn;
  int64_t at = 0;
  return make_matrix(shape, [&] { return std::fabs(drawn.data.get()[at++]); });
}

double random_attr(Rng& rng, const Attr& attr) {
  const double low = std::max(attr.min, -2.0), high = std::min(attr.max, 2.0);
  if (attr.name == "training") return rng.chance(0.7) ? 1 : 0;
  if (rng.chance(0.2)) return rng.chance(0.5) ? low : high;
  return rng.spread(low, high);
}

// `*cols` is the width that flows in, then the width that flows out.
ListOp random_op(Rng& rng, int64_t* cols, bool tame) {
  std::vector<const Op*> choices;
  for (const Op& op : all_ops()) {
    if (!op.kind.empty()) choices.push_back(&op);
  }
  // Chains of products are what most of the compiler is about.
  const Op& op =
      rng.chance(0.35)
          ? *find_kind("linear")
          : *choices[static_cast<size_t>(rng.below(static_cast<int64_t>(choices.size())))];
  ListOp made;
  made.kind = op.kind;
  for (const Field& field : op.fields) {
    if (!field.required && rng.chance(0.4)) continue;
    const Buffer value = random_field(rng, field, *cols, tame);
    made.operands[field.name] = value;
    if (field.role == Field::Role::kMatrix) *cols = value.shape.cols;
  }
  for (const Attr& attr : op.attrs) {
    if (attr.in_lists && rng.chance(0.7)) made.numbers[attr.name] = random_attr(rng, attr);
  }
  if (op.calls_host) {
    const auto kind = static_cast<HostFunction::Kind>(rng.below(HostFunction::kKinds));
    made.callable = std::make_shared<HostFunction>(kind);
    if (kind == HostFunction::kTwice) *cols *= 2;
    if (kind == HostFunction::kFirstColumn) *cols = std::min<int64_t>(*cols, 1);
  }
  return made;
}

}  // namespace

Program random_program(Rng& rng) {
  Program program;
  program.tame = rng.chance(0.6);
  const Shape shape = {random_size(rng), random_size(rng)};
  program.x = random_matrix(rng, shape, program.tame);
  int64_t cols = shape.cols;
  for (int64_t n = rng.below(9); n > 0; --n) {
    const int64_t before = cols;
    ListOp op = random_op(rng, &cols, program.tame);
    const bool known = rng.chance(0.5) && cols <= 80;
    if (op.callable != nullptr && known) {
      op.callable_shape = Shape{shape.rows, cols};
    }
    if (cols > 80)
      cols = before;  // doubled too often: the op is left out
    else
      program.ops.push_back(std::move(op));
  }
  return program;
}

Buffer Program::other_x(int64_t rows, uint64_t seed) const {
  Rng rng(seed);
  return random_matrix(rng, {rows, x.shape.cols}, tame);
}

std::string describe(const Program& program) {
  std::string text = "x: " + to_string(program.x.shape) + (program.tame ? "" : ", wild") + "\n";
  for (const ListOp& op : program.ops) {
    text += "  " + op.kind;
    for (const auto& operand : op.operands) {
      text += " " + operand.first + ": " + to_string(operand.second.shape);
    }
    for (const auto& value : op.numbers)
      text += " " + value.first + ": " + number_text(value.second);
    text += op.callable_shape.has_value() ? " (its shape is given)\n" : "\n";
  }
  return text;
}

namespace {

// Grows a graph op by op and keeps a bound on the size of every value.
class GraphMaker {
 public:
  explicit GraphMaker(Rng& rng) : rng_(rng) {}

  Graph make() {
    for (int64_t n = rng_.between(1, 2); n > 0; --n) {
      builder_.input("x" + std::to_string(n), {sizes_[1], sizes_[static_cast<size_t>(n)]});
      note(1);
    }
    for (int64_t n = rng_.between(2, 5); n > 0; --n) add_constant();
    for (int64_t n = rng_.between(1, 12); n > 0; --n) add_op();
    for (int64_t n = rng_.between(1, 3); n > 0; --n) builder_.output(pick());
    if (rng_.chance(0.8)) builder_.output(builder_.graph().size() - 1);
    return builder_.take();
  }

 private:
  static constexpr double kExact = 1e15;  // whole numbers below 2^53 are exact

  void note(double bound) { bounds_.push_back(std::max(bound, 1.0)); }
  double bound(ValueId id) const { return bounds_[static_cast<size_t>(id)]; }

  ValueId pick() {
    const int64_t size = builder_.graph().size();
    // Often the newest, so that chains come about.
    return static_cast<ValueId>(rng_.chance(0.5) ? size - 1 : rng_.below(size));
  }

  void add_constant() {
    const Shape shape = {sizes_[static_cast<size_t>(rng_.below(4))],
                         sizes_[static_cast<size_t>(rng_.below(4))]};
    builder_.constant("c" + std::to_string(builder_.graph().size()), make_matrix(shape, [this] {
                        return static_cast<double>(rng_.between(-1, 1));
                      }));
    note(1);
  }

  void add_op() {
    static const char* const kNames[] = {
        "matmul", "matmul", "matmul", "add",      "sub",          "mul",      "neg",
        "relu",   "gt",     "where",  "row_sums", "uniform_like", "sum_like", "expand_like"};
    const Op& op = op_named(kNames[rng_.below(14)]);
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::vector<ValueId> args;
      for (int k = 0; k < op.arity; ++k) args.push_back(pick());
      std::vector<double> attrs;
      for (size_t k = 0; k < op.attrs.size(); ++k) attrs.push_back(rng_.chance(0.15) ? 1 : 0);
      if (fits(op, args, attrs)) return;
    }
  }

  bool fits(const Op& op, const std::vector<ValueId>& args, const std::vector<double>& attrs) {
    // Draws are no whole numbers: only their shapes are read.
    for (size_t k = 0; k < args.size(); ++k) {
      const bool is_draw = bound(args[k]) > kExact;
      const bool shape_only = op.random || (k == 1 && op.name == "expand_like");
      if (is_draw && !shape_only) return false;
    }
    const double made = new_bound(op, args);
    if (made > kExact && !op.random) return false;
    try {
      builder_.op(op, args, attrs);
    } catch (const Error&) {
      return false;  // shapes that do not go together
    }
    note(made);
    return true;
  }

  double new_bound(const Op& op, const std::vector<ValueId>& args) const {
    if (op.random) return 2 * kExact;
    const double a = bound(args[0]), b = args.size() > 1 ? bound(args[1]) : 1;
    // No graph is run with more than 8 rows, or has more columns.
    if (op.name == "matmul") return 8 * a * b;
    if (op.name == "row_sums" || op.name == "sum_like") return 64 * a;
    if (op.name == "mul") return a * b;
    return op.name == "gt" ? 1 : a + b + (args.size() > 2 ? bound(args[2]) : 0);
  }

  Rng& rng_;
  Builder builder_;
  std::vector<double> bounds_;
  const int64_t sizes_[4] = {rng_.between(0, 2), rng_.between(1, 4), rng_.between(1, 4), 1};
};

}  // namespace

Graph random_graph(Rng& rng) {
  return GraphMaker(rng).make();
}

std::vector<Buffer> whole_inputs(const Graph& graph, int64_t rows, uint64_t seed) {
  Rng rng(seed);
  std::vector<Buffer> inputs;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.node(id).shape;
    if (rows >= 0) shape.rows = rows;
    inputs.push_back(make_matrix(shape, [&] { return static_cast<double>(rng.between(-1, 1)); }));
  }
  return inputs;
}

}  // namespace moriejit::test
