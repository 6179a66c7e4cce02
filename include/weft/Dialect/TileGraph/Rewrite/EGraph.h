// An e-graph: many equal expressions in one graph, and the cheapest of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A class is a set of nodes that are equal; a node is an operator on classes. Adding a node that exists gives its
// class; merging two classes makes their users equal too, once `rebuild` has run (congruence closure, deferred as in
// Willsey et al., egg, POPL'21). Operators are numbers whose meaning is the user's. No dependency on MLIR.
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_EGRAPH_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_EGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace weft {

class EGraph {
public:
  using Id = uint32_t;
  struct Node {
    uint32_t op = 0;
    llvm::SmallVector<Id, 3> children;
    friend bool operator<(const Node &a, const Node &b) {
      return a.op != b.op ? a.op < b.op
                          : std::lexicographical_compare(a.children.begin(), a.children.end(), b.children.begin(),
                                                         b.children.end());
    }
    friend bool operator==(const Node &a, const Node &b) { return a.op == b.op && a.children == b.children; }
  };

  /// The class of `node`, a new one if there is none. Children must be classes of this graph.
  Id add(Node node);
  /// Makes two classes one; false if they were. Users are not compared until `rebuild`.
  bool merge(Id a, Id b);
  /// Restores congruence: equal nodes are in one class, once each.
  void rebuild();

  /// The class that `id` is part of now.
  Id find(Id id) const;
  /// Nodes of a class, whose children may be out of date until `rebuild`.
  llvm::ArrayRef<Node> nodes(Id id) const { return classes[find(id)]; }
  /// All classes, in the order of their making.
  std::vector<Id> allClasses() const;
  size_t numNodes() const;

private:
  Node canonical(Node node) const;

  mutable std::vector<Id> parent;
  std::vector<std::vector<Node>> classes; ///< By class; empty for those that were merged into another.
  std::map<Node, Id> known;
};

/// The cheapest node of each class, by the sum of the costs of the tree below it.
struct Extraction {
  std::vector<double> cost;               ///< By class; infinite if no finite tree exists.
  std::vector<const EGraph::Node *> best; ///< By class; null then.
};
/// `cost` is of a node alone and must not be negative. The graph must be rebuilt, and must outlive the result.
Extraction extract(const EGraph &graph, llvm::function_ref<double(EGraph::Id, const EGraph::Node &)> cost);

/// A node for each class that `roots` need.
struct SharedExtraction {
  double cost = std::numeric_limits<double>::infinity(); ///< Of these nodes, each once.
  std::vector<const EGraph::Node *> best;                ///< By class; others may be null.
  bool isCheapest = false;                               ///< Proved: no choice of nodes costs less.
};
/// The cheapest choice that was found, as programs are: what several expressions share is computed once. It costs no
/// more than the trees of `extract` do so, nor than the nodes of `given` (by class; null: any), if those are a program.
/// `steps` bounds the search for the cheapest. `cost` as above.
SharedExtraction extractShared(const EGraph &graph, llvm::ArrayRef<EGraph::Id> roots,
                               llvm::function_ref<double(EGraph::Id, const EGraph::Node &)> cost, size_t steps,
                               llvm::ArrayRef<const EGraph::Node *> given = {});

} // namespace weft

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_EGRAPH_H
