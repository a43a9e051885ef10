// Runs a plan. Inputs and constants are read where they lie; each output is made in memory that the
// host gives; everything else lives in a workspace, which a caller may keep between runs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/hooks.h"
#include "core/plan.h"

namespace moriejit {

// Blocks of memory that are handed out, given back and handed out again.
class Workspace {
 public:
  double* acquire(int64_t size);
  void release(double* data);
  int64_t blocks() const { return static_cast<int64_t>(blocks_.size()); }

 private:
  struct Block {
    std::unique_ptr<double[]> data;
    int64_t size;
  };
  std::unordered_map<const double*, Block> blocks_;
  std::multimap<int64_t, double*> free_;  // by size
};

// Gives the memory for output k of the given shape.
using MakeResult = std::function<double*(size_t k, Shape shape)>;

void run(const Plan& plan, const std::vector<View>& inputs, const MakeResult& result,
         Workspace& workspace, const Hooks& hooks);

// Runs a plan into fresh memory: every output.
std::vector<Buffer> run_all(const Plan& plan, const std::vector<View>& inputs, const Hooks& hooks,
                            Workspace& workspace);

// Whether a condition holds; an error where it is missing.
bool condition_holds(double value);

// Runs a plan of one output into fresh memory.
Buffer run_one(const Plan& plan, const std::vector<View>& inputs, const Hooks& hooks);

// Calls a node's host function and checks what it gave.
Buffer call_host(const Graph& graph, ValueId id, const std::vector<View>& args);

}  // namespace moriejit
