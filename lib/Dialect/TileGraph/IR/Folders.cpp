// Folders: each returns an existing value or a constant with exactly the same elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult ExtentsOp::fold(FoldAdaptor) {
  SmallVector<int64_t> values;
  for (AffineExpr expr : getMap().getResults()) {
    std::optional<int64_t> value = getConstant(expr);
    if (!value)
      return {};
    values.push_back(*value);
  }
  return DenseElementsAttr::get(getType(), ArrayRef<int64_t>(values));
}

/// The operand itself when the op's result has its type and `isIdentity`.
static OpFoldResult foldIdentity(Value input, Type result, bool isIdentity = true) {
  return isIdentity && input.getType() == result ? OpFoldResult(input) : OpFoldResult();
}

static bool allEqual(ArrayRef<int64_t> values, int64_t value) {
  return llvm::all_of(values, [=](int64_t v) { return v == value; });
}

OpFoldResult CastOp::fold(FoldAdaptor) { return foldIdentity(getInput(), getType()); }
OpFoldResult ReshapeOp::fold(FoldAdaptor) { return foldIdentity(getInput(), getType()); }
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return foldIdentity(getInput(), getType()); }
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return foldIdentity(getInput(), getType(), llvm::is_sorted(getPermutation()));
}
OpFoldResult SliceOp::fold(FoldAdaptor) {
  return foldIdentity(getInput(), getType(), allEqual(getOffsets(), 0) && allEqual(getStrides(), 1));
}
OpFoldResult PadOp::fold(FoldAdaptor) {
  return foldIdentity(getInput(), getType(),
                      allEqual(getLow(), 0) && allEqual(getHigh(), 0) && allEqual(getInterior(), 0));
}
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs().front()) : OpFoldResult();
}
OpFoldResult ReduceOp::fold(FoldAdaptor) { return foldIdentity(getInput(), getType(), getAxes().empty()); }
