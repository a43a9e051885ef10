// R's BLAS for the core's products.
#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <Rconfig.h>
// The order matters: USE_FC_LEN_T must be seen first.
#include <R_ext/BLAS.h>
#ifndef FCONE
#define FCONE
#endif

#include <Rcpp.h>

#include "core/kernels/gemm.h"

namespace {

void multiply_blas(const moriejit::Product& p, int64_t inner) {
  const double one = 1, zero = 0;
  const int m = static_cast<int>(p.shape.rows), n = static_cast<int>(p.shape.cols);
  const int k = static_cast<int>(inner);
  const int a_rows = static_cast<int>(p.a.shape.rows), b_rows = static_cast<int>(p.b.shape.rows);
  F77_CALL(dgemm)
  (p.transpose_a ? "T" : "N", p.transpose_b ? "T" : "N", &m, &n, &k, &one, p.a.data, &a_rows,
   p.b.data, &b_rows, &zero, p.out, &m FCONE FCONE);
}

}  // namespace

// Called once, when the package is loaded.
// [[Rcpp::export(rng = false)]]
void use_r_blas_impl() {
  moriejit::set_blas(multiply_blas);
}
