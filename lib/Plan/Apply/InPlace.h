// Results in the memory of arguments: which updates are done in place, and which kernels store them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_APPLY_INPLACE_H
#define WEFT_LIB_PLAN_APPLY_INPLACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/MapVector.h"

namespace weft::plan {

/// Marks the tg.scatters that make results of `main` with `tg.alias` with `tg.in_place`, where nothing else reads the
/// memory. An alias that is none is dropped, with a remark.
void markInPlace(mlir::func::FuncOp main);

/// A kernel whose result `number` is stored into memory by `scatter`.
struct Write {
  unsigned number;
  tg::ScatterOp scatter;
};

/// Finds the kernel that makes the updates of each scatter in place, or gives it one that copies them. Kernels are
/// moved behind what their scatter needs.
llvm::MapVector<mlir::Operation *, Write> findWrites(mlir::func::FuncOp function);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_APPLY_INPLACE_H
