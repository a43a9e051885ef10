#include "core/passes/rules.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <set>

#include "core/error.h"

namespace moriejit {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Term whole() {
    Term term = next();
    MORIEJIT_CHECK(at_ == text_.size());
    return term;
  }

 private:
  bool take(const char* what) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (text_.compare(at_, std::strlen(what), what) != 0) return false;
    at_ += std::strlen(what);
    return true;
  }

  double number() {
    size_t used = 0;
    const double value = std::stod(text_.substr(at_), &used);
    at_ += used;
    return value;
  }

  Term next() {
    Term term;
    if (take("1/P")) {
      term.kind = Term::Kind::kReciprocal;
      return term;
    }
    take(" ");
    if (std::isalpha(static_cast<unsigned char>(text_[at_])) == 0) {
      term.kind = Term::Kind::kNumber;
      term.number = number();
      return term;
    }
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) != 0 || text_[at_] == '_')) ++at_;
    const std::string name = text_.substr(start, at_ - start);
    if (name.size() == 1) {
      term.kind = Term::Kind::kVariable;
      term.variable = name[0];
      return term;
    }
    term.op = &op_named(name);
    if (take("{")) parse_attrs(&term);
    MORIEJIT_CHECK(take("("));
    do term.args.push_back(next());
    while (take(","));
    MORIEJIT_CHECK(take(")"));
    return term;
  }

  void parse_attrs(Term* term) {
    do {
      term->attrs.emplace_back();
      if (!take("*")) term->attrs.back() = number();
    } while (take(","));
    MORIEJIT_CHECK(take("}"));
  }

  const std::string& text_;
  size_t at_ = 0;
};

bool same_number(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class F>
bool constant_of(const Node& node, F f) {
  if (node.kind != NodeKind::kConstant || node.data == nullptr || node.shape.size() == 0) {
    return false;
  }
  return std::all_of(node.data.get(), node.data.get() + node.shape.size(), f);
}

bool has_exact_reciprocal(double value) {
  int exponent;
  return std::isnormal(1 / value) && std::fabs(std::frexp(value, &exponent)) == 0.5;
}

bool is_one_of(const Node& node, const std::set<std::string>& names) {
  return node.kind == NodeKind::kOp && names.count(node.op->name) > 0;
}

bool fits_letter(const Node& node, char letter) {
  static const std::set<std::string> never_na = {"is_na", "is_nan", "is_finite", "is_infinite"};
  static const std::set<std::string> logical = {"eq", "ne",  "lt",  "le",  "gt",  "ge",
                                                "or", "and", "xor", "not", "all", "any"};
  switch (letter) {
    case 'P':
      return constant_of(node, has_exact_reciprocal);
    case 'T':
      return is_one_of(node, never_na);
    case 'B':
      return is_one_of(node, never_na) || is_one_of(node, logical);
    case 'S':
      return node.shape == Shape{1, 1};
    default:
      return true;
  }
}

bool match_node(const Graph& graph, const Node& node, const Term& term, Bindings& bound);

bool match_value(const Graph& graph, ValueId id, const Term& term, Bindings& bound) {
  const Node& node = graph.node(id);
  if (term.kind == Term::Kind::kOp) return match_node(graph, node, term, bound);
  if (term.kind == Term::Kind::kNumber) {
    return constant_of(node, [&](double value) { return same_number(value, term.number); });
  }
  if (bound[term.variable] != kNoValue) return bound[term.variable] == id;
  bound[term.variable] = id;
  return fits_letter(node, term.variable);
}

bool match_node(const Graph& graph, const Node& node, const Term& term, Bindings& bound) {
  if (node.kind != NodeKind::kOp || node.op != term.op) return false;
  if (node.args.size() != term.args.size()) return false;
  for (size_t i = 0; i < term.attrs.size(); ++i) {
    if (term.attrs[i] && !same_number(*term.attrs[i], node.attrs[i])) return false;
  }
  for (size_t i = 0; i < term.args.size(); ++i) {
    if (!match_value(graph, node.args[i], term.args[i], bound)) return false;
  }
  return true;
}

// Makes what a node is replaced by.
class Replacement {
 public:
  Replacement(const RuleSet& rules, Rebuild& rebuild, const Node& root, const Bindings& bound,
              std::vector<int>* fired, int depth)
      : rules_(rules),
        rebuild_(rebuild),
        root_(root),
        bound_(bound),
        fired_(fired),
        depth_(depth) {}

  bool keeps_shape(const Term& term) const {
    try {
      return shape_of(term) == root_.shape;
    } catch (const Error&) {  // operands that do not fit
      return false;
    }
  }

  ValueId build(const Term& term) const {
    switch (term.kind) {
      case Term::Kind::kVariable:
        return bound_[term.variable];
      case Term::Kind::kNumber:
        return rebuild_.builder().scalar(term.number);
      case Term::Kind::kReciprocal:
        return reciprocal();
      case Term::Kind::kOp:
        break;
    }
    Node node;
    node.op = term.op;
    node.attrs = attrs_of(term);
    node.origin = root_.origin;
    for (const Term& arg : term.args) node.args.push_back(build(arg));
    return rules_.emit(rebuild_, std::move(node), fired_, depth_ + 1);
  }

 private:
  Shape shape_of(const Term& term) const {
    if (term.kind == Term::Kind::kVariable)
      return rebuild_.graph().node(bound_[term.variable]).shape;
    if (term.kind == Term::Kind::kReciprocal) return rebuild_.graph().node(bound_['P']).shape;
    if (term.kind == Term::Kind::kNumber) return {1, 1};
    std::vector<Shape> shapes;
    for (const Term& arg : term.args) shapes.push_back(shape_of(arg));
    return term.op->shape(shapes, attrs_of(term).data());
  }

  std::vector<double> attrs_of(const Term& term) const {
    if (term.op->name == "reshape" || term.op->name == "recycle") {
      return {static_cast<double>(root_.shape.rows), static_cast<double>(root_.shape.cols)};
    }
    std::vector<double> attrs;
    for (size_t i = 0; i < term.op->attrs.size(); ++i) {
      const bool given = i < term.attrs.size() && term.attrs[i];
      attrs.push_back(given                 ? *term.attrs[i]
                      : term.op == root_.op ? root_.attrs[i]
                                            : term.op->attrs[i].default_value);
    }
    return attrs;
  }

  ValueId reciprocal() const {
    const Node& node = rebuild_.graph().node(bound_['P']);
    Tensor value(node.shape);
    std::transform(node.data.get(), node.data.get() + node.shape.size(), value.data(),
                   [](double x) { return 1 / x; });
    return rebuild_.builder().constant("r_" + node.name, value.buffer());
  }

  const RuleSet& rules_;
  Rebuild& rebuild_;
  const Node& root_;
  const Bindings& bound_;
  std::vector<int>* fired_;
  int depth_;
};

}  // namespace

Term parse_term(const std::string& text) {
  return Parser(text).whole();
}

RuleSet::RuleSet(const std::vector<Rule>& rules) : rules_(rules) {
  for (size_t k = 0; k < rules_.size(); ++k) {
    Term before = parse_term(rules_[k].before);
    const Op* op = before.op;
    entries_[op].push_back({std::move(before), parse_term(rules_[k].after), k});
  }
}

ValueId RuleSet::emit(Rebuild& rebuild, Node node, std::vector<int>* fired, int depth) const {
  constexpr int kDeepest = 100;  // deeper than any table goes whose rules do not undo each other
  MORIEJIT_CHECK(depth < kDeepest);
  const auto found = node.kind == NodeKind::kOp ? entries_.find(node.op) : entries_.end();
  if (found == entries_.end()) return rebuild.builder().copy(std::move(node));
  node.shape = infer_shape(rebuild.graph(), node);
  for (const Entry& entry : found->second) {
    Bindings bound;
    if (!match_node(rebuild.graph(), node, entry.before, bound)) continue;
    const Replacement replacement(*this, rebuild, node, bound, fired, depth);
    if (!replacement.keeps_shape(entry.after)) continue;
    ++(*fired)[entry.rule];
    return replacement.build(entry.after);
  }
  return rebuild.builder().copy(std::move(node));
}

Graph apply_rules(const RuleSet& rules, const Graph& graph, std::vector<std::string>* notes) {
  Rebuild rebuild(graph);
  std::vector<int> fired(rules.rules().size(), 0);
  for (ValueId id = 0; id < graph.size(); ++id) {
    rebuild.replace(id, rules.emit(rebuild, rebuild.renamed(id), &fired));
  }
  for (size_t k = 0; k < fired.size(); ++k) {
    if (fired[k] == 0) continue;
    const Rule& rule = rules.rules()[k];
    notes->push_back(rule.before + " -> " + rule.after + ": " + std::to_string(fired[k]));
  }
  return rebuild.finish();
}

}  // namespace moriejit
