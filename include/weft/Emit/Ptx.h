// Kernel modules in the llvm and nvvm dialects to PTX text, in process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_PTX_H
#define WEFT_EMIT_PTX_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::LLVM {
class LLVMFuncOp;
}

namespace weft::emit {

/// A tensor map as weft/bundle_format.h's TensorMapRecord has it; extents and strides are positions in the list of
/// scalars.
struct GpuTensorMap {
  unsigned argument = 0;
  unsigned swizzle = 0; ///< Bytes.
  llvm::SmallVector<unsigned, 5> box, steps, extents;
  llvm::SmallVector<unsigned, 4> strides;
};

/// What the attributes of a lowered kernel module say (weft/Target/KernelAttributes.h), checked.
struct GpuKernel {
  std::string target;
  unsigned threads = 0, cluster = 1, sharedBytes = 0;
  unsigned resident = 0;   ///< CTAs that wait for each other; 0: none.
  unsigned ptxVersion = 0; ///< 80 is PTX 8.0.
  mlir::AffineMap grid, scalars;
  unsigned buffers = 0; ///< Pointer parameters.
  llvm::SmallVector<GpuTensorMap> tensorMaps;
};

/// The one kernel function of `module`; null if there is none or more than one.
mlir::LLVM::LLVMFuncOp getKernelFunction(mlir::ModuleOp module);

/// Reads and checks the attributes and the signature: pointers, then i64 scalars, then tensor maps by value.
llvm::Expected<GpuKernel> readGpuKernel(mlir::ModuleOp module);

/// PTX modules for `target` ("sm_80", "sm_86", "sm_89", "sm_90a"), one a kernel: module i has the entry
/// `k<firstNumber + i>` and the lowest ISA that the kernel needs. Names at module scope differ, so that `joinPtx` can
/// put modules together. Kernels are compiled in the threads of their context; the text does not depend on their
/// number. Fails on a kernel for another target, on math that has no instruction and was not expanded
/// (--weft-gpu-math), and on calls of functions that the module does not define. Ops of nvvm that stand for inline PTX
/// are converted in place. Asks `isCancelled` before each kernel, from any thread; yes is an error.
llvm::Expected<std::vector<std::string>> compilePtx(llvm::ArrayRef<mlir::ModuleOp> kernels, llvm::StringRef target,
                                                    unsigned firstNumber,
                                                    llvm::function_ref<bool()> isCancelled = nullptr);

/// The bodies of the modules behind one header with the highest of their versions. All are for `target`.
std::string joinPtx(llvm::ArrayRef<std::string> modules, llvm::StringRef target);

} // namespace weft::emit

#endif // WEFT_EMIT_PTX_H
