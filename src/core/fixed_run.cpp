// Runs fixed plans.
#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/exec.h"
#include "core/fixed_plan.h"
#include "core/frame.h"
#include "core/hooks.h"

namespace moriejit {
namespace {

// The plan's own frame, or a new one where a run of the plan is under way.
class Lease {
 public:
  explicit Lease(const FixedPlan& plan) : plan_(plan), frame_(std::move(plan.spare)) {
    if (frame_ == nullptr) frame_ = std::make_unique<Frame>(plan);
  }
  ~Lease() {
    frame_->given.clear();
    plan_.spare = std::move(frame_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Frame& frame() { return *frame_; }

 private:
  const FixedPlan& plan_;
  std::unique_ptr<Frame> frame_;
};

class FixedRun {
 public:
  explicit FixedRun(const Hooks& hooks) : hooks_(hooks) {}

  void run(const FixedPlan& plan, const double* const* inputs, double* const* results) {
    Lease lease(plan);
    Frame& frame = lease.frame();
    for (const auto& place : plan.in_input) {
      // Written to only where the caller gave the same place for a result.
      frame.at[static_cast<size_t>(place.first)] = const_cast<double*>(inputs[place.second]);
    }
    for (const auto& place : plan.in_result) {
      frame.at[static_cast<size_t>(place.first)] = results[place.second];
    }
    const FixedStep* now = nullptr;
    try {
      for (const FixedStep& step : plan.steps) {
        now = &step;
        run_step(plan, step, frame);
      }
    } catch (Error& error) {
      error.locate(place_of(*plan.graph, now->id));
      throw;
    }
    for (const auto& copy : plan.copies) {
      const int64_t size = plan.graph->node(plan.graph->outputs[copy.second]).shape.size();
      move(at(frame, copy.first), results[copy.second], size);
    }
  }

 private:
  static double* at(const Frame& frame, int value) { return frame.at[static_cast<size_t>(value)]; }

  static void move(const double* from, double* to, int64_t size) {
    if (from != to) std::copy_n(from, size, to);
  }

  // Asks about an interrupt after about every millisecond of work.
  void poll(double cost) {
    constexpr double kStep = 100, kMillisecond = 2e6;
    work_ += cost + kStep;
    if (work_ < kMillisecond || !hooks_.poll) return;
    work_ = 0;
    hooks_.poll();
  }

  void run_step(const FixedPlan& plan, const FixedStep& step, Frame& frame) {
    switch (step.kind) {
      case StepKind::kGroup:
        run_group(step, frame);
        return;  // which polls by itself
      case StepKind::kOp:
        run_op(step, frame);
        break;
      case StepKind::kHost:
        run_host(plan, step, frame);
        break;
      case StepKind::kControl:
        if (step.control.branch) {
          run_branch(step.control, frame);
        } else {
          run_loop(step.control, frame);
        }
    }
    poll(step.cost);
  }

  void run_group(const FixedStep& step, const Frame& frame) {
    const Group& group = step.group;
    const int64_t size = group.shape.size();
    if (size == 0) return;
    const double cost = step.cost / static_cast<double>(size);
    for (int64_t j = 0; j < group.shape.cols; ++j) {
      for (int64_t i = 0; i < group.shape.rows; i += group.block) {
        const int64_t n = std::min(group.block, group.shape.rows - i);
        for (const GroupMember& member : group.members) run_member(group, member, frame, i, j, n);
        poll(cost * static_cast<double>(n));
      }
    }
  }

  static void run_member(const Group& group, const GroupMember& member, const Frame& frame,
                         int64_t i, int64_t j, int64_t n) {
    std::array<const double*, kMostLoopOperands> in;
    const GroupOperand* operand = group.operands.data() + member.first;
    for (size_t k = 0; k < member.operands; ++k) {
      const Reach reach = operand[k].reach;
      in[k] = at(frame, operand[k].value) + i * reach.down + j * reach.along;
    }
    double* out = at(frame, member.out) + i * member.reach.down + j * member.reach.along;
    member.loop(in.data(), group.steps.data() + member.first, out, n,
                group.attrs.data() + member.attrs);
  }

  static const View* operands(const FixedStep& step, Frame& frame) {
    View* views = frame.views.data() + step.views;
    for (size_t k = 0; k < step.operands.size(); ++k) views[k].data = at(frame, step.operands[k]);
    return views;
  }

  void run_op(const FixedStep& step, Frame& frame) {
    if (step.op->random) MORIEJIT_CHECK(hooks_.uniform);
    step.op->run()({operands(step, frame), step.attrs, at(frame, step.id), step.shape, hooks_});
  }

  static void run_host(const FixedPlan& plan, const FixedStep& step, Frame& frame) {
    const View* views = operands(step, frame);
    const Buffer buffer = call_host(*plan.graph, step.id, {views, views + step.operands.size()});
    MORIEJIT_CHECK(buffer.shape == step.shape);
    frame.at[static_cast<size_t>(step.id)] = const_cast<double*>(buffer.data.get());
    frame.given.push_back(buffer.data);
  }

  void run_branch(const ControlCall& call, Frame& frame) {
    const bool holds = condition_holds(*at(frame, call.operands[0]));
    frame.inputs.clear();
    frame.results.clear();
    for (size_t k = 1; k < call.operands.size(); ++k) {
      frame.inputs.push_back(at(frame, call.operands[k]));
    }
    for (const int value : call.results) frame.results.push_back(at(frame, value));
    run(holds ? *call.first : *call.second, frame.inputs.data(), frame.results.data());
  }

  // States that can't be made in place go to and fro between two places.
  void run_loop(const ControlCall& call, Frame& frame) {
    std::vector<const double*>& now = frame.inputs;
    std::vector<double*>& next = frame.results;
    now.clear();
    next.clear();
    for (const int value : call.operands) now.push_back(at(frame, value));
    for (size_t k = 0; k < call.results.size(); ++k) {
      next.push_back(at(frame, call.results[k]));
      if (call.spare[k] >= 0) continue;
      move(now[k], next[k], call.sizes[k]);
      now[k] = next[k];
    }
    double test = 0;
    double* const tests[] = {&test};
    for (;;) {
      run(*call.first, now.data(), tests);
      if (!condition_holds(test)) break;
      run(*call.second, now.data(), next.data());
      for (size_t k = 0; k < next.size(); ++k) {
        now[k] = next[k];
        if (call.spare[k] < 0) continue;
        double* const first = at(frame, call.results[k]);
        next[k] = next[k] == first ? at(frame, call.spare[k]) : first;
      }
      poll(0);
    }
    for (size_t k = 0; k < next.size(); ++k) {
      move(now[k], at(frame, call.results[k]), call.sizes[k]);
    }
  }

  const Hooks& hooks_;
  double work_ = 0;
};

}  // namespace

Frame::Frame(const FixedPlan& plan)
    : memory(new double[static_cast<size_t>(plan.arena_size) + 8]), at(plan.values, nullptr) {
  double* start = memory.get();
  while (reinterpret_cast<uintptr_t>(start) % 64 != 0) ++start;  // a cache line
  for (const auto& place : plan.in_arena)
    at[static_cast<size_t>(place.first)] = start + place.second;
  for (ValueId id : plan.constants) {
    // Never written to.
    at[static_cast<size_t>(id)] = const_cast<double*>(plan.graph->node(id).data.get());
    MORIEJIT_CHECK(at[static_cast<size_t>(id)] != nullptr);
  }
  for (const Shape& shape : plan.view_shapes) views.push_back({nullptr, shape});
}

void run_fixed(const FixedPlan& plan, const double* const* inputs, double* const* results,
               const Hooks& hooks) {
  FixedRun(hooks).run(plan, inputs, results);
}

}  // namespace moriejit
