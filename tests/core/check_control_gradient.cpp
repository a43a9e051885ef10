// Derivatives of control flow, against differences of values.
#include <cmath>

#include "checks.h"
#include "core/error.h"
#include "core/grad.h"
#include "core/op.h"
#include "core/passes/pass.h"

namespace moriejit::test {
namespace {

// A loop over powers of the state, with a branch in it that one of the inputs decides.
const char* const kLoop = R"(fn(x: f64[3,1], w: f64[1,1], n: f64[1,1]) {
  const one: f64[1,1] = [1]
  %0 = while(x, one, w, n) {states=2} : (f64[3,1], f64[1,1]) [
    fn(a: f64[3,1], i: f64[1,1], w: f64[1,1], n: f64[1,1]) {
      %0 = gt(n, i) : f64[1,1]
      return %0
    }
    fn(a: f64[3,1], i: f64[1,1], w: f64[1,1], n: f64[1,1]) {
      const one: f64[1,1] = [1]
      const two: f64[1,1] = [2.5]
      %0 = mul(a, w) : f64[3,1]
      %1 = tanh(%0) : f64[3,1]
      %2 = gt(i, two) : f64[1,1]
      %3 = if(%2, %1, a, w) : (f64[3,1], f64[1,1]) [
        fn(t: f64[3,1], a: f64[3,1], w: f64[1,1]) {
          %0 = add(t, a) : f64[3,1]
          return %0, w
        }
        fn(t: f64[3,1], a: f64[3,1], w: f64[1,1]) {
          %0 = mul(t, t) : f64[3,1]
          %1 = mul(w, w) : f64[1,1]
          return %0, %1
        }
      ]
      %4 = result(%3) : f64[3,1]
      %5 = result(%3) {index=1} : f64[1,1]
      %6 = mul(%4, %5) : f64[3,1]
      %7 = add(i, one) : f64[1,1]
      return %6, %7
    }
  ]
  %1 = result(%0) : f64[3,1]
  %2 = mul(%1, x) : f64[3,1]
  return %2
}
)";

// States that pass on to one another, and a value that a branch gives twice.
const char* const kStates = R"(fn(x: f64[2,1], w: f64[2,1], n: f64[1,1]) {
  const zero: f64[1,1] = [0]
  const start: f64[2,1] = [0.5, 0.25]
  %0 = gt(n, zero) : f64[1,1]
  %1 = while(zero, x, start, n, w) {states=3} : (f64[1,1], f64[2,1], f64[2,1]) [
    fn(i: f64[1,1], a: f64[2,1], b: f64[2,1], n: f64[1,1], w: f64[2,1]) {
      %0 = gt(n, i) : f64[1,1]
      return %0
    }
    fn(i: f64[1,1], a: f64[2,1], b: f64[2,1], n: f64[1,1], w: f64[2,1]) {
      const one: f64[1,1] = [1]
      %0 = add(i, one) : f64[1,1]
      %1 = mul(a, w) : f64[2,1]
      %2 = add(%1, b) : f64[2,1]
      return %0, b, %2
    }
  ]
  %2 = result(%1) {index=2} : f64[2,1]
  %3 = if(%0, %2, x) : (f64[2,1], f64[2,1]) [
    fn(a: f64[2,1], x: f64[2,1]) {
      %0 = mul(a, x) : f64[2,1]
      return %0, %0
    }
    fn(a: f64[2,1], x: f64[2,1]) {
      return a, x
    }
  ]
  %4 = result(%3) : f64[2,1]
  %5 = result(%3) {index=1} : f64[2,1]
  %6 = mul(%4, %5) : f64[2,1]
  return %6
}
)";

double sum_of(const Graph& graph, const std::vector<Buffer>& inputs) {
  const Buffer value = evaluate_outputs(graph, inputs)[0];
  double sum = 0;
  for (int64_t i = 0; i < value.shape.size(); ++i) sum += value.data.get()[i];
  return sum;
}

double slope(const Graph& graph, std::vector<Buffer> inputs, size_t which, int64_t element) {
  constexpr double kStep = 1e-5;
  double sums[2];
  for (const int side : {0, 1}) {
    std::vector<Buffer> moved = copies_of(inputs);
    double* values = const_cast<double*>(moved[which].data.get());
    values[element] += side == 0 ? -kStep : kStep;
    sums[side] = sum_of(graph, moved);
  }
  return (sums[1] - sums[0]) / (2 * kStep);
}

void check_case(const std::string& text, double turns, bool tidied) {
  const Graph graph = parse_text(text);
  std::vector<Buffer> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(plain_matrix(graph.node(id).shape, 11));
  inputs.back() = make_matrix({1, 1}, [turns] { return turns; });
  Graph joint = vjp_graph(graph, {graph.inputs[0], graph.inputs[1]}, true);
  PassContext context;
  if (tidied) joint = run_passes(joint, context);
  Workspace workspace;
  const std::vector<Buffer> got =
      run_all(make_plan(joint, true), views_of(inputs), fresh_hooks(), workspace);
  for (const size_t which : {size_t{0}, size_t{1}}) {
    for (int64_t i = 0; i < inputs[which].shape.size(); ++i) {
      const double expected = slope(graph, inputs, which, i), found = got[which + 1].data.get()[i];
      require(std::fabs(expected - found) <= 1e-6 * (1 + std::fabs(expected)),
              "the derivative of control flow is " + number_text(found) + ", not " +
                  number_text(expected) + ", after " + number_text(turns) + " turns of\n" + text);
    }
  }
}

// What is run again must give the same again.
void check_draws_refused() {
  const Graph graph = parse_text(R"(fn(x: f64[1,1]) {
  %0 = if(x, x) : (f64[1,1]) [
    fn(a: f64[1,1]) {
      %0 = uniform_like(a) : f64[1,1]
      %1 = mul(a, %0) : f64[1,1]
      return %1
    }
    fn(a: f64[1,1]) {
      return a
    }
  ]
  %1 = result(%0) : f64[1,1]
  return %1
}
)");
  try {
    vjp_graph(graph, graph.inputs, true);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kUnsupported, error.what());
    return;
  }
  require(false, "control flow that draws has a derivative");
}

}  // namespace

void check_control_gradients() {
  for (const char* text : {kLoop, kStates}) {
    for (const double turns : {-1.0, 1.0, 2.0, 4.0, 7.0}) {
      check_case(text, turns, false);
      check_case(text, turns, true);
    }
  }
  check_draws_refused();
}

}  // namespace moriejit::test
