// weft-sink-reshapes: the epilogue of a contraction runs before the reshape of its result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f(reshape(x), y) = reshape(f(x, y')), y' being y in the extents of x. The extents fall into segments of as many
// elements (tg::splitReshape: 128 x 3072 and 1 x 128 x 3072 into two); y must have all of a segment's extents, or 1 in
// place of all of them.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/LevelPasses.h"
#include "llvm/ADT/SetVector.h"

namespace weft::plan {
#define GEN_PASS_DEF_SINKRESHAPES
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;

namespace weft::plan {
namespace {

bool isOne(AffineExpr extent) { return tg::getConstant(extent) == 1; }

bool sameDims(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip(a, b), [](auto pair) { return tg::isEqual(std::get<0>(pair), std::get<1>(pair)); });
}

/// One reshape, and what it takes to compute its readers before it.
class Sinking {
public:
  explicit Sinking(tg::ReshapeOp reshape)
      : reshape(reshape), from(tg::getDims(reshape.getInput().getType())), to(tg::getDims(reshape.getType())),
        segments(tg::splitReshape(from, to)) {}

  /// Computes all readers before the reshape and returns their new results; empty where that is not to be.
  SmallVector<Value> run();

private:
  bool canTake(Operation *op);
  bool meets();
  std::optional<tg::Dims> dimsBefore(Value operand);
  Value before(OpBuilder &builder, Value operand);

  tg::ReshapeOp reshape;
  tg::Dims from, to;
  SmallVector<tg::ReshapeSegment> segments;
};

/// The extents that an operand of a reader has in the reshape's source, without leading ones.
std::optional<tg::Dims> Sinking::dimsBefore(Value operand) {
  tg::Dims dims = tg::getDims(operand.getType());
  if (dims.size() > to.size())
    return std::nullopt;
  AffineExpr one = getAffineConstantExpr(1, operand.getContext());
  tg::Dims padded(to.size() - dims.size(), one), result(from.size(), one);
  padded.append(dims.begin(), dims.end());
  for (const tg::ReshapeSegment &segment : segments) {
    auto places = llvm::seq(segment.toBegin, segment.toEnd);
    bool isWhole = llvm::all_of(places, [&](unsigned d) { return isOne(to[d]) || tg::isEqual(padded[d], to[d]); });
    if (!isWhole && !llvm::all_of(places, [&](unsigned d) { return isOne(padded[d]); }))
      return std::nullopt;
    if (isWhole)
      std::copy(from.begin() + segment.fromBegin, from.begin() + segment.fromEnd, result.begin() + segment.fromBegin);
  }
  result.erase(result.begin(), llvm::find_if_not(result, isOne));
  return result;
}

Value Sinking::before(OpBuilder &builder, Value operand) {
  if (operand == reshape.getResult())
    return reshape.getInput();
  tg::Dims dims = *dimsBefore(operand);
  if (sameDims(dims, tg::getDims(operand.getType())))
    return operand;
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  return tg::ReshapeOp::create(builder, operand.getLoc(), tg::getTensorType(dims, element), operand);
}

/// Whether `op` computes each element of the reshaped tensor from the one in its place. Not where it widens elements:
/// what goes through memory would be larger.
bool Sinking::canTake(Operation *op) {
  if (!isa<tg::PointwiseOpInterface>(op) || op->getNumRegions() || op->getNumResults() != 1 ||
      op->getBlock() != reshape->getBlock())
    return false;
  auto bits = [](Value value) { return tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()); };
  return sameDims(tg::getDims(op->getResult(0).getType()), to) && bits(op->getResult(0)) <= bits(reshape.getResult()) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return dimsBefore(operand).has_value(); });
}

/// Whether all that is computed from the reshaped tensor comes together in one op that can be taken, so that a kernel
/// of one result holds it.
bool Sinking::meets() {
  constexpr unsigned mostOps = 32;
  llvm::SmallSetVector<Operation *, 8> open(reshape->user_begin(), reshape->user_end());
  for (unsigned taken = 0; taken < mostOps; ++taken) {
    auto isEarlier = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
    if (open.empty() || !llvm::all_of(open, [&](Operation *op) { return op->getBlock() == reshape->getBlock(); }))
      return false;
    Operation *first = *llvm::min_element(open, isEarlier);
    if (!canTake(first))
      return false;
    open.remove(first);
    if (open.empty())
      return true;
    open.insert(first->user_begin(), first->user_end());
  }
  return false;
}

/// Gives `old`'s users `value` under the old extents; those that undo the reshape, `value` itself.
void rename(OpBuilder &builder, Value old, Value value) {
  auto renamed = tg::ReshapeOp::create(builder, old.getLoc(), old.getType(), value);
  old.replaceAllUsesWith(renamed);
  for (Operation *user : llvm::to_vector(renamed->getUsers()))
    if (auto inverse = dyn_cast<tg::ReshapeOp>(user); inverse && inverse.getType() == value.getType()) {
      inverse.getResult().replaceAllUsesWith(value);
      inverse.erase();
    }
  if (renamed->use_empty())
    renamed.erase();
}

SmallVector<Value> Sinking::run() {
  if (!meets())
    return {};
  SmallVector<Value> results;
  llvm::SmallSetVector<Operation *, 8> readers(reshape->user_begin(), reshape->user_end());
  for (Operation *op : readers) {
    OpBuilder builder(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(before(builder, operand));
    Operation *taken = builder.clone(*op);
    taken->setOperands(operands);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    taken->getResult(0).setType(tg::getTensorType(from, type.getElementType()));
    rename(builder, op->getResult(0), taken->getResult(0));
    op->erase();
    results.push_back(taken->getResult(0));
  }
  reshape.erase();
  return results;
}

/// Follows the epilogue of a contraction: `value` has its extents.
void sinkBehind(Value contraction) {
  SmallVector<Value> work{contraction};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto reshape = value.hasOneUse() ? dyn_cast<tg::ReshapeOp>(*value.user_begin()) : nullptr;
    if (reshape && reshape->getBlock() == value.getParentBlock()) {
      work.append(Sinking(reshape).run());
      continue;
    }
    for (Operation *user : value.getUsers())
      if (isa<tg::PointwiseOpInterface>(user) && user->getNumResults() == 1 && seen.insert(user).second &&
          sameDims(tg::getDims(user->getResult(0).getType()), tg::getDims(value.getType())))
        work.push_back(user->getResult(0));
  }
}

struct SinkReshapesPass : impl::SinkReshapesBase<SinkReshapesPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      for (tg::ContractOp contract : llvm::to_vector(func.getBody().front().getOps<tg::ContractOp>()))
        sinkBehind(contract.getResult());
    }
  }
};

} // namespace
} // namespace weft::plan
