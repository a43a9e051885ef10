#include "core/op.h"

#include <algorithm>
#include <unordered_map>

#include "core/error.h"

namespace moriejit {
namespace {

struct Tables {
  Registry registry;
  std::unordered_map<std::string_view, const Op*> by_name, by_kind;

  Tables() {
    register_matrix(registry);
    register_binary(registry);
    register_elementwise(registry);
    register_rowwise(registry);
    register_random(registry);
    register_callback(registry);
    register_control(registry);
    register_compare(registry);
    register_linear_algebra(registry);
    register_maths(registry);
    register_reductions(registry);
    register_special(registry);
    register_structure(registry);
    for (const Op& op : registry.ops()) {
      by_name[op.name] = &op;
      if (!op.kind.empty()) by_kind[op.kind] = &op;
    }
  }
};

const Tables& tables() {
  static const Tables instance;
  return instance;
}

const Op* find(const std::unordered_map<std::string_view, const Op*>& map, std::string_view key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : at->second;
}

}  // namespace

Op& Registry::add(const std::string& name) {
  ops_.emplace_back();
  ops_.back().name = name;
  return ops_.back();
}

const std::deque<Op>& all_ops() {
  return tables().registry.ops();
}

const Op* find_op(std::string_view name) {
  return find(tables().by_name, name);
}

const Op* find_kind(std::string_view kind) {
  return find(tables().by_kind, kind);
}

const Op& op_named(std::string_view name) {
  const Op* op = find_op(name);
  MORIEJIT_CHECK(op != nullptr);
  return *op;
}

int attr_index(const Op& op, std::string_view name) {
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    if (op.attrs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string known_kinds() {
  std::vector<std::string> kinds;
  for (const auto& entry : tables().by_kind) kinds.emplace_back(entry.first);
  std::sort(kinds.begin(), kinds.end());
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
  return text;
}

}  // namespace moriejit
