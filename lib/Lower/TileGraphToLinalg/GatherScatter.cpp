// tg.gather: a parallel generic that reads its data with tensor.extract. tg.scatter: loops in the order that the op
// prescribes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

namespace {

/// Where an element lies: one coordinate per result of `map`, affine in `domain` or the given index, counted from the
/// end if negative.
SmallVector<Value> coordinates(KernelBuilder &b, AffineMap map, ValueRange domain, ValueRange indices,
                               ValueRange extents) {
  SmallVector<Value> result;
  Value zero = b.index(int64_t(0));
  for (auto [expr, extent] : llvm::zip_equal(map.getResults(), extents)) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      Value index = arith::IndexCastOp::create(b, b.getIndexType(), indices[symbol.getPosition()]);
      Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, zero);
      Value fromEnd = arith::AddIOp::create(b, index, extent);
      result.push_back(arith::SelectOp::create(b, isNegative, fromEnd, index));
    } else if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      result.push_back(domain[dim.getPosition()]);
    } else {
      result.push_back(
          affine::makeComposedAffineApply(b, b.getLoc(), AffineMap::get(map.getNumDims(), 0, expr),
                                          llvm::map_to_vector(domain, [](Value v) -> OpFoldResult { return v; }))
              .getResult());
    }
  }
  return result;
}

SmallVector<Value> extentsOf(KernelBuilder &b, Type tensor) {
  return llvm::map_to_vector(tg::getDims(tensor), [&](AffineExpr dim) { return b.index(dim); });
}

struct GatherLowering : OpConversionPattern<tg::GatherOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    AffineMap dataMap = op.getDataMap();
    SmallVector<Access> inputs;
    for (unsigned j = 0; j < op.getIndexMaps().size(); ++j)
      inputs.push_back(resolveAccess(rewriter, op.getIndices(), op.getIndexMap(j)));
    SmallVector<Value> extents = extentsOf(b, op.getData().getType());
    Value zero = b.index(int64_t(0)), one = b.index(1);
    SmallVector<Value> last;
    for (Value extent : extents)
      last.push_back(arith::SubIOp::create(b, extent, one));
    auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
      KernelBuilder inner(loc, nested);
      SmallVector<Value> domain;
      for (unsigned d = 0; d < dataMap.getNumDims(); ++d)
        domain.push_back(linalg::IndexOp::create(inner, d));
      SmallVector<Value> place = coordinates(inner, dataMap, domain, args, extents);
      for (auto [r, expr] : llvm::enumerate(dataMap.getResults()))
        if (isa<AffineSymbolExpr>(expr))
          place[r] = arith::MaxSIOp::create(inner, arith::MinSIOp::create(inner, place[r], last[r]), zero);
      return SmallVector<Value>{tensor::ExtractOp::create(inner, adaptor.getData(), place)};
    };
    Type element = getPlainElement(op.getType().getElementType());
    rewriter.replaceOp(op, b.parallel(tg::getDims(op.getType()), inputs, element, body));
    return success();
  }
};

struct ScatterLowering : OpConversionPattern<tg::ScatterOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ScatterOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> dataExtents = extentsOf(b, op.getData().getType());
    SmallVector<Value> indexExtents = extentsOf(b, op.getIndices().getType());
    SmallVector<Value> uppers = extentsOf(b, op.getUpdates().getType());
    SmallVector<Value> lowers(uppers.size(), b.index(int64_t(0))), steps(uppers.size(), b.index(1));
    auto nest = scf::buildLoopNest(
        b, b.getLoc(), lowers, uppers, steps, adaptor.getData(),
        [&](OpBuilder &nested, Location loc, ValueRange domain, ValueRange state) -> scf::ValueVector {
          KernelBuilder inner(loc, nested);
          return {buildUpdate(inner, op, adaptor, domain, dataExtents, indexExtents, state.front())};
        });
    rewriter.replaceOp(op, nest.results.front());
    return success();
  }

private:
  /// `state` after the update at `domain`, if its element exists.
  static Value buildUpdate(KernelBuilder &b, tg::ScatterOp op, OpAdaptor adaptor, ValueRange domain, ValueRange extents,
                           ValueRange indexExtents, Value state) {
    SmallVector<Value> indices;
    for (unsigned j = 0; j < op.getIndexMaps().size(); ++j) {
      AffineMap map = op.getIndexMap(j);
      SmallVector<Value> place = coordinates(b, map, domain, {}, indexExtents);
      indices.push_back(tensor::ExtractOp::create(b, adaptor.getIndices(), place));
    }
    SmallVector<Value> place = coordinates(b, op.getDataMap(), domain, indices, extents);
    Value exists = arith::ConstantOp::create(b, b.getBoolAttr(true));
    for (auto [r, expr] : llvm::enumerate(op.getDataMap().getResults()))
      if (isa<AffineSymbolExpr>(expr)) {
        // A negative coordinate is a huge unsigned one.
        Value inBounds = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place[r], extents[r]);
        exists = arith::AndIOp::create(b, exists, inBounds);
      }
    Value update = tensor::ExtractOp::create(b, adaptor.getUpdates(), domain);
    auto write = [&](OpBuilder &nested, Location loc) {
      Value stored = combined(nested, loc, op, state, place, update);
      Value next = tensor::InsertOp::create(nested, loc, stored, state, place);
      scf::YieldOp::create(nested, loc, next);
    };
    auto drop = [&](OpBuilder &nested, Location loc) { scf::YieldOp::create(nested, loc, state); };
    return scf::IfOp::create(b, exists, write, drop).getResult(0);
  }

  static Value combined(OpBuilder &builder, Location loc, tg::ScatterOp op, Value state, ValueRange place,
                        Value update) {
    std::optional<tg::Monoid> kind = op.getKind();
    if (!kind)
      return update;
    Type element = op.getType().getElementType();
    FloatType compute = tg::getComputeType(element);
    Value before = tensor::ExtractOp::create(builder, loc, state, place);
    Value lhs = loadScalar(builder, loc, before, element, compute);
    Value rhs = loadScalar(builder, loc, update, element, compute);
    return storeScalar(builder, loc, tg::buildCombine(builder, loc, *kind, lhs, rhs, element), element);
  }
};

} // namespace

void populateGatherScatterPatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<GatherLowering, ScatterLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
