// Functions that the host's mathematical library has and C's has not: special functions and
// distributions. The host sets them when it starts; an op whose function is not set is an error.
#pragma once

#include <string>

namespace moriejit {

// `x`: one element of each operand; `attrs`: the op's attributes.
using HostFunction = double (*)(const double* x, const double* attrs);

void set_host_function(const std::string& name, HostFunction function);
HostFunction host_function(const std::string& name);

}  // namespace moriejit
