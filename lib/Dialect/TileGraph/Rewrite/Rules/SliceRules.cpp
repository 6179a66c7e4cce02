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
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"

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

/// Whether two slices take parts of one dimension, as long as each other, that have no element in common: apart from
/// each other, or every s-th element from different ones on.
static bool areApart(SliceOp a, SliceOp b) {
  unsigned other = 0;
  bool isApart = a.getType() == b.getType() && a.getStrides() == b.getStrides();
  for (auto [d, extent] : llvm::enumerate(getDims(a.getType()))) {
    std::optional<int64_t> length = getConstant(extent);
    int64_t distance = std::abs(a.getOffsets()[d] - b.getOffsets()[d]), stride = a.getStrides()[d];
    isApart &= stride > 0;
    if (distance != 0)
      isApart &= ++other == 1 && stride > 0 && (distance % stride != 0 || (length && distance / stride >= *length));
  }
  return isApart && other == 1;
}

/// The extents but those of 1.
static Dims withoutOnes(Value value) {
  return llvm::filter_to_vector(getDims(value.getType()), [](AffineExpr extent) { return getConstant(extent) != 1; });
}

/// Whether what elementwise ops compute of `values` comes together in one of them, before anything else reads it.
static bool doMeet(ArrayRef<SliceOp> values) {
  constexpr unsigned mostOps = 32;
  llvm::SmallSetVector<Operation *, 8> open;
  SliceOp one = values.front();
  Block *block = one->getBlock();
  for (SliceOp value : values)
    open.insert(value->user_begin(), value->user_end());
  Dims places = withoutOnes(one); // A reshape may drop the dimension that the parts are indices of.
  auto isEarlier = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  for (unsigned taken = 0; taken < mostOps && !open.empty(); ++taken) {
    if (!llvm::all_of(open, [&](Operation *op) {
          return op->getBlock() == block && (isa<PointwiseOpInterface>(op) || isa<ReshapeOp>(op)) &&
                 llvm::equal(withoutOnes(op->getResult(0)), places, isEqual);
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

/// The box of operand `i` of a contraction for the part `op` of its result; none where its indices are no dimensions.
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

/// The part `op` of what `made` computes, of parts of its operands.
static Value buildOnParts(SliceOp op, Operation *made, OpBuilder &builder) {
  Dims whole = getDims(op.getInput().getType());
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
  return buildOnParts(op, made, builder);
}

/// The part of its operand that a contraction reads, by the operand's dimensions; none where it reads all, or its
/// indices are no dimensions.
static std::optional<Box> findReadBox(ContractOp contract, unsigned i) {
  Box box;
  bool isAll = true;
  tg::Dims domain = contract.getDomainExtents();
  for (auto [place, extent] :
       llvm::zip_equal(contract.getMap(i).getResults(), getDims(contract->getOperand(i).getType()))) {
    auto constant = dyn_cast<AffineConstantExpr>(place);
    AffineDimExpr dim = getShiftedDim(place);
    if (!constant && !dim)
      return std::nullopt;
    AffineExpr shift = constant ? place : simplify(place - AffineExpr(dim));
    int64_t first = getConstant(shift).value_or(0);
    box.append(first, 1, constant ? getAffineConstantExpr(1, place.getContext()) : domain[dim.getPosition()]);
    isAll &= first == 0 && isEqual(box.dims.back(), extent);
  }
  return isAll ? std::nullopt : std::optional(box);
}

/// contract(f(x)) of a part of f(x) = contract(f(slice(x))): views that are maps of the contraction have hidden it.
template <unsigned operand> static Value sliceRead(const Match &match, OpBuilder &builder, Guards &guards) {
  auto contract = cast<ContractOp>(match.root);
  Operation *made = match.ops[1];
  Value whole = contract->getOperand(operand);
  std::optional<Box> box = findReadBox(contract, operand);
  if (!box || whole.getDefiningOp() != made || !guards.require("one-reader", whole.hasOneUse()))
    return {};
  auto slice = buildSlice(builder, contract.getLoc(), whole, *box).getDefiningOp<SliceOp>();
  if (!slice || !isSmaller(slice))
    return {};
  bool isFree = llvm::all_of(made->getOperands(), [&](Value value) {
    return !llvm::equal(getDims(value.getType()), getDims(whole.getType()), isEqual) || letsThrough(slice, value);
  });
  if (!guards.require("no-product(a)", isFree))
    return {};
  SmallVector<Value> operands(contract->getOperands());
  operands[operand] = buildOnParts(slice, made, builder);
  if (slice->use_empty())
    slice.erase();
  SmallVector<AffineMap> maps{contract.getMap(0), contract.getMap(1), contract.getMap(2)};
  SmallVector<AffineExpr> places;
  for (auto [place, offset] : llvm::zip_equal(maps[operand].getResults(), box->offsets))
    places.push_back(place - offset);
  maps[operand] = AffineMap::get(maps[operand].getNumDims(), 0, places, contract.getContext());
  return ContractOp::create(builder, contract.getLoc(), contract.getType(), operands[0], operands[1],
                            builder.getAffineMapArrayAttr(maps));
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

/// A weight of `dims` on the bytes of another.
static Value retype(OpBuilder &builder, WeightOp weight, const Dims &dims) {
  Type type = getTensorType(dims, weight.getType().getElementType());
  for (auto other : weight->getBlock()->getOps<WeightOp>()) // It may be there already.
    if (other.getType() == type && other.getData() == weight.getData() && !other.getOrder() &&
        builder.getInsertionBlock() == other->getBlock() && other->isBeforeInBlock(&*builder.getInsertionPoint()))
      return other;
  return WeightOp::create(builder, weight.getLoc(), type, weight.getData());
}

/// The dimension of a weight every s-th element of which is `box`, from one of the first s on.
static std::optional<unsigned> findStrided(WeightOp weight, const Box &box) {
  std::optional<unsigned> found;
  for (auto [d, extent] : llvm::enumerate(getDims(weight.getType()))) {
    int64_t stride = box.strides[d];
    bool isAll = box.offsets[d] == 0 && isEqual(extent, box.dims[d]);
    bool isStrided = stride > 1 && box.offsets[d] < stride && isEqual(extent, simplify(box.dims[d] * stride));
    if ((stride == 1 && !isAll) || (stride != 1 && (!isStrided || std::exchange(found, d))))
      return std::nullopt;
  }
  return weight.getOrder() ? std::nullopt : found;
}

/// Reads every s-th element of a weight's dimension as one element of a dimension of s, which the weight's order in
/// memory may have outside; false where `box` is another part.
static bool readStrided(OpBuilder &builder, Value &operand, AffineMap &map, const Box &box) {
  auto weight = operand.getDefiningOp<WeightOp>();
  std::optional<unsigned> d = weight ? findStrided(weight, box) : std::nullopt;
  if (!d)
    return false;
  Dims dims = getDims(weight.getType());
  dims[*d] = box.dims[*d];
  dims.insert(dims.begin() + *d + 1, builder.getAffineConstantExpr(box.strides[*d]));
  operand = retype(builder, weight, dims);
  map = map.insertResult(builder.getAffineConstantExpr(box.offsets[*d]), *d + 1);
  return true;
}

/// Whether the operands' parts are read as they lie: one of several parts with a stride is so only of a weight.
static bool readsAsStored(ContractOp contract, ArrayRef<std::optional<Box>> boxes) {
  if (contract->hasOneUse())
    return true;
  for (auto [i, box] : llvm::enumerate(boxes)) {
    bool isStrided = box && llvm::any_of(box->strides, [](int64_t stride) { return stride != 1; });
    auto weight = contract->getOperand(i).getDefiningOp<WeightOp>();
    if (isStrided && (!weight || !findStrided(weight, *box)))
      return false;
  }
  return true;
}

/// slice(contract(x, w)) = contract(slice(x), slice(w)).
static Value sliceFactors(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<SliceOp>(match.root);
  auto contract = cast<ContractOp>(match.ops[1]);
  if (!guards.require("smaller(a)", isSmaller(op)) ||
      !guards.require("read-in-parts", isReadInParts(op, op.getInput())))
    return {};
  std::optional<Box> boxes[] = {findOperandBox(op, contract, 0), findOperandBox(op, contract, 1)};
  if (!guards.require("plain-places(a)", boxes[0] && boxes[1]) ||
      !guards.require("as-stored(a)", readsAsStored(contract, boxes)))
    return {};
  SmallVector<Value> operands(contract->getOperands());
  SmallVector<AffineMap> maps{contract.getMap(0), contract.getMap(1), contract.getMap(2)};
  for (auto [i, box] : llvm::enumerate(boxes))
    if (box && !readStrided(builder, operands[i], maps[i], *box))
      operands[i] = buildSlice(builder, op.getLoc(), operands[i], *box);
  return ContractOp::create(builder, contract.getLoc(), op.getType(), operands[0], operands[1],
                            builder.getAffineMapArrayAttr(maps));
}

/// The indices of dimensions [begin, end) that a slice takes, counted in one dimension that is their product, as first
/// index, step and number; none where they are no progression.
struct Progression {
  int64_t first = 0, step = 1, count = 1;
};
static std::optional<Progression> findProgression(SliceOp op, unsigned begin, unsigned end) {
  Progression found;
  int64_t places = 1;
  for (unsigned d = end; d-- > begin;) {
    std::optional<int64_t> whole = getConstant(getDim(op.getInput().getType(), d)),
                           count = getConstant(getDim(op.getType(), d));
    if (!whole || !count || *count == 0)
      return std::nullopt;
    int64_t step = op.getStrides()[d] * places;
    found.first += op.getOffsets()[d] * places;
    if (*count > 1 && found.count > 1 && step != found.step * found.count)
      return std::nullopt;
    if (*count > 1)
      found = {found.first, found.count > 1 ? found.step : step, found.count * *count};
    places *= *whole;
  }
  return found;
}

/// The part of what is reshaped that the slice `op` of its result takes: none where its indices are no progression in
/// one dimension.
static std::optional<Box> findReshapedBox(SliceOp op, ReshapeOp reshape) {
  Dims from = getDims(reshape.getInput().getType()), to = getDims(reshape.getType());
  auto isAll = [&](unsigned d) {
    return op.getOffsets()[d] == 0 && op.getStrides()[d] == 1 && isEqual(to[d], getDim(op.getType(), d));
  };
  Box box;
  for (AffineExpr extent : from)
    box.append(0, 1, extent);
  for (const ReshapeSegment &segment : splitReshape(from, to)) {
    if (llvm::all_of(llvm::seq(segment.toBegin, segment.toEnd), isAll))
      continue;
    std::optional<Progression> places = findProgression(op, segment.toBegin, segment.toEnd);
    if (!places || segment.fromEnd - segment.fromBegin != 1)
      return std::nullopt;
    box.offsets[segment.fromBegin] = places->first;
    box.strides[segment.fromBegin] = places->step;
    box.dims[segment.fromBegin] = getAffineConstantExpr(places->count, op.getContext());
  }
  return box;
}

/// slice(reshape(x)) = reshape(slice(x)), where the slice takes every s-th element of a dimension that the reshape
/// cuts.
static Value sliceReshaped(const Match &match, OpBuilder &builder, Guards &guards) {
  auto op = cast<SliceOp>(match.root);
  auto reshape = cast<ReshapeOp>(match.ops[1]);
  if (!guards.require("smaller(a)", isSmaller(op)) ||
      !guards.require("read-in-parts", isReadInParts(op, op.getInput())))
    return {};
  std::optional<Box> box = findReshapedBox(op, reshape);
  if (!guards.require("progression(a)", box.has_value()))
    return {};
  Value part = box ? buildSlice(builder, op.getLoc(), reshape.getInput(), *box) : reshape.getInput();
  return ReshapeOp::create(builder, op.getLoc(), op.getType(), part);
}

void addSliceRules(std::vector<Rule> &rules) {
  auto add = [&](const char *name, const char *before, const char *after, const char *gain,
                 std::vector<std::string> guards, decltype(Rule::build) build) {
    rules.push_back({name, "slices", P::Movement, C::Exact, before, after, gain, std::move(guards), std::move(build)});
    rules.back().isCanonical = true;
  };
  add("slice-before-arithmetic", "(slice (elementwise ...))", "the op on slices of its operands", "2mn -> mn",
      {"smaller(a)", "read-in-parts", "no-product(a)"}, sliceOperands);
  add("slice-before-reduction", "(slice (reduce ?a))", "the reduction of a slice", "2mn -> mn",
      {"smaller(a)", "read-in-parts"}, sliceReduced);
  add("slice-before-contraction", "(slice (contract ?a ?b))", "the contraction of slices", "4mnk -> 2mnk",
      {"smaller(a)", "read-in-parts", "plain-places(a)", "as-stored(a)"}, sliceFactors);
  const char *read = "the contraction of the op on what it reads";
  add("part-before-contraction-lhs", "(contract (elementwise ...) ?b)", read, "2mn -> mn",
      {"one-reader", "no-product(a)"}, sliceRead<0>);
  add("part-before-contraction-rhs", "(contract ?b (elementwise ...))", read, "2mn -> mn",
      {"one-reader", "no-product(a)"}, sliceRead<1>);
  add("slice-before-reshape", "(slice (reshape ?a))", "the reshape of a slice", "0 -> 0",
      {"smaller(a)", "read-in-parts", "progression(a)"}, sliceReshaped);
}

} // namespace weft::tg
