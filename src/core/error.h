// Errors that the core throws. Each carries its parts (rule, what was found, what to do, which op),
// so that a host language can build its own condition from them; nothing here prints or ends a
// process.
#pragma once

#include <stdexcept>
#include <string>

namespace moriejit {

enum class ErrorKind {
  kShape,
  kParam,
  kInput,
  kGraph,
  kFormat,
  kUnsupported,
  kCallable,
  kMemory,
  kInternal
};

// The word that names a kind: "shape", "param", ...
const char* error_kind_name(ErrorKind kind);

// Which op of a list of `total` ops an error is about.
struct OpPlace {
  int index = -1;  // 0-based; -1 where no op is to blame
  int total = 0;
  std::string kind;
};

class Error : public std::runtime_error {
 public:
  // `rule` says what must hold, `found` what was met instead, `hint` what to do about it.
  Error(ErrorKind kind, const std::string& rule, std::string found = "", std::string hint = "");

  ErrorKind kind() const { return kind_; }
  const std::string& rule() const { return rule_; }
  const std::string& found() const { return found_; }
  const std::string& hint() const { return hint_; }
  const OpPlace& place() const { return place_; }

  // Adds the op's place where none is known yet; an inner place is the better one.
  void locate(const OpPlace& place);

 private:
  ErrorKind kind_;
  std::string rule_, found_, hint_;
  OpPlace place_;
};

// For our own mistakes only: R compiles with NDEBUG, so `assert` would vanish.
[[noreturn]] void internal_error(const char* condition, const char* file, int line);

}  // namespace moriejit

#define MORIEJIT_CHECK(condition) \
  ((condition) ? (void)0 : ::moriejit::internal_error(#condition, __FILE__, __LINE__))
