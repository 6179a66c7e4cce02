// weft-fit-kernel: see the header. A schedule is tried on the module itself; what the module was is kept as a clone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FitKernel.h"
#include "CountDots.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/GemmLaunch.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/LevelRemarks.h"
#include "weft/Plan/OrderModel.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft {
namespace {

/// The errors of an attempt, kept back until it is known whether another one is made. Other threads compile other
/// kernels: theirs pass.
class ErrorsKept {
public:
  explicit ErrorsKept(MLIRContext *context)
      : handler(context, [this, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
          if (llvm::get_threadid() != thread || diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          errors.push_back(std::move(diagnostic));
          return success();
        }) {}
  std::vector<Diagnostic> take() { return std::move(errors); }

private:
  std::vector<Diagnostic> errors;
  ScopedDiagnosticHandler handler;
};

/// Shared memory that the kernel of a module asks for, as far as its passes came.
int64_t getSharedBytes(ModuleOp module) {
  auto kernel = module.lookupSymbol<FunctionOpInterface>("kernel");
  auto bytes = kernel ? kernel->getAttrOfType<IntegerAttr>(gpu::sharedBytesAttr) : IntegerAttr();
  return bytes ? bytes.getInt() : 0;
}

/// Other schedules than one that does not fit: the planner's for a device with less shared memory, as long as it has
/// others; then fewer stages; then shorter steps; then, where no instruction wants a shape, half of the largest extent.
/// Or than those that spill: the planner's for fewer registers a thread; then, where no instruction wants a shape, more
/// warps for the tile, and smaller tiles.
class Candidates {
public:
  Candidates(ModuleOp module, const Device &device, bool allowTf32, StringRef traversal)
      : module(module), device(device), allowTf32(allowTf32), traversal(traversal) {}

  /// The next one after `last`, which took `excess` bytes too many; null: there are no more.
  tg::ScheduleAttr next(tg::ScheduleAttr last, int64_t excess) {
    tried.push_back(last);
    reserve = std::max(2 * reserve, excess);
    for (; reserve + leastShared < int64_t(device.sharedPerCta); reserve *= 2)
      if (tg::ScheduleAttr found = plan(); !llvm::is_contained(tried, found))
        return found;
    reserve = device.sharedPerCta;
    return shrink(last);
  }

  /// The next one after `spilled`; null: there are no more.
  tg::ScheduleAttr nextWithFewerRegisters(ArrayRef<tg::ScheduleAttr> spilled) {
    llvm::append_range(tried, spilled);
    for (size_t i = 0; i < spilled.size(); ++i)
      registers -= std::min(registers, registerStep);
    for (; registers >= leastRegisters; registers -= registerStep)
      if (tg::ScheduleAttr found = plan(); !llvm::any_of(tried, [&](auto each) { return haveSameTiles(each, found); }))
        return found;
    registers = device.registersPerThread;
    tg::ScheduleAttr next = spread(spilled.back());
    return next && llvm::any_of(tried, [&](auto each) { return haveSameTiles(each, next); }) ? tg::ScheduleAttr()
                                                                                             : next;
  }

private:
  tg::ScheduleAttr plan() {
    plan::KernelToSchedule request(module.lookupSymbol<func::FuncOp>("kernel"));
    request.allowTf32 = allowTf32;
    Device smaller = device;
    smaller.sharedPerCta -= unsigned(reserve);
    smaller.registersPerThread = registers;
    plan::ScheduleChoice choice = plan::chooseSchedule(request, smaller);
    std::string misfit; // The planner's own order stays where the one that was asked for does not fit the new grid.
    if (!traversal.empty())
      (void)plan::overrideOrder(request, traversal.str(), choice, misfit);
    choice.multicast = 1; // Neither changes what a tile takes of shared memory.
    choice.turns = false;
    return choice.getAttr(module.getContext());
  }

  /// Whether threads hold as much.
  static bool haveSameTiles(tg::ScheduleAttr one, tg::ScheduleAttr other) {
    return one.getTile() == other.getTile() && one.getStream() == other.getStream() &&
           one.getEngine() == other.getEngine() && one.getWarps() == other.getWarps();
  }

  /// Fewer elements a thread: as many on twice the warps, else half of the largest extent; where an instruction wants a
  /// shape, half of the longest step.
  static tg::ScheduleAttr spread(tg::ScheduleAttr schedule) {
    constexpr int64_t mostWarps = 16, warpThreads = 32, leastStep = 32;
    SmallVector<int64_t> tile(schedule.getTile()), stream(schedule.getStream());
    int64_t warps = schedule.getWarps(), elements = 1;
    for (int64_t extent : tile)
      elements *= extent;
    bool isSimt = schedule.getEngine() == tg::Engine::Simt;
    auto *side = isSimt ? llvm::max_element(tile) : llvm::max_element(stream);
    std::string order = schedule.getOrder().str();
    if (side == (isSimt ? tile.end() : stream.end()))
      return {};
    if (!isSimt && *side > leastStep)
      *side /= 2;
    else if (!isSimt)
      return {};
    else if (warps < mostWarps && elements > warps * warpThreads)
      warps *= 2;
    else if (*side > 1)
      *side /= 2, order = "row"; // Of another grid.
    else
      return {};
    return tg::ScheduleAttr::get(schedule.getContext(), tile, stream, schedule.getEngine(), warps, schedule.getStages(),
                                 order, schedule.getPersistent(), schedule.getSplit(), /*multicast=*/1,
                                 /*turns=*/false);
  }

  static tg::ScheduleAttr shrink(tg::ScheduleAttr schedule) {
    SmallVector<int64_t> tile(schedule.getTile()), stream(schedule.getStream());
    int64_t stages = schedule.getStages();
    bool isSimt = schedule.getEngine() == tg::Engine::Simt;
    auto largest = [](SmallVectorImpl<int64_t> &extents) {
      auto *found = llvm::max_element(extents);
      return found == extents.end() ? nullptr : found;
    };
    int64_t *step = largest(stream), *side = largest(tile);
    std::string order = schedule.getOrder().str();
    if (stages > 2)
      --stages;
    else if (step && *step > (isSimt ? 1 : leastDepth))
      *step /= 2;
    else if (isSimt && side && *side > 1)
      *side /= 2, order = "row"; // Of another grid.
    else
      return {};
    return tg::ScheduleAttr::get(schedule.getContext(), tile, stream, schedule.getEngine(), schedule.getWarps(), stages,
                                 order, schedule.getPersistent(), schedule.getSplit(), /*multicast=*/1,
                                 /*turns=*/false);
  }

  static constexpr int64_t leastShared = 16 << 10;                  ///< For which the planner is asked.
  static constexpr int64_t leastDepth = 64;                         ///< Of a GEMM's step: 128 bytes of 16-bit elements.
  static constexpr unsigned leastRegisters = 96, registerStep = 24; ///< For which the planner is asked.

  ModuleOp module;
  const Device &device;
  bool allowTf32;
  StringRef traversal;
  int64_t reserve = 0;
  unsigned registers = device.registersPerThread;
  SmallVector<tg::ScheduleAttr> tried;
};

class FitKernel : public PassWrapper<FitKernel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FitKernel)
  FitKernel(OpPassManager planning, OpPassManager tiling, FitOptions options)
      : planning(std::move(planning)), tiling(std::move(tiling)), options(std::move(options)) {}
  StringRef getArgument() const override { return "weft-fit-kernel"; }
  StringRef getDescription() const override {
    return "plan and tile a kernel, again where it takes too much shared memory";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    planning.getDependentDialects(registry);
    tiling.getDependentDialects(registry);
  }

private:
  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    ModuleOp module = getOperation();
    const Device *device = findDevice(module.getContext(), options.target);
    auto readSchedule = [&] { return module->getAttrOfType<tg::ScheduleAttr>(plan::scheduleAttr); };
    bool isGiven = bool(readSchedule());
    if (failed(runPipeline(planning, module)))
      return signalPassFailure();
    auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
    if (kernel && !kernel.isExternal() && kernel.getNumResults() > 0 && !readSchedule()) {
      kernel.emitError(
          "expected the kernel's plan, a #tg.schedule as tg.schedule of its module; compile on from outline "
          "to have one chosen");
      return signalPassFailure();
    }
    auto spilled = dyn_cast_or_null<ArrayAttr>(module->removeAttr(spilledAttr));
    OwningOpRef<ModuleOp> original = module.clone();
    if (!device || isGiven || !kernel) {
      if (failed(runPipeline(tiling, module)))
        return signalPassFailure();
      return finish(*original, device);
    }
    if (module->hasAttr(plan::recordAttr) && !spilled) {
      std::vector<Diagnostic> errors;
      if (succeeded(attempt(errors)))
        return finish(*original, device);
      if (!planWithoutRecord(original, errors))
        return signalPassFailure();
    }
    Candidates candidates(*original, *device, options.allowTf32, options.traversal);
    if (spilled && !spilled.empty() && !planForFewerRegisters(candidates, spilled))
      return signalPassFailure();
    std::vector<Diagnostic> first;
    for (bool isFirst = true;; isFirst = false) {
      std::vector<Diagnostic> errors;
      if (succeeded(attempt(errors)))
        return finish(*original, device);
      if (isFirst)
        first = std::move(errors);
      int64_t bytes = getSharedBytes(module);
      tg::ScheduleAttr next;
      if (auto last = module->getAttrOfType<tg::ScheduleAttr>(plan::scheduleAttr); last && bytes > device->sharedPerCta)
        next = candidates.next(last, bytes - device->sharedPerCta);
      if (!next)
        break;
      tellAgain(*original,
                llvm::formatv("{0} bytes of shared memory, {1} has {2}: planned again with less", bytes,
                              device->architecture, device->sharedPerCta)
                    .str(),
                next);
      restore(*original);
      module->setAttr(plan::scheduleAttr, next);
    }
    for (Diagnostic &error : first)
      getContext().getDiagEngine().emit(std::move(error));
    signalPassFailure();
  }

  /// What is left of the kernel: its tiles and what is known of its launch, or its plan.
  void finish(ModuleOp original, const Device *device) {
    ModuleOp module = getOperation();
    if (options.tiles == Tiles::Kept && device)
      noteLaunch(original, *device);
    if (options.tiles == Tiles::Dropped) {
      Attribute schedule = module->getAttr(plan::scheduleAttr);
      restore(original);
      if (schedule)
        module->setAttr(plan::scheduleAttr, schedule);
    }
    for (StringRef spent : {plan::launchTileAttr, plan::besideAttr}) // The schedule has taken them in.
      module->removeAttr(spent);
  }

  /// A record's schedule that can no longer be compiled is skipped. `original` is then the kernel with another plan.
  bool planWithoutRecord(OwningOpRef<ModuleOp> &original, ArrayRef<Diagnostic> errors) {
    ModuleOp module = getOperation();
    restore(*original);
    tg::ScheduleAttr recorded = module->getAttrOfType<tg::ScheduleAttr>(plan::scheduleAttr);
    module->removeAttr(plan::scheduleAttr);
    module->removeAttr(plan::recordAttr);
    module->setAttr(plan::skippedRecordAttr, UnitAttr::get(&getContext()));
    tellAgain(module, "a record is skipped: " + (errors.empty() ? "it cannot be compiled" : errors.front().str()),
              recorded);
    if (failed(runPipeline(planning, module)))
      return false;
    module->removeAttr(plan::skippedRecordAttr);
    original = module.clone();
    return true;
  }

  bool planForFewerRegisters(Candidates &candidates, ArrayAttr spilled) {
    ModuleOp module = getOperation();
    auto schedules = llvm::map_to_vector(spilled, [](Attribute each) { return dyn_cast<tg::ScheduleAttr>(each); });
    if (llvm::is_contained(schedules, tg::ScheduleAttr())) {
      module.emitError() << "expected schedules in " << spilledAttr << ", got " << spilled;
      return false;
    }
    tg::ScheduleAttr next = candidates.nextWithFewerRegisters(schedules);
    if (!next) {
      module.emitError() << "kernel " << module.getName().value_or("?") << " has no schedule with fewer registers";
      return false;
    }
    tellAgain(module, "registers spill: planned again with fewer", next);
    module->removeAttr(plan::recordAttr);
    module->setAttr(plan::scheduleAttr, next);
    return true;
  }

  /// Leaves the kernel's launch and the levels of its values for the explanation, with as many CTAs on an SM as its
  /// shared memory and warps allow.
  void noteLaunch(ModuleOp original, const Device &device) {
    ModuleOp module = getOperation();
    auto schedule = module->getAttrOfType<tg::ScheduleAttr>(plan::scheduleAttr);
    auto kernel = original.lookupSymbol<func::FuncOp>("kernel");
    if (!schedule || !kernel || kernel.getNumResults() == 0)
      return;
    plan::ScheduleChoice choice = plan::readSchedule(schedule);
    constexpr int64_t warpThreads = 32;
    int64_t shared = std::max<int64_t>(getSharedBytes(module) + device.sharedReservedPerCta, 1),
            threads = (choice.warps + (choice.engine == tg::Engine::Wgmma ? 4 : 0)) * warpThreads;
    choice.ctasPerSm =
        std::max<int64_t>(std::min<int64_t>({int64_t(device.sharedPerSm) / shared,
                                             int64_t(device.threadsPerSm) / threads, int64_t(device.ctasPerSm)}),
                          1);
    plan::KernelToSchedule request(kernel);
    request.allowTf32 = options.allowTf32;
    if (std::optional<double> seconds = plan::estimateKernel(request, schedule, device))
      module->setAttr(plan::secondsAttr, Builder(&getContext()).getF64FloatAttr(*seconds));
    if (getContext().getRemarkEngine())
      plan::emitLevelRemarks(module.getName().value_or("kernel"),
                             plan::analyseLevels(request, schedule, /*entersFolds=*/true));
    if (auto launch = plan::writeKernelLaunch(request, choice, device, module.getName().value_or("kernel"))) {
      if (std::optional<plan::MatrixWork> work = countDots(module, choice.warps))
        (*launch)["matrix"] = plan::writeMatrixWork(*work);
      std::string text;
      llvm::raw_string_ostream(text) << llvm::json::Value(std::move(*launch));
      module->setAttr(plan::launchAttr, StringAttr::get(&getContext(), text));
    }
  }

  LogicalResult attempt(std::vector<Diagnostic> &errors) {
    ErrorsKept kept(&getContext());
    LogicalResult result = runPipeline(tiling, getOperation());
    errors = kept.take();
    return result;
  }

  void restore(ModuleOp original) {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> again = original.clone();
    module.getBodyRegion().takeBody(again->getBodyRegion());
    module->setAttrs(original->getAttrDictionary());
  }

  static void tellAgain(ModuleOp module, const std::string &why, tg::ScheduleAttr schedule) {
    std::string text;
    llvm::raw_string_ostream(text) << schedule;
    auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
    remark::missed(kernel.getLoc(),
                   remark::RemarkOpts::name("refit").category("plan").function(module.getName().value_or("kernel")))
        << remark::add("{0}", why) << remark::metric("schedule", text);
  }

  OpPassManager planning, tiling;
  FitOptions options;
};

} // namespace

std::unique_ptr<Pass> createFitKernel(OpPassManager planning, OpPassManager tiling, FitOptions options) {
  return std::make_unique<FitKernel>(std::move(planning), std::move(tiling), std::move(options));
}

} // namespace weft
