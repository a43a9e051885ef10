#include "core/text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/op.h"
#include "core/ops/na.h"

namespace moriejit {
namespace {

std::string join(const std::vector<ValueId>& ids, const std::vector<std::string>& names) {
  std::string text;
  for (ValueId id : ids) text += (text.empty() ? "" : ", ") + names[static_cast<size_t>(id)];
  return text;
}

std::string types_text(const Graph& graph) {
  std::string text;
  for (ValueId id : graph.outputs) {
    text += (text.empty() ? "" : ", ") + type_text(graph.node(id).shape);
  }
  return text;
}

std::string graph_text(const Graph& graph, const std::string& indent);

// Regions on lines of their own, further in.
std::string regions_text(const Node& node, const std::string& indent) {
  std::string text = "(" + types_text(*node.regions.back()) + ") [\n";
  for (const auto& region : node.regions) text += graph_text(*region, indent + "  ");
  return text + indent + "]";
}

std::string graph_text(const Graph& graph, const std::string& indent) {
  const std::vector<std::string> names = value_names(graph);
  const std::string line = indent + "  ";
  std::string inputs, constants, body;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const std::string& name = names[static_cast<size_t>(id)];
    if (node.kind == NodeKind::kInput) {
      inputs += (inputs.empty() ? "" : ", ") + name + ": " + type_text(node.shape);
    } else if (node.kind == NodeKind::kConstant) {
      constants += line + "const " + name + ": " + type_text(node.shape) + values_text(node) + "\n";
    } else {
      body += line + name + " = " + node.op->name + "(" + join(node.args, names) + ")" +
              attrs_text(node) + " : " +
              (node.op->runs_regions ? regions_text(node, line) : type_text(node.shape)) + "\n";
    }
  }
  return indent + "fn(" + inputs + ") {\n" + constants + body + line + "return" +
         (graph.outputs.empty() ? "" : " ") + join(graph.outputs, names) + "\n" + indent + "}\n";
}

}  // namespace

std::string values_text(const Node& node) {
  if (node.data == nullptr) return "";
  const int64_t count = node.shape.size();
  if (count > kInlineLimit) return " = #" + hash_text(node.data.get(), count);
  std::string text = " = [";
  for (int64_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + number_text(node.data.get()[i]);
  }
  return text + "]";
}

std::string attrs_text(const Node& node) {
  std::string text;
  for (size_t i = 0; i < node.attrs.size(); ++i) {
    // Defaults are left out: most products are of no transposes.
    const Attr& attr = node.op->attrs[i];
    if (node.attrs[i] == attr.default_value) continue;
    text += (text.empty() ? " {" : ", ") + attr.name + "=" + number_text(node.attrs[i]);
  }
  return text.empty() ? "" : text + "}";
}

std::vector<std::string> value_names(const Graph& graph) {
  std::vector<std::string> names;
  std::unordered_set<std::string> used;
  int number = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kOp) {
      names.push_back("%" + std::to_string(number++));
      continue;
    }
    std::string name = node.name;
    for (int copy = 2; !used.insert(name).second; ++copy) {
      name = node.name + "_" + std::to_string(copy);
    }
    names.push_back(name);
  }
  return names;
}

std::string type_text(Shape shape) {
  return "f64[" + std::to_string(shape.rows) + "," + std::to_string(shape.cols) + "]";
}

// FNV-1a over the bytes.
std::string hash_text(const double* data, int64_t count) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(data);
  for (size_t i = 0; i < static_cast<size_t>(count) * sizeof(double); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string number_text(double value) {
  if (is_na_value(value)) return "NA";
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  char text[32];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::string to_text(const Graph& graph) {
  return graph_text(graph, "");
}

}  // namespace moriejit
