// Passes and texts of graphs.
#include <algorithm>
#include <exception>

#include "checks.h"
#include "core/error.h"
#include "core/op.h"
#include "core/passes/pass.h"
#include "core/reference.h"
#include "core/verify.h"

namespace moriejit::test {
namespace {

std::vector<std::vector<std::string>> pass_choices() {
  std::vector<std::vector<std::string>> choices = {{}};
  for (const Pass& pass : all_passes()) choices.push_back({pass.name});
  return choices;
}

bool equal_numbers(const std::vector<Buffer>& a, const std::vector<Buffer>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Buffer& x, const Buffer& y) {
           return x.shape == y.shape && max_abs_diff(x.view(), y.view()) == 0;
         });
}

// Whether the graph can run with so many rows: constants and sums may fix their number.
bool can_run(const Graph& graph, const std::vector<Buffer>& inputs) {
  try {
    evaluate(graph, views_of(inputs), fresh_hooks());
    return true;
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kShape, error.what());
    return false;
  }
}

void check_pass(const Graph& graph, const Graph& after, const std::string& name) {
  for (const int64_t rows : {-1, 0, 1, 8}) {
    const std::vector<Buffer> inputs = whole_inputs(graph, rows, 7);
    if (!can_run(graph, inputs)) continue;
    require(equal_numbers(evaluate_outputs(graph, inputs), evaluate_outputs(after, inputs)),
            name + " changed values");
    require(equal_numbers(run_plan(graph, inputs), run_plan(after, inputs)),
            name + " changed values of a run");
  }
}

void check_all_passes(const Graph& graph, Mode mode, double limit) {
  for (const std::vector<std::string>& names : pass_choices()) {
    PassContext context;
    context.mode = mode;
    context.constant_limit = limit;
    const Graph after = run_passes(graph, context, names);
    check_pass(graph, after, names.empty() ? "the pipeline" : names[0]);
    if (names.empty()) continue;
    require(same_structure(after, run_passes(after, context, names)),
            names[0] + " changes a graph again");
  }
}

std::string mutate(std::string text, Rng& rng) {
  static const std::string kBytes = "%()[]{}:,=#\n\r \t-+.0123456789aefinxNA\"_";
  for (int64_t n = rng.between(1, 4); n > 0 && !text.empty(); --n) {
    const auto at = static_cast<size_t>(rng.below(static_cast<int64_t>(text.size())));
    const auto length = static_cast<size_t>(rng.between(1, 12));
    const char byte =
        rng.chance(0.1)
            ? static_cast<char>(rng.below(256))
            : kBytes[static_cast<size_t>(rng.below(static_cast<int64_t>(kBytes.size())))];
    switch (rng.below(5)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      default:
        std::swap(text[at],
                  text[static_cast<size_t>(rng.below(static_cast<int64_t>(text.size())))]);
    }
  }
  return text;
}

bool is_small(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.shape.rows < 1000 && node.shape.cols < 1000;
  });
}

// What the parser lets through is a graph like any other: it prints, passes take it and it runs.
void check_accepted(const Graph& parsed) {
  // Printed once before, since a text may have several NaN ("-nan") and prints with one.
  const Graph canonical = parse_text(to_text(parsed), constants_of(parsed));
  require_none(check_round_trip(canonical), "a text with errors in it was read, but");
  if (!is_small(parsed)) return;
  const Graph graph = fill_holes(parsed);
  std::vector<Buffer> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(plain_matrix(graph.node(id).shape, 5));
  evaluate_outputs(graph, inputs);
  PassContext context;
  run_plan(run_passes(graph, context), inputs);
}

void check_text(const std::string& text, const Resolver& constants) {
  Graph graph;
  try {
    graph = parse_text(text, constants);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kFormat || error.kind() == ErrorKind::kGraph,
            std::string("a text gives an error of another kind: ") + error.what());
    return;
  }
  check_accepted(graph);
}

// A node's type must be the one that its op gives.
void check_wrong_type(const std::string& text, const Resolver& constants, Rng& rng) {
  std::vector<size_t> types;
  for (size_t at = 0; (at = text.find(" : f64[", at)) != std::string::npos; ++at) {
    types.push_back(at + 7);
  }
  if (types.empty()) return;
  std::string changed = text;
  changed.insert(types[static_cast<size_t>(rng.below(static_cast<int64_t>(types.size())))], "1");
  try {
    parse_text(changed, constants);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kFormat, error.what());
    return;
  }
  require(false, "a wrong type was read:\n" + changed);
}

}  // namespace

void check_passes(const Graph& graph) {
  verify(graph);
  require_none(check_round_trip(graph), "a graph");
  check_run(graph, whole_inputs(graph, -1, 7));
  for (const Mode mode : {Mode::kDefault, Mode::kMaxAutotune}) {
    for (const double limit : {1e8, 3.0}) check_all_passes(graph, mode, limit);
  }
}

void check_structure(const Graph& graph, Rng& rng) {
  require(same_structure(graph, graph), "a graph has another structure than itself");
  Graph other = graph;
  Node& node = other.node(static_cast<ValueId>(rng.below(graph.size())));
  if (node.kind == NodeKind::kInput) {
    std::reverse(other.outputs.begin(), other.outputs.end());
    const auto constant = [&graph](ValueId id) { return is_constant(graph, id); };
    if (other.outputs == graph.outputs ||
        std::any_of(other.outputs.begin(), other.outputs.end(), constant)) {
      return;  // two constants may be alike
    }
  } else if (node.kind == NodeKind::kConstant) {
    const std::vector<int> readers = count_readers(graph);
    const bool read = readers[static_cast<size_t>(&node - other.nodes.data())] > 0;
    if (!read || node.shape.size() == 0) return;
    const double first = node.data.get()[0];
    node.data = make_matrix(node.shape, [first] { return first + 1; }).data;
  } else if (!node.attrs.empty()) {
    node.attrs[0] = 1 - node.attrs[0];
  } else {
    const ValueId changed = node.args[0];
    node.args[0] = graph.inputs[0];
    if (changed == graph.inputs[0]) return;
  }
  require(!same_structure(graph, other) && !same_structure(other, graph),
          "a changed graph has the same structure:\n" + full_text(other));
}

void check_texts(const Graph& graph, Rng& rng) {
  const std::string text = rng.chance(0.5) ? to_text(graph) : full_text(graph);
  check_wrong_type(text, constants_of(graph), rng);
  for (int n = 0; n < 20; ++n) {
    const std::string changed = mutate(text, rng);
    try {
      check_text(changed, constants_of(graph));
    } catch (const Failure& failure) {
      throw Failure{failure.why + "\nthe text:\n" + changed};
    } catch (const std::exception& error) {
      throw Failure{std::string("error: ") + error.what() + "\nthe text:\n" + changed};
    }
  }
}

}  // namespace moriejit::test
