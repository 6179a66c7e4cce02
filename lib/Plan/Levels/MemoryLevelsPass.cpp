// weft-memory-levels: the levels of all tensors of a planned program, as attributes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/LevelRemarks.h"
#include "weft/Plan/MemoryLevels.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/Support/FormatVariadic.h"

namespace weft::plan {
#define GEN_PASS_DEF_MEMORYLEVELS
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

/// "argument 0", or the op's name.
static std::string nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "argument " + std::to_string(argument.getArgNumber());
  return value.getDefiningOp()->getName().stripDialect().str();
}

namespace {
struct MemoryLevelsPass : weft::plan::impl::MemoryLevelsBase<MemoryLevelsPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    getOperation()->walk([&](ModuleOp module) {
      tg::LikelyExtents likely(module);
      auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
      auto schedule = module->getAttrOfType<tg::ScheduleAttr>(scheduleAttr);
      if (kernel && !kernel.isExternal() && kernel.getNumResults() > 0 && schedule)
        describeKernel(module, kernel, schedule);
    });
    if (auto main = getOperation().lookupSymbol<func::FuncOp>("main"); main && !main.isExternal())
      describeProgram(main, *device);
  }

  void describeKernel(ModuleOp module, func::FuncOp kernel, tg::ScheduleAttr schedule) {
    KernelLevels levels = analyseLevels(KernelToSchedule(kernel), schedule, /*entersFolds=*/true);
    Builder builder(&getContext());
    auto number = [&](double value) { return builder.getI64IntegerAttr(int64_t(std::min(value, 0x1p62))); };
    SmallVector<Attribute> rows;
    unsigned edges = 0;
    for (const ValueLevel &each : levels.values) {
      edges += each.isEdge;
      rows.push_back(builder.getDictionaryAttr({
          builder.getNamedAttr("of", builder.getStringAttr(nameOf(each.value))),
          builder.getNamedAttr("level", builder.getStringAttr(getLevelName(each.level))),
          builder.getNamedAttr("tile", builder.getDenseI64ArrayAttr(each.tile)),
          builder.getNamedAttr("bytes", number(each.bytes)),
          builder.getNamedAttr("reason", builder.getStringAttr(each.reason)),
      }));
    }
    module->setAttr("tg.levels", builder.getArrayAttr(rows));
    module->setAttr("tg.level_traffic", builder.getDictionaryAttr({
                                            builder.getNamedAttr("read", number(levels.read)),
                                            builder.getNamedAttr("written", number(levels.written)),
                                            builder.getNamedAttr("shared", number(levels.shared)),
                                            builder.getNamedAttr("registers", number(levels.registers)),
                                        }));
    remark::analysis(kernel.getLoc(),
                     remark::RemarkOpts::name("levels").category("plan").function(module.getName().value_or("kernel")))
        << remark::add(
               "{0}", std::string(llvm::formatv(
                          "{0:f0} tiles of {1:f0} steps, {2} edges inside: {3:f1} MB read and {4:f1} MB written by all "
                          "SMs; {5:f1} KiB of shared memory and {6:f1} KiB of registers a tile",
                          levels.tiles, levels.steps, edges, levels.read * 1e-6, levels.written * 1e-6,
                          levels.shared / 1024, levels.registers / 1024)));
    emitLevelRemarks(module.getName().value_or("kernel"), levels);
  }

  /// Of each operand that a kernel made: what moves from its making on.
  void describeProgram(func::FuncOp main, const Device &device) {
    llvm::DenseMap<Operation *, double> movedBefore;
    double moved = 0;
    Builder builder(&getContext());
    for (tg::DispatchOp dispatch : main.getOps<tg::DispatchOp>()) {
      movedBefore[dispatch] = moved;
      for (Value value : dispatch.getOperands_())
        moved += estimateBytes(value);
      for (Value value : dispatch->getResults())
        moved += estimateBytes(value);
      SmallVector<Attribute> names;
      for (Value value : dispatch.getOperands_()) {
        Value source = value;
        while (auto view = source.getDefiningOp<tg::ReshapeOp>())
          source = view.getInput();
        auto maker = source.getDefiningOp<tg::DispatchOp>();
        double since = maker ? moved - movedBefore.lookup(maker) : 0;
        MemoryLevel level = maker ? levelBetweenKernels(since, device) : MemoryLevel::Memory;
        names.push_back(builder.getStringAttr(getLevelName(level)));
        if (maker)
          remark::analysis(dispatch.getLoc(), remark::RemarkOpts::name("level").category("plan").function("main"))
              << remark::add("{0}", std::string(llvm::formatv(
                                        "{0:f1} MB come from {1}: {2:f1} MB move from their making on, the L2 keeps "
                                        "{3:f1} MB",
                                        estimateBytes(value) * 1e-6, getLevelName(level), since * 1e-6,
                                        double(device.effectiveL2Bytes) * 1e-6)));
      }
      dispatch->setAttr("tg.operand_levels", builder.getArrayAttr(names));
    }
  }
};
} // namespace
