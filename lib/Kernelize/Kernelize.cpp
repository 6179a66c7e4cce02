// The pass --weft-kernelize: checks the kernel module and runs the recursion.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/Analysis/RowBlocks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Kernelize/Passes.h"
#include "weft/Target/RowBlocks.h"

using namespace mlir;

namespace weft::kernelize {

#define GEN_PASS_DEF_KERNELIZE
#include "weft/Kernelize/Passes.h.inc"

namespace {

/// That extents use no symbols but the `count` of the function.
LogicalResult checkSymbols(func::FuncOp function, unsigned count) {
  auto uses = [&](AffineExpr expr) {
    bool beyond = false;
    expr.walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        beyond |= symbol.getPosition() >= count;
    });
    return beyond;
  };
  auto check = [&](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (isa<RankedTensorType>(type) && llvm::any_of(tg::getDims(type), uses))
        return op->emitOpError("expected extents over the ") << count << " symbols of the kernel, got " << type;
    return success();
  };
  if (failed(check(function, function.getArgumentTypes())))
    return failure();
  for (Operation &op : function.getBody().front())
    if (failed(check(&op, op.getResultTypes())))
      return failure();
  return success();
}

LogicalResult checkKernel(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("expected a kernel body of one block");
  unsigned numIndices = 0;
  for (Type type : function.getArgumentTypes()) {
    if (!type.isIndex() && (numIndices != 0 || !isa<RankedTensorType>(type)))
      return function.emitOpError("expected tensor arguments followed by index arguments, got ") << type;
    numIndices += type.isIndex();
  }
  TypeRange results = function.getResultTypes();
  if (results.empty() || !llvm::all_of(results, llvm::IsaPred<RankedTensorType>))
    return function.emitOpError("expected one or more tensors as results");
  auto isPacked = [](Type type) { return tg::getElementBits(cast<RankedTensorType>(type).getElementType()) < 8; };
  if (results.size() > 1 && llvm::any_of(results, isPacked))
    return function.emitOpError("expected elements of at least 8 bits in a kernel with several results, got ")
           << results;
  return checkSymbols(function, numIndices);
}

LogicalResult checkSchedule(func::FuncOp function, tg::ScheduleAttr schedule) {
  int64_t rank = cast<RankedTensorType>(function.getResultTypes().front()).getRank();
  if (int64_t(schedule.getTile().size()) != rank)
    return function.emitOpError("expected a schedule with ")
           << rank << " tile extents, one for each dimension of the result, got " << schedule;
  return success();
}

struct KernelizePass : impl::KernelizeBase<KernelizePass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    ModuleOp module = getOperation();
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.size() != 1) {
      module.emitOpError("expected a kernel module with one function, got ") << functions.size();
      return signalPassFailure();
    }
    func::FuncOp function = functions.front();
    if (failed(checkKernel(function)))
      return signalPassFailure();
    auto schedule = module->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
    if (!schedule) {
      schedule = makeSimpleSchedule(function);
      module->setAttr("tg.schedule", schedule);
    }
    if (failed(checkSchedule(function, schedule)))
      return signalPassFailure();
    // What launches of several kernels need to know when tiles are gone.
    if (DictionaryAttr rows = tg::makeRowBlocks(function, tg::analyseAccess(function.getBody().front()), schedule))
      module->setAttr(gpu::rowBlocksAttr, rows);
    if (failed(Kernelizer(function, schedule, allowTf32).run()))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    (void)runRegionDCE(rewriter, module->getRegions());
  }
};

} // namespace
} // namespace weft::kernelize
