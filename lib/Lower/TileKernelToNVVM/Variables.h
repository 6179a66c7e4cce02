// Variables of a kernel's module, in global memory: what its CTAs leave there for each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_VARIABLES_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_VARIABLES_H

#include "KernelInfo.h"

namespace weft::gpu {

/// The variable of that name (a !llvm.ptr<1>), which is made where there is none: zero when it is loaded.
mlir::Value getVariable(mlir::OpBuilder &builder, mlir::Location loc, const KernelInfo &info, llvm::StringRef name,
                        int64_t bytes);

/// `bytes` (i32) behind `pointer`.
mlir::Value emitOffset(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::Value bytes);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_VARIABLES_H
