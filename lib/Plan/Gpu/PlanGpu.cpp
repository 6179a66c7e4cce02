// weft-plan-gpu: sets the schedule of a kernel module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Target.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/OrderModel.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/Profile.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Plan/Schedule.h"
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
    if (std::string error; !profile.empty() && measured.isEmpty() && !measured.read(profile, error)) {
      getOperation().emitError() << "profile: " << error;
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

  Profile measured;

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

  /// The schedule that the profile has for this kernel; null if there is none, or if an order is asked for. Fails the
  /// pass if it is no schedule.
  tg::ScheduleAttr findRecorded(ModuleOp module, func::FuncOp kernel, const Device &device) {
    if (!measured.knows(device.name) || !traversal.empty())
      return {};
    const ProfileRecord *record = measured.find(describeSubgraph(opsOf(kernel)), device.name);
    if (!record || record->schedule.empty())
      return {};
    tg::ScheduleAttr schedule = parseSchedule(record->schedule);
    size_t rank = cast<RankedTensorType>(kernel.getResultTypes().front()).getRank();
    if (!schedule || schedule.getTile().size() != rank) {
      kernel.emitError() << "profile: expected a #tg.schedule with " << rank
                         << " tile extents, one for each dimension of the result, got '" << record->schedule << "'";
      signalPassFailure();
      return {};
    }
    remark::passed(kernel.getLoc(),
                   remark::RemarkOpts::name("schedule").category("plan").function(module.getName().value_or("kernel")))
        << remark::add("by the profile: {0}", describe(*record, device.name))
        << remark::metric("schedule", record->schedule);
    return schedule;
  }

  void plan(ModuleOp module, func::FuncOp kernel, const Device &device) {
    module->setAttr(weft::gpu::targetAttr, StringAttr::get(&getContext(), device.architecture));
    if (nameSubgraphs)
      nameSubgraph(module, describeSubgraph(opsOf(kernel)));
    if (module->getAttrOfType<tg::ScheduleAttr>(scheduleAttr))
      return;
    if (tg::ScheduleAttr recorded = findRecorded(module, kernel, device)) {
      module->setAttr(scheduleAttr, recorded);
      return;
    }
    KernelToSchedule request(kernel);
    request.allowTf32 = allowTf32;
    ScheduleChoice choice = chooseSchedule(request, device);
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
