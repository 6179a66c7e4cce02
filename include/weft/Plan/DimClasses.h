// Which dimensions of a program's values are one: as long as each other whatever the program's sizes are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops say so by their maps: an operand's dimension and a result's that run along one dimension of the op's domain are
// one. Dimensions that merely happen to be as long as each other are not, so that legality, and with it the plan, is
// the same for all sizes of a program. Only of products side by side (queries, keys and values) are extents compared:
// whether they can go in step, dimension by dimension, is a question of how long they are. Nobody else of those who
// form groups compares any.
#ifndef WEFT_PLAN_DIMCLASSES_H
#define WEFT_PLAN_DIMCLASSES_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::tg {
class ContractOp;
class ReduceOp;
} // namespace weft::tg

namespace weft::plan {

class DimClasses {
public:
  /// Of the values that the ops of `block` use and make, inside of folds too.
  explicit DimClasses(mlir::Block &block);

  /// Whether the dimensions of `a` are those of `b`, one by one.
  bool areSame(mlir::Value a, mlir::Value b) const;
  /// Whether those of `a` are those of `b`, or have extent 1; of one rank.
  bool fitInto(mlir::Value a, mlir::Value b) const;
  /// Whether dimension `i` of `a` is dimension `j` of `b`. Dimensions of extent 1 are.
  bool isSame(mlir::Value a, unsigned i, mlir::Value b, unsigned j) const;
  /// Whether the dimensions of `value` are those of the rows that `reduce` reduces, with or without 1 for the reduced
  /// ones, or without those.
  bool isOfRows(mlir::Value value, tg::ReduceOp reduce) const;
  /// Whether two products go over the same dimensions, with results of the same ones.
  bool areInStep(tg::ContractOp a, tg::ContractOp b) const;

private:
  unsigned node(const void *of, unsigned d, unsigned rank);
  unsigned node(mlir::Value value, unsigned d);
  void unite(mlir::Value a, mlir::Value b, unsigned dropped = 0);
  void relate(mlir::Operation *op);
  /// Products of one operand that are as long as each other along all dimensions are computed in step (rule G2).
  void relateProducts(mlir::Block &block);
  /// Products of the same dimensions are one dimension, and so are equal parts of one.
  void relateReshapes(mlir::Block &block);

  llvm::DenseMap<const void *, unsigned> first; ///< Node of dimension 0.
  unsigned numNodes = 0;
  llvm::SmallVector<std::pair<unsigned, unsigned>> ties;
  llvm::IntEqClasses classes;
};

} // namespace weft::plan

#endif // WEFT_PLAN_DIMCLASSES_H
