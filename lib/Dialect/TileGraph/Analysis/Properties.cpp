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
    {"tg.add", true, Monotone::No, extremes, {}},
    {"tg.mul", true, Monotone::No, sums, {}},
    {"tg.max", true, Monotone::No, extremes, {}},
    {"tg.min", true, Monotone::No, extremes, {}},
    {"tg.and", true, Monotone::No, ors, {}},
    {"tg.or", true, Monotone::No, ands, {}},
    {"tg.xor", true, Monotone::No, {}, {}},
    {"tg.shl", false, Monotone::No, sums, {}},
    {"tg.div", false, Monotone::No, sums, {}},
    {"tg.neg", false, Monotone::Decreasing, sums, ofNeg},
    {"tg.abs", false, Monotone::No, {}, ofProduct},
    {"tg.reciprocal", false, Monotone::No, {}, ofProduct},
    {"tg.sqrt", false, Monotone::Increasing, {}, ofProduct},
    {"tg.rsqrt", false, Monotone::Decreasing, {}, ofProduct},
    {"tg.exp", false, Monotone::Increasing, {}, ofExp},
    {"tg.expm1", false, Monotone::Increasing, {}, {}},
    {"tg.log", false, Monotone::Increasing, {}, ofLog},
    {"tg.log1p", false, Monotone::Increasing, {}, {}},
    {"tg.ceil", false, Monotone::Increasing, {}, {}},
    {"tg.floor", false, Monotone::Increasing, {}, {}},
    {"tg.round", false, Monotone::Increasing, {}, {}},
    {"tg.trunc", false, Monotone::Increasing, {}, {}},
    {"tg.sign", false, Monotone::Increasing, {}, {}},
    {"tg.erf", false, Monotone::Increasing, {}, {}},
    {"tg.sigmoid", false, Monotone::Increasing, {}, {}},
    {"tg.tanh", false, Monotone::Increasing, {}, {}},
    {"tg.sinh", false, Monotone::Increasing, {}, {}},
    {"tg.atan", false, Monotone::Increasing, {}, {}},
    {"tg.asinh", false, Monotone::Increasing, {}, {}},
    {"tg.not", false, Monotone::No, {}, ofNot},
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
  if (row->monotone != Monotone::No)
    names.push_back(row->monotone == Monotone::Increasing ? "increasing" : "decreasing");
  return names;
}

} // namespace weft::tg
