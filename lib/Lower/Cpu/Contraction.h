// Recognition of contractions among linalg generics, and their dimensions sorted into batch, M, N and K.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_CONTRACTION_H
#define WEFT_LIB_LOWER_CPU_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace weft::cpu {

/// One factor of the product: a scalar of the body, computed from these inputs alone.
struct Factor {
  mlir::Value scalar;
  llvm::SmallVector<unsigned> inputs; ///< Numbers of the op's inputs.
};

/// A generic `out[...] += rows(...) * columns(...)`. N holds the dimension in which the output is contiguous, whichever
/// operand of the source it came from, unless `adjacentRows`: then it is M that does. M may be empty (one row).
struct Contraction {
  Factor rows, columns;
  llvm::SmallVector<unsigned> batch, m, n, k; ///< Loop numbers, outermost first; each loop is in exactly one.
  mlir::Operation *multiply, *add;
  /// M is static and fits one register tile: each element of the columns is used once, so packing them is not worth it.
  bool fewRows = false;
  /// The output is contiguous along M: register tiles are transposed as they are stored. Windows are so: a row's
  /// element can be read from anywhere in the image, while a panel of columns would be a copy of them (im2col).
  bool adjacentRows = false;
  /// A reduced loop of four neighbours in both factors, bytes of which one is unsigned and one signed: its products are
  /// added up by one instruction, so that a word of four is what the rest sees as an element. It is not in `k`.
  std::optional<unsigned> quad;
  bool rowsUnsigned = false; ///< Of a quad.
};

/// Rows of the smallest register tile.
inline constexpr int64_t maxFewRows = 6;

/// None if `op` is not a contraction or has nothing to gain from a register tile.
std::optional<Contraction> matchContraction(mlir::linalg::GenericOp op);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_CONTRACTION_H
