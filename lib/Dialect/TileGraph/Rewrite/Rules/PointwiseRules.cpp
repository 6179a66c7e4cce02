// Rules on scalar functions, as data. The first ten rows are DNNFusion's table (PLDI'21, table 4; FLOPs as its text
// counts them), in our generality; where the table prints Square(Recip(A)) * B for the first row, algebra says
// Recip(B).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleBuilder.h"

namespace weft::tg {

using P = RuleProperty;
using C = Contract;

static void addDnnFusionRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  llvm::StringRef family = "dnnfusion";
  add({"square-of-reciprocal", family.str(), P::Associative, C::Reassociating,
       "(mul (reciprocal ?a) (reciprocal (mul ?a ?b)))", "(mul (mul (reciprocal ?a) (reciprocal ?a)) (reciprocal ?b))",
       "4mn -> 4mn, A read once"});
  add({"product-of-roots",
       family.str(),
       P::Associative,
       C::Reassociating,
       "(mul (mul ?a (sqrt ?b)) (mul (sqrt ?b) ?c))",
       "(mul (mul ?a ?b) ?c)",
       "5mn -> 2mn",
       {"non-negative(b)"}});
  add({"product-of-absolutes",
       family.str(),
       P::Associative,
       C::Reassociating,
       "(mul (mul (abs ?a) ?b) (abs ?c))",
       "(mul (abs (mul ?a ?c)) ?b)",
       "4mn -> 3mn",
       {"float"}});
  add({"square-of-common", family.str(), P::Associative, C::Reassociating, "(mul (mul ?a ?s) (mul ?s ?c))",
       "(mul (mul ?a (mul ?s ?s)) ?c)", "5mn -> 3mn + m for S a row sum (3mn -> 2mn + m without the sums)"});
  add({"common-factor", family.str(), P::Distributive, C::Reassociating, "(add (mul ?a ?b) (mul ?a ?c))",
       "(mul ?a (add ?b ?c))", "3mn -> 2mn; of products that share a GEMM or convolution A too"});
  add({"factor-with-one", family.str(), P::Distributive, C::Reassociating, "(add ?a (mul ?a ?b))",
       "(mul ?a (add ?b 1))", "2mn -> 2mn, A read once"});
  add({"square-minus-product", family.str(), P::Distributive, C::Reassociating, "(sub (mul ?s ?s) (mul ?s ?c))",
       "(mul ?s (sub ?s ?c))", "5mn -> 3mn for S = A + B"});
  add({"shift-of-sum",
       family.str(),
       P::Commutative,
       C::Exact,
       "(reduce.add (shl ?a ?s))",
       "(shl (reduce.add ?a) (reduced ?s))",
       "2mn -> mn + m",
       {"uniform(s)"}});
  // (ReduceProd(Exp(A)) -> Exp(ReduceSum(A)), the tenth row, follows from the property of exp: DerivedRules.cpp.)
}

static void addFactorRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  std::string family = "factors";
  add({"common-factor-of-difference", family, P::Distributive, C::Reassociating, "(sub (mul ?a ?b) (mul ?a ?c))",
       "(mul ?a (sub ?b ?c))", "3mn -> 2mn"});
  add({"one-minus-factor", family, P::Distributive, C::Reassociating, "(sub ?a (mul ?a ?b))", "(mul ?a (sub 1 ?b))",
       "2mn -> 2mn, A read once"});
  add({"common-divisor",
       family,
       P::Distributive,
       C::Reassociating,
       "(add (div ?a ?c) (div ?b ?c))",
       "(div (add ?a ?b) ?c)",
       "3mn -> 2mn",
       {"float"}});
  add({"common-divisor-of-difference",
       family,
       P::Distributive,
       C::Reassociating,
       "(sub (div ?a ?c) (div ?b ?c))",
       "(div (sub ?a ?b) ?c)",
       "3mn -> 2mn",
       {"float"}});
  add({"quotient-of-quotient",
       family,
       P::Associative,
       C::Reassociating,
       "(div (div ?a ?b) ?c)",
       "(div ?a (mul ?b ?c))",
       "2mn -> mn + n for B, C of n",
       {"float"}});
  for (llvm::StringRef op : {"add", "mul", "max", "min", "and", "or", "xor"}) {
    bool rounds = op == "add" || op == "mul";
    std::string name = op.str();
    add({"small-operands-first-" + name, family, P::Associative, rounds ? C::Reassociating : C::Exact,
         "(" + name + " (" + name + " ?a ?s) ?t)", "(" + name + " ?a (" + name + " ?s ?t))",
         "2mn -> mn + n for S, T of n"});
  }
  for (std::string op : {"add", "mul"}) // The biases of two branches that meet.
    add({"small-operands-together-" + op, family, P::Associative, C::Reassociating,
         "(" + op + " (" + op + " ?a ?s) (" + op + " ?b ?t))", "(" + op + " (" + op + " ?a ?b) (" + op + " ?s ?t))",
         "3mn -> 2mn + n for S, T of n"});
  add({"clip-twice-max", family, P::Idempotent, C::Exact, "(max (max ?a ?s) ?s)", "(max ?a ?s)", "2mn -> mn"});
  add({"clip-twice-min", family, P::Idempotent, C::Exact, "(min (min ?a ?s) ?s)", "(min ?a ?s)", "2mn -> mn"});
  add({"common-conjunct", family, P::Distributive, C::Exact, "(or (and ?a ?b) (and ?a ?c))", "(and ?a (or ?b ?c))",
       "3mn -> 2mn"});
  add({"common-disjunct", family, P::Distributive, C::Exact, "(and (or ?a ?b) (or ?a ?c))", "(or ?a (and ?b ?c))",
       "3mn -> 2mn"});
}

static void addSignRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  std::string family = "signs";
  add({"add-negated", family, P::Inverse, C::Exact, "(add ?a (neg ?b))", "(sub ?a ?b)", "2mn -> mn"});
  add({"subtract-negated", family, P::Inverse, C::Exact, "(sub ?a (neg ?b))", "(add ?a ?b)", "2mn -> mn"});
  add({"product-of-negated", family, P::Homomorphism, C::Exact, "(mul (neg ?a) (neg ?b))", "(mul ?a ?b)", "3mn -> mn"});
  add({"negated-difference", family, P::Inverse, C::Reassociating, "(neg (sub ?a ?b))", "(sub ?b ?a)", "2mn -> mn"});
}

static void addStrengthRules(std::vector<Rule> &rules) {
  auto add = [&](Rule rule) { rules.push_back(std::move(rule)); };
  std::string family = "strength";
  add({"square-of-root",
       family,
       P::Inverse,
       C::Reassociating,
       "(mul (sqrt ?a) (sqrt ?a))",
       "?a",
       "3mn -> 0",
       {"non-negative(a)"}});
  add({"root-of-square", family, P::Inverse, C::Reassociating, "(sqrt (mul ?a ?a))", "(abs ?a)", "2mn -> mn"});
  add({"reciprocal-twice", family, P::Inverse, C::Reassociating, "(reciprocal (reciprocal ?a))", "?a", "2mn -> 0"});
  add({"exp-of-log", family, P::Inverse, C::Reassociating, "(exp (log ?a))", "?a", "2mn -> 0", {"non-negative(a)"}});
  add({"log-of-exp", family, P::Inverse, C::Reassociating, "(log (exp ?a))", "?a", "2mn -> 0"});
  add({"product-with-reciprocal", family, P::Inverse, C::Reassociating, "(mul ?a (reciprocal ?b))", "(div ?a ?b)",
       "2mn -> mn"});
  add({"quotient-by-root", family, P::Inverse, C::Reassociating, "(div ?a (sqrt ?b))", "(mul ?a (rsqrt ?b))",
       "2mn -> 2mn, a product for a division"});
  add({"reciprocal-of-root", family, P::Inverse, C::Reassociating, "(reciprocal (sqrt ?a))", "(rsqrt ?a)",
       "2mn -> mn"});
  add({"power-one-half",
       family,
       P::Inverse,
       C::Reassociating,
       "(pow ?a 0.5)",
       "(sqrt ?a)",
       "mn -> mn, a root for a power",
       {"non-negative(a)"}});
  add({"power-minus-one-half",
       family,
       P::Inverse,
       C::Reassociating,
       "(pow ?a -0.5)",
       "(rsqrt ?a)",
       "mn -> mn, a root for a power",
       {"non-negative(a)"}});
  add({"power-three", family, P::Associative, C::Reassociating, "(pow ?a 3)", "(mul (mul ?a ?a) ?a)",
       "mn -> 2mn, products for a power"});
  add({"exp-minus-one", family, P::Inverse, C::Reassociating, "(sub (exp ?a) 1)", "(expm1 ?a)", "2mn -> mn"});
  add({"log-of-one-plus", family, P::Inverse, C::Reassociating, "(log (add ?a 1))", "(log1p ?a)", "2mn -> mn"});
  add({"logistic-reciprocal", family, P::Inverse, C::Reassociating, "(reciprocal (add (exp (neg ?a)) 1))",
       "(sigmoid ?a)", "4mn -> mn"});
  add({"logistic-quotient", family, P::Inverse, C::Reassociating, "(div 1 (add (exp (neg ?a)) 1))", "(sigmoid ?a)",
       "4mn -> mn"});
}

void addPointwiseRules(std::vector<Rule> &rules) {
  addDnnFusionRules(rules);
  addFactorRules(rules);
  addSignRules(rules);
  addStrengthRules(rules);
}

} // namespace weft::tg
