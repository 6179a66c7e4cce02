// The pass --weft-lower-to-linalg: checks a kernel function, gives it its plain signature and converts its ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Lower/TileGraphToLinalg/TileGraphToLinalg.h"
#include "Patterns.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

#define GEN_PASS_DEF_LOWERTOLINALG
#include "weft/Lower/TileGraphToLinalg/Passes.h.inc"

namespace {

/// One more than the highest symbol in the extents of `types`.
unsigned countSymbols(TypeRange types) {
  unsigned count = 0;
  for (Type type : types)
    if (isa<RankedTensorType>(type))
      for (AffineExpr dim : tg::getDims(type))
        dim.walk([&](AffineExpr expr) {
          if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
            count = std::max(count, symbol.getPosition() + 1);
        });
  return count;
}

/// Arguments are tensors, then as many indices as the body's extents need; the body is one block.
LogicalResult checkKernel(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected a kernel body of one block");
  unsigned numIndices = 0;
  for (Type type : function.getArgumentTypes()) {
    if (!type.isIndex() && (numIndices != 0 || !isa<RankedTensorType>(type)))
      return function.emitOpError("expected tensor arguments followed by index arguments, got ") << type;
    numIndices += type.isIndex();
  }
  auto needs = [&](Operation *op, unsigned count) -> LogicalResult {
    if (count <= numIndices)
      return success();
    return op->emitOpError("expected at least ") << count << " symbol arguments of the kernel, got " << numIndices;
  };
  if (failed(needs(function, countSymbols(function.getArgumentTypes()))))
    return failure();
  for (Operation &op : function.getBody().front()) {
    bool isTg = isa_and_nonnull<tg::TileGraphDialect>(op.getDialect());
    if (isTg && !isa<tg::TileOpInterface, tg::ConstantOp, tg::ExtentsOp, tg::IotaOp>(op))
      return op.emitOpError("expected a primitive in a kernel; --weft-normalize decomposes composites");
    unsigned count = countSymbols(op.getResultTypes());
    if (auto extents = dyn_cast<tg::ExtentsOp>(op))
      count = std::max(count, extents.getMap().getNumSymbols());
    if (failed(needs(&op, count)))
      return failure();
  }
  return success();
}

struct LowerToLinalg : impl::LowerToLinalgBase<LowerToLinalg> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (failed(checkKernel(function)))
      return signalPassFailure();
    rewriteSignature(function);

    MLIRContext *context = &getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](RankedTensorType type) { return getPlainType(type); });
    RewritePatternSet patterns(context);
    populatePointwisePatterns(converter, patterns);
    populateContractionPatterns(converter, patterns);
    populateReductionPatterns(converter, patterns);
    populateViewPatterns(converter, patterns);
    populateAssemblyPatterns(converter, patterns);
    populateGatherScatterPatterns(converter, patterns);
    populateOrderPatterns(converter, patterns, selectionLimit);
    populateStructurePatterns(converter, patterns);
    populateBoundaryPatterns(converter, patterns);

    ConversionTarget target(*context);
    target.addLegalDialect<affine::AffineDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                           math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
    target.addIllegalDialect<tg::TileGraphDialect>();
    target.addIllegalOp<UnrealizedConversionCastOp>();
    ConversionConfig config;
    config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyFullConversion(function, target, std::move(patterns), config)))
      return signalPassFailure();

    // Views that were composed into all of their readers.
    IRRewriter rewriter(context);
    (void)runRegionDCE(rewriter, function->getRegions());
  }
};

} // namespace
} // namespace weft::lower
