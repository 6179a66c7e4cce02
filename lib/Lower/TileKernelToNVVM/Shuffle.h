// Exchange between the lanes of a warp, for values of any scalar type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_SHUFFLE_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_SHUFFLE_H

#include "Thread.h"

namespace weft::gpu {

/// The value of the lane whose number differs in the bits of `mask`.
mlir::Value shuffleXor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, unsigned mask);
/// The value of lane `lane` (i32).
mlir::Value shuffleFrom(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value lane);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_SHUFFLE_H
