// The table of algebraic properties.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/Properties.h"

using namespace mlir;

namespace weft::tg {

using Over = llvm::StringRef;
static constexpr Over sums[] = {"tg.add", "tg.sub"}, extremes[] = {"tg.max", "tg.min"}, ors[] = {"tg.or", "tg.xor"},
                      ands[] = {"tg.and"};
static constexpr Homomorphism ofNeg[] = {{Monoid::Add, Monoid::Add},
                                         {Monoid::Max, Monoid::Min},
                                         {Monoid::Min, Monoid::Max}},
                              ofExp[] = {{Monoid::Add, Monoid::Mul}}, ofLog[] = {{Monoid::Mul, Monoid::Add}},
                              ofProduct[] = {{Monoid::Mul, Monoid::Mul}},
                              ofNot[] = {{Monoid::And, Monoid::Or}, {Monoid::Or, Monoid::And}};

// log and sqrt on what is not negative.
static constexpr ScalarProperties table[] = {
    {"tg.add", true, Monotonicity::No, extremes, {}},
    {"tg.mul", true, Monotonicity::No, sums, {}},
    {"tg.max", true, Monotonicity::No, extremes, {}},
    {"tg.min", true, Monotonicity::No, extremes, {}},
    {"tg.and", true, Monotonicity::No, ors, {}},
    {"tg.or", true, Monotonicity::No, ands, {}},
    {"tg.xor", true, Monotonicity::No, {}, {}},
    {"tg.shl", false, Monotonicity::No, sums, {}},
    {"tg.div", false, Monotonicity::No, sums, {}},
    {"tg.neg", false, Monotonicity::Decreasing, sums, ofNeg},
    {"tg.abs", false, Monotonicity::No, {}, ofProduct},
    {"tg.reciprocal", false, Monotonicity::No, {}, ofProduct},
    {"tg.sqrt", false, Monotonicity::Increasing, {}, ofProduct},
    {"tg.rsqrt", false, Monotonicity::Decreasing, {}, ofProduct},
    {"tg.exp", false, Monotonicity::Increasing, {}, ofExp},
    {"tg.expm1", false, Monotonicity::Increasing, {}, {}},
    {"tg.log", false, Monotonicity::Increasing, {}, ofLog},
    {"tg.log1p", false, Monotonicity::Increasing, {}, {}},
    {"tg.ceil", false, Monotonicity::Increasing, {}, {}},
    {"tg.floor", false, Monotonicity::Increasing, {}, {}},
    {"tg.round", false, Monotonicity::Increasing, {}, {}},
    {"tg.trunc", false, Monotonicity::Increasing, {}, {}},
    {"tg.sign", false, Monotonicity::Increasing, {}, {}},
    {"tg.erf", false, Monotonicity::Increasing, {}, {}},
    {"tg.sigmoid", false, Monotonicity::Increasing, {}, {}},
    {"tg.tanh", false, Monotonicity::Increasing, {}, {}},
    {"tg.sinh", false, Monotonicity::Increasing, {}, {}},
    {"tg.atan", false, Monotonicity::Increasing, {}, {}},
    {"tg.asinh", false, Monotonicity::Increasing, {}, {}},
    {"tg.not", false, Monotonicity::No, {}, ofNot},
};

const ScalarProperties *findProperties(llvm::StringRef opName) {
  const auto *found = llvm::find_if(table, [&](const ScalarProperties &row) { return row.op == opName; });
  return found == std::end(table) ? nullptr : found;
}

SmallVector<std::string> describeProperties(Operation *op) {
  SmallVector<std::string> names;
  const ScalarProperties *row = findProperties(op->getName().getStringRef());
  if (row && row->isAssociative)
    names.push_back("associative");
  if (op->hasTrait<OpTrait::IsCommutative>())
    names.push_back("commutative");
  if (!row)
    return names;
  for (llvm::StringRef over : row->distributesOver)
    names.push_back(("distributive over " + over).str());
  for (const Homomorphism &map : row->homomorphisms)
    names.push_back(("homomorphism " + stringifyMonoid(map.from) + " to " + stringifyMonoid(map.to)).str());
  if (row->monotone != Monotonicity::No)
    names.push_back(row->monotone == Monotonicity::Increasing ? "increasing" : "decreasing");
  return names;
}

} // namespace weft::tg
