#include "core/text_scan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "core/ops/na.h"
#include "core/text.h"

namespace moriejit {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

}  // namespace

void format_error(int line, const std::string& rule, const std::string& found) {
  throw Error(ErrorKind::kFormat, rule, "Line " + std::to_string(line) + " has " + found + ".");
}

bool Scanner::accept(const std::string& token) {
  if (!sees(token)) return false;
  at_ += token.size();
  skip_space();
  return true;
}

void Scanner::expect(const std::string& token) {
  if (!accept(token)) format_error(number_, "The text must have \"" + token + "\" here.", rest());
}

std::string Scanner::name() {
  const size_t start = at_;
  if (at_ < line_.size() && line_[at_] == '%') ++at_;
  while (at_ < line_.size() && is_name_char(line_[at_])) ++at_;
  if (at_ == start) format_error(number_, "The text must have a name here.", rest());
  const std::string text = line_.substr(start, at_ - start);
  skip_space();
  return text;
}

double Scanner::number_value() {
  if (accept("NA")) return na_value();
  const char* start = line_.c_str() + at_;
  char* end = nullptr;
  const double value = std::strtod(start, &end);
  if (end == start) format_error(number_, "The text must have a number here.", rest());
  at_ += static_cast<size_t>(end - start);
  skip_space();
  return value;
}

int64_t Scanner::dimension() {
  const double value = number_value();
  if (!(value >= 0 && value <= 2147483647.0 && value == std::floor(value))) {
    format_error(number_, "A dimension must be a whole number from 0 to 2147483647.",
                 number_text(value));
  }
  return static_cast<int64_t>(value);
}

std::string Scanner::rest() const {
  if (at_end()) return "nothing more";
  size_t end = std::min(at_ + 40, line_.size());
  while (end < line_.size() && (line_[end] & 0xC0) == 0x80) --end;  // no half of a letter
  return "\"" + line_.substr(at_, end - at_) + "\"";
}

void Scanner::skip_space() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
}

}  // namespace moriejit
