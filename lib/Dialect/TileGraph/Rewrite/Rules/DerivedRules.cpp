// Rules that follow from the table of properties: homomorphisms and monotone functions, of two values and of
// reductions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "QuantisedRules.h"
#include "RuleBuilder.h"
#include "weft/Dialect/TileGraph/Analysis/Properties.h"

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

namespace {

/// A function that rules are derived for. Those without a row stay out: log and its sums would trade a sum for a
/// product that overflows; of the others nobody writes maxima.
struct Function {
  llvm::StringRef name;
  C ofHomomorphism; ///< Of f(a) to f(b) -> f(a from b).
  C ofMonotone;     ///< Exact where the rounded function is monotone: correctly rounded ones.
  bool isOnNonNegative = false;
  bool isFloatOnly = false; ///< By its property: integers wrap.
};

constexpr Function functions[] = {
    {"neg", C::Reassociating, C::Exact, false, false},
    {"abs", C::Exact, C::Exact, false, true},
    {"reciprocal", C::Reassociating, C::Exact},
    {"sqrt", C::Reassociating, C::Exact, true},
    {"exp", C::Reassociating, C::Reassociating},
    {"not", C::Exact, C::Exact},
    {"ceil", C::Exact, C::Exact},
    {"floor", C::Exact, C::Exact},
    {"round", C::Exact, C::Exact},
    {"trunc", C::Exact, C::Exact},
    {"sign", C::Exact, C::Exact},
    {"erf", C::Exact, C::Reassociating},
    {"sigmoid", C::Exact, C::Reassociating},
    {"tanh", C::Exact, C::Reassociating},
    {"atan", C::Exact, C::Reassociating},
};

bool isOrder(Monoid monoid) { return monoid == Monoid::Max || monoid == Monoid::Min; }

/// Both rules of f(a from b) = f(a) to f(b).
void addPair(std::vector<Rule> &rules, const Function &f, Monoid from, Monoid to, P property, C contract,
             bool isFloatOnly) {
  std::string name = f.name.str(), inner = stringifyMonoid(from).str(), outer = stringifyMonoid(to).str();
  std::vector<std::string> ofTwo, ofMany;
  if (isFloatOnly) {
    ofTwo.push_back("float");
    ofMany.push_back("float");
  }
  if (f.isOnNonNegative) {
    ofTwo.insert(ofTwo.end(), {"non-negative(a)", "non-negative(b)"});
    ofMany.push_back("non-negative(a)");
  }
  if (isOrder(to)) // f of the identity is not the identity.
    ofMany.push_back("non-empty");
  std::string family = isOrder(to) ? "monotone" : "homomorphism";
  rules.push_back({outer + "-of-" + name, family, property, contract,
                   "(" + outer + " (" + name + " ?a) (" + name + " ?b))", "(" + name + " (" + inner + " ?a ?b))",
                   "3mn -> 2mn", ofTwo});
  rules.push_back({"reduce-" + outer + "-of-" + name, family, property, contract,
                   "(reduce." + outer + " (" + name + " ?a))", "(" + name + " (reduce." + inner + " ?a))",
                   "2mn -> mn + m", ofMany});
}

} // namespace

void addDerivedRules(std::vector<Rule> &rules) {
  for (const Function &f : functions) {
    const ScalarProperties *row = findProperties(("tg." + f.name).str());
    if (!row)
      continue;
    for (const Homomorphism &map : row->homomorphisms)
      if (!isOrder(map.to))
        addPair(rules, f, map.from, map.to, P::Homomorphism, f.ofHomomorphism, f.isFloatOnly);
    if (row->monotone == Monotonicity::No)
      continue;
    // Integers: the least one is its own negation.
    bool isFloatOnly = f.name == "neg";
    for (Monoid to : {Monoid::Max, Monoid::Min}) {
      bool isDecreasing = row->monotone == Monotonicity::Decreasing;
      Monoid from = isDecreasing ? (to == Monoid::Max ? Monoid::Min : Monoid::Max) : to;
      addPair(rules, f, from, to, P::Monotone, f.ofMonotone, isFloatOnly);
    }
  }
}

llvm::ArrayRef<Rule> getRules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    addPointwiseRules(all);
    addDerivedRules(all);
    addReductionRules(all);
    addContractionRules(all);
    addQuantisedRules(all);
    addIdentityRules(all);
    addViewRules(all);
    addSliceRules(all);
    return all;
  }();
  return rules;
}

llvm::StringRef stringify(RuleProperty property) {
  static constexpr llvm::StringLiteral names[] = {"associative", "commutative", "distributive", "homomorphism",
                                                  "idempotent",  "identity",    "inverse",      "linear",
                                                  "monotone",    "movement"};
  return names[unsigned(property)];
}

llvm::StringRef stringify(Contract contract) {
  static constexpr llvm::StringLiteral names[] = {"exact", "reassociating", "approximating"};
  return names[unsigned(contract)];
}

} // namespace weft::tg
