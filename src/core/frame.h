// What a run of a fixed plan works in.
#pragma once

#include <memory>
#include <vector>

#include "core/tensor.h"

namespace moriejit {

struct FixedPlan;

struct Frame {
  explicit Frame(const FixedPlan& plan);

  std::unique_ptr<double[]> memory;
  std::vector<double*> at;                           // by value
  std::vector<View> views;                           // of the operands of ops
  std::vector<std::shared_ptr<const double>> given;  // what the host's functions gave
  std::vector<const double*> inputs;                 // of a region
  std::vector<double*> results;
};

}  // namespace moriejit
