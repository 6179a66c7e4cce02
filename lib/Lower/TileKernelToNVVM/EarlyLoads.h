// Loads of registers ahead of what takes time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_EARLYLOADS_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_EARLYLOADS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::gpu {

/// Moves small loads of a kernel with layouts (a bias, the weights of a norm) from behind the loop of their tile, or
/// the first access of a transient, to ahead of it. `isTransient`: what the kernels before may still write.
void hoistLoads(mlir::func::FuncOp kernel, llvm::function_ref<bool(mlir::Value)> isTransient);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_EARLYLOADS_H
