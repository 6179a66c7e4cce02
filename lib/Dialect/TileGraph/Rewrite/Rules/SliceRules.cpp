// Canonical rules of slices: what is computed and then sliced is sliced and then computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// slice(f(x)) = f(slice(x)) computes what is read only: a norm whose tokens but the first go on, the logits of the last
// token. Slices of one value by which it falls into parts (gates and values of one product) move where what is computed
// of the parts meets again: then one kernel has the parts side by side, and the whole is in no memory. Where they do
// not meet (queries, keys and values of one product) the whole is one kernel's, and its readers read a part each.
#include "RuleBuilder.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"

using namespace mlir;

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

/// The box of a slice by dimension of what it slices.
struct Box {
  SmallVector<int64_t> offsets, strides;
  Dims dims;

  void append(int64_t offset, int64_t stride, AffineExpr extent) {
    offsets.push_back(offset);
    strides.push_back(stride);
    dims.push_back(extent);
  }
  /// Dimension `d` of `from`'s box.
  void append(SliceOp from, unsigned d) {
    append(from.getOffsets()[d], from.getStrides()[d], getDim(from.getType(), d));
  }
};

/// The part of `value`, or itself if that is all of it.
static Value buildSlice(OpBuilder &builder, Location loc, Value value, const Box &box) {
  auto isAll = [](auto place) { return std::get<0>(place) == 0 && std::get<1>(place) == 1; };
  if (llvm::equal(box.dims, getDims(value.getType()), isEqual) &&
      llvm::all_of(llvm::zip_equal(box.offsets, box.strides), isAll))
    return value;
  Type type = getTensorType(box.dims, cast<RankedTensorType>(value.getType()).getElementType());
  for (Operation *user : value.getUsers()) // It may be there already.
    if (auto slice = dyn_cast<SliceOp>(user);
        slice && slice.getType() == type && slice.getOffsets() == ArrayRef(box.offsets) &&
        slice.getStrides() == ArrayRef(box.strides) && slice->getBlock() == builder.getInsertionBlock() &&
        slice->isBeforeInBlock(&*builder.getInsertionPoint()))
      return slice;
  return SliceOp::create(builder, loc, type, value, box.offsets, box.strides);
}

/// Whether the slice leaves elements out, whatever the extents are.
static bool isSmaller(SliceOp op) {
  bool leavesOut = false;
  for (auto [from, to] : llvm::zip_equal(getDims(op.getInput().getType()), getDims(op.getType()))) {
    if (isEqual(from, to))
      continue;
    if (!isNonNegative(simplify(from - to - 1)))
      return false;
    leavesOut = true;
  }
  return leavesOut;
}

static bool areAlike(SliceOp a, SliceOp b) {
  return a.getType() == b.getType() && a.getOffsets() == b.getOffsets() && a.getStrides() == b.getStrides();
}

/// Whether two slices without strides take parts of one dimension, as long as each other, that have no element in
/// common.
static bool areApart(SliceOp a, SliceOp b) {
  unsigned other = 0;
  bool isApart = a.getType() == b.getType();
  for (auto [d, extent] : llvm::enumerate(getDims(a.getType()))) {
    std::optional<int64_t> length = getConstant(extent);
    int64_t distance = std::abs(a.getOffsets()[d] - b.getOffsets()[d]);
    isApart &= a.getStrides()[d] == 1 && b.getStrides()[d] == 1;
    if (distance != 0)
      isApart &= ++other == 1 && length && distance >= *length;
  }
  return isApart && other == 1;
}

/// Whether what pointwise ops compute of `values` comes together in one of them, before anything else reads it.
static bool doMeet(ArrayRef<SliceOp> values) {
  constexpr unsigned mostOps = 32;
  llvm::SmallSetVector<Operation *, 8> open;
  SliceOp one = values.front();
  Block *block = one->getBlock();
  for (SliceOp value : values)
    open.insert(value->user_begin(), value->user_end());
  auto isEarlier = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  for (unsigned taken = 0; taken < mostOps && !open.empty(); ++taken) {
    if (!llvm::all_of(open, [&](Operation *op) {
          return op->getBlock() == block && isa<PointwiseOpInterface>(op) &&
                 llvm::equal(getDims(op->getResult(0).getType()), getDims(one.getType()), isEqual);
        }))
      return false;
    if (open.size() == 1)
      return true;
    Operation *first = *llvm::min_element(open, isEarlier);
    open.remove(first);
    open.insert(first->user_begin(), first->user_end());
  }
  return false;
}

/// Whether `value` may be computed in parts: `op` and slices like it are all that read it, or slices whose parts meet.
static bool isReadInParts(SliceOp op, Value value) {
  SmallVector<SliceOp> parts;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || slice->getBlock() != op->getBlock())
      return false;
    if (llvm::none_of(parts, [&](SliceOp part) { return areAlike(part, slice); }))
      parts.push_back(slice);
  }
  constexpr size_t mostParts = 4;
  if (parts.size() < 2)
    return true;
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (!areApart(parts[i], parts[j]))
        return false;
  return parts.size() <= mostParts && doMeet(parts);
}

/// The box of operand `i` of a contraction for the part `op` of its result; none where its places are no dimensions.
static std::optional<Box> findOperandBox(SliceOp op, ContractOp contract, unsigned i) {
  Box box;
  AffineMap map = contract.getMap(i), result = contract.getMap(2);
  Dims whole = getDims(op.getInput().getType()), own = getDims(contract->getOperand(i).getType());
  for (auto [at, extent] : llvm::zip_equal(map.getResults(), own))
    box.append(0, 1, extent);
  for (auto [d, place] : llvm::enumerate(result.getResults())) {
    bool isAll = op.getOffsets()[d] == 0 && op.getStrides()[d] == 1 && isEqual(whole[d], getDim(op.getType(), d));
    auto dim = dyn_cast<AffineDimExpr>(place);
    if (isAll || !dim)
      continue;
    for (auto [at, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(dim.getPosition()))
        continue;
      if (expr != place || !isEqual(own[at], whole[d]))
        return std::nullopt;
      box.offsets[at] = op.getOffsets()[d];
      box.strides[at] = op.getStrides()[d];
      box.dims[at] = getDim(op.getType(), d);
    }
  }
  return box;
}

/// Whether a slice in front of what reads `value` can go on to what `value` is made of, or stay there at no cost: what
/// products make goes through their readers' arithmetic first, and a slice between them would part the two.
static bool letsThrough(SliceOp op, Value value) {
  Operation *reader = op.getInput().getDefiningOp();
  Operation *maker = value.getDefiningOp();
  bool isMoved = false;
  while (isa_and_nonnull<TransposeOp, ReshapeOp, BitcastOp>(maker)) {
    isMoved = true;
    maker = maker->getOperand(0).getDefiningOp();
  }
  if (!isa_and_nonnull<ContractOp, FoldOp>(maker))
    return true;
  auto contract = dyn_cast<ContractOp>(maker);
  auto goesOn = [&](Operation *user) { return user == reader || isa<SliceOp>(user); }; // Of its parts some have gone.
  return contract && !isMoved && llvm::all_of(contract->getUsers(), goesOn) && findOperandBox(op, contract, 0) &&
         findOperandBox(op, contract, 1);
}

/// slice(f(x, y)) = f(slice(x), slice(y)); what stretches along a dimension is not sliced there.
static Value sliceOperands(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<SliceOp>(match.root);
  Operation *made = match.ops[1];
  Dims whole = getDims(op.getInput().getType());
  auto isWhole = [&](Value operand) { return llvm::equal(getDims(operand.getType()), whole, isEqual); };
  if (!guards.require("smaller(a)", isSmaller(op)) ||
      !guards.require("read-in-parts", isReadInParts(op, op.getInput())) ||
      !guards.require("no-product(a)", llvm::all_of(made->getOperands(), [&](Value operand) {
                        return !isWhole(operand) || letsThrough(op, operand);
                      })))
    return {};
  SmallVector<Value> operands;
  for (Value operand : made->getOperands()) {
    Dims dims = getDims(operand.getType());
    unsigned missing = whole.size() - dims.size();
    Box box;
    for (auto [d, extent] : llvm::enumerate(dims))
      if (isEqual(extent, whole[d + missing]))
        box.append(op, d + missing);
      else
        box.append(0, 1, extent);
    operands.push_back(buildSlice(builder, op.getLoc(), operand, box));
  }
  OperationState state(made->getLoc(), made->getName(), operands, op.getType(), made->getAttrs());
  state.propertiesAttr = made->getPropertiesAsAttribute();
  return builder.create(state)->getResult(0);
}

/// slice(reduce(x)) = reduce(slice(x)): of what is left after the reduction, a part.
static Value sliceReduced(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<SliceOp>(match.root);
  auto reduce = cast<ReduceOp>(match.ops[1]);
  if (!guards.require("smaller(a)", isSmaller(op)) ||
      !guards.require("read-in-parts", isReadInParts(op, op.getInput())))
    return {};
  Box box;
  unsigned next = 0;
  for (auto [d, extent] : llvm::enumerate(getDims(reduce.getInput().getType()))) {
    bool isReduced = llvm::is_contained(reduce.getAxes(), int64_t(d));
    if (isReduced)
      box.append(0, 1, extent);
    else
      box.append(op, next);
    next += !isReduced || reduce.getKeepDims();
  }
  Value part = buildSlice(builder, op.getLoc(), reduce.getInput(), box);
  return ReduceOp::create(builder, reduce.getLoc(), reduce.getKind(), part, reduce.getAxes(), reduce.getKeepDims())
      .getResult();
}

/// slice(contract(x, w)) = contract(slice(x), slice(w)).
static Value sliceFactors(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<SliceOp>(match.root);
  auto contract = cast<ContractOp>(match.ops[1]);
  if (!guards.require("smaller(a)", isSmaller(op)) ||
      !guards.require("read-in-parts", isReadInParts(op, op.getInput())))
    return {};
  std::optional<Box> left = findOperandBox(op, contract, 0), right = findOperandBox(op, contract, 1);
  if (!guards.require("plain-places(a)", left && right))
    return {};
  auto part = [&](Value operand, const std::optional<Box> &box) {
    return box ? buildSlice(builder, op.getLoc(), operand, *box) : operand;
  };
  Value lhs = part(contract.getLhs(), left), rhs = part(contract.getRhs(), right);
  return ContractOp::create(builder, contract.getLoc(), op.getType(), lhs, rhs, contract.getMaps());
}

void addSliceRules(std::vector<Rule> &rules) {
  auto add = [&](const char *name, const char *before, const char *after, const char *gain,
                 std::vector<std::string> guards, decltype(Rule::build) build) {
    rules.push_back({name, "slices", P::Movement, C::Exact, before, after, gain, std::move(guards), std::move(build)});
    rules.back().isCanonical = true;
  };
  add("slice-before-arithmetic", "(slice (pointwise ...))", "the op on slices of its operands", "2mn -> mn",
      {"smaller(a)", "read-in-parts", "no-product(a)"}, sliceOperands);
  add("slice-before-reduction", "(slice (reduce ?a))", "the reduction of a slice", "2mn -> mn",
      {"smaller(a)", "read-in-parts"}, sliceReduced);
  add("slice-before-contraction", "(slice (contract ?a ?b))", "the contraction of slices", "4mnk -> 2mnk",
      {"smaller(a)", "read-in-parts", "plain-places(a)"}, sliceFactors);
}

} // namespace weft::tg
