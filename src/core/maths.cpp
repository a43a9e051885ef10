#include "core/maths.h"

#include <cmath>
#include <unordered_map>

#include "core/error.h"

namespace moriejit {
namespace {

std::unordered_map<std::string, HostFunction>& table() {
  static auto* functions = new std::unordered_map<std::string, HostFunction>{
      {"gamma", [](const double* x, const double*) { return std::tgamma(x[0]); }},
      {"lgamma", [](const double* x, const double*) { return std::lgamma(x[0]); }},
  };
  return *functions;
}

}  // namespace

void set_host_function(const std::string& name, HostFunction function) {
  table()[name] = function;
}

HostFunction host_function(const std::string& name) {
  const auto at = table().find(name);
  if (at == table().end()) {
    throw Error(ErrorKind::kUnsupported, "`" + name + "` needs a host that supplies it.", "");
  }
  return at->second;
}

}  // namespace moriejit
