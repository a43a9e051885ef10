#include "core/passes/prune_regions.h"

#include <algorithm>

#include "core/op.h"
#include "core/passes/dead_code.h"

namespace moriejit {
namespace {

using Region = std::shared_ptr<const Graph>;

// The region with only some of its outputs, and what these and its effects need.
Region with_outputs(const Region& region, const std::vector<bool>& kept) {
  Graph graph = *region;
  graph.outputs.clear();
  for (size_t k = 0; k < kept.size(); ++k) {
    if (kept[k]) graph.outputs.push_back(region->outputs[k]);
  }
  PassContext context;
  return std::make_shared<const Graph>(dead_code(graph, context));
}

std::vector<bool> read_inputs(const Graph& region) {
  const std::vector<int> readers = count_readers(region);
  std::vector<bool> read;
  for (ValueId id : region.inputs) read.push_back(readers[static_cast<size_t>(id)] > 0);
  return read;
}

Region without_inputs(const Region& region, const std::vector<bool>& kept) {
  Rebuild rebuild(*region);
  size_t input = 0;
  for (ValueId id = 0; id < region->size(); ++id) {
    if (region->node(id).kind == NodeKind::kInput && !kept[input++]) continue;
    rebuild.keep(id);
  }
  return std::make_shared<const Graph>(rebuild.finish());
}

std::vector<int> places(const std::vector<bool>& kept) {
  std::vector<int> place;
  int count = 0;
  for (const bool one : kept) place.push_back(one ? count++ : -1);
  return place;
}

// Drops operands; `first` is the one that the first input of the regions stands for.
void keep_operands(Node& node, size_t first, const std::vector<bool>& kept) {
  if (std::find(kept.begin(), kept.end(), false) == kept.end()) return;
  std::vector<ValueId> args(node.args.begin(), node.args.begin() + static_cast<int64_t>(first));
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) args.push_back(node.args[first + i]);
  }
  node.args = std::move(args);
  for (Region& region : node.regions) region = without_inputs(region, kept);
}

std::vector<bool> either(std::vector<bool> a, const std::vector<bool>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}

PrunedControl prune_branches(Node node, const std::vector<bool>& read) {
  for (Region& region : node.regions) region = with_outputs(region, read);
  keep_operands(node, 1, either(read_inputs(*node.regions[0]), read_inputs(*node.regions[1])));
  return {std::move(node), places(read)};
}

PrunedControl prune_loop(Node node, std::vector<bool> needed) {
  node.regions[0] = with_outputs(node.regions[0], {true});
  const std::vector<bool> tested = read_inputs(*node.regions[0]);
  for (size_t k = 0; k < needed.size(); ++k) needed[k] = needed[k] || tested[k];
  // A state is needed where one that is needed is made of it.
  for (;;) {
    const Region body = with_outputs(node.regions[1], needed);
    const std::vector<bool> read = read_inputs(*body);
    bool more = false;
    for (size_t k = 0; k < needed.size(); ++k) {
      more = more || (read[k] && !needed[k]);
      needed[k] = needed[k] || read[k];
    }
    if (more) continue;
    node.regions[1] = body;
    std::vector<bool> kept = either(tested, read);
    for (size_t k = 0; k < needed.size(); ++k) kept[k] = needed[k];
    keep_operands(node, 0, kept);
    node.attrs[0] = static_cast<double>(std::count(needed.begin(), needed.end(), true));
    return {std::move(node), places(needed)};
  }
}

}  // namespace

PrunedControl prune_control(Node node, std::vector<bool> read) {
  return node.op->name == "if" ? prune_branches(std::move(node), read)
                               : prune_loop(std::move(node), std::move(read));
}

}  // namespace moriejit
