// Values that are in memory whatever kernels are formed, so that reading them in two kernels adds no kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_STORED_H
#define WEFT_LIB_PLAN_GPU_STORED_H

#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Facts.h"
#include "llvm/ADT/STLExtras.h"

namespace weft::plan {

/// What `value` is a cast of, or itself: a cast is part of the load.
inline mlir::Value skipCasts(mlir::Value value) {
  while (auto cast = value.getDefiningOp<tg::CastOp>())
    value = cast.getInput();
  return value;
}

/// Whether `op` goes with the product whose result it reads: along operands that nobody else reads, so that no op is
/// visited twice.
inline bool isEpilogue(mlir::Operation *op) {
  while (!llvm::isa_and_nonnull<tg::ContractOp, tg::FoldOp>(op)) {
    if (!llvm::isa_and_nonnull<tg::ReshapeOp, tg::TransposeOp, tg::PointwiseOpInterface>(op))
      return false;
    auto next = llvm::find_if(op->getOperands(), [&](mlir::Value operand) {
      return operand.hasOneUse() && operand.getDefiningOp() &&
             estimateElements(operand) == estimateElements(op->getResult(0));
    });
    if (next == op->operand_end())
      return false;
    op = (*next).getDefiningOp();
  }
  return true;
}

/// Whether `value` is an argument, a weight, or what a product's kernel stores; through renamings.
inline bool isStored(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  while (llvm::isa_and_nonnull<tg::ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return !op || llvm::isa<tg::WeightOp, tg::ConstantOp>(op) || isEpilogue(op);
}

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_STORED_H
