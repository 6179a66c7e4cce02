// Integers become floats as views and elementwise ops over blocks, which fuse into the product that reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BlockQuantization.h"
#include "../../Tensors.h"
#include "Common.h"
#include "Expr.h"

using namespace mlir;

namespace weft::onnx {

/// The bytes of a weight or constant under a type of `bits` bits; null if it is neither. No arithmetic: who reads such
/// elements takes them out of their bytes.
static Value retypeBytes(NodeContext &n, Value bytes, tg::Dims dims, int64_t bits) {
  Type element = n.b.getIntegerType(unsigned(bits), /*isSigned=*/false);
  auto type = tg::getTensorType(dims, element);
  while (auto view = bytes.getDefiningOp<tg::ReshapeOp>())
    bytes = view.getInput();
  if (auto weight = bytes.getDefiningOp<tg::WeightOp>(); weight && !weight.getOrder())
    return tg::WeightOp::create(n.b, type, weight.getData());
  if (!bytes.getDefiningOp<tg::ConstantOp>())
    return {};
  auto elements = dyn_cast_or_null<DenseElementsAttr>(n.constant(bytes));
  if (!elements)
    return {};
  auto raw =
      llvm::map_to_vector(elements.getValues<APInt>(), [](const APInt &byte) { return char(byte.getZExtValue()); });
  return n.constantValue(denseFromRaw(type, raw));
}

Value unpackBits(NodeContext &n, Value bytes, int64_t bits) {
  if (!bytes || bits == 8)
    return bytes;
  int64_t rank = n.rank(bytes), fields = 8 / bits;
  tg::Dims dims = n.dims(bytes);
  dims.back() = tg::simplify(dims.back() * fields);
  if (Value known = retypeBytes(n, bytes, dims, bits))
    return known;
  // Each byte once for each field, moved by the field's position: elementwise, where it is read.
  Type element = n.elementType(bytes);
  SmallVector<APInt> places;
  for (int64_t i = 0; i < fields; ++i)
    places.push_back(APInt(8, uint64_t(i * bits)));
  Value moves = n.constantValue(DenseElementsAttr::get(RankedTensorType::get({fields}, element), places));
  Value moved = n.make<tg::ShrOp>(n.unsqueeze(bytes, {rank}), moves);
  return n.reshape(n.make<tg::AndOp>(moved, n.scalarInt((1 << bits) - 1, element)), dims);
}

LogicalResult checkBlockSize(NodeContext &n, int64_t block) {
  if (block < 16 || block > (1 << 20) || (block & (block - 1)) != 0)
    return n.error("expected attribute `block_size` to be a power of two of at least 16, got " + Twine(block));
  return success();
}

namespace {

tg::Dims withLast(ArrayRef<AffineExpr> rows, std::initializer_list<AffineExpr> last) {
  tg::Dims dims(rows);
  dims.append(last);
  return dims;
}

/// Zero points as rows.. x blocks x 1.
Value zeroPoints(NodeContext &n, const BlockedRows &spec, ArrayRef<AffineExpr> rows, Value zeros, Type compute) {
  AffineExpr blocks = n.constExpr(spec.blocks()), one = n.constExpr(1);
  if (isFloat(n, zeros))
    return n.cast(n.reshape(zeros, withLast(rows, {blocks, one})), compute);
  Value bytes = n.reshape(zeros, withLast(rows, {n.constExpr((spec.blocks() * spec.bits + 7) / 8)}));
  if (spec.bits != 8)
    bytes = n.slice(unpackBits(n, bytes, spec.bits), int64_t(rows.size()), 0, blocks);
  return n.cast(n.reshape(bytes, withLast(rows, {blocks, one})), compute);
}

} // namespace

Value dequantizeRows(NodeContext &n, const BlockedRows &spec, ArrayRef<AffineExpr> rows, Value packed, Value scales,
                     Value zeros, Value groups, Type element) {
  if (!packed || !scales)
    return {};
  if (!n.elementType(packed).isUnsignedInteger(8)) {
    (void)n.error("expected quantised weights of uint8, got " + typeName(n.elementType(packed)));
    return {};
  }
  int64_t axis = int64_t(rows.size());
  Type compute = computeType(element);
  AffineExpr count = n.constExpr(spec.blocks()), one = n.constExpr(1), all = n.constExpr(spec.blocks() * spec.block),
             columns = n.constExpr(spec.columns);
  Value bytes = n.reshape(packed, withLast(rows, {count, n.constExpr(spec.block * spec.bits / 8)}));
  Expr numbers(n, n.cast(unpackBits(n, bytes, spec.bits), compute));
  Value factors = n.cast(n.reshape(scales, withLast(rows, {count, one})), compute);
  Value offsets =
      zeros ? zeroPoints(n, spec, rows, zeros, compute) : n.scalar(double(int64_t(1) << (spec.bits - 1)), compute);
  if (!numbers || !factors || !offsets)
    return {};
  if (!groups) {
    Value weights = n.cast((numbers - Expr(n, offsets)) * Expr(n, factors), element);
    return n.slice(n.reshape(weights, withLast(rows, {all})), axis, 0, columns);
  }
  auto perColumn = [&](Value parameter) {
    if (n.rank(parameter) == 0)
      return Expr(n, parameter);
    return Expr(n, take(n, n.reshape(parameter, withLast(rows, {count})), groups, axis));
  };
  Expr flat(n, n.slice(n.reshape(numbers, withLast(rows, {all})), axis, 0, columns));
  return n.cast((flat - perColumn(offsets)) * perColumn(factors), element);
}

} // namespace weft::onnx
