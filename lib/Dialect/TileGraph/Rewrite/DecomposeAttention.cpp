// Decomposition of attention. With H query heads on G key heads, R = H / G: the heads of the query split into G x R, so
// that both contractions index the key heads by a dimension of their own and no key or value is repeated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphBuilder.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include <limits>

using namespace mlir;

namespace weft::tg {
namespace {

class Decomposer {
public:
  Decomposer(AttentionOp op, OpBuilder &builder)
      : op(op), g{builder, op.getLoc()}, element(g.elementOf(op.getQuery())), compute(getComputeType(element)) {
    query = getDims(op.getQuery().getType());
    value = getDims(op.getValue().getType());
    int64_t heads = *getConstant(query[1]), groups = *getConstant(value[1]);
    isGrouped = heads != groups;
    split = {builder.getAffineConstantExpr(groups), builder.getAffineConstantExpr(heads / groups)};
  }

  /// Result and scores.
  SmallVector<Value> run() {
    Value stages[4];
    Value q = g.reshape(op.getQuery(), splitHeads(query));
    Value s = g.op<ContractOp>(q, op.getKey(), isGrouped ? "bgrsd,bgtd->bgrst" : "bhsd,bhtd->bhst", compute);
    stages[0] = s = g.op<MulOp>(s, g.scalar(op.getScale().convertToDouble(), compute));
    double cap = op.getSoftcap().convertToDouble();
    if (cap > 0) {
      Value bound = g.scalar(cap, compute);
      s = g.op<MulOp>(g.op<TanhOp>(g.op<DivOp>(s, bound)), bound);
    }
    stages[1] = s;
    stages[2] = s = causal(masked(s));
    Value p = softmax(s);
    stages[3] = p;
    Value r = g.op<ContractOp>(p, op.getValue(), isGrouped ? "bgrst,bgte->bgrse" : "bhst,bhte->bhse", element);
    Value scores = g.cast(stages[op.getScoresStage()], g.elementOf(op.getScores()));
    return {g.reshape(r, getDims(op.getResult().getType())), g.reshape(scores, getDims(op.getScores().getType()))};
  }

private:
  /// Dimension 1 of four in two.
  Dims splitHeads(const Dims &dims) const {
    return isGrouped ? Dims{dims[0], split[0], split[1], dims[2], dims[3]} : dims;
  }

  Value minusInfinity() const { return g.scalar(-std::numeric_limits<double>::infinity(), compute); }

  Value masked(Value s) const {
    Value mask = op.getMask();
    if (!mask)
      return s;
    Dims dims = getDims(mask.getType());
    // A mask with a heads dimension splits it too: 1 in two ones.
    if (isGrouped && dims.size() >= 3) {
      auto heads = dims.end() - 3;
      AffineExpr one = g.builder.getAffineConstantExpr(1);
      bool isOne = getConstant(*heads) == 1;
      Dims shape(dims.begin(), heads);
      shape.append({isOne ? one : split[0], isOne ? one : split[1]});
      shape.append(heads + 1, dims.end());
      mask = g.reshape(mask, shape);
    }
    if (g.elementOf(mask).isInteger(1))
      return g.op<SelectOp>(mask, s, minusInfinity());
    return g.op<AddOp>(s, g.cast(mask, compute));
  }

  /// Keeps position (i, j) where j <= i + offset.
  Value causal(Value s) const {
    std::optional<int64_t> offset = op.getCausalOffset();
    if (!offset)
      return s;
    Type i64 = g.builder.getI64Type();
    AffineExpr one = g.builder.getAffineConstantExpr(1);
    Value i = g.op<IotaOp>(getTensorType({query[2], one}, i64), 0);
    Value j = g.op<IotaOp>(getTensorType({one, value[2]}, i64), 1);
    Value shift = g.op<ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({}, i64), *offset));
    Value keep = g.op<CmpOp>(CmpPredicate::Le, j, g.op<AddOp>(i, shift));
    return g.op<SelectOp>(keep, s, minusInfinity());
  }

  Value softmax(Value s) const {
    int64_t axis = g.rankOf(s) - 1;
    Value x = g.cast(s, op.getSoftmaxType());
    Value most = g.reduce(Monoid::Max, x, axis);
    Value e = g.op<ExpOp>(g.op<SubOp>(x, most));
    Value p = g.op<DivOp>(e, g.reduce(Monoid::Add, e, axis));
    if (!op.getZeroMaskedRows())
      return p;
    Type type = op.getSoftmaxType();
    Value isMasked = g.op<CmpOp>(CmpPredicate::Eq, most, g.scalar(-std::numeric_limits<double>::infinity(), type));
    return g.op<SelectOp>(isMasked, g.scalar(0.0, type), p);
  }

  mutable AttentionOp op;
  GraphBuilder g;
  Type element;
  FloatType compute;
  Dims query, value;
  Dims split;
  bool isGrouped;
};

LogicalResult decomposeAttention(AttentionOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, Decomposer(op, rewriter).run());
  return success();
}

} // namespace

void populateAttentionDecompositions(RewritePatternSet &patterns) { patterns.add(decomposeAttention); }

} // namespace weft::tg
