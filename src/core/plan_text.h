// What a plan runs, for people to read: the graph in the order of its steps, a fused group as one
// line, and below what each kind of group does.
//
//   fn(x: f64[3,1], y: f64[3,1]) {
//     %0 = fused_1(x, y) : f64[3,1]
//     %1 = sum(%0) : f64[1,1]
//     return %1
//   }
//   fused_1(a, b): %0 = mul(a, 2); %1 = add(%0, b); return %1
#pragma once

#include <string>

#include "core/plan.h"

namespace moriejit {

// The graph's text where shapes are not fixed: then nothing is fused.
std::string describe_plan(const Plan& plan);

}  // namespace moriejit
