// The Reference: a slow, plain evaluator of the `tg` dialect. It is what tests compare with, and what folds constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numerics: float ops compute and accumulate in f64 and round once to the element type of their result; composites do
// so as a whole, rounding inside only where their description says. Integers are exact modulo 2^n. Elementwise ops and
// monoids run their scalar definition (`buildScalar`, `buildCombine`), so there is one meaning of each.
//
// Nothing here crashes, hangs or allocates without bound on verified IR, whatever its extents and attributes: work and
// memory are charged against `Limits` before they are spent, and what a verifier cannot know (symbolic extents) is
// checked.
#ifndef WEFT_REFERENCE_REFERENCE_H
#define WEFT_REFERENCE_REFERENCE_H

#include "mlir/IR/Operation.h"
#include "weft/Reference/Tensor.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace weft::reference {

struct Limits {
  int64_t maxTensorBytes = int64_t(2) << 30; ///< Of one tensor.
  int64_t maxWork = int64_t(1) << 36;        ///< Scalar operations of one call, roughly.
  int64_t maxOps = 100'000;                  ///< Ops that one fold may visit.
  int64_t *sharedWork = nullptr; ///< If given, scalar operations that several calls share; they count it down.
};

/// Evaluates one op on `operands` (one tensor for each operand, of its type). `symbols` gives the values of the
/// module's symbols that its types and maps use. On failure `error`, if given, receives the cause.
llvm::FailureOr<llvm::SmallVector<Tensor>> evaluate(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                                                    llvm::ArrayRef<int64_t> symbols = {}, const Limits &limits = {},
                                                    std::string *error = nullptr);

/// Evaluates a function of `tg` ops with one block. `symbols` may be empty: then each symbol is taken from an input
/// extent that it is alone. A failed `tg.assume_equal` fails with its message.
llvm::FailureOr<llvm::SmallVector<Tensor>> evaluateFunction(mlir::FunctionOpInterface function,
                                                            llvm::ArrayRef<Tensor> inputs,
                                                            llvm::ArrayRef<int64_t> symbols = {},
                                                            const Limits &limits = {}, std::string *error = nullptr);

/// Values of the symbols of the function's module: those `given` (by position; may be shorter), the others from input
/// extents that are one symbol alone. Fails if a symbol has two values, or none and the function uses it.
llvm::FailureOr<llvm::SmallVector<int64_t>> solveSymbols(mlir::FunctionOpInterface function,
                                                         llvm::ArrayRef<Tensor> inputs,
                                                         llvm::ArrayRef<std::optional<int64_t>> given = {},
                                                         std::string *error = nullptr);

/// Limits of folding: results and everything computed on the way to them are at most 64 MiB each.
Limits foldLimits();

/// The contents of `value` if they follow from constants and weights alone (their bytes come from the dialect's
/// WeightStore) within `limits`; null otherwise. Emits no diagnostics and changes no IR.
mlir::ElementsAttr foldToConstant(mlir::Value value, const Limits &limits = foldLimits());

/// Value of `expr`, or none on overflow, division by zero or an unbound dimension or symbol.
std::optional<int64_t> evaluateExpr(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> dims,
                                    llvm::ArrayRef<int64_t> symbols);

} // namespace weft::reference

#endif // WEFT_REFERENCE_REFERENCE_H
