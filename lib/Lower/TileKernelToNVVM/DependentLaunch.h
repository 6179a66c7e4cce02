// Programmatic dependent launch (sm_90 and up): a kernel starts while the one before it still runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread that loads or stores transients waits (griddepcontrol.wait) ahead of the first of them until the kernels
// before have ended and their results are visible; what needs none of that stands ahead of it: barriers, tensor maps,
// index arithmetic, and the first copies of steady operands into shared memory. Behind the wait, or at once where that
// pays, the kernel lets its own successor start. docs/dependent-launch.md says why that is right whatever the
// memory plan is.
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_DEPENDENTLAUNCH_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_DEPENDENTLAUNCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Target/Device.h"

namespace weft::gpu {

/// Whether kernels can start while the one before still runs.
bool canStartEarly(const Device *device);

/// The arguments that no kernel of the program writes (`tg.steady_operands`).
llvm::DenseSet<mlir::Value> findSteadyOperands(mlir::func::FuncOp kernel);

/// An argument that no kernel of the program writes, and its size.
struct SteadyTensor {
  int64_t argument;
  int64_t bytes;
};

/// Puts the waits, and ahead of them the first copies of steady operands, into a kernel of tk with layouts. Returns the
/// steady arguments of known size that are not read ahead of waits and loops; nothing, with nothing changed, if the
/// kernel touches no transient: then it must not start early. `ctas`: of the grid, 0 if not known.
std::optional<llvm::SmallVector<SteadyTensor>> placeGridWaits(mlir::func::FuncOp kernel, const Device &device,
                                                              int64_t ctas);

/// At the begin of the kernel or task whose body is `entry`: asks for the first bytes of `tensors` to come to the L2
/// cache. `grid`: CTAs, 0 if not known: then nothing happens. `cta`: the number among them, i32; null: the CTA's own.
void emitPrefetches(mlir::Block &entry, mlir::Location loc, llvm::ArrayRef<SteadyTensor> tensors, int64_t grid,
                    int64_t warps, mlir::Value cta = {});

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_DEPENDENTLAUNCH_H
