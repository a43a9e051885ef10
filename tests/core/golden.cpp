// Runs passes over the graphs in DIR/<pass>/*.ir and compares with what the file says they become.
//
//   golden DIR [--update]
//
// A file has the graph before, a line "---", and the graph after or the word "unchanged". Its first
// line names the passes (or all of them) and may give a mode; its second says why the case is
// there:
//
//   # passes: linear_chain mode: max-autotune
//   # Under max-autotune the bottleneck stays.
//
// A further word pair "values: differ" marks a case whose passes change what comes out. With
// --update the part after "---" is written anew.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/error.h"
#include "core/op.h"
#include "core/passes/pass.h"
#include "core/reference.h"
#include "core/verify.h"
#include "support.h"

namespace moriejit::test {
namespace {

struct Case {
  std::string header;  // two lines
  std::string before, after;
  std::vector<std::string> passes;  // empty: all
  Mode mode = Mode::kDefault;
  bool exact = false;
  bool values_differ = false;
};

// What is wrong with a file, as a sentence.
struct Failure {
  std::string why;
};

[[noreturn]] void fail(const std::string& why) {
  throw Failure{why};
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Mode mode_named(const std::string& name) {
  if (name == "default") return Mode::kDefault;
  if (name == "reduce-overhead") return Mode::kReduceOverhead;
  if (name == "max-autotune") return Mode::kMaxAutotune;
  fail("there is no mode \"" + name + "\"");
}

void read_header(const std::string& line, Case* c) {
  std::string key;
  for (std::string word : words_of(line)) {
    if (word == "#") continue;
    if (word.back() == ':') {
      key = word;
      continue;
    }
    if (word.back() == ',') word.pop_back();
    if (key == "passes:" && word != "all") c->passes.push_back(word);
    if (key == "mode:" && word == "exact") {
      c->exact = true;
    } else if (key == "mode:") {
      c->mode = mode_named(word);
    }
    if (key == "values:") c->values_differ = word == "differ";
  }
  if (line.rfind("# passes: ", 0) != 0) fail("its first line does not name the passes");
}

Case read_case(const std::filesystem::path& path) {
  std::ifstream file(path);
  Case c;
  std::string line;
  bool behind = false;
  for (int number = 1; std::getline(file, line); ++number) {
    if (number == 1) read_header(line, &c);
    if (number == 2 && line.rfind("# ", 0) != 0) fail("its second line is not a comment");
    if (number <= 2) {
      c.header += line + "\n";
    } else if (line == "---") {
      behind = true;
    } else {
      (behind ? c.after : c.before) += line + "\n";
    }
  }
  if (!behind) fail("it has no line \"---\"");
  if (c.after == "unchanged\n") c.after = c.before;
  return c;
}

Graph run_case(const Case& c, const Graph& graph) {
  PassContext context;
  context.mode = c.mode;
  context.exact = c.exact;
  return run_named_passes(graph, context, c.passes);
}

bool uses(const Case& c, const std::string& pass) {
  if (c.passes.empty() || c.passes[0] == "traced") return true;
  return std::find(c.passes.begin(), c.passes.end(), pass) != c.passes.end();
}

Graph parse_part(const std::string& text) {
  const Graph graph = parse_text(text);
  verify(graph);
  if (full_text(graph) != text) fail("it would be printed as\n" + full_text(graph));
  const std::string round_trip = check_round_trip(graph);
  if (!round_trip.empty()) fail(round_trip);
  return graph;
}

void check_structure(const Case& c, const Graph& before, const Graph& after) {
  const std::string text = full_text(after);
  // By way of the text, which has one NaN where the processor has many.
  if (!same_structure(parse_text(text), parse_part(c.after))) fail("it became\n" + text);
  // The text has more than the structure: names, and constants that nobody reads.
  if (text != c.after) fail("it was printed as\n" + text);
  if (!same_structure(after, run_case(c, after))) fail("a second run changed it again");
  if (!same_structure(before, parse_part(c.before))) fail("the pass changed what it was given");
}

// Inputs of the traced shapes; those with as many rows as the first get `rows`, if that is not -1.
std::vector<Buffer> make_inputs(const Graph& graph, int64_t rows, bool special) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double specials[] = {std::nan(""), kInfinity, -kInfinity, -0.0, 0.0};
  std::vector<Buffer> inputs;
  for (ValueId id : graph.inputs) {
    const Node& node = graph.node(id);
    Shape shape = node.shape;
    if (rows >= 0 && shape.rows == graph.node(graph.inputs[0]).shape.rows) shape.rows = rows;
    Rng rng(seed_of(node.name, shape));
    inputs.push_back(make_matrix(shape, [&] {
      return special && rng.chance(0.3) ? specials[rng.below(5)] : rng.spread(-2, 2);
    }));
  }
  return inputs;
}

double largest(const std::vector<Buffer>& values) {
  double top = 1;
  for (const Buffer& value : values) {
    for (int64_t i = 0; i < value.shape.size(); ++i) {
      if (std::isfinite(value.data.get()[i])) top = std::max(top, std::fabs(value.data.get()[i]));
    }
  }
  return top;
}

// `tolerance` 0 asks for the same bits.
bool agree(const std::vector<Buffer>& a, const std::vector<Buffer>& b, double tolerance) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].shape != b[k].shape) return false;
    const bool close = tolerance > 0 ? max_abs_diff(a[k].view(), b[k].view()) <= tolerance
                                     : same_values(a[k].view(), b[k].view());
    if (!close) return false;
  }
  return a.size() == b.size();
}

void compare_values(const Case& c, const Graph& before, const Graph& after,
                    const std::vector<Buffer>& inputs, bool reassociated) {
  const std::vector<Buffer> plain = evaluate_outputs(before, inputs);
  const double rounding = 1e-13 * largest(evaluate(before, views_of(inputs), fresh_hooks()));
  // A fold takes the kernels of a run, which round otherwise than the plain evaluator.
  const bool folded = uses(c, "fold_constants");
  const std::vector<Buffer> plain_after = evaluate_outputs(after, inputs);
  const std::vector<Buffer> run_before = run_plan(before, inputs),
                            run_after = run_plan(after, inputs);
  const bool kept = agree(plain, plain_after, reassociated || folded ? rounding : 0) &&
                    agree(run_before, run_after, reassociated ? rounding : 0);
  if (kept == c.values_differ) fail(kept ? "it should change values" : "it changed values");
  if (!agree(plain, run_before, rounding)) fail("its plan gives other values than its evaluation");
}

bool rounds_otherwise(const Case& c) {
  if (c.exact) return false;
  for (const char* pass :
       {"linear_chain", "activations", "affine", "matrix_chain", "transpose_into_product"}) {
    if (uses(c, pass)) return true;
  }
  return false;
}

void check_values(const Case& c, const Graph& before, const Graph& after) {
  const bool reassociated = rounds_otherwise(c) && !same_structure(before, after);
  for (const int64_t rows : {-1, 1, 7}) {
    // Passes over traced programs may count on the shapes.
    if (rows >= 0 && names_traced(c.passes)) continue;
    for (const bool special : {false, true}) {
      // Sums in another order may overflow, or make NaN of infinities, elsewhere.
      if (special && reassociated) continue;
      const std::vector<Buffer> inputs = make_inputs(before, rows, special);
      try {
        evaluate(before, views_of(inputs), fresh_hooks());
      } catch (const Error& error) {
        if (rows < 0 || error.kind() != ErrorKind::kShape) throw;
        continue;  // a constant or another input fixes the number of rows
      }
      compare_values(c, before, after, inputs, reassociated);
    }
  }
}

void check_file(const std::filesystem::path& path, bool update) {
  Case c = read_case(path);
  const Graph before = parse_part(c.before);
  const Graph after = run_case(c, before);
  verify(after);
  if (update) {
    c.after = full_text(after);
    std::ofstream(path) << c.header << c.before << "---\n"
                        << (c.after == c.before ? "unchanged\n" : c.after);
  }
  check_structure(c, before, after);
  check_values(c, fill_holes(before), fill_holes(after));
}

// What is wrong with a file; nothing where all is well.
std::string failure_of(const std::filesystem::path& path, bool update) {
  try {
    check_file(path, update);
    return "";
  } catch (const Failure& failure) {
    return failure.why;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<std::filesystem::path> find_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run_files(const std::string& folder, bool update) {
  int passed = 0, failed = 0;
  for (const std::filesystem::path& path : find_files(folder)) {
    const std::string name = std::filesystem::relative(path, folder).string();
    const std::string why = failure_of(path, update);
    ++(why.empty() ? passed : failed);
    std::printf("%s %s%s%s\n", why.empty() ? "ok" : "FAIL", name.c_str(), why.empty() ? "" : ": ",
                why.c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace moriejit::test

int main(int argc, char** argv) {
  const bool update = argc == 3 && std::string(argv[2]) == "--update";
  if (argc != 2 && !update) {
    std::fprintf(stderr, "usage: golden DIR [--update]\n");
    return 2;
  }
  try {
    return moriejit::test::run_files(argv[1], update);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden: %s\n", error.what());
    return 2;
  }
}
