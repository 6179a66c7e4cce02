// Bytes of constants and weights, and new ones in their place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAYOUTS_STOREDBYTES_H
#define WEFT_LIB_PLAN_LAYOUTS_STOREDBYTES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <optional>
#include <string>

namespace weft::plan {

/// Columns of a panel of a stored matrix: whole register tiles of every level, and lines of words.
inline constexpr int64_t panelColumns = 64;

/// The bytes of a static constant or weight, which stay where they are. Elements of a constant have a byte each at
/// least, those of a weight lie as files pack them.
struct StoredBytes {
  llvm::ArrayRef<char> raw;
  bool isSplat = false;  ///< `raw` is one element.
  bool isPacked = false; ///< Elements of fewer than 8 bits share bytes, low bits first.
};
/// None if `value` is neither, or its bytes are not at hand.
std::optional<StoredBytes> findStoredBytes(mlir::Value value);

/// A constant of `bytes`, or where they are many a weight, whose bytes are not in the IR.
mlir::Value createStored(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, std::string bytes);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAYOUTS_STOREDBYTES_H
