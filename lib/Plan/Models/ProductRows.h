// What a product's price asks of its tensors: where their rows start, how much memory they are, how they are streamed,
// what follows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_PRODUCTROWS_H
#define WEFT_LIB_PLAN_MODELS_PRODUCTROWS_H

#include "weft/Plan/Schedule.h"
#include "weft/Target/Device.h"

namespace weft::plan {

/// Bytes that all rows of a tensor in memory start at multiples of, a line (128) at most.
int64_t findRowAlignment(mlir::Value tensor);

/// Instructions behind the contractions of a kernel, of all elements.
double countEpilogue(mlir::func::FuncOp kernel);

/// Threads of a CTA that streams a matrix.
inline constexpr int64_t streamingThreads = 128;

/// A CTA's part of a matrix that a vector is multiplied by, whose rows are contiguous along the sum.
struct StreamedRows {
  int64_t columns, step; ///< Of the result, and of the sum at a time.
  bool isWhole;          ///< The step is the sum.
};
/// By pieces of rows as long as the registers of a CTA last, of vectors of so many elements; `matrices` are streamed
/// side by side.
StreamedRows streamRows(int64_t rows, int64_t depth, int64_t vector, int64_t matrices, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_PRODUCTROWS_H
