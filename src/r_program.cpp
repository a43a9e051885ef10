#include "r_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>

#include "core/op.h"

namespace moriejit {
namespace {

constexpr size_t kCacheSize = 8;

// The most recently used first. Never destroyed: when the process ends, R is gone before us.
std::list<std::shared_ptr<Program>>& cache() {
  static auto* programs = new std::list<std::shared_ptr<Program>>;
  return *programs;
}

[[noreturn]] void not_a_graph(const std::string& found, const std::string& hint = "") {
  throw Error(ErrorKind::kGraph,
              "`graph` must be a graph as morie_geron_trace() gives it: a list of nodes, each with "
              "`index`, `kind`, `in_shape`, `out_shape` and `op`.",
              found, hint);
}

Shape shape_from(const Rcpp::List& node, const char* field, R_xlen_t index) {
  const SEXP value = node[field];
  const bool pair = (TYPEOF(value) == INTSXP || TYPEOF(value) == REALSXP) && Rf_length(value) == 2;
  if (pair) {
    const Rcpp::NumericVector dims(value);
    const auto is_dimension = [](double d) {  // false for NA
      return d >= 0 && d <= std::numeric_limits<int>::max() && d == std::floor(d);
    };
    if (is_dimension(dims[0]) && is_dimension(dims[1])) {
      return {static_cast<int64_t>(dims[0]), static_cast<int64_t>(dims[1])};
    }
  }
  not_a_graph("`" + std::string(field) + "` of node " + std::to_string(index) +
              " is not a pair of dimensions.");
}

Rcpp::List node_at(const Rcpp::List& graph, R_xlen_t index) {
  const SEXP given = graph[index];
  const std::string which = "Node " + std::to_string(index);
  if (TYPEOF(given) != VECSXP) not_a_graph(which + " is not a list.");
  const Rcpp::List node(given);
  for (const char* field : {"index", "kind", "in_shape", "out_shape", "op"}) {
    if (node.containsElementNamed(field)) continue;
    const bool is_op = node.containsElementNamed("param") || node.size() == 1;
    not_a_graph(
        which + " has no `" + field + "`.",
        is_op ? "It looks like an op list, which morie_geron_trace() makes a graph of." : "");
  }
  return node;
}

void check_kind(const Rcpp::List& graph, R_xlen_t index, const std::string& kind) {
  const Rcpp::List node(static_cast<SEXP>(graph[index]));
  const SEXP stated = node["kind"];
  if (TYPEOF(stated) == STRSXP && Rf_length(stated) == 1 && kind == CHAR(STRING_ELT(stated, 0))) {
    return;
  }
  not_a_graph("`kind` of node " + std::to_string(index) + " is not that of its op, \"" + kind +
              "\".");
}

void check_graph_list(SEXP graph) {
  if (TYPEOF(graph) != VECSXP || Rf_isObject(graph)) not_a_graph("It is not a plain list.");
  if (Rcpp::List(graph).containsElementNamed("graph")) {
    not_a_graph("It is a whole result.", "Pass its `graph` or its `compiled`.");
  }
}

std::shared_ptr<Program> make_program(SEXP source) {
  check_graph_list(source);
  const Rcpp::List graph(source);
  Rcpp::List model(graph.size());
  std::vector<Shape> out_shapes;
  Shape x{0, 0};
  for (R_xlen_t i = 0; i < graph.size(); ++i) {
    const Rcpp::List node = node_at(graph, i);
    if (i == 0) x = shape_from(node, "in_shape", i);
    out_shapes.push_back(shape_from(node, "out_shape", i));
    const SEXP op = node["op"];
    model[i] = op;
  }
  auto program = std::make_shared<Program>();
  program->source = source;
  program->model = parse_model(model);
  for (size_t i = 0; i < program->model.ops.size(); ++i) {
    ListOp& op = program->model.ops[i];
    if (op.callable != nullptr) op.callable_shape = out_shapes[i];
  }
  program->capture = capture_op_list(program->model.ops, {nullptr, x}, r_hooks());
  for (R_xlen_t i = 0; i < graph.size(); ++i) {
    check_kind(graph, i, program->model.ops[static_cast<size_t>(i)].kind);
  }
  program->plan = make_plan(program->capture.graph);
  return program;
}

}  // namespace

std::shared_ptr<Program> program_of(SEXP graph) {
  auto& programs = cache();
  const auto known = std::find_if(programs.begin(), programs.end(),
                                  [graph](const auto& p) { return p->source == graph; });
  if (known != programs.end()) {
    programs.splice(programs.begin(), programs, known);
    return programs.front();
  }
  programs.push_front(make_program(graph));
  MARK_NOT_MUTABLE(graph);
  if (programs.size() > kCacheSize) programs.pop_back();
  return programs.front();
}

Names run_plan(Program& program, const Plan& plan, const std::vector<View>& inputs,
               const Names& names, const MakeResult& result) {
  // A callable may run this very program again: names and workspace are for one run at a time.
  struct Restore {
    Names& place;
    Names saved;
    ~Restore() { place = saved; }
  };
  const Restore restore{*program.model.names, *program.model.names};
  *program.model.names = names;
  Workspace workspace;
  if (program.keep_workspace) std::swap(workspace, program.workspace);
  run(plan, inputs, result, workspace, r_hooks());
  if (program.keep_workspace) std::swap(workspace, program.workspace);
  return program.model.output_names();
}

Rcpp::RObject run_program(Program& program, const Rcpp::RObject& x) {
  if (program.model.ops.empty()) {  // it does not even say how many columns
    const Rcpp::RObject copy = copy_matrix(view_of(x));
    set_names(copy, names_of(x));
    return copy;
  }
  Results results;
  const Names names = run_plan(program, program.plan, {view_of(x)}, names_of(x), results);
  set_names(results.values[0], names);
  return results.values[0];
}

}  // namespace moriejit
