// Divisions of f32 whose quotients are only wanted in 16 bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_GPUMATH_QUOTIENTS_H
#define WEFT_LIB_LOWER_GPUMATH_QUOTIENTS_H

#include "mlir/IR/BuiltinOps.h"

namespace weft::lower {

/// A division of f32 of which nothing but a rounding to 16 bits sees the quotient, behind selects too. The correctly
/// rounded instruction has a branch for rare operands, so that divisions of a thread run one after the other.
bool isRoundedTo16Bits(mlir::Operation *op);

/// Such divisions of one block by one number become products with its reciprocal, within 2 units of 2^-24 as div.full
/// is.
void shareReciprocals(mlir::ModuleOp module);

} // namespace weft::lower

#endif // WEFT_LIB_LOWER_GPUMATH_QUOTIENTS_H
