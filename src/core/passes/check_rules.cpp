#include "core/passes/check_rules.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/ops/na.h"
#include "core/reference.h"
#include "core/text.h"

namespace moriejit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// NaN or NA, not both: where they meet in an operation, R leaves open which comes out.
const std::vector<double>& special_values(bool with_na) {
  static const auto make = [](double missing) {
    return std::vector<double>{-0.0,   0.0,     missing, kInfinity, -kInfinity,
                               5e-324, -3e-310, 1e308,   -1e308,    1.0,
                               -1.0,   2.0,     -2.5,    1e-300,    2147483648.0};
  };
  static const std::vector<double> nan = make(kNaN), na = make(na_value());
  return with_na ? na : nan;
}

const std::vector<double>& powers_of_two() {
  static const std::vector<double> values = {2,        0.5,        -4,       1,
                                             0x1p1000, -0x1p-1000, 0x1p1022, 0x1p-1022};
  return values;
}

const std::vector<Shape>& shapes_tried() {
  static const int64_t n = static_cast<int64_t>(special_values(false).size());
  static const std::vector<Shape> shapes = {{1, 1}, {n, 1}, {1, n}, {n, n}, {0, 1}, {1, 0}};
  return shapes;
}

// The same bits; any NaN for any other, but NA for NA only.
bool same_value(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return is_na_value(a) == is_na_value(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// One graph for a pattern: `choice` picks shapes, attributes and values.
class Trial {
 public:
  Trial(const Term& term, int choice, int variant) : choice_(choice), variant_(variant) {
    b_.output(build(term));
  }

  int slots() const { return slots_; }
  int free_attrs() const { return free_attrs_; }
  Graph take() { return b_.take(); }
  std::vector<View> views() const {
    std::vector<View> views;
    for (const Buffer& input : inputs_) views.push_back(input.view());
    return views;
  }

 private:
  Shape next_shape() {
    const auto n = static_cast<int>(shapes_tried().size());
    const Shape shape = shapes_tried()[static_cast<size_t>(choice_ % n)];
    choice_ /= n;
    ++slots_;
    return shape;
  }

  Buffer filled(const std::vector<double>& values) {
    Tensor tensor(next_shape());
    const auto n = static_cast<int64_t>(values.size());
    for (int64_t i = 0; i < tensor.shape().size(); ++i) {
      // Another start in each column and for each operand, so that all pairs meet.
      const int64_t at = i + (slots_ + 1) * (i / n) + variant_ + 3 * slots_;
      tensor.data()[i] = values[static_cast<size_t>(at % n)];
    }
    return tensor.buffer();
  }

  ValueId input() {
    inputs_.push_back(filled(special_values((variant_ + variant_ / 16) % 2 == 1)));
    return b_.input("x" + std::to_string(slots_), inputs_.back().shape);
  }

  ValueId variable(char letter) {
    if (letter == 'P') return b_.constant("p", filled(powers_of_two()));
    if (letter == 'S') return b_.op("slice", {input()}, {0, 1, 1});
    if (letter == 'B') return b_.op("eq", {input(), b_.scalar(1)});
    if (letter == 'T') return b_.op("is_na", {input()});
    return input();
  }

  ValueId build(const Term& term) {
    if (term.kind == Term::Kind::kNumber) return b_.constant("k", filled({term.number}));
    if (term.kind == Term::Kind::kVariable) {
      const auto at = letters_.find(term.variable);
      if (at != letters_.end()) return at->second;
      return letters_[term.variable] = variable(term.variable);
    }
    std::vector<ValueId> args;
    for (const Term& arg : term.args) args.push_back(build(arg));
    return b_.op(*term.op, args, attrs_for(term, b_.shape(args[0])));
  }

  std::vector<double> attrs_for(const Term& term, Shape in) {
    const std::string& name = term.op->name;
    const bool shapes = name == "reshape" || name == "recycle";
    if (!shapes && name != "slice") return {};
    const auto n = static_cast<double>(in.size());
    int option = variant_;
    for (int k = 0; k < free_attrs_; ++k) option /= 4;
    ++free_attrs_;
    option %= 4;
    if (!shapes) {
      const std::vector<std::vector<double>> slices = {{0, 1, n},
                                                       {0, 1, std::floor(n / 2)},
                                                       {std::fmax(n - 1, 0), -1, n},
                                                       {1, 2, n > 2 ? 2. : 0}};
      return slices[static_cast<size_t>(option)];
    }
    const double more = n == 1 ? static_cast<double>(special_values(false).size()) : n;
    const double m = name == "recycle" ? more : n;
    const std::vector<std::vector<double>> sizes = {
        {m, 1},
        {1, m},
        {static_cast<double>(in.rows), static_cast<double>(in.cols)},
        {m, name == "recycle" ? 2. : 1.}};
    return sizes[static_cast<size_t>(option)];
  }

  Builder b_;
  int choice_, variant_, slots_ = 0, free_attrs_ = 0;
  std::map<char, ValueId> letters_;
  std::vector<Buffer> inputs_;
};

class RuleCheck {
 public:
  explicit RuleCheck(const Rule& rule)
      : rule_(rule), rules_({rule}), before_(parse_term(rule.before)) {}

  std::string run() {
    // With scalars everywhere a pattern always makes a graph; that tells how much there is to try.
    const Trial first(before_, 0, 0);
    int choices = 1;
    for (int k = 0; k < first.slots(); ++k) choices *= static_cast<int>(shapes_tried().size());
    const int variants = first.free_attrs() > 0 ? 64 : 30;
    for (int choice = 0; choice < choices; ++choice) {
      for (int variant = 0; variant < variants; ++variant) {
        const std::string wrong = try_one(choice, variant);
        if (!wrong.empty()) return rule_.before + " -> " + rule_.after + ": " + wrong;
      }
    }
    return fired_ ? "" : rule_.before + " -> " + rule_.after + ": never fires";
  }

 private:
  std::string try_one(int choice, int variant) {
    try {
      Trial trial(before_, choice, variant);
      const std::vector<View> inputs = trial.views();
      const Graph graph = trial.take();
      std::vector<std::string> notes;
      const Graph after = apply_rules(rules_, graph, &notes);
      if (notes.empty()) return "";
      fired_ = true;
      return compare(graph, after, inputs);
    } catch (const Error& error) {
      // Shapes that do not fit, or no elements where an op needs some, are no graphs to try.
      return error.kind() == ErrorKind::kInternal ? error.what() : "";
    }
  }

  static std::string compare(const Graph& graph, const Graph& after,
                             const std::vector<View>& inputs) {
    const Buffer x = output(graph, inputs), y = output(after, inputs);
    if (x.shape != y.shape) return to_string(x.shape) + " becomes " + to_string(y.shape);
    for (int64_t i = 0; i < x.shape.size(); ++i) {
      const double old_value = x.data.get()[i], new_value = y.data.get()[i];
      if (same_value(old_value, new_value)) continue;
      return number_text(old_value) + " becomes " + number_text(new_value);
    }
    return "";
  }

  static Buffer output(const Graph& graph, const std::vector<View>& inputs) {
    return evaluate(graph, inputs, Hooks())[static_cast<size_t>(graph.outputs[0])];
  }

  const Rule& rule_;
  RuleSet rules_;
  Term before_;
  bool fired_ = false;
};

}  // namespace

std::vector<std::string> check_rules(const std::vector<Rule>& rules) {
  std::vector<std::string> wrong;
  for (const Rule& rule : rules) {
    const std::string why = RuleCheck(rule).run();
    if (!why.empty()) wrong.push_back(why);
  }
  return wrong;
}

}  // namespace moriejit
