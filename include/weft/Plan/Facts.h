// What programs and kernels compute and move, in numbers: before fusion op by op, after it dispatch by dispatch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations count as the ops' definitions say (a multiply-add is two). Bytes are those that cross memory if every
// kernel reads each of its operands and writes each of its results once; of an operand that only gathers and slices
// read, what they take. Symbols count as `symbolEstimate` (KernelAccess.h).
#ifndef WEFT_PLAN_FACTS_H
#define WEFT_PLAN_FACTS_H

#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace weft::plan {

/// A program as if each op were a kernel. Saturates at the ends of double.
struct UnfusedFacts {
  int64_t ops = 0; ///< That would be kernels: constants, weights, checks and reshapes are none.
  double flops = 0, bytes = 0;
  double intermediateBytes = 0; ///< Results of ops that the program does not return.
};
/// `program`: normalized, with @main.
UnfusedFacts measureUnfused(mlir::ModuleOp program);

/// One dispatch.
struct DispatchFacts {
  double flops = 0, readBytes = 0, writeBytes = 0;
  double intermediateBytes = 0; ///< Of its results, those that the program does not return.
};

/// A product of two matrices, or attention, as the cost models know them (weft/Plan/Cost/Configuration.h).
struct LaunchProblem {
  bool isAttention = false;
  int64_t m = 1, n = 1, k = 1;                                      ///< Product: rows and columns of the result.
  int64_t heads = 1, group = 1, queries = 1, keys = 1, headDim = 1; ///< Attention.
  int64_t elementBytes = 2;
  double bytes = 0; ///< Of its operands and result, each once.
};

/// A kernel module as outlined.
struct KernelFacts {
  std::vector<std::string> ops; ///< Names without the dialect, in order; constants apart.
  double flops = 0;
  llvm::SmallVector<double> readBytes; ///< By operand.
  std::optional<LaunchProblem> problem;
};
KernelFacts measureKernel(mlir::ModuleOp kernel);

/// By dispatch of `program`'s @main, in order, with the kernels' facts by name of the module.
std::vector<DispatchFacts> measureDispatches(mlir::ModuleOp program, const llvm::StringMap<KernelFacts> &kernels);

/// Elements and bytes of a tensor; symbols as above. 0 of what is none.
double estimateElements(mlir::Value value);
double estimateBytes(mlir::Value value);
/// Of them, what those of its users that are `isReader` take: all, but for gathers and slices, which take what they
/// return.
double takenBytes(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isReader);
/// Operations of `op`, and of the ops inside of it.
double estimateFlops(mlir::Operation *op);

} // namespace weft::plan

#endif // WEFT_PLAN_FACTS_H
