// Elementwise ops: a parallel generic over the op's own scalar definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

/// Map from the result's indices to those of an operand of type `operand`, by numpy's rules.
static AffineMap broadcastMap(RankedTensorType operand, RankedTensorType result) {
  MLIRContext *context = result.getContext();
  unsigned leading = result.getRank() - operand.getRank();
  SmallVector<AffineExpr> results;
  for (auto [d, extent] : llvm::enumerate(operand.getShape())) {
    bool stretched = extent == 1 && result.getDimSize(leading + d) != 1;
    results.push_back(stretched ? getAffineConstantExpr(0, context) : getAffineDimExpr(leading + d, context));
  }
  return AffineMap::get(result.getRank(), 0, results, context);
}

namespace {

struct PointwiseLowering : OpInterfaceConversionPattern<tg::PointwiseOpInterface> {
  using OpInterfaceConversionPattern::OpInterfaceConversionPattern;

  LogicalResult matchAndRewrite(tg::PointwiseOpInterface op, ArrayRef<Value>,
                                ConversionPatternRewriter &rewriter) const override {
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    KernelBuilder b(op->getLoc(), rewriter);
    SmallVector<Access> inputs;
    SmallVector<Type> elements;
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      inputs.push_back(resolveAccess(rewriter, operand, broadcastMap(type, result)));
      elements.push_back(type.getElementType());
    }
    FloatType compute = tg::getComputeType(op.getOperation());
    auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
      SmallVector<Value> scalars;
      for (auto [element, stored] : llvm::zip_first(elements, args))
        scalars.push_back(loadScalar(nested, loc, stored, element, compute));
      Value scalar = op.buildScalar(nested, loc, scalars, compute);
      return SmallVector<Value>{storeScalar(nested, loc, scalar, result.getElementType())};
    };
    rewriter.replaceOp(op, b.parallel(tg::getDims(result), inputs, getPlainElement(result.getElementType()), body));
    return success();
  }
};

} // namespace

void populatePointwisePatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<PointwiseLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
