// Control flow: nodes that run other graphs, their regions, and nothing but what the program asks
// for. The executor runs them; these records have no evaluation of their own.
#include "core/op.h"

namespace moriejit {
namespace {

constexpr double kMost = 2147483647;

Op& control(Registry& r, const char* name) {
  Op& op = r.add(name);
  op.arity = kVariadic;
  op.runs_regions = true;
  op.may_fail = true;
  op.shape = [](const std::vector<Shape>&, const double*) { return Shape{0, 0}; };
  op.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
  op.no_vjp = "it is built from the regions, not from a rule";
  return op;
}

}  // namespace

void register_control(Registry& r) {
  Op& branch = control(r, "if");
  branch.doc =
      "Runs its first region where the first operand is not 0, else the second, on the other "
      "operands; an error where it is NaN.";

  Op& loop = control(r, "while");
  loop.attrs = {{"states", 0, 0, kMost}};
  loop.doc =
      "While the first region gives something else than 0, the second makes new states of the old "
      "ones. Both read all operands, of which the first `states` are the states.";

  Op& result = r.add("result");
  result.projects = true;
  result.attrs = {{"index", 0, 0, kMost}};
  result.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
  result.no_vjp = "it is built from the regions, not from a rule";
  result.doc = "One of the values that a node of control flow gives.";
}

}  // namespace moriejit
