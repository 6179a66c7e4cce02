// What a product's price asks of its tensors: where their rows start, how much memory they are, what follows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_PRODUCTROWS_H
#define WEFT_LIB_PLAN_GPU_PRODUCTROWS_H

#include "weft/Plan/Schedule.h"

namespace weft::plan {

/// Bytes that all rows of a tensor in memory start at multiples of, a line (128) at most.
int64_t findRowAlignment(mlir::Value tensor);

/// Instructions behind the contractions of a kernel, of all elements.
double countEpilogue(mlir::func::FuncOp kernel);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_PRODUCTROWS_H
