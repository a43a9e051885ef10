// T. C. Hu and M. T. Shing, Computation of matrix chain products, part II, SIAM J. Comput. 13
// (1984).
//
// The dimensions are the weights of a polygon's corners. A product of two factors is a triangle,
// whose cost is the product of its corners' weights, and an association is a triangulation.
//
// 1. Number the corners around the polygon from the lightest, 0; of equals, the first is lighter.
// 2. One sweep with a stack cuts off, again and again, a corner between two lighter ones. The lines
//    (u, v) of these cuts, apart from those that end in 0, are the only ones that a best
//    triangulation needs besides fans. They do not cross, and come inner ones first.
// 3. A line bounds a region: what is inside it, up to the next lines further in. Let the region
//    cost `price` as a fan from the line's lighter end. Without the line, a corner of weight x
//    further out pays x * area for it instead, where area is the sum of the products along the
//    region's inner border, less the line's own. So the line is worth having for x > price / area,
//    its support.
// 4. Lines appear from the inside out, and x only falls on the way. So, at each new line, the inner
//    ones whose support is not under the weight of its lighter end go for good, and their regions
//    join the line's. Those of the others whose support is not under the new line's own would go
//    with it or before it: they are bundled with it. The rest, in a heap by support, have less the
//    further in they are, so that the heap's first is always on the border of the line's region.
// 5. The same goes, last of all, for the fan from corner 0. Each region that is left is a fan from
//    its lightest corner.
#include "core/chain_hu_shing.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace moriejit {
namespace {

using Index = int32_t;
constexpr Index kNone = -1;

struct Line {
  Index begin, end;     // corners
  double product;       // of their weights
  double price, area;   // of its region and those bundled with it
  double support;       // price / area
  Index longest_begin;  // the longest line inside this one that begins where it does
  Index longest_end;    // ... that ends where it does
  Index bundled_with;   // the line that it lives and dies with
  bool gone;
  Index heavier, other;  // the heap below it
  Index depth;           // of the heap, along `other`
};

class Polygon {
 public:
  explicit Polygon(std::vector<double> weights)
      : weights_(std::move(weights)),
        longest_begin_(weights_.size(), kNone),
        longest_end_(weights_.size(), kNone) {}

  // Steps 2 to 4, and 5 for the lines.
  void draw_lines(const std::function<void()>& poll) {
    struct Corner {
      Index at;
      Index inside;  // the heap of the lines between the corner before on the stack and this one
    };
    std::vector<Corner> stack = {{0, kNone}};
    for (Index i = 1; i < size(); ++i) {
      if (poll && i % 1024 == 0) poll();
      Index inside = kNone;
      while (weight(stack.back().at) > weight(i)) {  // never corner 0
        const Corner cut_off = stack.back();
        stack.pop_back();
        inside = merge(cut_off.inside, inside);
        if (stack.back().at != 0) inside = add_line(stack.back().at, cut_off.at, i, inside);
      }
      stack.push_back({i, inside});
    }
    Index all = kNone;
    for (const Corner& corner : stack) all = merge(all, corner.inside);
    while (all != kNone && goes(line(all), weight(0))) {
      line(all).gone = true;
      all = pop(all);
    }
    // A line comes before the one that it is bundled with.
    for (size_t k = lines_.size(); k-- > 0;) {
      Line& bundled = lines_[k];
      if (bundled.bundled_with != kNone) bundled.gone = line(bundled.bundled_with).gone;
    }
  }

  // Calls triangle(a, b, c) for each triangle, a < b < c; what is left of step 5.
  template <class Triangle>
  void triangulate(const Triangle& triangle) const {
    // Each line that stays hides the corners between its ends from the regions further out.
    std::vector<Index> next;
    for (Index c = 0; c < size(); ++c) next.push_back(c + 1);
    const auto fan = [&](Index begin, Index end, bool from_begin) {
      for (Index a = begin, b = next_of(next, a); b != end; a = b, b = next_of(next, b)) {
        if (from_begin) {
          triangle(begin, b, next_of(next, b));
        } else {
          triangle(a, b, end);
        }
      }
    };
    for (const Line& l : lines_) {
      if (l.gone) continue;
      fan(l.begin, l.end, begins_lighter(l));
      next[static_cast<size_t>(l.begin)] = l.end;
    }
    fan(0, size() - 1, true);
  }

 private:
  Index size() const { return static_cast<Index>(weights_.size()); }
  double weight(Index corner) const { return weights_[static_cast<size_t>(corner)]; }
  Line& line(Index k) { return lines_[static_cast<size_t>(k)]; }
  Index& longest_begin(Index corner) { return longest_begin_[static_cast<size_t>(corner)]; }
  Index& longest_end(Index corner) { return longest_end_[static_cast<size_t>(corner)]; }
  bool begins_lighter(const Line& l) const { return weight(l.begin) <= weight(l.end); }

  static Index next_of(const std::vector<Index>& next, Index corner) {
    return next[static_cast<size_t>(corner)];
  }

  // Whether a fan from a corner of this weight is no dearer than the line. Exact as long as costs
  // are, which the quotient is not.
  static bool goes(const Line& l, double weight) { return weight * l.area <= l.price; }

  // The line that cuts corner `top` off, given the heap of the lines inside it. Returns the
  // heap with the line in it.
  Index add_line(Index begin, Index top, Index end, Index inside) {
    Line l = {};
    l.begin = begin;
    l.end = end;
    l.product = weight(begin) * weight(end);
    l.bundled_with = l.heavier = l.other = kNone;
    const double low = std::min(weight(begin), weight(end));
    const double high = std::max(weight(begin), weight(end));
    // Of the triangle, written without a difference of products, which would lose digits.
    l.area = low * weight(top) + high * (weight(top) - low);
    l.price = low * weight(top) * high;
    bool alone = true;
    while (inside != kNone && goes(line(inside), low)) {
      l.area += line(inside).area;
      line(inside).gone = true;
      inside = take(inside);
      alone = false;
    }
    // The fan's triangles stand on the border's sides but for the one at its own corner.
    if (!alone) l.price = low * (l.area + l.product - first_side(l));
    l.support = l.price / l.area;
    const Index id = static_cast<Index>(lines_.size());
    while (inside != kNone && line(inside).support >= l.support) {
      l.area += line(inside).area;
      l.price += line(inside).price;
      l.support = l.price / l.area;
      line(inside).bundled_with = id;
      inside = take(inside);
    }
    l.longest_begin = std::exchange(longest_begin(begin), id);
    l.longest_end = std::exchange(longest_end(end), id);
    lines_.push_back(l);
    return merge(inside, id);
  }

  // The product along the side of the region's border that is at the line's lighter end.
  double first_side(const Line& l) {
    const bool at_begin = begins_lighter(l);
    const Index inner = at_begin ? longest_begin(l.begin) : longest_end(l.end);
    if (inner != kNone) return line(inner).product;
    return at_begin ? weight(l.begin) * weight(l.begin + 1) : weight(l.end) * weight(l.end - 1);
  }

  // Takes the first line of a heap off its border.
  Index take(Index heap) {
    const Line& l = line(heap);
    longest_begin(l.begin) = l.longest_begin;
    longest_end(l.end) = l.longest_end;
    return pop(heap);
  }

  // Leftist heaps (C. A. Crane, 1972), which merge in logarithmic time; so deep goes the recursion.
  Index merge(Index a, Index b) {
    if (a == kNone) return b;
    if (b == kNone) return a;
    if (line(b).support > line(a).support) std::swap(a, b);
    const Index rest = merge(line(a).other, b);
    Line& top = line(a);
    top.other = rest;
    if (depth(top.heavier) < depth(top.other)) std::swap(top.heavier, top.other);
    top.depth = depth(top.other) + 1;
    return a;
  }
  Index depth(Index heap) { return heap == kNone ? -1 : line(heap).depth; }
  Index pop(Index heap) { return merge(line(heap).heavier, line(heap).other); }

  std::vector<double> weights_;
  std::vector<Line> lines_;
  // For each corner, the longest of the lines still there that begin or end in it.
  std::vector<Index> longest_begin_, longest_end_;
};

}  // namespace

std::vector<int32_t> hu_shing_closings(const std::vector<double>& dims,
                                       const std::function<void()>& poll) {
  MORIEJIT_CHECK(dims.size() >= 2);
  std::vector<double> weights = dims;
  const auto lightest = std::min_element(weights.begin(), weights.end());
  const int32_t shift = static_cast<int32_t>(lightest - weights.begin());
  std::rotate(weights.begin(), lightest, weights.end());
  const int32_t size = static_cast<int32_t>(weights.size());
  const bool free = weights[0] == 0;
  Polygon polygon(std::move(weights));
  // A fan from a corner that weighs nothing costs nothing.
  if (!free) polygon.draw_lines(poll);
  std::vector<int32_t> closings(dims.size() - 1, 0);
  const auto corner = [&](int32_t c) { return c + shift < size ? c + shift : c + shift - size; };
  polygon.triangulate([&](int32_t a, int32_t b, int32_t c) {
    ++closings[static_cast<size_t>(std::max({corner(a), corner(b), corner(c)}) - 1)];
  });
  return closings;
}

}  // namespace moriejit
