// Index arithmetic with known ranges: what makes floordiv and mod of composed views go away.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions are over symbols ("atoms") only. An atom with an extent takes values in [0, extent); one without is a
// symbol of the kernel, any value from 0 on. Extents are expressions of the latter. All conclusions hold for every such
// value; what cannot be shown is left as it is, so results are always equal to the inputs.
#ifndef WEFT_LIB_KERNELIZE_ARITHMETIC_H
#define WEFT_LIB_KERNELIZE_ARITHMETIC_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <utility>

namespace weft::kernelize {

class Arithmetic {
public:
  explicit Arithmetic(mlir::MLIRContext *context) : context(context) {}

  /// The next atom; a null extent: a symbol of the kernel.
  mlir::AffineExpr addAtom(mlir::AffineExpr extent);
  /// An equal expression in a normal form: a sum of products without avoidable divisions.
  mlir::AffineExpr simplify(mlir::AffineExpr expr);
  /// Whether `expr` is shown to be at least 0.
  bool isNonNegative(mlir::AffineExpr expr);

private:
  /// coefficient * product of the factors (atoms, divisions), which are sorted.
  struct Term {
    int64_t coefficient;
    llvm::SmallVector<mlir::AffineExpr, 2> factors;
  };
  using Sum = llvm::SmallVector<Term, 4>;
  using Range = std::pair<Sum, Sum>; ///< Least and greatest value, over kernel symbols.

  static void add(Sum &sum, const Term &term);
  static Sum scaled(Sum sum, int64_t factor);
  static void split(const Sum &dividend, const Sum &divisor, Sum &quotient, Sum &rest);
  /// rest = g * high + low, 0 <= low < g, for the largest g > 1 that divides `divisor` and a coefficient; 1: none.
  int64_t separate(const Sum &rest, int64_t divisor, Sum &high, Sum &low);
  Sum added(Sum lhs, const Sum &rhs);
  Sum multiply(const Sum &lhs, const Sum &rhs);
  Sum floorDivide(const Sum &dividend, const Sum &divisor);
  Sum modulo(const Sum &dividend, const Sum &divisor);
  Sum ceilDivide(const Sum &dividend, const Sum &divisor);
  Sum leaf(mlir::AffineExpr expr);
  Sum recombine(Sum sum);
  Sum normalize(mlir::AffineExpr expr);
  mlir::AffineExpr toExpr(const Sum &sum) const;

  bool isFixed(mlir::AffineExpr expr) const;
  bool isWithin(const Sum &value, const Sum &divisor);
  bool isShownNonNegative(const Sum &sum) const;
  bool isFactorNonNegative(mlir::AffineExpr factor) const;
  std::optional<Range> rangeOf(const Sum &sum);
  std::optional<Range> rangeOfFactor(mlir::AffineExpr factor);
  std::optional<Range> rangeOfTerm(const Term &term);

  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::AffineExpr> extents; ///< By atom.
};

} // namespace weft::kernelize

#endif // WEFT_LIB_KERNELIZE_ARITHMETIC_H
