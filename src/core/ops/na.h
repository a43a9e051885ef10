// R's NA: a NaN whose low word is 1954.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace moriejit {

inline double na_value() {
  const uint64_t bits = 0x7FF00000000007A2ULL;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline bool is_na_value(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return std::isnan(x) && (bits & 0xFFFFFFFFULL) == 1954;
}

}  // namespace moriejit
