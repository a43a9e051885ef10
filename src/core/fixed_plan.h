// The plan of a graph all of whose shapes are fixed: where each value lies is settled before the
// run, so that a run only writes pointers and calls kernels.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/fuse.h"
#include "core/graph.h"
#include "core/op.h"

namespace moriejit {

// So many elements of a group's values are worked on at a time: a few such blocks fit in L1.
constexpr int64_t kFuseBlock = 512;

struct GroupOperand {
  int value;
  Reach reach;
};

struct GroupMember {
  Loop loop;
  int out;    // the node
  bool full;  // others read it; else it never leaves its block
  Reach reach;
  size_t first, operands;  // in Group::operands
  size_t attrs;            // in Group::attrs
};

struct Group {
  Shape shape;
  int64_t block;  // elements at a time
  std::vector<GroupMember> members;
  std::vector<GroupOperand> operands;
  std::vector<int> steps;  // for each operand
  std::vector<double> attrs;
};

struct FixedPlan;

struct ControlCall {
  bool branch = false;                             // else a loop
  std::shared_ptr<const FixedPlan> first, second;  // branches, or condition and body
  std::vector<int> operands, results;              // values
  // Of loops: for each state where every second value of it is made; -1 where it is made in place.
  std::vector<int> spare;
  std::vector<int64_t> sizes;  // of the results
};

struct FixedStep {
  StepKind kind;
  ValueId id;  // the node, or the last one of a group
  double cost = 0;
  const Op* op = nullptr;
  const double* attrs = nullptr;
  Shape shape;                // of the value
  std::vector<int> operands;  // values
  size_t views = 0;           // the first of the operands in FixedPlan::view_shapes
  Group group;
  ControlCall control;
};

// What a run works in. A plan keeps one for the next run; a run inside a run makes its own.
struct Frame;

// Values are numbered: nodes by their ids, then what control flow gives, then spare places.
struct FixedPlan {
  FixedPlan();
  ~FixedPlan();

  std::shared_ptr<const Graph> graph;
  std::vector<FixedStep> steps;
  std::vector<int> root;  // for each node the value that holds its elements
  size_t values = 0;
  // Where values lie: in an input's memory, in a result's, in the plan's own.
  std::vector<std::pair<int, size_t>> in_input, in_result;
  std::vector<std::pair<int, int64_t>> in_arena;  // by offset
  std::vector<ValueId> constants;
  std::vector<std::pair<int, size_t>> copies;  // values that must be copied to results
  int64_t arena_size = 0;
  std::vector<Shape> view_shapes;
  // For each input: the output that is made in its memory (the caller gives one place for both), or
  // -1, where nothing is written to it.
  std::vector<int> home;
  mutable std::unique_ptr<Frame> spare;
};

std::shared_ptr<const FixedPlan> make_fixed_plan(std::shared_ptr<const Graph> graph);

struct Hooks;

// `inputs` and `results` have the graph's shapes.
void run_fixed(const FixedPlan& plan, const double* const* inputs, double* const* results,
               const Hooks& hooks);

}  // namespace moriejit
