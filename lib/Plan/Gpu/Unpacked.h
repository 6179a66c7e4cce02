// Tiles of products whose weights are packed, several to a word, and stay so up to the registers that multiply them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_UNPACKED_H
#define WEFT_LIB_PLAN_GPU_UNPACKED_H

#include "mlir/IR/Value.h"
#include "weft/Target/Device.h"
#include <optional>

namespace weft::plan {

/// Of the activations: each warp loads all of them (8192 x 8192 weights of 4 bits by 64 rows on an H100: 48.7 us, of 16
/// bits 55.7; by 256 rows 191 and 61.7).
inline constexpr int64_t mostUnpackedRows = 64;

/// A product of `rows` (1: a vector) by a matrix of `columns` and `depth`, whose numbers have `bits` bits in memory.
struct UnpackedProduct {
  int64_t rows = 1, columns = 1, depth = 1, bits = 4;
};

struct UnpackedTile {
  int64_t rows = 16, columns = 32, step = 512, warps = 4, stages = 2;
};

/// The tensor of numbers of less than 8 bits that the matrix `operand` is computed from place by place, if it lies in
/// whole words; null if there is none.
mlir::Value findPacked(mlir::Value operand);

/// The tile, where the rows are few enough that their product is bound by what is read of the matrix.
std::optional<UnpackedTile> chooseUnpackedTile(const UnpackedProduct &product, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_UNPACKED_H
