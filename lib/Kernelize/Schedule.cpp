// A schedule for kernels that have none: legal, no more.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"

using namespace mlir;

namespace weft::kernelize {

/// Whether the results have the reduced dimensions too.
static bool sharesDims(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> axes) {
  return from.size() == dims.size() && llvm::all_of(axes, [&](int64_t axis) { return from[axis] == dims[axis]; });
}

tg::ScheduleAttr makeSimpleSchedule(func::FuncOp kernel) {
  auto domain = cast<RankedTensorType>(kernel.getBody().front().getTerminator()->getOperand(0).getType());
  tg::Dims dims = tg::getDims(domain);
  SmallVector<int64_t> tile(dims.size(), 1), stream;
  int64_t left = 1024, limit = 1024; // Places of the tile still to give; most of one dimension.
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
  // Rows first, then from the last dimension on.
  kernel.walk([&](Operation *op) {
    if (!isa<tg::ReduceOp, tg::ArgReduceOp, tg::ScanOp, tg::TopKOp>(op) || tg::isStreamed(op))
      return;
    auto kinds = cast<tg::TileOpInterface>(op).getDomainIterators();
    tg::Dims from = tg::getDims(op->getOperand(0).getType());
    if (auto reduce = dyn_cast<tg::ReduceOp>(op); reduce && !sharesDims(from, dims, reduce.getAxes())) {
      stream.assign(reduce.getAxes().size(), 1);
      for (auto [step, axis] : llvm::reverse(llvm::zip(stream, reduce.getAxes()))) {
        step = fittingStep(from[axis], left);
        left /= step;
      }
    }
    if (auto reduce = dyn_cast<tg::ArgReduceOp>(op)) {
      stream.assign(1, fittingStep(from[reduce.getAxis()], left));
      left /= stream.front();
    }
    if (from.size() != dims.size())
      return;
    for (auto [d, kind] : llvm::enumerate(kinds)) {
      if (kind != utils::IteratorType::reduction || tg::getConstant(dims[d]) == 1)
        continue;
      if (isa<tg::TopKOp>(op)) { // A sort needs the whole axis.
        tile[d] = fittingStep(from[d], int64_t(1) << 15);
        left = 1;
      } else {
        give(d, dims[d]);
      }
    }
  });
  for (size_t d = dims.size(); d-- > 0 && left > 1;)
    give(d, dims[d]);
  return tg::ScheduleAttr::get(kernel.getContext(), tile, stream, tg::Engine::Simt, /*warps=*/4, /*stages=*/1, "row",
                               /*persistent=*/false, /*split=*/1);
}

} // namespace weft::kernelize
