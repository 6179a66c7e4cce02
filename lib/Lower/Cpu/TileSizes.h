// Choice of the root op's tile sizes: the only point where the CPU strategy decides how a kernel is cut.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_TILESIZES_H
#define WEFT_LIB_LOWER_CPU_TILESIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace weft::cpu {

/// The op that makes the kernel's result, if it can be tiled; else null.
mlir::linalg::LinalgOp findRoot(mlir::func::FuncOp kernel);

/// Tile of each loop of `root`; 0 takes the loop whole, and reductions are always whole.
llvm::SmallVector<int64_t> chooseTileSizes(mlir::linalg::LinalgOp root);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_TILESIZES_H
