// The call of a compiled function and the making of its programs.
#include <algorithm>

#include "core/op.h"
#include "core/text.h"
#include "r_jit.h"

using namespace moriejit;  // NOLINT(build/namespaces): Rcpp's exports can't be in a namespace

namespace {

constexpr const char* kNative = "native";

JitFunction* function_of(SEXP state) {
  const SEXP pointer = Rf_findVarInFrame(state, Rf_install(kNative));
  return TYPEOF(pointer) == EXTPTRSXP ? static_cast<JitFunction*>(R_ExternalPtrAddr(pointer))
                                      : nullptr;
}

// The values of `...` as a list, with names where there are any.
SEXP dots_list(SEXP dots) {
  if (TYPEOF(dots) != DOTSXP) return Rf_allocVector(VECSXP, 0);
  const int n = Rf_length(dots);
  SEXP list = PROTECT(Rf_allocVector(VECSXP, n));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, n));
  bool named = false;
  for (int i = 0; i < n; ++i, dots = CDR(dots)) {
    const SEXP value = CAR(dots);
    SET_VECTOR_ELT(list, i, TYPEOF(value) == PROMSXP ? Rf_eval(value, R_BaseEnv) : value);
    if (TAG(dots) == R_NilValue) continue;
    SET_STRING_ELT(names, i, PRINTNAME(TAG(dots)));
    named = true;
  }
  if (named) Rf_setAttrib(list, R_NamesSymbol, names);
  UNPROTECT(2);
  return list;
}

// The arguments of a call, by formal argument; R may jump out of here, so no C++ object lives.
SEXP call_arguments(SEXP formals, SEXP frame) {
  const R_xlen_t n = Rf_xlength(formals);
  SEXP args = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; ++i) {
    const SEXP symbol = VECTOR_ELT(formals, i);
    SEXP value = Rf_findVarInFrame(frame, symbol);
    if (symbol == R_DotsSymbol) {
      value = dots_list(value);
    } else if (TYPEOF(value) == PROMSXP) {
      value = Rf_eval(value, R_BaseEnv);
    }
    SET_VECTOR_ELT(args, i, value);
  }
  UNPROTECT(1);
  return args;
}

enum class Check { kHolds, kRefreshed, kBroken };

Check check_captured(JitProgram& program) {
  bool refreshed = false;
  for (Captured& captured : program.captured) {
    SEXP now = Rf_findVarInFrame(captured.environment, static_cast<SEXP>(captured.symbol));
    if (TYPEOF(now) == PROMSXP) now = Rf_eval(now, R_BaseEnv);
    if (now == static_cast<SEXP>(captured.value)) continue;
    if (now == R_UnboundValue) return Check::kBroken;
    if (identical(now, captured.value)) {
      captured.value = now;  // the next look is a comparison of pointers again
      continue;
    }
    if (captured.constant == kNoValue) return Check::kBroken;
    const SEXP before = captured.value;
    const bool same = TYPEOF(now) == TYPEOF(before) && Rf_xlength(now) == Rf_xlength(before) &&
                      R_compute_identical(ATTRIB(now), ATTRIB(before), 16);
    if (!same) return Check::kBroken;
    MARK_NOT_MUTABLE(now);
    captured.value = now;
    program.graph.node(captured.constant).data = as_buffer(Rcpp::RObject(now)).data;
    refreshed = true;
  }
  if (!refreshed) return Check::kHolds;
  ++program.refreshes;
  program.prepare();
  return Check::kRefreshed;
}

bool options_hold(const JitProgram& program) {
  for (const auto& option : program.options) {
    const SEXP now = Rf_GetOption1(Rf_install(option.first.c_str()));
    if (!identical(now, option.second)) return false;
  }
  return true;
}

bool holds(JitProgram& program, const Rcpp::List& args, std::vector<SEXP>& leaves) {
  leaves.clear();
  for (R_xlen_t i = 0; i < args.size(); ++i) {
    if (!fits(program.args[static_cast<size_t>(i)], args[i], leaves)) return false;
  }
  return check_captured(program) != Check::kBroken && options_hold(program);
}

std::shared_ptr<JitProgram> find_program(JitFunction& function, const Rcpp::List& args,
                                         std::vector<SEXP>& leaves) {
  auto& programs = function.programs;
  for (auto at = programs.begin(); at != programs.end(); ++at) {
    if (!holds(**at, args, leaves)) continue;
    programs.splice(programs.begin(), programs, at);
    return programs.front();
  }
  return nullptr;
}

// Where a result's names are those of an argument, they are looked up at each call.
OutSpec::NameRef find_names(const std::vector<SEXP>& leaves, SEXP names, bool whole) {
  for (size_t k = 0; k < leaves.size(); ++k) {
    const bool array = Rf_getAttrib(leaves[k], R_DimSymbol) != R_NilValue;
    const SEXP own = Rf_getAttrib(leaves[k], array ? R_DimNamesSymbol : R_NamesSymbol);
    if (own == R_NilValue) continue;
    if (own == names) return {static_cast<int>(k), -1};
    if (!array || whole) continue;
    for (R_xlen_t i = 0; i < Rf_xlength(own); ++i) {
      if (VECTOR_ELT(own, i) == names) return {static_cast<int>(k), static_cast<int>(i)};
    }
  }
  return {};
}

// False where the names were made of others, so that they hold for these names only.
bool place_names(OutSpec& out, const std::vector<SEXP>& leaves) {
  const SEXP names = out.meta.names;
  if (names == R_NilValue) return true;
  out.names = find_names(leaves, names, out.meta.is_array());
  if (out.names.leaf >= 0) return true;
  if (!out.meta.is_array()) return false;
  bool all = true;
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    const SEXP one = VECTOR_ELT(names, i);
    out.dim_names.push_back(one == R_NilValue ? OutSpec::NameRef{}
                                              : find_names(leaves, one, false));
    all = all && (one == R_NilValue || out.dim_names.back().leaf >= 0);
  }
  return all;
}

OutSpec out_spec(const Rcpp::List& given, std::vector<SEXP>& tracers) {
  OutSpec spec;
  const std::string kind = Rcpp::as<std::string>(given["kind"]);
  spec.value = Rcpp::RObject(static_cast<SEXP>(given["value"]));
  if (kind == "leaf") {
    spec.kind = OutSpec::Kind::kLeaf;
    spec.index = tracers.size();
    spec.meta = current_trace().meta(spec.value);
    tracers.push_back(spec.value);
    spec.value = R_NilValue;
  } else if (kind == "list") {
    spec.kind = OutSpec::Kind::kList;
    for (const SEXP child : Rcpp::List(static_cast<SEXP>(given["children"]))) {
      spec.children.push_back(out_spec(Rcpp::List(child), tracers));
    }
  } else {
    MARK_NOT_MUTABLE(spec.value);
  }
  return spec;
}

// Which inputs of the program's graph traced values are.
std::vector<size_t> input_numbers(const std::vector<SEXP>& tracers) {
  const std::vector<ValueId>& inputs = current_trace().builder().graph().inputs;
  std::vector<size_t> numbers;
  for (const SEXP one : tracers) {
    const auto at = std::find(inputs.begin(), inputs.end(), current_trace().lift(one));
    MORIEJIT_CHECK(at != inputs.end());
    numbers.push_back(static_cast<size_t>(at - inputs.begin()));
  }
  return numbers;
}

void collect_leaves(OutSpec& spec, std::vector<OutSpec*>& leaves) {
  if (spec.kind == OutSpec::Kind::kLeaf) leaves.push_back(&spec);
  for (OutSpec& child : spec.children) collect_leaves(child, leaves);
}

void guard_name_contents(std::vector<ArgSpec>& specs) {
  for (ArgSpec& spec : specs) {
    spec.content = spec.meta.names != R_NilValue;
    guard_name_contents(spec.children);
  }
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP jit_native_impl() {
  return guarded([&]() -> SEXP { return Rcpp::XPtr<JitFunction>(new JitFunction); });
}

// Ends a trace: `spec` holds args, out, captured, options, notes and the settings.
// [[Rcpp::export(rng = false)]]
SEXP jit_add_program_impl(SEXP state, Rcpp::List spec, Rcpp::List example, int limit) {
  return guarded([&]() -> Rcpp::RObject {
    auto program = std::make_shared<JitProgram>();
    for (const SEXP arg : Rcpp::List(static_cast<SEXP>(spec["args"]))) {
      program->args.push_back(arg_spec(Rcpp::List(arg)));
    }
    std::vector<SEXP> tracers, leaves;
    program->out = out_spec(Rcpp::List(static_cast<SEXP>(spec["out"])), tracers);
    collect_leaves(program->out, program->outputs);
    for (R_xlen_t i = 0; i < example.size(); ++i) {
      fits(program->args[static_cast<size_t>(i)], example[i], leaves);
    }
    bool names_refer = !Rcpp::as<bool>(spec["names_matter"]);
    for (OutSpec* out : program->outputs) names_refer = place_names(*out, leaves) && names_refer;
    if (!names_refer) guard_name_contents(program->args);
    const SEXP loss = spec["loss"];
    if (loss == R_NilValue) {
      program->graph = current_trace().finish(tracers);
    } else {
      program->settings.gradient = true;
      program->settings.wrt = input_numbers(tracers);
      program->graph = current_trace().finish({loss});
    }
    for (const SEXP one : Rcpp::List(static_cast<SEXP>(spec["captured"]))) {
      const Rcpp::List item(one);
      Captured captured;
      captured.environment = Rcpp::RObject(static_cast<SEXP>(item["env"]));
      captured.symbol = Rf_installTrChar(STRING_ELT(static_cast<SEXP>(item["name"]), 0));
      captured.value = Rcpp::RObject(static_cast<SEXP>(item["value"]));
      captured.constant = Rcpp::as<int>(item["id"]);
      MARK_NOT_MUTABLE(captured.value);
      program->captured.push_back(captured);
    }
    const Rcpp::List options(static_cast<SEXP>(spec["options"]));
    for (R_xlen_t i = 0; i < options.size(); ++i) {
      const Rcpp::CharacterVector names = options.names();
      program->options.emplace_back(Rcpp::as<std::string>(names[i]),
                                    Rcpp::RObject(static_cast<SEXP>(options[i])));
    }
    const std::string mode = Rcpp::as<std::string>(spec["mode"]);
    program->settings.mode = mode == "max-autotune"      ? Mode::kMaxAutotune
                             : mode == "reduce-overhead" ? Mode::kReduceOverhead
                                                         : Mode::kDefault;
    program->settings.exact = Rcpp::as<bool>(spec["exact"]);
    program->settings.single = Rcpp::as<std::string>(spec["dtype"]) == "float";
    program->notes = Rcpp::RObject(static_cast<SEXP>(spec["notes"]));
    program->prepare();
    auto& programs = function_of(state)->programs;
    programs.push_front(program);
    while (static_cast<int>(programs.size()) > limit) programs.pop_back();
    return R_NilValue;
  });
}

// Whether the state has its native part, which does not survive being saved.
// [[Rcpp::export(rng = false)]]
bool has_native_impl(SEXP state) {
  return function_of(state) != nullptr;
}

// The arguments in a frame with these formal arguments.
// [[Rcpp::export(rng = false)]]
SEXP jit_arguments_impl(SEXP state, SEXP frame) {
  Rcpp::Shield<SEXP> formals(Rf_findVarInFrame(state, Rf_install("symbols")));
  return Rcpp::unwindProtect([&] { return call_arguments(formals, frame); });
}

// What no longer holds of the program that was used last: names of variables and options.
// [[Rcpp::export(rng = false)]]
SEXP jit_broken_impl(SEXP state) {
  return guarded([&]() -> SEXP {
    std::vector<std::string> broken;
    const JitFunction* function = function_of(state);
    if (function == nullptr || function->programs.empty()) return Rcpp::wrap(broken);
    const JitProgram& program = *function->programs.front();
    for (const Captured& captured : program.captured) {
      const SEXP now = Rf_findVarInFrame(captured.environment, static_cast<SEXP>(captured.symbol));
      if (now == R_UnboundValue || !identical(now, captured.value)) {
        broken.emplace_back(CHAR(PRINTNAME(static_cast<SEXP>(captured.symbol))));
      }
    }
    for (const auto& option : program.options) {
      const SEXP now = Rf_GetOption1(Rf_install(option.first.c_str()));
      if (!identical(now, option.second)) broken.push_back("option " + option.first);
    }
    return Rcpp::wrap(broken);
  });
}

// The call of a compiled function from its own frame.
// [[Rcpp::export(rng = false)]]
SEXP jit_call_impl(SEXP state, SEXP frame) {
  Rcpp::Shield<SEXP> formals(Rf_findVarInFrame(state, Rf_install("symbols")));
  Rcpp::Shield<SEXP> args(Rcpp::unwindProtect([&] { return call_arguments(formals, frame); }));
  return guarded([&]() -> Rcpp::RObject {
    std::vector<SEXP> leaves;
    const auto program = program_for(state, args, leaves);
    return run_jit(*program, leaves);
  });
}

namespace moriejit {

std::shared_ptr<JitProgram> last_program(SEXP state) {
  const JitFunction* function = function_of(state);
  if (function == nullptr || function->programs.empty()) return nullptr;
  return function->programs.front();
}

std::shared_ptr<JitProgram> program_for(SEXP state, SEXP args, std::vector<SEXP>& leaves) {
  const Rcpp::List list(args);
  for (int attempt = 0; attempt < 2; ++attempt) {
    JitFunction* function = function_of(state);
    if (function != nullptr) {
      const auto program = find_program(*function, list, leaves);
      if (program != nullptr) return program;
    }
    const SEXP formals = Rf_findVarInFrame(state, Rf_install("symbols"));
    const Rcpp::Function trace = Rcpp::Environment::namespace_env("moriejit")["jit_retrace"];
    Rcpp::CharacterVector names(list.size());
    for (R_xlen_t i = 0; i < list.size(); ++i) names[i] = PRINTNAME(VECTOR_ELT(formals, i));
    const Rcpp::List named(Rf_shallow_duplicate(args));
    Rf_setAttrib(named, R_NamesSymbol, names);
    trace(state, named);
  }
  throw Error(ErrorKind::kInternal, "A program that was just traced does not fit its arguments.");
}

}  // namespace moriejit
