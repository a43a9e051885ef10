// What the core asks of its host while it runs; every hook may be empty.
#pragma once

#include <cstdint>
#include <functional>

#include "core/graph.h"

namespace moriejit {

struct Hooks {
  std::function<void()> poll;                         // throws where the user wants to stop
  std::function<void(double*, int64_t)> uniform;      // draws on (0, 1); needed by random ops
  std::function<void(ValueId, const View&)> observe;  // sees every value as soon as it is there
};

}  // namespace moriejit
