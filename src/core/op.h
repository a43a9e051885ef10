// The op record and the registry. Everything the compiler knows of an op is in its record, made in
// one block in one file of ops/: passes, plan, derivatives and the R side ask the record.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.h"
#include "core/hooks.h"
#include "core/tensor.h"

namespace moriejit {

// A number beside the operands, with its default and the range that is legal.
struct Attr {
  std::string name;
  double default_value;
  double min = -std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::max();
  bool flag = false;     // 0 or 1, TRUE or FALSE
  bool in_lists = true;  // a field of the op in op lists; else the compiler's own

  bool allows(double value) const {
    return value >= min && value <= max && !(flag && value != 0 && value != 1);
  }
};

// A field of an op in an op list that holds an operand; attributes are fields by their own name.
struct Field {
  enum class Role { kMatrix, kRow };  // a matrix; one value for each column (or one for all)
  std::string name;
  Role role;
  bool required = true;
  double default_value = 0;  // of every element where an optional field is absent
};

// What an evaluation sees: operands, attributes, the place to write to.
struct EvalArgs {
  const View* in;
  const double* attrs;
  double* out;  // may be in[0].data where the op is `in_place`
  Shape shape;
  const Hooks& hooks;
};

// What a derivative rule sees: values of the graph that is being built.
struct VjpArgs {
  const std::vector<ValueId>& in;
  ValueId out;
  ValueId dy;
  const std::vector<double>& attrs;
  const std::shared_ptr<Callable>& callable;
};

// The inner loop of an elementwise op over n elements: operand k is at in[k], its step from element
// to element 1, or 0 where one value serves all. `out` may be one of the operands of step 1.
using Loop = void (*)(const double* const* in, const int* steps, double* out, int64_t n,
                      const double* attrs);

constexpr size_t kMostLoopOperands = 8;  // an op with more has no use of a loop

constexpr int kVariadic = -1;

struct Op {
  using ShapeRule = std::function<Shape(const std::vector<Shape>& in, const double* attrs)>;
  using Eval = std::function<void(const EvalArgs&)>;
  // The gradient of each operand (kNoValue: none), as nodes added to the builder.
  using Vjp = std::function<std::vector<ValueId>(Builder&, const VjpArgs&)>;
  using Lower = std::function<ValueId(Builder&, const Op&, const std::vector<ValueId>& args,
                                      const std::vector<double>& attrs)>;
  using Cost = std::function<double(const std::vector<Shape>& in, Shape out)>;

  std::string name;           // in graph text
  std::string kind;           // in op lists; empty: not in op lists
  std::vector<Field> fields;  // in op lists: operands 1, 2, ...
  int arity = 1;              // kVariadic: any number of operands
  std::vector<Attr> attrs;
  // How an op of an op list becomes nodes, where that is more than one node of this op.
  Lower lower;
  ShapeRule shape;      // empty: only running the op tells
  Eval eval;            // reference
  Eval kernel;          // what a plan runs; empty: the reference
  Loop loop = nullptr;  // elementwise ops; null: never fused with others into one loop
  Vjp vjp;              // empty: `no_vjp` says why
  std::string no_vjp;
  Cost cost;  // scalar operations, a multiply-add counted once
  bool elementwise = false;
  bool in_place = false;        // may write over its first operand
  bool shape_of_first = false;  // the result always has its first operand's shape
  bool renames = false;         // gives the elements of its first operand as they are
  bool random = false;          // draws: never folded, merged, dropped or reordered
  bool calls_host = false;      // runs a function of the host language: likewise
  bool runs_regions = false;    // control flow: its value is a tuple that only `result` reads
  bool may_fail = false;        // some values of its operands end a run in an error
  bool projects = false;        // reads one value of a tuple: attribute 1 says which
  std::string doc;

  const Eval& run() const { return kernel ? kernel : eval; }
  bool takes(size_t operands) const {
    return arity == kVariadic || static_cast<int>(operands) == arity;
  }
  // Of itself; has_effects() of a node looks into its regions too.
  bool pure() const { return !random && !calls_host; }
};

class Registry {
 public:
  Op& add(const std::string& name);
  const std::deque<Op>& ops() const { return ops_; }

 private:
  std::deque<Op> ops_;  // whose references stay valid
};

const std::deque<Op>& all_ops();
const Op* find_op(std::string_view name);             // by name in graph text; null: unknown
const Op* find_kind(std::string_view kind);           // by kind in op lists; null: unknown
const Op& op_named(std::string_view name);            // must exist
int attr_index(const Op& op, std::string_view name);  // -1: none of that name
std::string known_kinds();                            // "bias, elu, ...", sorted, for messages

// The families, one file each in ops/; listed once, in op.cpp.
void register_elementwise(Registry& r);
void register_binary(Registry& r);
void register_matrix(Registry& r);
void register_rowwise(Registry& r);
void register_random(Registry& r);
void register_callback(Registry& r);
void register_control(Registry& r);
void register_compare(Registry& r);
void register_linear_algebra(Registry& r);
void register_maths(Registry& r);
void register_reductions(Registry& r);
void register_special(Registry& r);
void register_structure(Registry& r);

}  // namespace moriejit
