// weft-form-kernels: applies the groups of Plan/Groups as tg.kernel ops. Makes no decision of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InPlace.h"
#include "KernelName.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Constraints.h"
#include "weft/Plan/Decisions.h"
#include "weft/Plan/DimClasses.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/Records.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/Device.h"

namespace weft::plan {
#define GEN_PASS_DEF_FORMKERNELS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

/// Moves the ops of `group` into a new tg.kernel at the position of its last op. Results used outside become the
/// kernel's, the largest first.
static tg::KernelOp applyGroup(const Group &group) {
  SmallVector<Location> locations;
  for (Operation *op : group)
    locations.push_back(op->getLoc());
  SmallVector<Value> results;
  for (Operation *sink : findSinks(group))
    llvm::append_range(results, sink->getResults());
  OpBuilder builder(group.back());
  Location loc = builder.getFusedLoc(locations);
  auto kernel =
      tg::KernelOp::create(builder, loc, ValueRange(results).getTypes(), builder.getStringAttr(nameKernel(group)));
  Block *body = builder.createBlock(&kernel.getBody());
  for (Operation *op : group)
    op->moveBefore(body, body->end());
  for (auto [result, value] : llvm::zip_equal(kernel.getResults(), results))
    value.replaceUsesWithIf(result, [&](OpOperand &use) { return !kernel->isProperAncestor(use.getOwner()); });
  builder.setInsertionPointToEnd(body);
  tg::YieldOp::create(builder, loc, results);
  return kernel;
}

static void emitRecordRemark(const SubgraphKey &key, const Group &group, const GroupOptions &options) {
  StringRef device = options.device ? options.device->name : "cpu";
  if (const Record *record = options.records->find(key, device))
    remark::passed(group.back()->getLoc(), remark::RemarkOpts::name("record").category("fusion"))
        << remark::add("{0}", describe(*record, device)) << remark::metric("subgraph", key.name);
}

namespace {
struct FormKernelsPass : weft::plan::impl::FormKernelsBase<FormKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
      if (isOpTriviallyDead(&op)) // What a rewrite left behind is no kernel.
        op.erase();
    if (func.getName() == "main")
      markInPlace(func);
    GroupOptions options;
    options.fuse = fuse;
    options.maxRowBytes = maxRowBytes;
    options.gpu = gpu;
    if (gpu && !(options.device = findDeviceOrError(func, target)))
      return signalPassFailure();
    std::optional<Planner> chosen = parsePlanner(planner);
    if (!chosen) {
      func.emitError() << "planner: expected weft, dnnfusion, tvm-rules or exact, got `" << planner << "`";
      return signalPassFailure();
    }
    options.planner = *chosen;
    FusionConstraints constraints;
    if (failed(constraints.read(func, noFuse, forceFuse)) ||
        (!plan.empty() && failed(constraints.readPlan(func, plan))))
      return signalPassFailure();
    Records measured;
    if (std::string error; !records.empty() && !measured.read(records, error)) {
      func.emitError() << "records: " << error;
      return signalPassFailure();
    }
    options.records = measured.isEmpty() ? nullptr : &measured;
    options.fuse &= plan.empty();
    options.constraints = &constraints;
    DimClasses dims(func.getBody().front());
    options.dims = &dims;
    DecisionLog log;
    auto refused = [&](Operation *producer, Operation *consumer, StringRef rule) {
      log.refuse(producer, consumer, rule);
    };
    SmallVector<Group> groups = formGroups(func.getBody().front(), options, refused);
    if (failed(constraints.checkDemands(func, groups, options)))
      return signalPassFailure();
    if (getContext().getRemarkEngine()) {
      emitRemarks(log.decide(func.getBody().front(), groups, options), func.getName());
      emitPlannerRemark(func, groups, options);
    }
    for (auto [i, group] : llvm::enumerate(groups)) {
      ++numKernels;
      if (group.size() > 1)
        numFused += group.size();
      SubgraphKey key = nameSubgraphs || options.records ? describeSubgraph(group) : SubgraphKey();
      if (options.records)
        emitRecordRemark(key, group, options);
      tg::KernelOp kernel = applyGroup(group);
      if (nameSubgraphs)
        nameSubgraph(kernel, key);
      emitKernelRemark(kernel, i, group.size(), func.getName());
    }
    if (gpu) // A result that is not the last op's may have readers above the kernel.
      sortTopologically(&func.getBody().front());
    if (!emitPlan.empty() && failed(writePlan(func, emitPlan)))
      signalPassFailure();
  }
};
} // namespace
