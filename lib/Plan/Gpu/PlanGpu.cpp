// weft-plan-gpu: sets the schedule of a kernel module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/GemmLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/OrderModel.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Plan/Records.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::plan {
#define GEN_PASS_DEF_PLANGPU
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {
struct PlanGpuPass : weft::plan::impl::PlanGpuBase<PlanGpuPass> {
  using Base::Base;

  void runOnOperation() override {
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    if (std::string problem; !traversal.empty() && !checkOrderText(traversal, problem)) {
      getOperation().emitError() << problem;
      return signalPassFailure();
    }
    if (std::string error; !records.empty() && measured.isEmpty() && !measured.read(records, error)) {
      getOperation().emitError() << "records: " << error;
      return signalPassFailure();
    }
    // A kernel module, or a program that holds some.
    getOperation()->walk([&](ModuleOp module) {
      tg::LikelyExtents likely(module);
      auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
      if (kernel && !kernel.isExternal() && kernel.getNumResults() > 0)
        plan(module, kernel, *device);
    });
  }

  Records measured;

  static Group opsOf(func::FuncOp kernel) {
    Group group;
    for (Operation &op : kernel.getBody().front().without_terminator())
      group.insert(&op);
    return group;
  }

  /// Null if the text is none; what the parser says is dropped, but not what other threads say meanwhile.
  tg::ScheduleAttr parseSchedule(StringRef text) {
    ScopedDiagnosticHandler quiet(&getContext(), [thread = llvm::get_threadid()](Diagnostic &) {
      return success(llvm::get_threadid() == thread);
    });
    return dyn_cast_or_null<tg::ScheduleAttr>(parseAttribute(text, &getContext()));
  }

  /// Why a schedule is none for this kernel and device; "" if it is one as far as is known before it is compiled.
  std::string findMisfit(const KernelToSchedule &request, tg::ScheduleAttr schedule, const Device &device) {
    size_t rank = request.access.resultRank;
    if (!schedule || schedule.getTile().size() != rank)
      return llvm::formatv("expected a #tg.schedule with {0} tile extents, one for each dimension of the result", rank);
    if (schedule.getEngine() == tg::Engine::Wgmma && !device.hasWgmma())
      return llvm::formatv("{0} has no wgmma", device.name);
    return estimateKernel(request, schedule, device) ? "" : "its tiles do not fit";
  }

  /// Why the planner's own choice is better than what a record has; "" if as far as is known it is not. What it chose
  /// when the record was made was timed, too. If it would choose otherwise now, it is taken to err now as it did then;
  /// for other extents than the record's own nothing is known.
  std::string findBetter(const Record &record, bool isExact, const KernelToSchedule &request, tg::ScheduleAttr own,
                         const Device &device) {
    constexpr double clearly = 0.97;
    tg::ScheduleAttr planned = record.planned.empty() ? tg::ScheduleAttr() : parseSchedule(record.planned);
    if (!planned || haveSameTiles(planned, own))
      return "";
    if (!isExact)
      return "the planner would not choose now what was slower then";
    std::optional<double> seconds = estimateKernel(request, own, device);
    if (!seconds || record.plannedModelSeconds == 0 || record.plannedSeconds == 0)
      return "";
    double expected = *seconds * record.plannedSeconds / record.plannedModelSeconds;
    return expected < clearly * record.seconds
               ? llvm::formatv("{0:f1} us are expected of what the planner chooses now", expected * 1e6).str()
               : "";
  }

  static bool haveSameTiles(tg::ScheduleAttr one, tg::ScheduleAttr other) {
    return one.getTile() == other.getTile() && one.getStream() == other.getStream() &&
           one.getEngine() == other.getEngine() && one.getWarps() == other.getWarps() &&
           one.getSplit() == other.getSplit() && one.getMulticast() == other.getMulticast();
  }

  /// The schedule that the records have for this kernel, or for one with extents like its own; null if there is none,
  /// or if an order is asked for, or the tiles of its launch. One that is none for it, or no better than the planner's
  /// `own`, is skipped.
  tg::ScheduleAttr findRecorded(ModuleOp module, const KernelToSchedule &request, tg::ScheduleAttr own,
                                const Device &device) {
    if (!measured.knows(device.name) || !traversal.empty() || module->hasAttr(launchTileAttr) ||
        module->hasAttr(skippedRecordAttr))
      return {};
    func::FuncOp kernel = request.func;
    SubgraphKey key = describeSubgraph(opsOf(kernel));
    SmallVector<const Record *> found;
    const Record *exact = measured.find(key, device.name);
    if (exact && !exact->schedule.empty())
      found.push_back(exact);
    for (const Record *record : measured.findNear(key, device.name))
      if (record != exact)
        found.push_back(record);
    auto options = [&] {
      return remark::RemarkOpts::name("schedule").category("plan").function(module.getName().value_or("kernel"));
    };
    for (const Record *record : found) {
      tg::ScheduleAttr schedule = parseSchedule(record->schedule);
      std::string text = describe(*record, device.name);
      if (record != exact)
        text += " with " + record->shapes.back() + " results";
      std::string problem = findMisfit(request, schedule, device);
      if (!problem.empty())
        problem += ", got '" + record->schedule + "'";
      else
        problem = findBetter(*record, record == exact, request, own, device);
      if (!problem.empty()) {
        remark::missed(kernel.getLoc(), options()) << remark::add("{0}", "a record is skipped: " + problem);
        continue;
      }
      remark::passed(kernel.getLoc(), options())
          << remark::add("by a record: {0}", text) << remark::metric("schedule", record->schedule);
      module->setAttr(recordAttr, StringAttr::get(&getContext(), text));
      return schedule;
    }
    return {};
  }

  void plan(ModuleOp module, func::FuncOp kernel, const Device &device) {
    module->setAttr(weft::gpu::targetAttr, StringAttr::get(&getContext(), device.architecture));
    if (nameSubgraphs)
      nameSubgraph(module, describeSubgraph(opsOf(kernel)));
    if (module->getAttrOfType<tg::ScheduleAttr>(scheduleAttr))
      return;
    KernelToSchedule request(kernel);
    request.allowTf32 = allowTf32;
    ScheduleChoice choice = chooseSchedule(request, device);
    if (tg::ScheduleAttr recorded = findRecorded(module, request, choice.getAttr(&getContext()), device)) {
      module->setAttr(scheduleAttr, recorded);
      return;
    }
    if (!traversal.empty()) // An order of tiles, not of pairs of them.
      choice.multicast = 1;
    if (std::string problem; !traversal.empty() && !overrideOrder(request, traversal, choice, problem)) {
      kernel.emitError() << problem;
      return signalPassFailure();
    }
    tg::ScheduleAttr schedule = choice.getAttr(&getContext());
    module->setAttr(scheduleAttr, schedule);
    std::string text;
    llvm::raw_string_ostream(text) << schedule;
    remark::passed(kernel.getLoc(),
                   remark::RemarkOpts::name("schedule").category("plan").function(module.getName().value_or("kernel")))
        << remark::add("{0}", choice.reason) << remark::metric("schedule", text);
    if (getContext().getRemarkEngine() && !request.find<tg::ContractOp>() && !request.find<tg::FoldOp>())
      explainTime(module, request, schedule, device);
  }

  /// What the model of reads says of a kernel that memory bounds.
  static void explainTime(ModuleOp module, const KernelToSchedule &request, tg::ScheduleAttr schedule,
                          const Device &device) {
    MemoryTime time = estimateMemoryBound(request, schedule, device);
    func::FuncOp func = request.func;
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("time").category("plan").function(module.getName().value_or("kernel")))
        << remark::add("{0}", std::string(llvm::formatv(
                                  "{0:f1} us: {1:f1} MB read, {2:f1} MB of them again, {3:f1} MB written; {4:f1} us of "
                                  "arithmetic",
                                  time.seconds * 1e6, (time.first + time.again) * 1e-6, time.again * 1e-6,
                                  time.written * 1e-6, time.arithmetic * 1e6)));
  }
};
} // namespace
