#include "support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>

#include "core/exec.h"
#include "core/op.h"
#include "core/reference.h"

namespace moriejit::test {

uint64_t Rng::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double Rng::unit() {
  return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52;
}

uint64_t seed_of(const std::string& name, Shape shape) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name + " " + to_string(shape)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

Buffer make_matrix(Shape shape, const std::function<double()>& next) {
  Tensor tensor(shape);
  std::generate(tensor.data(), tensor.data() + shape.size(), next);
  return tensor.buffer();
}

Buffer plain_matrix(Shape shape, uint64_t seed) {
  Rng rng(seed);
  return make_matrix(shape, [&rng] { return rng.spread(-2, 2); });
}

Graph fill_holes(Graph graph) {
  for (Node& node : graph.nodes) {
    if (node.kind != NodeKind::kConstant || node.data != nullptr) continue;
    node.data = plain_matrix(node.shape, seed_of(node.name, node.shape)).data;
  }
  return graph;
}

Hooks fresh_hooks(uint64_t seed) {
  Hooks hooks;
  // Copies of the hooks draw from the same generator.
  hooks.uniform = [rng = std::make_shared<Rng>(seed)](double* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[i] = rng->unit();
  };
  return hooks;
}

std::vector<View> views_of(const std::vector<Buffer>& buffers) {
  std::vector<View> views;
  for (const Buffer& buffer : buffers) views.push_back(buffer.view());
  return views;
}

std::vector<Buffer> copies_of(const std::vector<Buffer>& buffers) {
  std::vector<Buffer> copies;
  for (const Buffer& buffer : buffers) {
    Tensor copy(buffer.shape);
    std::copy_n(buffer.data.get(), buffer.shape.size(), copy.data());
    copies.push_back(copy.buffer());
  }
  return copies;
}

std::vector<Buffer> evaluate_outputs(const Graph& graph, const std::vector<Buffer>& inputs) {
  const std::vector<Buffer> values = evaluate(graph, views_of(inputs), fresh_hooks());
  std::vector<Buffer> outputs;
  for (ValueId id : graph.outputs) outputs.push_back(values[static_cast<size_t>(id)]);
  return outputs;
}

std::vector<Buffer> run_plan(const Graph& graph, const std::vector<Buffer>& inputs) {
  std::vector<Buffer> outputs(graph.outputs.size());
  const MakeResult result = [&outputs](size_t k, Shape shape) {
    Tensor tensor(shape);
    outputs[k] = tensor.buffer();
    return tensor.data();
  };
  Workspace workspace;
  run(make_plan(graph), views_of(inputs), result, workspace, fresh_hooks());
  return outputs;
}

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool same_values(const View& a, const View& b) {
  return a.shape == b.shape && std::equal(a.data, a.data + a.shape.size(), b.data, same_bits);
}

Resolver constants_of(const Graph& graph) {
  // A text asks for its constants in the order of the nodes.
  std::vector<Buffer> asked;
  for (const Node& node : graph.nodes) {
    const bool inlined = node.data != nullptr && node.shape.size() <= kInlineLimit;
    if (node.kind == NodeKind::kConstant && !inlined) asked.push_back({node.shape, node.data});
  }
  return [asked, next = size_t{0}](const std::string&, Shape) mutable {
    return next < asked.size() ? asked[next++] : Buffer{};
  };
}

std::string full_text(const Graph& graph) {
  std::vector<const Node*> constants;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kConstant) constants.push_back(&node);
  }
  std::istringstream lines(to_text(graph));
  std::string text;
  size_t next = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_constant = line.rfind("  const ", 0) == 0;
    const size_t hash = line.find(" = #");
    if (is_constant && hash != std::string::npos) {
      const Node& node = *constants[next];
      line = line.substr(0, hash) + " = [";
      for (int64_t i = 0; i < node.shape.size(); ++i) {
        line += (i == 0 ? "" : ", ") + number_text(node.data.get()[i]);
      }
      line += "]";
    }
    next += is_constant ? 1 : 0;
    text += line + "\n";
  }
  return text;
}

std::string check_round_trip(const Graph& graph) {
  const std::string text = to_text(graph);
  const Graph again = parse_text(text, constants_of(graph));
  if (to_text(again) != text) return "it prints otherwise after parsing:\n" + to_text(again);
  if (!same_structure(graph, again)) return "it has another structure after parsing";
  return "";
}

}  // namespace moriejit::test
