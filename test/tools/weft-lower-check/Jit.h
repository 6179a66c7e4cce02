// Kernel functions of plain tensors compiled by upstream passes (one-shot bufferization, loops, LLVM) and called with
// host tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_TOOLS_WEFTLOWERCHECK_JIT_H
#define WEFT_TEST_TOOLS_WEFTLOWERCHECK_JIT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace mlir {
class DialectRegistry;
class ExecutionEngine;
} // namespace mlir

namespace weft::check {

/// Registers dialects and passes, upstream's and ours.
void registerEverything(mlir::DialectRegistry &registry);

/// A dense row-major tensor: its extents and its bytes as the kernel's memory holds them.
struct Buffer {
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 1;
  std::vector<char> bytes;
};

class Jit {
public:
  /// Lowers `module` (tg functions) in place and compiles it. Failures leave diagnostics.
  static std::unique_ptr<Jit> create(mlir::ModuleOp module);
  ~Jit();

  /// Calls `function` with input buffers and symbols; `outputs` come with their element sizes and ranks, their extents
  /// are filled in.
  llvm::Error call(llvm::StringRef function, llvm::ArrayRef<Buffer> inputs, llvm::ArrayRef<int64_t> symbols,
                   llvm::MutableArrayRef<Buffer> outputs);

private:
  std::unique_ptr<mlir::ExecutionEngine> engine;
};

} // namespace weft::check

#endif // WEFT_TEST_TOOLS_WEFTLOWERCHECK_JIT_H
