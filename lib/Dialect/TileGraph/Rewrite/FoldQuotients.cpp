// Rounded quotients of quantisation: whether what was rounded so far may be repaired by the ratio of divisors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// q = round(x / s) with s so far errs by half a unit of that s. Repaired by s / s' it errs by half a unit of s times
// s / s': no more than half a unit of the end if s only grows. Clipping loses values of another size: it must not touch
// what was divided by a smaller s. With s = c max|x| of the same x no quotient so far exceeds 1 / c.
#include "FoldTerms.h"

using namespace mlir;

namespace weft::tg {

/// The other operand and the constant of a product or quotient with a positive constant; nulls otherwise.
static std::pair<Value, double> withoutConstant(Operation *op) {
  for (unsigned i : {1u, 0u}) {
    if (i == 0 && !isa<MulOp>(op))
      break;
    std::optional<double> number = getSplatFloat(op->getOperand(i));
    if (number && *number > 0)
      return {op->getOperand(1 - i), *number};
  }
  return {{}, 0};
}

/// The reduction max(x >= 0) whose multiple `value` is, perhaps enlarged by constants, or by a smallest value; null if
/// there is none. `bound`: of max / value.
static ReduceOp findGrowing(Value value, double &bound) {
  value = withoutCasts(value);
  Operation *op = value.getDefiningOp();
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op))
    return reduce.getKind() == Monoid::Max && isNonNegative(reduce.getInput()) ? reduce : ReduceOp();
  if (isa_and_nonnull<MaxOp, AddOp>(op)) {
    for (unsigned i : {0u, 1u})
      if (getSplatFloat(op->getOperand(1 - i)).value_or(-1) >= 0)
        return findGrowing(op->getOperand(i), bound);
  } else if (isa_and_nonnull<MulOp, DivOp>(op)) {
    auto [other, number] = withoutConstant(op);
    if (!other)
      return {};
    bound *= isa<DivOp>(op) ? number : 1 / number;
    return findGrowing(other, bound);
  }
  return {};
}

/// The same of a factor that divides by such a value: c / s, 1 / s.
static ReduceOp findShrinking(Value value, double &bound) {
  value = withoutCasts(value);
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ReciprocalOp>(op))
    return findGrowing(op->getOperand(0), bound);
  if (auto quotient = dyn_cast_or_null<DivOp>(op))
    if (std::optional<double> number = getSplatFloat(quotient.getLhs()); number && *number > 0) {
      bound *= *number;
      return findGrowing(quotient.getRhs(), bound);
    }
  if (!isa_and_nonnull<MulOp, DivOp>(op))
    return {};
  auto [other, number] = withoutConstant(op);
  if (!other)
    return {};
  bound *= isa<MulOp>(op) ? number : 1 / number;
  return findShrinking(other, bound);
}

std::string findQuotientFlaw(const StreamTree &tree, Value rounded, Operation *quotient) {
  double bound = 1;
  Value scale = quotient->getOperand(1);
  ReduceOp most = isa<DivOp>(quotient) ? findGrowing(scale, bound) : findShrinking(scale, bound);
  if (!tree.holds(FoldGuard::GrowingDivisor, bool(most)))
    return "rounded quotients by what is not a multiple of a maximum of absolute values: it may shrink, and what was "
           "rounded so far would be too coarse";
  auto size = most ? most.getInput().getDefiningOp<AbsOp>() : AbsOp();
  bool isOwn = size && withoutCasts(size.getInput()) == withoutCasts(quotient->getOperand(0));
  constexpr double slack = 1e-3; // Of the rounding of scales.
  auto covers = [&](double limit) { return isOwn && limit * (1 + slack) >= bound; };
  bool isWhole = true;
  for (Value value = rounded; isWhole && value.getDefiningOp() != quotient;) {
    Operation *op = value.getDefiningOp();
    unsigned next = 0;
    if (isa<MaxOp, MinOp>(op)) {
      next = getSplatFloat(op->getOperand(0)) ? 1 : 0;
      std::optional<double> limit = getSplatFloat(op->getOperand(1 - next));
      isWhole = limit && covers(isa<MaxOp>(op) ? -*limit : *limit);
    } else if (auto type = dyn_cast<FloatType>(GraphBuilder::elementOf(value)); isa<CastOp>(op) && type) {
      isWhole = type.getWidth() >= 16 || covers(APFloat::getLargest(type.getFloatSemantics()).convertToDouble());
    }
    value = op->getOperand(next);
  }
  return tree.holds(FoldGuard::UnclippedQuotient, isWhole)
             ? ""
             : "clipping of rounded quotients that may be clipped more, so far, than in the end";
}

} // namespace weft::tg
