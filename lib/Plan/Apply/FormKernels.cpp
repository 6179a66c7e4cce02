// weft-form-kernels: applies the groups of Plan/Groups as tg.kernel ops. Makes no decision of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Groups.h"
#include "weft/Plan/Passes.h"

namespace weft::plan {
#define GEN_PASS_DEF_FORMKERNELS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

/// Label of a kernel: the names of its first ops, most telling first as they run.
static std::string labelOf(const Group &group) {
  constexpr size_t namedOps = 4;
  std::string label;
  for (Operation *op : ArrayRef(group.getArrayRef()).take_front(namedOps)) {
    if (!label.empty())
      label += '_';
    label += op->getName().stripDialect();
  }
  if (group.size() > namedOps)
    label += "_and_" + std::to_string(group.size() - namedOps);
  return label;
}

/// Moves the ops of `group` into a new tg.kernel at the place of its last op, whose results become the kernel's.
static void applyGroup(const Group &group) {
  Operation *sink = group.back();
  SmallVector<Location> locations;
  for (Operation *op : group)
    locations.push_back(op->getLoc());
  OpBuilder builder(sink);
  Location loc = builder.getFusedLoc(locations);
  auto kernel = tg::KernelOp::create(builder, loc, sink->getResultTypes(), builder.getStringAttr(labelOf(group)));
  Block *body = builder.createBlock(&kernel.getBody());
  for (Operation *op : group)
    op->moveBefore(body, body->end());
  sink->replaceAllUsesWith(kernel.getResults());
  builder.setInsertionPointToEnd(body);
  tg::YieldOp::create(builder, loc, sink->getResults());
}

namespace {
struct FormKernelsPass : weft::plan::impl::FormKernelsBase<FormKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    GroupOptions options;
    options.fuse = fuse;
    options.maxRowBytes = maxRowBytes;
    auto refused = [&](Operation *producer, Operation *consumer, StringRef rule) {
      remark::missed(producer->getLoc(),
                     remark::RemarkOpts::name("not-fused").category("fusion").function(func.getName()))
          << remark::add("{0}", rule) << remark::metric("producer", producer->getName().getStringRef())
          << remark::metric("consumer", consumer->getName().getStringRef());
    };
    for (const Group &group : formGroups(func.getBody().front(), options, refused)) {
      ++numKernels;
      if (group.size() > 1)
        numFused += group.size();
      applyGroup(group);
    }
  }
};
} // namespace
