// Canonical rules of views and weights: chains of data movement become one, and what moves nothing becomes a reshape.
// Movements go behind arithmetic that treats all elements alike, to where their readers take them as views.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleBuilder.h"
#include "weft/Dialect/TileGraph/IR/Limits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

/// `op`, a view of a view, of what that one reads.
static Value skipInner(const Match &match, OpBuilder &builder, Guards &) {
  Operation *copy = builder.clone(*match.root);
  copy->setOperand(0, match["a"]);
  return copy->getResult(0);
}

/// The root's result as a reshape of ?a.
static Value reshapeTo(const Match &match, OpBuilder &builder) {
  return ReshapeOp::create(builder, match.root->getLoc(), match.root->getResult(0).getType(), match["a"]);
}

/// A broadcast that only adds dimensions of extent 1 moves nothing.
static Value reshapeForBroadcast(const Match &match, OpBuilder &builder, Guards &guards) {
  Dims from = getDims(match["a"].getType()), to = getDims(match.root->getResult(0).getType());
  size_t lead = to.size() - from.size();
  bool movesNothing = true;
  for (size_t d = 0; d < to.size(); ++d)
    movesNothing &= d < lead ? getConstant(to[d]) == 1 : to[d] == from[d - lead];
  return guards.require("moves-nothing(a)", movesNothing) ? reshapeTo(match, builder) : Value();
}

/// A transposition that keeps the order of all dimensions but those of extent 1 moves nothing.
static Value reshapeForTranspose(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<TransposeOp>(match.root);
  Dims dims = getDims(op.getInput().getType());
  SmallVector<int64_t> moved;
  for (int64_t d : op.getPermutation())
    if (getConstant(dims[d]) != 1)
      moved.push_back(d);
  bool movesNothing = llvm::is_sorted(moved) && !llvm::is_sorted(op.getPermutation());
  return guards.require("moves-nothing(a)", movesNothing) ? reshapeTo(match, builder) : Value();
}

/// A reduction over dimensions of extent 1 combines each element with the identity alone. That gives the element, but
/// for floats 0.0 + (-0.0) is 0.0: sums stay.
static Value reshapeForReduce(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<ReduceOp>(match.root);
  Dims dims = getDims(op.getInput().getType());
  bool isSum = op.getKind() == Monoid::Add && isa<FloatType>(op.getType().getElementType());
  if (!guards.require("no-sum", !isSum) || !guards.require("single(a)", llvm::all_of(op.getAxes(), [&](int64_t axis) {
                                                             return getConstant(dims[axis]) == 1;
                                                           })))
    return {};
  return reshapeTo(match, builder);
}

/// x[o1 + s1 (o2 + s2 i)].
static Value composeSlices(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<SliceOp>(match.root), inner = cast<SliceOp>(match.ops[1]);
  SmallVector<int64_t> offsets, strides;
  bool isWithin = true;
  for (size_t d = 0; d < op.getOffsets().size(); ++d) {
    int64_t offset = 0, stride = 0;
    isWithin &= !llvm::MulOverflow(inner.getStrides()[d], op.getOffsets()[d], offset) &&
                !llvm::AddOverflow(offset, inner.getOffsets()[d], offset) && offset >= 0 && offset <= placeLimit &&
                !llvm::MulOverflow(inner.getStrides()[d], op.getStrides()[d], stride) && stride >= -placeLimit &&
                stride <= placeLimit;
    offsets.push_back(offset);
    strides.push_back(stride);
  }
  if (!guards.require("place-limit", isWithin))
    return {};
  return SliceOp::create(builder, op.getLoc(), op.getType(), inner.getInput(), offsets, strides);
}

/// The concatenation of `parts` instead of the root's.
static Value concat(const Match &match, OpBuilder &builder, ArrayRef<Value> parts) {
  Operation *copy = builder.clone(*match.root);
  copy->setOperands(parts);
  return copy->getResult(0);
}

/// Of parts that have no elements only the first stays, and that only where all are such.
static Value dropEmptyParts(const Match &match, OpBuilder &builder, Guards &) {
  auto op = cast<ConcatOp>(match.root);
  SmallVector<Value> kept;
  for (Value input : op.getInputs())
    if (getConstant(getDim(input.getType(), op.getAxis())) != 0)
      kept.push_back(input);
  if (kept.empty())
    kept.push_back(op.getInputs().front());
  return kept.size() < op.getInputs().size() ? concat(match, builder, kept) : Value();
}

/// A part that is itself a concatenation along the axis gives its own parts.
static Value flattenConcat(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<ConcatOp>(match.root);
  SmallVector<ConcatOp> inner;
  for (Value input : op.getInputs())
    if (auto part = input.getDefiningOp<ConcatOp>())
      inner.push_back(part);
  // Those that `holds` of, or all where that guard is switched off.
  auto choose = [&](const char *guard, auto holds) {
    SmallVector<ConcatOp> chosen;
    llvm::copy_if(inner, std::back_inserter(chosen), holds);
    if (!guards.require(guard, !chosen.empty()))
      return false;
    if (!chosen.empty())
      inner = std::move(chosen);
    return true;
  };
  if (inner.empty() || !choose("same-axis", [&](ConcatOp part) { return part.getAxis() == op.getAxis(); }) ||
      !choose("one-reader", [](ConcatOp part) { return part->hasOneUse(); }))
    return {};
  SmallVector<Value> parts;
  for (Value input : op.getInputs()) {
    auto part = input.getDefiningOp<ConcatOp>();
    if (part && llvm::is_contained(inner, part))
      llvm::append_range(parts, part.getInputs());
    else
      parts.push_back(input);
  }
  return concat(match, builder, parts);
}

/// A reshaped or bitcast weight is a weight of another type on the same bytes, if those are in the order of elements.
static Value retypeWeight(const Match &match, OpBuilder &builder, Guards &guards) {
  auto weight = match.find<WeightOp>();
  auto type = cast<RankedTensorType>(match.root->getResult(0).getType());
  if (!guards.require("row-major", !weight.getOrder()) || getByteSize(type) != weight.getData().getSize())
    return {};
  return WeightOp::create(builder, match.root->getLoc(), type, weight.getData());
}

//===--- Movements behind arithmetic ---===//

/// f(move(x), c) = move(f(x, c)) for a scalar c. Not where f widens elements: the moved tensor would be larger.
static Value moveBehind(const Match &match, OpBuilder &builder, Guards &guards) {
  Operation *op = match.root, *movement = nullptr;
  unsigned moved = 0, tensors = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *maker = operand.get().getDefiningOp();
    tensors += !getDims(operand.get().getType()).empty();
    if (movement || !isa_and_nonnull<TransposeOp, ReshapeOp>(maker) || getDims(operand.get().getType()).empty())
      continue;
    movement = maker;
    moved = operand.getOperandNumber();
  }
  if (!movement)
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Type before = cast<RankedTensorType>(movement->getResult(0).getType()).getElementType();
  if (!guards.require("others-scalar", tensors == 1) || !guards.require("one-reader", movement->hasOneUse()) ||
      !guards.require("no-wider", getElementBits(type.getElementType()) <= getElementBits(before)))
    return {};
  Value input = movement->getOperand(0);
  SmallVector<Value> operands(op->getOperands());
  operands[moved] = input;
  OperationState state(op->getLoc(), op->getName(), operands,
                       getTensorType(getDims(input.getType()), type.getElementType()), op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value inner = builder.create(state)->getResult(0);
  if (auto transpose = dyn_cast<TransposeOp>(movement))
    return TransposeOp::create(builder, op->getLoc(), type, inner, transpose.getPermutation());
  return ReshapeOp::create(builder, op->getLoc(), type, inner);
}

std::optional<SmallVector<SmallVector<int64_t>>> findMergedDims(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<SmallVector<int64_t>> groups;
  size_t next = 0;
  for (AffineExpr extent : to) {
    AffineExpr product = getAffineConstantExpr(1, extent.getContext());
    SmallVector<int64_t> &group = groups.emplace_back();
    while (!isEqual(product, extent) && next < from.size()) {
      product = simplify(product * from[next]);
      group.push_back(next++);
    }
    if (!isEqual(product, extent))
      return std::nullopt;
  }
  for (; next < from.size(); ++next) { // Extents of 1 are left.
    if (getConstant(from[next]) != 1 || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  return groups;
}

/// A transposition of merged dimensions moves them all: transpose(merge(x)) = merge(transpose(x)). Where x is
/// transposed itself, that makes one of two.
static Value transposeFirst(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<TransposeOp>(match.root);
  auto reshape = cast<ReshapeOp>(match.ops[1]);
  Dims from = getDims(reshape.getInput().getType()), to = getDims(reshape.getType());
  auto groups = findMergedDims(from, to);
  if (!groups || !guards.require("one-reader", reshape->hasOneUse()) ||
      !guards.require("merges", from.size() > to.size()))
    return {};
  SmallVector<int64_t> permutation;
  Dims dims;
  for (int64_t d : op.getPermutation())
    for (int64_t member : (*groups)[d]) {
      permutation.push_back(member);
      dims.push_back(from[member]);
    }
  auto type = getTensorType(dims, op.getType().getElementType());
  Value inner = TransposeOp::create(builder, op.getLoc(), type, reshape.getInput(), permutation);
  return ReshapeOp::create(builder, op.getLoc(), op.getType(), inner);
}

void addViewRules(std::vector<Rule> &rules) {
  auto add = [&](const char *family, const char *name, const char *before, const char *after,
                 std::vector<std::string> guards, decltype(Rule::build) build, const char *gain = "0 -> 0") {
    rules.push_back({name, family, P::Movement, C::Exact, before, after, gain, std::move(guards), std::move(build)});
    rules.back().isCanonical = true;
  };
  const char *reshape = "`(reshape ?a)`", *weight = "a weight of the same bytes";
  add("views", "broadcast-of-broadcast", "(broadcast (broadcast ?a))", "`(broadcast ?a)`", {}, skipInner);
  add("views", "broadcast-in-place", "(broadcast ?a)", reshape, {"moves-nothing(a)"}, reshapeForBroadcast);
  add("views", "slice-of-slice", "(slice (slice ?a))", "`(slice ?a)`", {"place-limit"}, composeSlices);
  add("views", "transpose-in-place", "(transpose ?a)", reshape, {"moves-nothing(a)"}, reshapeForTranspose);
  add("views", "reduce-of-one", "(reduce ?a)", reshape, {"no-sum", "single(a)"}, reshapeForReduce, "mn -> 0");
  add("views", "concat-of-nothing", "(concat ...)", "the parts that have elements", {}, dropEmptyParts);
  add("views", "concat-of-concat", "(concat ...)", "one concatenation", {"same-axis", "one-reader"}, flattenConcat);
  add("views", "weight-reshaped", "(reshape (weight))", weight, {"row-major"}, retypeWeight);
  add("views", "weight-bitcast", "(bitcast (weight))", weight, {"row-major"}, retypeWeight);
  add("movements", "movement-behind-arithmetic", "(elementwise ...)",
      "the movement `(transpose ?a)` or `(reshape ?a)` of its one operand that is no scalar, of the op on `?a`",
      {"others-scalar", "one-reader", "no-wider"}, moveBehind);
  add("movements", "transpose-before-merge", "(transpose (reshape (transpose ?a)))",
      "`(reshape (transpose (transpose ?a)))`", {"one-reader", "merges"}, transposeFirst);
}

} // namespace weft::tg
