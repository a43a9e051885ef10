// What fixed plans do in particular cases: what is fused, what is written in place, and a run
// inside a run.
#include <algorithm>

#include "checks.h"
#include "core/fixed_plan.h"
#include "core/op.h"
#include "core/plan_text.h"

namespace moriejit::test {
namespace {

void require_text(const std::string& graph, const std::string& expected) {
  const std::string text = describe_plan(make_plan(parse_text(graph), true));
  require(text == expected, "a plan is described as\n" + text + "instead of\n" + expected);
}

void check_fusion() {
  require_text(R"(fn(x: f64[40,2], y: f64[40,1]) {
  const two: f64[1,1] = [2]
  %0 = mul(x, two) : f64[40,2]
  %1 = sum(y) : f64[1,1]
  %2 = add(%0, y) : f64[40,2]
  %3 = add(%2, %1) : f64[40,2]
  %4 = row_sums(%3) : f64[40,1]
  %5 = reshape(%4) {rows=1, cols=40} : f64[1,40]
  %6 = neg(%4) : f64[40,1]
  return %5, %6
}
)",
               R"(fn(x: f64[40,2], y: f64[40,1]) {
  %0 = sum(y) : f64[1,1]
  %1 = fused_1(x, y, %0) : f64[40,2]
  %2 = row_sums(%1) : f64[40,1]
  %3 = reshape(%2) {rows=1, cols=40} : f64[1,40]
  %4 = neg(%2) : f64[40,1]
  return %3, %4
}
fused_1(a, b, c): %0 = mul(a, 2); %1 = add(%0, b); %2 = add(%1, c); return %2
)");
}

void check_fusion_in_regions() {
  require_text(R"(fn(x: f64[3,1], n: f64[1,1]) {
  %0 = while(n, x) {states=2} : (f64[1,1], f64[3,1]) [
    fn(i: f64[1,1], a: f64[3,1]) {
      return i
    }
    fn(i: f64[1,1], a: f64[3,1]) {
      const one: f64[1,1] = [1]
      %0 = sub(i, one) : f64[1,1]
      %1 = mul(a, a) : f64[3,1]
      %2 = neg(%1) : f64[3,1]
      return %0, %2
    }
  ]
  %1 = result(%0) {index=1} : f64[3,1]
  %2 = mul(%1, %1) : f64[3,1]
  %3 = neg(%2) : f64[3,1]
  return %3
}
)",
               R"(fn(x: f64[3,1], n: f64[1,1]) {
  %0 = while(n, x) {states=2} : (f64[1,1], f64[3,1]) [
    fn(i: f64[1,1], a: f64[3,1]) {
      return i
    }
    fn(i: f64[1,1], a: f64[3,1]) {
      const one: f64[1,1] = [1]
      %0 = sub(i, one) : f64[1,1]
      %1 = fused_1(a) : f64[3,1]
      return %0, %1
    }
  ]
  %1 = result(%0) {index=1} : f64[3,1]
  %2 = fused_1(%1) : f64[3,1]
  return %2
}
fused_1(a): %0 = mul(a, a); %1 = neg(%0); return %1
)");
}

// A vector that a loop fills element by element, in a branch, is not copied at each turn.
void check_in_place() {
  const Graph graph = parse_text(R"(fn(x: f64[9,1]) {
  const one: f64[1,1] = [1]
  %0 = while(one, x) {states=2} : (f64[1,1], f64[9,1]) [
    fn(i: f64[1,1], a: f64[9,1]) {
      const end: f64[1,1] = [9.5]
      %0 = gt(end, i) : f64[1,1]
      return %0
    }
    fn(i: f64[1,1], a: f64[9,1]) {
      const one: f64[1,1] = [1]
      const odd: f64[1,1] = [4.5]
      %0 = gt(i, odd) : f64[1,1]
      %1 = if(%0, a, i) : (f64[9,1]) [
        fn(a: f64[9,1], i: f64[1,1]) {
          %0 = assign(a, i, i) : f64[9,1]
          return %0
        }
        fn(a: f64[9,1], i: f64[1,1]) {
          return a
        }
      ]
      %2 = result(%1) : f64[9,1]
      %3 = add(i, one) : f64[1,1]
      return %3, %2
    }
  ]
  %1 = result(%0) {index=1} : f64[9,1]
  return %1
}
)");
  const Plan plan = make_plan(graph, true);
  const FixedPlan& body = *plan.fixed->steps[0].control.second;
  require(body.home == std::vector<int>({0, 1}), "a loop does not make its states in place");
  require(body.arena_size <= 32, "a loop keeps a copy of its state");
}

// Runs the plan that it is called from, once.
class Again : public Callable {
 public:
  Buffer call(const std::vector<View>& args) override {
    Tensor out(args[0].shape);
    std::copy_n(args[0].data, args[0].shape.size(), out.data());
    if (!inside_) {
      inside_ = true;
      inner = run_one(*plan, {args[0]}, fresh_hooks());
      inside_ = false;
    }
    return out.buffer();
  }
  std::shared_ptr<Callable> gradient() override { return nullptr; }

  const Plan* plan = nullptr;
  Buffer inner;

 private:
  bool inside_ = false;
};

void check_run_in_run() {
  Builder b;
  const auto again = std::make_shared<Again>();
  const ValueId x = b.input("x", {600, 1}), y = b.op("mul", {x, x});
  const ValueId z = b.callback(op_named("callback"), again, {y}, {600, 1});
  b.output(b.op("sum", {b.op("add", {y, z})}));
  const Plan plan = make_plan(b.take(), true);
  again->plan = &plan;
  const Buffer input = make_matrix({600, 1}, [] { return 2.0; });
  for (int run = 0; run < 2; ++run) {
    const Buffer outer = run_one(plan, {input.view()}, fresh_hooks());
    require(*outer.data == 600 * 8 && *again->inner.data == 600 * 32,
            "a run inside a run changes what comes out");
  }
}

}  // namespace

void check_plans() {
  check_fusion();
  check_fusion_in_regions();
  check_in_place();
  check_run_in_run();
}

}  // namespace moriejit::test
