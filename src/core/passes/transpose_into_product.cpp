#include "core/passes/transpose_into_product.h"

#include "core/op.h"

namespace moriejit {

Graph transpose_into_product(const Graph& graph, PassContext& context) {
  if (context.exact) return graph;
  const Op* const transpose = &op_named("transpose");
  const Op* const matmul = &op_named("matmul");
  Rebuild rebuild(graph);
  int taken = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    Node node = rebuild.renamed(id);
    for (size_t k = 0; k < 2 && node.op == matmul; ++k) {
      const Node* operand = &rebuild.graph().node(node.args[k]);
      while (operand->op == transpose) {
        node.args[k] = operand->args[0];
        node.attrs[k] = 1 - node.attrs[k];
        operand = &rebuild.graph().node(node.args[k]);
        ++taken;
      }
    }
    rebuild.replace(id, rebuild.builder().copy(std::move(node)));
  }
  if (taken > 0) {
    context.notes.push_back("took " + std::to_string(taken) + " transposes into products");
  }
  return rebuild.finish();
}

}  // namespace moriejit
