// --weft-tk-split-masks: where a mask holds for all of a tile, maps do without it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constraint e + sum a_i d_i >= 0 holds for all places d_i of [0, n_i) if e + sum min(0, a_i (n_i - 1)) >= 0: one
// scalar of the iteration. Maps in loops that select by a guard are computed with it where that scalar is negative, and
// without it elsewhere: inside of a causal mask, or of a ragged extent, no place pays for it.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Passes.h"

using namespace mlir;

namespace weft::schedule {

#define GEN_PASS_DEF_TKSPLITMASKS
#include "weft/Schedule/Passes.h.inc"

namespace {

/// Smaller tiles are not worth a branch.
constexpr int64_t leastElements = 1024;

/// `constraint` at the place of the tile where it is least; nothing if it is not linear in the places.
std::optional<AffineExpr> findLeast(AffineExpr constraint, ArrayRef<int64_t> shape, unsigned symbols) {
  MLIRContext *context = constraint.getContext();
  unsigned dims = shape.size();
  SmallVector<AffineExpr> corner;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    AffineExpr dim = getAffineDimExpr(i, context);
    DenseMap<AffineExpr, AffineExpr> next{{dim, dim + 1}};
    AffineExpr slope = simplifyAffineExpr(constraint.replace(next) - constraint, dims, symbols);
    auto number = dyn_cast<AffineConstantExpr>(slope);
    if (!number)
      return std::nullopt;
    corner.push_back(getAffineConstantExpr(number.getValue() < 0 ? extent - 1 : 0, context));
  }
  return simplifyAffineExpr(constraint.replaceDims(corner), 0, symbols);
}

/// The guard that `map` selects by and uses for nothing else; null if there is none.
tk::GuardOp findMask(tk::MapOp map) {
  for (auto [input, argument] : llvm::zip(map.getInputs(), map.getBody().front().getArguments())) {
    auto guard = input.getDefiningOp<tk::GuardOp>();
    if (!guard || !guard.getIndices().empty() || guard->getBlock() != map->getBlock())
      continue;
    bool isCondition = llvm::all_of(argument.getUses(), [](OpOperand &use) {
      return isa<arith::SelectOp>(use.getOwner()) && use.getOperandNumber() == 0;
    });
    if (isCondition)
      return guard;
  }
  return {};
}

/// The value of a sum of products; null if `expr` divides.
Value expand(OpBuilder &builder, Location loc, AffineExpr expr, ValueRange symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, number.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  bool isSum = expr.getKind() == AffineExprKind::Add;
  if (!binary || (!isSum && expr.getKind() != AffineExprKind::Mul))
    return {};
  Value lhs = expand(builder, loc, binary.getLHS(), symbols), rhs = expand(builder, loc, binary.getRHS(), symbols);
  if (!lhs || !rhs)
    return {};
  return isSum ? Value(arith::AddIOp::create(builder, loc, lhs, rhs))
               : Value(arith::MulIOp::create(builder, loc, lhs, rhs));
}

/// Whether the guard holds everywhere, as a scalar; null if that cannot be said.
Value makeCondition(OpBuilder &builder, tk::GuardOp guard) {
  IntegerSet set = guard.getGuard();
  ArrayRef<int64_t> shape = guard.getResult().getType().getShape();
  SmallVector<AffineExpr> least;
  for (auto [i, constraint] : llvm::enumerate(set.getConstraints())) {
    std::optional<AffineExpr> bound = set.isEq(i) ? std::nullopt : findLeast(constraint, shape, set.getNumSymbols());
    if (!bound)
      return {};
    least.push_back(*bound);
  }
  Location loc = guard.getLoc();
  Value condition, zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (AffineExpr bound : least) {
    Value value = expand(builder, loc, bound, guard.getSymbols());
    if (!value)
      return {};
    Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, value, zero);
    condition = condition ? Value(arith::AndIOp::create(builder, loc, condition, holds)) : holds;
  }
  return condition;
}

/// `map` where `guard` holds: without it.
SmallVector<Value> emitUnmasked(OpBuilder &builder, tk::MapOp map, tk::GuardOp guard) {
  SmallVector<Value> inputs;
  for (Value input : map.getInputs())
    if (input != guard.getResult())
      inputs.push_back(input);
  Region body;
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(&body.emplaceBlock());
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip(map.getInputs(), map.getBody().front().getArguments()))
    if (input != guard.getResult())
      mapping.map(argument, body.front().addArgument(argument.getType(), argument.getLoc()));
  for (Operation &op : map.getBody().front()) {
    auto select = dyn_cast<arith::SelectOp>(op);
    auto argument = select ? dyn_cast<BlockArgument>(select.getCondition()) : BlockArgument();
    if (argument && map.getInputs()[argument.getArgNumber()] == guard.getResult())
      mapping.map(select.getResult(), mapping.lookupOrDefault(select.getTrueValue()));
    else
      inner.clone(op, mapping);
  }
  auto plain = tk::MapOp::create(builder, map.getLoc(), map.getResultTypes(), inputs);
  plain.getBody().takeBody(body);
  return SmallVector<Value>(plain.getResults());
}

bool split(tk::MapOp map) {
  auto type = cast<tk::TileType>(map.getResultTypes().front());
  if (!map->getParentOfType<scf::ForOp>() || type.getNumElements() < leastElements)
    return false;
  tk::GuardOp guard = findMask(map);
  OpBuilder builder(map);
  Value condition = guard ? makeCondition(builder, guard) : Value();
  if (!condition)
    return false;
  auto branch = scf::IfOp::create(builder, map.getLoc(), map.getResultTypes(), condition, /*withElseRegion=*/true);
  OpBuilder then = OpBuilder::atBlockEnd(branch.thenBlock()), otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
  scf::YieldOp::create(then, map.getLoc(), emitUnmasked(then, map, guard));
  map.replaceAllUsesWith(branch.getResults());
  if (guard->hasOneUse())
    guard->moveBefore(branch.elseBlock(), branch.elseBlock()->end());
  map->moveBefore(branch.elseBlock(), branch.elseBlock()->end());
  scf::YieldOp::create(otherwise, map.getLoc(), map.getResults());
  return true;
}

class TkSplitMasks : public impl::TkSplitMasksBase<TkSplitMasks> {
  void runOnOperation() override {
    SmallVector<tk::MapOp> maps;
    getOperation().walk([&](tk::MapOp map) { maps.push_back(map); });
    for (tk::MapOp map : maps)
      numSplit += split(map);
  }
};

} // namespace
} // namespace weft::schedule
