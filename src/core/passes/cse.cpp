#include "core/passes/cse.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/op.h"

namespace moriejit {
namespace {

class Hash {
 public:
  void add(uint64_t word) {
    state_ ^= word;
    state_ *= 0x9E3779B97F4A7C15ULL;
    state_ ^= state_ >> 29;
  }
  void add(const double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t bits;
      std::memcpy(&bits, values + i, sizeof bits);
      add(bits);
    }
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xCBF29CE484222325ULL;
};

bool can_merge(const Node& node) {
  if (node.kind == NodeKind::kInput) return false;
  if (node.kind == NodeKind::kConstant) return node.data != nullptr;
  return node.regions.empty() && node.callable == nullptr && !has_effects(node);
}

uint64_t hash_of(const Node& node) {
  // Of a large constant the beginning will do: those that differ later only share a bucket.
  constexpr int64_t kMostHashed = 256;
  Hash hash;
  hash.add(static_cast<uint64_t>(node.shape.rows));
  hash.add(static_cast<uint64_t>(node.shape.cols));
  hash.add(reinterpret_cast<uintptr_t>(node.op));
  if (node.data != nullptr) hash.add(node.data.get(), std::min(node.shape.size(), kMostHashed));
  hash.add(node.attrs.data(), static_cast<int64_t>(node.attrs.size()));
  for (ValueId arg : node.args) hash.add(static_cast<uint64_t>(arg));
  return hash.value();
}

bool same_bits(const double* a, const double* b, size_t count) {
  return a == b || count == 0 || std::memcmp(a, b, count * sizeof *a) == 0;
}

bool same_node(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.op != b.op || a.shape != b.shape || a.args != b.args) return false;
  if (a.kind == NodeKind::kConstant) {
    return same_bits(a.data.get(), b.data.get(), static_cast<size_t>(a.shape.size()));
  }
  return a.attrs.size() == b.attrs.size() &&
         same_bits(a.attrs.data(), b.attrs.data(), a.attrs.size());
}

}  // namespace

Graph cse(const Graph& graph, PassContext& context) {
  Rebuild rebuild(graph);
  std::unordered_map<uint64_t, std::vector<ValueId>> made;
  int merged = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node node = rebuild.renamed(id);
    if (!can_merge(node)) {
      rebuild.keep(id);
      continue;
    }
    std::vector<ValueId>& bucket = made[hash_of(node)];
    const auto twin = std::find_if(bucket.begin(), bucket.end(), [&](ValueId other) {
      return same_node(rebuild.graph().node(other), node);
    });
    if (twin != bucket.end()) {
      rebuild.replace(id, *twin);
      ++merged;
    } else {
      rebuild.keep(id);
      bucket.push_back(rebuild.value(id));
    }
  }
  if (merged > 0) context.notes.push_back("merged " + std::to_string(merged) + " values");
  return rebuild.finish();
}

}  // namespace moriejit
