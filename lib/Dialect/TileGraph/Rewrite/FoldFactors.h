// The values behind a streamed operand: which of them change along the stream, which reductions of the stream they
// depend on, and by what factor they change when such a reduction does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDFACTORS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDFACTORS_H

#include "GraphBuilder.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace weft::tg {

/// What stands for the results of the reductions in a clone.
class StateValues {
public:
  /// `isSafe`: 0 in place of a maximum of -inf, so that differences with it are defined.
  void set(GraphBuilder &b, ReduceOp reduce, mlir::Value state, bool isSafe);
  mlir::Value lookup(mlir::Value result) const { return values.lookup(result); }

private:
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

/// Pointwise ops and reductions between the streamed operand and what is computed before the fold. `axis` is the
/// streamed dimension counted from the last one (-1), as broadcasting aligns.
class StreamTree {
public:
  explicit StreamTree(int64_t axis) : axis(axis) {}

  /// Adds `value` and what it depends on.
  void visit(mlir::Value value);

  /// In the order of their dependencies.
  llvm::SmallVector<ReduceOp> getReductions() const { return reductions; }
  /// The reductions that `value` reads other than through a reduction.
  llvm::ArrayRef<ReduceOp> getDependencies(mlir::Value value) const;
  /// The contractions that compute values which change along the stream.
  llvm::ArrayRef<ContractOp> getContractions() const { return contractions; }
  bool contains(mlir::Value value) const { return nodes.contains(value); }
  /// Whether `value` is the same along the stream, and depends on a reduction of it.
  bool isDelayable(mlir::Value value) const;
  /// Whether the factor by which `value` changes is known for every reduction it depends on.
  bool isRepairable(mlir::Value value) const;

  /// `value` with the reductions replaced by `states`. Values that depend on no reduction and do not change along the
  /// stream are not cloned.
  mlir::Value clone(GraphBuilder &b, mlir::Value value, const StateValues &states) const;
  /// q: value(after) = value(before) * q, with extent 1 along the stream.
  mlir::Value buildRatio(GraphBuilder &b, mlir::Value value, ReduceOp reduce, const StateValues &before,
                         const StateValues &after) const;

private:
  struct Node {
    bool changes = false; ///< Along the stream.
    llvm::SetVector<ReduceOp> dependencies;
  };
  bool isUniform(mlir::Value value) const;
  bool dependsOn(mlir::Value value, ReduceOp reduce) const;
  bool findRatio(mlir::Value value, ReduceOp reduce) const;
  bool findShift(mlir::Value value, ReduceOp reduce) const;
  mlir::Value buildShift(GraphBuilder &b, mlir::Value value, ReduceOp reduce, const StateValues &before,
                         const StateValues &after) const;

  int64_t axis;
  llvm::MapVector<mlir::Value, Node> nodes;
  llvm::SmallVector<ReduceOp> reductions;
  llvm::SmallVector<ContractOp> contractions;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDFACTORS_H
