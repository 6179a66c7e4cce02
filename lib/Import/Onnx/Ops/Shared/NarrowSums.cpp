// Means, norms and sums of squares written as several nodes; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NarrowSums.h"
#include "Compose.h"
#include "Loops.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {
namespace {

bool isNarrow(NodeContext &ctx, Value value) {
  return value && !NodeContext::isList(value) && (ctx.elementType(value).isF16() || ctx.elementType(value).isBF16());
}

/// What `value` was rounded from, if that is a sum over axes, and how many elements each sum has.
struct WideSum {
  Value value;
  AffineExpr count;
};

WideSum unrounded(NodeContext &ctx, Value value) {
  if (!isNarrow(ctx, value))
    return {};
  Value from = value;
  if (auto cast = value.getDefiningOp<tg::CastOp>())
    from = cast.getInput();
  auto reduce = from.getDefiningOp<tg::ReduceOp>();
  if (!reduce || reduce.getKind() != tg::Monoid::Add || !isFloat(ctx, from))
    return {};
  AffineExpr count = ctx.constExpr(1);
  for (int64_t axis : reduce.getAxes())
    count = count * ctx.dim(reduce.getInput(), axis);
  Value wide = from != value ? from
                             : ctx.reduce(tg::Monoid::Add, ctx.toCompute(reduce.getInput()), reduce.getAxes(),
                                          reduce.getKeepDims());
  return {wide, tg::simplify(count)};
}

/// Whether `factor` is `count`, or its reciprocal, as a number of f16 or bf16.
bool isCount(NodeContext &ctx, Value factor, AffineExpr count, bool divides) {
  std::optional<int64_t> terms = tg::getConstant(count);
  std::optional<double> number = ctx.constantFloat(factor);
  constexpr double rounding = 0x1p-7;
  if (terms && number)
    return std::abs((divides ? *number / double(*terms) : *number * double(*terms)) - 1) <= rounding;
  return divides && exprOf(ctx, factor) == count;
}

} // namespace

Value unroundedSquares(NodeContext &ctx, Value value) {
  if (!isNarrow(ctx, value))
    return {};
  Value base;
  if (auto product = value.getDefiningOp<tg::MulOp>(); product && product.getLhs() == product.getRhs())
    base = product.getLhs();
  if (auto power = value.getDefiningOp<tg::PowOp>(); power && ctx.constantFloat(power.getRhs()) == 2.0)
    base = power.getLhs();
  Value wide = ctx.toCompute(base);
  return wide ? ctx.make<tg::MulOp>(wide, wide) : Value();
}

Value meanOfSum(NodeContext &ctx, Value sum, Value factor, bool divides) {
  WideSum wide = unrounded(ctx, sum);
  if (!wide.value || !isNarrow(ctx, factor) || !isCount(ctx, factor, wide.count, divides))
    return {};
  Value by = ctx.toCompute(factor);
  Value mean = divides ? ctx.make<tg::DivOp>(wide.value, by) : ctx.make<tg::MulOp>(wide.value, by);
  return ctx.cast(mean, ctx.elementType(sum));
}

Value rootOfSum(NodeContext &ctx, Value sum) {
  WideSum wide = unrounded(ctx, sum);
  return wide.value ? ctx.cast(ctx.make<tg::SqrtOp>(wide.value), ctx.elementType(sum)) : Value();
}

} // namespace weft::onnx
