#include "core/passes/simplify.h"

namespace moriejit {
namespace {

void add_arithmetic(std::vector<Rule>* rules) {
  const std::vector<Rule> table = {
      {"mul(x, 1)", "x"},
      {"mul(1, x)", "x"},
      {"mul(x, -1)", "neg(x)"},
      {"mul(-1, x)", "neg(x)"},
      {"div(x, 1)", "x"},
      {"div(x, -1)", "neg(x)"},
      {"div(x, P)", "mul(x, 1/P)"},
      {"sub(x, 0)", "x"},
      {"add(x, -0)", "x"},
      {"add(-0, x)", "x"},
      {"neg(neg(x))", "x"},
      {"add(x, neg(y))", "sub(x, y)"},
      {"sub(x, neg(y))", "add(x, y)"},
      {"mul(neg(x), neg(y))", "mul(x, y)"},
      {"div(neg(x), neg(y))", "div(x, y)"},
      {"mul(abs(x), abs(x))", "mul(x, x)"},
      {"abs(neg(x))", "abs(x)"},
      {"pow(x, 2)", "mul(x, x)"},
      {"pow(x, 0)", "1"},
  };
  rules->insert(rules->end(), table.begin(), table.end());
}

// f(f(x)) is f(x).
void add_idempotent(std::vector<Rule>* rules) {
  for (const std::string op :
       {"abs", "sign", "floor", "ceiling", "trunc", "relu", "int_range", "round_single"}) {
    rules->push_back({op + "(" + op + "(x))", op + "(x)"});
  }
}

void add_selection(std::vector<Rule>* rules) {
  const std::vector<Rule> table = {
      {"not(not(B))", "B"},
      // With NA as the test the result is NA: only of what never is.
      {"where(T, x, x)", "x"},
      {"where(1, x, y)", "x"},
      {"where(0, x, y)", "y"},
      {"pmax(x, x)", "x"},
      {"pmin(x, x)", "x"},
      {"pmax(x, 0)", "relu(x)"},
      {"max(x)", "x"},
      {"min(x)", "x"},
      {"prod(x)", "x"},
  };
  rules->insert(rules->end(), table.begin(), table.end());
}

void add_shapes(std::vector<Rule>* rules) {
  const std::vector<Rule> table = {
      {"transpose(transpose(x))", "x"},
      {"reshape(x)", "x"},
      {"reshape(reshape(x))", "reshape(x)"},
      {"reshape(recycle(x))", "recycle(x)"},
      {"recycle(x)", "x"},
      {"recycle(reshape(x))", "recycle(x)"},
      {"slice{0,1,*}(x)", "reshape(x)"},
      {"slice(reshape(x))", "slice(x)"},
      {"gather(reshape(x), y)", "gather(x, y)"},
      {"concat(x)", "reshape(x)"},
      {"same_shape(x, y)", "x"},
      {"expand_like(x, y)", "x"},
  };
  rules->insert(rules->end(), table.begin(), table.end());
  for (const std::string op : {"sum", "mean", "prod", "max", "min", "all", "any", "which_max",
                               "which_min", "sort", "order"}) {
    rules->push_back({op + "(reshape(x))", op + "(x)"});
  }
}

// One element that is repeated only to meet a larger operand need not be.
void add_recycled(std::vector<Rule>* rules) {
  for (const std::string op : {"add", "sub", "mul", "div", "pow", "mod", "idiv", "eq", "ne", "lt",
                               "le", "gt", "ge", "and", "or", "pmax", "pmin"}) {
    rules->push_back({op + "(recycle(S), y)", op + "(S, y)"});
    rules->push_back({op + "(x, recycle(S))", op + "(x, S)"});
  }
}

}  // namespace

const std::vector<Rule>& simplify_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> table;
    add_arithmetic(&table);
    add_idempotent(&table);
    add_selection(&table);
    add_shapes(&table);
    add_recycled(&table);
    return table;
  }();
  return rules;
}

Graph simplify(const Graph& graph, PassContext& context) {
  static const RuleSet rules(simplify_rules());
  return apply_rules(rules, graph, &context.notes);
}

}  // namespace moriejit
