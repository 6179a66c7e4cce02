// A schedule for kernels that have none: legal, no more.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"

using namespace mlir;

namespace weft::kernelize {

tg::ScheduleAttr makeSimpleSchedule(func::FuncOp kernel) {
  auto domain = cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
  tg::Dims dims = tg::getDims(domain);
  SmallVector<int64_t> tile(dims.size(), 1), stream;
  int64_t left = 1024, limit = 1024; // Elements of the tile still to give; most of one dimension.
  kernel.walk([&](tg::ContractOp) {
    left = 64 * 64;
    limit = 64;
  });
  auto give = [&](size_t d, AffineExpr extent) {
    if (tile[d] != 1)
      return;
    tile[d] = fittingStep(extent, std::min(left, limit));
    left /= tile[d];
  };
  tg::KernelAccess access = tg::analyseAccess(kernel.getBody().front());
  auto giveSorted = [&](tg::TopKOp op, AffineExpr extent) { // A sort needs the whole axis.
    for (Value result : op->getResults())
      for (const tg::KernelRequest *request : access.of(result))
        if (auto dim = dyn_cast_or_null<AffineDimExpr>(request->coordinates[op.getAxis()]);
            dim && dim.getPosition() < dims.size() && tg::getConstant(dims[dim.getPosition()]) != 1) {
          tile[dim.getPosition()] = fittingStep(extent, int64_t(1) << 15);
          left = 1;
        }
  };
  // Rows first, then from the last dimension on.
  kernel.walk([&](tg::TileOpInterface op) {
    if (!isa<tg::ReduceOp, tg::ArgReduceOp, tg::ScanOp, tg::TopKOp>(op) || tg::isStreamed(op))
      return;
    tg::Dims from = tg::getDims(op->getOperand(0).getType());
    SmallVector<unsigned> lacking;
    for (auto [d, kind] : llvm::enumerate(op.getDomainIterators())) {
      if (kind != utils::IteratorType::reduction)
        continue;
      if (std::optional<unsigned> along = access.findAlong(op, d))
        give(*along, dims[*along]);
      else if (auto topK = dyn_cast<tg::TopKOp>(op.getOperation()))
        giveSorted(topK, from[d]);
      else
        lacking.push_back(d);
    }
    if (lacking.empty() || isa<tg::ScanOp, tg::TopKOp>(op))
      return;
    stream.assign(lacking.size(), 1);
    for (auto [step, d] : llvm::reverse(llvm::zip(stream, lacking))) {
      step = fittingStep(from[d], left);
      left /= step;
    }
  });
  for (size_t d = dims.size(); d-- > 0 && left > 1;)
    give(d, dims[d]);
  return tg::ScheduleAttr::get(kernel.getContext(), tile, stream, tg::Engine::Simt, /*warps=*/4, /*stages=*/1, "row",
                               /*persistent=*/false, /*split=*/1, /*multicast=*/1, /*turns=*/false);
}

} // namespace weft::kernelize
