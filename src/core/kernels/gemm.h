// Matrix products. `multiply` takes the host's BLAS or Eigen, whichever a short probe at the first
// use found faster for products of that size; `multiply_plain` is the plain loop that tests compare
// with.
#pragma once

#include <string>

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

void multiply(const Product& product);
void multiply_plain(const Product& product);

// The host's BLAS routines, with Fortran's arguments; without them Eigen does every product.
struct Blas {
  void (*gemm)(const Product& product, int64_t inner) = nullptr;
};
void set_blas(const Blas& blas);

enum class GemmChoice { kAuto, kBlas, kEigen };
void set_gemm_choice(GemmChoice choice);

// "eigen", "blas", or "unprobed", for a product of m x k with k x n.
std::string gemm_backend(int64_t m, int64_t n, int64_t k);

}  // namespace moriejit
