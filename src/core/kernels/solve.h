// Factorisations and solutions of linear systems; column-major, results overwrite nothing they
// read. Errors carry R's texts.
#pragma once

#include "core/tensor.h"

namespace moriejit {

void solve_system(const View& a, const View& b, double* out);
void cholesky(const View& a, double* out);             // the upper factor
void inverse_of_cholesky(const View& r, double* out);  // of t(r) r
void solve_triangle(const View& r, const View& b, bool upper, bool transposed, double* out);
double log_abs_determinant(const View& a, double* sign);

}  // namespace moriejit
