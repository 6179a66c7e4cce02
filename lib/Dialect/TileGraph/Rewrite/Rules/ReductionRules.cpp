// Rules on reductions: of reductions, of broadcasts, of casts, and of values that are uniform along the axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleBuilder.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

/// reduce(reduce(x)) over the axes of both.
static Value mergeReductions(const Match &match, OpBuilder &builder, Guards &) {
  auto outer = cast<ReduceOp>(match.ops[0]), inner = cast<ReduceOp>(match.ops[1]);
  Location loc = outer.getLoc();
  SmallVector<int64_t> places; // Of the inner result's dimensions in x.
  for (int64_t d = 0, rank = inner.getInput().getType().getRank(); d < rank; ++d)
    if (inner.getKeepDims() || !llvm::is_contained(inner.getAxes(), d))
      places.push_back(d);
  SmallVector<int64_t> axes(inner.getAxes());
  for (int64_t axis : outer.getAxes())
    if (!llvm::is_contained(axes, places[axis]))
      axes.push_back(places[axis]);
  llvm::sort(axes);
  bool keep = outer.getKeepDims() && inner.getKeepDims();
  Value reduced = ReduceOp::create(builder, loc, outer.getKind(), inner.getInput(), axes, keep);
  return buildReshape(builder, loc, reduced, getDims(outer.getType()));
}

/// Whether casting keeps the order of all values, NaN aside, which stays NaN.
static bool isMonotoneCast(Type from, Type to) {
  if (isStorageFloat(from) || isStorageFloat(to) || from.isInteger(1) || to.isInteger(1))
    return false;
  if (isa<FloatType>(to))
    return true;
  if (isa<FloatType>(from))
    return false; // NaN becomes 0.
  return isUnsignedElement(from) == isUnsignedElement(to) && from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
}

static Value castReduced(const Match &match, OpBuilder &builder, Guards &guards) {
  auto reduce = cast<ReduceOp>(match.ops[0]);
  auto cast = mlir::cast<CastOp>(match.ops[1]);
  Type from = cast.getInput().getType().getElementType(), to = cast.getType().getElementType();
  if (!guards.require("monotone-cast(a)", isMonotoneCast(from, to)) || isStorageFloat(from))
    return {};
  Value reduced = buildReduce(builder, reduce.getLoc(), reduce.getKind(), cast.getInput(), reduce);
  return reduced ? CastOp::create(builder, reduce.getLoc(), reduced, to) : Value();
}

static void addMergeRules(std::vector<Rule> &rules) {
  for (llvm::StringRef kind : {"add", "mul", "max", "min", "and", "or"}) {
    bool rounds = kind == "add" || kind == "mul";
    std::string reduce = "reduce." + kind.str();
    rules.push_back({"reduce-" + kind.str() + "-twice",
                     "reductions",
                     P::Associative,
                     rounds ? C::Reassociating : C::Exact,
                     "(" + reduce + " (" + reduce + " ?a))",
                     "one reduction over the axes of both",
                     "mnk + mn -> mnk",
                     {},
                     mergeReductions});
    if (!rounds)
      rules.push_back({"reduce-" + kind.str() + "-of-broadcast",
                       "reductions",
                       P::Idempotent,
                       C::Exact,
                       "(" + reduce + " (broadcast ?a))",
                       "(reduced ?a)",
                       "mn -> 0",
                       {"uniform(a)", "non-empty"}});
  }
}

void addReductionRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  std::string family = "reductions", scaled = "2mn -> mn + m";
  addMergeRules(rules);
  add({"reduce-add-of-broadcast",
       family,
       P::Distributive,
       C::Reassociating,
       "(reduce.add (broadcast ?a))",
       "(mul (reduced ?a) count)",
       "mn -> m",
       {"uniform(a)"}});
  add({"sum-of-scaled",
       family,
       P::Distributive,
       C::Reassociating,
       "(reduce.add (mul ?a ?s))",
       "(mul (reduce.add ?a) (reduced ?s))",
       scaled,
       {"uniform(s)"}});
  add({"sum-of-quotient",
       family,
       P::Distributive,
       C::Reassociating,
       "(reduce.add (div ?a ?s))",
       "(div (reduce.add ?a) (reduced ?s))",
       scaled,
       {"float", "uniform(s)"}});
  add({"sum-of-shifted",
       family,
       P::Associative,
       C::Reassociating,
       "(reduce.add (add ?a ?s))",
       "(add (reduce.add ?a) (mul (reduced ?s) count))",
       "2mn -> mn + 2m",
       {"uniform(s)"}});
  for (std::string kind : {"max", "min"}) {
    std::string reduce = "reduce." + kind;
    add({kind + "-of-scaled",
         family,
         P::Monotone,
         C::Reassociating,
         "(" + reduce + " (mul ?a ?s))",
         "(mul (" + reduce + " ?a) (reduced ?s))",
         scaled,
         {"float", "uniform(s)", "non-negative(s)", "non-empty"}});
    for (std::string shift : {"add", "sub"})
      add({kind + "-of-shifted-" + shift,
           family,
           P::Monotone,
           C::Reassociating,
           "(" + reduce + " (" + shift + " ?a ?s))",
           "(" + shift + " (" + reduce + " ?a) (reduced ?s))",
           scaled,
           {"float", "uniform(s)", "non-empty"}});
    add({kind + "-of-clipped",
         family,
         P::Associative,
         C::Exact,
         "(" + reduce + " (" + kind + " ?a ?s))",
         "(" + kind + " (" + reduce + " ?a) (reduced ?s))",
         scaled,
         {"uniform(s)", "non-empty"}});
    add({kind + "-of-cast",
         family,
         P::Monotone,
         C::Exact,
         "(" + reduce + " (cast ?a))",
         "the cast of the reduction",
         "mn -> mn, m conversions for mn",
         {"monotone-cast(a)", "non-empty"},
         castReduced});
  }
}

} // namespace weft::tg
