// What must hold for every program. Each check throws a Failure that says what does not.
#pragma once

#include <string>
#include <vector>

#include "core/exec.h"
#include "core/graph.h"
#include "core/oplist.h"
#include "core/plan.h"
#include "programs.h"
#include "support.h"

namespace moriejit::test {

struct Failure {
  std::string why;
};

void require(bool condition, const std::string& why);
// Of a check that gives what is wrong, or nothing.
void require_none(const std::string& wrong, const std::string& where);

// A run of a plan with every value that came by.
struct Watched {
  std::vector<Buffer> values;  // by node
  std::vector<Buffer> outputs;

  Buffer value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  std::vector<View> operands(const Node& node) const;
};
Watched watch(const Plan& plan, const std::vector<Buffer>& inputs, Workspace& workspace);

// Runs the graph by a plan and by the evaluator. Every value must be what the reference evaluation
// of its op makes of the very operands the run had, and what the textbook says.
Watched check_run(const Graph& graph, const std::vector<Buffer>& inputs);

// A captured program: its plan on its own and other numbers of rows.
void check_values(const Program& program, const Capture& capture);
// compile() in all modes: which ops are fused, and that they give what they should.
void check_compile(const Program& program, const Capture& capture);
// Derivatives against differences of values.
void check_gradient(const Program& program, const Capture& capture, Rng& rng);
void check_gradient(Graph graph, Rng& rng);
// A graph with one operand, attribute, number or output changed has another structure.
void check_structure(const Graph& graph, Rng& rng);
// A random graph with control flow, by a plan of fixed shapes.
void check_fixed(Rng& rng);
// A random graph by the passes over traced programs.
void check_traced(Rng& rng);
// Particular cases of fixed plans, and of derivatives of control flow.
void check_plans();
void check_control_gradients();
// Calls of the host's functions, and being told to stop.
void check_host();
// Passes on a graph of whole numbers, whose values they must keep exactly.
void check_passes(const Graph& graph);
// The order in which a chain of matrices is multiplied, against all orders.
void check_chain_order(Rng& rng);
// Texts with random errors in them: a graph or an error about the text, nothing else.
void check_texts(const Graph& graph, Rng& rng);

}  // namespace moriejit::test
