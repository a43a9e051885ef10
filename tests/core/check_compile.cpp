// Compiled op lists against the eager graph.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "checks.h"
#include "core/chain_order.h"
#include "core/compile.h"
#include "core/kernels/gemm.h"
#include "core/op.h"

namespace moriejit::test {
namespace {

using Real = long double;

// The op of each index of the list; a draw goes with the op that reads it.
std::map<int, ValueId> ops_of(const Graph& graph) {
  std::map<int, ValueId> ops;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::kOp || node.op->random) continue;
    for (int index : node.origin) ops[index] = id;
  }
  return ops;
}

// |x| |W1| ... |Wk| in long double, which does not overflow here.
std::vector<Real> bound_of(const View& x, const std::vector<View>& matrices) {
  std::vector<Real> flow;
  for (int64_t i = 0; i < x.shape.size(); ++i) flow.push_back(std::fabs(Real{x.data[i]}));
  const int64_t rows = x.shape.rows;
  for (const View& w : matrices) {
    std::vector<Real> next(static_cast<size_t>(rows * w.shape.cols), 0);
    for (int64_t j = 0; j < w.shape.cols; ++j) {
      for (int64_t k = 0; k < w.shape.rows; ++k) {
        const Real factor = std::fabs(Real{w.data[k + j * w.shape.rows]});
        for (int64_t i = 0; i < rows; ++i) {
          next[static_cast<size_t>(i + j * rows)] +=
              flow[static_cast<size_t>(i + k * rows)] * factor;
        }
      }
    }
    flow = next;
  }
  return flow;
}

class CompileCheck {
 public:
  CompileCheck(const Program& program, const Graph& eager)
      : program_(program), eager_(eager), ops_(ops_of(eager)) {
    Workspace workspace;
    run_ = watch(make_plan(eager), {program.x}, workspace);
  }

  Multiplications check(Mode mode, bool* rejected) {
    Buffer output;
    const MakeResult result = [&output](size_t, Shape shape) {
      Tensor tensor(shape);
      output = tensor.buffer();
      return tensor.data();
    };
    PassContext context;
    context.mode = mode;
    const Compiled compiled = compile(eager_, program_.x.view(), context, result, fresh_hooks());
    require(same_values(output.view(), run_.outputs[0].view()), "compile() ran the ops otherwise");
    walk(compiled);
    check_run(compiled.graph, {program_.x});
    check_run(compiled.graph, {program_.other_x(3, 5)});
    *rejected = !compiled.rejected.empty();
    if (mild()) require(!*rejected, "a fusion of small numbers was rejected");
    return count_multiplications(eager_, compiled.graph);
  }

  // The least number of multiplications: each run of products is cut where that is cheapest.
  double fewest() const {
    double total = 0;
    std::vector<double> dims;
    for (ValueId id = 0; id < eager_.size(); ++id) {
      const Node& node = eager_.node(id);
      if (node.kind != NodeKind::kOp) continue;
      if (node.op->name != "matmul") {
        total += cheapest(dims, 0);
        dims.clear();
        continue;
      }
      const Shape matrix = eager_.node(node.args[1]).shape;
      if (dims.empty()) dims.push_back(static_cast<double>(matrix.rows));
      dims.push_back(static_cast<double>(matrix.cols));
    }
    total += cheapest(dims, 0);
    return total * static_cast<double>(program_.x.shape.rows);
  }

 private:
  static double cheapest(const std::vector<double>& dims, size_t from) {
    if (from + 1 >= dims.size()) return 0;
    double best = std::numeric_limits<double>::infinity();
    for (size_t to = from + 1; to < dims.size(); ++to) {
      best = std::min(best, dims[from] * dims[to] + cheapest(dims, to));
    }
    return best;
  }

  // The compiled graph is one chain as well; its ops stand for those of the list, in order.
  void walk(const Compiled& compiled) const {
    const Graph& graph = compiled.graph;
    ValueId flow = graph.inputs[0];
    std::vector<int> covered;
    for (ValueId id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      if (node.kind != NodeKind::kOp) continue;
      require(node.args[0] == flow, "a compiled op does not read the one before");
      if (node.op->random) continue;
      flow = id;
      require(!node.origin.empty(), "a compiled op stands for no op of the list");
      covered.insert(covered.end(), node.origin.begin(), node.origin.end());
      node.origin.size() == 1 ? check_kept(graph, node) : check_fused(compiled, node);
    }
    require(graph.outputs[0] == flow, "the compiled graph does not return its last value");
    std::vector<int> expected;
    for (const auto& op : ops_) expected.push_back(op.first);
    require(covered == expected, "the compiled ops do not stand for all ops in order");
  }

  void check_kept(const Graph& graph, const Node& node) const {
    const Node& before = eager_.node(ops_.at(node.origin[0]));
    require(before.op == node.op && before.attrs == node.attrs, "a single op became another");
    for (size_t k = 1; k < node.args.size(); ++k) {
      const Node &a = eager_.node(before.args[k]), &b = graph.node(node.args[k]);
      require(a.kind == b.kind && a.data == b.data, "a single op got another operand");
    }
  }

  void check_fused(const Compiled& compiled, const Node& node) const {
    for (const Refusal& refusal : compiled.rejected) {
      for (int index : refusal.ops) {
        require(std::count(node.origin.begin(), node.origin.end(), index) == 0,
                "a rejected op was fused all the same");
      }
    }
    std::vector<View> matrices;
    Real terms = 0;
    for (int index : node.origin) {
      const Node& product = eager_.node(ops_.at(index));
      require(product.op->name == "matmul", "an op that is no product was fused");
      matrices.push_back(run_.value(product.args[1]).view());
      terms += static_cast<Real>(matrices.back().shape.rows) + 1;
    }
    const View x = run_.value(eager_.node(ops_.at(node.origin.front())).args[0]).view();
    const Node& fused = compiled.graph.node(node.args[1]);
    // As compile() does: numbers below the least normal one are rounded to its fraction.
    Tensor magnitude(x.shape);
    std::transform(x.data, x.data + x.shape.size(), magnitude.data(),
                   [](double v) { return std::fabs(v) + std::numeric_limits<double>::min(); });
    compare({fused.data.get(), fused.shape}, x, run_.value(ops_.at(node.origin.back())).view(),
            bound_of(magnitude.view(), matrices), terms);
  }

  // With room for the rounding of the bound that compile() works with.
  static void compare(const View& fused, const View& x, const View& eager,
                      const std::vector<Real>& bound, Real terms) {
    Tensor product({x.shape.rows, fused.shape.cols});
    multiply({x, false, fused, false, product.data(), product.shape()});
    require(product.shape() == eager.shape, "a fused product has another shape");
    for (int64_t i = 0; i < eager.shape.size(); ++i) {
      const double a = product.data()[i], b = eager.data[i];
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      const Real limit =
          2.1L * terms * std::numeric_limits<double>::epsilon() * bound[static_cast<size_t>(i)] +
          2 * terms * std::numeric_limits<double>::denorm_min();
      require(std::isfinite(a) && std::isfinite(b) && std::fabs(Real{a} - b) <= limit,
              "a fused product gives " + number_text(a) + " for " + number_text(b));
    }
  }

  bool mild() const {
    const auto is_mild = [](const Buffer& value) {
      return std::all_of(value.data.get(), value.data.get() + value.shape.size(),
                         [](double v) { return std::fabs(v) < 1e100; });
    };
    return program_.tame && std::all_of(run_.values.begin(), run_.values.end(), is_mild);
  }

  const Program& program_;
  const Graph& eager_;
  std::map<int, ValueId> ops_;
  Watched run_;
};

// The least cost of multiplying matrices `first` to `last`, by trying every order.
double cheapest_order(const std::vector<double>& dims, size_t first, size_t last) {
  if (first == last) return 0;
  double best = std::numeric_limits<double>::infinity();
  for (size_t k = first; k < last; ++k) {
    const double here = dims[first] * dims[k + 1] * dims[last + 1];
    best =
        std::min(best, here + cheapest_order(dims, first, k) + cheapest_order(dims, k + 1, last));
  }
  return best;
}

// What multiplying by the tree costs; each of its products must be of neighbours.
double cost_of(const ChainTree& tree, const std::vector<double>& dims) {
  std::vector<std::pair<size_t, size_t>> spans;  // from dims[first] to dims[second]
  for (size_t k = 0; k + 1 < dims.size(); ++k) spans.emplace_back(k, k + 1);
  double cost = 0;
  for (const auto& product : tree.products) {
    const auto left = spans.at(static_cast<size_t>(product.left));
    const auto right = spans.at(static_cast<size_t>(product.right));
    require(left.second == right.first, "a chain's tree multiplies what are no neighbours");
    cost += dims[left.first] * dims[left.second] * dims[right.second];
    spans.emplace_back(left.first, right.second);
  }
  require(spans.back() == std::make_pair(size_t{0}, dims.size() - 1),
          "a chain's tree is not whole");
  return cost;
}

}  // namespace

void check_chain_order(Rng& rng) {
  std::vector<double> dims;
  for (int64_t n = rng.between(2, 9); n > 0; --n) {
    dims.push_back(static_cast<double>(rng.between(rng.chance(0.2) ? 0 : 1, 12)));
  }
  const double cheapest = cheapest_order(dims, 0, dims.size() - 2);
  const ChainTree tree = matrix_chain_tree(dims, {});
  require(tree.cost == cheapest && cost_of(tree, dims) == cheapest,
          "a chain's tree costs more than it could");
  require(matrix_chain_table(dims, {}).cost == cheapest, "a chain's table has another cost");
}

void check_compile(const Program& program, const Capture& capture) {
  CompileCheck check(program, capture.graph);
  bool refused = false, ignored = false, refused_most = false;
  const Multiplications plain = check.check(Mode::kDefault, &refused);
  check.check(Mode::kReduceOverhead, &ignored);
  const Multiplications most = check.check(Mode::kMaxAutotune, &refused_most);
  require(refused == ignored, "reduce-overhead fuses other ops than default");
  if (refused || refused_most) return;
  require(most.compiled <= plain.compiled, "max-autotune multiplies more than default");
  require(most.compiled == check.fewest(), "max-autotune does not multiply as little as it could");
}

}  // namespace moriejit::test
