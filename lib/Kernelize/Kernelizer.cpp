// The recursion: dispatch by op family, memory of what was computed, masks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::kernelize {

Kernelizer::Kernelizer(func::FuncOp source, tg::ScheduleAttr schedule, bool allowTf32)
    : source(source), schedule(schedule), allowTf32(allowTf32),
      access(tg::analyseAccess(source.getBody().front(), /*entersFolds=*/true)),
      builder(source.getLoc(), source.getContext()), space(source.getContext()) {}

Tile Kernelizer::fail(Operation *op, Value value, const Twine &reason) {
  if (!failed)
    op->emitOpError("cannot become GPU tiles: ") << reason;
  failed = true;
  return constant(getZero(getHeldType(cast<RankedTensorType>(value.getType()).getElementType())));
}

Key Kernelizer::keyOf(const void *what, ArrayRef<AffineExpr> at) {
  Key key{what};
  for (AffineExpr expr : at)
    key.push_back(expr.getAsOpaquePointer());
  return key;
}

Tile Kernelizer::memoised(Key key, Scope *scope, Location loc, llvm::function_ref<Tile()> make) {
  if (auto it = scope->tiles.find(key); it != scope->tiles.end())
    return it->second;
  InScope in(*this, scope, loc);
  Tile made = make();
  scope->tiles[std::move(key)] = made;
  return made;
}

/// The coordinates in normal form; 0 along dimensions of extent 1.
Exprs Kernelizer::canonical(Value value, ArrayRef<AffineExpr> at) {
  Exprs result;
  for (auto [place, extent] : llvm::zip_equal(at, tg::getDims(value.getType())))
    result.push_back(tg::getConstant(extent) == 1 ? space.constant(0) : space.simplify(place));
  return result;
}

Scope *Kernelizer::scopeFor(Value value, ArrayRef<AffineExpr> exprs) {
  Scope *scope = space.scopeOf(exprs, &root), *region = regionScopes.lookup(value.getParentBlock());
  return region && region->depth > scope->depth ? region : scope;
}

Tile Kernelizer::tile(Value value, ArrayRef<AffineExpr> at) {
  Exprs places = canonical(value, at);
  return memoised(keyOf(value.getAsOpaquePointer(), places), scopeFor(value, places), value.getLoc(),
                  [&] { return evaluate(value, places); });
}

Tile Kernelizer::evaluate(Value value, ArrayRef<AffineExpr> at) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return arguments.count(argument) ? load(argument, at, {}, {}) : state(argument, at);
  Operation *op = value.getDefiningOp();
  if (std::optional<Exprs> through = throughView(op, at))
    return tile(op->getOperand(0), *through);
  return llvm::TypeSwitch<Operation *, Tile>(op)
      .Case([&](tg::PointwiseOpInterface op) { return pointwise(op, at); })
      .Case([&](tg::BitcastOp op) { return bitcast(op, at); })
      .Case([&](tg::PadOp op) { return pad(op, at); })
      .Case([&](tg::ConcatOp op) { return concat(op, at); })
      .Case([&](tg::IotaOp op) { return iota(op, at); })
      .Case([&](tg::ExtentsOp op) { return extents(op, at); })
      .Case([&](tg::ConstantOp op) { return contents(op, at); })
      .Case([&](tg::ReduceOp op) { return reduce(op, at); })
      .Case([&](tg::ArgReduceOp op) { return argReduce(op, at); })
      .Case([&](tg::ContractOp op) { return contract(op, at); })
      .Case([&](tg::GatherOp op) { return gather(op, at); })
      .Case([&](tg::ScatterOp op) { return scatter(op, at); })
      .Case([&](tg::ScanOp op) { return scan(op, at); })
      .Case([&](tg::FoldOp op) { return fold(op, cast<OpResult>(value).getResultNumber(), at); })
      .Case([&](tg::TopKOp op) { return topK(op, cast<OpResult>(value).getResultNumber(), at); })
      .Default([&](Operation *op) {
        return fail(op, value, "no rule for this op; --weft-normalize decomposes composites");
      });
}

/// Whether zeros of the operand give zeros of the result, for ops with one operand.
static bool keepsZero(Operation *op) { return isa<tg::CastOp, tg::NegOp, tg::AbsOp, tg::BitcastOp>(op); }

static bool isZero(TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValue().isPosZero();
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getValue().isZero();
}

Tile Kernelizer::masked(Value value, ArrayRef<AffineExpr> at, const Constraints &mask, TypedAttr fill) {
  if (mask.empty())
    return tile(value, at);
  Exprs places = canonical(value, at), exprs = places;
  for (const Constraint &constraint : mask)
    exprs.push_back(constraint.expr);
  Operation *op = value.getDefiningOp();
  if (op) {
    if (std::optional<Exprs> through = throughView(op, places))
      return masked(op->getOperand(0), *through, mask, fill);
    if (auto pad = dyn_cast<tg::PadOp>(op); pad && getSplat(pad.getValue()) == fill) {
      auto [through, constraints] = throughPad(pad, places);
      llvm::append_range(constraints, mask);
      return masked(pad.getInput(), through, constraints, fill);
    }
  }
  Key key = keyOf(value.getAsOpaquePointer(), exprs);
  for (const Constraint &constraint : mask)
    key.push_back(reinterpret_cast<const void *>(uintptr_t(1) + constraint.isEquality));
  key.push_back(fill.getAsOpaquePointer());
  return memoised(std::move(key), scopeFor(value, exprs), value.getLoc(), [&]() -> Tile {
    if (op && keepsZero(op) && isZero(fill)) {
      Value operand = op->getOperand(0);
      TypedAttr zero = getZero(getHeldType(cast<RankedTensorType>(operand.getType()).getElementType()));
      Tile input = masked(operand, places, mask, zero);
      if (auto bits = dyn_cast<tg::BitcastOp>(op))
        return bitcastTile(bits, input);
      return apply(cast<tg::PointwiseOpInterface>(op), input);
    }
    auto argument = arguments.count(value) ? cast<BlockArgument>(value) : BlockArgument();
    if (argument && (isZero(fill) || (argument.hasOneUse() && !hasFields(argument)))) {
      // Bare loads are zero outside their guard anyway.
      Constraints implied = space.ragged(places);
      bool isImplied = llvm::all_of(mask, [&](const Constraint &c) { return llvm::is_contained(implied, c); });
      return isZero(fill) && isImplied ? tile(value, places) : load(argument, places, mask, fill);
    }
    Tile inner = tile(value, places), inside = guard(mask);
    return select(inside, inner, constant(fill));
  });
}

} // namespace weft::kernelize
