// weft-integer-contractions: contractions of quantised values become contractions of their 8-bit integers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   sum (a - za) (b - zb) = sum a b - za sum b - zb sum a + K za zb
//
// In i32 that holds modulo 2^32, so for every input. A contraction of dequantised values, (a - za) * sa in f32, has the
// same sum, scaled; where it fits i32 it is exact, and what rounds is the sum as a float, the product of the scales,
// and their product: three roundings where the sum of floats rounds at each of its terms. So the result is nearer to
// the true one, which is why it asks for no licence.
//
// Views between are looked through: padding is zero after the subtraction, so it is the zero point before it.
#include "Rules/RuleBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_INTEGERCONTRACTIONS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

bool isByte(Value value) {
  auto type = dyn_cast<IntegerType>(elementOf(value));
  return type && type.getWidth() == 8;
}

bool isScalar(Value value) { return getConstant(getNumElements(value.getType())) == 1; }

/// (ints - zero) * scale.
struct Quantised {
  Value ints;  ///< Of 8 bits, in the shape of the whole.
  Value zero;  ///< One element of the same type; null: 0.
  Value scale; ///< Null: 1. One element, or one for each element along `axis`.
  int64_t axis = -1;
};

/// `value` before what only moves or converts it.
Value skipToSource(Value value) {
  while (Operation *def = value.getDefiningOp())
    if (isa<CastOp, ReshapeOp, BroadcastOp>(def))
      value = def->getOperand(0);
    else
      break;
  return value;
}

/// Whether all elements are zero, whatever their type.
bool isZero(Value value) {
  Value source = skipToSource(value);
  auto weight = source.getDefiningOp<WeightOp>();
  if (!weight)
    return isNumber(source, 0);
  auto *dialect = weight->getContext()->getLoadedDialect<TileGraphDialect>();
  DataAttr data = weight.getData();
  auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
  return bytes && llvm::all_of(*bytes, [](char byte) { return byte == 0; });
}

class Tracer {
public:
  explicit Tracer(OpBuilder &builder) : builder(builder) {}

  /// `value` as a quantised one; builds views of its integers on the way.
  std::optional<Quantised> trace(Value value) {
    Operation *def = value.getDefiningOp();
    if (isByte(value))
      return Quantised{value, {}, {}};
    if (auto pad = dyn_cast_or_null<PadOp>(def))
      return tracePad(pad);
    if (auto transpose = dyn_cast_or_null<TransposeOp>(def))
      return traceTranspose(transpose);
    if (auto reshape = dyn_cast_or_null<ReshapeOp>(def))
      return traceReshape(reshape);
    if (auto cast = dyn_cast_or_null<CastOp>(def); cast && isByte(cast.getInput()))
      return Quantised{cast.getInput(), {}, {}};
    if (auto mul = dyn_cast_or_null<MulOp>(def); mul && elementOf(value).isF32())
      return traceScale(mul.getLhs(), mul.getRhs(), value);
    if (auto sub = dyn_cast_or_null<SubOp>(def))
      return traceZero(sub);
    return std::nullopt;
  }

private:
  std::optional<Quantised> traceScale(Value factor, Value scale, Value whole) {
    std::optional<Quantised> inner = trace(factor);
    if (!inner || inner->scale || factor.getType() != whole.getType())
      return std::nullopt;
    Dims dims = getDims(scale.getType());
    int64_t shift = cast<RankedTensorType>(whole.getType()).getRank() - int64_t(dims.size());
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (getConstant(dim) == 1)
        continue;
      if (inner->axis >= 0)
        return std::nullopt;
      inner->axis = shift + int64_t(i);
    }
    inner->scale = scale;
    return inner;
  }

  std::optional<Quantised> traceZero(SubOp sub) {
    auto ints = sub.getLhs().getDefiningOp<CastOp>();
    if (!ints || !isByte(ints.getInput()) || ints.getType() != sub.getType())
      return std::nullopt;
    if (isZero(sub.getRhs()))
      return Quantised{ints.getInput(), {}, {}};
    auto zero = sub.getRhs().getDefiningOp<CastOp>();
    if (!zero || !isScalar(zero) || elementOf(zero.getInput()) != elementOf(ints.getInput()))
      return std::nullopt;
    return Quantised{ints.getInput(), buildReshape(builder, sub.getLoc(), zero.getInput(), Dims()), {}};
  }

  std::optional<Quantised> tracePad(PadOp pad) {
    if (!isZero(pad.getValue()))
      return std::nullopt;
    std::optional<Quantised> inner = trace(pad.getInput());
    if (!inner || (inner->axis >= 0 &&
                   (pad.getLow()[inner->axis] || pad.getHigh()[inner->axis] || pad.getInterior()[inner->axis])))
      return std::nullopt;
    Value fill = inner->zero ? inner->zero : buildNumber(builder, pad.getLoc(), 0, elementOf(inner->ints));
    inner->ints =
        PadOp::create(builder, pad.getLoc(), inner->ints, fill, pad.getLow(), pad.getHigh(), pad.getInterior());
    return inner;
  }

  std::optional<Quantised> traceTranspose(TransposeOp transpose) {
    std::optional<Quantised> inner = trace(transpose.getInput());
    if (!inner)
      return std::nullopt;
    inner->ints = TransposeOp::create(builder, transpose.getLoc(), inner->ints, transpose.getPermutation());
    if (inner->axis >= 0)
      inner->axis = llvm::find(transpose.getPermutation(), inner->axis) - transpose.getPermutation().begin();
    return inner;
  }

  std::optional<Quantised> traceReshape(ReshapeOp reshape) {
    std::optional<Quantised> inner = trace(reshape.getInput());
    if (!inner)
      return std::nullopt;
    Dims from = getDims(reshape.getInput().getType()), to = getDims(reshape.getType());
    if (inner->axis > 0 && inner->axis + 1 == int64_t(from.size()) && !to.empty() && from.back() == to.back())
      inner->axis = int64_t(to.size()) - 1;
    else if (inner->axis > 0 || (inner->axis == 0 && (to.empty() || from.front() != to.front())))
      return std::nullopt;
    inner->ints = buildReshape(builder, reshape.getLoc(), inner->ints, to);
    return inner;
  }

  OpBuilder &builder;
};

class Rewriter {
public:
  Rewriter(ContractOp contract, OpBuilder &builder) : contract(contract), builder(builder), loc(contract.getLoc()) {}

  /// What the contraction becomes; null if its operands are not quantised.
  Value run() {
    bool isReal = elementOf(contract).isF32();
    if (!isReal && !elementOf(contract).isInteger(32))
      return {};
    if (!isReal && isByte(contract.getLhs()) && isByte(contract.getRhs()))
      return {};
    for (unsigned i : {0u, 1u}) {
      std::optional<Quantised> found = Tracer(builder).trace(contract->getOperand(i));
      if (!found || (!isReal && found->scale))
        return {};
      operands[i] = *found;
    }
    depth = getDepth();
    if (isReal && (!depth || double(*depth) * 255 * 255 > 0x1p31 - 1))
      return {};
    Value sum =
        subtractZeros(ContractOp::create(builder, loc, getTensorType(getDims(contract.getType()), builder.getI32Type()),
                                         operands[0].ints, operands[1].ints, contract.getMaps()));
    return sum && isReal ? scale(sum) : sum;
  }

private:
  std::optional<int64_t> getDepth() {
    auto tile = cast<TileOpInterface>(*contract);
    int64_t product = 1;
    for (auto [kind, extent] : llvm::zip_equal(tile.getDomainIterators(), tile.getDomainExtents()))
      if (kind == utils::IteratorType::reduction) {
        std::optional<int64_t> places = getConstant(extent);
        if (!places || llvm::MulOverflow(product, *places, product))
          return std::nullopt;
      }
    return product;
  }

  /// The sums of operand `i` over what is contracted, in a shape that broadcasts with the result; null if it does not
  /// have all of that by itself (a window).
  Value sumOver(unsigned i) {
    AffineMap map = contract.getMap(i), result = contract.getMap(2);
    if (!map.isProjectedPermutation() || !result.isProjectedPermutation())
      return {};
    SmallVector<AffineExpr> summed, own, places;
    Dims counts, sums, kept(result.getNumResults(), builder.getAffineConstantExpr(1));
    int64_t last = -1;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      std::optional<unsigned> place = result.getResultPosition(expr);
      AffineExpr extent = getDim(operands[i].ints.getType(), d);
      places.push_back(builder.getAffineDimExpr(d));
      if (!place) {
        summed.push_back(places.back());
        counts.push_back(extent);
        continue;
      }
      if (int64_t(*place) <= last || !getConstant(extent))
        return {};
      last = *place;
      kept[*place] = extent;
      own.push_back(places.back());
      sums.push_back(extent);
    }
    auto kinds = cast<TileOpInterface>(*contract).getDomainIterators();
    if (int64_t(summed.size()) != llvm::count(kinds, utils::IteratorType::reduction) ||
        !llvm::all_of(counts, [](AffineExpr extent) { return getConstant(extent).has_value(); }))
      return {};
    // A product with ones: of constants its result alone is folded, no wide copy of them.
    auto type = cast<RankedTensorType>(getTensorType(counts, builder.getI8Type()));
    Value ones = ConstantOp::create(builder, loc, DenseElementsAttr::get(type, APInt(8, 1)));
    auto mapTo = [&](ArrayRef<AffineExpr> exprs) {
      return AffineMap::get(map.getNumResults(), 0, exprs, builder.getContext());
    };
    Value sum = ContractOp::create(builder, loc, getTensorType(sums, builder.getI32Type()), operands[i].ints, ones,
                                   builder.getAffineMapArrayAttr({mapTo(places), mapTo(summed), mapTo(own)}));
    return buildReshape(builder, loc, sum, kept);
  }

  Value subtractZeros(Value sum) {
    auto asWide = [&](Value zero) -> Value { return CastOp::create(builder, loc, zero, builder.getI32Type()); };
    for (unsigned i : {0u, 1u})
      if (Value zero = operands[i].zero) {
        Value others = sumOver(1 - i);
        if (!others)
          return {};
        sum = buildPointwise(builder, loc, "sub", {sum, buildPointwise(builder, loc, "mul", {others, asWide(zero)})});
      }
    if (!operands[0].zero || !operands[1].zero)
      return sum;
    if (!depth || *depth > INT32_MAX)
      return {};
    Value both = buildPointwise(builder, loc, "mul", {asWide(operands[0].zero), asWide(operands[1].zero)});
    Value count = buildNumber(builder, loc, double(*depth), builder.getI32Type());
    return buildPointwise(builder, loc, "add", {sum, buildPointwise(builder, loc, "mul", {both, count})});
  }

  /// The scale of operand `i` in a shape that broadcasts with the result; null if it varies along what is contracted.
  Value spreadScale(unsigned i) {
    const Quantised &operand = operands[i];
    if (operand.axis < 0)
      return buildReshape(builder, loc, operand.scale, Dims());
    std::optional<unsigned> place = contract.getMap(2).getResultPosition(contract.getMap(i).getResult(operand.axis));
    if (!place || !isa<AffineDimExpr>(contract.getMap(i).getResult(operand.axis)))
      return {};
    Dims dims(contract.getMap(2).getNumResults(), builder.getAffineConstantExpr(1));
    dims[*place] = getDim(contract.getType(), *place);
    return buildReshape(builder, loc, operand.scale, dims);
  }

  Value scale(Value sum) {
    Value factor;
    for (unsigned i : {0u, 1u}) {
      if (!operands[i].scale)
        continue;
      Value spread = spreadScale(i);
      if (!spread)
        return {};
      factor = factor ? buildPointwise(builder, loc, "mul", {factor, spread}) : spread;
    }
    Value real = CastOp::create(builder, loc, sum, builder.getF32Type());
    return factor ? buildPointwise(builder, loc, "mul", {real, factor}) : real;
  }

  ContractOp contract;
  OpBuilder &builder;
  Location loc;
  Quantised operands[2];
  std::optional<int64_t> depth;
};

struct IntegerContractions : impl::IntegerContractionsBase<IntegerContractions> {
  void runOnOperation() override {
    SmallVector<ContractOp> contracts;
    getOperation()->walk([&](ContractOp op) { contracts.push_back(op); });
    for (ContractOp op : contracts) {
      OpBuilder builder(op);
      Operation *before = op->getPrevNode();
      if (Value replacement = Rewriter(op, builder).run()) {
        op.replaceAllUsesWith(replacement);
        op.erase();
        ++numIntegers;
        continue;
      }
      // What was built on the way.
      while (op->getPrevNode() != before)
        op->getPrevNode()->erase();
    }
  }
};

} // namespace
} // namespace weft::tg
