// Graphs as text, single passes over them, and the op table.
#include <map>

#include "core/kernels/gemm.h"
#include "core/op.h"
#include "core/passes/check_rules.h"
#include "core/passes/pass.h"
#include "core/passes/simplify.h"
#include "core/reference.h"
#include "core/text.h"
#include "r_program.h"

using namespace moriejit;  // NOLINT(build/namespaces): Rcpp's exports can't be in a namespace

namespace {

// Constants that a text has no values for, from a named list of matrices.
Resolver resolver_from(const Rcpp::List& constants) {
  return [constants](const std::string& name, Shape) -> Buffer {
    if (!constants.containsElementNamed(name.c_str())) return {};
    return as_buffer(constants[name]);
  };
}

Graph parse(const std::string& text, const Rcpp::List& constants) {
  return parse_text(text, resolver_from(constants));
}

}  // namespace

// The text of a graph list, with the constants that the text names by hash.
// [[Rcpp::export(rng = false)]]
SEXP graph_text_impl(SEXP graph) {
  return guarded(
      [&]() -> Rcpp::RObject { return Rcpp::wrap(to_text(program_of(graph)->capture.graph)); });
}

// Parses and prints again: the text in its canonical form.
// [[Rcpp::export(rng = false)]]
SEXP text_check_impl(std::string text, Rcpp::List constants) {
  return guarded([&]() -> Rcpp::RObject { return Rcpp::wrap(to_text(parse(text, constants))); });
}

// The inputs and constants of a text that have no values: name, rows, columns.
// [[Rcpp::export(rng = false)]]
SEXP text_holes_impl(std::string text) {
  return guarded([&]() -> Rcpp::RObject {
    const Graph graph = parse_text(text);
    std::vector<std::string> names, kinds;
    std::vector<double> rows, cols;
    for (const Node& node : graph.nodes) {
      if (node.kind == NodeKind::kOp || node.data != nullptr) continue;
      names.push_back(node.name);
      kinds.push_back(node.kind == NodeKind::kInput ? "input" : "constant");
      rows.push_back(static_cast<double>(node.shape.rows));
      cols.push_back(static_cast<double>(node.shape.cols));
    }
    return Rcpp::DataFrame::create(Rcpp::_["name"] = names, Rcpp::_["kind"] = kinds,
                                   Rcpp::_["rows"] = rows, Rcpp::_["cols"] = cols);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP text_pass_impl(std::string text, std::vector<std::string> passes, Rcpp::List constants,
                    std::string mode) {
  return guarded([&]() -> Rcpp::RObject {
    PassContext context;
    if (mode == "max-autotune") context.mode = Mode::kMaxAutotune;
    context.exact = mode == "exact";
    return Rcpp::wrap(to_text(run_named_passes(parse(text, constants), context, passes)));
  });
}

// What each pass did: its name, whether it changed the graph, and notes.
// [[Rcpp::export(rng = false)]]
SEXP text_report_impl(std::string text, std::vector<std::string> off, Rcpp::List constants) {
  return guarded([&]() -> Rcpp::RObject {
    PassContext context;
    std::vector<PassReport> reports;
    run_passes(parse(text, constants), context, {}, off, &reports);
    Rcpp::List list;
    for (const PassReport& report : reports) {
      list.push_back(Rcpp::List::create(Rcpp::_["pass"] = report.name,
                                        Rcpp::_["changed"] = report.changed,
                                        Rcpp::_["notes"] = report.notes));
    }
    return list;
  });
}

// [[Rcpp::export(rng = false)]]
SEXP text_same_impl(std::string a, std::string b) {
  return guarded(
      [&]() -> SEXP { return Rcpp::wrap(same_structure(parse_text(a), parse_text(b))); });
}

// Every output, by the reference evaluator or by a plan.
// [[Rcpp::export(rng = false)]]
SEXP text_run_impl(std::string text, Rcpp::List inputs, Rcpp::List constants, bool reference) {
  return guarded([&]() -> Rcpp::RObject {
    const Graph graph = parse(text, constants);
    std::vector<Rcpp::RObject> held;
    std::vector<View> views;
    for (const SEXP input : inputs) {
      held.push_back(as_input(input, "inputs"));
      views.push_back(view_of(held.back()));
    }
    Results outputs;
    if (reference) {
      const std::vector<Buffer> values = evaluate(graph, views, r_hooks());
      for (ValueId id : graph.outputs) {
        outputs.values.push_back(copy_matrix(values[static_cast<size_t>(id)].view()));
      }
    } else {
      Workspace workspace;
      run(make_plan(graph), views, outputs, workspace, r_hooks());
    }
    return Rcpp::wrap(outputs.values);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP ops_impl() {
  Rcpp::List rows;
  for (const Op& op : all_ops()) {
    std::vector<std::string> fields, attrs;
    if (op.calls_host && !op.kind.empty()) fields = {"param", "grad?"};
    for (const Field& field : op.fields) {
      fields.push_back(field.required ? field.name : field.name + "?");
    }
    for (const Attr& attr : op.attrs) {
      const std::string value = !attr.flag           ? number_text(attr.default_value)
                                : attr.default_value ? "TRUE"
                                                     : "FALSE";
      if (attr.in_lists) attrs.push_back(attr.name + "=" + value);
    }
    rows.push_back(Rcpp::List::create(
        Rcpp::_["name"] = op.name, Rcpp::_["kind"] = op.kind, Rcpp::_["operands"] = op.arity,
        Rcpp::_["fields"] = Rcpp::wrap(fields), Rcpp::_["attributes"] = Rcpp::wrap(attrs),
        Rcpp::_["elementwise"] = op.elementwise, Rcpp::_["random"] = op.random,
        Rcpp::_["derivative"] = static_cast<bool>(op.vjp), Rcpp::_["no_derivative"] = op.no_vjp,
        Rcpp::_["has_shape"] = static_cast<bool>(op.shape),
        Rcpp::_["has_eval"] = static_cast<bool>(op.eval),
        Rcpp::_["has_cost"] = static_cast<bool>(op.cost), Rcpp::_["doc"] = op.doc));
  }
  return rows;
}

// [[Rcpp::export(rng = false)]]
SEXP passes_impl(bool traced = false) {
  std::vector<std::string> names, reasons;
  for (const Pass& pass : traced ? traced_passes() : all_passes()) {
    names.emplace_back(pass.name);
    reasons.emplace_back(pass.reason);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = names, Rcpp::_["reason"] = reasons);
}

// What is wrong with rewrites, given as their two sides; those of `simplify` where none are given.
// [[Rcpp::export(rng = false)]]
SEXP check_rules_impl(std::vector<std::string> before, std::vector<std::string> after) {
  return guarded([&]() -> Rcpp::RObject {
    std::vector<Rule> rules;
    for (size_t k = 0; k < before.size(); ++k) rules.push_back({before[k], after.at(k)});
    return Rcpp::wrap(check_rules(rules.empty() ? simplify_rules() : rules));
  });
}

// Which routine does products: "auto", "blas" or "eigen".
// [[Rcpp::export(rng = false)]]
void set_gemm_impl(std::string choice) {
  set_gemm_choice(choice == "blas"    ? GemmChoice::kBlas
                  : choice == "eigen" ? GemmChoice::kEigen
                                      : GemmChoice::kAuto);
}
