// Which steps of a fold a tile needs: those in which an affine mask leaves something.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `select` of -inf whose masking leaves the states alone (weft/Dialect/TileGraph/IR/FoldMask.h) is asked for at the
// tile's coordinates, the streamed position being unknown. Comparisons of index forms in its condition say c >= 0, c a
// sum of axes, where a position is kept. Let R be the greatest value of the rest of c over the tile and a the
// coefficient of the streamed position p, of which step j holds j * T .. j * T + T - 1: then nothing is kept unless j
// <= R / (-a T) if a < 0, or j >= (-R + a - 1) / (a T) if a > 0, rounded down.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/FoldMask.h"

using namespace mlir;

namespace weft::kernelize {

/// `value` as an index form at coordinates `at`.
std::optional<AffineExpr> Kernelizer::indexForm(Value value, ArrayRef<AffineExpr> at) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<IntegerType>(cast<RankedTensorType>(value.getType()).getElementType()))
    return std::nullopt;
  if (std::optional<Exprs> through = throughView(op, at))
    return indexForm(op->getOperand(0), *through);
  if (auto iota = dyn_cast<tg::IotaOp>(op))
    return at[iota.getAxis()];
  if (auto number = dyn_cast_or_null<IntegerAttr>(getSplat(value)))
    return space.constant(number.getInt());
  if (auto extents = dyn_cast<tg::ExtentsOp>(op); extents && extents.getMap().getNumResults() == 1)
    return extents.getMap().getResult(0);
  SmallVector<AffineExpr> forms;
  if (isa<tg::CastOp, tg::AddOp, tg::SubOp, tg::MulOp>(op))
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (std::optional<AffineExpr> form = indexForm(operand, composed(tg::detail::broadcastMap(op, i), at)))
        forms.push_back(*form);
  if (forms.size() != op->getNumOperands() || forms.empty())
    return std::nullopt;
  if (isa<tg::CastOp>(op)) // Indices of tensors fit every type that a mask is made in.
    return cast<RankedTensorType>(value.getType()).getElementType().getIntOrFloatBitWidth() >= 32
               ? std::optional(forms[0])
               : std::nullopt;
  if (isa<tg::AddOp>(op))
    return space.simplify(forms[0] + forms[1]);
  if (isa<tg::SubOp>(op))
    return space.simplify(forms[0] - forms[1]);
  if (!tg::getConstant(forms[0]) && !tg::getConstant(forms[1]))
    return std::nullopt;
  return space.simplify(forms[0] * forms[1]);
}

namespace {
/// Operand `more` of a comparison is at least the other one plus `distance`.
struct AtLeast {
  unsigned more;
  int64_t distance;
};
} // namespace

/// What holds where the comparison of integers does (does not, if `isNegated`).
static SmallVector<AtLeast, 2> differencesOf(tg::CmpPredicate predicate, bool isNegated) {
  using P = tg::CmpPredicate;
  if (predicate == (isNegated ? P::Gt : P::Le))
    return {{1, 0}};
  if (predicate == (isNegated ? P::Ge : P::Lt))
    return {{1, 1}};
  if (predicate == (isNegated ? P::Lt : P::Ge))
    return {{0, 0}};
  if (predicate == (isNegated ? P::Le : P::Gt))
    return {{0, 1}};
  if (predicate == (isNegated ? P::Ne : P::Eq))
    return {{0, 0}, {1, 0}};
  return {};
}

/// Adds forms that are at least 0 exactly where the comparison holds (does not hold, if `isNegated`), if it is one of
/// index forms, or of one and of numbers in memory.
void Kernelizer::compareForms(tg::CmpOp op, ArrayRef<AffineExpr> at, bool isNegated, MaskForms &forms) {
  Exprs places[2];
  std::optional<AffineExpr> sides[2];
  for (unsigned i : {0u, 1u}) {
    places[i] = composed(tg::detail::broadcastMap(op, i), at);
    sides[i] = indexForm(op->getOperand(i), places[i]);
  }
  if (!sides[0] && !sides[1])
    return;
  for (auto [more, distance] : differencesOf(op.getPredicate(), isNegated)) {
    unsigned less = 1 - more;
    if (sides[0] && sides[1])
      forms.affine.push_back(space.simplify(*sides[more] - *sides[less] - distance));
    else if (auto data = dataForm(op->getOperand(sides[0] ? 1 : 0), places[sides[0] ? 1 : 0])) {
      AffineExpr rest = sides[more] ? *sides[more] - data->rest : data->rest - *sides[less];
      int64_t sign = sides[more] ? -data->sign : data->sign;
      forms.data.push_back({space.simplify(rest - distance), data->data, data->places, sign});
    }
  }
}

Constraints Kernelizer::indexCondition(tg::CmpOp op, ArrayRef<AffineExpr> at) {
  MaskForms forms;
  compareForms(op, at, /*isNegated=*/false, forms);
  Constraints constraints;
  for (AffineExpr form : forms.affine)
    constraints.push_back({form});
  return space.lanesOf(forms.affine).empty() ? Constraints() : constraints;
}

/// Adds forms that are at least 0 wherever `condition` holds (does not hold, if `isNegated`). Masks share parts: each
/// is looked at once.
void Kernelizer::findConditions(Value condition, ArrayRef<AffineExpr> at, bool isNegated, MaskForms &forms) {
  struct Item {
    Value condition;
    Exprs at;
    bool isNegated;
  };
  std::vector<Item> todo{{condition, Exprs(at), isNegated}};
  std::set<Key> seen[2];
  while (!todo.empty()) {
    Item item = std::move(todo.back());
    todo.pop_back();
    Operation *op = item.condition.getDefiningOp();
    if (!op || !seen[item.isNegated].insert(keyOf(item.condition.getAsOpaquePointer(), item.at)).second)
      continue;
    auto push = [&](unsigned i, bool isItemNegated) {
      todo.push_back({op->getOperand(i), Exprs(composed(tg::detail::broadcastMap(op, i), item.at)), isItemNegated});
    };
    if (std::optional<Exprs> through = throughView(op, item.at)) {
      todo.push_back({op->getOperand(0), *through, item.isNegated});
    } else if (isa<tg::NotOp>(op)) {
      push(0, !item.isNegated);
    } else if (item.isNegated ? isa<tg::OrOp>(op) : isa<tg::AndOp>(op)) {
      push(1, item.isNegated);
      push(0, item.isNegated);
    } else if (auto cmp = dyn_cast<tg::CmpOp>(op)) {
      compareForms(cmp, item.at, item.isNegated, forms);
    }
  }
}

/// Conditions under which the masks of `op` keep a position, from what `value` at `at` is made of.
void Kernelizer::findMasks(tg::FoldOp op, Value value, ArrayRef<AffineExpr> at, AffineExpr step, MaskForms &forms,
                           std::set<Key> &seen) {
  Operation *made = value.getDefiningOp();
  if (!made || !op->isProperAncestor(made) || !seen.insert(keyOf(value.getAsOpaquePointer(), at)).second)
    return;
  if (std::optional<Exprs> through = throughView(made, at))
    return findMasks(op, made->getOperand(0), *through, step, forms, seen);
  if (auto select = dyn_cast<tg::SelectOp>(made))
    if (std::optional<bool> onTrue = tg::choosesNegInf(select); onTrue && tg::keepsStates(op, select.getResult()))
      findConditions(select.getCondition(), composed(tg::detail::broadcastMap(made, 0), at), *onTrue, forms);
  auto tile = dyn_cast<tg::TileOpInterface>(made);
  bool isStreamedOp = tg::isStreamed(made);
  if (!tile || made->getNumResults() != 1 || !tile.getResultMap(0) ||
      (isa<tg::ContractOp, tg::ReduceOp>(made) && !isStreamedOp))
    return;
  AffineMap result = *tile.getResultMap(0);
  Exprs domain(result.getNumDims(), isStreamedOp ? step : space.constant(0));
  for (auto [expr, place] : llvm::zip_equal(result.getResults(), at))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      domain[dim.getPosition()] = place;
  for (auto [i, operand] : llvm::enumerate(made->getOperands()))
    if (std::optional<AffineMap> map = tile.getOperandMap(i))
      findMasks(op, operand, composed(*map, domain), step, forms, seen);
}

/// coefficients of atoms, and a constant; none if `expr` is not linear.
static bool addLinear(AffineExpr expr, int64_t factor, std::map<unsigned, int64_t> &terms, int64_t &constant) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * number.getValue();
    return true;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    terms[symbol.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, terms, constant) && addLinear(binary.getRHS(), factor, terms, constant);
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && number &&
         addLinear(binary.getLHS(), factor * number.getValue(), terms, constant);
}

std::optional<Kernelizer::StepBound> Kernelizer::boundOf(AffineExpr form, AffineExpr step) {
  std::map<unsigned, int64_t> terms, scalars;
  StepBound bound;
  if (!addLinear(form, 1, terms, bound.most))
    return std::nullopt;
  for (auto [atom, factor] : terms) {
    const Atom &known = space.atom(atom);
    if (getAffineSymbolExpr(atom, builder.getContext()) == step) {
      bound.factor = factor;
    } else if (known.kind == Atom::Kind::Scalar && known.value) {
      scalars[atom] += factor;
    } else if (known.kind == Atom::Kind::Axis) { // base * tile .. base * tile + tile - 1
      if (!addLinear(known.base, factor * known.tile, scalars, bound.most))
        return std::nullopt;
      bound.most += factor > 0 ? factor * (known.tile - 1) : 0;
    } else {
      return std::nullopt;
    }
  }
  for (auto [atom, factor] : scalars) {
    if (!space.atom(atom).value)
      return std::nullopt;
    if (factor != 0)
      bound.rest.push_back({space.atom(atom).value, factor});
  }
  return bound.factor == 0 ? std::nullopt : std::optional(bound);
}

/// The steps of a part: whole units, shared out evenly. All steps if the fold is not in parts.
Kernelizer::StepRange Kernelizer::stepsOfPart(tg::FoldOp op, AffineExpr part, const Streamed &dim) {
  if (!part)
    return {};
  Value number = numberOf(part), units = index(op.getNumUnits());
  if (!number) {
    fail(op, op->getResult(0), "expected the number of a part to be known of a tile");
    return {};
  }
  auto borderOf = [&](Value place) -> Value {
    Value unit = arith::DivUIOp::create(builder, arith::MulIOp::create(builder, place, units),
                                        index(space.constant(*op.getParts())));
    return arith::MulIOp::create(builder, unit, index(space.constant(*op.getUnit() / dim.step)));
  };
  Value next = arith::AddIOp::create(builder, number, index(space.constant(1)));
  Value count = index(space.simplify(dim.extent.ceilDiv(dim.step))); // The last unit may be cut short.
  StepRange range{borderOf(number), arith::MinSIOp::create(builder, borderOf(next), count)};
  if (std::optional<int64_t> extent = tg::getConstant(dim.extent);
      extent && *extent % (*op.getUnit() * *op.getParts()) == 0) {
    range.turns = *extent / *op.getParts() / dim.step;
    range.first = part * *range.turns;
  }
  return range;
}

/// Of a tile's steps, the whole `range` or `count` of them, those of one of the CTAs that share them: in a loop from 0
/// on, which is known to run where there are as many steps as CTAs.
Kernelizer::StepRange Kernelizer::shareSteps(StepRange range, AffineExpr count) {
  Value all = range.upper ? range.upper : index(count);
  if (range.lower) {
    Value zero = arith::ConstantIndexOp::create(builder, 0);
    all = arith::MaxSIOp::create(builder, arith::SubIOp::create(builder, all, range.lower), zero);
  }
  auto borderOf = [&](Value part) -> Value {
    return arith::DivUIOp::create(builder, arith::MulIOp::create(builder, part, all), tilePart.getParts());
  };
  Value one = arith::ConstantIndexOp::create(builder, 1), first = borderOf(tilePart.getPart()),
        next = borderOf(arith::AddIOp::create(builder, tilePart.getPart(), one));
  Value turns = arith::SubIOp::create(builder, next, first);
  if (!range.lower && !range.upper && tg::getConstant(count).value_or(0) >= partsOfTile)
    turns = arith::MaxSIOp::create(builder, turns, one);
  StepRange share;
  share.offset = range.lower ? Value(arith::AddIOp::create(builder, first, range.lower)) : first;
  share.upper = turns;
  return share;
}

/// The steps that a mask leaves, inside of those of the part, or of [0, count).
Kernelizer::StepRange Kernelizer::findSteps(tg::FoldOp op, const StatePlaces &places, const Streamed &dim,
                                            AffineExpr part) {
  StepRange range = stepsOfPart(op, part, dim);
  AffineExpr count = space.simplify(dim.extent.ceilDiv(dim.step));
  if (tg::getConstant(count).value_or(2) <= 1 && !tilePart)
    return range;
  AffineExpr step = space.addScalar({}, dim.extent, &root);
  MaskForms forms;
  std::set<Key> seen;
  for (auto [i, yielded] : llvm::enumerate(op.getUpdate().front().getTerminator()->getOperands()))
    if (places[i])
      findMasks(op, yielded, *places[i], step, forms, seen);
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, value); };
  SmallVector<StepBound> bounds;
  for (AffineExpr form : forms.affine)
    if (std::optional<StepBound> bound = boundOf(form, step))
      bounds.push_back(*bound);
  for (const DataForm &form : forms.data)
    if (std::optional<StepBound> bound = boundOf(form, step, dim.extent))
      bounds.push_back(*bound);
  if (!bounds.empty())
    range.turns.reset();
  for (const StepBound &bound : bounds) {
    // max(a T + R, 0) / (a T) steps from the first on, or none before max(a - 1 - R, 0) / (a T).
    bool isUpper = bound.factor < 0;
    int64_t a = std::abs(bound.factor), unit = a * dim.step, sign = isUpper ? 1 : -1;
    Value sum = number(isUpper ? unit + bound.most : a - 1 - bound.most);
    for (auto [scalar, factor] : bound.rest)
      sum = arith::AddIOp::create(builder, sum, arith::MulIOp::create(builder, scalar, number(sign * factor)));
    sum = arith::MaxSIOp::create(builder, sum, number(0));
    Value steps = arith::DivUIOp::create(builder, sum, number(unit));
    if (bound.mostPlaces) { // Of more, sums might overflow: all steps.
      Value fits =
          arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, index(dim.extent), number(*bound.mostPlaces));
      steps = arith::SelectOp::create(builder, fits, steps, isUpper ? index(count) : number(0));
    }
    if (!isUpper) {
      range.lower = range.lower ? Value(arith::MaxSIOp::create(builder, range.lower, steps)) : steps;
      continue;
    }
    Value end = range.upper ? range.upper : index(count);
    range.upper = arith::MinSIOp::create(builder, end, steps);
    for (auto [scalar, factor] : bound.rest)
      if (factor > 0 && isa<BlockArgument>(scalar) && scalar.getParentBlock() == root.block)
        growing.insert(scalar);
  }
  bool isUpper = llvm::any_of(bounds, [](const StepBound &bound) { return bound.factor < 0; });
  bool isLower = llvm::any_of(bounds, [](const StepBound &bound) { return bound.factor > 0; });
  if (isLower || isUpper)
    remark::passed(op.getLoc(), remark::RemarkOpts::name("masked-steps").category("plan")) << remark::add(
        "{0}", StringRef(isLower && isUpper ? "steps of the fold before and behind what the mask keeps are left out"
                         : isLower          ? "steps of the fold before what the mask keeps are left out"
                                            : "steps of the fold behind what the mask keeps are left out"));
  if (tilePart)
    return shareSteps(range, count);
  return range;
}

/// Tiles with the most steps come first: their numbers count down along what makes the steps more.
void Kernelizer::putLongTilesFirst() {
  auto loop = cast<tk::ForTilesOp>(tiles);
  for (Value number : growing) {
    auto argument = cast<BlockArgument>(number);
    std::optional<int64_t> count = tg::getConstant(loop.getExtents().getResult(argument.getArgNumber()));
    if (!count || *count < 2)
      continue;
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(root.block);
    auto last = arith::ConstantIndexOp::create(builder, *count - 1);
    auto place = arith::SubIOp::create(builder, last, argument);
    argument.replaceAllUsesExcept(place, place);
  }
}

} // namespace weft::kernelize
