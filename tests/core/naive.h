// The values that ops should give, by textbook formulas in long double: a second opinion on the
// kernels that shares no code with them. A new op is one row of the table in naive.cpp.
#pragma once

#include <string>
#include <vector>

#include "core/op.h"
#include "core/tensor.h"

namespace moriejit::test {

// Compares an op's result with the formula; says what is wrong, or nothing.
std::string check_naive(const Op& op, const std::vector<View>& in, const std::vector<double>& attrs,
                        const View& out);

// The ops that can stand in an op list and have no row in the table.
std::string ops_without_row();

}  // namespace moriejit::test
