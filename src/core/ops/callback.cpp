// Functions of the host language as opaque nodes. Plans run them through Callable, not through an
// evaluation, so these records have none.
#include "core/op.h"

namespace moriejit {

void register_callback(Registry& r) {
  Op& callback = r.add("callback");
  callback.kind = "callable";
  callback.calls_host = true;
  callback.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
    return {b.callback(op_named("callback_vjp"), v.callable->gradient(), {v.in[0], v.dy},
                       b.shape(v.in[0]))};
  };
  callback.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
  callback.doc =
      "An R function (of whichever language is the host): called with the matrix, gives a matrix.";

  // Calls of a traced program, of any number of values; the caller states the shape.
  for (const char* name : {"host", "random_call"}) {
    Op& host = r.add(name);
    host.arity = kVariadic;
    host.calls_host = true;
    host.random = name == std::string("random_call");
    host.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
    if (host.random) {
      host.no_vjp = "draws have no derivative";
    } else {
      host.vjp = [](Builder& b, const VjpArgs& v) -> std::vector<ValueId> {
        std::vector<ValueId> args = v.in;
        args.push_back(v.dy);
        std::vector<ValueId> grads(v.in.size(), kNoValue);
        if (grads.empty()) return grads;
        grads[0] = b.callback(op_named("host"), v.callable->gradient(), args, b.shape(v.in[0]));
        return grads;
      };
    }
    host.doc = host.random ? "Random draws by a function of the host."
                           : "A call of a function of the host with the values of all operands.";
  }

  Op& gradient = r.add("callback_vjp");
  gradient.arity = 2;
  gradient.calls_host = true;
  gradient.shape_of_first = true;
  gradient.no_vjp = "the host gave no second derivative";
  gradient.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
  gradient.doc = "The gradient that the host gave for a callback: called with x and dy.";
}

}  // namespace moriejit
