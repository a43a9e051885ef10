// Compiled functions: programs with the signature they hold for, and the call that finds the right
// one.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/exec.h"
#include "core/passes/pass.h"
#include "core/plan.h"
#include "r_values.h"

namespace moriejit {

// What an argument must be for a program to hold: a number or array of a type and shape (a leaf,
// whose values are an input of the graph), a value that is the same, a list of such, or missing.
struct ArgSpec {
  enum class Kind { kMissing, kLeaf, kStatic, kList };
  Kind kind = Kind::kMissing;
  Meta meta;             // leaves
  bool content = false;  // leaves: the names must be the same ones, not only be there
  Rcpp::RObject value;   // statics; of lists, their attributes
  std::vector<ArgSpec> children;
};

// A result: an output of the graph, a constant, or a list of such.
struct OutSpec {
  enum class Kind { kLeaf, kStatic, kList };
  // Names that come from an argument at each call: of which leaf, and which of its dimensions
  // (-1: all of them).
  struct NameRef {
    int leaf = -1;
    int which = -1;
  };
  Kind kind = Kind::kStatic;
  size_t index = 0;  // leaves
  Meta meta;
  NameRef names;                   // all names at once
  std::vector<NameRef> dim_names;  // or those of each dimension
  Rcpp::RObject value;             // statics; of lists, their attributes
  std::vector<OutSpec> children;
};

// A variable that the traced code read. A captured array may change its values without a new trace.
struct Captured {
  Rcpp::RObject environment, symbol, value;
  ValueId constant = kNoValue;  // of the graph as captured
};

struct JitOptions {
  Mode mode = Mode::kDefault;
  bool exact = false;
  bool single = false;
  // Of a gradient: the inputs (by number) that it is taken by. The graph is that of the loss.
  bool gradient = false;
  std::vector<size_t> wrt;
};

struct JitProgram {
  std::vector<ArgSpec> args;
  std::vector<Captured> captured;
  std::vector<std::pair<std::string, Rcpp::RObject>> options;  // of R that the trace read
  JitOptions settings;
  Graph graph;      // as captured
  Graph optimised;  // as run
  std::vector<PassReport> reports;
  Plan plan;
  Workspace workspace;
  OutSpec out;
  std::vector<OutSpec*> outputs;  // its leaves
  Rcpp::RObject notes;            // for R: what the trace says about itself
  int runs = 0, refreshes = 0;

  // Runs the passes and plans, after the trace or after a captured array changed.
  void prepare();
};

// Finds the program for a call's arguments by formal argument, tracing if there is none.
std::shared_ptr<JitProgram> program_for(SEXP state, SEXP args, std::vector<SEXP>& leaves);
// The program that was used last; null where there is none.
std::shared_ptr<JitProgram> last_program(SEXP state);

struct JitFunction {
  std::list<std::shared_ptr<JitProgram>> programs;  // the most recently used first
};

ArgSpec arg_spec(const Rcpp::List& spec);
// Whether the arguments (as R_MissingArg, values, or pairlists of `...`) fit; collects the leaves.
bool fits(const ArgSpec& spec, SEXP value, std::vector<SEXP>& leaves);
bool identical(SEXP a, SEXP b);

Rcpp::RObject run_jit(JitProgram& program, const std::vector<SEXP>& leaves);

}  // namespace moriejit
