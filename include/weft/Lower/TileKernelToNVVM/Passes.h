// From tk with layouts to llvm and nvvm: passes and pipeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_TILEKERNELTONVVM_PASSES_H
#define WEFT_LOWER_TILEKERNELTONVVM_PASSES_H

#include "mlir/Pass/Pass.h"
#include "weft/Target/KernelAttributes.h"
#include <memory>

namespace mlir {
class OpPassManager;
namespace arith {
class ArithDialect;
}
namespace cf {
class ControlFlowDialect;
}
namespace LLVM {
class LLVMDialect;
}
namespace math {
class MathDialect;
}
namespace NVVM {
class NVVMDialect;
}
namespace scf {
class SCFDialect;
}
namespace vector {
class VectorDialect;
}
} // namespace mlir

namespace weft::gpu {

#define GEN_PASS_DECL
#include "weft/Lower/TileKernelToNVVM/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Lower/TileKernelToNVVM/Passes.h.inc"

/// Of a lowered module: bits of `index`, 32 or 64 (i64).
inline constexpr llvm::StringLiteral indexBitsAttr = "tk.index_bits";
/// Name of the module's dynamic shared memory.
inline constexpr llvm::StringLiteral sharedName = "smem";

/// From a kernel module of tk ops with layouts to llvm and nvvm only. `fastMath`: see --weft-gpu-math;
/// `dependentLaunch`: see --weft-lower-tk.
void buildLowerTkPipeline(mlir::OpPassManager &pm, bool fastMath = false, bool dependentLaunch = false);
/// Registers --weft-lower-tk-pipeline.
void registerLowerTkPipeline();

} // namespace weft::gpu

#endif // WEFT_LOWER_TILEKERNELTONVVM_PASSES_H
