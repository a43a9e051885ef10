#include "core/compile.h"

#include <algorithm>

#include "core/fusion_check.h"
#include "core/op.h"
#include "core/plan.h"

namespace moriejit {

Compiled compile(const Graph& graph, const View& x, PassContext context,
                 const MakeResult& eager_output, const Hooks& hooks) {
  context.poll = hooks.poll;
  Compiled compiled{run_passes(graph, context), {}};

  FusionCheck check(graph, compiled.graph, hooks.poll);
  Hooks watching = hooks;
  watching.observe = [&check](ValueId id, const View& view) { check.observe(id, view); };
  Workspace workspace;
  run(make_plan(graph), {x}, eager_output, workspace, watching);

  compiled.rejected = check.take_refused();
  if (!compiled.rejected.empty()) {
    for (const Refusal& refusal : compiled.rejected) {
      context.keep_apart.insert(context.keep_apart.end(), refusal.ops.begin(), refusal.ops.end());
    }
    std::sort(context.keep_apart.begin(), context.keep_apart.end());
    context.refused.clear();
    compiled.graph = run_passes(graph, context);
  }
  compiled.rejected.insert(compiled.rejected.end(), context.refused.begin(), context.refused.end());
  return compiled;
}

// A product of one op adds rows * nrow(W) * ncol(W) to both counts. A fused one adds that of its
// product P to the compiled count, and to the eager count the same for its first matrix, then
// ncol(W[k-1]) * nrow(W[k]) * ncol(W[k]) for each further one.
Multiplications count_multiplications(const Graph& eager, const Graph& compiled) {
  const auto ops = ops_by_index(eager);
  Multiplications count;
  for (const Node& node : compiled.nodes) {
    if (node.kind != NodeKind::kOp || node.op->name != "matmul") continue;
    const double rows = static_cast<double>(compiled.node(node.args[0]).shape.rows);
    const auto size = [](const Graph& graph, ValueId id) {
      return static_cast<double>(graph.node(id).shape.size());
    };
    count.compiled += rows * size(compiled, node.args[1]);
    double before = rows;  // rows for the first matrix, then the columns of the one before
    for (int index : node.origin) {
      const ValueId matrix = eager.node(ops.at(index)).args[1];
      count.eager += before * size(eager, matrix);
      before = static_cast<double>(eager.node(matrix).shape.cols);
    }
  }
  return count;
}

}  // namespace moriejit
