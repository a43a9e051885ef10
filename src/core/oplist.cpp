#include "core/oplist.h"

#include <algorithm>

#include "core/exec.h"
#include "core/plan.h"
#include "core/text.h"
#include "core/verify.h"

namespace moriejit {
namespace {

// "bias3" for the param of op 3, "layer_norm3.weight" for a field of another name.
std::string constant_name(const Op& op, const Field& field, int index) {
  const std::string name = op.kind + std::to_string(index);
  return field.name == "param" ? name : name + "." + field.name;
}

// A field with one value for each column: a vector of that length, or one value for all.
Buffer as_row(const Field& field, Buffer value, int64_t cols) {
  const Shape s = value.shape;
  const bool is_vector = std::min(s.rows, s.cols) <= 1;
  if (!is_vector || (s.size() != cols && s.size() != 1)) {
    const std::string what = is_vector
                                 ? std::to_string(s.size()) + (s.size() == 1 ? " value" : " values")
                                 : "a matrix of " + to_string(s);
    throw Error(ErrorKind::kShape,
                "`" + field.name +
                    "` must have one value for each column of the input, or one "
                    "for all.",
                "The input has " + std::to_string(cols) + (cols == 1 ? " column" : " columns") +
                    ", `" + field.name + "` is " + what + ".");
  }
  value.shape = {1, s.size()};
  return value;
}

Buffer operand(const ListOp& op, const Field& field, int64_t cols) {
  const auto at = op.operands.find(field.name);
  if (at != op.operands.end()) {
    return field.role == Field::Role::kRow ? as_row(field, at->second, cols) : at->second;
  }
  if (field.required) {
    throw Error(ErrorKind::kParam, "An op of this kind needs `" + field.name + "`.",
                "It has none.");
  }
  Tensor filled({1, 1});
  *filled.data() = field.default_value;
  return filled.buffer();
}

std::vector<double> attributes(const ListOp& op, const Op& record) {
  std::vector<double> attrs;
  for (const Attr& attr : record.attrs) {
    const auto at = op.numbers.find(attr.name);
    const double value = at == op.numbers.end() ? attr.default_value : at->second;
    if (!attr.allows(value)) {
      if (attr.flag) {
        throw Error(ErrorKind::kParam, "`" + attr.name + "` must be TRUE or FALSE.",
                    "It is " + number_text(value) + ".");
      }
      const bool bounded = attr.max < 1e300;
      throw Error(ErrorKind::kParam,
                  "`" + attr.name + "` must be a finite number" +
                      (attr.min > -1e300 ? " of at least " + number_text(attr.min) : "") +
                      (bounded ? " and at most " + number_text(attr.max) : "") + ".",
                  "It is " + number_text(value) + ".");
    }
    attrs.push_back(value);
  }
  return attrs;
}

// Runs a growing graph in pieces, each from the last value known, so that a list with many
// callables is run once in all.
class Pieces {
 public:
  Pieces(const View& x, const Hooks& hooks) : hooks_(hooks) {
    value_ = {x.shape, std::shared_ptr<const double>(std::shared_ptr<void>(), x.data)};
  }

  const Buffer& value(const Graph& graph, ValueId id) {
    if (id == at_) return value_;
    Builder piece;
    piece.input("x", value_.shape);  // stands for at_, the values after it follow in order
    for (ValueId next = at_ + 1; next <= id; ++next) {
      Node node = graph.node(next);
      for (ValueId& arg : node.args) arg -= at_;
      piece.copy(std::move(node));
    }
    piece.output(id - at_);
    set(id, run_one(make_plan(piece.take()), {value_.view()}, hooks_));
    return value_;
  }

  void set(ValueId id, const Buffer& value) {
    at_ = id;
    value_ = value;
  }

 private:
  const Hooks& hooks_;
  ValueId at_ = 0;  // the input
  Buffer value_;
};

const Op& kind_of(const ListOp& op) {
  const Op* record = find_kind(op.kind);
  if (record == nullptr) {
    throw Error(ErrorKind::kUnsupported, "There is no op of this kind.", "",
                "Known kinds: " + known_kinds() + ". Any other step can be an R function.");
  }
  return *record;
}

class Capturer {
 public:
  Capturer(const View& x, const Hooks& hooks) : pieces_(x, hooks) {
    last_ = builder_.input("x", x.shape);
  }

  void add(const ListOp& op, int index) {
    const Op& record = kind_of(op);
    builder_.set_origin({index});
    CapturedOp captured;
    captured.in = last_;
    last_ = record.calls_host ? add_callback(record, op)
                              : add_list_op(builder_, op, index, last_, &captured.operands);
    captured.out = last_;
    ops_.push_back(std::move(captured));
  }

  Capture finish() {
    Buffer output;
    if (called_) output = pieces_.value(builder_.graph(), last_);
    builder_.output(last_);
    return {builder_.take(), std::move(ops_), output};
  }

 private:
  ValueId add_callback(const Op& record, const ListOp& op) {
    if (op.callable_shape.has_value()) {
      return builder_.callback(record, op.callable, {last_}, *op.callable_shape);
    }
    called_ = true;
    const Buffer value = op.callable->call({pieces_.value(builder_.graph(), last_).view()});
    const ValueId id = builder_.callback(record, op.callable, {last_}, value.shape);
    pieces_.set(id, value);
    return id;
  }

  Builder builder_;
  Pieces pieces_;
  ValueId last_;
  bool called_ = false;
  std::vector<CapturedOp> ops_;
};

}  // namespace

ValueId add_list_op(Builder& builder, const ListOp& op, int index, ValueId x,
                    std::vector<ValueId>* operands) {
  const Op& record = kind_of(op);
  const int64_t cols = builder.shape(x).cols;
  std::vector<ValueId> args = {x};
  for (const Field& field : record.fields) {
    args.push_back(builder.constant(constant_name(record, field, index), operand(op, field, cols)));
    if (operands != nullptr) operands->push_back(args.back());
  }
  std::vector<double> attrs = attributes(op, record);
  if (record.lower) return record.lower(builder, record, args, attrs);
  return builder.op(record, args, std::move(attrs));
}

Capture capture_op_list(const std::vector<ListOp>& ops, const View& x, const Hooks& hooks) {
  Capturer capturer(x, hooks);
  for (size_t i = 0; i < ops.size(); ++i) {
    try {
      capturer.add(ops[i], static_cast<int>(i));
    } catch (Error& error) {
      error.locate({static_cast<int>(i), static_cast<int>(ops.size()), ops[i].kind});
      throw;
    }
  }
  Capture capture = capturer.finish();
  verify(capture.graph);
  return capture;
}

}  // namespace moriejit
