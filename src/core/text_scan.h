// Reads one line of a graph text from left to right.
#pragma once

#include <cstdint>
#include <string>

namespace moriejit {

// `found` ends without a stop.
[[noreturn]] void format_error(int line, const std::string& rule, const std::string& found);

class Scanner {
 public:
  // The line must outlive the scanner.
  Scanner(const std::string& line, int number) : line_(line), number_(number) { skip_space(); }

  bool at_end() const { return at_ >= line_.size(); }
  int number() const { return number_; }

  bool accept(const std::string& token);
  // Where the token is all that is left.
  bool accept_rest(const std::string& token) {
    return line_.size() == at_ + token.size() && accept(token);
  }
  bool sees(const std::string& token) const { return line_.compare(at_, token.size(), token) == 0; }
  void expect(const std::string& token);

  // Letters, digits, dots and underscores, or % and a number.
  std::string name();
  double number_value();
  int64_t dimension();

  // What is left, for messages.
  std::string rest() const;

 private:
  void skip_space();

  const std::string& line_;
  int number_;
  size_t at_ = 0;
};

}  // namespace moriejit
