#include "core/grad_control.h"

#include <string>

#include "core/error.h"
#include "core/grad.h"
#include "core/op.h"

namespace moriejit {
namespace {

using Region = std::shared_ptr<const Graph>;
using Ids = std::vector<ValueId>;

Region made(Builder builder, const Ids& outputs) {
  for (ValueId id : outputs) builder.output(id);
  return std::make_shared<const Graph>(builder.take());
}

// Adds the region's ops over these values in the place of its inputs; gives its outputs.
Ids inlined(Builder& builder, const Graph& region, const Ids& inputs) {
  Ids value(region.nodes.size(), kNoValue);
  size_t next = 0;
  for (ValueId id = 0; id < region.size(); ++id) {
    Node node = region.node(id);
    if (node.kind == NodeKind::kInput) {
      value[static_cast<size_t>(id)] = inputs[next++];
      continue;
    }
    for (ValueId& arg : node.args) arg = value[static_cast<size_t>(arg)];
    value[static_cast<size_t>(id)] = builder.copy(std::move(node));
  }
  Ids outputs;
  for (ValueId id : region.outputs) outputs.push_back(value[static_cast<size_t>(id)]);
  return outputs;
}

Ids inputs_like(Builder& builder, const Builder& outer, const Ids& values) {
  Ids inputs;
  for (ValueId id : values) {
    inputs.push_back(builder.input("v" + std::to_string(inputs.size()), outer.shape(id)));
  }
  return inputs;
}

Ids joined(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Ids piece(const Ids& ids, size_t from, size_t count) {
  const auto start = ids.begin() + static_cast<int64_t>(from);
  return {start, start + static_cast<int64_t>(count)};
}

std::vector<size_t> places_of(const std::vector<bool>& flags) {
  std::vector<size_t> places;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) places.push_back(i);
  }
  return places;
}

std::vector<ValueId> branch_vjp(Builder& b, const Node& node, const Ids& dy,
                                const std::vector<bool>& reached) {
  std::vector<bool> seeded, asked(reached.begin() + 1, reached.end());
  Ids args = node.args;
  for (ValueId id : dy) {
    seeded.push_back(id != kNoValue);
    if (id != kNoValue) args.push_back(id);
  }
  const std::vector<size_t> wanted = places_of(asked), given = places_of(seeded);
  if (wanted.empty()) return Ids(node.args.size(), kNoValue);
  std::vector<Region> regions;
  for (const Region& region : node.regions) {
    regions.push_back(std::make_shared<const Graph>(region_vjp(*region, wanted, given)));
  }
  const ValueId back = b.control(*node.op, args, regions);
  Ids grads(node.args.size(), kNoValue);
  for (size_t i = 0; i < wanted.size(); ++i) grads[wanted[i] + 1] = b.result(back, i);
  return grads;
}

class LoopVjp {
 public:
  LoopVjp(Builder& b, const Node& node, const std::vector<bool>& reached)
      : b_(b),
        op_(*node.op),
        test_(node.regions[0]),
        body_(node.regions[1]),
        start_(piece(node.args, 0, states_of(node))),
        rest_(piece(node.args, start_.size(), node.args.size() - start_.size())),
        reached_(reached) {
    close_reached();
    wanted_ = places_of(reached_);
    for (size_t place : wanted_) {
      if (place < start_.size()) moving_.push_back(place);
    }
  }

  Ids grads(const Ids& dy) {
    const ValueId turns = b_.result(turns_loop(), start_.size());
    // The states of the way back: the turn, gradients of states, sums of gradients of the rest.
    Ids args = {turns};
    for (size_t place : wanted_) {
      const bool given = place < start_.size() && dy[place] != kNoValue;
      args.push_back(given ? dy[place] : b_.op("zeros_like", {operand(place)}));
    }
    const auto states = static_cast<double>(args.size());
    args = joined(joined(args, start_), rest_);
    const ValueId back = b_.control(op_, args, {back_test(args), back_body(args)}, {states});
    Ids grads(start_.size() + rest_.size(), kNoValue);
    for (size_t i = 0; i < wanted_.size(); ++i) grads[wanted_[i]] = b_.result(back, i + 1);
    return grads;
  }

 private:
  static size_t states_of(const Node& node) { return static_cast<size_t>(node.attrs[0]); }

  ValueId operand(size_t place) const {
    return place < start_.size() ? start_[place] : rest_[place - start_.size()];
  }

  // A state is reached as well where it is made of one that is.
  void close_reached() {
    for (bool more = true; more;) {
      more = false;
      const std::vector<bool> made_of = outputs_reached(*body_, places_of(reached_));
      for (size_t k = 0; k < start_.size(); ++k) {
        more = more || (made_of[k] && !reached_[k]);
        reached_[k] = reached_[k] || made_of[k];
      }
    }
  }

  // The loop itself with a further state, the number of its turns.
  ValueId turns_loop() {
    const Ids args = joined(joined(start_, {b_.scalar(0)}), rest_);
    Builder test;
    const Ids in = inputs_like(test, b_, args);
    const Ids now = joined(piece(in, 0, start_.size()), piece(in, start_.size() + 1, rest_.size()));
    const Region tested = made(test, inlined(test, *test_, now));
    return b_.control(op_, args, {tested, counting_body(b_, args)},
                      {static_cast<double>(start_.size() + 1)});
  }

  // Makes the states and counts the turn; `args` are states, count, rest, and perhaps more.
  Region counting_body(const Builder& outer, const Ids& args) const {
    Builder body;
    const Ids in = inputs_like(body, outer, args);
    Ids next =
        inlined(body, *body_,
                joined(piece(in, 0, start_.size()), piece(in, start_.size() + 1, rest_.size())));
    next.push_back(body.op("add", {in[start_.size()], body.scalar(1)}));
    return made(body, next);
  }

  Region back_test(const Ids& args) const {
    Builder test;
    const Ids in = inputs_like(test, b_, args);
    return made(test, {test.op("gt", {in[0], test.scalar(0)})});
  }

  Region back_body(const Ids& args) const {
    Builder body;
    const Ids in = inputs_like(body, b_, args);
    const Ids carried = piece(in, 1, wanted_.size());
    const Ids start = piece(in, 1 + wanted_.size(), start_.size());
    const Ids rest = piece(in, 1 + wanted_.size() + start_.size(), rest_.size());
    const ValueId before = body.op("sub", {in[0], body.scalar(1)});
    const Ids states = states_before(body, start, rest, before);
    const Graph vjp = region_vjp(*body_, wanted_, moving_);
    const Ids grads =
        inlined(body, vjp, joined(joined(states, rest), piece(carried, 0, moving_.size())));
    Ids next = {before};
    for (size_t i = 0; i < wanted_.size(); ++i) {
      next.push_back(i < moving_.size() ? grads[i] : body.op("add", {carried[i], grads[i]}));
    }
    return made(body, next);
  }

  // The states after so many turns.
  Ids states_before(Builder& b, const Ids& start, const Ids& rest, ValueId turns) const {
    const Ids args = joined(joined(joined(start, {b.scalar(0)}), rest), {turns});
    Builder test;
    const Ids in = inputs_like(test, b, args);
    const Region tested = made(test, {test.op("gt", {in.back(), in[start.size()]})});
    const ValueId loop = b.control(op_, args, {tested, counting_body(b, args)},
                                   {static_cast<double>(start.size() + 1)});
    Ids states;
    for (size_t k = 0; k < start.size(); ++k) states.push_back(b.result(loop, k));
    return states;
  }

  Builder& b_;
  const Op& op_;
  const Region test_, body_;
  const Ids start_, rest_;  // operands
  std::vector<bool> reached_;
  // Operands whose gradients are made; the first of them, states, change from turn to turn.
  std::vector<size_t> wanted_, moving_;
};

}  // namespace

std::vector<ValueId> control_vjp(Builder& builder, const Node& node, const std::vector<ValueId>& dy,
                                 const std::vector<bool>& reached) {
  if (has_effects(node)) {
    throw Error(ErrorKind::kUnsupported,
                "`" + node.op->name +
                    "` has no derivative where it draws random numbers or calls R functions: it "
                    "is run again on the way back.");
  }
  const Node copy = node;  // the builder's nodes may move
  if (node.op->name == "if") return branch_vjp(builder, copy, dy, reached);
  return LoopVjp(builder, copy, reached).grads(dy);
}

}  // namespace moriejit
