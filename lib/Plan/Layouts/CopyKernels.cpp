// Copies in another order, and copies with longer rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CopyKernels.h"
#include "Layouts.h"

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

OutsideOperand findOutside(Value operand, Operation *kernel) {
  OutsideOperand found;
  auto transpose = operand.getDefiningOp<tg::TransposeOp>();
  found.value = transpose ? transpose.getInput() : operand;
  if (transpose)
    found.order.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
  else
    for (int64_t d = 0; d < cast<RankedTensorType>(operand.getType()).getRank(); ++d)
      found.order.push_back(d);
  Operation *op = found.value.getDefiningOp();
  return op && kernel->isProperAncestor(op) ? OutsideOperand() : found;
}

/// What else the products of an operand read: as if it had zeros behind, where the sum is longer. Where its rows are no
/// whole vectors, it is copied, too, if it is less than the tensor. Nothing where it is not.
std::optional<SmallVector<Value>> Layouts::findOthersToCopy(const TensorAccess &access, unsigned inner) const {
  constexpr int64_t leastRow = 16; // Bytes of a vector.
  const Tensor &tensor = tensors[access.tensor];
  const Kernel &kernel = kernels[access.kernel];
  SmallVector<SummedOperand> found = findSummed(tensor.value, inner, kernel.op);
  SmallVector<Value> copied;
  for (const SummedOperand &summed : found)
    for (unsigned number : kernel.accesses) {
      const TensorAccess &other = accesses[number];
      const Tensor &read = tensors[other.tensor];
      if (!other.isOperand || other.tensor == access.tensor || getVectorBytes(other, read.inner) == leastRow)
        continue;
      if (findOutside(summed.contract->getOperand(1 - summed.number), kernel.op).value != read.value ||
          read.bytes > tensor.bytes)
        return std::nullopt;
      copied.push_back(read.value);
    }
  return found.empty() ? std::nullopt : std::optional(copied);
}

} // namespace weft::plan
