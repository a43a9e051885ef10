// The trace of an R function while it is being made: a stack of graphs under construction (the
// program and the regions of control flow inside it) and, for each traced value, what R knows of
// it beside its numbers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph.h"
#include "r_convert.h"

namespace moriejit {

enum class RType { kLogical, kInteger, kDouble };
RType r_type(SEXP x);  // an error where it is not a number or logical
RType r_type(const std::string& name);
const char* r_type_name(RType type);

// What R knows of a value beside its numbers.
struct Meta {
  RType type = RType::kDouble;
  std::vector<int> dim;  // empty: a vector
  R_xlen_t length = 0;
  Rcpp::RObject names;  // names of a vector, dimnames of an array

  bool is_array() const { return !dim.empty(); }
  // Arrays are matrices of their first dimension by all others, vectors have one column.
  Shape core_shape() const;
};
Meta meta_of(SEXP value);

// A value is one of a graph of the stack, which is known by its serial number.
using Place = std::pair<int, ValueId>;

struct Traced {
  Place place;
  Meta meta;
};

// A graph of the stack. Values of the graphs below come in as inputs, made when first asked for.
struct Region {
  int serial = 0;
  Builder builder;
  std::vector<Place> inputs;  // what each input stands for; {-1, ...} for the states of a loop
  std::map<Place, ValueId> known;
};

class Tracing {
 public:
  Tracing();

  // The R object that stands for a value.
  SEXP tracer(Place place, Meta meta);
  static bool is_tracer(SEXP x);
  const Traced& traced(SEXP tracer) const;
  Meta meta(SEXP x) const { return is_tracer(x) ? traced(x).meta : meta_of(x); }

  // A value of the innermost graph: of a tracer, or a constant.
  ValueId lift(SEXP x);
  ValueId import(Place place);
  Builder& builder() { return stack_.back().builder; }
  int serial() const { return stack_.back().serial; }
  SEXP emit(const Op& op, const std::vector<ValueId>& args, std::vector<double> attrs, Meta meta);
  SEXP here(ValueId id, Meta meta) { return tracer({serial(), id}, std::move(meta)); }

  SEXP input(const std::string& name, SEXP value);
  SEXP captured(const std::string& name, SEXP value);

  // Regions: opened on the stack, parked when traced, closed when their outputs are known.
  void open_region();
  int park_region();
  void close_region(int handle, const std::vector<SEXP>& outputs);
  SEXP region_state(const std::string& name, Meta meta);
  size_t depth() const { return stack_.size(); }
  void drop_to(size_t depth);  // after an error
  // The node of closed regions; `states` come before what the regions captured.
  ValueId control(const char* op, const std::vector<SEXP>& first, const std::vector<int>& regions);

  // Inputs and captured constants of the whole program that a value depends on (their ids), and
  // whether it also depends on what is only known at run time.
  struct Origins {
    std::vector<ValueId> ids;
    bool opaque = false;
  };
  Origins origins(SEXP tracer) const;

  // How many ops there are so far, and how many of them draw, call R or may fail.
  std::pair<int, int> counts() const;

  Graph finish(const std::vector<SEXP>& outputs);
  void at(std::vector<int> origin);

 private:
  const Region& region(int serial) const;

  static int next_serial_;
  int id_;  // of this trace
  std::vector<Region> stack_;
  std::vector<Region> parked_;
  std::vector<std::pair<Graph, std::vector<Place>>> closed_;
  std::vector<Traced> values_;
};

// The trace that R code is being captured into; an error where there is none.
Tracing& current_trace();
bool tracing();

}  // namespace moriejit
