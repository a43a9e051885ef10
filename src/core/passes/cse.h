// Common subexpressions: values that are made twice in the same way are made once; likewise
// constants of the same bits and shape (0 and -0 are two).
//
//   %0 = exp(x)                  %0 = exp(x)
//   %1 = exp(x)                  %1 = add(%0, %0)
//   %2 = add(%0, %1)      ->     return %1
//   return %2
//
// Must not fire on what has effects (draws and calls of the host), on control flow, nor on
// constants whose values the text left out.
#pragma once

#include "core/passes/pass.h"

namespace moriejit {

Graph cse(const Graph& graph, PassContext& context);

}  // namespace moriejit
