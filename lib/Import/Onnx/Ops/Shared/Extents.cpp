// Extents as products of factors: AffineExpr's own simplification does not cancel symbols in quotients.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Extents.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include <numeric>

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::Value;

AffineExpr weft::onnx::productOf(NodeContext &ctx, llvm::ArrayRef<AffineExpr> dims) {
  AffineExpr product = ctx.constExpr(1);
  for (AffineExpr dim : dims)
    product = product * dim;
  return tg::simplify(product);
}

namespace {

/// A product: its constant and its other factors.
struct Factors {
  int64_t constant = 1;
  SmallVector<AffineExpr> others;

  void add(AffineExpr expr) {
    SmallVector<AffineExpr> work{expr};
    while (!work.empty()) {
      AffineExpr factor = work.pop_back_val();
      if (auto number = tg::getConstant(factor)) {
        if (__builtin_mul_overflow(constant, *number, &constant))
          others.push_back(factor), constant = 1;
      } else if (factor.getKind() == mlir::AffineExprKind::Mul) {
        auto product = llvm::cast<mlir::AffineBinaryOpExpr>(factor);
        work.push_back(product.getLHS());
        work.push_back(product.getRHS());
      } else {
        others.push_back(factor);
      }
    }
  }

  AffineExpr product(NodeContext &ctx) const {
    AffineExpr result = ctx.constExpr(constant);
    for (AffineExpr factor : others)
      result = result * factor;
    return tg::simplify(result);
  }
};

} // namespace

AffineExpr weft::onnx::divideProducts(NodeContext &ctx, llvm::ArrayRef<AffineExpr> dividend,
                                      llvm::ArrayRef<AffineExpr> divisor) {
  Factors upper, lower;
  for (AffineExpr expr : dividend)
    upper.add(tg::simplify(expr));
  for (AffineExpr expr : divisor)
    lower.add(tg::simplify(expr));
  for (auto it = lower.others.begin(); it != lower.others.end();) {
    auto same = llvm::find_if(upper.others, [&](AffineExpr factor) { return tg::isEqual(factor, *it); });
    if (same == upper.others.end()) {
      ++it;
      continue;
    }
    upper.others.erase(same);
    it = lower.others.erase(it);
  }
  if (lower.constant != 0) {
    int64_t common = std::gcd(upper.constant, lower.constant);
    if (common > 1) {
      upper.constant /= common;
      lower.constant /= common;
    }
  }
  AffineExpr divisorExpr = lower.product(ctx);
  if (tg::getConstant(divisorExpr) == 0)
    return ctx.constExpr(0);
  return tg::simplify(upper.product(ctx).floorDiv(divisorExpr));
}

Value weft::onnx::iota(NodeContext &ctx, AffineExpr extent) {
  return ctx.make<tg::IotaOp>(tg::getTensorType(llvm::ArrayRef(extent), ctx.b.getI64Type()), int64_t(0));
}

Value weft::onnx::takeAlong(NodeContext &ctx, Value data, Value indices, int64_t axis) {
  if (!data || !indices)
    return {};
  int64_t dataRank = ctx.rank(data), indexRank = ctx.rank(indices), rank = dataRank - 1 + indexRank;
  tg::Dims dims, dataDims = ctx.dims(data);
  SmallVector<AffineExpr> dataExprs, indexExprs;
  auto dim = [&](int64_t d) { return ctx.b.getAffineDimExpr(static_cast<unsigned>(d)); };
  for (int64_t d = 0; d < axis; ++d) {
    dims.push_back(dataDims[d]);
    dataExprs.push_back(dim(d));
  }
  dataExprs.push_back(ctx.b.getAffineSymbolExpr(0));
  for (int64_t d = 0; d < indexRank; ++d) {
    dims.push_back(ctx.dim(indices, d));
    indexExprs.push_back(dim(axis + d));
  }
  for (int64_t d = axis + 1; d < dataRank; ++d) {
    dims.push_back(dataDims[d]);
    dataExprs.push_back(dim(d - 1 + indexRank));
  }
  if (tg::getConstant(dataDims[axis]) ==
      0) // Nothing to read: the result is empty, or its extent is 0 when the model runs.
    return ctx.broadcastTo(ctx.scalarInt(0, ctx.elementType(data)), dims);
  auto *context = ctx.b.getContext();
  auto dataMap = mlir::AffineMap::get(rank, 1, dataExprs, context);
  auto indexMap = mlir::AffineMap::get(rank, 0, indexExprs, context);
  return ctx.make<tg::GatherOp>(tg::getTensorType(dims, ctx.elementType(data)), data, indices, dataMap,
                                ctx.b.getAffineMapArrayAttr(indexMap));
}

Value weft::onnx::takeRange(NodeContext &ctx, Value value, int64_t axis, AffineExpr offset, AffineExpr size,
                            int64_t stride) {
  if (!value)
    return {};
  if (auto constant = tg::getConstant(offset))
    return ctx.slice(value, axis, *constant, size, stride);
  Value places = iota(ctx, size);
  if (stride != 1)
    places = ctx.make<tg::MulOp>(places, ctx.scalarInt(stride, ctx.b.getI64Type()));
  Value first = ctx.reshape(ctx.extents(offset), llvm::ArrayRef<int64_t>());
  return takeAlong(ctx, value, ctx.make<tg::AddOp>(places, first), axis);
}
