// weft-plan-launches: tiles for GEMMs that would not start together in those that each would choose for itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs of one level with a left operand in common (queries, keys and values) are one launch wherever CTAs of an SM
// allow it (lib/Plan/Launches). Where they do not, the launches are priced apart, each in its best tiles, and as one,
// in tiles of one shape (GemmLaunch.h). A tie leaves them their own: of 2048 rows one launch, predicted to take 0.5 %
// less on an A100, took 2.6 % more on an H100 (docs/notes/prefill.md). A kernel module is several
// dispatches' (all layers'), so its tile is chosen only where the same kernels stand beside it each time.
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/GemmLaunch.h"
#include "weft/Plan/LaunchLevels.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/Resolution.h"
#include "weft/Plan/Schedule.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace weft::plan {
#define GEN_PASS_DEF_PLANLAUNCHES
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// Kernels with a GEMM each, of one left operand.
using Siblings = SmallVector<ModuleOp>;

struct PlanLaunchesPass : weft::plan::impl::PlanLaunchesBase<PlanLaunchesPass> {
  using Base::Base;

  void runOnOperation() override {
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return;
    products.clear();
    beside.clear();
    launches.clear();
    collect(main);
    for (const auto &launch : launches)
      if (llvm::all_of(launch.second, [&](ModuleOp each) { return beside.lookup(each) == launch.second; }))
        choose(launch.second, *device);
  }

private:
  void collect(func::FuncOp main) {
    SymbolTable symbols(getOperation());
    for (ArrayRef<tg::DispatchOp> level : findLevels(main)) {
      llvm::MapVector<Value, Siblings> byLeft;
      for (tg::DispatchOp dispatch : level)
        if (auto module = symbols.lookup<ModuleOp>(dispatch.getCallee().getRootReference())) {
          if (level.size() > 1)
            module->setAttr(besideAttr, UnitAttr::get(&getContext()));
          if (Value left = findLeft(module, dispatch))
            byLeft[left].push_back(module);
        }
      for (auto &[left, siblings] : byLeft)
        for (ModuleOp each : siblings) {
          auto [known, isNew] = beside.try_emplace(each, siblings);
          if (!isNew && known->second != siblings)
            known->second.clear(); // Beside others elsewhere.
        }
      for (auto &[left, siblings] : byLeft)
        if (siblings.size() > 1)
          launches.try_emplace(siblings.front(), siblings);
    }
  }

  /// What the program passes as the left operand of the kernel's GEMM; null: it has none, or its schedule is given.
  Value findLeft(ModuleOp module, tg::DispatchOp dispatch) {
    auto [known, isNew] = products.try_emplace(module);
    auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
    if (isNew && kernel && !kernel.isExternal() && kernel.getNumResults() > 0 && !module->hasAttr(scheduleAttr)) {
      tg::LikelyExtents likely(module);
      KernelToSchedule request(kernel);
      request.allowTf32 = allowTf32;
      known->second = describeTiledProduct(request);
    }
    auto argument = known->second ? dyn_cast<BlockArgument>(known->second->left) : BlockArgument();
    return argument && argument.getArgNumber() < dispatch.getOperands_().size()
               ? dispatch.getOperands_()[argument.getArgNumber()]
               : Value();
  }

  void choose(const Siblings &siblings, const Device &device) {
    std::vector<GemmProblem> problems;
    SmallVector<GemmChoice> alone;
    double apart = 0;
    for (ModuleOp module : siblings) {
      problems.push_back(products.find(module)->second->problem);
      alone.push_back(chooseGemmTile(problems.back(), device));
      apart += alone.back().cost.seconds;
    }
    if (canStartTogether(alone, device))
      return;
    GemmLaunch launch = chooseGemmLaunch(problems, device);
    if (launch.tiles.empty())
      return;
    auto kernel = ModuleOp(siblings.front()).lookupSymbol<func::FuncOp>("kernel");
    bool pays = isSlower(apart, launch.cost.seconds);
    std::string text =
        llvm::formatv("{0} GEMMs of one left operand: {1:f1} us as one launch of {2} tiles, {3:f1} us apart",
                      siblings.size(), launch.cost.seconds * 1e6, launch.cost.tiles, apart * 1e6);
    auto options = remark::RemarkOpts::name(pays ? "launch-tile" : "no-launch-tile")
                       .category("plan")
                       .function(ModuleOp(siblings.front()).getName().value_or("kernel"));
    if (!pays) {
      remark::missed(kernel.getLoc(), options) << remark::add("{0}", text);
      return;
    }
    remark::passed(kernel.getLoc(), options) << remark::add("{0}", text);
    for (auto [module, tile] : llvm::zip_equal(siblings, launch.tiles)) {
      ScheduleChoice choice;
      choice.tile = {tile.m, tile.n};
      choice.stream = {tile.k};
      choice.engine = tile.engine;
      choice.warps = tile.warps;
      choice.stages = tile.stages;
      ModuleOp(module)->setAttr(launchTileAttr, choice.getAttr(&getContext()));
      ++numTiles;
    }
  }

  llvm::DenseMap<Operation *, std::optional<TiledProduct>> products;
  llvm::DenseMap<Operation *, Siblings> beside; ///< Kernels that stand beside each one, itself too; empty: several.
  llvm::MapVector<Operation *, Siblings> launches;
};

} // namespace
