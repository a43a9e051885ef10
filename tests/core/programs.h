// Random op lists and random graphs.
#pragma once

#include <string>
#include <vector>

#include "core/graph.h"
#include "core/oplist.h"
#include "support.h"

namespace moriejit::test {

struct Program {
  std::vector<ListOp> ops;
  Buffer x;
  bool tame = true;  // all numbers are between -2 and 2; else some are huge, tiny, NaN or infinite

  Buffer other_x(int64_t rows, uint64_t seed) const;  // such an input of other rows
};

Program random_program(Rng& rng);

// The list as R would show it, for reports of failures.
std::string describe(const Program& program);

// A graph of products, sums and the like with several readers, outputs and inputs, all of whose
// numbers are whole and small: so every order of its sums gives the very same values.
Graph random_graph(Rng& rng);
std::vector<Buffer> whole_inputs(const Graph& graph, int64_t rows, uint64_t seed);

}  // namespace moriejit::test
