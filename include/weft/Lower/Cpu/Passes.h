// Passes and pipeline of the CPU strategy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_CPU_PASSES_H
#define WEFT_LOWER_CPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class DialectRegistry;
class ModuleOp;
class OpPassManager;
namespace affine {
class AffineDialect;
}
namespace arith {
class ArithDialect;
}
namespace bufferization {
class BufferizationDialect;
}
namespace linalg {
class LinalgDialect;
}
namespace LLVM {
class LLVMDialect;
}
namespace math {
class MathDialect;
}
namespace memref {
class MemRefDialect;
}
namespace scf {
class SCFDialect;
}
namespace tensor {
class TensorDialect;
}
namespace vector {
class VectorDialect;
}
} // namespace mlir

namespace weft::cpu {

#define GEN_PASS_DECL
#include "weft/Lower/Cpu/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "weft/Lower/Cpu/Passes.h.inc"

/// What a kernel is compiled for.
struct StrategyOptions {
  unsigned vectorBits = 512; ///< Width of a vector register: 128, 256 or 512.
  bool addsQuads = false;    ///< The machine has AVX-512 VNNI.
  bool fastMath = false;     ///< `--fp=fast`: all fastmath flags on all floating-point ops.
  bool optimize = true;      ///< Tile, fuse and pack; otherwise plain loops, one grid point.
};

/// Passes from linalg on tensors to the LLVM dialect, on one kernel module.
void buildKernelPipeline(mlir::OpPassManager &pm, const StrategyOptions &options);

/// The first of them, up to the choice of tiles.
void buildTilesPipeline(mlir::OpPassManager &pm);

/// Dialect extensions (tiling, bufferisation, value bounds, conversion to LLVM) that the pipeline needs.
void registerStrategyInterfaces(mlir::DialectRegistry &registry);

/// Names of module attributes (see Passes.td).
inline constexpr llvm::StringLiteral operandDimsAttr = "tg.operand_dims";
inline constexpr llvm::StringLiteral resultDimsAttr = "tg.result_dims";
/// Why the strategy failed for a kernel that was lowered by plain loops.
inline constexpr llvm::StringLiteral fallbackAttr = "tg.fallback";
inline constexpr llvm::StringLiteral opsAttr = "tg.ops";
inline constexpr llvm::StringLiteral tileSizesAttr = "tg.tile_sizes";
inline constexpr llvm::StringLiteral gridAttr = "tg.grid";
inline constexpr llvm::StringLiteral scratchAttr = "tg.scratch";
inline constexpr llvm::StringLiteral scratchPartsAttr = "tg.scratch_parts";
/// Name of the function of the kernel ABI that the pipeline makes.
inline constexpr llvm::StringLiteral entryName = "entry";

} // namespace weft::cpu

#endif // WEFT_LOWER_CPU_PASSES_H
