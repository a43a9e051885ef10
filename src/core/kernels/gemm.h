// Matrix products. `multiply` takes the host's BLAS or Eigen, whichever a short probe at the first
// use found faster for products of that size; `multiply_plain` is the plain loop that tests compare
// with.
#pragma once

#include <cstdint>
#include <functional>

#include "core/tensor.h"

namespace moriejit {

// out = A B, where A is `a` or its transpose and B is `b` or its transpose.
struct Product {
  View a;
  bool transpose_a;
  View b;
  bool transpose_b;
  double* out;
  Shape shape;  // of the result
};

// `poll` is called now and then in a large product, and may throw.
void multiply(const Product& product, const std::function<void()>& poll = {});
void multiply_plain(const Product& product);

// The host's BLAS; without it Eigen does every product.
using BlasGemm = void (*)(const Product& product, int64_t inner);
void set_blas(BlasGemm gemm);

enum class GemmChoice { kAuto, kBlas, kEigen };
void set_gemm_choice(GemmChoice choice);

}  // namespace moriejit
