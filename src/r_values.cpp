#include "r_values.h"

#include <algorithm>
#include <cmath>

namespace moriejit {
namespace {

SEXPTYPE sexp_type(RType type) {
  if (type == RType::kDouble) return REALSXP;
  return type == RType::kInteger ? INTSXP : LGLSXP;
}

std::string label(const Meta& meta) {
  std::string text = std::string(r_type_name(meta.type)) + "[";
  if (meta.dim.empty()) return text + std::to_string(meta.length) + "]";
  for (size_t i = 0; i < meta.dim.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(meta.dim[i]);
  }
  return text + "]";
}

}  // namespace

Rcpp::RObject empty_value(const Meta& meta) {
  Rcpp::Shield<SEXP> value(Rf_allocVector(sexp_type(meta.type), meta.length));
  if (meta.is_array()) {
    Rcpp::Shield<SEXP> dim(Rf_allocVector(INTSXP, static_cast<R_xlen_t>(meta.dim.size())));
    std::copy(meta.dim.begin(), meta.dim.end(), INTEGER(dim));
    Rf_setAttrib(value, R_DimSymbol, dim);
    if (meta.names != R_NilValue) Rf_setAttrib(value, R_DimNamesSymbol, meta.names);
  } else if (meta.names != R_NilValue) {
    Rf_setAttrib(value, R_NamesSymbol, meta.names);
  }
  return Rcpp::RObject(static_cast<SEXP>(value));
}

void fill_value(SEXP value, const double* data) {
  const R_xlen_t n = Rf_xlength(value);
  if (TYPEOF(value) == REALSXP) {
    if (REAL(value) != data) std::copy(data, data + n, REAL(value));
    return;
  }
  const bool logical = TYPEOF(value) == LGLSXP;
  int* out = logical ? LOGICAL(value) : INTEGER(value);
  for (R_xlen_t i = 0; i < n; ++i) {
    out[i] = std::isnan(data[i]) ? NA_INTEGER
             : logical           ? static_cast<int>(data[i] != 0)
                                 : static_cast<int>(data[i]);
  }
}

Rcpp::RObject r_value(const Meta& meta, const double* data) {
  const Rcpp::RObject value = empty_value(meta);
  fill_value(value, data);
  return value;
}

Buffer HostCall::call(const std::vector<View>& args) {
  Rcpp::Shield<SEXP> list(Rf_shallow_duplicate(args_));
  for (size_t i = 0; i < args.size(); ++i) {
    SET_VECTOR_ELT(list, slots_[i], r_value(metas_[i], args[i].data));
  }
  const Rcpp::Function run = Rcpp::Environment::namespace_env("moriejit")["host_run"];
  const Rcpp::RObject result = run(fun_, static_cast<SEXP>(list));
  if (out_.length == 0 && out_.dim.empty()) return {{0, 1}, nullptr};  // its value is not read
  const bool number =
      TYPEOF(result) == REALSXP || TYPEOF(result) == INTSXP || TYPEOF(result) == LGLSXP;
  const Meta found = number ? meta_of(result) : Meta{};
  if (!number || found.length != out_.length || found.dim != out_.dim || found.type > out_.type) {
    throw Error(
        ErrorKind::kCallable,
        "A function called from a traced program must give what was stated, " + label(out_) + ".",
        number ? "It gave " + label(found) + "." : "It did not give numbers.");
  }
  const Buffer buffer = as_buffer(result);
  return {out_.core_shape(), buffer.data};
}

std::shared_ptr<Callable> HostCall::gradient() {
  if (!Rf_isFunction(gradient_)) {
    throw Error(ErrorKind::kUnsupported,
                "An R function in a traced program needs a gradient to be differentiated.",
                "This one has none.", "Give `gradient` to jit_callback().");
  }
  std::vector<R_xlen_t> slots;
  std::vector<Meta> metas = metas_;
  metas.push_back(out_);
  for (size_t i = 0; i < metas.size(); ++i) slots.push_back(static_cast<R_xlen_t>(i));
  const Rcpp::List empty(static_cast<R_xlen_t>(metas.size()));
  return std::make_shared<HostCall>(gradient_, empty, slots, metas, metas_[0]);
}

}  // namespace moriejit
