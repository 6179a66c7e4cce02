// When a finite number that masks scores counts as -inf: what is proved of that, and what a run tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKGUARDS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKGUARDS_H

#include "MaskConditions.h"
#include <map>
#include <vector>

namespace weft::tg {

/// Bounds of absolute values that follow from ops, as long as what products multiply, and give, are numbers: scores of
/// f16 that are divided by 8 are at most 8188. (Where a product overflows, the program's own weights are NaN, or those
/// of what is masked.) Another value that may overflow has none: it may be infinite.
class ScoreBounds {
public:
  /// Infinity where there is none.
  double of(mlir::Value value) { return of(value, mostDepth); }

private:
  double of(mlir::Value value, unsigned depth);
  double ofOp(mlir::Operation *op, unsigned depth);
  double ofContraction(ContractOp op, unsigned depth);

  /// How far back bounds are looked for.
  static constexpr unsigned mostDepth = 32;
  llvm::DenseMap<mlir::Value, double> known;
};

/// In operations of products that take as long: a kernel, and a byte that it reads.
struct TestPrice {
  double kernel = 0, byte = 0;
};

/// What was built of data alone, which is the same for all layers: by what it depends on.
using BuiltGuards = std::map<std::vector<const void *>, mlir::Value>;

/// Exporters' numbers, -65504 or -3.4e38, are not -inf: a row without any other position has equal weights, and scores
/// that are far enough apart win over them. They count as -inf where the weights of masked positions are 0 in both:
/// exp(t
/// - m), t the masked score and m the row's greatest, is 0 in f32 for t - m < log(2^-150) = -103.98. Where the row
/// keeps a position, m >= -S for scores of at most S in absolute value, and
///   t - m <= (S + v) + S  for s + v,    t - m <= v + S  for select(kept, s, v).
class MaskGuard {
public:
  /// `mask` is of what `op` makes, of which `most` is the maximum of rows.
  MaskGuard(const MaskConditions &mask, mlir::Operation *op, ReduceOp most, llvm::ArrayRef<mlir::AffineExpr> dims)
      : mask(mask), op(op), most(most), dims(dims) {}

  /// Why the number may not count as -inf, in no run that could be told; empty if it may.
  std::string refuse(const SymbolFacts &facts, ScoreBounds &bounds, std::optional<TestPrice> price);
  /// Whether a run tests something.
  bool isTested() const { return !data.empty() || tested; }
  /// 0 for each sequence (and head) whose masked positions count as -inf, else more than there are positions.
  mlir::Value build(GraphBuilder g, BuiltGuards &built) const;

private:
  std::string sortTerms();
  std::string refuseRows(const SymbolFacts &facts);
  std::string refuseScores(ScoreBounds &bounds, std::optional<TestPrice> price);
  bool canTest(const MaskTerm &term, std::optional<TestPrice> price);
  mlir::Value buildKept(GraphBuilder &g, const MaskTerm &term) const;
  mlir::Value buildBelow(GraphBuilder &g) const;
  mlir::Value buildGreatest(GraphBuilder &g, unsigned operand) const;
  mlir::Value toLine(GraphBuilder &g, mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at) const;

  const MaskConditions &mask;
  mlir::Operation *op;
  ReduceOp most;
  llvm::ArrayRef<mlir::AffineExpr> dims;
  llvm::SmallVector<MaskTerm> scores, data;
  bool isFirstKept = false; ///< By all rows, unless data mask it; else each row keeps a position that may be any.
  ContractOp tested;        ///< Of which the greatest operands are tested against `limit`.
  double limit = 0;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_MASKGUARDS_H
