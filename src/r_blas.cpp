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

// A product with one row or one column on the right is a matrix times a vector: the reference dgemm
// is slow at those.
void multiply_blas(const moriejit::Product& p, int64_t inner) {
  const double one = 1, zero = 0;
  const int m = static_cast<int>(p.shape.rows), n = static_cast<int>(p.shape.cols);
  const int k = static_cast<int>(inner), step = 1;
  const int a_rows = static_cast<int>(p.a.shape.rows), b_rows = static_cast<int>(p.b.shape.rows);
  const int a_cols = static_cast<int>(p.a.shape.cols), b_cols = static_cast<int>(p.b.shape.cols);
  if (n == 1) {
    F77_CALL(dgemv)
    (p.transpose_a ? "T" : "N", &a_rows, &a_cols, &one, p.a.data, &a_rows, p.b.data, &step, &zero,
     p.out, &step FCONE);
  } else if (m == 1) {
    F77_CALL(dgemv)
    (p.transpose_b ? "N" : "T", &b_rows, &b_cols, &one, p.b.data, &b_rows, p.a.data, &step, &zero,
     p.out, &step FCONE);
  } else {
    F77_CALL(dgemm)
    (p.transpose_a ? "T" : "N", p.transpose_b ? "T" : "N", &m, &n, &k, &one, p.a.data, &a_rows,
     p.b.data, &b_rows, &zero, p.out, &m FCONE FCONE);
  }
}

}  // namespace

// Called once, when the package is loaded.
// [[Rcpp::export(rng = false)]]
void use_r_blas_impl() { moriejit::set_blas({multiply_blas}); }
