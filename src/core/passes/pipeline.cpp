#include <algorithm>

#include "core/error.h"
#include "core/passes/activations.h"
#include "core/passes/affine.h"
#include "core/passes/cse.h"
#include "core/passes/dead_code.h"
#include "core/passes/fold_constants.h"
#include "core/passes/linear_chain.h"
#include "core/passes/matrix_chain.h"
#include "core/passes/pass.h"
#include "core/passes/simplify.h"
#include "core/passes/transpose_into_product.h"
#include "core/verify.h"

namespace moriejit {
namespace {

// Constants that grow are still made up to this size: they cost less than running their op.
constexpr double kSmallConstant = 1e4;
// Two rounds are usual: in the second nothing changes any more.
constexpr int kMostRounds = 8;

using Names = std::vector<std::string>;

bool contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_pass(const std::vector<Pass>& passes, const std::string& name) {
  return std::any_of(passes.begin(), passes.end(),
                     [&name](const Pass& pass) { return name == pass.name; });
}

void check_names(const std::vector<Pass>& passes, const Names& names) {
  for (const std::string& name : names) {
    if (has_pass(passes, name)) continue;
    throw Error(ErrorKind::kUnsupported, "There is no pass \"" + name + "\".");
  }
}

// A pass works on one graph; regions are graphs like any other.
Graph run_pass(const Pass& pass, const Graph& graph, PassContext& context) {
  Graph after = pass.run(graph, context);
  for (Node& node : after.nodes) {
    for (auto& region : node.regions) {
      region = std::make_shared<const Graph>(run_pass(pass, *region, context));
    }
  }
  return after;
}

// The report of a pass that has run before takes what it did this time as well.
void add_report(const Pass& pass, bool changed, const PassContext& context,
                std::vector<PassReport>* reports) {
  auto at = std::find_if(reports->begin(), reports->end(),
                         [&pass](const PassReport& report) { return report.name == pass.name; });
  if (at == reports->end()) at = reports->insert(at, {pass.name, false, {}});
  at->changed = at->changed || changed;
  at->notes.insert(at->notes.end(), context.notes.begin(), context.notes.end());
}

// Runs the passes in order, and again while they change the graph, at most `rounds` times.
Graph run_list(const std::vector<Pass>& passes, int rounds, Graph graph, PassContext& context,
               const Names& names, const Names& off, std::vector<PassReport>* reports) {
  check_names(passes, names);
  check_names(passes, off);
  bool again = true;
  for (int round = 0; round < rounds && again; ++round) {
    again = false;
    for (const Pass& pass : passes) {
      if ((!names.empty() && !contains(names, pass.name)) || contains(off, pass.name)) continue;
      context.notes.clear();
      Graph after = run_pass(pass, graph, context);
      verify(after);
      const bool changed = !same_structure(graph, after);
      if (reports != nullptr) add_report(pass, changed, context, reports);
      graph = std::move(after);
      again = again || changed;
    }
  }
  return graph;
}

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"linear_chain", linear_chain, "turns chains of products into products of constants"},
      {"fold_constants", fold_constants, "evaluates those products"},
      {"dead_code", dead_code, "drops the constants and values that nobody reads any more"},
  };
  return passes;
}

const std::vector<Pass>& traced_passes() {
  static const std::vector<Pass> passes = {
      {"simplify", simplify, "fewer ops for the passes behind it"},
      {"fold_constants", fold_constants, "evaluates what does not depend on the inputs"},
      {"cse", cse, "one value for what is made twice, so that formulas are recognised"},
      {"activations", activations, "stable forms for formulas"},
      {"transpose_into_product", transpose_into_product, "before products are ordered"},
      {"affine", affine, "one product for several with constants"},
      {"matrix_chain", matrix_chain, "what is left of products, in the cheapest order"},
      {"dead_code", dead_code, "drops the constants and values that nobody reads any more"},
  };
  return passes;
}

Graph run_passes(Graph graph, PassContext& context, const Names& names, const Names& off,
                 std::vector<PassReport>* reports) {
  return run_list(all_passes(), 1, std::move(graph), context, names, off, reports);
}

Graph run_traced_passes(Graph graph, PassContext& context, const Names& names, const Names& off,
                        std::vector<PassReport>* reports) {
  context.growth_limit = std::min(context.growth_limit, kSmallConstant);
  return run_list(traced_passes(), kMostRounds, std::move(graph), context, names, off, reports);
}

bool names_traced(const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return !has_pass(all_passes(), name); });
}

Graph run_named_passes(Graph graph, PassContext& context, const Names& names) {
  if (!names_traced(names)) return run_passes(std::move(graph), context, names);
  return run_traced_passes(std::move(graph), context, names == Names{"traced"} ? Names{} : names);
}

}  // namespace moriejit
