#include <algorithm>

#include "core/error.h"
#include "core/passes/dead_code.h"
#include "core/passes/fold_constants.h"
#include "core/passes/linear_chain.h"
#include "core/passes/pass.h"
#include "core/verify.h"

namespace moriejit {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool known = std::any_of(all_passes().begin(), all_passes().end(),
                                   [&name](const Pass& pass) { return name == pass.name; });
    if (!known) throw Error(ErrorKind::kUnsupported, "There is no pass \"" + name + "\".");
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

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"linear_chain", linear_chain, "turns chains of products into products of constants"},
      {"fold_constants", fold_constants, "evaluates those products"},
      {"dead_code", dead_code, "drops the constants and values that nobody reads any more"},
  };
  return passes;
}

Graph run_passes(Graph graph, PassContext& context, const std::vector<std::string>& names,
                 const std::vector<std::string>& off, std::vector<PassReport>* reports) {
  check_names(names);
  check_names(off);
  for (const Pass& pass : all_passes()) {
    if ((!names.empty() && !contains(names, pass.name)) || contains(off, pass.name)) continue;
    context.notes.clear();
    Graph after = run_pass(pass, graph, context);
    verify(after);
    if (reports != nullptr) {
      reports->push_back({pass.name, !same_structure(graph, after), context.notes});
    }
    graph = std::move(after);
  }
  return graph;
}

}  // namespace moriejit
