// tk.store in lines: through shared memory, in whole pieces of 16 bytes wherever rows begin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_STORELINES_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_STORELINES_H

#include "KernelInfo.h"

namespace weft::gpu {

/// `values` by register, `target` a !llvm.ptr<1>, `symbols` those of the op, `kernelSymbols` those of the kernel.
mlir::LogicalResult storeLines(mlir::OpBuilder &builder, tk::StoreOp op, const KernelInfo &info,
                               mlir::ValueRange values, mlir::Value target, mlir::ValueRange symbols,
                               llvm::ArrayRef<mlir::Value> kernelSymbols);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_STORELINES_H
