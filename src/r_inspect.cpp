// What a compiled function shows of itself; see R/inspect.R.
#include <map>

#include "core/op.h"
#include "core/plan_text.h"
#include "core/reference.h"
#include "core/text.h"
#include "r_jit.h"

using namespace moriejit;  // NOLINT(build/namespaces): Rcpp's exports can't be in a namespace

namespace {

// Ops, multiplications and bytes of a graph, with those of its regions.
struct Totals {
  double nodes = 0, operations = 0, bytes = 0;

  void add(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::kOp) continue;
      std::vector<Shape> shapes;
      for (ValueId arg : node.args) shapes.push_back(graph.node(arg).shape);
      ++nodes;
      operations += node.op->cost(shapes, node.shape);
      bytes += 8 * static_cast<double>(node.shape.size());
      for (const auto& region : node.regions) add(*region);
    }
  }

  Rcpp::NumericVector vector() const {
    return Rcpp::NumericVector::create(Rcpp::_["nodes"] = nodes, Rcpp::_["operations"] = operations,
                                       Rcpp::_["bytes"] = bytes);
  }
};

Rcpp::NumericVector totals(const Graph& graph) {
  Totals total;
  total.add(graph);
  return total.vector();
}

// The nodes of a graph as columns: what it is, its label, its operands (from 1).
Rcpp::List node_table(const Graph& graph) {
  std::vector<std::string> kinds, labels, types;
  Rcpp::List args, attrs, values;
  for (const Node& node : graph.nodes) {
    const bool op = node.kind == NodeKind::kOp;
    kinds.emplace_back(op ? "op" : node.kind == NodeKind::kInput ? "input" : "constant");
    labels.push_back(op ? node.op->name : node.name);
    types.push_back(std::to_string(node.shape.rows) + " x " + std::to_string(node.shape.cols));
    std::vector<int> ids;
    for (ValueId arg : node.args) ids.push_back(arg + 1);
    args.push_back(Rcpp::wrap(ids));
    attrs.push_back(Rcpp::wrap(node.attrs));
    const bool known = node.kind == NodeKind::kConstant && node.data != nullptr;
    values.push_back(known ? copy_matrix({node.data.get(), node.shape}) : Rcpp::RObject());
  }
  std::vector<int> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(id + 1);
  return Rcpp::List::create(Rcpp::_["kind"] = kinds, Rcpp::_["label"] = labels,
                            Rcpp::_["shape"] = types, Rcpp::_["args"] = args,
                            Rcpp::_["attrs"] = attrs, Rcpp::_["value"] = values,
                            Rcpp::_["outputs"] = outputs);
}

std::shared_ptr<JitProgram> program_or_error(SEXP state) {
  const auto program = last_program(state);
  if (program != nullptr) return program;
  throw Error(ErrorKind::kInput, "A function must have been traced to show its graph.",
              "It has not been called, and no example inputs were given.");
}

}  // namespace

// The text of the last program: "captured", "optimised" or "plan".
// [[Rcpp::export(rng = false)]]
SEXP jit_text_impl(SEXP state, std::string stage) {
  return guarded([&]() -> SEXP {
    const auto program = program_or_error(state);
    if (stage == "plan") return Rcpp::wrap(describe_plan(program->plan));
    return Rcpp::wrap(to_text(stage == "captured" ? program->graph : program->optimised));
  });
}

// Traces for the arguments in a frame where it must, without running the program.
// [[Rcpp::export(rng = false)]]
SEXP jit_prepare_impl(SEXP state, SEXP args) {
  return guarded([&]() -> Rcpp::RObject {
    std::vector<SEXP> leaves;
    program_for(state, args, leaves);
    return R_NilValue;
  });
}

// Everything else that R shows of the last program, and of the programs there are.
// [[Rcpp::export(rng = false)]]
SEXP jit_facts_impl(SEXP state) {
  return guarded([&]() -> SEXP {
    const auto program = program_or_error(state);
    Rcpp::List passes;
    for (const PassReport& report : program->reports) {
      passes.push_back(Rcpp::List::create(Rcpp::_["pass"] = report.name,
                                          Rcpp::_["changed"] = report.changed,
                                          Rcpp::_["notes"] = report.notes));
    }
    std::vector<std::string> captured, options;
    for (const Captured& one : program->captured) {
      captured.emplace_back(CHAR(PRINTNAME(static_cast<SEXP>(one.symbol))));
    }
    for (const auto& option : program->options) options.push_back(option.first);
    return Rcpp::List::create(
        Rcpp::_["before"] = totals(program->graph), Rcpp::_["after"] = totals(program->optimised),
        Rcpp::_["passes"] = passes, Rcpp::_["captured"] = captured, Rcpp::_["options"] = options,
        Rcpp::_["notes"] = program->notes, Rcpp::_["runs"] = program->runs,
        Rcpp::_["refreshes"] = program->refreshes,
        Rcpp::_["captured_graph"] = node_table(program->graph),
        Rcpp::_["graph"] = node_table(program->optimised));
  });
}
