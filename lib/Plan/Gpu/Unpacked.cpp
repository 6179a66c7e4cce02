// A warp's instructions wait for nobody: it loads vectors of packed numbers, unpacks and multiplies them, and adds its
// sums to those of other warps at the end. What counts is how many loads are under way, and that all SMs have as many
// columns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Unpacked.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

Value findPacked(Value operand) {
  constexpr int64_t byteBits = 8, wordBits = 32;
  Value found;
  SmallVector<Value> values{operand};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && seen.insert(op).second)
      llvm::append_range(values, op->getOperands());
    auto type = cast<RankedTensorType>(value.getType());
    int64_t bits = tg::getElementBits(type.getElementType());
    bool isMatrix = !op && type.hasStaticShape() && bits < byteBits && isa<IntegerType>(type.getElementType()) &&
                    !type.getElementType().isInteger(1) && type.getNumElements() * bits % wordBits == 0 &&
                    type.getNumElements() >= cast<RankedTensorType>(operand.getType()).getNumElements();
    if (isMatrix)
      found = value;
  }
  return found;
}

std::optional<UnpackedTile> chooseUnpackedTile(const UnpackedProduct &product, const Device &device) {
  // A thread's vector of 16 bytes along k, by four threads; a warp's operands have to fit its registers, so more rows
  // have shorter vectors.
  constexpr int64_t mostRows = 64, leastRows = 16, lanes = 4, vectorBits = 128, instruction = 16;
  constexpr int64_t widths[] = {64, 32, 16};
  if (product.rows > mostRows || product.depth < 4 * instruction || product.columns < instruction)
    return std::nullopt;
  UnpackedTile tile;
  tile.rows = std::max<int64_t>(llvm::PowerOf2Ceil(product.rows), leastRows);
  int64_t slice = vectorBits / product.bits * lanes * leastRows / tile.rows;
  constexpr int64_t leastSteps = 2, fewWarps = 4, leastSlice = 2 * instruction; // In a loop, whose sums slices have.
  while (slice > leastSlice && leastSteps * fewWarps * slice > product.depth)
    slice /= 2;
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int64_t width : widths) { // The fewest columns of an SM; of equal ones the widest tile, which reads rows once.
    if (width * tile.rows > 2048)
      continue;
    int64_t columns = llvm::divideCeil(llvm::divideCeil(product.columns, width), int64_t(device.sms)) * width;
    if (columns < best) {
      best = columns;
      tile.columns = width;
    }
  }
  // Slices of a step by warps: enough loads under way where few CTAs are on an SM, not more than steps there are.
  int64_t ctas = llvm::divideCeil(llvm::divideCeil(product.columns, tile.columns), int64_t(device.sms));
  tile.warps = ctas > 1 ? 4 : 8;
  while (tile.warps > 1 && leastSteps * tile.warps * slice > product.depth)
    tile.warps /= 2;
  int64_t pieces = std::max<int64_t>(tile.rows / 32, 1) * std::max<int64_t>(tile.columns / 32, 1);
  tile.step = slice * std::max<int64_t>(tile.warps / pieces, 1);
  return tile;
}

} // namespace weft::plan
