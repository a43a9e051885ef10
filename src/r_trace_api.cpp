// What the R side of tracing calls: see R/trace-values.R, which documents each of them.
#include <vector>

#include "core/op.h"
#include "r_values.h"

using namespace moriejit;  // NOLINT(build/namespaces): Rcpp's exports can't be in a namespace

namespace moriejit {
namespace {

// The traces under way, the innermost last: a traced function may trace another.
std::vector<std::unique_ptr<Tracing>>& traces() {
  static auto* stack = new std::vector<std::unique_ptr<Tracing>>;
  return *stack;
}

std::vector<SEXP> elements(const Rcpp::List& list) {
  return std::vector<SEXP>(list.begin(), list.end());
}

Meta meta_from(const std::string& type, SEXP dim, SEXP names, R_xlen_t length) {
  Meta meta;
  meta.type = r_type(type);
  if (dim != R_NilValue) {
    const Rcpp::IntegerVector dims(dim);
    meta.dim.assign(dims.begin(), dims.end());
    length = meta.core_shape().size();
  }
  meta.length = length;
  meta.names = names;
  return meta;
}

}  // namespace

Tracing& current_trace() {
  if (traces().empty()) {
    throw Error(ErrorKind::kUnsupported,
                "A traced value can only be used while its function is being traced.", "");
  }
  return *traces().back();
}

bool tracing() {
  return !traces().empty();
}

}  // namespace moriejit

// [[Rcpp::export(rng = false)]]
void trace_begin_impl() {
  traces().push_back(std::make_unique<Tracing>());
}

// [[Rcpp::export(rng = false)]]
void trace_end_impl() {
  if (!traces().empty()) traces().pop_back();
}

// [[Rcpp::export(rng = false)]]
bool tracing_impl() {
  return tracing();
}

// [[Rcpp::export(rng = false)]]
bool is_traced_impl(SEXP x) {
  return Tracing::is_tracer(x);
}

// Whether a tracer is in a list or a list in it.
// [[Rcpp::export(rng = false)]]
bool has_traced_impl(SEXP x) {
  if (Tracing::is_tracer(x)) return true;
  if (TYPEOF(x) != VECSXP) return false;
  for (R_xlen_t i = 0; i < Rf_xlength(x); ++i) {
    if (has_traced_impl(VECTOR_ELT(x, i))) return true;
  }
  return false;
}

// [[Rcpp::export(rng = false)]]
SEXP trace_input_impl(std::string name, SEXP value) {
  return guarded([&]() -> Rcpp::RObject { return current_trace().input(name, value); });
}

// [[Rcpp::export(rng = false)]]
SEXP trace_captured_impl(std::string name, SEXP value) {
  return guarded([&]() -> Rcpp::RObject { return current_trace().captured(name, value); });
}

// Type, dimensions, length and names of a traced value.
// [[Rcpp::export(rng = false)]]
SEXP trace_meta_impl(SEXP x) {
  return guarded([&]() -> Rcpp::RObject {
    const Meta meta = current_trace().meta(x);
    Rcpp::RObject dim;
    if (meta.is_array()) dim = Rcpp::wrap(meta.dim);
    return Rcpp::List::create(Rcpp::_["type"] = r_type_name(meta.type), Rcpp::_["dim"] = dim,
                              Rcpp::_["length"] = static_cast<double>(meta.length),
                              Rcpp::_["names"] = meta.names);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP trace_emit_impl(std::string op, Rcpp::List args, SEXP attrs, std::string type, SEXP like,
                     SEXP dim, SEXP names, double length) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    const Op* record = find_op(op);
    if (record == nullptr) {
      throw Error(ErrorKind::kUnsupported, "There is no op \"" + op + "\".", "");
    }
    std::vector<ValueId> ids;
    for (const SEXP arg : args) ids.push_back(trace.lift(arg));
    std::vector<double> numbers;
    if (attrs != R_NilValue) numbers = Rcpp::as<std::vector<double>>(attrs);
    if (like != R_NilValue) {
      Meta meta = trace.meta(like);
      meta.type = r_type(type);
      return trace.emit(*record, ids, numbers, std::move(meta));
    }
    if (dim != R_NilValue) {
      return trace.emit(*record, ids, numbers, meta_from(type, dim, names, 0));
    }
    const ValueId id = trace.builder().op(*record, ids, numbers);
    const Shape shape = trace.builder().shape(id);
    Meta meta = meta_from(type, dim, names, shape.size());
    if (length >= 0 && static_cast<int64_t>(length) != shape.size()) {
      throw Error(ErrorKind::kInternal, "A rule of tracing gave a value of the wrong size.",
                  "`" + op + "` gives " + to_string(shape) + ".");
    }
    if (shape == meta.core_shape()) return trace.here(id, std::move(meta));
    const Shape wanted = meta.core_shape();
    return trace.here(
        trace.builder().op("reshape", {id},
                           {static_cast<double>(wanted.rows), static_cast<double>(wanted.cols)}),
        std::move(meta));
  });
}

// The same numbers as another R value: other type, dimensions or names.
// [[Rcpp::export(rng = false)]]
SEXP trace_relabel_impl(SEXP x, std::string type, SEXP dim, SEXP names) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    const R_xlen_t length = trace.meta(x).length;
    Meta meta = meta_from(type, dim, names, length);
    ValueId id = trace.lift(x);
    const Shape wanted = meta.core_shape();
    if (wanted.size() != length) {
      Rcpp::stop("dims [product %d] do not match the length of object [%d]",
                 static_cast<int>(wanted.size()), static_cast<int>(length));
    }
    if (trace.builder().shape(id) != wanted) {
      id = trace.builder().op("reshape", {id},
                              {static_cast<double>(wanted.rows), static_cast<double>(wanted.cols)});
    }
    return trace.here(id, std::move(meta));
  });
}

// The numbers in another shape of the core; a matrix for R.
// [[Rcpp::export(rng = false)]]
SEXP trace_as_core_impl(SEXP x, double rows, double cols) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    ValueId id = trace.lift(x);
    const Shape wanted{static_cast<int64_t>(rows), static_cast<int64_t>(cols)};
    if (trace.builder().shape(id) != wanted) {
      id = trace.builder().op("reshape", {id}, {rows, cols});
    }
    Meta meta;
    meta.type = trace.meta(x).type;
    meta.dim = {static_cast<int>(rows), static_cast<int>(cols)};
    meta.length = wanted.size();
    return trace.here(id, std::move(meta));
  });
}

// A call of an R function at run time; `slots` are the places of `args` that are traced.
// [[Rcpp::export(rng = false)]]
SEXP trace_host_impl(SEXP fun, Rcpp::List args, std::vector<int> slots, std::string op,
                     std::string type, SEXP dim, SEXP names, double length, SEXP gradient) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    std::vector<ValueId> ids;
    std::vector<Meta> metas;
    std::vector<R_xlen_t> places;
    const Rcpp::List empty = Rcpp::clone(args);
    for (int slot : slots) {
      const SEXP arg = args[slot - 1];
      ids.push_back(trace.lift(arg));
      metas.push_back(trace.meta(arg));
      places.push_back(slot - 1);
      SET_VECTOR_ELT(empty, slot - 1, R_NilValue);
    }
    Meta out = meta_from(type, dim, names, static_cast<R_xlen_t>(length));
    const Shape shape = out.core_shape();
    auto callable = std::make_shared<HostCall>(fun, empty, places, metas, out);
    callable->set_gradient(gradient);
    return trace.here(trace.builder().callback(op_named(op), callable, ids, shape), out);
  });
}

// Ops of an op list, none of them a callable, on a traced matrix; `first` of `total` for errors.
// [[Rcpp::export(rng = false)]]
SEXP trace_op_list_impl(Rcpp::List ops, SEXP x, int first, int total) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    ParsedModel model = parse_model(ops, first - 1, total);
    ValueId id = trace.lift(x);
    for (size_t i = 0; i < model.ops.size(); ++i) {
      const int index = first - 1 + static_cast<int>(i);
      try {
        id = add_list_op(trace.builder(), model.ops[i], index, id);
      } catch (Error& error) {
        error.locate({index, total, model.ops[i].kind});
        throw;
      }
    }
    const Shape shape = trace.builder().shape(id);
    Meta meta = trace.meta(x);
    meta.type = RType::kDouble;
    meta.dim = {static_cast<int>(shape.rows), static_cast<int>(shape.cols)};
    meta.length = shape.size();
    meta.names = dimnames_of(shape, model.columns.apply(names_in(meta.names)));
    return trace.here(id, std::move(meta));
  });
}

// [[Rcpp::export(rng = false)]]
int trace_open_region_impl() {
  current_trace().open_region();
  return static_cast<int>(current_trace().depth());
}

// [[Rcpp::export(rng = false)]]
int trace_park_region_impl() {
  return current_trace().park_region();
}

// [[Rcpp::export(rng = false)]]
SEXP trace_close_region_impl(int handle, Rcpp::List outputs) {
  return guarded([&]() -> Rcpp::RObject {
    current_trace().close_region(handle, elements(outputs));
    return R_NilValue;
  });
}

// [[Rcpp::export(rng = false)]]
int trace_depth_impl() {
  return tracing() ? static_cast<int>(current_trace().depth()) : 0;
}

// [[Rcpp::export(rng = false)]]
void trace_drop_impl(int depth) {
  if (tracing()) current_trace().drop_to(static_cast<size_t>(depth));
}

// The state of a loop, as its region sees it.
// [[Rcpp::export(rng = false)]]
SEXP trace_state_impl(std::string name, std::string type, SEXP dim, SEXP names, double length) {
  return guarded([&]() -> Rcpp::RObject {
    return current_trace().region_state(name,
                                        meta_from(type, dim, names, static_cast<R_xlen_t>(length)));
  });
}

// Control flow over closed regions; `metas` says what each result is (as trace_meta_impl() does).
// [[Rcpp::export(rng = false)]]
SEXP trace_control_impl(std::string op, Rcpp::List first, std::vector<int> regions,
                        Rcpp::List metas) {
  return guarded([&]() -> Rcpp::RObject {
    Tracing& trace = current_trace();
    const ValueId node = trace.control(op.c_str(), elements(first), regions);
    Rcpp::List results;
    for (R_xlen_t k = 0; k < metas.size(); ++k) {
      const Rcpp::List meta(static_cast<SEXP>(metas[k]));
      const ValueId id = trace.builder().result(node, static_cast<size_t>(k));
      results.push_back(Rcpp::RObject(
          trace.here(id, meta_from(Rcpp::as<std::string>(meta["type"]), meta["dim"], meta["names"],
                                   static_cast<R_xlen_t>(Rcpp::as<double>(meta["length"]))))));
    }
    return results;
  });
}

// What a value depends on: ids of inputs and captured constants, and whether on more.
// [[Rcpp::export(rng = false)]]
SEXP trace_origins_impl(SEXP x) {
  return guarded([&]() -> Rcpp::RObject {
    const Tracing::Origins origins = current_trace().origins(x);
    return Rcpp::List::create(Rcpp::_["ids"] = origins.ids, Rcpp::_["opaque"] = origins.opaque);
  });
}

// How many ops the trace has, and how many of them draw, call R or may fail.
// [[Rcpp::export(rng = false)]]
SEXP trace_counts_impl() {
  return guarded([&]() -> Rcpp::RObject {
    const auto counts = current_trace().counts();
    return Rcpp::NumericVector::create(Rcpp::_["ops"] = counts.first,
                                       Rcpp::_["risky"] = counts.second);
  });
}

// The id of a tracer in the program's own graph.
// [[Rcpp::export(rng = false)]]
int trace_id_impl(SEXP x) {
  return static_cast<int>(current_trace().traced(x).place.second);
}

// [[Rcpp::export(rng = false)]]
void trace_at_impl(std::vector<int> origin) {
  if (tracing()) current_trace().at(std::move(origin));
}
