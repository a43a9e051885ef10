// What a pass is: a pure function from graph to graph, in a pair of files named after it, listed
// once, in order, in pipeline.cpp.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/passes/rebuild.h"

namespace moriejit {

enum class Mode { kDefault, kReduceOverhead, kMaxAutotune };

// Ops of the list that a pass could have fused, and why they stay apart.
struct Refusal {
  std::vector<int> ops;
  std::string reason;
};

struct PassContext {
  Mode mode = Mode::kDefault;
  // Ops of the list that must stay what they are (their fusion was tried and found wrong).
  std::vector<int> keep_apart;
  // No constant of more elements than this is made (100 million doubles are 0.8 GB).
  double constant_limit = 1e8;
  // Nor, of more than this, one that is larger than what it is made of.
  double growth_limit = std::numeric_limits<double>::infinity();
  // Only rewrites that keep every bit (any NaN for any other, NA for NA).
  bool exact = false;
  std::function<void()> poll;
  // What the pass did or refused, one sentence each.
  std::vector<std::string> notes;
  std::vector<Refusal> refused;
};

using PassFunction = Graph (*)(const Graph&, PassContext&);

struct Pass {
  const char* name;
  PassFunction run;
  const char* reason;  // why it stands where it stands
};

// The passes over op lists, and those over traced programs, whose shapes are fixed; each in order.
const std::vector<Pass>& all_passes();
const std::vector<Pass>& traced_passes();

struct PassReport {
  std::string name;
  bool changed;
  std::vector<std::string> notes;
};

// Runs the named passes (all, where `names` is empty), in the order of all_passes(), and verifies
// the graph after each. `off` names passes to leave out.
Graph run_passes(Graph graph, PassContext& context, const std::vector<std::string>& names = {},
                 const std::vector<std::string>& off = {},
                 std::vector<PassReport>* reports = nullptr);

// The same with traced_passes(), again while they change the graph. Where context.exact is set, no
// bit of a result changes.
Graph run_traced_passes(Graph graph, PassContext& context,
                        const std::vector<std::string>& names = {},
                        const std::vector<std::string>& off = {},
                        std::vector<PassReport>* reports = nullptr);

// For tests: those over op lists where they have all the names, else the traced ones; the one name
// "traced" stands for all of these.
bool names_traced(const std::vector<std::string>& names);
Graph run_named_passes(Graph graph, PassContext& context, const std::vector<std::string>& names);

}  // namespace moriejit
