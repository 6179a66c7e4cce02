// Flat operands of contractions on memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FlatOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace weft::cpu {

FailureOr<FlatOperand> flatten(OpBuilder &b, linalg::GenericOp op, OpOperand &operand) {
  Location loc = op.getLoc();
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto add = [&](Value x, Value y) -> Value { return b.createOrFold<arith::AddIOp>(loc, x, y); };
  auto mul = [&](Value x, Value y) -> Value { return b.createOrFold<arith::MulIOp>(loc, x, y); };
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return failure();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, operand.get());
  FlatOperand flat;
  Value start = ShapedType::isDynamic(offset) ? metadata.getOffset() : index(offset);
  constexpr int64_t unbounded = int64_t(1) << 40;
  flat.memory = memref::ReinterpretCastOp::create(
      b, loc, MemRefType::get({unbounded}, type.getElementType()), metadata.getBaseBuffer(), b.getIndexAttr(0),
      ArrayRef<OpFoldResult>{b.getIndexAttr(unbounded)}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  flat.coefficients.assign(op.getNumLoops(), index(0));
  flat.base = start;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<AffineExpr> point(op.getNumLoops(), b.getAffineConstantExpr(0));
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    Value stride = ShapedType::isDynamic(strides[i]) ? metadata.getStrides()[i] : index(strides[i]);
    auto at = [&, result = expr](ArrayRef<AffineExpr> loops) -> std::optional<int64_t> {
      auto value = dyn_cast<AffineConstantExpr>(result.replaceDims(loops));
      return value ? std::optional(value.getValue()) : std::nullopt;
    };
    std::optional<int64_t> zero = at(point);
    if (!zero)
      return failure();
    flat.base = add(flat.base, mul(stride, index(*zero)));
    for (unsigned d = 0; d < op.getNumLoops(); ++d) {
      point[d] = b.getAffineConstantExpr(1);
      std::optional<int64_t> one = at(point);
      point[d] = b.getAffineConstantExpr(0);
      if (!one)
        return failure();
      if (*one != *zero)
        flat.coefficients[d] = add(flat.coefficients[d], mul(stride, index(*one - *zero)));
    }
  }
  return flat;
}

SmallVector<Operation *> bodySlice(linalg::GenericOp op, Value scalar) {
  SmallVector<Operation *> slice;
  std::function<void(Value)> collect = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != op.getBlock() || llvm::is_contained(slice, def))
      return;
    for (Value operand : def->getOperands())
      collect(operand);
    slice.push_back(def);
  };
  collect(scalar);
  return slice;
}

} // namespace weft::cpu
