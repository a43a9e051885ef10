// Which memory each value of a fixed plan lives in, and when: lives end with the last step that
// reads, and what ends may be written over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace moriejit {

struct FixedPlan;

class Memory {
 public:
  Memory() = default;
  Memory(size_t values, int steps) : steps_(steps), last_(values, -1), block_(values, -1) {}

  void read(int value, int step);
  void read_forever(int value);
  // The last step that reads it; as large as the number of steps where it outlives them all.
  int last_reader(int value) const;

  // Memory of its own, from a step on.
  void make(int value, int64_t size, int step);
  // The memory of a value that dies at this step.
  void take(int value, int from, int step);
  void place_in_input(int value, size_t input);
  // False where the value is not in memory that can be a result's.
  bool place_in_result(int value, size_t result);

  // Whether the value was made by the plan, has its own memory, and nobody reads it after the step.
  bool dies(int value, int step) const;
  // Whether its memory is still its own.
  bool owns(int value) const;
  // The input in whose memory it lies; -1.
  int input_of(int value) const;

  // Gives everything its place in the plan.
  void lay_out(FixedPlan& plan) const;

 private:
  enum class Where { kArena, kInput, kResult };
  struct Block {
    Where where;
    size_t index;  // of the input or result
    int64_t size;
    int first, last;  // steps
    int owner;        // the value that is in it now
  };

  Block* block_of(int value);
  const Block* block_of(int value) const;
  std::vector<int64_t> offsets(int64_t* total) const;

  int steps_ = 0;
  std::vector<int> last_, block_;  // by value
  std::vector<Block> blocks_;
};

}  // namespace moriejit
