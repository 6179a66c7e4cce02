// Building the fold of a cascade: its regions from the states that the proof found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In `update` the states come in the order of their dependencies. A reduction's value so far is computed from its
// states (the sums of its terms, with their scales) and stands for its result in what depends on it. What was summed
// with earlier values is repaired before the step's part is added: a linear map of the states of one difference,
//   T0' = T0,  T1' = T1 + d T0,  T2' = T2 + d (2 T1 + d T0),  d = difference(after) - difference(before),
// times the ratios of exponentials and quotients. `merge` repairs both sides to the values of the whole.
#include "Cascade.h"

using namespace mlir;

namespace weft::tg {

//===-- One step's part of a state --------------------------------------------------------------------------------===//

/// 1 at every element of the stream, and extent 1 beside.
Value Cascade::buildOnes(GraphBuilder &b, Type element) {
  Dims dims(GraphBuilder::rankOf(streamed), b.builder.getAffineConstantExpr(1));
  dims[axis] = getDim(streamed.getType(), axis);
  return b.op<BroadcastOp>(getTensorType(dims, element), b.scalar(1, element));
}

/// What a state sums: the product of its factors.
Value Cascade::buildCore(GraphBuilder &b, const State &state, const StateValues &values) {
  if (state.whole)
    return tree->clone(b, state.whole, values);
  if (state.factors.size() == 1 && !state.difference &&
      (state.factors[0].kind == Factor::Plain || state.factors[0].kind == Factor::Exponential))
    return tree->clone(b, state.factors[0].value, values);
  Type element = cast<RankedTensorType>(state.type).getElementType();
  Value product;
  auto multiply = [&](Value value) { product = product ? b.op<MulOp>(product, value) : value; };
  for (unsigned i = 0; i < state.power; ++i)
    multiply(b.cast(tree->cloneDifference(b, state.difference, values, !isDeviation(state.difference)), element));
  for (const Factor &factor : state.factors)
    if (factor.kind == Factor::Plain || factor.kind == Factor::Exponential)
      multiply(b.cast(tree->clone(b, factor.value, values), element));
  for (const Factor &factor : state.factors) {
    if (factor.kind == Factor::Plain || factor.kind == Factor::Exponential)
      continue;
    Value value = tree->clone(b, factor.value, values), zero = b.scalar(0, element);
    if (factor.kind == Factor::Quantised) { // 0 / 0 where there were zeros only: 0, as they are.
      Value divisor = b.cast(tree->clone(b, factor.quotient->getOperand(1), values), element);
      Value isZero = b.op<CmpOp>(CmpPredicate::Eq, divisor, zero), number = b.cast(value, element);
      multiply(guards.holds(FoldGuard::ZeroDivisor, false) ? number : b.op<SelectOp>(isZero, zero, number));
    } else if (factor.kind == Factor::Divisor) {
      value = b.cast(value, element);
      product = product ? b.op<DivOp>(product, value) : b.op<ReciprocalOp>(value);
    } else {
      Value inner = product ? product : b.scalar(1, element);
      product = factor.kind == Factor::Where ? b.op<SelectOp>(value, inner, zero) : b.op<SelectOp>(value, zero, inner);
    }
  }
  return product ? product : buildOnes(b, element);
}

/// Whether a core may be rounded to the narrower type of what it is multiplied with: probabilities, and what was of
/// that type; not what a delayed scale has left large beside f16.
bool Cascade::staysNarrow(const State &state, FloatType other) const {
  bool isUnit = llvm::all_of(state.factors, [](const Factor &factor) {
    return factor.kind != Factor::Plain && factor.kind != Factor::Divisor && factor.kind != Factor::Quantised;
  });
  return guards.holds(FoldGuard::FitsF16, !other.isF16() || state.whole || (isUnit && !state.difference));
}

bool Cascade::fitsMatrix() const {
  auto contract = dyn_cast<ContractOp>(root);
  auto other = contract ? dyn_cast<FloatType>(GraphBuilder::elementOf(root->getOperand(1 - operand))) : FloatType();
  return !other || llvm::all_of(states, [&](const State &state) {
    bool isNarrow = state.factors.size() == 1 && state.factors[0].kind == Factor::Plain && !state.difference &&
                    GraphBuilder::elementOf(state.factors[0].value).getIntOrFloatBitWidth() <= other.getWidth();
    return state.owner != root || isNarrow || staysNarrow(state, other);
  });
}

/// The op of `update` that reduces the stream for `state`.
Value Cascade::buildPart(GraphBuilder &b, const State &state, const StateValues &values) {
  Value part;
  if (auto contract = dyn_cast_or_null<ContractOp>(state.owner)) {
    Value core = buildCore(b, state, values);
    SmallVector<Value> operands(contract->getOperands());
    Type element = GraphBuilder::elementOf(core), other = GraphBuilder::elementOf(operands[1 - operand]);
    if (auto narrow = dyn_cast<FloatType>(other);
        narrow && narrow.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth() && staysNarrow(state, narrow))
      core = b.cast(core, narrow);
    Type full = withElement(streamed.getType(), GraphBuilder::elementOf(core));
    operands[operand] = core.getType() == full ? core : b.op<BroadcastOp>(full, core);
    part = ContractOp::create(b.builder, root->getLoc(), state.type, operands[0], operands[1], contract.getMaps());
  } else {
    Type element = cast<RankedTensorType>(state.type).getElementType();
    Value core = state.owner ? b.cast(buildCore(b, state, values), element) : buildOnes(b, element);
    Location loc = state.owner ? state.owner->getLoc() : root->getLoc();
    Dims wanted = getDims(state.type);
    wanted[wanted.size() + tree->getAxis()] = getDim(streamed.getType(), axis);
    if (Type full = getTensorType(wanted, element); core.getType() != full)
      core = b.op<BroadcastOp>(full, core);
    part =
        ReduceOp::create(b.builder, loc, state.kind, core, ArrayRef<int64_t>{int64_t(wanted.size()) + tree->getAxis()},
                         /*keepDims=*/true);
  }
  part.getDefiningOp()->setAttr(FoldOp::streamedAttr, b.builder.getUnitAttr());
  return part;
}

//===-- Repairs ---------------------------------------------------------------------------------------------------===//

/// `value`, shaped like the streamed operand with extent 1 along the stream, as the states of `owner` are.
Value Cascade::align(GraphBuilder &b, Operation *owner, Value value) {
  auto contract = dyn_cast_or_null<ContractOp>(owner);
  if (!contract)
    return value;
  AffineMap from = contract.getMap(operand), to = contract.getMap(2);
  Dims dims = getDims(value.getType());
  dims.insert(dims.begin(), from.getNumResults() - dims.size(), b.builder.getAffineConstantExpr(1));
  value = b.reshape(value, dims);
  SmallVector<int64_t> order;
  Dims shape;
  for (AffineExpr expr : to.getResults()) {
    std::optional<unsigned> position = from.getResultPosition(expr);
    shape.push_back(position ? dims[*position] : b.builder.getAffineConstantExpr(1));
    if (position)
      order.push_back(*position);
  }
  for (int64_t i = 0; i < int64_t(from.getNumResults()); ++i) // The stream and what the root's result lacks: extent 1.
    if (!llvm::is_contained(order, i))
      order.push_back(i);
  return b.reshape(b.op<TransposeOp>(value, order), shape);
}

/// By what a factor has changed; null: not at all.
Value Cascade::ratioOf(GraphBuilder &b, const Factor &factor, const Change &change, const StateValues &after) {
  if (factor.kind == Factor::Exponential) {
    Value exponent = factor.value.getDefiningOp()->getOperand(0);
    Value shift = tree->buildShift(b, exponent, change.before, after, {});
    auto difference = withoutCasts(exponent).getDefiningOp<SubOp>();
    // A guarded maximum is 0 where nothing was summed: 0 * exp(0 - m) must stay 0 if m is far below. Maxima only grow.
    if (shift && difference && withoutCasts(difference.getRhs()).getDefiningOp<SelectOp>() &&
        !guards.holds(FoldGuard::GrowingMaximum, false))
      shift = b.op<MinOp>(shift, b.scalar(0, GraphBuilder::elementOf(shift)));
    return shift ? b.op<ExpOp>(shift) : Value();
  }
  if (factor.kind != Factor::Quantised)
    return {};
  Value divisor = factor.quotient->getOperand(1);
  FloatType type = getComputeType(GraphBuilder::elementOf(divisor));
  Value old = b.cast(tree->clone(b, divisor, change.safe), type), now = b.cast(tree->clone(b, divisor, after), type);
  if (isa<MulOp>(factor.quotient))
    std::swap(old, now);
  Value zero = b.scalar(0, type), isZero = b.op<CmpOp>(CmpPredicate::Eq, now, zero);
  return b.op<SelectOp>(isZero, zero, b.op<DivOp>(old, now));
}

/// State `index` as it would be, had it been summed with the values `after` of the reductions. `isLast`: with those
/// values even where they are not finite.
Value Cascade::repaired(GraphBuilder &b, unsigned index, const Change &change, const StateValues &after, bool isLast) {
  const State &state = states[index];
  Value total = change.states[index];
  Type element = GraphBuilder::elementOf(total);
  bool isGuarded = !isDeviation(state.difference);
  Value shift = state.difference && (isGuarded || !isLast)
                    ? tree->buildShift(b, state.difference, change.safe, after, {isGuarded, isGuarded && !isLast})
                    : Value();
  if (shift) {
    Value d = align(b, state.owner, b.cast(shift, element));
    Value inner = b.op<MulOp>(d, b.cast(change.states[state.lower[0]], element));
    if (state.power == 2) {
      if (state.lower[1] >= 0)
        inner = b.op<AddOp>(b.op<MulOp>(b.scalar(2, element), change.states[state.lower[1]]), inner);
      inner = b.op<MulOp>(d, inner);
    }
    total = b.op<AddOp>(total, inner);
  }
  for (const Factor &factor : state.factors)
    if (Value ratio = ratioOf(b, factor, change, after))
      total = b.op<MulOp>(total, align(b, state.owner, b.cast(ratio, element)));
  return total;
}

Value Cascade::combined(GraphBuilder &b, const State &state, Value left, Value right) {
  return state.kind == Monoid::Add   ? b.op<AddOp>(left, right)
         : state.kind == Monoid::Max ? b.op<MaxOp>(left, right)
                                     : b.op<MinOp>(left, right);
}

//===-- The values of reductions ----------------------------------------------------------------------------------===//

Value Cascade::scaled(GraphBuilder &b, Value value, const Scale &scale, const StateValues &values, Operation *owner) {
  Type element = GraphBuilder::elementOf(value);
  Value clone = tree->clone(b, scale.value, values);
  if (scale.kind == Scale::ZeroWhere)
    return b.op<SelectOp>(align(b, owner, clone), b.scalar(0, element), value);
  Value factor = align(b, owner, b.cast(clone, element));
  if (scale.kind == Scale::Mul)
    return b.op<MulOp>(value, factor);
  if (scale.kind == Scale::Div)
    return b.op<DivOp>(value, factor);
  if (guards.holds(FoldGuard::MaskedSum, false))
    return value;
  // The sum is 0 where it would have been NaN for a masked row.
  Value zero = b.scalar(0, element);
  Value isBad = b.op<OrOp>(b.op<IsNanOp>(factor), b.op<CmpOp>(CmpPredicate::Eq, factor, zero));
  return b.op<SelectOp>(isBad, zero, value);
}

/// The value of a sum from its states. `isLast`: as it is to be seen outside. A row that is masked as a whole has
/// summed exp(-inf - 0) = 0 where the graph says exp(-inf - -inf): repaired from the one to the other, it is NaN. A
/// quotient of two such sums is so by itself.
Value Cascade::assemble(GraphBuilder &b, const Owner &owner, const Change &change, const StateValues &values,
                        bool isLast) {
  Value total;
  for (auto [term, index] : llvm::zip_equal(owner.terms, owner.states)) {
    bool isQuotient = llvm::any_of(
        term.scales, [](const Scale &scale) { return scale.kind == Scale::Div || scale.kind == Scale::ZeroIfNan; });
    Value value = change.states[index];
    if (isLast && (!isQuotient || hasGuard(owner)))
      value = repaired(b, index, change, values, /*isLast=*/true);
    for (const Scale &scale : term.scales)
      value = scaled(b, value, scale, values, owner.op);
    if (total)
      total = term.isNegative ? b.op<SubOp>(total, value) : b.op<AddOp>(total, value);
    else
      total = term.isNegative ? b.op<NegOp>(value) : value;
  }
  return total;
}

/// What stands for the result of a reduction whose states are known, and for means that are made of it.
void Cascade::define(GraphBuilder &b, const Owner &owner, ArrayRef<Value> known, StateValues &values, bool isSafe) {
  auto reduce = cast<ReduceOp>(owner.op);
  Type element = GraphBuilder::elementOf(reduce.getResult());
  Value value;
  if (owner.core) {
    value = known[owner.states.front()];
    if (isSafe && !guards.holds(FoldGuard::EmptyExtreme, false)) { // Differences with it are defined.
      bool isMax = owner.kind == Monoid::Max;
      Value isEmpty = b.op<IsInfOp>(value, /*negative=*/isMax, /*positive=*/!isMax);
      value = b.op<SelectOp>(isEmpty, b.scalar(0, GraphBuilder::elementOf(value)), value);
    }
    if (owner.core != reduce.getInput()) {
      StateValues inner = values;
      inner[owner.core] = value;
      value = tree->clone(b, reduce.getInput(), inner);
    }
  } else {
    Change now;
    llvm::append_range(now.states, known);
    value = assemble(b, owner, now, values, /*isLast=*/false);
  }
  values[reduce.getResult()] = b.cast(value, element);
  for (auto [mean, sum] : means)
    if (sum == reduce) {
      Type type = GraphBuilder::elementOf(known[0]);
      Value places = guards.holds(FoldGuard::SomePlaces, false) ? known[0] : b.op<MaxOp>(known[0], b.scalar(1, type));
      values[mean] = b.cast(b.op<DivOp>(b.cast(value, type), places), GraphBuilder::elementOf(mean));
    }
}

/// Defines the reductions that have all their states with number `state`.
void Cascade::note(GraphBuilder &b, unsigned state, ArrayRef<Value> known, StateValues &values, bool isSafe) {
  for (const Owner &owner : owners)
    if (owner.op != root && owner.op == states[state].owner &&
        (state + 1 == states.size() || states[state + 1].owner != owner.op))
      define(b, owner, known, values, isSafe);
}

//===-- The regions -----------------------------------------------------------------------------------------------===//

void Cascade::buildUpdate(OpBuilder &builder, FoldOp fold) {
  Block &block = fold.getUpdate().front();
  builder.setInsertionPointToEnd(&block);
  GraphBuilder b{builder, root->getLoc()};
  Change change;
  llvm::append_range(change.states, block.getArguments());
  StateValues after;
  SmallVector<Value> next;
  for (auto [i, state] : llvm::enumerate(states)) {
    Value part = buildPart(b, state, after);
    next.push_back(combined(b, state, repaired(b, i, change, after), part));
    note(b, i, change.states, change.before, /*isSafe=*/false);
    note(b, i, change.states, change.safe, /*isSafe=*/true);
    note(b, i, next, after, /*isSafe=*/true);
  }
  FoldYieldOp::create(builder, root->getLoc(), next);
}

/// Both sides are brought to the common later reductions, then combined.
void Cascade::buildMerge(OpBuilder &builder, FoldOp fold) {
  Block &block = fold.getMerge().front();
  builder.setInsertionPointToEnd(&block);
  GraphBuilder b{builder, root->getLoc()};
  Change sides[2];
  for (auto [i, side] : llvm::enumerate(sides))
    llvm::append_range(side.states, block.getArguments().slice(i * states.size(), states.size()));
  StateValues after;
  SmallVector<Value> next;
  for (auto [i, state] : llvm::enumerate(states)) {
    Value left = repaired(b, i, sides[0], after), right = repaired(b, i, sides[1], after);
    next.push_back(combined(b, state, left, right));
    for (Change &side : sides) {
      note(b, i, side.states, side.before, /*isSafe=*/false);
      note(b, i, side.states, side.safe, /*isSafe=*/true);
    }
    note(b, i, next, after, /*isSafe=*/true);
  }
  FoldYieldOp::create(builder, root->getLoc(), next);
}

void Cascade::buildFinish(OpBuilder &builder, FoldOp fold) {
  Block &block = fold.getFinish().front();
  builder.setInsertionPointToEnd(&block);
  GraphBuilder b{builder, root->getLoc()};
  Change change;
  llvm::append_range(change.states, block.getArguments());
  StateValues last;
  for (unsigned i = 0; i < states.size(); ++i) {
    note(b, i, change.states, change.before, /*isSafe=*/true); // What the sums were made with.
    note(b, i, change.states, change.safe, /*isSafe=*/true);
    note(b, i, change.states, last, /*isSafe=*/false);
    for (const Owner &owner : owners)
      if (owner.op != root && !owner.core && owner.states.back() == i && hasGuard(owner)) {
        Value whole = assemble(b, owner, change, last, /*isLast=*/true);
        Value result = owner.op->getResult(0);
        last[result] = b.cast(whole, GraphBuilder::elementOf(result));
      }
  }
  auto resultOf = [&](const Owner &owner) {
    Type type = owner.op->getResult(0).getType();
    Value value;
    if (owner.core) {
      StateValues inner = last;
      inner[owner.core] = change.states[owner.states.front()];
      value = tree->clone(b, cast<ReduceOp>(owner.op).getInput(), inner);
    } else {
      value = assemble(b, owner, change, last, /*isLast=*/true);
    }
    return b.reshape(b.cast(value, cast<RankedTensorType>(type).getElementType()), getDims(type));
  };
  SmallVector<Value> results{resultOf(owners.back())};
  for (ReduceOp reduce : escaping)
    results.push_back(resultOf(*llvm::find_if(owners, [&](const Owner &owner) { return owner.op == reduce; })));
  FoldYieldOp::create(builder, root->getLoc(), results);
}

//===-- The fold --------------------------------------------------------------------------------------------------===//

/// Whether nothing is left of `op` once the root is gone.
static bool diesWith(Operation *root, Operation *op) {
  if (op == root)
    return true;
  return isPure(op) && !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::all_of(op->getUsers(), [&](Operation *user) { return diesWith(root, user); });
}

/// Whether `op` comes after the root, or can be moved there with all that reads it.
static bool canFollow(Operation *root, Operation *op) {
  if (op->getBlock() != root->getBlock())
    return false;
  if (root->isBeforeInBlock(op))
    return true;
  return op == root || diesWith(root, op) ||
         (isPure(op) && llvm::all_of(op->getUsers(), [&](Operation *user) { return canFollow(root, user); }));
}

/// What comes before the root, outlives it, and reads a result of `op`, itself or through others.
static void addReaders(Operation *root, Operation *op, llvm::SetVector<Operation *> &found) {
  for (Operation *user : op->getUsers())
    if (user->getBlock() == root->getBlock() && user->isBeforeInBlock(root) && !diesWith(root, user) &&
        found.insert(user))
      addReaders(root, user, found);
}

/// Earlier reductions that something else reads, and that can come out of the fold.
SmallVector<ReduceOp> Cascade::findEscaping() const {
  SmallVector<ReduceOp> found;
  for (const Owner &owner : owners)
    if (owner.op != root && !diesWith(root, owner.op) &&
        llvm::all_of(owner.op->getUsers(), [&](Operation *user) { return canFollow(root, user); }))
      found.push_back(cast<ReduceOp>(owner.op));
  return found;
}

FoldOp Cascade::createFold(OpBuilder &builder) {
  builder.setInsertionPoint(root);
  SmallVector<Type> types, results{root->getResult(0).getType()};
  SmallVector<Attribute> init;
  for (const State &state : states) {
    types.push_back(state.type);
    auto element = cast<FloatType>(cast<RankedTensorType>(state.type).getElementType());
    const llvm::fltSemantics &semantics = element.getFloatSemantics();
    init.push_back(FloatAttr::get(element, state.kind == Monoid::Add
                                               ? APFloat::getZero(semantics)
                                               : APFloat::getInf(semantics, state.kind == Monoid::Max)));
  }
  for (ReduceOp reduce : escaping)
    results.push_back(reduce.getType());
  AffineExpr extent = simplify(getDim(streamed.getType(), axis));
  unsigned symbols = 0;
  extent.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  auto fold = FoldOp::create(builder, root->getLoc(), results, AffineMap::get(0, symbols, extent), /*parts=*/{},
                             /*unit=*/{}, builder.getArrayAttr(init));
  StringRef names[] = {"exact", "reassociating", "approximating"};
  fold->setAttr("tg.numerics", builder.getStringAttr(names[unsigned(numerics)]));
  SmallVector<Type> twice = types;
  llvm::append_range(twice, types);
  for (auto [region, arguments] : {std::pair<Region *, ArrayRef<Type>>{&fold.getUpdate(), types},
                                   {&fold.getMerge(), twice},
                                   {&fold.getFinish(), types}})
    region->emplaceBlock().addArguments(arguments, SmallVector<Location>(arguments.size(), root->getLoc()));
  return fold;
}

FoldOp Cascade::build(OpBuilder &builder, bool withResults) {
  if (withResults)
    escaping = findEscaping();
  FoldOp fold = createFold(builder);
  buildUpdate(builder, fold);
  if (numerics != Numerics::Exact)
    widenProducts(builder, fold.getUpdate().front());
  delayScales(builder, fold.getUpdate().front());
  buildMerge(builder, fold);
  buildFinish(builder, fold);
  llvm::SetVector<Operation *> readers;
  for (ReduceOp reduce : escaping)
    addReaders(root, reduce, readers);
  bool feedsFold = llvm::any_of(readers, [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) { return fold->isProperAncestor(user); });
  });
  if (!guards.holds(FoldGuard::ReadersBehind, !feedsFold)) // They stay, with the reductions that they read.
    readers.clear(), escaping.clear();
  SmallVector<Operation *> moved(readers.begin(), readers.end());
  llvm::sort(moved, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  root->getResult(0).replaceAllUsesWith(fold.getResult(0));
  Operation *place = root;
  for (Operation *op : moved) {
    op->moveAfter(place);
    place = op;
  }
  for (auto [i, reduce] : llvm::enumerate(escaping))
    reduce.getResult().replaceUsesWithIf(fold.getResult(i + 1), [&](OpOperand &use) {
      return root->getBlock() == use.getOwner()->getBlock() && root->isBeforeInBlock(use.getOwner());
    });
  root->erase();
  return fold;
}

} // namespace weft::tg
