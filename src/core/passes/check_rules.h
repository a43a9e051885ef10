// Tries rewrites on the values that break wrong ones.
#pragma once

#include <string>
#include <vector>

#include "core/passes/rules.h"

namespace moriejit {

// What is wrong with each rule that changes a bit, or never fires, one sentence each; the two sides
// are evaluated on -0, NaN, NA, infinities, denormal, huge and ordinary numbers, as scalar, row,
// column, matrix and without elements.
std::vector<std::string> check_rules(const std::vector<Rule>& rules);

}  // namespace moriejit
