#include "core/memory.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/error.h"
#include "core/fixed_plan.h"

namespace moriejit {
namespace {

// Blocks that are handed out and given back, before there is any memory: a free one that is too
// small grows.
class Pieces {
 public:
  size_t acquire(int64_t size) {
    auto at = free_.lower_bound(size);
    if (at == free_.end() && !free_.empty()) at = std::prev(free_.end());
    if (at == free_.end()) {
      sizes_.push_back(size);
      return sizes_.size() - 1;
    }
    const size_t piece = at->second;
    free_.erase(at);
    sizes_[piece] = std::max(sizes_[piece], size);
    return piece;
  }

  void release(size_t piece) { free_.emplace(sizes_[piece], piece); }

  std::vector<int64_t> starts(int64_t* total) const {
    std::vector<int64_t> starts;
    *total = 0;
    for (const int64_t size : sizes_) {
      starts.push_back(*total);
      *total += size;
    }
    return starts;
  }

 private:
  std::vector<int64_t> sizes_;
  std::multimap<int64_t, size_t> free_;  // by size
};

// Whole cache lines, and some more: where blocks lie a multiple of 4096 bytes apart, a processor
// takes loads from one for loads of what was just stored to another.
int64_t rounded(int64_t size) {
  const int64_t lines = (size + 7) / 8 + 1;
  return 8 * (lines > 8 ? lines + 2 : lines);
}

}  // namespace

void Memory::read(int value, int step) {
  int& last = last_[static_cast<size_t>(value)];
  last = std::max(last, step);
}

void Memory::read_forever(int value) {
  last_[static_cast<size_t>(value)] = steps_;
}

int Memory::last_reader(int value) const {
  return last_[static_cast<size_t>(value)];
}

Memory::Block* Memory::block_of(int value) {
  const int block = block_[static_cast<size_t>(value)];
  return block < 0 ? nullptr : &blocks_[static_cast<size_t>(block)];
}

const Memory::Block* Memory::block_of(int value) const {
  const int block = block_[static_cast<size_t>(value)];
  return block < 0 ? nullptr : &blocks_[static_cast<size_t>(block)];
}

void Memory::make(int value, int64_t size, int step) {
  if (static_cast<size_t>(value) >= last_.size()) {  // a spare place, for this step only
    last_.resize(static_cast<size_t>(value) + 1, step);
    block_.resize(static_cast<size_t>(value) + 1, -1);
  }
  block_[static_cast<size_t>(value)] = static_cast<int>(blocks_.size());
  blocks_.push_back({Where::kArena, 0, size, step, std::max(step, last_reader(value)), value});
}

void Memory::take(int value, int from, int step) {
  block_[static_cast<size_t>(value)] = block_[static_cast<size_t>(from)];
  Block* block = block_of(value);
  MORIEJIT_CHECK(block != nullptr && block->owner == from);
  block->owner = value;
  block->last = std::max({block->last, step, last_reader(value)});
}

void Memory::place_in_input(int value, size_t input) {
  block_[static_cast<size_t>(value)] = static_cast<int>(blocks_.size());
  blocks_.push_back({Where::kInput, input, 0, 0, 0, value});
}

bool Memory::place_in_result(int value, size_t result) {
  Block* block = block_of(value);
  if (block == nullptr || block->where != Where::kArena) return false;
  block->where = Where::kResult;
  block->index = result;
  return true;
}

bool Memory::owns(int value) const {
  const Block* block = block_of(value);
  return block != nullptr && block->owner == value;
}

bool Memory::dies(int value, int step) const {
  return owns(value) && last_reader(value) == step;
}

int Memory::input_of(int value) const {
  const Block* block = block_of(value);
  return block != nullptr && block->where == Where::kInput ? static_cast<int>(block->index) : -1;
}

std::vector<int64_t> Memory::offsets(int64_t* total) const {
  std::vector<std::vector<size_t>> begins(static_cast<size_t>(steps_) + 1),
      ends(static_cast<size_t>(steps_) + 1);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].where != Where::kArena) continue;
    begins[static_cast<size_t>(blocks_[i].first)].push_back(i);
    ends[static_cast<size_t>(blocks_[i].last)].push_back(i);
  }
  Pieces pieces;
  std::vector<size_t> piece(blocks_.size(), 0);
  for (size_t s = 0; s < begins.size(); ++s) {
    for (size_t i : begins[s]) piece[i] = pieces.acquire(rounded(blocks_[i].size));
    for (size_t i : ends[s]) pieces.release(piece[i]);
  }
  const std::vector<int64_t> starts = pieces.starts(total);
  std::vector<int64_t> offsets(blocks_.size(), 0);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].where == Where::kArena) offsets[i] = starts[piece[i]];
  }
  return offsets;
}

void Memory::lay_out(FixedPlan& plan) const {
  const std::vector<int64_t> offset = offsets(&plan.arena_size);
  for (size_t value = 0; value < block_.size(); ++value) {
    if (block_[value] < 0) continue;
    const auto at = static_cast<size_t>(block_[value]);
    const Block& block = blocks_[at];
    const int id = static_cast<int>(value);
    if (block.where == Where::kArena) plan.in_arena.emplace_back(id, offset[at]);
    if (block.where == Where::kResult) plan.in_result.emplace_back(id, block.index);
    const bool is_input = plan.graph->size() > id && plan.graph->node(id).kind == NodeKind::kInput;
    if (block.where == Where::kInput && !is_input) plan.in_input.emplace_back(id, block.index);
  }
}

}  // namespace moriejit
