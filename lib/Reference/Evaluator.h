// State of one evaluation (symbols, limits, the error) and the evaluation functions of the op families.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_REFERENCE_EVALUATOR_H
#define WEFT_LIB_REFERENCE_EVALUATOR_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Block.h"
#include "weft/Reference/Reference.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"
#include <memory>
#include <optional>

namespace weft::tg {
class FoldOp;
enum class Monoid : uint32_t;
} // namespace weft::tg

namespace weft::reference {

using Operands = llvm::ArrayRef<const Tensor *>;
using Results = llvm::FailureOr<llvm::SmallVector<Tensor>>;
using Environment = llvm::DenseMap<mlir::Value, std::shared_ptr<const Tensor>>;

class Evaluator {
public:
  Evaluator(llvm::ArrayRef<int64_t> symbols, const Limits &limits)
      : symbols(symbols.begin(), symbols.end()), limits(limits), workLeft(limits.maxWork) {}

  /// One op without regions. Operands are checked against the op's types.
  Results evaluate(mlir::Operation *op, Operands operands);
  /// All ops of `block` but its terminator; returns the terminator's operands. Values from outside are in
  /// `environment`.
  Results evaluateBlock(mlir::Block &block, Environment &environment);

  /// Records the first error, with the op's name and position, and fails.
  llvm::LogicalResult fail(mlir::Operation *op, const llvm::Twine &cause);
  llvm::StringRef error() const { return message; }
  void setError(const llvm::Twine &cause);

  /// Takes `count` * `each` scalar operations from the limit.
  llvm::LogicalResult charge(mlir::Operation *op, int64_t count, int64_t each = 1);
  llvm::FailureOr<llvm::SmallVector<int64_t>> extentsOf(mlir::Operation *op, mlir::Type type);
  /// Zeros of the shape of result `result`.
  llvm::FailureOr<Tensor> makeResult(mlir::Operation *op, unsigned result = 0);
  llvm::FailureOr<Tensor> makeTensor(mlir::Operation *op, llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// The elements of `tensor` as scalars; they count as memory of 8 bytes each.
  llvm::FailureOr<std::vector<Scalar>> loadAll(mlir::Operation *op, const Tensor &tensor);

  llvm::SmallVector<int64_t> symbols;
  const Limits limits;
  /// Depth of calls through `tg.dispatch`.
  unsigned depth = 0;

private:
  llvm::LogicalResult checkOperands(mlir::Operation *op, Operands operands);
  Results evaluateFold(tg::FoldOp fold, Environment &environment);
  Results evaluatePart(tg::FoldOp fold, Environment &environment);
  llvm::LogicalResult takePart(mlir::Operation *op, llvm::SmallVectorImpl<const Tensor *> &operands,
                               std::vector<Tensor> &storage);
  llvm::LogicalResult evaluateInto(mlir::Operation *op, Environment &environment);

  int64_t workLeft;
  std::string message;
  std::optional<std::pair<int64_t, int64_t>> stream; ///< The elements of the part of a fold that is being evaluated.
};

// Each evaluates `op` if it belongs to the family and returns none otherwise.
std::optional<Results> evaluatePointwise(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateContract(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateReduction(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateOrder(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateView(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateIndexed(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateNorm(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateAttention(Evaluator &ev, mlir::Operation *op, Operands operands);
std::optional<Results> evaluateStructure(Evaluator &ev, mlir::Operation *op, Operands operands);

/// The neutral element of `kind`.
llvm::FailureOr<Scalar> getIdentity(Evaluator &ev, mlir::Operation *op, tg::Monoid kind, mlir::Type element);

/// A family's answer of one tensor.
inline Results single(Tensor tensor) {
  llvm::SmallVector<Tensor> results;
  results.push_back(std::move(tensor));
  return results;
}

} // namespace weft::reference

#endif // WEFT_LIB_REFERENCE_EVALUATOR_H
