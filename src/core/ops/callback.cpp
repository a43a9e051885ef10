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

  Op& gradient = r.add("callback_vjp");
  gradient.arity = 2;
  gradient.calls_host = true;
  gradient.shape_of_first = true;
  gradient.no_vjp = "the host gave no second derivative";
  gradient.cost = [](const std::vector<Shape>&, Shape) { return 0.0; };
  gradient.doc = "The gradient that the host gave for a callback: called with x and dy.";
}

}  // namespace moriejit
