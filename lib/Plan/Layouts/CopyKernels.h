// Kernels that copy a tensor for those that read it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAYOUTS_COPYKERNELS_H
#define WEFT_LIB_PLAN_LAYOUTS_COPYKERNELS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::plan {

/// `value` with zeros behind what it has along `dim`.
mlir::Value addZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, unsigned dim, int64_t zeros);

/// A kernel whose result is `value` with dimension order[i] as its dimension i (as it is, where there is no order) and
/// so many zeros behind what it has along the innermost one.
mlir::Value makeCopyKernel(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           llvm::ArrayRef<int64_t> order, int64_t zeros);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAYOUTS_COPYKERNELS_H
