// Summands as sums of products, and the signs and monotonic functions that maxima need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldTerms.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

/// The most products that one sum is cut into: each has an accumulator.
static constexpr size_t mostTerms = 4;

Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!isa<FloatType>(GraphBuilder::elementOf(cast.getInput())))
      break;
    value = cast.getInput();
  }
  return value;
}

std::optional<double> getSplatFloat(Value value) {
  auto elements = isa<FloatType>(GraphBuilder::elementOf(value)) ? getConstantElements(value, 8) : ElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool loses;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

static std::string nameOf(Operation *op) {
  return op ? "'" + op->getName().stripDialect().str() + "'" : std::string("an argument");
}

//===-- Signs and monotonic functions -----------------------------------------------------------------------------===//

bool isNonNegative(Value value, unsigned depth) {
  if (std::optional<double> number = getSplatFloat(value))
    return *number >= 0;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto operand = [&](unsigned i) { return isNonNegative(op->getOperand(i), depth - 1); };
  if (isa<ExpOp, AbsOp, SqrtOp, SigmoidOp, RsqrtOp>(op))
    return true;
  if (isa<MulOp>(op) && op->getOperand(0) == op->getOperand(1))
    return true;
  if (isa<MulOp, DivOp, AddOp, MinOp>(op))
    return operand(0) && operand(1);
  if (isa<MaxOp>(op))
    return operand(0) || operand(1);
  if (isa<SelectOp>(op))
    return operand(1) && operand(2);
  return isa<CastOp, ReduceOp, ReshapeOp, TransposeOp, BroadcastOp>(op) && operand(0);
}

static bool isNonPositive(Value value) {
  if (std::optional<double> number = getSplatFloat(value))
    return *number <= 0;
  auto neg = value.getDefiningOp<NegOp>();
  return neg && isNonNegative(neg.getInput());
}

Monotone findMonotone(const StreamTree &tree, Value value) {
  if (tree.getDependencies(value).empty())
    return {value, true, ""};
  Operation *op = value.getDefiningOp();
  auto refuse = [&](const Twine &why) { return Monotone{{}, true, why.str()}; };
  auto through = [&](unsigned operand, bool rises) {
    Monotone found = findMonotone(tree, op->getOperand(operand));
    found.rises = found.rises == rises;
    return found;
  };
  bool isInteger = isa_and_nonnull<CastOp>(op) && !isa<FloatType>(GraphBuilder::elementOf(op->getOperand(0)));
  if (!tree.holds(FoldGuard::IntegerExtreme, !isInteger))
    return refuse("a maximum of integers that depend on another reduction");
  if (isa_and_nonnull<CastOp, ExpOp, LogOp, SqrtOp, TanhOp, SigmoidOp, ErfOp, FloorOp, CeilOp, RoundOp, AtanOp>(op))
    return through(0, true);
  if (isa_and_nonnull<NegOp>(op))
    return through(0, false);
  if (!isa_and_nonnull<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp>(op)) {
    if (!tree.holds(FoldGuard::MonotoneOp, false))
      return refuse("a maximum depends on another reduction through " + nameOf(op) +
                    ", which is not known to be monotonic");
    return through(0, true);
  }
  unsigned uniform = tree.isUniform(op->getOperand(0)) ? 0 : 1;
  if (!tree.holds(FoldGuard::OneChanging, tree.isUniform(op->getOperand(uniform))) ||
      !tree.holds(FoldGuard::ChangingDividend, !isa<DivOp>(op) || uniform == 1))
    return refuse("a maximum depends on another reduction through " + nameOf(op) +
                  " of two values that change along the stream");
  if (isa<AddOp, MaxOp, MinOp>(op))
    return through(1 - uniform, true);
  if (isa<SubOp>(op))
    return through(1 - uniform, uniform == 1);
  Value factor = op->getOperand(uniform);
  if (tree.holds(FoldGuard::KnownSign, isNonNegative(factor)))
    return through(1 - uniform, true);
  if (isNonPositive(factor))
    return through(1 - uniform, false);
  return refuse("a maximum of products with a factor of unknown sign");
}

//===-- Sums of products ------------------------------------------------------------------------------------------===//

Separator::Terms Separator::fail(const Twine &why) {
  if (reason.empty())
    reason = why.str();
  return {};
}

SmallVector<Term> Separator::separate(Value value) {
  if (tree.isUniform(value))
    return {Term{false, {}, {}, 0, {{Scale::Mul, value}}}};
  if (tree.getDependencies(value).empty())
    return {Term{false, {{Factor::Plain, value}}, {}, 0, {}}};
  return separateOp(value.getDefiningOp());
}

Separator::Terms Separator::multiply(const Terms &left, const Terms &right) {
  Terms product;
  for (const Term &a : left)
    for (const Term &b : right) {
      bool isSame = !a.difference || !b.difference || a.difference == b.difference;
      if (!tree.holds(FoldGuard::SameDifference, isSame) ||
          !tree.holds(FoldGuard::SecondDegree, a.power + b.power <= 2))
        return fail("a product of several differences with reductions");
      Term term = a;
      term.isNegative = a.isNegative != b.isNegative;
      llvm::append_range(term.factors, b.factors);
      llvm::append_range(term.scales, b.scales);
      term.difference = a.difference ? a.difference : b.difference;
      term.power = a.power + b.power;
      product.push_back(std::move(term));
    }
  return product.size() <= mostTerms
             ? product
             : fail("more than " + Twine(mostTerms) + " products would have to be summed apart");
}

/// c * (x - m), c >= 0 and m at least the maximum of x so far: its exp stays within [0, 1] on the way. An x that
/// depends on reductions itself is another one with each step: what it was is not, in numbers, what it is now.
bool Separator::isBounded(Value exponent) const {
  exponent = withoutCasts(exponent);
  Operation *op = exponent.getDefiningOp();
  if (isa_and_nonnull<MulOp, DivOp>(op))
    for (unsigned i : {0u, 1u})
      if ((i == 1 || isa<MulOp>(op)) && isBounded(op->getOperand(1 - i)))
        return tree.holds(FoldGuard::ExponentSign, isNonNegative(op->getOperand(i)));
  auto difference = dyn_cast_or_null<SubOp>(op);
  return difference && isMaximum(difference.getRhs(), withoutCasts(difference.getLhs())) &&
         tree.holds(FoldGuard::FreeExponent, tree.getDependencies(difference.getLhs()).empty());
}

/// Whether `value` is at least the maximum of `of`, or what takes its place in rows without any: `select` by a
/// condition which says that the maximum is infinite, NaN, or below the constant.
bool Separator::isMaximum(Value value, Value of) const {
  value = withoutCasts(value);
  if (auto reduce = value.getDefiningOp<ReduceOp>())
    return tree.holds(FoldGuard::IsMaximum, reduce.getKind() == Monoid::Max) &&
           tree.holds(FoldGuard::OwnMaximum, withoutCasts(reduce.getInput()) == of);
  if (auto max = value.getDefiningOp<MaxOp>())
    return isMaximum(max.getLhs(), of) || isMaximum(max.getRhs(), of);
  auto select = value.getDefiningOp<SelectOp>();
  for (unsigned other : {1u, 2u})
    if (std::optional<double> limit = select ? getSplatFloat(select->getOperand(other)) : std::nullopt)
      return isMaximum(select->getOperand(3 - other), of) &&
             tree.holds(FoldGuard::HighGuard, isBelow(select.getCondition(), other == 1, *limit, of));
  return false;
}

/// Whether a maximum of `of` that is finite is at most `limit` where `condition` is `isTrue`.
bool Separator::isBelow(Value condition, bool isTrue, double limit, Value of) const {
  Operation *op = condition.getDefiningOp();
  if (isa_and_nonnull<NotOp>(op))
    return isBelow(op->getOperand(0), !isTrue, limit, of);
  if (isTrue ? isa_and_nonnull<OrOp>(op) : isa_and_nonnull<AndOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value part) { return isBelow(part, isTrue, limit, of); });
  if (isa_and_nonnull<IsInfOp, IsNanOp>(op))
    return isTrue && isMaximum(op->getOperand(0), of);
  auto compare = dyn_cast_or_null<CmpOp>(op);
  std::optional<double> most = compare ? getSplatFloat(compare.getRhs()) : std::nullopt;
  if (!most || !isMaximum(compare.getLhs(), of))
    return false;
  bool isEqual = compare.getPredicate() == (isTrue ? CmpPredicate::Eq : CmpPredicate::Ne);
  bool isLess = isTrue ? llvm::is_contained({CmpPredicate::Lt, CmpPredicate::Le}, compare.getPredicate())
                       : llvm::is_contained({CmpPredicate::Gt, CmpPredicate::Ge}, compare.getPredicate());
  return (isEqual && std::isinf(*most)) || ((isEqual || isLess) && *most <= limit);
}

/// The division (or product) by what depends on reductions, behind rounding, clipping and narrow casts.
Operation *Separator::findQuotient(Value value) const {
  Operation *op = value.getDefiningOp();
  auto isFree = [&](unsigned i) { return tree.getDependencies(op->getOperand(i)).empty(); };
  if (isa_and_nonnull<RoundOp, FloorOp, CeilOp, TruncOp>(op) ||
      (isa_and_nonnull<CastOp>(op) && isa<FloatType>(GraphBuilder::elementOf(op->getOperand(0)))))
    return findQuotient(op->getOperand(0));
  if (isa_and_nonnull<MaxOp, MinOp>(op))
    for (unsigned i : {0u, 1u})
      if (getSplatFloat(op->getOperand(i)))
        return findQuotient(op->getOperand(1 - i));
  if (isa_and_nonnull<DivOp, MulOp>(op) && tree.isUniform(op->getOperand(1)) && !isFree(1) &&
      tree.holds(FoldGuard::FreeNumerator, isFree(0)))
    return op;
  return nullptr;
}

/// Whether `select` is is_nan(x) ? 0 : x of x = e / sum(e), perhaps rounded, as exporters guard rows that are masked as
/// a whole. There x is NaN at one element of a row exactly if it is so at all: e is in [0, 1], so the sum is NaN if an
/// e is.
static DivOp findGuardedQuotient(const StreamTree &tree, SelectOp select) {
  auto isNan = select.getCondition().getDefiningOp<IsNanOp>();
  if (!isNan || !tree.holds(FoldGuard::NanOfItself, isNan.getInput() == select.getOnFalse()) ||
      !tree.holds(FoldGuard::ZeroForNan, getSplatFloat(select.getOnTrue()) == 0.0))
    return {};
  auto quotient = withoutCasts(select.getOnFalse()).getDefiningOp<DivOp>();
  auto sum = quotient ? quotient.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
  bool isSoftmax = sum && sum.getKind() == Monoid::Add && sum.getInput() == quotient.getLhs() &&
                   quotient.getLhs().getDefiningOp<ExpOp>();
  return quotient && tree.holds(FoldGuard::NanInRows, isSoftmax) ? quotient : DivOp();
}

Separator::Terms Separator::separateSelect(SelectOp op) {
  auto with = [](Terms terms, auto &&change) {
    llvm::for_each(terms, change);
    return terms;
  };
  if (DivOp quotient = findGuardedQuotient(tree, op))
    return with(separate(quotient), [&](Term &term) { term.scales.push_back({Scale::ZeroIfNan, quotient.getRhs()}); });
  Value condition = op.getCondition();
  bool zeroThen = getSplatFloat(op.getOnTrue()) == 0.0, zeroElse = getSplatFloat(op.getOnFalse()) == 0.0;
  if (!tree.getDependencies(condition).empty()) {
    if (!tree.holds(FoldGuard::UniformCondition, tree.isUniform(condition)) ||
        !tree.holds(FoldGuard::ZeroThen, zeroThen))
      return fail("'select' by a condition that depends on a reduction");
    return with(separate(op.getOnFalse()), [&](Term &term) { term.scales.push_back({Scale::ZeroWhere, condition}); });
  }
  Terms found;
  auto addBranch = [&](Value value, bool isZero, Factor::Kind kind) {
    Terms branch = isZero ? Terms() : separate(value);
    llvm::append_range(found, with(branch, [&](Term &term) { term.factors.push_back({kind, condition}); }));
    return isZero || !branch.empty();
  };
  if (!addBranch(op.getOnTrue(), zeroThen, Factor::Where) || !addBranch(op.getOnFalse(), zeroElse, Factor::WhereNot))
    return {};
  return found.size() <= mostTerms ? found : fail("more than " + Twine(mostTerms) + " products");
}

Separator::Terms Separator::separateQuotient(DivOp op) {
  Value divisor = op.getRhs();
  bool isScale = tree.isUniform(divisor);
  if (!isScale && !tree.holds(FoldGuard::FreeDivisor, tree.getDependencies(divisor).empty()))
    return fail("a divisor that changes along the stream depends on a reduction");
  Terms terms = separate(op.getLhs());
  for (Term &term : terms)
    if (isScale)
      term.scales.push_back({Scale::Div, divisor});
    else
      term.factors.push_back({Factor::Divisor, divisor});
  return terms;
}

Separator::Terms Separator::separateOp(Operation *op) {
  auto negate = [](Terms terms) {
    for (Term &term : terms)
      term.isNegative = !term.isNegative;
    return terms;
  };
  Value value = op->getResult(0);
  constexpr unsigned narrow = 16;
  bool isRounded = isa<RoundOp, FloorOp, CeilOp, TruncOp, MaxOp, MinOp>(op) ||
                   (isa<CastOp>(op) && GraphBuilder::elementOf(value).getIntOrFloatBitWidth() < narrow);
  if (isRounded) {
    Operation *quotient = findQuotient(value);
    if (!quotient)
      return fail(nameOf(op) + " of a value that depends on a reduction");
    if (!tree.holds(FoldGuard::Approximating, licence == Numerics::Approximating))
      return fail("repairing a sum of rounded quotients is approximating, and the licence is not");
    if (std::string flaw = findQuotientFlaw(tree, value, quotient); !flaw.empty())
      return fail(flaw);
    return {Term{false, {{Factor::Quantised, value, quotient}}, {}, 0, {}}};
  }
  return llvm::TypeSwitch<Operation *, Terms>(op)
      .Case([&](CastOp cast) {
        return tree.holds(FoldGuard::FloatCast, isa<FloatType>(GraphBuilder::elementOf(cast.getInput())))
                   ? separate(cast.getInput())
                   : fail("a cast of integers that depend on a reduction");
      })
      .Case([&](MulOp mul) {
        Terms left = separate(mul.getLhs());
        return left.empty() ? left : multiply(left, mul.getLhs() == mul.getRhs() ? left : separate(mul.getRhs()));
      })
      .Case([&](DivOp div) { return separateQuotient(div); })
      .Case([&](NegOp neg) { return negate(separate(neg.getInput())); })
      .Case([&](SelectOp select) { return separateSelect(select); })
      .Case([&](PowOp pow) {
        bool isSquare = tree.holds(FoldGuard::Square, getSplatFloat(pow.getRhs()) == 2.0);
        Terms base = isSquare ? separate(pow.getLhs()) : Terms();
        return base.empty() ? fail("'pow' of a value that depends on a reduction") : multiply(base, base);
      })
      .Case<AddOp, SubOp>([&](Operation *sum) {
        if (tree.findShifted(value))
          return Terms{Term{false, {}, value, 1, {}}};
        Terms left = separate(sum->getOperand(0));
        Terms right = left.empty() ? left : separate(sum->getOperand(1));
        if (right.empty())
          return right;
        llvm::append_range(left, isa<SubOp>(sum) ? negate(right) : right);
        return left.size() <= mostTerms ? left : fail("more than " + Twine(mostTerms) + " products");
      })
      .Case([&](ExpOp exp) {
        if (!tree.holds(FoldGuard::ShiftedExponent, tree.isShift(exp.getInput())))
          return fail("'exp' of what is not a difference with a reduction: no repair is known");
        if (!isBounded(exp.getInput()))
          return fail(
              "'exp' of a difference with what is not a maximum of the same values: it can overflow on the way");
        return Terms{Term{false, {{Factor::Exponential, value}}, {}, 0, {}}};
      })
      .Default([&](Operation *other) -> Terms {
        if (tree.holds(FoldGuard::SeparableOp, false))
          return {Term{false, {{Factor::Plain, value}}, {}, 0, {}}};
        return fail(nameOf(other) +
                    " of a value that depends on a reduction: it neither separates nor can it be repaired");
      });
}

} // namespace weft::tg
