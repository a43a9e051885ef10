// Rewrites as text, for passes that are tables of them: "neg(neg(x))" becomes "x".
//
//   term   := number | letter | "1/P" | op ["{" number or "*" {"," ...} "}"] "(" [terms] ")"
//
// A number stands for a constant all of whose elements have its bits. Each letter stands for a
// value; the same letter for the same value. A capital also says something of the value:
//
//   P   a constant of powers of two, whose reciprocals are exact, finite and normal
//   B   0, 1 or NaN          T   0 or 1          S   one element
//
// Attributes that a pattern does not give may be anything. In a replacement, `reshape` and
// `recycle` take the shape of what is replaced, and an op that is replaced by itself keeps its
// attributes. A rewrite that would change the shape does not fire.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/op.h"
#include "core/passes/rebuild.h"

namespace moriejit {

struct Term {
  enum class Kind { kOp, kNumber, kVariable, kReciprocal };
  Kind kind = Kind::kOp;
  const Op* op = nullptr;
  std::vector<std::optional<double>> attrs;  // as far as they are given
  std::vector<Term> args;
  double number = 0;
  char variable = 0;
};

struct Rule {
  std::string before, after;
};

// What a pattern's letters stand for.
class Bindings {
 public:
  Bindings() { values_.fill(kNoValue); }
  ValueId& operator[](char letter) { return values_[static_cast<size_t>(letter)]; }
  ValueId operator[](char letter) const { return values_[static_cast<size_t>(letter)]; }

 private:
  std::array<ValueId, 128> values_;
};

Term parse_term(const std::string& text);

// A table of rules, ready to use on the nodes of a graph that is being rebuilt.
class RuleSet {
 public:
  explicit RuleSet(const std::vector<Rule>& rules);

  // Adds the node, or what it is rewritten to; `fired` counts the rewrites, by rule.
  ValueId emit(Rebuild& rebuild, Node node, std::vector<int>* fired, int depth = 0) const;
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  struct Entry {
    Term before, after;
    size_t rule;
  };

  std::vector<Rule> rules_;
  std::unordered_map<const Op*, std::vector<Entry>> entries_;
};

// Rewrites a whole graph; the notes say how often each rule fired.
Graph apply_rules(const RuleSet& rules, const Graph& graph, std::vector<std::string>* notes);

}  // namespace moriejit
