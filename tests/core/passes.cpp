// Passes on graphs that no file can hold, and the self-test of the rules:
//
//   passes [NODES]     long chains and diamonds; 100,000 nodes where no number is given
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "core/op.h"
#include "core/passes/check_rules.h"
#include "core/passes/pass.h"
#include "core/passes/simplify.h"
#include "core/verify.h"
#include "support.h"

namespace moriejit::test {
namespace {

constexpr double kMostSeconds = 10;  // for the whole pipeline, on graphs of 100,000 nodes

using Step = ValueId (*)(Builder&, ValueId, int);

Graph repeated(int count, Shape shape, Step step) {
  Builder b;
  ValueId value = b.input("x", shape);
  for (int k = 0; k < count; ++k) value = step(b, value, k);
  b.output(value);
  return b.take();
}

ValueId negate(Builder& b, ValueId x, int) {
  return b.op("neg", {x});
}

// Two readers of each value, which meet again: 2^n paths.
ValueId diamond(Builder& b, ValueId x, int) {
  return b.op("add", {b.op("exp", {x}), b.op("sqrt", {x})});
}

ValueId twins(Builder& b, ValueId x, int) {
  return b.op("sub", {b.op("sigmoid", {x}), b.op("sigmoid", {x})});
}

ValueId with_constants(Builder& b, ValueId x, int k) {
  return b.op("add", {x, b.scalar(k % 100)});
}

ValueId layer(Builder& b, ValueId x, int) {
  Tensor weights({2, 2}), shift({1, 2});
  for (int i = 0; i < 4; ++i) weights.data()[i] = i;
  shift.data()[0] = shift.data()[1] = 1;
  const ValueId product = b.op("matmul", {x, b.constant("w", weights.buffer())});
  return b.op("add", {product, b.constant("b", shift.buffer())});
}

ValueId squared(Builder& b, ValueId x, int k) {
  return b.op("matmul", {b.graph().inputs[0], x}, {k % 3 == 0 ? 1. : 0., 0});
}

ValueId turned(Builder& b, ValueId x, int) {
  return b.op("matmul", {b.op("transpose", {x}), x});
}

bool check_time(const char* name, int count, Shape shape, Step step) {
  const Graph graph = repeated(count, shape, step);
  const auto start = std::chrono::steady_clock::now();
  for (const bool exact : {false, true}) {
    PassContext context;
    context.exact = exact;
    verify(run_traced_passes(graph, context));
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const bool good = taken.count() / 2 <= kMostSeconds;
  std::printf("%s %s: %d nodes, %.2f s\n", good ? "ok" : "FAIL", name,
              static_cast<int>(graph.size()), taken.count() / 2);
  return good;
}

bool check_table(const std::vector<Rule>& rules, bool right) {
  const std::vector<std::string> wrong = check_rules(rules);
  const bool good = right ? wrong.empty() : wrong.size() == rules.size();
  std::printf("%s %d rules that are %s\n", good ? "ok" : "FAIL", static_cast<int>(rules.size()),
              right ? "right" : "wrong");
  for (const std::string& sentence : wrong) {
    if (!good) std::printf("  %s\n", sentence.c_str());
  }
  return good;
}

int run_checks(int nodes) {
  bool good = check_table(simplify_rules(), true);
  good = check_table({{"add(x, 0)", "x"}, {"mul(x, 0)", "0"}, {"sum(x)", "x"}}, false) && good;
  const Shape square{2, 2}, column{3, 1};
  good = check_time("chain", nodes, column, negate) && good;
  good = check_time("diamonds", nodes / 3, column, diamond) && good;
  good = check_time("twins", nodes / 3, column, twins) && good;
  good = check_time("constants", nodes / 2, column, with_constants) && good;
  good = check_time("layers", nodes / 4, square, layer) && good;
  good = check_time("products", nodes, square, squared) && good;
  good = check_time("transposes", nodes / 2, square, turned) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace moriejit::test

int main(int argc, char** argv) {
  try {
    return moriejit::test::run_checks(argc > 1 ? std::atoi(argv[1]) : 100000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "passes: %s\n", error.what());
    return 2;
  }
}
