#include "core/error.h"

#include <utility>

namespace moriejit {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kShape:
      return "shape";
    case ErrorKind::kParam:
      return "param";
    case ErrorKind::kInput:
      return "input";
    case ErrorKind::kGraph:
      return "graph";
    case ErrorKind::kFormat:
      return "format";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kCallable:
      return "callable";
    case ErrorKind::kMemory:
      return "memory";
    case ErrorKind::kInternal:
      break;
  }
  return "internal";
}

Error::Error(ErrorKind kind, const std::string& rule, std::string found, std::string hint)
    : std::runtime_error(found.empty() ? rule : rule + " " + found),
      kind_(kind),
      rule_(rule),
      found_(std::move(found)),
      hint_(std::move(hint)) {}

void Error::locate(const OpPlace& place) {
  if (place_.index < 0) place_ = place;
}

void internal_error(const char* condition, const char* file, int line) {
  const std::string path(file);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  throw Error(ErrorKind::kInternal, "An internal check failed.",
              std::string(condition) + " (" + name + ":" + std::to_string(line) + ")",
              "This is a mistake in moriejit: please report it with the model that led here.");
}

}  // namespace moriejit
