// Algebraic rewrite rules: what a rule states, the registry, matching and building.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule says what it matches (a pattern), what it uses (a property), when it may (guards, and a licence for its
// numerics contract) and what it builds. Whether it pays is no property of a rule: the driver prices what the match
// removes against what it adds, for the matched shapes. Canonical rules have no price: `--weft-simplify` and
// `--weft-move-views` apply them wherever they match, and the others see what they leave.
//
// Patterns are S-expressions over the scalar ops of `tg`: `(mul ?a (sqrt ?b))`; a variable that occurs twice must be
// the same value both times (the same SSA value, or equal pure ops of equal operands); a number matches a constant all
// of whose elements have it; commutative ops match in both orders; `reduce.add` and so on match `tg.reduce` of that
// monoid, `reduce` of any, `pointwise` any elementwise op; operands written `...` are not looked at. In what is built,
// `reduce.X` reduces over the axes of the matched reduction (with its keep_dims), `(reduced ?s)` is ?s without the axes
// that this reduction drops, and `count` is the number of elements it reduces.
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_RULES_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_RULES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <functional>
#include <string>
#include <vector>

namespace weft::tg {

/// What makes both sides of a rule equal. Identity: of an identity element. Movement: it only says which element is
/// where.
enum class RuleProperty {
  Associative,
  Commutative,
  Distributive,
  Homomorphism,
  Idempotent,
  Identity,
  Inverse,
  Linear,
  Monotone,
  Movement
};

/// How results may differ on floats.
enum class Contract {
  Exact,         ///< Not at all, but for which NaN a NaN is and the sign of a zero that max or min chose.
  Reassociating, ///< Equal in real arithmetic; by rounding, and where an intermediate value of one side is not finite.
  Approximating, ///< Equal in real arithmetic; may also lose range.
};

llvm::StringRef stringify(RuleProperty property);
llvm::StringRef stringify(Contract contract);

/// A match of a rule's pattern.
struct Match {
  mlir::Operation *root = nullptr;
  mlir::Operation *place = nullptr;         ///< Where to build: before it; null for the root.
  llvm::SmallVector<mlir::Operation *> ops; ///< Of the pattern's op nodes, in the order of its text.
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> variables;

  /// The value of variable `name` (without `?`); null if there is none.
  mlir::Value operator[](llvm::StringRef name) const;
  /// The first matched op of a type, or null.
  template <typename OpT> OpT find() const {
    for (mlir::Operation *op : ops)
      if (auto found = llvm::dyn_cast<OpT>(op))
        return found;
    return OpT();
  }
  mlir::Type getElementType() const;
};

/// What rewriting may do and which guards tests switched off.
struct RuleLicence {
  Contract allowed = Contract::Exact;
  /// Tests only: guards, as `rule:guard`, that hold whatever they find.
  llvm::ArrayRef<std::string> disabledGuards = {};
};

/// Asks a rule's guards; remembers the first that failed.
class Guards {
public:
  Guards(llvm::StringRef rule, const RuleLicence &licence) : rule(rule), licence(licence) {}
  bool require(llvm::StringRef guard, bool holds);
  llvm::StringRef getFailed() const { return failed; }

private:
  llvm::StringRef rule;
  const RuleLicence &licence;
  std::string failed;
};

struct Rule {
  std::string name;
  std::string family;
  RuleProperty property;
  Contract contract; ///< On floats.
  std::string before;
  std::string after; ///< A pattern; in words if `build` is set.
  std::string gain;  ///< FLOPs before -> after for A, B, C of m x n unless it says otherwise.
  /// Guards beside the licence: `float`, `non-empty`, `non-negative(x)`, `uniform(x)`, `constant(x)` are known to the
  /// engine, as are `signed` and `no-addend(x)`; all others are asked by `build`.
  std::vector<std::string> guards = {};
  /// Builds the replacement before the root; null refuses (a guard of its own failed, or it cannot).
  std::function<mlir::Value(const Match &, mlir::OpBuilder &, Guards &)> build = nullptr;
  bool isExactOnIntegers = true; ///< Modulo 2^n; else integers need the licence too.
  bool isCanonical = false;      ///< Applied wherever it matches, without a price.
};

/// All rules, in a fixed order; names are unique.
llvm::ArrayRef<Rule> getRules();

/// Calls `found` for each way in which `rule`'s pattern matches at `root`, until it returns true. Bounded.
void forEachMatch(const Rule &rule, mlir::Operation *root, llvm::function_ref<bool(const Match &)> found);
/// Whether the root op of `rule`'s pattern is of `op`'s kind: a cheap test before forEachMatch.
bool mayMatch(const Rule &rule, mlir::Operation *op);

/// Checks the guards and builds the replacement before the root. Null if a guard failed (`guards` names it) or it
/// cannot be built; ops built on the way are erased then. The result has the root's type.
mlir::Value applyRule(const Rule &rule, const Match &match, mlir::OpBuilder &builder, Guards &guards,
                      const RuleLicence &licence);
/// Names of all guards of a rule: those it lists, `licence` where its contract needs one, and `type`.
std::vector<std::string> getGuards(const Rule &rule);

/// Whether the two are the same value, or equal pure ops of equal operands.
bool isSameValue(mlir::Value a, mlir::Value b);
/// Whether no element is below zero (NaN and -0 allowed), as far as the ops behind it show.
bool isNonNegative(mlir::Value value);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_RULES_H
