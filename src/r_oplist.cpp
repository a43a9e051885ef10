// The op-list functions: trace, run, compile, backward.
#include <algorithm>

#include "core/chain_order.h"
#include "core/compile.h"
#include "core/grad.h"
#include "core/op.h"
#include "core/reference.h"
#include "r_program.h"

using namespace moriejit;  // NOLINT(build/namespaces): Rcpp's exports can't be in a namespace

namespace {

Rcpp::IntegerVector pair_of(Shape shape) {
  return Rcpp::IntegerVector::create(static_cast<int>(shape.rows), static_cast<int>(shape.cols));
}

Rcpp::List graph_node(int index, const std::string& kind, Shape in, Shape out,
                      const Rcpp::RObject& op) {
  return Rcpp::List::create(Rcpp::_["index"] = index, Rcpp::_["kind"] = kind,
                            Rcpp::_["in_shape"] = pair_of(in), Rcpp::_["out_shape"] = pair_of(out),
                            Rcpp::_["op"] = op);
}

// One node for each op.
Rcpp::List graph_list(const ParsedModel& model, const Capture& capture) {
  Rcpp::List list(static_cast<R_xlen_t>(model.ops.size()));
  for (size_t i = 0; i < model.ops.size(); ++i) {
    const CapturedOp& op = capture.ops[i];
    list[static_cast<R_xlen_t>(i)] =
        graph_node(static_cast<int>(i), model.ops[i].kind, capture.graph.node(op.in).shape,
                   capture.graph.node(op.out).shape, model.given[i]);
  }
  return list;
}

// The product of fused ops as a linear op, named as R's own product would be.
Rcpp::RObject fused_op(const ParsedModel& model, const Node& product, const std::vector<int>& ops) {
  const auto matrix_of = [&model](int index) -> Rcpp::RObject {
    return Rcpp::List(model.given[static_cast<size_t>(index)])["param"];
  };
  const Rcpp::RObject param = copy_matrix({product.data.get(), product.shape});
  const Names first = names_of(matrix_of(ops.front())), last = names_of(matrix_of(ops.back()));
  set_names(param, {first.rows, last.cols, first.row_label, last.col_label});
  return Rcpp::List::create(Rcpp::_["kind"] = "linear", Rcpp::_["param"] = param);
}

// The compiled graph as a list: its ops in order, each with the op or ops that it stands for.
Rcpp::List compiled_list(const ParsedModel& model, const Capture& capture, const Graph& compiled) {
  std::vector<Rcpp::RObject> nodes;
  int last = -1;
  for (const Node& node : compiled.nodes) {
    // Several nodes of one op (draws, then dropout) are one node of the list.
    if (node.kind != NodeKind::kOp || node.origin.front() == last) continue;
    last = node.origin.front();
    const int index = static_cast<int>(nodes.size());
    if (node.origin.size() == 1) {
      const CapturedOp& op = capture.ops[static_cast<size_t>(last)];
      nodes.push_back(graph_node(index, model.ops[static_cast<size_t>(last)].kind,
                                 capture.graph.node(op.in).shape, capture.graph.node(op.out).shape,
                                 model.given[static_cast<size_t>(last)]));
      continue;
    }
    Rcpp::List fused = graph_node(index, "linear", compiled.node(node.args[0]).shape, node.shape,
                                  fused_op(model, compiled.node(node.args[1]), node.origin));
    fused["fused_from"] = Rcpp::seq(node.origin.front(), node.origin.back());
    nodes.push_back(fused);
  }
  // A model of nothing but identities stays what it is: an empty list would take any input.
  if (nodes.empty()) return graph_list(model, capture);
  return Rcpp::wrap(nodes);
}

struct Traced {
  Rcpp::RObject x;
  ParsedModel model;
  Capture capture;
};

Traced trace(ParsedModel model, SEXP example_inputs) {
  Traced traced{as_input(example_inputs, "example_inputs"), std::move(model), {}};
  *traced.model.names = names_of(traced.x);
  traced.capture = capture_op_list(traced.model.ops, view_of(traced.x), r_hooks());
  return traced;
}

Mode mode_from(const std::string& mode) {
  if (mode == "reduce-overhead") return Mode::kReduceOverhead;
  return mode == "max-autotune" ? Mode::kMaxAutotune : Mode::kDefault;
}

Rcpp::List refusals(const std::vector<Refusal>& rejected) {
  Rcpp::List list;
  for (const Refusal& refusal : rejected) {
    list.push_back(Rcpp::List::create(Rcpp::_["ops"] = Rcpp::wrap(refusal.ops),
                                      Rcpp::_["reason"] = refusal.reason));
  }
  return list;
}

double largest_difference(SEXP a, SEXP b) {
  const Shape first = view_of(a).shape, second = view_of(b).shape;
  if (first != second) {
    throw Error(ErrorKind::kCallable,
                "A function in a model must give a matrix of the same shape for the same input.",
                "The output was " + to_string(first) + ", then " + to_string(second) + ".");
  }
  return max_abs_diff(view_of(a), view_of(b));
}

// The values whose gradients are asked for: x, then every operand that the user gave.
std::vector<ValueId> parameters(const Program& program) {
  std::vector<ValueId> wrt = {program.capture.graph.inputs[0]};
  for (size_t i = 0; i < program.model.ops.size(); ++i) {
    const ListOp& op = program.model.ops[i];
    const Op* record = find_kind(op.kind);
    const std::vector<ValueId>& operands = program.capture.ops[i].operands;
    for (size_t f = 0; f < operands.size(); ++f) {
      if (op.operands.count(record->fields[f].name) > 0) wrt.push_back(operands[f]);
    }
  }
  return wrt;
}

const Plan& backward_plan(Program& program, bool ones) {
  std::unique_ptr<Plan>& plan = program.backward[ones ? 1 : 0];
  if (plan == nullptr) {
    PassContext context;
    Graph joint = vjp_graph(program.capture.graph, parameters(program), ones);
    plan = std::make_unique<Plan>(make_plan(run_passes(std::move(joint), context, {"dead_code"})));
  }
  return *plan;
}

// Gradients in the order of parameters(), given back as the params were given.
class GradientList {
 public:
  explicit GradientList(const std::vector<Rcpp::RObject>& gradients) : gradients_(gradients) {}

  Rcpp::List list_for(const Program& program) {
    Rcpp::List list(static_cast<R_xlen_t>(program.model.ops.size()));
    for (size_t i = 0; i < program.model.ops.size(); ++i) {
      list[static_cast<R_xlen_t>(i)] = entry(program.model.ops[i], program.model.given[i]);
    }
    return list;
  }

 private:
  // The gradient of `param`; of fields by other names, a list of them.
  Rcpp::RObject entry(const ListOp& op, const Rcpp::RObject& given) {
    const Op* record = find_kind(op.kind);
    if (op.operands.empty()) return R_NilValue;
    Rcpp::List fields;
    for (const Field& field : record->fields) {
      if (op.operands.count(field.name) == 0) continue;
      const Rcpp::RObject gradient = shaped_like(Rcpp::List(given)[field.name]);
      if (field.name == "param") return gradient;
      fields.push_back(gradient, field.name);
    }
    return fields;
  }

  Rcpp::RObject shaped_like(SEXP param) {
    const Rcpp::RObject gradient = gradients_[next_++];
    for (const SEXP name : {R_DimSymbol, R_DimNamesSymbol, R_NamesSymbol}) {
      Rf_setAttrib(gradient, name, R_NilValue);
    }
    for (const SEXP name : {R_DimSymbol, R_DimNamesSymbol, R_NamesSymbol}) {
      const SEXP value = Rf_getAttrib(param, name);
      if (value != R_NilValue) Rf_setAttrib(gradient, name, value);
    }
    return gradient;
  }

  const std::vector<Rcpp::RObject>& gradients_;
  size_t next_ = 1;  // 0 is the input's
};

// An empty op list gives what it is given, of any shape.
Rcpp::List identity_backward(const Rcpp::RObject& x, const Rcpp::RObject& dy) {
  const Shape shape = view_of(x).shape;
  if (!dy.isNULL() && view_of(dy).shape != shape) {
    throw Error(ErrorKind::kShape,
                "`grad_output` must have the shape of the output, " + to_string(shape) + ".",
                "It is " + to_string(view_of(dy).shape) + ".");
  }
  Rcpp::RObject gradient = make_matrix(shape);
  double* out = REAL(gradient);
  for (int64_t i = 0; i < shape.size(); ++i) out[i] = dy.isNULL() ? 1 : REAL(dy)[i];
  set_names(gradient, names_of(x));
  return Rcpp::List::create(Rcpp::_["output"] = x, Rcpp::_["grad_input"] = gradient,
                            Rcpp::_["grad_params"] = Rcpp::List());
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP trace_impl(SEXP model, SEXP example_inputs) {
  return guarded([&]() -> Rcpp::RObject {
    ParsedModel parsed = parse_model(model);
    const KeptStream stream(parsed.has_effects());
    const Traced traced = trace(std::move(parsed), example_inputs);
    const Rcpp::List graph = graph_list(traced.model, traced.capture);
    Rcpp::RObject output;
    if (traced.capture.output.data != nullptr) {
      output = copy_matrix(traced.capture.output.view());
      set_names(output, traced.model.output_names());
    } else {
      output = run_program(*program_of(graph), traced.x);
    }
    return Rcpp::List::create(Rcpp::_["graph"] = graph, Rcpp::_["output"] = output,
                              Rcpp::_["n"] = Rf_nrows(traced.x));
  });
}

// [[Rcpp::export(rng = false)]]
SEXP run_graph_impl(SEXP graph, SEXP x) {
  return guarded([&]() -> Rcpp::RObject {
    const std::shared_ptr<Program> program = program_of(graph);
    return run_program(*program, as_input(x, "x"));
  });
}

// Runs a graph again as it was run when it was traced: from the same place of the random stream,
// which stays where it is.
// [[Rcpp::export(rng = false)]]
SEXP replay_impl(SEXP graph, SEXP x, SEXP output) {
  return guarded([&]() -> Rcpp::RObject {
    const std::shared_ptr<Program> program = program_of(graph);
    const KeptStream stream(program->model.has_effects());
    const Rcpp::RObject replay = run_program(*program, as_input(x, "x"));
    return Rcpp::List::create(Rcpp::_["replay"] = replay,
                              Rcpp::_["max_diff"] = largest_difference(output, replay));
  });
}

// [[Rcpp::export(rng = false)]]
SEXP compile_impl(SEXP model, std::string mode, SEXP example_inputs) {
  return guarded([&]() -> Rcpp::RObject {
    ParsedModel parsed = parse_model(model);
    KeptStream stream(parsed.has_effects());
    const Traced traced = trace(std::move(parsed), example_inputs);
    const Rcpp::List graph = graph_list(traced.model, traced.capture);

    stream.rewind();
    *traced.model.names = names_of(traced.x);
    Results eager_results;
    PassContext context;
    context.mode = mode_from(mode);
    const Compiled compiled =
        compile(traced.capture.graph, view_of(traced.x), context, eager_results, r_hooks());
    const Rcpp::RObject eager = eager_results.values[0];
    set_names(eager, traced.model.output_names());
    const Rcpp::List list = compiled_list(traced.model, traced.capture, compiled.graph);

    stream.rewind();
    const std::shared_ptr<Program> program = program_of(list);
    program->keep_workspace = mode == "reduce-overhead";
    const Rcpp::RObject output = run_program(*program, traced.x);

    const Multiplications count = count_multiplications(traced.capture.graph, compiled.graph);
    return Rcpp::List::create(
        Rcpp::_["compiled"] = list, Rcpp::_["graph"] = graph, Rcpp::_["output"] = output,
        Rcpp::_["eager_output"] = eager, Rcpp::_["max_diff"] = largest_difference(output, eager),
        Rcpp::_["flops_eager"] = count.eager, Rcpp::_["flops_compiled"] = count.compiled,
        Rcpp::_["n"] = Rf_nrows(traced.x), Rcpp::_["rejected"] = refusals(compiled.rejected));
  });
}

// [[Rcpp::export(rng = false)]]
SEXP backward_impl(SEXP graph, SEXP x, SEXP grad_output) {
  return guarded([&]() -> Rcpp::RObject {
    const std::shared_ptr<Program> program = program_of(graph);
    const bool ones = grad_output == R_NilValue;
    const Rcpp::RObject input = as_input(x, "x");
    std::vector<View> inputs = {view_of(input)};
    Rcpp::RObject dy;
    if (!ones) {
      dy = as_input(grad_output, "grad_output");
      inputs.push_back(view_of(dy));
    }
    if (program->model.ops.empty()) return identity_backward(input, dy);
    Results results;
    const Names names =
        run_plan(*program, backward_plan(*program, ones), inputs, names_of(input), results);
    const Rcpp::RObject output = results.values[0];
    set_names(output, names);
    set_names(results.values[1], names_of(input));
    const std::vector<Rcpp::RObject> gradients(results.values.begin() + 1, results.values.end());
    return Rcpp::List::create(Rcpp::_["output"] = output, Rcpp::_["grad_input"] = gradients[0],
                              Rcpp::_["grad_params"] = GradientList(gradients).list_for(*program));
  });
}

// [[Rcpp::export(rng = false)]]
SEXP matmul_order_impl(std::vector<double> dims) {
  return guarded([&]() -> Rcpp::RObject {
    const ChainTable table = matrix_chain_table(dims, r_hooks().poll);
    const int n = static_cast<int>(dims.size()) - 1;
    Rcpp::IntegerMatrix split(n, n);
    std::copy(table.split.begin(), table.split.end(), split.begin());
    return Rcpp::List::create(Rcpp::_["cost"] = table.cost, Rcpp::_["split"] = split);
  });
}
