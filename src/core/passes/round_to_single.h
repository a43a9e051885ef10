// Single precision: every value that is read, constant or computed is rounded to it.
//
//   %0 = add(x, y)   ->   %0 = round_single(x); %1 = round_single(y)
//                         %2 = add(%0, %1);     %3 = round_single(%2)
//
// Not one of the passes that optimise: it changes what is computed, and is run before them where it
// is asked for.
#pragma once

#include "core/graph.h"

namespace moriejit {

Graph round_to_single(const Graph& graph);

}  // namespace moriejit
