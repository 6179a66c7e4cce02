// Rules on contractions: scales that commute with them, association by cost, sums of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scale commutes with a contraction where it varies along dimensions that both sides of the move have: of the result
// (delayed scales and normalisation), of the other operand (norm weights into the next weights), of one operand (batch
// norm into a convolution). Which way pays is the driver's business.
#include "NarrowScales.h"
#include "RuleBuilder.h"
#include "mlir/IR/Builders.h"
#include "weft/Dialect/TileGraph/Rewrite/Scales.h"

using namespace mlir;

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// What `moveScale` found, or, with its guard switched off by a test, a shape that the verifier refuses.
static Dims orUnit(const std::optional<Dims> &moved, AffineMap to) {
  return moved ? *moved : Dims(to.getNumResults(), getAffineConstantExpr(1, to.getContext()));
}

/// Whether a constant may be scaled: without rounding it again, or, in the rules that round, within its range.
template <bool isRounded> static bool mayScale(Value constant, Value scale, Guards &guards) {
  if (!isRounded)
    return guards.require("exact-scale(a)", isExactScale(constant, scale));
  return guards.require("narrow(a)", elementOf(constant).isF16()) &&
         guards.require("in-range(a)", isScaleInRange(constant, scale));
}

/// Whether arithmetic is in one ring: floats, or integers of one width.
static bool isOneRing(Value operand, Value result) {
  return isa<FloatType>(elementOf(result)) || elementOf(operand) == elementOf(result);
}

/// `like` with another operand; with results in f32 if `inF32`.
static Value buildContract(OpBuilder &builder, ContractOp like, unsigned operand, Value replaced, bool inF32 = false) {
  SmallVector<Value> operands(like->getOperands());
  operands[operand] = replaced;
  Type type = inF32 ? getTensorType(getDims(like.getType()), builder.getF32Type()) : Type(like.getType());
  return ContractOp::create(builder, like.getLoc(), type, operands[0], operands[1], like.getMaps());
}

/// contract(x op s, w) = contract(x, w) op s', for s that varies along dimensions of the result only. Of 16-bit floats
/// the sum stays in f32 until it is scaled: no range is lost (x is there already), and where x op s was rounded for
/// each of the products, with u = 2^-11 (2^-8) an error of u sum|x s w|, the result is rounded once.
template <unsigned operand> static Value delayScale(const Match &match, OpBuilder &builder, Guards &guards) {
  auto contract = cast<ContractOp>(match.root);
  Operation *scaling = match.ops[1];
  Value x = match["a"], s = match["s"];
  std::optional<Dims> moved = moveScale(s, contract.getMap(operand), contract.getMap(2));
  if (!guards.require("uniform(s)", moved.has_value()) ||
      !guards.require("same-ring(a)", isOneRing(x, match.root->getResult(0))))
    return {};
  if (x.getType() != scaling->getResult(0).getType())
    return {};
  Location loc = contract.getLoc();
  auto narrow = dyn_cast<FloatType>(elementOf(contract.getResult()));
  bool isNarrow = narrow && narrow.getWidth() == 16;
  Value result = buildContract(builder, contract, operand, x, isNarrow);
  Value scale = buildReshape(builder, loc, s, orUnit(moved, contract.getMap(2)));
  if (elementOf(scale) != elementOf(result))
    scale = CastOp::create(builder, loc, scale, elementOf(result));
  Value scaled = buildPointwise(builder, loc, scaling->getName().stripDialect(), {result, scale});
  return scaled && isNarrow ? CastOp::create(builder, loc, scaled, narrow).getResult() : scaled;
}

/// contract(x, w) * s = contract(x * s', w), for s that varies along dimensions of x only.
template <bool isRounded>
static Value scaleOperand(ContractOp contract, unsigned operand, Value s, OpBuilder &builder, Guards &guards) {
  Value x = contract->getOperand(operand);
  std::optional<Dims> moved = moveScale(s, contract.getMap(2), contract.getMap(operand));
  if (!guards.require("carried(s)", moved.has_value()) || !mayScale<isRounded>(x, s, guards) ||
      elementOf(x) != elementOf(s))
    return {};
  Location loc = contract.getLoc();
  Value scaled =
      buildPointwise(builder, loc, "mul", {x, buildReshape(builder, loc, s, orUnit(moved, contract.getMap(operand)))});
  return scaled && scaled.getType() == x.getType() ? buildContract(builder, contract, operand, scaled) : Value();
}

template <unsigned operand, bool isRounded>
static Value scaleIntoOperand(const Match &match, OpBuilder &builder, Guards &guards) {
  return scaleOperand<isRounded>(cast<ContractOp>(match.ops[1]), operand, match["s"], builder, guards);
}

/// (contract(x, w) + b) * s = contract(x, w * s') + b * s.
template <bool isRounded> static Value foldAffineNorm(const Match &match, OpBuilder &builder, Guards &guards) {
  Location loc = match.root->getLoc();
  Value scaled = scaleOperand<isRounded>(match.find<ContractOp>(), 1, match["s"], builder, guards);
  Value bias = scaled ? buildPointwise(builder, loc, "mul", {match["b"], match["s"]}) : Value();
  return bias ? buildPointwise(builder, loc, "add", {scaled, bias}) : Value();
}

/// contract(x * g, w) = contract(x, w * g'), for g that varies along dimensions that w has too.
template <unsigned operand, bool isRounded>
static Value scaleAcross(const Match &match, OpBuilder &builder, Guards &guards) {
  auto contract = cast<ContractOp>(match.root);
  Value x = match["a"], g = match["s"], w = contract->getOperand(1 - operand);
  std::optional<Dims> moved = moveScale(g, contract.getMap(operand), contract.getMap(1 - operand));
  if (!guards.require("carried(s)", moved.has_value()) ||
      !guards.require("same-ring(a)", isOneRing(x, contract.getResult())) || !mayScale<isRounded>(w, g, guards) ||
      elementOf(w) != elementOf(g) || x.getType() != match.ops[1]->getResult(0).getType())
    return {};
  Location loc = contract.getLoc();
  Value scaled = buildPointwise(builder, loc, "mul",
                                {w, buildReshape(builder, loc, g, orUnit(moved, contract.getMap(1 - operand)))});
  if (!scaled || scaled.getType() != w.getType())
    return {};
  SmallVector<Value> operands{scaled, scaled};
  operands[operand] = x;
  return ContractOp::create(builder, loc, contract.getType(), operands[0], operands[1], contract.getMaps());
}

/// Letters of the three tensors of two nested contractions and of the result, one a dimension of the joint domain.
struct Einsum {
  std::string inner[2], other, result;
};

static std::optional<Einsum> joinContractions(ContractOp outer, ContractOp inner, unsigned operand) {
  for (ContractOp op : {outer, inner})
    for (unsigned i : {0u, 1u, 2u})
      if (!op.getMap(i).isProjectedPermutation() || op.getMap(i).getNumDims() > 12)
        return std::nullopt;
  std::string innerLetters(inner.getMap(0).getNumDims(), 0);
  auto letterOf = [](unsigned dim) { return char('a' + dim); };
  AffineMap read = outer.getMap(operand);
  for (unsigned i = 0; i < read.getNumResults(); ++i)
    innerLetters[*getDomainDim(inner.getMap(2), i)] = letterOf(*getDomainDim(read, i));
  char next = letterOf(outer.getMap(0).getNumDims());
  for (char &letter : innerLetters)
    if (!letter)
      letter = next++;
  auto spell = [](AffineMap map, llvm::function_ref<char(unsigned)> letter) {
    std::string text;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      text += letter(*getDomainDim(map, i));
    return text;
  };
  auto innerLetter = [&](unsigned dim) { return innerLetters[dim]; };
  return Einsum{{spell(inner.getMap(0), innerLetter), spell(inner.getMap(1), innerLetter)},
                spell(outer.getMap(1 - operand), letterOf),
                spell(outer.getMap(2), letterOf)};
}

/// The inner contraction is operand `operand` of the outer one; its operand `paired` meets the outer's other one first.
template <unsigned operand, unsigned paired>
static Value associate(const Match &match, OpBuilder &builder, Guards &guards) {
  auto outer = cast<ContractOp>(match.ops[0]), inner = cast<ContractOp>(match.ops[1]);
  std::optional<Einsum> letters = joinContractions(outer, inner, operand);
  Value first = inner->getOperand(paired), kept = inner->getOperand(1 - paired), other = outer->getOperand(1 - operand);
  Type element = inner.getType().getElementType();
  bool isRing = isOneRing(first, outer.getResult()) && isOneRing(kept, outer.getResult()) &&
                isOneRing(other, outer.getResult()) && isOneRing(inner.getResult(), outer.getResult());
  if (!letters || !guards.require("same-ring(a)", isRing))
    return {};
  std::string product;
  for (char letter : letters->inner[paired] + letters->other)
    if ((llvm::is_contained(letters->inner[1 - paired], letter) || llvm::is_contained(letters->result, letter)) &&
        !llvm::is_contained(product, letter))
      product += letter;
  auto has = [&](const std::string &text, char letter) { return llvm::is_contained(text, letter); };
  // A dimension of the result that no operand has takes its extent from the result, which the builder does not know.
  for (char letter : letters->result)
    if (!has(letters->inner[0], letter) && !has(letters->inner[1], letter) && !has(letters->other, letter))
      return {};
  Location loc = outer.getLoc();
  Value pair = ContractOp::create(builder, loc, first, other,
                                  letters->inner[paired] + "," + letters->other + "->" + product, element);
  return ContractOp::create(builder, loc, kept, pair,
                            letters->inner[1 - paired] + "," + product + "->" + letters->result,
                            outer.getType().getElementType());
}

/// contract(x, a) + contract(x, b) = contract(x, a + b), for a and b that are read alike.
template <unsigned operand> static Value addOperands(const Match &match, OpBuilder &builder, Guards &guards) {
  auto first = cast<ContractOp>(match.ops[1]), second = cast<ContractOp>(match.ops[2]);
  Value a = first->getOperand(operand), b = second->getOperand(operand);
  if (!guards.require("same-maps(a)", first.getMaps() == second.getMaps()) ||
      !guards.require("same-ring(a)", isOneRing(a, first.getResult())) || a.getType() != b.getType() ||
      first.getType() != second.getType())
    return {};
  Value sum = buildPointwise(builder, match.root->getLoc(), match.root->getName().stripDialect(), {a, b});
  return sum ? buildContract(builder, first, operand, sum) : Value();
}

/// Rules that scale a constant operand: where that does not round, and, with a looser contract, where f16 numbers are
/// rounded again: u = 2^-11 of each, an error of u sum|x s w|.
template <bool isRounded> static void addScalesIntoOperands(std::vector<Rule> &rules) {
  auto add = [&](std::string name, const char *before, const char *after, const char *gain, decltype(Rule::build) build,
                 std::vector<std::string> guards) {
    guards.insert(guards.begin(), "constant(s)");
    if (isRounded) { // f16 is a float: of one ring.
      llvm::erase(guards, "same-ring(a)");
      guards.insert(guards.end(), {"narrow(a)", "in-range(a)"});
    } else {
      guards.push_back("exact-scale(a)");
    }
    rules.push_back({name + (isRounded ? "-rounded" : ""), "contractions", P::Linear,
                     isRounded ? C::Approximating : C::Reassociating, before, after, gain, std::move(guards),
                     std::move(build)});
  };
  add("scale-into-lhs", "(mul (contract ?a ?w) ?s)", "the contraction of the scaled left operand", "2mnk + mn -> 2mnk",
      scaleIntoOperand<0, isRounded>, {"constant(a)", "carried(s)"});
  add("scale-into-rhs", "(mul (contract ?w ?a) ?s)", "the contraction of the scaled right operand", "2mnk + mn -> 2mnk",
      scaleIntoOperand<1, isRounded>, {"constant(a)", "carried(s)"});
  add("affine-norm-into-rhs", "(mul (add (contract ?x ?w) ?b) ?s)",
      "the contraction of scaled weights, plus the scaled bias", "2mnk + 2mn -> 2mnk + mn", foldAffineNorm<isRounded>,
      {"constant(b)", "constant(w)", "carried(s)"});
  add("scale-across-to-rhs", "(contract (mul ?a ?s) ?w)", "the contraction of A with the scaled ?w",
      "mk + 2mnk -> 2mnk", scaleAcross<0, isRounded>, {"constant(w)", "carried(s)", "same-ring(a)"});
  add("scale-across-to-lhs", "(contract ?w (mul ?a ?s))", "the contraction of the scaled ?w with A",
      "kn + 2mnk -> 2mnk", scaleAcross<1, isRounded>, {"constant(w)", "carried(s)", "same-ring(a)"});
}

static void addScaleRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  std::vector<std::string> delayed{"uniform(s)", "same-ring(a)"}, delayedQuotient{"float", "uniform(s)"};
  std::string family = "contractions", delay = "mk + 2mnk -> 2mnk + mn", delayRhs = "kn + 2mnk -> 2mnk + mn",
              scale = "the contraction of A with the scale after it";
  add({"delayed-scale-lhs", family, P::Linear, C::Reassociating, "(contract (mul ?a ?s) ?w)", scale, delay, delayed,
       delayScale<0>});
  add({"delayed-scale-rhs", family, P::Linear, C::Reassociating, "(contract ?w (mul ?a ?s))", scale, delayRhs, delayed,
       delayScale<1>});
  add({"delayed-normalisation-lhs", family, P::Linear, C::Reassociating, "(contract (div ?a ?s) ?w)", scale, delay,
       delayedQuotient, delayScale<0>});
  add({"delayed-normalisation-rhs", family, P::Linear, C::Reassociating, "(contract ?w (div ?a ?s))", scale, delayRhs,
       delayedQuotient, delayScale<1>});
  addScalesIntoOperands<false>(rules);
  addScalesIntoOperands<true>(rules);
}

void addContractionRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  addScaleRules(rules);
  std::string family = "contractions", by = "2mkl + 2mln -> 2kln + 2mkn", back = "2kln + 2mkn -> 2mkl + 2mln";
  add({"associate-lhs-rhs",
       family,
       P::Associative,
       C::Reassociating,
       "(contract (contract ?a ?b) ?c)",
       "A (B C)",
       by,
       {"same-ring(a)"},
       associate<0, 1>});
  add({"associate-lhs-lhs",
       family,
       P::Associative,
       C::Reassociating,
       "(contract (contract ?a ?b) ?c)",
       "B with (A C)",
       by,
       {"same-ring(a)"},
       associate<0, 0>});
  add({"associate-rhs-lhs",
       family,
       P::Associative,
       C::Reassociating,
       "(contract ?c (contract ?a ?b))",
       "(C A) B",
       back,
       {"same-ring(a)"},
       associate<1, 0>});
  add({"associate-rhs-rhs",
       family,
       P::Associative,
       C::Reassociating,
       "(contract ?c (contract ?a ?b))",
       "A with (C B)",
       back,
       {"same-ring(a)"},
       associate<1, 1>});
  for (std::string sum : {"add", "sub"}) {
    add({sum + "-of-contractions-rhs",
         family,
         P::Linear,
         C::Reassociating,
         "(" + sum + " (contract ?x ?a) (contract ?x ?b))",
         "one contraction of X",
         "4mnk + mn -> 2mnk + kn",
         {"same-maps(a)", "same-ring(a)"},
         addOperands<1>});
    add({sum + "-of-contractions-lhs",
         family,
         P::Linear,
         C::Reassociating,
         "(" + sum + " (contract ?a ?x) (contract ?b ?x))",
         "one contraction with X",
         "4mnk + mn -> 2mnk + mk",
         {"same-maps(a)", "same-ring(a)"},
         addOperands<0>});
  }
}

} // namespace weft::tg
