// Summands as sums of products, maxima of monotonic functions: what the derivation of folds knows of algebra.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDTERMS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDTERMS_H

#include "FoldFactors.h"

namespace weft::tg {

/// How far a rewrite may change a result.
enum class Numerics { Exact, Reassociating, Approximating };

/// A factor of a product that stays inside the sum.
struct Factor {
  enum Kind {
    Plain,       ///< Depends on no reduction.
    Divisor,     ///< The same, divides.
    Where,       ///< A condition that depends on no reduction: 0 where it is false.
    WhereNot,    ///< 0 where it is true.
    Exponential, ///< exp of a difference with a maximum of the same values.
    Quantised    ///< A rounded quotient; `quotient` is the op that divides.
  } kind;
  mlir::Value value;
  mlir::Operation *quotient = nullptr;
  bool operator==(const Factor &other) const { return kind == other.kind && value == other.value; }
};

/// What is done to a sum once it is whole. `value` does not change along the stream.
struct Scale {
  enum Kind { Mul, Div, ZeroIfNan, ZeroWhere } kind;
  mlir::Value value; ///< ZeroWhere: a condition.
};

/// One product: (+-) difference^power * factors, then `scales`, the innermost first.
struct Term {
  bool isNegative = false;
  llvm::SmallVector<Factor> factors;
  mlir::Value difference; ///< x plus or minus values that depend on reductions and do not change along the stream.
  unsigned power = 0;
  llvm::SmallVector<Scale> scales;
};

/// Writes values behind a stream as sums of such products.
class Separator {
public:
  Separator(const StreamTree &tree, Numerics licence) : tree(tree), licence(licence) {}

  /// The terms whose sum is `value`; empty, with `reason`, if there is no such form.
  llvm::SmallVector<Term> separate(mlir::Value value);
  std::string reason;

private:
  using Terms = llvm::SmallVector<Term>;
  Terms fail(const llvm::Twine &why);
  Terms separateOp(mlir::Operation *op);
  Terms separateSelect(SelectOp op);
  Terms separateQuotient(DivOp op);
  Terms multiply(const Terms &left, const Terms &right);
  bool isBounded(mlir::Value exponent) const;
  bool isMaximum(mlir::Value value, mlir::Value of) const;
  bool isBelow(mlir::Value condition, bool isTrue, double limit, mlir::Value of) const;
  mlir::Operation *findQuotient(mlir::Value value) const;

  const StreamTree &tree;
  Numerics licence;
};

/// The values whose extreme decides that of others which rise (or fall) with them.
struct Monotone {
  mlir::Value core; ///< Depends on no reduction; null if there is none, and `reason` says why.
  bool rises = true;
  std::string reason;
};
Monotone findMonotone(const StreamTree &tree, mlir::Value value);

/// Why rounded quotients cannot be repaired by the ratio of their divisors; "" if they can. `quotient` divides (or
/// multiplies with the reciprocal), rounding, clips and casts make `rounded` of it.
std::string findQuotientFlaw(const StreamTree &tree, mlir::Value rounded, mlir::Operation *quotient);

/// Whether `value` is nowhere negative (NaN counts as good).
bool isNonNegative(mlir::Value value, unsigned depth = 8);

/// x of x, or of casts of x between floats.
mlir::Value withoutCasts(mlir::Value value);
/// The float that all elements of a constant are.
std::optional<double> getSplatFloat(mlir::Value value);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDTERMS_H
