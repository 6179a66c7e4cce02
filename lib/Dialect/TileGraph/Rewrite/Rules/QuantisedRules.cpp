// Rules on quantised contractions: integers are multiplied and added as integers, scales come after the sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A DequantizeLinear is (cast(q) - z) * s. The scales leave the contraction by the rules of scales; what is left is a
// contraction of integers in floats. All its partial sums are integers of at most K * max|a| * max|b|: below 2^24 (f32
// has 24 bits) no order rounds, and the sum in i32 is the same number. Above it the sum in i32 is the true one as long
// as it fits, and rounds once.
#include "QuantisedRules.h"
#include "RuleBuilder.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The greatest absolute value of an 8-bit integer type; 0 for other types.
static double mostOf(Value value) {
  auto type = dyn_cast<IntegerType>(elementOf(value));
  return !type || type.getWidth() != 8 ? 0 : type.isUnsigned() ? 255 : 128;
}

/// The elements that a contraction sums; none if that is symbolic.
static std::optional<int64_t> getDepth(ContractOp contract) {
  auto tile = cast<TileOpInterface>(*contract);
  int64_t depth = 1;
  for (auto [kind, extent] : llvm::zip_equal(tile.getDomainIterators(), tile.getDomainExtents()))
    if (kind == utils::IteratorType::reduction) {
      std::optional<int64_t> places = getConstant(extent);
      if (!places || llvm::MulOverflow(depth, *places, depth))
        return std::nullopt;
    }
  return depth;
}

/// The contraction of `a` and `b` in i32, as elements of `like`.
static Value contractIntegers(ContractOp like, Value a, Value b, OpBuilder &builder) {
  Type sums = getTensorType(getDims(like.getType()), builder.getI32Type());
  Value sum = ContractOp::create(builder, like.getLoc(), sums, a, b, like.getMaps());
  return CastOp::create(builder, like.getLoc(), sum, like.getType().getElementType());
}

/// Whether sums of `depth` products of at most `size` are exact in the type that `contract` adds in, or (`isWide`) fit
/// i32.
static bool fits(ContractOp contract, double size, bool isWide) {
  Type element = contract.getType().getElementType();
  std::optional<int64_t> depth = getDepth(contract);
  double exact = element.isF64() ? 0x1p53 : 0x1p24;
  return depth && double(*depth) * size <= (isWide ? 0x1p31 - 1 : std::min(exact, 0x1p31 - 1));
}

template <bool isWide> static Value contractCasts(const Match &match, OpBuilder &builder, Guards &guards) {
  auto contract = cast<ContractOp>(match.root);
  Value a = match["a"], b = match["b"];
  if (!guards.require("bytes(a)", mostOf(a) > 0 && mostOf(b) > 0) ||
      !guards.require(isWide ? "sum-fits(a)" : "sum-exact(a)", fits(contract, mostOf(a) * mostOf(b), isWide)))
    return {};
  return contractIntegers(contract, a, b, builder);
}

/// The integer that all elements of a constant are.
static std::optional<double> getInteger(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat())
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerType>(elements.getElementType()))
    return elements.getSplatValue<APInt>().roundToDouble(/*isSigned=*/!integer.isUnsigned());
  APFloat number = elements.getSplatValue<APFloat>();
  bool loses;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  double value64 = number.convertToDouble();
  return std::trunc(value64) == value64 ? std::optional(value64) : std::nullopt;
}

/// contract(cast(a) - z, cast(b)) = cast(contract(a, b)) - z * (the sum of b over what is contracted).
static Value contractDifference(const Match &match, OpBuilder &builder, Guards &guards) {
  auto contract = cast<ContractOp>(match.root);
  Value a = match["a"], b = match["b"], z = match["z"];
  AffineMap map = contract.getMap(1), result = contract.getMap(2);
  std::optional<double> zero = getInteger(z);
  SmallVector<int64_t> axes;
  Dims moved(result.getNumResults(), builder.getAffineConstantExpr(1));
  bool isPlain = map.isProjectedPermutation() && result.isProjectedPermutation();
  int64_t last = -1;
  unsigned summed = 0;
  for (unsigned i = 0; isPlain && i < map.getNumResults(); ++i) {
    std::optional<unsigned> place = result.getResultPosition(map.getResult(i));
    if (!place) {
      axes.push_back(i);
      ++summed;
      continue;
    }
    isPlain = int64_t(*place) > last;
    last = *place;
    moved[*place] = getDim(b.getType(), i);
  }
  SmallVector<utils::IteratorType> kinds = cast<TileOpInterface>(*contract).getDomainIterators();
  isPlain &= summed == llvm::count(kinds, utils::IteratorType::reduction); // All that is summed is in b.
  if (!guards.require("bytes(a)", mostOf(a) > 0 && mostOf(b) > 0) || !guards.require("integer(z)", zero.has_value()) ||
      !isPlain || axes.empty())
    return {};
  double most = mostOf(a) + std::abs(zero.value_or(0));
  if (!guards.require("sum-exact(a)", fits(contract, most * mostOf(b), /*isWide=*/false)))
    return {};
  Location loc = contract.getLoc();
  Type element = contract.getType().getElementType();
  Value right = contract.getRhs(); // The cast of b.
  Value sum = ReduceOp::create(builder, loc, Monoid::Add, right, axes, /*keepDims=*/true);
  sum = buildReshape(builder, loc, sum, moved);
  Value number = cast<RankedTensorType>(z.getType()).getRank() == 0 ? z : buildReshape(builder, loc, z, Dims());
  if (elementOf(sum) != element || elementOf(number) != element)
    return {};
  Value offset = buildPointwise(builder, loc, "mul", {sum, number});
  return offset ? buildPointwise(builder, loc, "sub", {contractIntegers(contract, a, b, builder), offset}) : Value();
}

void addQuantisedRules(std::vector<Rule> &rules) {
  std::string family = "quantised", both = "(contract (cast ?a) (cast ?b))",
              sum = "the cast of the contraction of A and B in i32", gain = "2mnk -> 2mnk, mn conversions for mk + kn";
  rules.push_back({"integer-contraction",
                   family,
                   P::Homomorphism,
                   C::Exact,
                   both,
                   sum,
                   gain,
                   {"float", "bytes(a)", "sum-exact(a)"},
                   contractCasts<false>});
  rules.push_back({"integer-contraction-wide",
                   family,
                   P::Homomorphism,
                   C::Reassociating,
                   both,
                   sum,
                   gain,
                   {"float", "bytes(a)", "sum-fits(a)"},
                   contractCasts<true>});
  rules.push_back({"integer-contraction-of-difference",
                   family,
                   P::Linear,
                   C::Exact,
                   "(contract (sub (cast ?a) ?z) (cast ?b))",
                   "the cast of the contraction of A and B in i32, less Z times the sums of B",
                   "mk + 2mnk -> 2mnk + kn + mn + n",
                   {"float", "bytes(a)", "integer(z)", "sum-exact(a)"},
                   contractDifference});
}

} // namespace weft::tg
