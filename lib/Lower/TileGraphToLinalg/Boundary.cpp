// The function's signature: plain types, and sub-byte elements packed as ONNX packs them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside the function an element of a sub-byte type has a byte of its own. Element i lies in byte i / n of a packed
// tensor, n = 8 / bits, at bit (i mod n) * bits.
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

static Value castTo(OpBuilder &builder, Location loc, Type type, Value value) {
  return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
}

void rewriteSignature(FunctionOpInterface function) {
  Block &entry = function.getFunctionBody().front();
  auto boundary = [](Type type) -> Type { return isa<RankedTensorType>(type) ? getBoundaryType(type) : type; };
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (BlockArgument argument : entry.getArguments()) {
    Type type = argument.getType();
    if (!isa<RankedTensorType>(type))
      continue;
    argument.setType(boundary(type));
    Value inner = castTo(builder, argument.getLoc(), type, argument);
    argument.replaceAllUsesExcept(inner, inner.getDefiningOp());
  }
  Operation *terminator = entry.getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &operand : terminator->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      operand.set(castTo(builder, terminator->getLoc(), boundary(operand.get().getType()), operand.get()));
  auto type = FunctionType::get(function.getContext(), llvm::to_vector(entry.getArgumentTypes()),
                                llvm::to_vector(terminator->getOperandTypes()));
  function.setType(type);
}

namespace {

/// How the elements of a sub-byte tensor lie in bytes. With a last extent of a multiple of `perByte`, rows are whole
/// numbers of bytes, and (un)packing is an affine generic over rows x bytes x elements of a byte.
struct Packing {
  Dims dims, rows; ///< Extents of the elements; the same with the last one split in bytes and elements of a byte.
  AffineExpr numElements, numBytes;
  int64_t bits, perByte;
  bool byRows;

  explicit Packing(Type tensor)
      : dims(tg::getDims(tensor)), rows(dims), numElements(tg::getNumElements(tensor)),
        bits(tg::getElementBits(getElementTypeOrSelf(tensor))), perByte(8 / bits) {
    numBytes = tg::simplify(numElements.ceilDiv(perByte));
    std::optional<int64_t> last = dims.empty() ? std::nullopt : tg::getConstant(dims.back());
    byRows = last && *last % perByte == 0;
    if (byRows) {
      rows.back() = getAffineConstantExpr(*last / perByte, tensor.getContext());
      rows.push_back(getAffineConstantExpr(perByte, tensor.getContext()));
    }
  }
};

Value byteConstant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(value));
}

/// Bit offset in its byte of the element at `position` (index) modulo `perByte`, as i8.
Value bitOffset(OpBuilder &builder, Location loc, Value position, const Packing &packing) {
  Value perByte = arith::ConstantIndexOp::create(builder, loc, packing.perByte);
  Value place = arith::RemUIOp::create(builder, loc, position, perByte);
  place = arith::IndexCastOp::create(builder, loc, builder.getI8Type(), place);
  return arith::MulIOp::create(builder, loc, place, byteConstant(builder, loc, packing.bits));
}

Value elementOfByte(OpBuilder &builder, Location loc, Value byte, Value offset, const Packing &packing) {
  Value shifted = arith::ShRUIOp::create(builder, loc, byte, offset);
  return arith::AndIOp::create(builder, loc, shifted, byteConstant(builder, loc, (1 << packing.bits) - 1));
}

Value unpack(KernelBuilder &b, Value packed, const Packing &packing) {
  Type i8 = b.getI8Type();
  if (packing.byRows) {
    Value bytes = b.reshape(packed, packing.numBytes, ArrayRef(packing.rows).drop_back());
    unsigned rank = packing.rows.size();
    Access access{bytes, identityMap(b.getContext(), rank).dropResult(rank - 1)};
    Value split = b.parallel(packing.rows, access, i8, [&](OpBuilder &nested, Location loc, ValueRange args) {
      Value offset = bitOffset(nested, loc, linalg::IndexOp::create(nested, loc, rank - 1), packing);
      return SmallVector<Value>{elementOfByte(nested, loc, args.front(), offset, packing)};
    });
    return b.reshape(split, packing.rows, packing.dims);
  }
  AffineExpr count = packing.numElements;
  Value flat = b.parallel(count, {}, i8, [&](OpBuilder &nested, Location loc, ValueRange) {
    Value position = linalg::IndexOp::create(nested, loc, 0);
    Value byte =
        arith::DivUIOp::create(nested, loc, position, arith::ConstantIndexOp::create(nested, loc, packing.perByte));
    Value stored = tensor::ExtractOp::create(nested, loc, packed, byte);
    return SmallVector<Value>{elementOfByte(nested, loc, stored, bitOffset(nested, loc, position, packing), packing)};
  });
  return b.reshape(flat, count, packing.dims);
}

/// Each byte ors its elements together; elements past the last element stay 0.
Value pack(KernelBuilder &b, Value elements, const Packing &packing) {
  AffineExpr count = packing.numElements;
  Value flat = b.reshape(elements, packing.dims, count);
  Value last = arith::SubIOp::create(b, b.index(count), b.index(1));
  return b.parallel(packing.numBytes, {}, b.getI8Type(), [&](OpBuilder &nested, Location loc, ValueRange) {
    Value byte = linalg::IndexOp::create(nested, loc, 0);
    Value first =
        arith::MulIOp::create(nested, loc, byte, arith::ConstantIndexOp::create(nested, loc, packing.perByte));
    Value result = byteConstant(nested, loc, 0), zero = result;
    for (int64_t place = 0; place < packing.perByte; ++place) {
      Value position = arith::AddIOp::create(nested, loc, first, arith::ConstantIndexOp::create(nested, loc, place));
      Value exists = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ule, position, last);
      Value clamped = arith::MinUIOp::create(nested, loc, position, last);
      Value element = tensor::ExtractOp::create(nested, loc, flat, clamped);
      element = arith::SelectOp::create(nested, loc, exists, element, zero);
      element = arith::ShLIOp::create(nested, loc, element, byteConstant(nested, loc, place * packing.bits));
      result = arith::OrIOp::create(nested, loc, result, element);
    }
    return SmallVector<Value>{result};
  });
}

/// The casts that `rewriteSignature` left: nothing to do, except for sub-byte types.
struct BoundaryLowering : OpConversionPattern<UnrealizedConversionCastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(UnrealizedConversionCastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getNumOperands() != 1 || op.getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "expected a cast of one value");
    Type from = op.getOperand(0).getType(), to = op.getResult(0).getType();
    Value value = adaptor.getInputs().front();
    KernelBuilder b(op.getLoc(), rewriter);
    if (isSubByte(to))
      value = unpack(b, value, Packing(to));
    else if (isSubByte(from))
      value = pack(b, value, Packing(from));
    rewriter.replaceOp(op, value);
    return success();
  }
};

} // namespace

void populateBoundaryPatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<BoundaryLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
