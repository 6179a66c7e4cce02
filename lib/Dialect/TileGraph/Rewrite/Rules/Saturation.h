// Equality saturation of a function's block: all rules at once in an e-graph, then the cheapest expression of each
// result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_SATURATION_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_SATURATION_H

#include "Cost.h"
#include "weft/Dialect/TileGraph/Rewrite/EGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"
#include <map>

namespace weft::tg {

struct SaturationLimits {
  size_t maxNodes = 4000;
  unsigned maxIterations = 8;
  size_t maxMatches = 2000; ///< Of one rule in one iteration.
  size_t maxSteps = 100000; ///< Of the search for the cheapest program.
};

/// Works on a block that nothing else uses: it adds ops to it freely and, with `replace`, leaves the cheapest program.
class Saturation {
public:
  Saturation(mlir::Block &block, RuleLicence licence, SaturationLimits limits);

  /// Applies `rules` until nothing is new or a limit is reached.
  void run(llvm::ArrayRef<const Rule *> rules);
  /// Rebuilds the block's results from the cheapest nodes by `prices`, each of which counts once, however many share
  /// it. A node's price knows nothing of what fusion keeps, so that bytes may mislead: without `countBytes` they cost
  /// nothing. False, with the block of
  /// no further use, if they depend on each other in a circle.
  bool replace(const Prices &prices, bool countBytes);

  size_t getNumNodes() const { return graph.numNodes(); }
  unsigned getNumIterations() const { return iterations; }
  llvm::StringRef getStop() const { return stop; } ///< "saturated", "nodes" or "iterations".
  /// After `replace`: whether no program of the graph is cheaper.
  bool isCheapest() const { return cheapest; }

private:
  using Id = EGraph::Id;
  struct Found {
    const Rule *rule;
    Match match;
  };

  Id addValue(mlir::Value value);
  void addOp(mlir::Operation *op);
  uint32_t internOp(mlir::Operation *op);
  mlir::Operation *getOp(const EGraph::Node &node);
  mlir::Value getValue(Id id) const { return values[graph.find(id)]; }
  void findMatches(const Rule &rule, std::vector<Found> &found);
  bool apply(const Found &found);
  double priceNode(const EGraph::Node &node, const Prices &prices, bool countBytes, llvm::ArrayRef<bool> isConstant);
  std::vector<const EGraph::Node *> findOriginal() const;
  mlir::Value buildClass(Id id, const SharedExtraction &best, std::map<Id, mlir::Value> &built);

  friend class ClassMatcher;
  mlir::Block &block;
  RuleLicence licence;
  SaturationLimits limits;
  EGraph graph;
  std::vector<mlir::Operation *> prototypes; ///< By operator: an op of its name, attributes and type; null for leaves.
  std::vector<mlir::Value> leaves;           ///< By operator: the value of a leaf.
  std::map<std::tuple<const void *, const void *, const void *, const void *>, uint32_t> operators;
  std::map<EGraph::Node, mlir::Operation *> ops; ///< An op for each node that a match named.
  std::vector<mlir::Value> values;               ///< By class: one of its values.
  llvm::DenseMap<mlir::Value, Id> ids;
  std::vector<std::pair<Id, EGraph::Node>> original; ///< The program as it was given.
  unsigned iterations = 0;
  llvm::StringRef stop = "iterations";
  bool cheapest = false;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_SATURATION_H
