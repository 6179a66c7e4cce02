// Ops of a block as the plan sees them: which go into kernels, what they use, and groups of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_BLOCKOPS_H
#define WEFT_PLAN_BLOCKOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::plan {

using Group = llvm::SetVector<mlir::Operation *>;

/// The op of `op`'s block that uses one of its results through `user`, which may be inside of a fold. Null at the end
/// of the block's own region.
mlir::Operation *userInBlock(mlir::Operation *op, mlir::Operation *user);
/// Operands of `op`, and what its regions use from outside.
llvm::SmallVector<mlir::Value> usedValues(mlir::Operation *op);

/// Whether `op` stays outside kernels: constants, weights, checks, renamings of dense memory, terminators.
bool isHostOp(mlir::Operation *op);
/// Whether `op` only renames dense memory: a host op where it is not between ops of one kernel.
bool isRenaming(mlir::Operation *op);

/// Ops of a group whose results are used outside, the one with the largest result first (of equal ones the last).
llvm::SmallVector<mlir::Operation *> findSinks(const Group &group);

/// Instructions an element, or about: 1 for what the FMA and integer units do, 4 for the special function unit, 16 for
/// a library function; 0 for what computes nothing.
int64_t countInstructions(mlir::Operation *op);

} // namespace weft::plan

#endif // WEFT_PLAN_BLOCKOPS_H
