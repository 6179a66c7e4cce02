// A lowered kernel as a part of a launch of several: what it needs, and what it would cost the others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_MERGE_PART_H
#define WEFT_EMIT_MERGE_PART_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Target/Device.h"
#include <string>

namespace weft::emit {

inline constexpr int64_t kWarpThreads = 32;
/// Of one launch: parts, parameters in bytes (the driver takes 4 KB), tensor maps (the bundle takes 16).
inline constexpr size_t kMostParts = 12, kMostParameterBytes = 3072, kMostTensorMaps = 16;

/// A lowered kernel that can be a part.
struct Part {
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  unsigned buffers = 0, scalars = 0, maps = 0; ///< Parameters, in this order.
  unsigned inputs = 0;                         ///< Of the buffers, the first ones.
  int64_t grid = 0, warps = 0, shared = 0;     ///< CTAs; of a CTA, bytes of dynamic shared memory.
  int64_t registers = 0;                       ///< Of a thread, about.
  llvm::SmallVector<std::pair<unsigned, int64_t>> steady; ///< Inputs that nobody writes, and their bytes.
  bool hasBulk = false;                        ///< It reads or writes global memory through the asynchronous proxy.

  size_t parameterBytes() const { return 8 * (buffers + scalars) + 128 * maps; }
  llvm::StringRef getName() const { return mlir::ModuleOp(module).getSymName().value_or("kernel"); }
};

/// An operand of a part that another part of its launch writes.
struct Wire {
  unsigned reader = 0, input = 0;  ///< Part, and which of its inputs.
  unsigned writer = 0, result = 0; ///< Part before it, and which of its results.
};

/// The attribute `name` of `module`, 0 if there is none.
int64_t readInteger(mlir::ModuleOp module, llvm::StringRef name);

/// None for kernels whose grid depends on symbols, that have clusters, or that wait for the grids before them.
std::optional<Part> readPart(mlir::ModuleOp module);

/// Why the last of `parts` is better off in a launch of its own than behind the others; empty if it is not: together
/// some part has fewer CTAs on an SM than it can fill, or there are more parameters than a launch takes.
std::string findObstacle(llvm::ArrayRef<Part> parts, const Device &device);

} // namespace weft::emit

#endif // WEFT_EMIT_MERGE_PART_H
