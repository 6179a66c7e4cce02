// Copies in another order, and copies with longer rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CopyKernels.h"

using namespace mlir;

namespace weft::plan {

Value addZeros(OpBuilder &builder, Location loc, Value value, unsigned dim, int64_t zeros) {
  auto type = cast<RankedTensorType>(value.getType());
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto zero = cast<ElementsAttr>(builder.getZeroAttr(scalar));
  SmallVector<int64_t> none(type.getRank(), 0), high(type.getRank(), 0);
  high[dim] = zeros;
  return tg::PadOp::create(builder, loc, value, tg::ConstantOp::create(builder, loc, zero), none, high, none);
}

Value makeCopyKernel(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> order, int64_t zeros) {
  auto type = cast<RankedTensorType>(value.getType());
  tg::Dims from = tg::getDims(type), dims = from;
  for (auto [i, d] : llvm::enumerate(order))
    dims[i] = from[d];
  dims.back() = tg::simplify(dims.back() + zeros);
  auto kernel = tg::KernelOp::create(builder, loc, TypeRange{tg::getTensorType(dims, type.getElementType())},
                                     builder.getStringAttr("copy"));
  OpBuilder inside = OpBuilder::atBlockEnd(&kernel.getBody().emplaceBlock());
  Value copied = order.empty() ? value : tg::TransposeOp::create(inside, loc, value, order).getResult();
  if (zeros)
    copied = addZeros(inside, loc, copied, type.getRank() - 1, zeros);
  tg::YieldOp::create(inside, loc, copied);
  return kernel.getResult(0);
}

} // namespace weft::plan
