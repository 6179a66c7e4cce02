// The ops and values of a program as the search for a layout sees them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDNODES_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDNODES_H

#include "ShardSearch.h"

namespace weft::tg {

/// A value: how it lies before the search begins, and who asks for it at the end.
struct ShardValue {
  mlir::Value value;
  double bytes = 0;
  bool isGiven = false;  ///< An argument, a weight or a constant.
  bool isFree = false;   ///< Weights and constants cost nothing in any share.
  bool isTracked = true; ///< Its share is part of a state: not that of what is free and has one reader.
  bool isChosen = false; ///< An argument that takes the share of its first reader.
  int64_t wanted = -1;   ///< Of a weight or an argument: its dimension.
  int firstRead = -1, lastRead = -1;
  llvm::SmallVector<unsigned, 1> returned; ///< Its positions among the results.
};

/// An op.
struct ShardNode {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<unsigned, 3> operands,
      results;         ///< Numbers of values; the operands' of each position, or all captured.
  bool isWhole = true; ///< It has no maps.
  bool isView = false; ///< It moves no bytes itself.
  bool isSum = false;
  bool mayBegin = false; ///< A split may begin here, whatever its operands are.
  std::optional<int64_t> wanted;
  llvm::SmallVector<Split, 4> splits;
  std::string refusals;
  llvm::SmallVector<double, 3> operandBytes; ///< Read from memory.
  double resultBytes = 0;                    ///< Written there.
  double arithmetic = 0;                     ///< Seconds of the whole op.
};

/// All of a program, in an order in which what is made of weights alone stands in front of its first reader.
struct ShardGraph {
  std::vector<ShardValue> values;
  std::vector<ShardNode> nodes;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  /// By positions among the results: the argument that a result goes on from, as a cache does; -1: none.
  llvm::SmallVector<int> continued;

  explicit ShardGraph(const LayoutProblem &problem);

private:
  void addArguments(const LayoutProblem &problem);
  void order(const LayoutProblem &problem);
  void addNode(mlir::Operation &op, const LayoutProblem &problem);
  void finish(const LayoutProblem &problem);
  unsigned number(mlir::Value value);
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_SHARDNODES_H
