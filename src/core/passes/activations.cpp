#include "core/passes/activations.h"

#include "core/passes/rules.h"

namespace moriejit {
namespace {

const RuleSet& formulas() {
  static const RuleSet rules({
      {"div(1, add(1, exp(neg(x))))", "sigmoid(x)"},
      {"div(1, add(exp(neg(x)), 1))", "sigmoid(x)"},
      {"div(1, add(1, exp(x)))", "sigmoid(neg(x))"},
      {"div(1, add(exp(x), 1))", "sigmoid(neg(x))"},
      {"div(exp(x), add(1, exp(x)))", "sigmoid(x)"},
      {"div(exp(x), add(exp(x), 1))", "sigmoid(x)"},
      {"log(add(1, exp(x)))", "softplus(x)"},
      {"log(add(exp(x), 1))", "softplus(x)"},
      {"log1p(exp(x))", "softplus(x)"},
      {"log(sigmoid(x))", "neg(softplus(neg(x)))"},
      {"log(sub(1, sigmoid(x)))", "neg(softplus(x))"},
      {"div(x, add(1, exp(neg(x))))", "silu(x)"},
      {"div(x, add(exp(neg(x)), 1))", "silu(x)"},
      {"mul(x, sigmoid(x))", "silu(x)"},
      {"mul(sigmoid(x), x)", "silu(x)"},
      {"mul(x, pnorm(x))", "gelu(x)"},
      {"mul(pnorm(x), x)", "gelu(x)"},
      {"neg(neg(x))", "x"},
  });
  return rules;
}

}  // namespace

Graph activations(const Graph& graph, PassContext& context) {
  if (context.exact) return graph;
  return apply_rules(formulas(), graph, &context.notes);
}

}  // namespace moriejit
