// Arithmetic, comparison and logic on traced values, with R's meaning: recycling, result type,
// dimensions and names as in R's arithmetic.c and relop.c.
#include <cmath>

#include "core/op.h"
#include "r_trace.h"

using namespace moriejit;  // NOLINT(build/namespaces): Rcpp's exports can't be in a namespace

namespace {

enum class Family { kArith, kCompare, kLogic };

Family family_of(const std::string& op) {
  if (op == "and" || op == "or") return Family::kLogic;
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    if (op == name) return Family::kCompare;
  }
  return Family::kArith;
}

RType result_type(const std::string& op, Family family, RType a, RType b) {
  if (family != Family::kArith) return RType::kLogical;
  const bool always_double = op == "div" || op == "pow";
  if (always_double || a == RType::kDouble || b == RType::kDouble) return RType::kDouble;
  return RType::kInteger;
}

// What the result is beside its numbers.
Meta result_meta(const Meta& x, const Meta& y) {
  Meta out;
  out.length = x.length == 0 || y.length == 0 ? 0 : std::max(x.length, y.length);
  const bool x_array = x.is_array() && !(y.length != 1 && !y.is_array() && x.length == 1);
  const bool y_array = y.is_array() && !(x.length != 1 && !x.is_array() && y.length == 1);
  if (x_array && y_array) {
    if (x.dim != y.dim) Rcpp::stop("non-conformable arrays");
    out.dim = x.dim;
  } else if (x_array && (y.length != 0 || x.length == 0)) {
    out.dim = x.dim;
  } else if (y_array && (x.length != 0 || y.length == 0)) {
    out.dim = y.dim;
  }
  if (out.is_array()) {
    const R_xlen_t size = out.core_shape().size();
    if (size != out.length && out.length != 0) {
      Rcpp::stop("dims [product %d] do not match the length of object [%d]", static_cast<int>(size),
                 static_cast<int>(out.length));
    }
    out.length = size;
    if (x_array) out.names = x.names;
    if (out.names == R_NilValue && y_array) out.names = y.names;
  } else if (!x_array && x.names != R_NilValue && x.length == out.length) {
    if (!x.is_array()) out.names = x.names;
  } else if (!y_array && !y.is_array() && y.length == out.length) {
    out.names = y.names;
  }
  return out;
}

// An operand in a shape that repeats along `shape` as R recycles.
ValueId aligned(Tracing& trace, SEXP operand, const Meta& meta, Shape shape) {
  const ValueId id = trace.lift(operand);
  Builder& b = trace.builder();
  const Shape own = b.shape(id);
  if (own == shape) return id;
  const double rows = static_cast<double>(shape.rows), cols = static_cast<double>(shape.cols);
  if (meta.length == 1 && shape.size() != 1) {
    return own.size() == 1 && own.rows == 1 ? id : b.op("reshape", {id}, {1, 1});
  }
  if (meta.length == shape.size()) return b.op("reshape", {id}, {rows, cols});
  if (meta.length == shape.rows && shape.cols > 0 && own.cols == 1) return id;
  return b.op("recycle", {id}, {rows, cols});
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP trace_arith_impl(std::string op, SEXP e1, SEXP e2) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    const Meta x = trace.meta(e1), y = trace.meta(e2);
    const Family family = family_of(op);
    Meta out = result_meta(x, y);
    out.type = result_type(op, family, x.type, y.type);
    const Shape shape = out.core_shape();
    const ValueId a = aligned(trace, e1, x, shape), b = aligned(trace, e2, y, shape);
    ValueId id = trace.builder().op(op_named(op), {a, b});
    if (out.type == RType::kInteger) id = trace.builder().op("int_range", {id});
    return trace.here(id, std::move(out));
  });
}

// A function of each element that keeps dimensions and names; `type` empty keeps the type.
// [[Rcpp::export(rng = false)]]
SEXP trace_math_impl(std::string op, SEXP x, std::string type) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    Meta out = trace.meta(x);
    if (!type.empty()) {
      out.type = r_type(type);
    } else if (out.type == RType::kLogical) {
      out.type = RType::kInteger;
    }
    return trace.emit(op_named(op), {trace.lift(x)}, {}, std::move(out));
  });
}
