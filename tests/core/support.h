// What golden and fuzz share: a generator that gives the same numbers everywhere, matrices made
// with it, runs of graphs, and comparisons of matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/hooks.h"
#include "core/plan.h"
#include "core/text.h"

namespace moriejit::test {

// Splitmix64: the standard library's distributions differ from one library to the next.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next();
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  double unit();  // on (0, 1)
  double spread(double low, double high) { return low + (high - low) * unit(); }
  bool chance(double p) { return unit() < p; }

 private:
  uint64_t state_;
};

// A seed of a name and a shape, so that two graphs with one constant get the same values for it.
uint64_t seed_of(const std::string& name, Shape shape);

Buffer make_matrix(Shape shape, const std::function<double()>& next);
Buffer plain_matrix(Shape shape, uint64_t seed);  // between -2 and 2

// Values for the constants that the text left without.
Graph fill_holes(Graph graph);

// Draws from a generator that starts anew with each call of this function.
Hooks fresh_hooks(uint64_t seed = 1);

// The outputs, by the reference evaluator and by a plan.
std::vector<Buffer> evaluate_outputs(const Graph& graph, const std::vector<Buffer>& inputs);
std::vector<Buffer> run_plan(const Graph& graph, const std::vector<Buffer>& inputs);

std::vector<View> views_of(const std::vector<Buffer>& buffers);
std::vector<Buffer> copies_of(const std::vector<Buffer>& buffers);

// Equal by bits, but any NaN equals any other.
bool same_bits(double a, double b);
bool same_values(const View& a, const View& b);

// Gives the constants of `graph` to the parser of its text, once.
Resolver constants_of(const Graph& graph);

// As to_text, but with the values of all constants that have some.
std::string full_text(const Graph& graph);

// Prints, parses and prints again; says what went wrong, or nothing.
std::string check_round_trip(const Graph& graph);

}  // namespace moriejit::test
