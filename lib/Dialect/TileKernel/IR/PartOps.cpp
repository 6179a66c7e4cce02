// Verifiers of tk.part_send.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/IR/PartOps.h"

using namespace mlir;
using namespace weft::tk;

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/PartOps.cpp.inc"

LogicalResult PartSendOp::verify() {
  for (Type type : getValues().getTypes()) {
    Type element = cast<TileType>(type).getElementType();
    if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() != 32)
      return emitOpError("expected elements of 32 bits, got ") << type;
  }
  if (getMost() < 2 || getSlots() < getMost() || getSlots() % getMost())
    return emitOpError("expected slots for tiles of at least 2 parts, got ") << getSlots() << " x " << getMost();
  return success();
}

LogicalResult PartReceiveOp::verify() {
  if (!getOnto().empty() && TypeRange(getOnto()) != getValues().getTypes())
    return emitOpError("expected values of the types of what they are added to");
  return success();
}
