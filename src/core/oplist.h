// Capture of an op list into a graph: the fields of each op are checked against its record, and its
// shape rule runs, so every error names the op it is about.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/graph.h"
#include "core/hooks.h"
#include "core/op.h"

namespace moriejit {

// One op as the host gave it: its kind, operands (by field) and numbers (by attribute).
struct ListOp {
  std::string kind;
  std::map<std::string, Buffer> operands;
  std::map<std::string, double> numbers;
  std::shared_ptr<Callable> callable;  // of kind "callable"
  // The shape that the callable was seen to give; without it, capture calls it.
  std::optional<Shape> callable_shape;
};

// One op after capture.
struct CapturedOp {
  ValueId in = kNoValue;
  ValueId out = kNoValue;         // == in where the op is the identity
  std::vector<ValueId> operands;  // in the order of the record's fields
};

struct Capture {
  Graph graph;  // input x; output: the last op's value
  std::vector<CapturedOp> ops;
  Buffer output;  // where a callable had to be called, and so everything was run; else no data
};

// `x.data` is read only where a callable of unknown shape has to be called.
Capture capture_op_list(const std::vector<ListOp>& ops, const View& x, const Hooks& hooks);

// One op (that is no callable) on `x`; `operands` get what it takes beside x.
ValueId add_list_op(Builder& builder, const ListOp& op, int index, ValueId x,
                    std::vector<ValueId>* operands = nullptr);

}  // namespace moriejit
