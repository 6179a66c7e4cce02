// Abstract interpretation of a fold's regions: what becomes of the states if a value of `update` is -inf everywhere, or
// if `merge` gets the initial states on its right side.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exp(-inf - m) is 0 for a maximum m that is made safe (0 in place of -inf), sums and products of 0 are 0, and a state
// is repaired by exp(m - safe(m)): 1, or 0 where m is still -inf, where all that was summed with exp(.. - m) is 0
// anyway. What multiplies zeros counts as finite: a masked position contributes nothing, even beside a value that is
// not finite.
#include "weft/Dialect/TileGraph/IR/FoldMask.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::tg {
namespace {

struct Abstract {
  enum Kind {
    Unknown,
    NegInf,
    Zero,
    Positive,    ///< A constant.
    State,       ///< What the step took.
    IsMasked,    ///< Where a state is -inf.
    Safe,        ///< The state, 0 where it is -inf.
    ScaledState, ///< The state times a positive constant.
    ScaledSafe,  ///< The same of Safe.
    Shift,       ///< State - Safe, or the same of scaled ones: 0 or -inf.
    Keep         ///< exp(Shift): 1 or 0.
  } kind = Unknown;
  unsigned state = 0;
  bool is(Kind wanted) const { return kind == wanted; }
};
using Kind = Abstract::Kind;

std::optional<double> numberOf(Attribute attribute) {
  auto real = dyn_cast<FloatAttr>(attribute);
  if (!real)
    return std::nullopt;
  APFloat number = real.getValue();
  bool loses = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

Abstract kindOf(std::optional<double> number) {
  if (!number || std::isnan(*number))
    return Abstract();
  return {*number == 0                                          ? Kind::Zero
          : *number > 0 && !std::isinf(*number)                 ? Kind::Positive
          : *number == -std::numeric_limits<double>::infinity() ? Kind::NegInf
                                                                : Kind::Unknown};
}

std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? numberOf(elements.getSplatValue<Attribute>()) : std::nullopt;
}

class Interpreter {
public:
  Interpreter(FoldOp fold, Value masked = {}) : fold(fold), masked(masked) {}

  /// Whether `block`, of `update` or `merge`, yields the states that are its first arguments.
  bool keepsStates(Block &block) {
    for (auto [i, yielded] : llvm::enumerate(block.getTerminator()->getOperands()))
      if (Abstract next = get(yielded); !next.is(Kind::State) || next.state != i)
        return false;
    return true;
  }

private:
  Abstract get(Value value) {
    if (value == masked)
      return {Kind::NegInf};
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber(), states = fold.getInit().size();
      if (argument.getOwner()->getParentOp() != fold)
        return Abstract();
      return number < states ? Abstract{Kind::State, number} : kindOf(numberOf(fold.getInit()[number - states]));
    }
    auto [it, isNew] = known.try_emplace(value);
    if (!isNew)
      return it->second;
    Abstract result = evaluate(value.getDefiningOp());
    return known[value] = result;
  }

  Abstract evaluate(Operation *op) {
    return llvm::TypeSwitch<Operation *, Abstract>(op)
        .Case([&](ConstantOp constant) { return kindOf(splatOf(constant.getResult())); })
        .Case<CastOp, TransposeOp, ReshapeOp, BroadcastOp>([&](Operation *) {
          Abstract input = get(op->getOperand(0));
          bool isReal = isa<FloatType>(cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
          return isReal && (input.is(Kind::NegInf) || input.is(Kind::Zero) || input.is(Kind::Keep)) ? input
                                                                                                    : Abstract();
        })
        .Case([&](ReduceOp reduce) {
          Abstract input = get(reduce.getInput());
          bool isIdentity = reduce.getKind() == Monoid::Max ? input.is(Kind::NegInf)
                                                            : reduce.getKind() == Monoid::Add && input.is(Kind::Zero);
          return isIdentity ? input : Abstract();
        })
        .Case([&](ContractOp contract) {
          bool isZero = get(contract.getLhs()).is(Kind::Zero) || get(contract.getRhs()).is(Kind::Zero);
          return isZero ? Abstract{Kind::Zero} : Abstract();
        })
        .Case([&](IsInfOp test) {
          Abstract input = get(test.getInput());
          return input.is(Kind::State) && test.getNegative() && !test.getPositive()
                     ? Abstract{Kind::IsMasked, input.state}
                     : Abstract();
        })
        .Case([&](SelectOp select) {
          Abstract condition = get(select.getCondition()), yes = get(select.getOnTrue()), no = get(select.getOnFalse());
          if (condition.is(Kind::IsMasked) && yes.is(Kind::Zero) && no.is(Kind::State) && condition.state == no.state)
            return Abstract{Kind::Safe, no.state};
          return yes.kind == no.kind && yes.state == no.state ? yes : Abstract();
        })
        .Case([&](ExpOp exp) {
          Abstract input = get(exp.getInput());
          return input.is(Kind::NegInf)  ? Abstract{Kind::Zero}
                 : input.is(Kind::Shift) ? Abstract{Kind::Keep, input.state}
                                         : Abstract();
        })
        .Case([&](SubOp sub) {
          Abstract x = get(sub.getLhs()), y = get(sub.getRhs());
          if (x.is(Kind::NegInf) && (y.is(Kind::Safe) || y.is(Kind::ScaledSafe)))
            return x;
          if (x.is(Kind::ScaledState) && y.is(Kind::ScaledSafe) && x.state == y.state)
            return Abstract{Kind::Shift, x.state};
          return x.is(Kind::State) && y.is(Kind::Safe) && x.state == y.state ? Abstract{Kind::Shift, x.state}
                                                                             : Abstract();
        })
        .Case<AddOp, MulOp, MaxOp>([&](Operation *) {
          Abstract x = get(op->getOperand(0)), y = get(op->getOperand(1));
          Abstract result = combine(op, x, y);
          return result.is(Kind::Unknown) ? combine(op, y, x) : result;
        })
        .Default([](Operation *) { return Abstract(); });
  }

  static Abstract combine(Operation *op, Abstract x, Abstract y) {
    if (isa<AddOp>(op))
      return x.is(Kind::Zero) ? y : x.is(Kind::NegInf) ? x : Abstract();
    if (isa<MaxOp>(op))
      return x.is(Kind::NegInf) ? y : Abstract();
    if (x.is(Kind::Zero) && y.is(Kind::Zero))
      return x;
    if (y.is(Kind::Positive) && (x.is(Kind::NegInf) || x.is(Kind::Shift)))
      return x;
    if (y.is(Kind::Positive) && (x.is(Kind::State) || x.is(Kind::Safe)))
      return {x.is(Kind::State) ? Kind::ScaledState : Kind::ScaledSafe, x.state};
    return x.is(Kind::State) && y.is(Kind::Keep) ? x : Abstract();
  }

  FoldOp fold;
  Value masked;
  llvm::DenseMap<Value, Abstract> known;
};

} // namespace

std::optional<bool> choosesNegInf(SelectOp select) {
  constexpr double negInf = -std::numeric_limits<double>::infinity();
  if (splatOf(select.getOnTrue()) == negInf)
    return true;
  if (splatOf(select.getOnFalse()) == negInf)
    return false;
  return std::nullopt;
}

bool keepsStates(FoldOp fold, Value masked) { return Interpreter(fold, masked).keepsStates(fold.getUpdate().front()); }

bool mergesInitialStates(FoldOp fold) {
  return !fold.getMerge().empty() && Interpreter(fold).keepsStates(fold.getMerge().front());
}

} // namespace weft::tg
