// Verifiers of tk.load_index and tk.local_read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft::tk;

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/ScalarOps.cpp.inc"

LogicalResult LoadIndexOp::verify() {
  RankedTensorType tensor = getSource().getType().getTensor();
  if (llvm::any_of(tensor.getShape().drop_front(std::min<int64_t>(tensor.getRank(), 1)), ShapedType::isDynamic) ||
      !(tensor.getElementType().isSignlessInteger(32) || tensor.getElementType().isSignlessInteger(64)))
    return emitOpError("expected a tensor of constant extents behind the first with elements of i32 or i64, got ")
           << tensor;
  if (int64_t(getPlaces().size()) != tensor.getRank())
    return emitOpError("expected an index for each of ")
           << tensor.getRank() << " dimensions, got " << getPlaces().size();
  return success();
}

LogicalResult LocalReadOp::verify() {
  SharedType from = getBuffer().getType();
  TileType to = getResult().getType();
  AffineMap map = getMap();
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected a tile of the buffer's elements, got ") << from << " and " << to;
  if (int64_t(map.getNumDims()) != to.getRank() || map.getNumSymbols() != getSymbols().size() ||
      int64_t(map.getNumResults()) != from.getRank())
    return emitOpError("expected a map of ") << to.getRank() << " dimensions and " << getSymbols().size()
                                             << " symbols with " << from.getRank() << " results, got " << getMapAttr();
  return success();
}
