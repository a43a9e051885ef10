// The op-list compiler: passes over a captured graph, then an eager run that decides which fusions
// stand.
#pragma once

#include <string>
#include <vector>

#include "core/exec.h"
#include "core/graph.h"
#include "core/passes/pass.h"

namespace moriejit {

struct Compiled {
  Graph graph;
  std::vector<Refusal> rejected;  // runs that were not fused though the mode asks for it
};

// `graph` has one input and one output. It is run on `x`, its output made by `eager_output`; every
// fused product is compared with the ops it replaces, on the very matrix that reaches them.
Compiled compile(const Graph& graph, const View& x, PassContext context,
                 const MakeResult& eager_output, const Hooks& hooks);

// Multiplications in products with constants, by the published definition (see compile.cpp).
struct Multiplications {
  double eager = 0;
  double compiled = 0;
};
Multiplications count_multiplications(const Graph& eager, const Graph& compiled);

}  // namespace moriejit
