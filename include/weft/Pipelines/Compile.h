// The compiler as a function: a module of imported `tg` to a lowered program, phase by phase.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINES_COMPILE_H
#define WEFT_PIPELINES_COMPILE_H

#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Emit/BundleWriter.h"
#include "weft/Pipelines/Pipelines.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>

namespace weft {

/// Phases in order. After each, the module holds only the dialects that docs/architecture.md lists. Up to Normalize
/// they are the same for every target; after Plan nothing is decided any more.
enum class Phase { Import, Normalize, Group, Outline, Plan, Lower };

/// "import", "normalize", "group", "outline", "plan" or "lower".
llvm::StringRef getPhaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

struct PhaseOptions {
  bool fuse = true;
  std::string planner = "weft";                           ///< As in plan::PlanOptions.
  std::string noFuse, forceFuse, plan, emitPlan, records; ///< As in plan::PlanOptions.
  bool nameSubgraphs = false;                             ///< For explanations: as in plan::PlanOptions.
  tg::MeshOptions mesh;                                   ///< As in tg::NormalizeOptions.
  bool writesWeights = true;  ///< The bundle holds the weights, in an order of ours where that pays.
  std::string overlap = "on"; ///< Collectives beside kernels: as `mode` of plan::OverlapOptions.
  cpu::StrategyOptions strategy;
  std::optional<GpuOptions> gpu; ///< Set: plan and lower for that GPU, else for the CPU.
  /// Modules are printed after each phase: none holds what the next one would have made anyway (Tiles::Kept).
  bool printsPhases = false;
  std::function<void(Phase)> started; ///< Called before each phase.
  /// Asked between phases: they fail, without a message, once it says yes.
  std::function<bool()> isCancelled;
  /// For a GPU: the most plans for intervals of a symbol (weft/Pipelines/Variants.h). A plan that is given, or asked
  /// for as a file, is one.
  unsigned mostVariants = 8;
  /// The most kernels of all variants together, counted by the plan for the likely value: variants cost compile time
  /// and code, which a small program has to spare. 0: no bound.
  unsigned mostVariantKernels = 64;
  std::string kernelSuffix; ///< Of a variant: what the names of its kernels end in, which others have too.
  /// Called before each variant's phases, of several, with its interval ("T 2-48"); and, with an empty text, before all
  /// else that is no variant's.
  std::function<void(llvm::StringRef)> beginVariant;
  /// Called with each program, or variant of one, that is normalized and about to be planned.
  std::function<void(mlir::ModuleOp)> beforePlan;
  /// Called with true before plans are tried whose remarks nobody wants to hear, with false behind them.
  std::function<void(bool)> hush;
  /// Called with a program that is outlined, or was planned before: kernels are graphs as their schedules are for.
  std::function<void(mlir::ModuleOp)> measured;
  /// Called after each phase with the time it took.
  std::function<void(Phase, mlir::ModuleOp, double seconds)> finished;
};

/// Runs the phases after `from` up to and including `last`. Problems are emitted as diagnostics of the context; with
/// `gpu`, a diagnostic of an op that the GPU path cannot do is at the op's location, which names the ONNX node.
llvm::LogicalResult runPhases(mlir::ModuleOp module, Phase from, Phase last, const PhaseOptions &options);

/// Loads every dialect and extension that the phases need.
void loadCompilerDialects(mlir::MLIRContext &context);

} // namespace weft

#endif // WEFT_PIPELINES_COMPILE_H
