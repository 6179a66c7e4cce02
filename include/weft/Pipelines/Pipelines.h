// The compiler's phases as pipelines, each with typed options; `weft-opt` and the compile driver build the same ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINES_PIPELINES_H
#define WEFT_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft {

/// The tiles of every kernel module nested in the module. Those that have some keep them.
void buildPlanCpuPipeline(mlir::OpPassManager &pm);

/// --weft-lower-cpu: every kernel module nested in the module, from `tg` to the LLVM dialect. A kernel for which the
/// CPU strategy fails is lowered by plain loops instead, and says why in its attribute `tg.fallback`.
void buildLowerCpuPipeline(mlir::OpPassManager &pm, const cpu::StrategyOptions &options);

/// What GPU code is made for.
struct GpuOptions {
  std::string target = "sm_80"; ///< A device or architecture of weft/Target/Device.h.
  bool fastMath = false;        ///< Approximate instructions for math functions, and reassociation.
  bool allowTf32 = false;       ///< f32 contractions may round their operands to tf32.
  bool dependentLaunch = true;  ///< sm_90 and up: kernels start while the one before still runs (docs/gpu.md).
  std::string traversal;        ///< Order of contractions' tiles (docs/traversal.md); empty: the planner's choice.
  /// Kernels that start as one: "off", "independent" (those that do not need each other), "on"
  /// (also those that do, where the model says that it pays), "chains" (wherever that can be).
  std::string mergeLaunches = "on";
  std::string records;        ///< File of measured times (docs/records.md); empty: none.
  bool nameSubgraphs = false; ///< Kernels say what records call them.
};

/// Of a kernel module in front of Plan: the schedules whose code spills registers, in the order in which they were
/// tried. Another one is wanted.
inline constexpr llvm::StringLiteral spilledAttr = "tg.spilled";

/// What a plan leaves of the tiles that it was tried with: nothing, so that it can be printed, or all, so that lowering
/// does not make them again.
enum class Tiles { Dropped, Kept };

/// In front of schedules: dimensions of kernels, and the tiles that launches of several want.
void buildPlanDimsPipeline(mlir::OpPassManager &pm, const GpuOptions &options);

/// The schedule of every kernel module nested in the module. Those that have one keep it.
void buildPlanGpuPipeline(mlir::OpPassManager &pm, const GpuOptions &options, Tiles tiles);

/// Which kernels of a program with schedules start as one: attributes of its dispatches (weft/Target/Launches.h). What
/// they need of a launch is known when they are tiled, so a copy is; where tiles are kept, the pipeline above does it.
/// With remarks the copy also says where the kernels' values are.
llvm::LogicalResult planLaunches(mlir::ModuleOp program, const GpuOptions &options);

/// Every planned kernel module nested in the module, from `tg` (or the tiles that the plan kept) to one llvm.func with
/// nvvm.kernel and the attributes of weft/Target/KernelAttributes.h. An op that has no GPU lowering is an error at the
/// op. --weft-lower-gpu plans and lowers.
void buildLowerGpuPipeline(mlir::OpPassManager &pm, const GpuOptions &options, Tiles tiles);

/// Registers the pipelines by their names.
void registerPipelines();

} // namespace weft

#endif // WEFT_PIPELINES_PIPELINES_H
