// Algebraic properties of scalar functions and monoids: what rewrite rules and the planner may use.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Properties hold for real numbers and for integers modulo 2^n where an op takes them; in floating point those that
// move a rounding are a matter of the rule's numerics contract, not of this table.
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_PROPERTIES_H
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_PROPERTIES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

enum class Monotonicity { No, Increasing, Decreasing };

/// f(a from b) = f(a) to f(b), for a, b in f's domain.
struct Homomorphism {
  Monoid from, to;
};

/// Of an elementwise function.
struct ScalarProperties {
  llvm::StringRef op; ///< Name of the op, as `tg.exp`.
  bool isAssociative = false;
  /// In its only operand, over all floats that are not NaN; rounding keeps it.
  Monotonicity monotone = Monotonicity::No;
  /// Ops over which it distributes from both sides (unary ones: f(a . b) = f(a) . f(b)).
  llvm::ArrayRef<llvm::StringRef> distributesOver = {};
  llvm::ArrayRef<Homomorphism> homomorphisms = {};
};

/// Properties of an elementwise op; null if none is known. Commutativity is the op's trait.
const ScalarProperties *findProperties(llvm::StringRef opName);
/// Names of the properties, as printed: "associative", "commutative", "distributive over tg.add", "increasing",
/// "homomorphism add to mul".
llvm::SmallVector<std::string> describeProperties(mlir::Operation *op);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_PROPERTIES_H
