// Random draws, and dropout, which is a plain function of its draws: so it has a derivative, and
// only one op is random.
#include "core/error.h"
#include "core/op.h"
#include "core/ops/expr.h"

namespace moriejit {

void register_random(Registry& r) {
  Op& uniform = r.add("uniform_like");
  uniform.shape = [](const std::vector<Shape>& in, const double*) { return in[0]; };
  uniform.eval = [](const EvalArgs& a) { a.hooks.uniform(a.out, a.shape.size()); };
  uniform.cost = [](const std::vector<Shape>&, Shape out) {
    return 5 * static_cast<double>(out.size());
  };
  uniform.no_vjp = "draws do not depend on the values of the operand";
  uniform.shape_of_first = uniform.random = true;
  uniform.doc = "Draws from the host's generator, uniform on (0, 1), in the shape of the operand.";

  Op& dropout = r.add("dropout");
  dropout.kind = "dropout";
  dropout.arity = 2;
  dropout.attrs = {{"p", 0.5, 0, 1}, {"training", 0, 0, 1, true}};
  dropout.lower = [](Builder& b, const Op& op, const std::vector<ValueId>& args,
                     const std::vector<double>& attrs) {
    if (attrs[1] == 0) return args[0];
    return b.op(op, {args[0], b.op("uniform_like", {args[0]})}, attrs);
  };
  dropout.shape = [](const std::vector<Shape>& in, const double*) {
    if (in[1] == in[0]) return in[0];
    throw Error(ErrorKind::kShape,
                "Draws must have the shape of what they drop from, " + to_string(in[0]) + ".",
                "They are " + to_string(in[1]) + ".");
  };
  dropout.eval = [](const EvalArgs& a) {
    const double p = a.attrs[0], keep = 1 - p;
    for (int64_t i = 0; i < a.shape.size(); ++i) {
      a.out[i] = a.in[1].data[i] < p ? 0 : a.in[0].data[i] / keep;
    }
  };
  dropout.cost = [](const std::vector<Shape>&, Shape out) {
    return static_cast<double>(out.size());
  };
  dropout.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.op("dropout", {v.dy, v.in[1]}, v.attrs), kNoValue};
  };
  dropout.elementwise = dropout.in_place = dropout.shape_of_first = true;
  dropout.doc =
      "0 with probability p, else x / (1 - p), where training is TRUE (inverted dropout); the "
      "identity otherwise.";
}

}  // namespace moriejit
