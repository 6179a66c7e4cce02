// Canonical rules of elementwise ops: what identities, inverses, casts and choices say, bit for bit except which NaN a
// NaN is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleBuilder.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// x / 2^k is x * 2^-k where 2^-k is a normal number: both round the same real number once.
static Value multiplyByInverse(const Match &match, OpBuilder &builder, Guards &guards) {
  Value divisor = match["c"];
  auto constant = divisor.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  bool isSplat = elements && !elements.empty() && elements.isSplat() && isa<FloatType>(elements.getElementType());
  APFloat inverse(0.0);
  if (!guards.require("power-of-two(c)", isSplat && elements.getSplatValue<APFloat>().getExactInverse(&inverse)))
    return {};
  auto type = cast<RankedTensorType>(divisor.getType());
  Value factor = ConstantOp::create(builder, divisor.getLoc(), DenseElementsAttr::get(type, inverse));
  return buildPointwise(builder, match.root->getLoc(), "mul", {match["a"], factor});
}

/// Bits that hold an integer's magnitude.
static unsigned magnitudeBits(Type element) {
  return element.getIntOrFloatBitWidth() - (isUnsignedElement(element) ? 0 : 1);
}

/// Whether every value of `from` is a value of `to`.
static bool isLossless(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return !isStorageFloat(to) &&
           APFloat::isRepresentableBy(fromFloat.getFloatSemantics(), toFloat.getFloatSemantics());
  if (fromFloat)
    return false;
  if (toFloat) // Up to 2^precision all integers are exact; so small ones are in range of f16 too.
    return !isStorageFloat(to) && magnitudeBits(from) <= toFloat.getFPMantissaWidth();
  if (to.isInteger(1))
    return from.isInteger(1);
  bool keepsSign = isUnsignedElement(from) || !isUnsignedElement(to);
  return keepsSign && magnitudeBits(from) <= magnitudeBits(to);
}

/// cast(cast(x : A to B) : B to C) is cast(x : A to C) if every A is a B: the outer cast sees the same number. Not
/// where A and C are integers and B is a float, since integers wrap and floats saturate, unless C is A.
static Value composeCasts(const Match &match, OpBuilder &builder, Guards &guards) {
  Value input = match["a"];
  Type a = elementOf(input), b = elementOf(match.ops[1]->getResult(0)), c = elementOf(match.root->getResult(0));
  if (!guards.require("lossless(a)", isLossless(a, b)) ||
      !guards.require("no-wrap(a)", a == c || !isa<IntegerType>(a) || !isa<FloatType>(b) || !isa<IntegerType>(c)))
    return {};
  if (a == c)
    return input;
  Operation *copy = builder.clone(*match.root);
  copy->setOperand(0, input);
  return copy->getResult(0);
}

static Value chooseBranch(const Match &match, OpBuilder &, Guards &guards) {
  auto constant = match["c"].getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!guards.require("known(c)", elements && !elements.empty() && elements.isSplat()) || !elements || elements.empty())
    return {};
  return match[elements.getSplatValue<APInt>().isZero() ? "b" : "a"];
}

/// Whether the other operands alone make the result of `op` as large as it is.
static bool keepsResult(Operation *op, unsigned replaced, Value by) {
  SmallVector<Dims> shapes;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    shapes.push_back(getDims(i == replaced ? by.getType() : operand.getType()));
  std::optional<Dims> joint = broadcastDims(shapes);
  return joint && *joint == getDims(op->getResult(0).getType());
}

/// An elementwise op stretches its operands itself.
static Value dropBroadcastOperand(const Match &match, OpBuilder &builder, Guards &guards) {
  Operation *op = match.root;
  OpOperand *stretched = nullptr;
  bool keeps = false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto broadcast = operand.get().getDefiningOp<BroadcastOp>();
    if (!broadcast || isa<CastOp>(op) || keeps)
      continue;
    keeps = keepsResult(op, operand.getOperandNumber(), broadcast.getInput());
    if (keeps || !stretched)
      stretched = &operand;
  }
  if (!stretched || !guards.require("stretched-by-others", keeps))
    return {};
  Operation *copy = builder.clone(*op);
  copy->setOperand(stretched->getOperandNumber(), stretched->get().getDefiningOp<BroadcastOp>().getInput());
  return copy->getResult(0);
}

void addIdentityRules(std::vector<Rule> &rules) {
  auto add = [&](const char *name, P property, const char *before, const char *after, const char *gain,
                 std::vector<std::string> guards = {}, decltype(Rule::build) build = nullptr) {
    rules.push_back({name, "identities", property, C::Exact, before, after, gain, std::move(guards), std::move(build)});
    rules.back().isCanonical = true;
  };
  // x + (-0.0) is x for every float x, while x + 0.0 turns -0.0 to 0.0; x - 0.0 is x, while x - (-0.0) turns it.
  add("zero-added", P::Identity, "(add ?a ?z)", "?a", "mn -> 0", {"no-addend(z)"});
  add("zero-subtracted", P::Identity, "(sub ?a 0)", "?a", "mn -> 0");
  add("factor-one", P::Identity, "(mul ?a 1)", "?a", "mn -> 0");
  add("divisor-one", P::Identity, "(div ?a 1)", "?a", "mn -> 0");
  add("divisor-power-of-two", P::Inverse, "(div ?a ?c)", "`(mul ?a 1/c)`", "mn -> mn, a product for a division",
      {"power-of-two(c)"}, multiplyByInverse);
  // A product rounds correctly, as pow may not; a reciprocal has all the special cases of x^-1.
  add("power-one", P::Identity, "(pow ?a 1)", "?a", "mn -> 0");
  add("power-two", P::Associative, "(pow ?a 2)", "(mul ?a ?a)", "mn -> mn, a product for a power");
  add("power-minus-one", P::Inverse, "(pow ?a -1)", "(reciprocal ?a)", "mn -> mn, a division for a power", {"float"});
  add("negated-twice", P::Inverse, "(neg (neg ?a))", "?a", "2mn -> 0");
  add("not-twice", P::Inverse, "(not (not ?a))", "?a", "2mn -> 0");
  add("absolute-twice", P::Idempotent, "(abs (abs ?a))", "(abs ?a)", "2mn -> mn");
  // In two's complement too, where the least integer is its own negation.
  add("absolute-of-negated", P::Idempotent, "(abs (neg ?a))", "(abs ?a)", "2mn -> mn", {"signed"});
  for (const char *op : {"max", "min", "and", "or"}) {
    std::string name = std::string(op) + "-of-same", before = std::string("(") + op + " ?a ?a)";
    add(name.c_str(), P::Idempotent, before.c_str(), "?a", "mn -> 0");
  }
  add("choice-of-same", P::Idempotent, "(select ?c ?a ?a)", "`?a`", "mn -> 0", {},
      [](const Match &match, OpBuilder &, Guards &) { return match["a"]; });
  add("choice-known", P::Identity, "(select ?c ?a ?b)", "`?a` or `?b`", "mn -> 0", {"known(c)"}, chooseBranch);
  add("cast-of-cast", P::Homomorphism, "(cast (cast ?a))", "`(cast ?a)` or `?a`", "0 -> 0",
      {"lossless(a)", "no-wrap(a)"}, composeCasts);
  add("operand-stretched", P::Movement, "(elementwise ...)", "the op on the operand of its operand `(broadcast ?a)`",
      "0 -> 0", {"stretched-by-others"}, dropBroadcastOperand);
}

} // namespace weft::tg
