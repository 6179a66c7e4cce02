// Operands of a contraction on memory as flat arrays: element (loops) at a base plus a step for each loop.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_FLATOPERAND_H
#define WEFT_LIB_LOWER_CPU_FLATOPERAND_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace weft::cpu {

/// Element (loops) is at `base + sum of coefficient * loop`.
struct FlatOperand {
  mlir::Value memory; ///< Rank 1, stride 1.
  mlir::Value base;
  llvm::SmallVector<mlir::Value> coefficients; ///< For each loop of the op.

  /// The step of loop `d` if it is constant.
  std::optional<int64_t> step(unsigned d) const { return mlir::getConstantIntValue(coefficients[d]); }
};

/// Fails if the operand is no strided memory or its map is not linear in the loops.
mlir::FailureOr<FlatOperand> flatten(mlir::OpBuilder &b, mlir::linalg::GenericOp op, mlir::OpOperand &operand);

/// The ops of the body that compute `scalar` from block arguments and outside values, in order.
llvm::SmallVector<mlir::Operation *> bodySlice(mlir::linalg::GenericOp op, mlir::Value scalar);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_FLATOPERAND_H
