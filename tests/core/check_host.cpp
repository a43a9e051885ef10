// What a run asks of its host: functions to call, and whether to stop. The same for the evaluator,
// plans, and plans of fixed shapes.
#include <functional>

#include "checks.h"
#include "core/error.h"
#include "core/op.h"
#include "core/reference.h"

namespace moriejit::test {
namespace {

using Way = std::function<void(const Graph&, const std::vector<Buffer>&, const Hooks&)>;

void run_by(const Plan& plan, const std::vector<Buffer>& inputs, const Hooks& hooks) {
  Workspace workspace;
  run_all(plan, views_of(inputs), hooks, workspace);
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      [](const Graph& graph, const std::vector<Buffer>& inputs, const Hooks& hooks) {
        evaluate(graph, views_of(inputs), hooks);
      },
      [](const Graph& graph, const std::vector<Buffer>& inputs, const Hooks& hooks) {
        run_by(make_plan(graph), inputs, hooks);
      },
      [](const Graph& graph, const std::vector<Buffer>& inputs, const Hooks& hooks) {
        run_by(make_plan(graph, true), inputs, hooks);
      }};
  return all;
}

// Gives what it was told to, and counts its calls.
class Stub : public Callable {
 public:
  explicit Stub(Buffer value) : value_(std::move(value)) {}
  Buffer call(const std::vector<View>&) override {
    ++calls;
    return value_;
  }
  std::shared_ptr<Callable> gradient() override { return nullptr; }

  int calls = 0;

 private:
  Buffer value_;
};

Graph calling(const std::shared_ptr<Callable>& callable, Shape stated) {
  Builder b;
  const ValueId x = b.input("x", {3, 1});
  b.output(b.callback(op_named("host"), callable, {x}, stated));
  return b.take();
}

bool is_callable_error(const Way& way, const Graph& graph, const std::vector<Buffer>& inputs) {
  try {
    way(graph, inputs, fresh_hooks());
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kCallable;
  }
  return false;
}

void check_calls() {
  const std::vector<Buffer> inputs = {plain_matrix({3, 1}, 1)};
  for (const Way& way : ways()) {
    const auto silent = std::make_shared<Stub>(Buffer{{0, 1}, nullptr});
    way(calling(silent, {0, 1}), inputs, fresh_hooks());
    require(silent->calls == 1, "a call for its effect was not made once");
    for (const Buffer& wrong : {plain_matrix({2, 1}, 1), plain_matrix({1, 3}, 1),
                                Buffer{{3, 1}, nullptr}, Buffer{{0, 1}, nullptr}}) {
      const Graph graph = calling(std::make_shared<Stub>(wrong), {3, 1});
      require(is_callable_error(way, graph, inputs), "a call of another shape is no error");
    }
  }
}

void check_endless_loop() {
  const Graph graph = parse_text(R"(fn(x: f64[1,1]) {
  %0 = while(x) {states=1} : (f64[1,1]) [
    fn(x: f64[1,1]) {
      const yes: f64[1,1] = [1]
      return yes
    }
    fn(x: f64[1,1]) {
      return x
    }
  ]
  %1 = result(%0) : f64[1,1]
  return %1
}
)");
  struct Stop {};
  for (const Way& way : ways()) {
    Hooks hooks = fresh_hooks();
    hooks.poll = [] { throw Stop{}; };
    bool stopped = false;
    try {
      way(graph, {plain_matrix({1, 1}, 1)}, hooks);
    } catch (const Stop&) {
      stopped = true;
    }
    require(stopped, "a loop without end can't be stopped");
  }
}

}  // namespace

void check_host() {
  check_calls();
  check_endless_loop();
}

}  // namespace moriejit::test
