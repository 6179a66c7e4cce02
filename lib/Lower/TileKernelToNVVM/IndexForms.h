// Index arithmetic of one access as linear forms: a sum of coefficients times values of the thread (atoms), plus a
// constant that differs from register to register. Forms of all registers of a tile share their atoms, so the sum is
// computed once and each register adds a constant, which memory instructions take as an immediate. Divisions and
// remainders are split where the constant part does not carry into the rest. All emitted values are `index`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_INDEXFORMS_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_INDEXFORMS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

namespace weft::gpu {

/// Inclusive bounds of an index.
struct Bounds {
  int64_t min = std::numeric_limits<int64_t>::min(), max = std::numeric_limits<int64_t>::max();
};

using Terms = std::vector<std::pair<unsigned, int64_t>>; ///< (atom, coefficient), sorted by atom, none zero.

struct LinearForm {
  Terms terms;
  int64_t constant = 0;
};

/// A condition on a form: known, or a value of i1.
struct Predicate {
  mlir::Value value; ///< Null if `isKnown`.
  bool isKnown = true, known = true;
  bool isTrue() const { return isKnown && known; }
  bool isFalse() const { return isKnown && !known; }
};

/// Builds forms at one insertion point; equal sub-expressions are emitted once.
class IndexArithmetic {
public:
  IndexArithmetic(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// The form of an index value. `depth` orders sums: values that change in inner loops are added last.
  LinearForm get(mlir::Value value, Bounds bounds = {}, unsigned depth = 0);
  static LinearForm constant(int64_t value) { return {{}, value}; }
  /// A signed integer as index; the same for equal values.
  mlir::Value toIndex(mlir::Value integer);

  LinearForm add(const LinearForm &a, const LinearForm &b);
  LinearForm scale(const LinearForm &a, int64_t factor);
  LinearForm multiply(const LinearForm &a, const LinearForm &b);
  LinearForm floorDiv(const LinearForm &a, const LinearForm &b);
  LinearForm mod(const LinearForm &a, const LinearForm &b);
  /// `expr` with dimensions and symbols replaced.
  LinearForm evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LinearForm> dims, llvm::ArrayRef<LinearForm> symbols);

  Bounds getBounds(const LinearForm &form) const;
  /// The greatest common divisor of the coefficients; 0 without terms.
  static int64_t getDivisor(const Terms &terms);

  /// The sum of the terms; null without terms.
  mlir::Value materializeTerms(const Terms &terms);
  mlir::Value materialize(const LinearForm &form);
  mlir::Value materializeConstant(int64_t value);

  /// form >= 0, or form == 0. Equal conditions give the same value.
  Predicate compare(const LinearForm &form, bool isEquality);
  /// All constraints of a set.
  Predicate evaluate(mlir::IntegerSet set, llvm::ArrayRef<LinearForm> dims, llvm::ArrayRef<LinearForm> symbols);
  Predicate both(const Predicate &a, const Predicate &b);

private:
  struct Atom {
    mlir::Value value;
    Bounds bounds;
    unsigned depth;
  };
  enum class Opcode { multiply, floorDiv, mod };

  LinearForm divideBy(const LinearForm &a, int64_t k);
  LinearForm remainderBy(const LinearForm &a, int64_t k);
  /// The value `op(a, b)` as an atom with these bounds.
  LinearForm apply(Opcode opcode, const LinearForm &a, const LinearForm &b, Bounds bounds);
  mlir::Value emit(Opcode opcode, mlir::Value a, mlir::Value b, bool isNonNegative);
  unsigned getDepth(const Terms &terms) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::vector<Atom> atoms;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Value, mlir::Value> casts;
  std::map<Terms, mlir::Value> sums;
  std::map<int64_t, mlir::Value> constants;
  std::map<std::pair<std::pair<Terms, int64_t>, bool>, mlir::Value> conditions;
  std::map<std::tuple<int, Terms, int64_t, Terms, int64_t>, unsigned> applied;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value> conjunctions;
};

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_INDEXFORMS_H
