// Passes and pipeline of the Plan room: grouping ops into kernels, outlining them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_PASSES_H
#define WEFT_PLAN_PASSES_H

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "weft/Target/PlanAttributes.h"
#include <memory>
#include <string>

namespace mlir {
class OpPassManager;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace weft::plan {

#define GEN_PASS_DECL
#include "weft/Plan/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "weft/Plan/Passes.h.inc"

/// Module attributes of a kernel module: the extents of operands and results over the kernel's symbols.
inline constexpr llvm::StringLiteral operandDimsAttr = "tg.operand_dims", resultDimsAttr = "tg.result_dims";
/// Their value for tensors of these types.
mlir::ArrayAttr getDimsAttr(mlir::Builder &builder, mlir::TypeRange types);

/// As the options of --weft-split-collectives and --weft-overlap-collectives.
struct OverlapOptions {
  std::string mode = "on";
  std::string target;
  double linkRate = 0, linkLatency = -1;
};

struct PlanOptions {
  bool fuse = true;                              ///< Form groups of several ops.
  bool gpu = false;                              ///< By the rules for GPUs (weft/Plan/Groups.h).
  std::string target;                            ///< GPU whose SMs folds are split for; empty: none are.
  std::string planner = "weft";                  ///< As that of --weft-form-kernels.
  std::string noFuse, forceFuse, plan, emitPlan; ///< As those of --weft-form-kernels.
  std::string records;                           ///< File of measured times (docs/records.md); empty: none.
  bool nameSubgraphs = false;                    ///< As that of --weft-form-kernels.
  bool finiteMasks = false;                      ///< As `finite` of --weft-band-masks.
  int64_t maxRowBytes = int64_t(1) << 20;        ///< Working set limit of one row of a reduction group.
  unsigned vectorBits = 512; ///< Of a CPU's vector registers, two of which a panel of weights is wide.
  bool writesWeights = true; ///< The bundle holds the weights, so their order is ours to choose.
  OverlapOptions overlap;
};

/// Groups: primitives of @main into tg.kernel. Needs normalized IR.
void buildPlanPipeline(mlir::OpPassManager &pm, const PlanOptions &options);
/// Outlining: tg.kernel into nested modules and tg.dispatch.
void buildOutlinePipeline(mlir::OpPassManager &pm, const OverlapOptions &overlap = {});
/// Registers --weft-plan and --weft-outline.
void registerPlanPipelines();

} // namespace weft::plan

#endif // WEFT_PLAN_PASSES_H
