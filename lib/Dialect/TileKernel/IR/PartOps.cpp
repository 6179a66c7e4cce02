// Verifiers of tk.part_send and tk.part_sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/IR/PartOps.h"

using namespace mlir;
using namespace weft::tk;

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/PartOps.cpp.inc"

static LogicalResult verifyParts(Operation *op, TypeRange types, uint64_t slots, uint64_t most) {
  for (Type type : types) {
    Type element = cast<TileType>(type).getElementType();
    if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() != 32)
      return op->emitOpError("expected elements of 32 bits, got ") << type;
  }
  if (most < 2 || slots < most || slots % most)
    return op->emitOpError("expected slots for tiles of at least 2 parts, got ") << slots << " x " << most;
  return success();
}

LogicalResult PartSendOp::verify() { return verifyParts(*this, getValues().getTypes(), getSlots(), getMost()); }

LogicalResult PartSumOp::verify() {
  constexpr uint64_t vector = 4; // Registers that pass at once.
  if (getPiece() && (*getPiece() == 0 || *getPiece() % vector))
    return emitOpError("expected pieces of multiples of 4 registers, got ") << *getPiece();
  return verifyParts(*this, getValue().getType(), getSlots(), getMost());
}
