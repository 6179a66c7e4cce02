// Which share each value of a program of ranks has: a search over the layouts of all ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op is done whole on each rank, along a dimension of its domain in parts (ShardAccess.h), or, where it only adds or
// moves, on what each rank has of a sum. A layout is a choice for each op; what stands between two choices
// (ShardValues.h) goes over the links. The search goes along the program and keeps, for each way in which the values
// that are still to be read may lie, the cheapest layout that leads there: dynamic programming over the states of a
// frontier, exact while these are at most `mostStates`, and the cheapest so many of them beyond. Repeated blocks cost
// the same each, since few values cross from one to the next.
//
//   seconds = sum over ops: max(bytes / memory's rate, operations / their rate)          of what a rank does
//           + sum over collectives: seconds of one + bytes a rank sends / the links' rate + bytes / memory's rate
//
// Bytes are those of values that fusion leaves in memory (Analysis/Classify.h). Then the edges between states say what
// the best layout with another choice for an op would have cost: why not.
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDSEARCH_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDSEARCH_H

#include "ShardAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/Rewrite/LayoutRates.h"

namespace weft::tg {

/// Tensors are split along one of so many first dimensions.
inline constexpr int64_t mostSplitDims = 48;

struct LayoutProblem {
  mlir::func::FuncOp main;
  int64_t ranks = 1;
  LayoutRates rates;
  /// Splits only follow from what is asked for, and weights on a rank come before seconds.
  bool followsRequests = false;
  llvm::DenseMap<mlir::Value, int64_t> wanted;                ///< Of arguments, weights and results of ops.
  llvm::SmallVector<std::optional<int64_t>> wantedOfReturned; ///< Of the program's results.
};

/// What becomes of an op.
struct Decision {
  enum class Kind { Whole, Sum, Part };
  Kind kind = Kind::Whole;
  Split split;                                                 ///< Of Part.
  std::string refusals;                                        ///< Why dimensions of its domain cannot be split.
  bool hadChoice = false;                                      ///< Something else was possible.
  llvm::SmallVector<std::pair<std::string, double>, 2> others; ///< And how many seconds more a run would take.
};

struct Layout {
  llvm::DenseMap<mlir::Operation *, Decision> decisions;
  llvm::DenseMap<mlir::Value, int64_t> arguments; ///< Those that are split.
  llvm::SmallVector<Share> returned;
  double seconds = 0, weightBytes = 0;           ///< Of a rank.
  double wholeSeconds = 0, wholeWeightBytes = 0; ///< Where every rank does everything.
  bool isExact = true;                           ///< No state was left out.
};

/// Emits an error and fails where something that is asked for cannot be.
mlir::FailureOr<Layout> findLayout(const LayoutProblem &problem);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDSEARCH_H
