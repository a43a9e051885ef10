// R's mathematical library for the ops that use it (core/maths.h).
#include <Rcpp.h>

#include <Rmath.h>

#include "core/maths.h"

namespace {

using moriejit::set_host_function;

// The numbers of operands and flags of a function of the library.
template <double (*f)(double)>
double one(const double* x, const double*) {
  return f(x[0]);
}

template <double (*f)(double, double)>
double two(const double* x, const double*) {
  return f(x[0], x[1]);
}

template <double (*f)(double, double, int)>
double density1(const double* x, const double* a) {
  return f(x[0], x[1], a[0] != 0);
}

template <double (*f)(double, double, double, int)>
double density2(const double* x, const double* a) {
  return f(x[0], x[1], x[2], a[0] != 0);
}

template <double (*f)(double, double, int, int)>
double tail1(const double* x, const double* a) {
  return f(x[0], x[1], a[0] != 0, a[1] != 0);
}

template <double (*f)(double, double, double, int, int)>
double tail2(const double* x, const double* a) {
  return f(x[0], x[1], x[2], a[0] != 0, a[1] != 0);
}

template <auto d, auto p, auto q>
void family1(const std::string& name) {
  set_host_function("d" + name, density1<d>);
  set_host_function("p" + name, tail1<p>);
  set_host_function("q" + name, tail1<q>);
}

template <auto d, auto p, auto q>
void family2(const std::string& name) {
  set_host_function("d" + name, density2<d>);
  set_host_function(name == "norm" ? "pnorm3" : "p" + name, tail2<p>);
  set_host_function("q" + name, tail2<q>);
}

}  // namespace

// Called when the package is loaded.
// [[Rcpp::export(rng = false)]]
void use_r_maths_impl() {
  set_host_function("gamma", one<Rf_gammafn>);
  set_host_function("lgamma", one<Rf_lgammafn>);
  set_host_function("digamma", one<Rf_digamma>);
  set_host_function("trigamma", one<Rf_trigamma>);
  set_host_function("sinpi", one<::sinpi>);
  set_host_function("cospi", one<::cospi>);
  set_host_function("tanpi", one<::Rtanpi>);
  set_host_function("beta", two<Rf_beta>);
  set_host_function("lbeta", two<Rf_lbeta>);
  set_host_function("choose", two<Rf_choose>);
  set_host_function("lchoose", two<Rf_lchoose>);
  set_host_function("round", two<Rf_fround>);
  set_host_function("signif", two<Rf_fprec>);
  family2<Rf_dnorm4, Rf_pnorm5, Rf_qnorm5>("norm");
  family2<Rf_dlogis, Rf_plogis, Rf_qlogis>("logis");
  family2<Rf_dunif, Rf_punif, Rf_qunif>("unif");
  family2<Rf_dgamma, Rf_pgamma, Rf_qgamma>("gamma");
  family2<Rf_dbeta, Rf_pbeta, Rf_qbeta>("beta");
  family2<Rf_dbinom, Rf_pbinom, Rf_qbinom>("binom");
  family2<Rf_dnbinom, Rf_pnbinom, Rf_qnbinom>("nbinom");
  family2<Rf_dlnorm, Rf_plnorm, Rf_qlnorm>("lnorm");
  family2<Rf_dweibull, Rf_pweibull, Rf_qweibull>("weibull");
  family2<Rf_dcauchy, Rf_pcauchy, Rf_qcauchy>("cauchy");
  family2<Rf_df, Rf_pf, Rf_qf>("f");
  family1<Rf_dexp, Rf_pexp, Rf_qexp>("exp");
  family1<Rf_dt, Rf_pt, Rf_qt>("t");
  family1<Rf_dchisq, Rf_pchisq, Rf_qchisq>("chisq");
  family1<Rf_dpois, Rf_ppois, Rf_qpois>("pois");
  family1<Rf_dgeom, Rf_pgeom, Rf_qgeom>("geom");
}
