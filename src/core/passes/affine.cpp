// 1. Find the chains of steps, each the only reader of the one before.
// 2. Cut them greedily: a matrix joins those before it where one product is cheaper than two.
// 3. Rebuild what gets cheaper: flow %*% matrix + shift (or matrix %*% flow + shift).
#include "core/passes/affine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/op.h"
#include "core/text.h"

namespace moriejit {
namespace {

constexpr double kMostRuns = 1000;  // in which evaluating the constants must be won back,
constexpr double kFreeWork = 1e6;   // unless it takes no time anyway
constexpr double kLargest = 1e100;  // that a number of the constants may become

// The largest of the constants' values, or of their reciprocals; NaN and infinities are infinite.
double magnitude(const Node& constant, bool reciprocal) {
  double largest = 0;
  if (constant.data == nullptr) return 1;  // nobody knows
  for (int64_t i = 0; i < constant.shape.size(); ++i) {
    const double value = std::fabs(constant.data.get()[i]);
    const double number = reciprocal ? 1 / value : value;
    if (!std::isfinite(number)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, number);
  }
  return largest;
}

enum class Kind { kMatrix, kScale, kShift };

// One op of a chain: what flows through it, and the constant that it meets.
struct Step {
  ValueId id, flow, constant;
  Kind kind;
  bool left = false;        // matrix %*% flow
  bool transposed = false;  // the matrix
};

std::optional<Step> step_of(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  if (node.kind != NodeKind::kOp || node.args.size() != 2) return {};
  const std::string& name = node.op->name;
  const bool product = name == "matmul", commutes = name == "add" || name == "mul";
  if (!product && !commutes && name != "sub" && name != "div") return {};
  const bool first = is_constant(graph, node.args[0]), second = is_constant(graph, node.args[1]);
  if (first == second || (first && !product && !commutes)) return {};
  const size_t at = first ? 0 : 1;
  Step step{id, node.args[1 - at], node.args[at],
            product                          ? Kind::kMatrix
            : name == "mul" || name == "div" ? Kind::kScale
                                             : Kind::kShift};
  if (product) {
    if (node.attrs[1 - at] != 0) return {};  // the flow is transposed
    step.left = first;
    step.transposed = node.attrs[at] != 0;
  } else if (graph.node(step.flow).shape != node.shape) {
    return {};
  }
  return step;
}

using Chain = std::vector<Step>;

std::vector<Chain> find_chains(const Graph& graph) {
  const std::vector<int> readers = count_readers(graph);
  std::vector<Chain> chains;
  std::vector<int> chain_of(graph.nodes.size(), -1);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const std::optional<Step> step = step_of(graph, id);
    if (!step) continue;
    const auto before = static_cast<size_t>(step->flow);
    int& chain = chain_of[static_cast<size_t>(id)];
    if (chain_of[before] >= 0 && readers[before] == 1) {
      chain = chain_of[before];
    } else {
      chain = static_cast<int>(chains.size());
      chains.emplace_back();
    }
    chains[static_cast<size_t>(chain)].push_back(*step);
  }
  return chains;
}

// Steps that become one product and one shift, and what that costs.
class Segment {
 public:
  Segment(const Graph& graph, const PassContext& context) : graph_(&graph), context_(&context) {}

  const Chain& steps() const { return steps_; }
  bool left() const { return left_; }

  bool append(const Step& step) {
    const Node& node = graph_->node(step.id);
    const double bound = bound_with(step, node);
    if (!(bound <= kLargest)) return false;
    const bool fits = step.kind == Kind::kMatrix ? append_matrix(step) : append_small(step);
    if (!fits) return false;
    bound_ = bound;
    old_cost_ += node.op->cost({shape(node.args[0]), shape(node.args[1])}, node.shape);
    steps_.push_back(step);
    return true;
  }

  double old_cost() const { return old_cost_; }
  double new_cost() const {
    const Shape in = shape(steps_[0].flow), out = shape(steps_.back().id);
    const auto kept = static_cast<double>(left_ ? in.cols : in.rows);
    return kept * width_in_ * width_ + (shift_rows_ > 0 ? static_cast<double>(out.size()) : 0);
  }

  bool pays() const {
    if (!has_matrix_) return false;
    const double saved = old_cost() - new_cost();
    return saved > 0 && work_ <= std::max(kFreeWork, kMostRuns * saved);
  }

 private:
  Shape shape(ValueId id) const { return graph_->node(id).shape; }

  // What the numbers of the constants can't exceed with one more step.
  double bound_with(const Step& step, const Node& node) const {
    const Node& constant = graph_->node(step.constant);
    const double own = magnitude(constant, node.op->name == "div");
    if (step.kind == Kind::kShift) return bound_ + own;
    if (step.kind == Kind::kScale) return bound_ * own;
    return bound_ * own * static_cast<double>(std::max(constant.shape.rows, constant.shape.cols));
  }

  bool fits(double size, double operands) const {
    return size <= context_->constant_limit && size <= std::max(operands, context_->growth_limit);
  }

  // A scale or shift: what it is along the flow's kept dimension decides on which side the
  // matrices may stand.
  bool append_small(const Step& step) {
    const Shape c = shape(step.constant), flow = shape(step.flow);
    const bool whole = step.kind == Kind::kShift;
    const bool right = right_ok_ && (c.rows == 1 || (whole && c.cols == flow.cols));
    const bool left = left_ok_ && (c.cols == 1 || (whole && c.rows == flow.rows));
    if (!right && !left) return false;
    right_ok_ = right;
    left_ok_ = left;
    const int64_t along = !left ? c.rows : !right ? c.cols : std::max(c.rows, c.cols);
    if (whole) shift_rows_ = std::max(shift_rows_, along);
    return true;
  }

  bool append_matrix(const Step& step) {
    if (step.left ? !left_ok_ : !right_ok_) return false;
    const Shape matrix = shape(step.constant);
    const bool turned = step.transposed != step.left;
    const auto in = static_cast<double>(turned ? matrix.cols : matrix.rows);
    const auto out = static_cast<double>(turned ? matrix.rows : matrix.cols);
    const auto shift = static_cast<double>(shift_rows_);
    if (shift_rows_ > 0 && !(fits(shift * out, shift * in + in * out) && fits(in, 1))) return false;
    if (has_matrix_) {
      const double apart = width_in_ * in + in * out;
      if (!(width_in_ * out < apart) || !fits(width_in_ * out, apart)) return false;
      work_ += width_in_ * in * out;
    } else {
      width_in_ = in;
    }
    work_ += shift * in * out;
    width_ = out;
    has_matrix_ = true;
    left_ = step.left;
    (step.left ? right_ok_ : left_ok_) = false;
    return true;
  }

  const Graph* graph_;
  const PassContext* context_;
  Chain steps_;
  bool has_matrix_ = false, left_ = false, left_ok_ = true, right_ok_ = true;
  double width_in_ = 0, width_ = 0;  // of the product of the matrices
  int64_t shift_rows_ = 0;           // how many rows (columns, on the left) the shift has; 0: none
  double bound_ = 1;
  double old_cost_ = 0, work_ = 0;  // of running the steps; of evaluating the constants
};

// Makes the constants and the ops of one segment.
class Maker {
 public:
  Maker(const Graph& old, const Segment& segment, Rebuild* rebuild)
      : old_(old), segment_(segment), rebuild_(*rebuild), b_(rebuild->builder()) {}

  ValueId make() {
    for (const Step& step : segment_.steps()) add(step);
    std::vector<int> origin;
    for (const Step& step : segment_.steps()) {
      const std::vector<int>& of = old_.node(step.id).origin;
      origin.insert(origin.end(), of.begin(), of.end());
    }
    b_.set_origin(std::move(origin));
    ValueId value = product(rebuild_.value(segment_.steps()[0].flow), matrix_);
    if (shift_ != kNoValue) value = b_.op("add", {value, shift_});
    b_.set_origin({});
    return value;
  }

 private:
  // In the order of the segment's side.
  ValueId product(ValueId before, ValueId next) {
    return segment_.left() ? b_.op("matmul", {next, before}) : b_.op("matmul", {before, next});
  }

  void add(const Step& step) {
    const Node& node = old_.node(step.id);
    const ValueId constant = rebuild_.value(step.constant);
    if (step.kind == Kind::kMatrix) return multiply(step, constant);
    const std::vector<double>& attrs = node.attrs;
    if (step.kind == Kind::kShift) {
      const bool minus = node.op->name == "sub";
      if (shift_ != kNoValue) {
        shift_ = b_.op(*node.op, {shift_, constant}, attrs);
      } else {
        shift_ = minus ? b_.op("neg", {constant}) : constant;
      }
      return;
    }
    if (shift_ != kNoValue) shift_ = b_.op(*node.op, {shift_, constant}, attrs);
    ValueId& scaled = matrix_ != kNoValue ? matrix_ : scale_;
    if (scaled == kNoValue) scaled = b_.scalar(1);
    scaled = b_.op(*node.op, {scaled, constant}, attrs);
  }

  void multiply(const Step& step, ValueId constant) {
    ValueId next = step.transposed ? b_.op("transpose", {constant}) : constant;
    const Shape shape = b_.shape(next);
    const int64_t width = step.left ? shape.cols : shape.rows;
    if (shift_ != kNoValue) shift_ = product(as_wide(shift_, width), next);
    if (scale_ != kNoValue) {  // x * s meets the other side of the matrix
      if (b_.shape(scale_).size() > 1) scale_ = b_.op("transpose", {scale_});
      next = b_.op("mul", {next, scale_});
      scale_ = kNoValue;
    }
    matrix_ = matrix_ == kNoValue ? next : product(matrix_, next);
  }

  // A shift of one number, for each element that the next matrix meets.
  ValueId as_wide(ValueId shift, int64_t width) {
    const Shape shape = b_.shape(shift);
    if ((segment_.left() ? shape.rows : shape.cols) == width) return shift;
    const auto n = static_cast<double>(width);
    return segment_.left() ? b_.op("recycle", {shift}, {n, 1}) : b_.op("recycle", {shift}, {1, n});
  }

  const Graph& old_;
  const Segment& segment_;
  Rebuild& rebuild_;
  Builder& b_;
  ValueId matrix_ = kNoValue, shift_ = kNoValue;
  ValueId scale_ = kNoValue;  // before the first matrix
};

std::vector<Segment> find_segments(const Graph& graph, const PassContext& context) {
  std::vector<Segment> segments;
  for (const Chain& chain : find_chains(graph)) {
    Segment segment(graph, context);
    for (const Step& step : chain) {
      if (segment.append(step)) continue;
      if (segment.pays()) segments.push_back(segment);
      segment = Segment(graph, context);
      segment.append(step);
    }
    if (segment.pays()) segments.push_back(segment);
  }
  return segments;
}

Graph merge_once(const Graph& graph, PassContext& context) {
  const std::vector<Segment> segments = find_segments(graph, context);
  std::vector<bool> vanishes(graph.nodes.size(), false);
  std::vector<const Segment*> ends(graph.nodes.size(), nullptr);
  for (const Segment& segment : segments) {
    for (const Step& step : segment.steps()) vanishes[static_cast<size_t>(step.id)] = true;
    ends[static_cast<size_t>(segment.steps().back().id)] = &segment;
    context.notes.push_back("made one product of " + std::to_string(segment.steps().size()) +
                            " steps: " + number_text(segment.old_cost()) + " operations, now " +
                            number_text(segment.new_cost()));
  }
  Rebuild rebuild(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (const Segment* segment = ends[static_cast<size_t>(id)]) {
      rebuild.replace(id, Maker(graph, *segment, &rebuild).make());
    } else if (!vanishes[static_cast<size_t>(id)]) {
      rebuild.keep(id);
    }
  }
  return rebuild.finish();
}

}  // namespace

Graph affine(const Graph& graph, PassContext& context) {
  return context.exact ? graph : merge_once(graph, context);
}

}  // namespace moriejit
