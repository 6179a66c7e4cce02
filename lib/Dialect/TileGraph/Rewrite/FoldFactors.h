// The values behind a streamed operand: which of them change along the stream, which reductions of the stream they
// depend on, and by how much they change when such a reduction does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDFACTORS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDFACTORS_H

#include "FoldGuards.h"
#include "GraphBuilder.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace weft::tg {

/// What stands for the results of reductions, and for what is computed from them, in a clone.
using StateValues = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Elementwise ops and reductions between the streamed operand and what is computed before the fold. `axis` is the
/// streamed dimension counted from the last one (-1), as broadcasting aligns, `extent` its extent: reductions of
/// another number of elements are values like others.
class StreamTree {
public:
  StreamTree(int64_t axis, mlir::AffineExpr extent, const FoldGuards &guards)
      : axis(axis), extent(extent), guards(guards) {}

  /// `condition`, or true where a test has switched the guard off.
  bool holds(FoldGuard guard, bool condition) const { return guards.holds(guard, condition); }

  /// Adds `value` and what it depends on.
  void visit(mlir::Value value);

  int64_t getAxis() const { return axis; }
  /// In the order of their dependencies.
  llvm::ArrayRef<ReduceOp> getReductions() const { return reductions; }
  /// The reductions that `value` reads other than through a reduction.
  llvm::ArrayRef<ReduceOp> getDependencies(mlir::Value value) const;
  /// The contractions that compute values which change along the stream.
  llvm::ArrayRef<ContractOp> getContractions() const { return contractions; }
  bool contains(mlir::Value value) const { return nodes.contains(value); }
  /// The values, what they depend on first.
  auto getValues() const { return llvm::make_first_range(nodes); }
  /// Whether `value` is the same along the stream: extent 1 there, or less rank.
  bool isUniform(mlir::Value value) const;

  /// Whether a change of the reductions adds the same to `value` everywhere along the stream.
  bool isShift(mlir::Value value) const;
  /// The one value of a sum or difference `value` that changes along the stream, if no reduction is behind it and the
  /// others are the same along the stream; else null.
  mlir::Value findShifted(mlir::Value value) const;
  /// Which values of what is subtracted are 0 where they are not finite: those of a stream that has not begun, or of a
  /// row that is masked so far, are of no use in differences.
  struct Guard {
    bool before = false, after = false;
  };
  /// value(after) - value(before) of a shift, with extent 1 along the stream, in the compute type; null if it is 0.
  mlir::Value buildShift(GraphBuilder &b, mlir::Value value, const StateValues &before, const StateValues &after,
                         Guard guard) const;
  /// The clone of a sum or difference (findShifted), what is subtracted guarded.
  mlir::Value cloneDifference(GraphBuilder &b, mlir::Value value, const StateValues &states, bool isGuarded) const;

  /// `value` with the reductions replaced by `states`. Values that depend on no reduction and do not change along the
  /// stream are not cloned.
  mlir::Value clone(GraphBuilder &b, mlir::Value value, const StateValues &states) const;

private:
  struct Node {
    bool changes = false; ///< Along the stream.
    llvm::SetVector<ReduceOp> dependencies;
  };

  int64_t axis;
  mlir::AffineExpr extent;
  FoldGuards guards;
  llvm::MapVector<mlir::Value, Node> nodes;
  llvm::SmallVector<ReduceOp> reductions;
  llvm::SmallVector<ContractOp> contractions;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDFACTORS_H
