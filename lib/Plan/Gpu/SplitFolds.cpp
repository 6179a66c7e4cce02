// weft-split-folds: a fold whose tiles leave the device idle becomes folds over parts and a fold that merges them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Algebra only. A fold over N places is s folds over N / s places (one op: every state gets a leading dimension of s
// parts) that return their states, and a fold over the s parts that runs `merge` and then `finish`. As `update` is
// written for the whole dimension, the second fold needs `merge` of a state and many parts: where `merge` combines what
// it made of its left arguments with the same made of its right ones by a monoid (max(l, r), l * q(l) + r * q(r)), the
// right side is reduced over the parts first.
#include "Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Plan/FoldSplit.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/Device.h"

namespace weft::plan {
#define GEN_PASS_DEF_SPLITFOLDS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// What stands for a value in a clone: itself, or a value with a leading dimension of parts.
struct Part {
  Value value;
  bool hasParts = false;
};

unsigned rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Clones ops so that they work on all parts at once.
class PartCloner {
public:
  /// From regions of `fold` into those of `target`.
  PartCloner(OpBuilder &builder, tg::FoldOp fold, tg::FoldOp target, int64_t parts)
      : builder(builder), fold(fold), target(target), parts(parts) {}

  void set(Value value, Part part) { known[{value, -1}] = part; }
  Part lookup(Value value) const { return known.lookup({value, -1}); }
  /// `value`, whose dimension `axis` is the streamed one. Null and a reason where that is not possible.
  Part get(Value value, std::optional<unsigned> axis = std::nullopt);
  std::string reason;

private:
  Part fail(Operation *op, const Twine &why) {
    if (reason.empty())
      reason = ("'" + op->getName().stripDialect() + "': " + why).str();
    return {};
  }
  Part divide(Value value, unsigned axis);
  Part clone(Operation *op, std::optional<unsigned> axis);
  Part pointwise(Operation *op, std::optional<unsigned> axis);
  Part reduce(tg::ReduceOp op, std::optional<unsigned> axis);
  Part contract(tg::ContractOp op, std::optional<unsigned> axis);
  Part view(Operation *op, std::optional<unsigned> axis);
  AffineExpr count() { return builder.getAffineConstantExpr(parts); }

  OpBuilder &builder;
  tg::FoldOp fold, target;
  int64_t parts;
  llvm::DenseMap<std::pair<Value, int>, Part> known; ///< By value and streamed dimension; -1: none.
};

/// [.., N, ..] as [parts, .., N / parts, ..].
Part PartCloner::divide(Value value, unsigned axis) {
  tg::Dims dims = tg::getDims(value.getType());
  dims[axis] = tg::simplify(dims[axis].floorDiv(parts));
  dims.insert(dims.begin() + axis, count());
  Location loc = value.getLoc();
  Value cut = tg::ReshapeOp::create(builder, loc, tg::getTensorType(dims, elementOf(value)), value);
  SmallVector<int64_t> order{int64_t(axis)};
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    if (d != axis)
      order.push_back(d);
  return {axis == 0 ? cut : tg::TransposeOp::create(builder, loc, cut, order), true};
}

Part PartCloner::get(Value value, std::optional<unsigned> axis) {
  std::pair<Value, int> key(value, axis ? int(*axis) : -1); // One value may be read along two dimensions.
  if (auto it = known.find(key); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  bool isInside = op && fold->isProperAncestor(op);
  Part part{value, false};
  if (isInside) {
    part = clone(op, axis);
  } else if (axis) {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPoint(target);
    part = divide(value, *axis);
  }
  return known[key] = part;
}

Part PartCloner::clone(Operation *op, std::optional<unsigned> axis) {
  if (op->getNumResults() != 1)
    return fail(op, "several results");
  if (auto reduce = dyn_cast<tg::ReduceOp>(op))
    return this->reduce(reduce, axis);
  if (auto contract = dyn_cast<tg::ContractOp>(op))
    return this->contract(contract, axis);
  if (isa<tg::TransposeOp, tg::ReshapeOp>(op))
    return view(op, axis);
  if (isa<tg::PointwiseOpInterface>(op))
    return pointwise(op, axis);
  if (op->getNumOperands() > 0)
    return fail(op, "not known in parts");
  Value made = builder.clone(*op)->getResult(0);
  return axis ? divide(made, *axis) : Part{made, false};
}

Part PartCloner::pointwise(Operation *op, std::optional<unsigned> axis) {
  unsigned rank = rankOf(op->getResult(0));
  SmallVector<Value> operands;
  SmallVector<tg::Dims> shapes;
  bool hasParts = false;
  for (Value operand : op->getOperands()) {
    std::optional<unsigned> own;
    unsigned missing = rank - rankOf(operand);
    if (axis && *axis >= missing && tg::getConstant(tg::getDim(operand.getType(), *axis - missing)) != 1)
      own = *axis - missing;
    Part part = get(operand, own);
    if (!part.value)
      return {};
    tg::Dims dims = tg::getDims(part.value.getType());
    if (part.hasParts && missing > 0) { // Broadcasting aligns the last dimensions.
      dims.insert(dims.begin() + 1, missing, builder.getAffineConstantExpr(1));
      part.value =
          tg::ReshapeOp::create(builder, op->getLoc(), tg::getTensorType(dims, elementOf(operand)), part.value);
    }
    hasParts |= part.hasParts;
    operands.push_back(part.value);
    shapes.push_back(dims);
  }
  std::optional<tg::Dims> dims = tg::broadcastDims(shapes);
  if (!dims)
    return fail(op, "its operands do not broadcast in parts");
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  made->getResult(0).setType(tg::getTensorType(*dims, elementOf(op->getResult(0))));
  return {made->getResult(0), hasParts};
}

Part PartCloner::reduce(tg::ReduceOp op, std::optional<unsigned> axis) {
  std::optional<unsigned> own;
  if (tg::isStreamed(op))
    own = op.getAxes().front();
  else if (axis && op.getKeepDims())
    own = axis;
  else if (axis)
    return fail(op, "a reduction beside the streamed dimension");
  Part input = get(op.getInput(), own);
  if (!input.value)
    return {};
  SmallVector<int64_t> axes(op.getAxes());
  for (int64_t &a : axes)
    a += input.hasParts;
  auto made = tg::ReduceOp::create(builder, op.getLoc(), op.getKind(), input.value, axes, op.getKeepDims());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return {made.getResult(), input.hasParts};
}

/// The parts are one more parallel dimension, the first one.
Part PartCloner::contract(tg::ContractOp op, std::optional<unsigned> axis) {
  auto tile = cast<tg::TileOpInterface>(op.getOperation());
  std::optional<AffineExpr> along;
  for (auto [d, kind] : llvm::enumerate(tile.getDomainIterators()))
    if (tg::isStreamed(op) && kind == utils::IteratorType::reduction)
      along = builder.getAffineDimExpr(d);
  if (!tg::isStreamed(op) && axis)
    along = op.getMap(2).getResult(*axis);
  SmallVector<AffineMap> maps;
  Value operands[2];
  bool hasParts = false;
  auto addMap = [&](AffineMap map, bool withParts) {
    map = map.shiftDims(1);
    maps.push_back(withParts ? map.insertResult(builder.getAffineDimExpr(0), 0) : map);
  };
  for (unsigned i : {0u, 1u}) {
    AffineMap map = op.getMap(i);
    std::optional<unsigned> own = along ? map.getResultPosition(*along) : std::nullopt;
    if (along && !own && map.isFunctionOfDim(cast<AffineDimExpr>(*along).getPosition()))
      return fail(op, "the streamed dimension is read in a sum of dimensions");
    Part part = get(op->getOperand(i), own);
    if (!part.value)
      return {};
    operands[i] = part.value;
    addMap(map, part.hasParts);
    hasParts |= part.hasParts;
  }
  tg::Dims dims = tg::getDims(op.getType());
  if (axis)
    dims[*axis] = tg::simplify(dims[*axis].floorDiv(parts));
  if (!hasParts)
    return {builder.clone(*op)->getResult(0), false};
  addMap(op.getMap(2), true);
  dims.insert(dims.begin(), count());
  auto made = tg::ContractOp::create(builder, op.getLoc(), tg::getTensorType(dims, op.getType().getElementType()),
                                     operands[0], operands[1], builder.getAffineMapArrayAttr(maps));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return {made.getResult(), true};
}

Part PartCloner::view(Operation *op, std::optional<unsigned> axis) {
  auto transpose = dyn_cast<tg::TransposeOp>(op);
  if (axis && !transpose)
    return fail(op, "moves the streamed dimension");
  Part input = get(op->getOperand(0), axis ? std::optional<unsigned>(transpose.getPermutation()[*axis]) : std::nullopt);
  if (!input.value)
    return {};
  if (transpose) {
    SmallVector<int64_t> order(transpose.getPermutation());
    if (input.hasParts) {
      for (int64_t &d : order)
        ++d;
      order.insert(order.begin(), 0);
    }
    return {tg::TransposeOp::create(builder, op->getLoc(), input.value, order), input.hasParts};
  }
  tg::Dims dims = tg::getDims(op->getResult(0).getType());
  if (input.hasParts)
    dims.insert(dims.begin(), count());
  Type type = tg::getTensorType(dims, elementOf(op->getResult(0)));
  return {tg::ReshapeOp::create(builder, op->getLoc(), type, input.value), input.hasParts};
}

//===-- `merge` of a state and many parts -------------------------------------------------------------------------===//

/// What a value of `merge` is made from.
enum class Side { Both, Left, Right };

/// Whether `right` is what `left` is, with the right arguments in place of the left ones.
bool mirrors(Value left, Value right, unsigned count, const llvm::DenseMap<Value, Side> &sides) {
  Side l = sides.lookup(left), r = sides.lookup(right);
  if (l == Side::Both || r == Side::Both)
    return left == right;
  auto x = dyn_cast<BlockArgument>(left), y = dyn_cast<BlockArgument>(right);
  if (x || y)
    return x && y && x.getArgNumber() + count == y.getArgNumber();
  Operation *a = left.getDefiningOp(), *b = right.getDefiningOp();
  return a->getName() == b->getName() && a->getAttrDictionary() == b->getAttrDictionary() &&
         a->getNumOperands() == b->getNumOperands() &&
         llvm::all_of(llvm::zip(a->getOperands(), b->getOperands()),
                      [&](auto pair) { return mirrors(std::get<0>(pair), std::get<1>(pair), count, sides); });
}

std::optional<tg::Monoid> monoidOf(Operation *op) {
  if (isa<tg::AddOp>(op))
    return tg::Monoid::Add;
  if (isa<tg::MaxOp>(op))
    return tg::Monoid::Max;
  if (isa<tg::MinOp>(op))
    return tg::Monoid::Min;
  if (isa<tg::MulOp>(op))
    return tg::Monoid::Mul;
  return std::nullopt;
}

/// Fills the update of `merged`, whose parts are `states`, from the merge of `fold`. A reason if it has another form.
std::string buildManyMerge(OpBuilder &builder, tg::FoldOp fold, tg::FoldOp merged, ValueRange states, int64_t parts) {
  Block &source = fold.getMerge().front(), &target = merged.getUpdate().front();
  builder.setInsertionPointToEnd(&target);
  PartCloner cloner(builder, fold, merged, parts);
  llvm::DenseMap<Value, Side> sides;
  unsigned count = states.size();
  for (unsigned i = 0; i < count; ++i) {
    cloner.set(source.getArgument(i), {target.getArgument(i), false});
    sides[source.getArgument(i)] = Side::Left;
    cloner.set(source.getArgument(count + i), {states[i], true});
    sides[source.getArgument(count + i)] = Side::Right;
  }
  for (Operation &op : source.without_terminator()) {
    bool left = false, right = false;
    for (Value operand : op.getOperands()) {
      left |= sides.lookup(operand) == Side::Left;
      right |= sides.lookup(operand) == Side::Right;
    }
    if (op.getNumResults() != 1)
      return "merge has an op of several results";
    Value result = op.getResult(0);
    sides[result] = left == right ? Side::Both : left ? Side::Left : Side::Right;
    if (!(left && right)) {
      if (!cloner.get(result).value)
        return cloner.reason;
      continue;
    }
    std::optional<tg::Monoid> monoid = monoidOf(&op);
    unsigned second = sides.lookup(op.getOperand(0)) == Side::Left ? 1 : 0;
    if (!monoid || !mirrors(op.getOperand(1 - second), op.getOperand(second), count, sides))
      return "merge does not combine its sides by a monoid";
    auto sum = tg::ReduceOp::create(builder, op.getLoc(), *monoid, cloner.get(op.getOperand(second)).value,
                                    ArrayRef<int64_t>{0}, /*keepDims=*/false);
    sum->setAttr(tg::FoldOp::streamedAttr, builder.getUnitAttr());
    IRMapping mapping;
    mapping.map(op.getOperand(1 - second), cloner.get(op.getOperand(1 - second)).value);
    mapping.map(op.getOperand(second), sum.getResult());
    cloner.set(result, {builder.clone(op, mapping)->getResult(0), false});
  }
  SmallVector<Value> next;
  for (Value yielded : source.getTerminator()->getOperands()) {
    if (sides.lookup(yielded) != Side::Both || !cloner.lookup(yielded).value)
      return "merge yields a value of one side";
    next.push_back(cloner.lookup(yielded).value);
  }
  tg::FoldYieldOp::create(builder, fold.getLoc(), next);
  return "";
}

//===-- The two folds ---------------------------------------------------------------------------------------------===//

void addBlock(Region &region, TypeRange types, Location loc) {
  region.emplaceBlock().addArguments(types, SmallVector<Location>(types.size(), loc));
}

/// The states by the number of their elements, the largest first: what a kernel of several results wants.
SmallVector<unsigned> orderOfStates(TypeRange types) {
  SmallVector<unsigned> order(llvm::to_vector(llvm::seq<unsigned>(0, types.size())));
  auto key = [&](unsigned i) { return std::pair(-estimateExtent(tg::getNumElements(types[i])), i); };
  llvm::sort(order, [&](unsigned a, unsigned b) { return key(a) < key(b); });
  return order;
}

/// The fold over parts, whose results are its states; null and a reason if `update` cannot be cut.
tg::FoldOp buildPartial(OpBuilder &builder, tg::FoldOp fold, int64_t parts, std::string &reason) {
  Location loc = fold.getLoc();
  Block &update = fold.getUpdate().front();
  SmallVector<Type> states, results;
  for (Type type : update.getArgumentTypes()) {
    tg::Dims dims = tg::getDims(type);
    dims.insert(dims.begin(), builder.getAffineConstantExpr(parts));
    states.push_back(tg::getTensorType(dims, cast<RankedTensorType>(type).getElementType()));
  }
  SmallVector<unsigned> order = orderOfStates(states);
  for (unsigned i : order)
    results.push_back(states[i]);
  AffineExpr extent = tg::simplify(fold.getExtent().getResult(0).floorDiv(parts));
  auto partial = tg::FoldOp::create(builder, loc, results, AffineMap::get(0, 0, extent), fold.getInit());
  addBlock(partial.getUpdate(), states, loc);
  addBlock(partial.getFinish(), states, loc);
  Block &body = partial.getUpdate().front();
  builder.setInsertionPointToEnd(&body);
  PartCloner cloner(builder, fold, partial, parts);
  for (auto [old, now] : llvm::zip_equal(update.getArguments(), body.getArguments()))
    cloner.set(old, {now, true});
  SmallVector<Value> next;
  for (Value yielded : update.getTerminator()->getOperands()) {
    Part part = cloner.get(yielded);
    if (!part.value || !part.hasParts) {
      reason = part.value ? "a state that does not depend on the stream" : cloner.reason;
      return partial;
    }
    next.push_back(part.value);
  }
  tg::FoldYieldOp::create(builder, loc, next);
  builder.setInsertionPointToEnd(&partial.getFinish().front());
  tg::FoldYieldOp::create(builder, loc, llvm::map_to_vector(order, [&](unsigned i) -> Value {
                            return partial.getFinish().front().getArgument(i);
                          }));
  return partial;
}

/// Replaces `fold`, or leaves it and gives the reason.
std::string split(tg::FoldOp fold, int64_t parts) {
  OpBuilder builder(fold);
  Location loc = fold.getLoc();
  std::string reason;
  tg::FoldOp partial = buildPartial(builder, fold, parts, reason);
  if (!reason.empty()) {
    partial.erase();
    return reason;
  }
  builder.setInsertionPoint(fold);
  auto types = fold.getUpdate().front().getArgumentTypes();
  auto merged = tg::FoldOp::create(builder, loc, fold.getResultTypes(),
                                   AffineMap::get(0, 0, builder.getAffineConstantExpr(parts)), fold.getInit());
  addBlock(merged.getUpdate(), types, loc);
  SmallVector<unsigned> order = orderOfStates(types);
  SmallVector<Value> states(types.size());
  for (auto [result, i] : llvm::zip_equal(partial.getResults(), order))
    states[i] = result;
  reason = buildManyMerge(builder, fold, merged, states, parts);
  if (!reason.empty()) {
    merged.erase();
    partial.erase();
    return reason;
  }
  merged.getFinish().takeBody(fold.getFinish());
  fold.replaceAllUsesWith(merged.getResults());
  fold.erase();
  return "";
}

struct SplitFoldsPass : weft::plan::impl::SplitFoldsBase<SplitFoldsPass> {
  using Base::Base;

  void runOnOperation() override {
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    SmallVector<tg::FoldOp> folds;
    getOperation()->walk([&](tg::FoldOp fold) { folds.push_back(fold); });
    for (tg::FoldOp fold : folds)
      consider(fold, *device);
  }

  void consider(tg::FoldOp fold, const Device &device) {
    Location loc = fold.getLoc();
    FoldSplit choice = chooseFoldSplit(fold, device);
    auto options = [](StringRef name) { return remark::RemarkOpts::name(name).category("plan"); };
    std::string problem = choice.parts > 1 ? split(fold, choice.parts) : choice.reason;
    if (!problem.empty()) {
      remark::missed(loc, options("no-split")) << remark::add("{0}", problem);
      return;
    }
    ++numSplits;
    remark::passed(loc, options("split")) << remark::add("{0}", choice.reason) << remark::metric("parts", choice.parts);
  }
};

} // namespace
