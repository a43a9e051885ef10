#include "r_jit.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/grad.h"
#include "core/op.h"
#include "core/passes/pass.h"
#include "core/passes/round_to_single.h"

namespace moriejit {
namespace {

SEXP names_attribute(SEXP value, const Meta& meta) {
  if (ATTRIB(value) == R_NilValue) return R_NilValue;
  return Rf_getAttrib(value, meta.is_array() ? R_DimNamesSymbol : R_NamesSymbol);
}

bool same_dim(SEXP value, const std::vector<int>& dim) {
  const SEXP found = ATTRIB(value) == R_NilValue ? R_NilValue : Rf_getAttrib(value, R_DimSymbol);
  if (found == R_NilValue) return dim.empty();
  return Rf_xlength(found) == static_cast<R_xlen_t>(dim.size()) &&
         std::equal(dim.begin(), dim.end(), INTEGER(found));
}

// Which dimensions have names.
bool same_named(SEXP a, SEXP b, bool array) {
  if ((a == R_NilValue) != (b == R_NilValue)) return false;
  if (!array || a == R_NilValue || a == b) return true;
  for (R_xlen_t i = 0; i < Rf_xlength(a); ++i) {
    if ((VECTOR_ELT(a, i) == R_NilValue) != (VECTOR_ELT(b, i) == R_NilValue)) return false;
  }
  return identical(Rf_getAttrib(a, R_NamesSymbol), Rf_getAttrib(b, R_NamesSymbol));
}

bool leaf_fits(const ArgSpec& spec, SEXP value) {
  const Meta& meta = spec.meta;
  const int type = meta.type == RType::kDouble    ? REALSXP
                   : meta.type == RType::kInteger ? INTSXP
                                                  : LGLSXP;
  if (TYPEOF(value) != type || Rf_xlength(value) != meta.length || OBJECT(value)) return false;
  if (ATTRIB(value) == R_NilValue) return meta.dim.empty() && meta.names == R_NilValue;
  if (!same_dim(value, meta.dim)) return false;
  const SEXP names = names_attribute(value, meta);
  if (spec.content) return identical(names, meta.names);
  return same_named(names, meta.names, meta.is_array());
}

SEXP ref_names(const OutSpec::NameRef& ref, const Meta& in, SEXP leaf) {
  const SEXP names = names_attribute(leaf, in);
  if (ref.which < 0 || names == R_NilValue) return names;
  return VECTOR_ELT(names, ref.which);
}

const ArgSpec* leaf_spec(const std::vector<ArgSpec>& specs, int& index) {
  for (const ArgSpec& spec : specs) {
    if (spec.kind == ArgSpec::Kind::kLeaf && index-- == 0) return &spec;
    if (spec.kind == ArgSpec::Kind::kList) {
      const ArgSpec* found = leaf_spec(spec.children, index);
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

// Names that are an argument's own.
void refer_names(const JitProgram& program, const std::vector<SEXP>& leaves, const OutSpec& out,
                 SEXP value) {
  const auto meta_of_leaf = [&program](int leaf) {
    int index = leaf;
    return leaf_spec(program.args, index)->meta;
  };
  const SEXP which = out.meta.is_array() ? R_DimNamesSymbol : R_NamesSymbol;
  if (out.names.leaf >= 0) {
    const SEXP leaf = leaves[static_cast<size_t>(out.names.leaf)];
    Rf_setAttrib(value, which, ref_names(out.names, meta_of_leaf(out.names.leaf), leaf));
    return;
  }
  if (out.dim_names.empty()) return;
  Rcpp::Shield<SEXP> list(Rf_duplicate(out.meta.names));
  for (size_t i = 0; i < out.dim_names.size(); ++i) {
    const OutSpec::NameRef& ref = out.dim_names[i];
    if (ref.leaf < 0) continue;
    const SEXP leaf = leaves[static_cast<size_t>(ref.leaf)];
    SET_VECTOR_ELT(list, static_cast<R_xlen_t>(i), ref_names(ref, meta_of_leaf(ref.leaf), leaf));
  }
  Rf_setAttrib(value, which, list);
}

Rcpp::RObject assemble(const OutSpec& out, const std::vector<Rcpp::RObject>& values) {
  if (out.kind == OutSpec::Kind::kStatic) return out.value;
  if (out.kind == OutSpec::Kind::kLeaf) return values[out.index];
  Rcpp::Shield<SEXP> list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(out.children.size())));
  for (size_t i = 0; i < out.children.size(); ++i) {
    SET_VECTOR_ELT(list, static_cast<R_xlen_t>(i), assemble(out.children[i], values));
  }
  const SEXP attributes = out.value;  // a list by name
  const SEXP names = Rf_getAttrib(attributes, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(attributes); ++i) {
    Rf_setAttrib(list, Rf_installTrChar(STRING_ELT(names, i)), VECTOR_ELT(attributes, i));
  }
  return Rcpp::RObject(static_cast<SEXP>(list));
}

}  // namespace

bool identical(SEXP a, SEXP b) {
  return a == b || R_compute_identical(a, b, 16) != 0;
}

ArgSpec arg_spec(const Rcpp::List& given) {
  ArgSpec spec;
  const std::string kind = Rcpp::as<std::string>(given["kind"]);
  if (kind == "leaf") {
    spec.kind = ArgSpec::Kind::kLeaf;
    spec.meta = meta_of(given["value"]);
  } else if (kind == "static") {
    spec.kind = ArgSpec::Kind::kStatic;
    spec.value = Rcpp::RObject(static_cast<SEXP>(given["value"]));
  } else if (kind == "list") {
    spec.kind = ArgSpec::Kind::kList;
    spec.value = Rf_coerceVector(ATTRIB(given["value"]), VECSXP);
    for (const SEXP child : Rcpp::List(static_cast<SEXP>(given["children"]))) {
      spec.children.push_back(arg_spec(Rcpp::List(child)));
    }
  }
  return spec;
}

bool fits(const ArgSpec& spec, SEXP value, std::vector<SEXP>& leaves) {
  switch (spec.kind) {
    case ArgSpec::Kind::kMissing:
      return value == R_MissingArg;
    case ArgSpec::Kind::kLeaf:
      if (!leaf_fits(spec, value)) return false;
      leaves.push_back(value);
      return true;
    case ArgSpec::Kind::kStatic:
      return value != R_MissingArg && identical(spec.value, value);
    case ArgSpec::Kind::kList:
      break;
  }
  if (TYPEOF(value) != VECSXP) return false;
  if (Rf_xlength(value) != static_cast<R_xlen_t>(spec.children.size())) return false;
  Rcpp::Shield<SEXP> attributes(Rf_coerceVector(ATTRIB(value), VECSXP));
  if (!identical(attributes, spec.value)) return false;
  for (size_t i = 0; i < spec.children.size(); ++i) {
    if (!fits(spec.children[i], VECTOR_ELT(value, static_cast<R_xlen_t>(i)), leaves)) return false;
  }
  return true;
}

Rcpp::RObject run_jit(JitProgram& program, const std::vector<SEXP>& leaves) {
  std::vector<View> views;
  std::vector<Buffer> converted;
  views.reserve(leaves.size());
  int index = 0;
  for (const SEXP leaf : leaves) {
    const Shape shape =
        program.graph.node(program.graph.inputs[static_cast<size_t>(index++)]).shape;
    if (TYPEOF(leaf) == REALSXP) {
      views.push_back({REAL_RO(leaf), shape});
    } else {
      converted.push_back(as_buffer(Rcpp::RObject(leaf)));
      views.push_back({converted.back().data.get(), shape});
    }
  }
  std::vector<Rcpp::RObject> values(program.outputs.size());
  std::vector<std::unique_ptr<double[]>> other(program.outputs.size());
  const MakeResult result = [&](size_t k, Shape shape) -> double* {
    const Meta& meta = program.outputs[k]->meta;
    values[k] = empty_value(meta);
    if (meta.type == RType::kDouble) return REAL(values[k]);
    other[k].reset(new double[static_cast<size_t>(std::max<int64_t>(shape.size(), 1))]);
    return other[k].get();
  };
  // The program may run itself again through a function of R: a workspace is for one run at a time.
  Workspace workspace = std::exchange(program.workspace, Workspace());
  run(program.plan, views, result, workspace, r_hooks());
  program.workspace = std::move(workspace);
  for (size_t k = 0; k < values.size(); ++k) {
    if (other[k] != nullptr) fill_value(values[k], other[k].get());
    refer_names(program, leaves, *program.outputs[k], values[k]);
  }
  ++program.runs;
  return assemble(program.out, values);
}

void JitProgram::prepare() {
  PassContext context;
  context.mode = settings.mode;
  context.exact = settings.exact;
  context.poll = r_hooks().poll;
  Graph whole = graph;
  if (settings.gradient) {
    // Stable forms are recognised before they are differentiated.
    whole = run_traced_passes(std::move(whole), context);
    std::vector<ValueId> wrt;
    for (size_t input : settings.wrt) wrt.push_back(whole.inputs[input]);
    whole = vjp_graph(whole, wrt, true);
    whole.outputs.erase(whole.outputs.begin());
  }
  if (settings.single) whole = round_to_single(whole);
  reports.clear();
  optimised = run_traced_passes(std::move(whole), context, {}, {}, &reports);
  plan = make_plan(optimised, true);
}

}  // namespace moriejit
