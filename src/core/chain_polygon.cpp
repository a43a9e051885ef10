// T. C. Hu and M. T. Shing, Computation of matrix chain products, part II, SIAM J. Comput. 13
// (1984).
//
// Corners are numbered from the lightest one, 0, around to itself again, n + 1 corners later.
// 1. One sweep with a stack finds the arcs (u, v) that a best triangulation can have, apart from
// fans:
//    everything between u and v weighs at least as much as both. They nest, and so form a tree.
// 2. From the inside out, each arc gets its support weight: how light the lightest corner outside
//    would have to be for a fan from there to be cheaper than the arc. It is num / den, where num
//    is what the region under the arc costs and den what a fan through it pays per unit of weight.
//    Arcs further in that are worse than a fan from this arc's lighter end go; those that would go
//    before this arc does are tied to it: they stay as long as it stays.
// 3. The arcs that are left under the outermost one, and what is tied to them, are diagonals. Each
//    region between them is a fan from its lightest corner.
#include "core/chain_polygon.h"

#include <algorithm>
#include <queue>

#include "core/error.h"

namespace moriejit {
namespace {

using Corner = int32_t;
using ArcId = int32_t;

struct Arc {
  Corner u, v, low;
  double product;  // of the weights of its ends
  double base;     // the sum of neighbours' products around (u, v), less `product`
  double num = 0, den = 0;
  std::vector<ArcId> children;  // arcs directly under it
  std::vector<ArcId> tied;
};

struct Heavier {
  const std::vector<Arc>* arcs;
  bool operator()(ArcId a, ArcId b) const {
    const Arc &x = (*arcs)[static_cast<size_t>(a)], &y = (*arcs)[static_cast<size_t>(b)];
    return x.num / x.den < y.num / y.den;
  }
};

class Polygon {
 public:
  explicit Polygon(std::vector<double> weights) : weight_(std::move(weights)) {
    around_.push_back(0);
    for (size_t i = 1; i < weight_.size(); ++i) {
      around_.push_back(around_.back() + weight_[i - 1] * weight_[i]);
    }
    at_corner_.resize(weight_.size());
  }

  // Diagonals between the numbered corners.
  std::vector<Diagonal> triangulate() {
    find_arcs();
    queues_.resize(arcs_.size());
    for (ArcId id = 0; id < static_cast<ArcId>(arcs_.size()); ++id) settle(id);
    return fans(kept_arcs());
  }

 private:
  using Queue = std::vector<ArcId>;  // a heap by support weight

  double weight(Corner c) const { return weight_[static_cast<size_t>(c)]; }
  Arc& arc(ArcId id) { return arcs_[static_cast<size_t>(id)]; }
  Queue& queue(ArcId id) { return queues_[static_cast<size_t>(id)]; }
  std::vector<ArcId>& at_corner(Corner c) { return at_corner_[static_cast<size_t>(c)]; }
  Corner last() const { return static_cast<Corner>(weight_.size()) - 1; }
  bool is_root(const Arc& a) const { return a.u == 0 && a.v == last(); }

  void add_arc(Corner u, Corner v) {
    Arc a;
    a.u = u;
    a.v = v;
    a.low = weight(u) <= weight(v) ? u : v;
    a.product = weight(u) * weight(v);
    a.base = around_[static_cast<size_t>(v)] - around_[static_cast<size_t>(u)] - a.product;
    const ArcId id = static_cast<ArcId>(arcs_.size());
    while (!open_.empty() && arc(open_.back()).u >= u && arc(open_.back()).v <= v) {
      a.children.push_back(open_.back());
      open_.pop_back();
    }
    arcs_.push_back(std::move(a));
    open_.push_back(id);
  }

  // Inner arcs come before those around them, the outermost last.
  void find_arcs() {
    std::vector<Corner> stack;
    for (Corner i = 0; i < last(); ++i) {
      while (stack.size() >= 2 && weight(stack.back()) > weight(i)) {
        const Corner before = stack[stack.size() - 2];
        if (before != 0) add_arc(before, i);
        stack.pop_back();
      }
      stack.push_back(i);
    }
    add_arc(0, last());
  }

  // The product of the lighter end with its neighbour under the arc.
  double neighbour_product(const Arc& a) {
    if (is_root(a)) return weight(0) * (weight(1) + weight(last() - 1));
    const std::vector<ArcId>& arcs = at_corner(a.low);
    if (!arcs.empty() && arc(arcs.back()).u >= a.u && arc(arcs.back()).v <= a.v) {
      return arc(arcs.back()).product;
    }
    return weight(a.low) * weight(a.low == a.u ? a.u + 1 : a.v - 1);
  }

  // What a fan from the lighter end costs.
  void price_fan(Arc& a) { a.num = weight(a.low) * (a.den + a.product - neighbour_product(a)); }

  void gather_queues(ArcId id) {
    Queue& mine = queue(id);
    for (ArcId child : arc(id).children) {
      if (queue(child).size() > mine.size()) std::swap(queue(child), mine);
      for (ArcId other : queue(child)) push(mine, other);
      Queue().swap(queue(child));
    }
  }

  void push(Queue& queue, ArcId id) {
    queue.push_back(id);
    std::push_heap(queue.begin(), queue.end(), Heavier{&arcs_});
  }

  ArcId pop(Queue& queue) {
    std::pop_heap(queue.begin(), queue.end(), Heavier{&arcs_});
    const ArcId id = queue.back();
    queue.pop_back();
    at_corner(arc(id).u).pop_back();
    at_corner(arc(id).v).pop_back();
    return id;
  }

  void settle(ArcId id) {
    Arc& a = arc(id);
    a.den = a.base;
    for (ArcId child : a.children) a.den -= arc(child).base;
    gather_queues(id);
    Queue& under = queue(id);
    price_fan(a);
    while (!under.empty() && support(arc(under.front())) >= weight(a.low)) {
      a.den += arc(pop(under)).den;
      price_fan(a);
    }
    while (!under.empty() && support(a) <= support(arc(under.front()))) {
      const ArcId tied = pop(under);
      a.den += arc(tied).den;
      a.num += arc(tied).num;
      a.tied.push_back(tied);
    }
    push(under, id);
    at_corner(a.u).push_back(id);
    at_corner(a.v).push_back(id);
  }

  static double support(const Arc& a) { return a.num / a.den; }

  // By their ids, which order inner arcs before outer ones.
  std::vector<ArcId> kept_arcs() {
    std::vector<ArcId> kept = queues_.back();
    for (size_t i = 0; i < kept.size(); ++i) {
      const std::vector<ArcId>& tied = arc(kept[i]).tied;
      kept.insert(kept.end(), tied.begin(), tied.end());
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  // Each kept arc hides the corners between its ends from the arcs around it.
  std::vector<Diagonal> fans(const std::vector<ArcId>& kept) {
    std::vector<Corner> next;  // the next corner that is not hidden
    for (Corner c = 0; c <= last(); ++c) next.push_back(c + 1);
    std::vector<Diagonal> diagonals;
    for (ArcId id : kept) {
      const Arc& a = arc(id);
      std::vector<Corner> region;
      for (Corner c = a.u; c != a.v; c = next[static_cast<size_t>(c)]) region.push_back(c);
      region.push_back(a.v);
      add_fan(a, region, &diagonals);
      next[static_cast<size_t>(a.u)] = a.v;
    }
    return diagonals;
  }

  void add_fan(const Arc& a, const std::vector<Corner>& region, std::vector<Diagonal>* diagonals) {
    // The ends of the outermost arc are one corner, so its fan has one diagonal less.
    const size_t skip = is_root(a) ? 2 : 1;
    for (size_t i = 2; i + skip < region.size(); ++i) {
      if (a.low == a.u) {
        diagonals->push_back({a.u, region[i]});
      } else {
        diagonals->push_back({region[i - 1], a.v});
      }
    }
    if (!is_root(a)) diagonals->push_back({a.u, a.v});
  }

  std::vector<double> weight_;
  std::vector<double> around_;  // sums of neighbours' products, from corner 0 on
  std::vector<Arc> arcs_;
  std::vector<ArcId> open_;                    // arcs that none is around yet
  std::vector<std::vector<ArcId>> at_corner_;  // arcs in the queues that end there, inner first
  std::vector<Queue> queues_;
};

}  // namespace

std::vector<Diagonal> best_triangulation(const std::vector<double>& weights) {
  const size_t count = weights.size();
  if (count < 4) return {};
  const size_t shift =
      static_cast<size_t>(std::min_element(weights.begin(), weights.end()) - weights.begin());
  const auto original = [&](Corner c) {
    return static_cast<Corner>((static_cast<size_t>(c) + shift) % count);
  };
  std::vector<Diagonal> diagonals;
  if (weights[shift] == 0) {  // a fan from a corner of no weight costs nothing
    for (Corner c = 2; c < static_cast<Corner>(count) - 1; ++c) diagonals.push_back({0, c});
  } else {
    std::vector<double> rotated;
    for (size_t i = 0; i <= count; ++i) rotated.push_back(weights[(i + shift) % count]);
    diagonals = Polygon(std::move(rotated)).triangulate();
  }
  for (Diagonal& d : diagonals) {
    const Corner a = original(d.begin), b = original(d.end);
    d = {std::min(a, b), std::max(a, b)};
  }
  // The side from the first corner to the last is no diagonal.
  const Corner end = static_cast<Corner>(count) - 1;
  diagonals.erase(std::remove_if(diagonals.begin(), diagonals.end(),
                                 [end](const Diagonal& d) { return d.begin == 0 && d.end == end; }),
                  diagonals.end());
  return diagonals;
}

}  // namespace moriejit
