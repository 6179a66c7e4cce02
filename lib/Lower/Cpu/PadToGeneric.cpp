// Padding by a constant as a generic that reads inside the operand or yields the constant: it tiles, fuses and
// vectorises like elementwise ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

/// r[i] = inside ? x[i - low] : value, with the index of a read outside moved to 0. The operand has room for one
/// element (kernel ABI).
struct PadToGeneric : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::PadOp op, PatternRewriter &rewriter) const override {
    Value padding = op.getConstantPaddingValue();
    if (!padding)
      return failure();
    Location loc = op.getLoc();
    Value source = op.getSource();
    RankedTensorType type = op.getResultType();
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifyResultShapes(rewriter, op, shapes)))
      return failure();
    SmallVector<Value> lows, sizes;
    for (auto [d, low] : llvm::enumerate(op.getMixedLowPad())) {
      lows.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, low));
      sizes.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, tensor::getMixedSize(rewriter, loc, source, d)));
    }
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value init = tensor::EmptyOp::create(rewriter, loc, shapes.front(), type.getElementType());
    SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
    bool padded = false;
    auto body = [&](OpBuilder &b, Location loc, ValueRange) {
      SmallVector<Value> indices;
      Value inside;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        Value index = linalg::IndexOp::create(b, loc, d);
        if (isZeroInteger(op.getMixedLowPad()[d]) && isZeroInteger(op.getMixedHighPad()[d])) {
          indices.push_back(index);
          continue;
        }
        padded = true;
        Value place = arith::SubIOp::create(b, loc, index, lows[d]);
        Value within = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, place, sizes[d]);
        indices.push_back(arith::SelectOp::create(b, loc, within, place, zero));
        inside = inside ? arith::AndIOp::create(b, loc, inside, within).getResult() : within;
      }
      Value element = tensor::ExtractOp::create(b, loc, source, indices);
      linalg::YieldOp::create(b, loc,
                              padded ? arith::SelectOp::create(b, loc, inside, element, padding).getResult() : element);
    };
    auto generic =
        linalg::GenericOp::create(rewriter, loc, type, ValueRange(), init,
                                  ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(type.getRank())}, parallel, body);
    rewriter.replaceOp(op, generic.getResults());
    return success();
  }
};

} // namespace

void weft::cpu::populatePadToGeneric(RewritePatternSet &patterns) { patterns.add<PadToGeneric>(patterns.getContext()); }
