// Programmatic dependent launch (sm_90 and up): a kernel starts while the one before it still runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel allows its successor to start at once, prepares itself, and waits (griddepcontrol.wait, in every thread)
// until the kernels before it have ended and their results are visible. docs/gpu.md, "Dependent launch", says why that
// is right whatever the memory plan is.
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_DEPENDENTLAUNCH_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_DEPENDENTLAUNCH_H

#include "KernelInfo.h"

namespace weft::gpu {

/// Whether the kernel is one that gains: its CTAs (`grid`, 0 if not known) are no more than there are SMs, and it moves
/// few bytes, so that much of its time is that of its begin and end. With all kernels started early, graphs took up to
/// 16 % longer on an H100; why was not measured.
bool gainsFromEarlyStart(mlir::func::FuncOp kernel, llvm::StringRef target, int64_t grid);

/// The executing thread waits for the kernels before. No access of memory is moved over it.
void emitGridWait(mlir::OpBuilder &builder, mlir::Location loc);

/// At the begin of the kernel: lets the next one start, and asks for the first bytes of what no kernel writes (weights,
/// inputs) to come to the L2 cache. `steadyBytes`: argument and size of such tensors; `grid`: CTAs, 0 if not known.
void emitPrologue(mlir::LLVM::LLVMFuncOp kernel, llvm::ArrayRef<std::pair<int64_t, int64_t>> steadyBytes, int64_t grid);

/// Arguments that are steady and of known size, with that.
llvm::SmallVector<std::pair<int64_t, int64_t>> getSteadyBytes(mlir::func::FuncOp kernel, const KernelInfo &info);

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_DEPENDENTLAUNCH_H
