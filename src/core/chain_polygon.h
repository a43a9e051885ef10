// Hu and Shing's algorithm. A chain of n matrices is a polygon whose n + 1 corners weigh as much as
// the chain's dimensions; an association is a triangulation, a product the product of a triangle's
// corners.
#pragma once

#include <cstdint>
#include <vector>

namespace moriejit {

struct Diagonal {
  int32_t begin, end;  // corners, begin < end
};

// The diagonals of a cheapest triangulation of the polygon with these weights, finite and not
// negative; among equals, any.
std::vector<Diagonal> best_triangulation(const std::vector<double>& weights);

}  // namespace moriejit
