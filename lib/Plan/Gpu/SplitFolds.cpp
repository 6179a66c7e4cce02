// weft-split-folds: a fold whose tiles leave the device idle becomes folds over parts and a fold that merges them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Algebra only. A fold over N elements is a fold in s parts of it that returns their states, and a fold over the s
// parts that runs `merge` and then `finish`. As `update` is written for the whole dimension, the second fold needs
// `merge` of a state and many parts: where `merge` combines what it made of its left arguments with the same made of
// its right ones by a monoid (max(l, r), l * q(l) + r * q(r)), the right side is reduced over the parts first.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/FoldSplit.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/Device.h"

namespace weft::plan {
#define GEN_PASS_DEF_SPLITFOLDS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// What stands for a value of `merge` in a clone: itself, or a value with a leading dimension of parts.
struct Part {
  Value value;
  bool hasParts = false;
};

unsigned rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Clones ops of `merge` so that they work on all parts at once.
class PartCloner {
public:
  PartCloner(OpBuilder &builder, tg::FoldOp fold, int64_t parts) : builder(builder), fold(fold), parts(parts) {}

  void set(Value value, Part part) { known[value] = part; }
  Part lookup(Value value) const { return known.lookup(value); }
  /// Null and a reason where that is not possible.
  Part get(Value value);
  std::string reason;

private:
  Part fail(Operation *op, const Twine &why) {
    if (reason.empty())
      reason = ("'" + op->getName().stripDialect() + "': " + why).str();
    return {};
  }
  Part clone(Operation *op);
  Part pointwise(Operation *op);
  Part view(Operation *op);

  OpBuilder &builder;
  tg::FoldOp fold;
  int64_t parts;
  llvm::DenseMap<Value, Part> known;
};

Part PartCloner::get(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  Part part = op && fold->isProperAncestor(op) ? clone(op) : Part{value, false};
  return known[value] = part;
}

Part PartCloner::clone(Operation *op) {
  if (op->getNumResults() != 1)
    return fail(op, "several results");
  if (isa<tg::TransposeOp, tg::ReshapeOp>(op))
    return view(op);
  if (isa<tg::PointwiseOpInterface>(op))
    return pointwise(op);
  if (op->getNumOperands() > 0)
    return fail(op, "not known in parts");
  return {builder.clone(*op)->getResult(0), false};
}

Part PartCloner::pointwise(Operation *op) {
  unsigned rank = rankOf(op->getResult(0));
  SmallVector<Value> operands;
  SmallVector<tg::Dims> shapes;
  bool hasParts = false;
  for (Value operand : op->getOperands()) {
    Part part = get(operand);
    if (!part.value)
      return {};
    tg::Dims dims = tg::getDims(part.value.getType());
    unsigned missing = rank - rankOf(operand);
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

Part PartCloner::view(Operation *op) {
  Part input = get(op->getOperand(0));
  if (!input.value)
    return {};
  if (auto transpose = dyn_cast<tg::TransposeOp>(op)) {
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
    dims.insert(dims.begin(), builder.getAffineConstantExpr(parts));
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
  PartCloner cloner(builder, fold, parts);
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

/// The fold in parts, whose results are its states.
tg::FoldOp buildPartial(OpBuilder &builder, tg::FoldOp fold, const FoldSplit &choice) {
  TypeRange states = fold.getUpdate().front().getArgumentTypes();
  SmallVector<unsigned> order = orderOfStates(states);
  SmallVector<Type> results;
  for (unsigned i : order) {
    tg::Dims dims = tg::getDims(states[i]);
    dims.insert(dims.begin(), builder.getAffineConstantExpr(choice.parts));
    results.push_back(tg::getTensorType(dims, cast<RankedTensorType>(states[i]).getElementType()));
  }
  auto partial =
      tg::FoldOp::create(builder, fold.getLoc(), results, fold.getExtent(), builder.getI64IntegerAttr(choice.parts),
                         builder.getI64IntegerAttr(choice.unit), fold.getInit());
  IRMapping mapping;
  fold.getUpdate().cloneInto(&partial.getUpdate(), mapping);
  addBlock(partial.getFinish(), states, fold.getLoc());
  Block &finish = partial.getFinish().front();
  builder.setInsertionPointToEnd(&finish);
  auto argumentOf = [&](unsigned i) -> Value { return finish.getArgument(i); };
  tg::FoldYieldOp::create(builder, fold.getLoc(), llvm::map_to_vector(order, argumentOf));
  return partial;
}

/// Replaces `fold`, or leaves it and gives the reason.
std::string split(tg::FoldOp fold, const FoldSplit &choice) {
  OpBuilder builder(fold);
  Location loc = fold.getLoc();
  tg::FoldOp partial = buildPartial(builder, fold, choice);
  builder.setInsertionPoint(fold);
  auto types = fold.getUpdate().front().getArgumentTypes();
  auto merged = tg::FoldOp::create(builder, loc, fold.getResultTypes(),
                                   AffineMap::get(0, 0, builder.getAffineConstantExpr(choice.parts)), /*parts=*/{},
                                   /*unit=*/{}, fold.getInit());
  addBlock(merged.getUpdate(), types, loc);
  SmallVector<Value> states(types.size());
  for (auto [result, i] : llvm::zip_equal(partial.getResults(), orderOfStates(types)))
    states[i] = result;
  std::string reason = buildManyMerge(builder, fold, merged, states, choice.parts);
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
    tg::LikelyExtents likely(getOperation());
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
    std::string problem = choice.parts > 1 ? split(fold, choice) : choice.reason;
    if (!problem.empty()) {
      remark::missed(loc, options("no-split")) << remark::add("{0}", problem);
      return;
    }
    ++numSplits;
    remark::passed(loc, options("split")) << remark::add("{0}", choice.reason) << remark::metric("parts", choice.parts);
  }
};

} // namespace
