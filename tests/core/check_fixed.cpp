// Plans of fixed shapes: random graphs with control flow, against the plain evaluator.
#include <algorithm>
#include <limits>

#include "checks.h"
#include "core/error.h"
#include "core/op.h"
#include "core/passes/pass.h"
#include "core/verify.h"

namespace moriejit::test {
namespace {

// Grows a graph from a pool of values; regions are grown the same way, one level deeper.
class Grower {
 public:
  Grower(Rng& rng, int64_t rows, int64_t cols) : rng_(rng), rows_(rows), cols_(cols) {}

  Graph graph() {
    Builder b;
    std::vector<ValueId> pool;
    for (const Shape shape : shapes()) pool.push_back(b.input("x" + name(b), shape));
    for (const Shape shape : shapes()) {
      if (!rng_.chance(0.5)) continue;
      pool.push_back(b.constant("c" + name(b), plain_matrix(shape, rng_.next())));
    }
    grow(b, pool, 0, rng_.between(1, 14));
    for (int64_t n = rng_.between(1, 4); n > 0; --n) b.output(any(pool));
    return b.take();
  }

 private:
  std::vector<Shape> shapes() const { return {{rows_, cols_}, {rows_, 1}, {1, cols_}, {1, 1}}; }
  static std::string name(const Builder& b) { return std::to_string(b.graph().size()); }

  // Rather a recent value.
  ValueId any(const std::vector<ValueId>& pool) {
    const auto n = static_cast<int64_t>(pool.size());
    const int64_t back = rng_.chance(0.6) ? rng_.below(std::min<int64_t>(n, 3)) : rng_.below(n);
    return pool[static_cast<size_t>(n - 1 - back)];
  }

  ValueId of_shape(const Builder& b, const std::vector<ValueId>& pool, Shape shape) {
    std::vector<ValueId> fitting;
    for (ValueId id : pool) {
      if (b.shape(id) == shape) fitting.push_back(id);
    }
    return any(fitting);
  }

  Shape any_shape() { return shapes()[static_cast<size_t>(rng_.below(4))]; }

  ValueId unary(Builder& b, ValueId x) {
    static const char* const kOps[] = {"neg", "relu", "tanh", "sigmoid", "cumsum", "uniform_like"};
    return b.op(kOps[rng_.below(6)], {x});
  }

  ValueId binary(Builder& b, ValueId x, ValueId y) {
    static const char* const kOps[] = {"add", "sub", "mul", "pmax", "gt"};
    return b.op(kOps[rng_.below(5)], {x, y});
  }

  ValueId other(Builder& b, ValueId x) {
    const Shape shape = b.shape(x);
    switch (rng_.below(5)) {
      case 0:
        return b.op("sum", {x});
      case 1:
        return b.op("row_sums", {x});
      case 2: {
        const ValueId flat = b.op("reshape", {x}, {static_cast<double>(shape.size()), 1});
        const ValueId changed = rng_.chance(0.7) ? b.op("neg", {flat}) : flat;
        return b.op("reshape", {changed},
                    {static_cast<double>(shape.rows), static_cast<double>(shape.cols)});
      }
      case 3:
        return b.op("transpose", {b.op("transpose", {x})});
      default: {
        if (shape.size() == 0) return b.op("transpose", {b.op("transpose", {x})});
        const double at = static_cast<double>(rng_.between(1, shape.size()));
        return b.op("assign", {x, b.scalar(at), b.scalar(rng_.spread(-2, 2))});
      }
    }
  }

  void grow(Builder& b, std::vector<ValueId>& pool, int depth, int64_t steps) {
    for (; steps > 0; --steps) {
      const ValueId x = any(pool);
      const double kind = rng_.unit();
      if (kind < 0.12 && depth < 3) {
        rng_.chance(0.5) ? branch(b, pool, depth) : loop(b, pool, depth);
      } else if (kind < 0.35) {
        pool.push_back(unary(b, x));
      } else if (kind < 0.75) {
        pool.push_back(binary(b, x, any(pool)));
      } else if (kind < 0.82) {
        pool.push_back(b.op("where", {x, any(pool), any(pool)}));
      } else {
        pool.push_back(other(b, x));
      }
    }
  }

  // Operands that have a value of every shape among them.
  std::vector<ValueId> operands(const Builder& b, const std::vector<ValueId>& pool) {
    std::vector<ValueId> args;
    for (const Shape shape : shapes()) args.push_back(of_shape(b, pool, shape));
    for (int64_t n = rng_.below(3); n > 0; --n) args.push_back(any(pool));
    return args;
  }

  std::vector<ValueId> inputs_for(Builder& inner, const Builder& b,
                                  const std::vector<ValueId>& args) {
    std::vector<ValueId> pool;
    for (ValueId arg : args) pool.push_back(inner.input("a" + name(inner), b.shape(arg)));
    return pool;
  }

  std::shared_ptr<const Graph> region(const Builder& b, const std::vector<ValueId>& args,
                                      const std::vector<Shape>& outputs, int depth) {
    Builder inner;
    std::vector<ValueId> pool = inputs_for(inner, b, args);
    grow(inner, pool, depth + 1, rng_.below(6));
    for (const Shape shape : outputs) inner.output(of_shape(inner, pool, shape));
    return std::make_shared<const Graph>(inner.take());
  }

  void branch(Builder& b, std::vector<ValueId>& pool, int depth) {
    const ValueId test = b.op("gt", {b.op("sum", {any(pool)}), b.scalar(0)});
    std::vector<ValueId> args = operands(b, pool);
    std::vector<Shape> outputs;
    for (int64_t n = rng_.between(1, 3); n > 0; --n) outputs.push_back(any_shape());
    const auto yes = region(b, args, outputs, depth), no = region(b, args, outputs, depth);
    args.insert(args.begin(), test);
    read(b, pool, b.control(op_named("if"), args, {yes, no}), outputs.size());
  }

  void loop(Builder& b, std::vector<ValueId>& pool, int depth) {
    std::vector<ValueId> args = operands(b, pool);
    args.insert(args.begin(), b.scalar(0));
    std::vector<Shape> states;
    for (int64_t n = rng_.between(1, static_cast<int64_t>(args.size())); n > 0; --n) {
      states.push_back(b.shape(args[states.size()]));
    }
    Builder test;
    const std::vector<ValueId> tested = inputs_for(test, b, args);
    test.output(test.op("gt", {test.scalar(static_cast<double>(rng_.below(4))), tested[0]}));
    auto body = std::make_shared<Graph>(*region(b, args, states, depth));
    Builder counting{*body};  // the first state is the counter
    const ValueId next = counting.op("add", {body->inputs[0], counting.scalar(1)});
    *body = counting.take();
    body->outputs[0] = next;
    const ValueId id =
        b.control(op_named("while"), args, {std::make_shared<const Graph>(test.take()), body},
                  {static_cast<double>(states.size())});
    read(b, pool, id, states.size());
  }

  void read(Builder& b, std::vector<ValueId>& pool, ValueId control, size_t results) {
    for (size_t k = 0; k < results; ++k) {
      if (rng_.chance(0.8)) pool.push_back(b.result(control, k));
    }
  }

  Rng& rng_;
  int64_t rows_, cols_;
};

struct Outcome {
  std::vector<Buffer> outputs;
  std::string error;
};

template <class F>
Outcome outcome_of(F f) {
  try {
    return {f(), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

void require_same(const Outcome& a, const Outcome& b, const std::string& what) {
  require(a.error == b.error, what + " ends otherwise: " + a.error + " / " + b.error);
  for (size_t k = 0; k < a.outputs.size(); ++k) {
    require(same_values(a.outputs[k].view(), b.outputs[k].view()),
            what + " gives another output " + std::to_string(k));
  }
}

Outcome run_of(const Plan& plan, const std::vector<Buffer>& inputs) {
  return outcome_of([&] {
    Workspace workspace;
    return run_all(plan, views_of(inputs), fresh_hooks(), workspace);
  });
}

// A run that is stopped leaves the plan usable.
void interrupt_fixed(const Plan& plan, const std::vector<Buffer>& inputs) {
  Hooks hooks = fresh_hooks();
  struct Stop {};
  hooks.poll = [] { throw Stop{}; };
  try {
    Workspace workspace;
    run_all(plan, views_of(inputs), hooks, workspace);
  } catch (const Stop&) {
  } catch (const Error&) {
  }
}

void check_graph(const Graph& graph, const std::vector<Buffer>& inputs) {
  verify(graph);
  require_none(check_round_trip(graph), "a graph with control flow");
  const Outcome expected = outcome_of([&] { return evaluate_outputs(graph, inputs); });
  const std::vector<Buffer> before = copies_of(inputs);
  const Plan fixed = make_plan(graph, true);
  require_same(expected, run_of(make_plan(graph), inputs), "a plan");
  for (const char* what : {"a fixed plan", "its second run"}) {
    require_same(expected, run_of(fixed, inputs), what);
    interrupt_fixed(fixed, inputs);
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    require(same_values(before[k].view(), inputs[k].view()), "a run changed its inputs");
  }
  PassContext context;
  const Graph after = run_passes(graph, context);
  if (!expected.error.empty()) return;  // what nobody reads may have been what failed
  require_same(expected, run_of(make_plan(after, true), inputs), "after passes a fixed plan");
}

}  // namespace

namespace {

// In one of three some elements are special: a condition may then be missing.
Buffer matrix_with_specials(Shape shape, Rng& rng) {
  static const double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(), -0.0, 0.0};
  const double share = rng.chance(0.33) ? 0.2 : 0;
  return make_matrix(
      shape, [&] { return rng.chance(share) ? kSpecial[rng.below(5)] : rng.spread(-2, 2); });
}

}  // namespace

void check_fixed(Rng& rng) {
  static const int64_t kRows[] = {0, 1, 2, 33, 40, 700}, kCols[] = {1, 2, 5};
  Grower grower(rng, kRows[rng.below(6)], kCols[rng.below(3)]);
  const Graph graph = grower.graph();
  std::vector<Buffer> inputs;
  for (ValueId id : graph.inputs) {
    inputs.push_back(matrix_with_specials(graph.node(id).shape, rng));
  }
  try {
    check_graph(graph, inputs);
  } catch (const Failure& failure) {
    throw Failure{failure.why + "\nthe graph:\n" + full_text(graph)};
  }
}

}  // namespace moriejit::test
