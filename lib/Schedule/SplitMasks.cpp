// --weft-tk-split-masks: where masks hold for whole tiles, nothing selects by them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A constraint e + sum a_i d_i >= 0 holds for all indices d_i of [0, n_i) if e + sum min(0, a_i (n_i - 1)) >= 0. In a
// loop over steps k that is f + s k >= 0, f being known ahead of it: the steps in which the masks of its maps hold are
// an interval. The loop becomes one ahead of it (where some s > 0), one without masks, and one behind it (where some
// s <= 0): inside of a causal mask or of a ragged extent no element pays for it, and no branch divides the step, across
// which ptxas would move nothing. A map of a tile's first step, which stands ahead of the loop, becomes a branch.
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

/// Smaller tiles are not worth a branch, or a loop.
constexpr int64_t leastElements = 1024;

/// Loops of fewer steps become straight code, in which the steps' values are there at the same time.
constexpr int64_t leastSteps = 3;

/// Parts of an index along a dimension, which rows of several dimensions have, as dimensions of their own: whatever
/// holds for all of these holds for all indices.
AffineExpr makePartsDims(AffineExpr constraint, SmallVectorImpl<int64_t> &shape) {
  DenseMap<AffineExpr, AffineExpr> parts;
  constraint.walk([&](AffineExpr part) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(part);
    auto dim = binary ? dyn_cast<AffineDimExpr>(binary.getLHS()) : AffineDimExpr(nullptr);
    auto divisor = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS()) : AffineConstantExpr(nullptr);
    bool isQuotient = part.getKind() == AffineExprKind::FloorDiv;
    if (!dim || !divisor || (!isQuotient && part.getKind() != AffineExprKind::Mod) || parts.contains(part))
      return;
    int64_t extent = shape[dim.getPosition()], number = divisor.getValue();
    parts[part] = getAffineDimExpr(shape.size(), constraint.getContext());
    shape.push_back(isQuotient ? (extent + number - 1) / number : std::min(extent, number));
  });
  return constraint.replace(parts);
}

/// `constraint` at the index of the tile where it is least, or less; nothing if it is not linear in parts of the
/// indices.
std::optional<AffineExpr> findLeast(AffineExpr constraint, ArrayRef<int64_t> tile, unsigned symbols) {
  MLIRContext *context = constraint.getContext();
  SmallVector<int64_t> shape(tile);
  constraint = makePartsDims(constraint, shape);
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

/// The guard that `map` selects by and uses for nothing else, and which of its inputs it is; as it is, or stretched.
struct Mask {
  tk::MapOp map;
  unsigned input = 0;
  tk::GuardOp guard;
};

std::optional<Mask> findMask(tk::MapOp map) {
  if (cast<tk::TileType>(map.getResultTypes().front()).getNumElements() < leastElements)
    return std::nullopt;
  for (auto [i, input] : llvm::enumerate(map.getInputs())) {
    Value source = input;
    if (auto stretched = source.getDefiningOp<tk::BroadcastOp>())
      source = stretched.getInput();
    auto guard = source.getDefiningOp<tk::GuardOp>();
    if (!guard || !guard.getIndices().empty())
      continue;
    bool isCondition = llvm::all_of(map.getBody().front().getArgument(i).getUses(), [](OpOperand &use) {
      return isa<arith::SelectOp>(use.getOwner()) && use.getOperandNumber() == 0;
    });
    if (isCondition)
      return Mask{map, unsigned(i), guard};
  }
  return std::nullopt;
}

/// A sum of products with constants.
bool isLinear(AffineExpr form) {
  bool hasDivision =
      form.walk([](AffineExpr part) {
            bool divides = llvm::is_contained({AffineExprKind::FloorDiv, AffineExprKind::CeilDiv, AffineExprKind::Mod},
                                              part.getKind());
            return divides ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  return !hasDivision && form.isPureAffine();
}

/// Scalars as forms: symbols stand for what is known ahead of the loop, dimension 0 for its step.
class Forms {
public:
  Forms(MLIRContext *context, scf::ForOp loop) : context(context), loop(loop) {}

  /// What has to be at least 0 for the guard to hold for its whole tile; nothing if that is no linear form.
  std::optional<SmallVector<AffineExpr>> boundsOf(tk::GuardOp guard);
  /// The step's factor in a form, and the form at step 0.
  int64_t slopeOf(AffineExpr form) const;
  AffineExpr restOf(AffineExpr form) const;
  /// The value of a form without steps.
  Value emit(OpBuilder &builder, AffineExpr form);

  /// The form of a scalar; nothing if it is none.
  std::optional<AffineExpr> formOf(Value value);

private:
  MLIRContext *context;
  scf::ForOp loop; ///< None: all values are known.
  SmallVector<Value> known;
};

std::optional<AffineExpr> Forms::formOf(Value value) {
  if (loop && value == loop.getInductionVar())
    return getAffineDimExpr(0, context);
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return getAffineConstantExpr(*number, context);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    std::optional<AffineExpr> lhs = formOf(op->getOperand(0)), rhs = formOf(op->getOperand(1));
    bool isForm = lhs && rhs && (!isa<arith::MulIOp>(op) || isa<AffineConstantExpr>(*rhs));
    if (isForm)
      return isa<arith::AddIOp>(op) ? *lhs + *rhs : isa<arith::SubIOp>(op) ? *lhs - *rhs : *lhs * *rhs;
  }
  if (loop && !loop.isDefinedOutsideOfLoop(value))
    return std::nullopt;
  auto *found = llvm::find(known, value);
  if (found == known.end())
    found = known.insert(found, value);
  return getAffineSymbolExpr(found - known.begin(), context);
}

std::optional<SmallVector<AffineExpr>> Forms::boundsOf(tk::GuardOp guard) {
  IntegerSet set = guard.getGuard();
  SmallVector<AffineExpr> symbols, bounds;
  for (Value symbol : guard.getSymbols()) {
    std::optional<AffineExpr> form = formOf(symbol);
    if (!form)
      return std::nullopt;
    symbols.push_back(*form);
  }
  for (auto [i, constraint] : llvm::enumerate(set.getConstraints())) {
    std::optional<AffineExpr> least =
        set.isEq(i) ? std::nullopt : findLeast(constraint, guard.getResult().getType().getShape(), set.getNumSymbols());
    if (!least)
      return std::nullopt;
    bounds.push_back(simplifyAffineExpr(least->replaceSymbols(symbols), 1, known.size()));
    if (!isLinear(bounds.back()))
      return std::nullopt;
  }
  return bounds;
}

int64_t Forms::slopeOf(AffineExpr form) const {
  AffineExpr step = getAffineDimExpr(0, context);
  AffineExpr slope = simplifyAffineExpr(form.replace(step, step + 1) - form, 1, known.size());
  return cast<AffineConstantExpr>(slope).getValue();
}

AffineExpr Forms::restOf(AffineExpr form) const {
  return simplifyAffineExpr(form.replaceDims(getAffineConstantExpr(0, context)), 1, known.size());
}

Value Forms::emit(OpBuilder &builder, AffineExpr form) {
  Location loc = builder.getUnknownLoc();
  if (auto number = dyn_cast<AffineConstantExpr>(form))
    return arith::ConstantIndexOp::create(builder, loc, number.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(form))
    return known[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(form);
  Value lhs = emit(builder, binary.getLHS()), rhs = emit(builder, binary.getRHS());
  return form.getKind() == AffineExprKind::Add ? builder.createOrFold<arith::AddIOp>(loc, lhs, rhs)
                                               : builder.createOrFold<arith::MulIOp>(loc, lhs, rhs);
}

/// `map` where its mask holds.
SmallVector<Value> emitUnmasked(OpBuilder &builder, tk::MapOp map, unsigned masked) {
  SmallVector<Value> inputs;
  Region body;
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(&body.emplaceBlock());
  IRMapping mapping;
  Block &old = map.getBody().front();
  for (auto [i, input] : llvm::enumerate(map.getInputs())) {
    if (i == masked)
      continue;
    inputs.push_back(input);
    mapping.map(old.getArgument(i), body.front().addArgument(old.getArgument(i).getType(), map.getLoc()));
  }
  for (Operation &op : old) {
    auto select = dyn_cast<arith::SelectOp>(op);
    if (select && select.getCondition() == old.getArgument(masked))
      mapping.map(select.getResult(), mapping.lookupOrDefault(select.getTrueValue()));
    else
      inner.clone(op, mapping);
  }
  auto plain = tk::MapOp::create(builder, map.getLoc(), map.getResultTypes(), inputs);
  plain.getBody().takeBody(body);
  return SmallVector<Value>(plain.getResults());
}

/// A loop whose maps have masks.
class MaskedLoop {
public:
  explicit MaskedLoop(scf::ForOp loop) : loop(loop), forms(loop.getContext(), loop) {}

  /// Whether some masks hold in an interval of steps.
  bool analyse();
  /// Makes it two or three loops; the number of maps that have lost a mask.
  int64_t split();

private:
  /// The interval's first step and the one behind its last.
  std::pair<Value, Value> emitInterval(OpBuilder &builder);
  /// The steps from `first` to `end`, with the states that `results` were, and which they become.
  scf::ForOp emitSteps(OpBuilder &builder, Value first, Value end, SmallVector<Value> &results, IRMapping &mapping);

  scf::ForOp loop;
  Forms forms;
  SmallVector<Mask> masks;
  SmallVector<AffineExpr> bounds;
  bool hasAhead = false, hasBehind = false;
};

bool MaskedLoop::analyse() {
  // Other loops wait for what they load, whether they compare indices or not.
  if (getConstantIntValue(loop.getStep()) != 1 || loop.getBody()->getOps<tk::DotOp>().empty())
    return false;
  for (auto map : loop.getBody()->getOps<tk::MapOp>()) {
    std::optional<Mask> mask = findMask(map);
    std::optional<SmallVector<AffineExpr>> own = mask ? forms.boundsOf(mask->guard) : std::nullopt;
    if (!own)
      continue;
    masks.push_back(*mask);
    for (AffineExpr bound : *own)
      if (!llvm::is_contained(bounds, bound))
        bounds.push_back(bound);
  }
  for (AffineExpr bound : bounds)
    (forms.slopeOf(bound) > 0 ? hasAhead : hasBehind) = true;
  return !masks.empty();
}

std::pair<Value, Value> MaskedLoop::emitInterval(OpBuilder &builder) {
  Location loc = loop.getLoc();
  auto known = [&](Value bound) { return forms.emit(builder, *forms.formOf(bound)); };
  Value start = known(loop.getLowerBound()), first = start, end = known(loop.getUpperBound()),
        zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (AffineExpr bound : bounds) {
    int64_t slope = forms.slopeOf(bound), size = std::abs(slope);
    AffineExpr rest = forms.restOf(bound);
    if (slope == 0) { // In all of them or in none.
      Value holds =
          builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, forms.emit(builder, rest), zero);
      end = builder.createOrFold<arith::SelectOp>(loc, holds, end, start);
      continue;
    }
    // Up to rest / size, rounded down; from -rest / size on, rounded up.
    Value sum = forms.emit(builder, slope < 0 ? rest + size : size - 1 - rest);
    sum = builder.createOrFold<arith::MaxSIOp>(loc, sum, zero);
    Value divisor = arith::ConstantIndexOp::create(builder, loc, size);
    Value limit = builder.createOrFold<arith::DivUIOp>(loc, sum, divisor);
    if (slope < 0)
      end = builder.createOrFold<arith::MinSIOp>(loc, end, limit);
    else
      first = builder.createOrFold<arith::MaxSIOp>(loc, first, limit);
  }
  end = builder.createOrFold<arith::MaxSIOp>(loc, end, start);
  return {hasAhead ? builder.createOrFold<arith::MinSIOp>(loc, first, end) : first, end};
}

scf::ForOp MaskedLoop::emitSteps(OpBuilder &builder, Value first, Value end, SmallVector<Value> &results,
                                 IRMapping &mapping) {
  auto part = cast<scf::ForOp>(builder.clone(*loop, mapping));
  part.setLowerBound(first);
  part.setUpperBound(end);
  part.getInitArgsMutable().assign(results);
  results.assign(part.getResults().begin(), part.getResults().end());
  return part;
}

int64_t MaskedLoop::split() {
  OpBuilder builder(loop);
  auto [first, end] = emitInterval(builder);
  std::optional<int64_t> from = getConstantIntValue(first), to = getConstantIntValue(end);
  if (from && to && *to - *from < leastSteps)
    return 0;
  SmallVector<Value> results(loop.getInitArgs());
  IRMapping ahead, inside, behind;
  if (hasAhead && getConstantIntValue(loop.getLowerBound()).value_or(-1) != from.value_or(-2))
    emitSteps(builder, loop.getLowerBound(), first, results, ahead);
  emitSteps(builder, first, end, results, inside);
  if (hasBehind && getConstantIntValue(loop.getUpperBound()).value_or(-1) != to.value_or(-2))
    emitSteps(builder, end, loop.getUpperBound(), results, behind);
  for (Mask &mask : masks) {
    auto map = cast<tk::MapOp>(inside.lookup(mask.map.getOperation()));
    builder.setInsertionPoint(map);
    Operation *condition = map.getInputs()[mask.input].getDefiningOp();
    map.replaceAllUsesWith(emitUnmasked(builder, map, mask.input));
    map.erase();
    while (condition && condition->use_empty()) {
      Operation *source = isa<tk::BroadcastOp>(condition) ? condition->getOperand(0).getDefiningOp() : nullptr;
      condition->erase();
      condition = source;
    }
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
  return masks.size();
}

/// A map of a tile's first step: with its mask only if that does not hold everywhere.
bool branch(const Mask &mask) {
  tk::MapOp map = mask.map;
  Forms forms(map.getContext(), {});
  std::optional<SmallVector<AffineExpr>> bounds = forms.boundsOf(mask.guard);
  if (!bounds)
    return false;
  OpBuilder builder(map);
  Location loc = map.getLoc();
  Value condition, zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (AffineExpr bound : *bounds) {
    if (isa<AffineConstantExpr>(bound)) // Folds as it is.
      return false;
    Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, forms.emit(builder, bound), zero);
    condition = condition ? Value(arith::AndIOp::create(builder, loc, condition, holds)) : holds;
  }
  auto either = scf::IfOp::create(builder, loc, map.getResultTypes(), condition, /*withElseRegion=*/true);
  OpBuilder then = OpBuilder::atBlockEnd(either.thenBlock()), otherwise = OpBuilder::atBlockEnd(either.elseBlock());
  scf::YieldOp::create(then, loc, emitUnmasked(then, map, mask.input));
  map.replaceAllUsesWith(either.getResults());
  map->moveBefore(either.elseBlock(), either.elseBlock()->end());
  scf::YieldOp::create(otherwise, loc, map.getResults());
  return true;
}

class TkSplitMasks : public impl::TkSplitMasksBase<TkSplitMasks> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      SmallVector<Mask> first;
      for (auto map : loop->getBlock()->getOps<tk::MapOp>())
        if (std::optional<Mask> mask = map->isBeforeInBlock(loop) ? findMask(map) : std::nullopt)
          first.push_back(*mask);
      MaskedLoop masked(loop);
      if (!masked.analyse())
        continue;
      numSplit += masked.split();
      for (const Mask &mask : first)
        numSplit += branch(mask);
    }
  }
};

} // namespace
} // namespace weft::schedule
