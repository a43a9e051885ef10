// Programs: graph lists of the op-list functions made ready to run, kept for the next call.
#pragma once

#include <array>
#include <memory>

#include "core/exec.h"
#include "core/plan.h"
#include "r_convert.h"

namespace moriejit {

struct Program {
  Rcpp::RObject source;  // the R list that it was made from
  ParsedModel model;
  Capture capture;
  Plan plan;
  std::array<std::unique_ptr<Plan>, 2> backward;  // for a given gradient; for ones
  Workspace workspace;
  bool keep_workspace = false;  // mode reduce-overhead: it stays laid out between calls
};

// The program of a graph as morie_geron_trace() and morie_geron_torch_compile() give it. A small
// cache knows the last ones by the identity of the list: it holds a reference, so that the list can
// neither be changed in place nor its address be used again.
std::shared_ptr<Program> program_of(SEXP graph);

// Runs it; the result's names are those of plain R.
Rcpp::RObject run_program(Program& program, const Rcpp::RObject& x);

// Runs a plan of the program (its own, or one of its derivatives) with its workspace. Gives the
// names of the first output.
Names run_plan(Program& program, const Plan& plan, const std::vector<View>& inputs,
               const Names& names, const MakeResult& result);

}  // namespace moriejit
