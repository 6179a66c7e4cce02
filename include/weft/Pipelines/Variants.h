// Plans by intervals of a symbol: which, each as a program of its own, and all of them as one program again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan that is good at 4,096 rows is a bad one at 7: other tiles, other groups (norms behind products, folds in
// parts), other launches. So a program for a GPU is planned at several values of the symbol that matters most, and each
// plan serves the interval where its predicted time is the least, or as good as. From Plan to Lower each variant is a
// module of its own, with an ordinary @main: no pass knows of the others. Then they become one: `@main` is one
// `tg.variants`, whose bodies are the variants' programs, and equal kernels are there once. docs/symbols.md says more.
#ifndef WEFT_PIPELINES_VARIANTS_H
#define WEFT_PIPELINES_VARIANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace weft {

struct PhaseOptions;

/// A plan, and where it is used.
struct Variant {
  int64_t low = 0, high = 0; ///< Of the symbol, with both ends.
  int64_t planned = 0;       ///< The value it was planned for.

  /// A program for one value is static: it is what a compile with `--dim` makes.
  bool isStatic() const { return low == high; }
};

/// The intervals of one symbol, rising and without gaps. The last one serves all values that no other one has.
struct VariantChoice {
  unsigned symbol = 0;
  llvm::SmallVector<Variant> variants;

  /// "T 1, 2-48, 49-": for people.
  std::string describe(mlir::ModuleOp module) const;
  std::string describe(mlir::ModuleOp module, size_t variant) const;
};

/// The predicted time of plans: a plan by the value that it is made for (`isStatic`: of the program with that value as
/// a constant), at the value `at`. Negative: it has none.
using PlanTimes = llvm::function_ref<double(int64_t planned, bool isStatic, int64_t at)>;

/// The cheapest intervals of [low, high] with at most `most` plans: those with the least loss, at the worst of values
/// that are powers of two apart, against the best of all plans that were tried; of equal ones the fewest. `likely` is
/// one of the values that plans are made for.
llvm::SmallVector<Variant> chooseIntervals(int64_t low, int64_t high, int64_t likely, unsigned most, PlanTimes times);

/// Chooses for a normalized program; a choice of one variant where nothing gains by more, or the program has no symbols
/// or controls its flow by data. Quiet: what trials say is not heard.
VariantChoice chooseVariants(mlir::ModuleOp normalized, const PhaseOptions &options);

/// Seconds by the cost models of a variant at the value `at`; negative: no plan can be made.
double predictVariant(mlir::ModuleOp normalized, const VariantChoice &choice, size_t variant, int64_t at,
                      const PhaseOptions &options);

/// The program of one variant: a copy that is planned for its value.
mlir::OwningOpRef<mlir::ModuleOp> makeVariant(mlir::ModuleOp normalized, const VariantChoice &choice, size_t variant);

/// Of a program without variants: the numbers that its symbols count as.
void setLikely(mlir::ModuleOp normalized, const VariantChoice &choice);

/// Names of kernels of a variant that no other variant has: with `suffix`.
void renameKernels(mlir::ModuleOp variant, llvm::StringRef suffix);

/// Variants keep weights in the orders that the first one has chosen, so that memory holds each once.
void keepWeightOrders(mlir::ModuleOp planned, mlir::ModuleOp variant);

/// One program of all: `module`, as it was normalized, becomes `tg.variants` of the others, which it takes in.
void joinVariants(mlir::ModuleOp module, const VariantChoice &choice,
                  llvm::MutableArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> variants);

/// What joinVariants joined; an empty choice if it is no such program.
VariantChoice splitVariants(mlir::ModuleOp module, llvm::SmallVectorImpl<mlir::OwningOpRef<mlir::ModuleOp>> &variants);

/// Of a program whose kernels have schedules: seconds by the cost models with these values of its symbols.
double predictProgram(mlir::ModuleOp planned, llvm::ArrayRef<int64_t> symbols, const Device &device, bool allowTf32);

} // namespace weft

#endif // WEFT_PIPELINES_VARIANTS_H
