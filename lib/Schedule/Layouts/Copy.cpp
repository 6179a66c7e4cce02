// Threads and vectors of a copy by cp.async.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/CopyLayout.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

static std::optional<layout::LinearLayout> makeLayout(ArrayRef<int64_t> shape, unsigned fast, int64_t elements,
                                                      int64_t lineElements, int64_t warps) {
  layout::Blocked blocked;
  for (int64_t extent : shape) {
    blocked.shape.push_back(extent);
    blocked.sizePerThread.push_back(1);
    blocked.threadsPerWarp.push_back(1);
    blocked.warps.push_back(1);
  }
  blocked.order.push_back(fast);
  for (unsigned dim = shape.size(); dim-- > 0;)
    if (dim != fast)
      blocked.order.push_back(dim);
  blocked.sizePerThread[fast] = elements;
  int64_t lanes = std::clamp<int64_t>(lineElements / elements, 1, 32);
  blocked.threadsPerWarp[fast] = std::min(lanes, std::max<int64_t>(1, shape[fast] / elements));
  int64_t lanesLeft = 32 / blocked.threadsPerWarp[fast], warpsLeft = warps;
  for (unsigned dim : ArrayRef(blocked.order).drop_front()) {
    int64_t take = std::min<int64_t>(lanesLeft, shape[dim]);
    blocked.threadsPerWarp[dim] = take;
    lanesLeft /= take;
    take = std::min<int64_t>(warpsLeft, shape[dim] / take);
    blocked.warps[dim] = take;
    warpsLeft /= take;
  }
  blocked.threadsPerWarp[fast] *= lanesLeft;
  blocked.warps[fast] = warpsLeft;
  return layout::makeBlocked(blocked);
}

std::optional<CopyLayout> schedule::getCopyLayout(tk::CopyOp copy, int64_t warps) {
  tk::SharedType type = copy.getTarget().getType();
  if (!type.getLayout() || type.getShape().empty())
    return std::nullopt;
  unsigned bits = tk::getElementBits(type.getElementType());
  Contiguity contiguity = getContiguity(getAccess(copy), 128 / bits);
  for (int64_t elements = contiguity.elements; elements * bits >= 32; elements /= 2) {
    std::optional<layout::LinearLayout> registers =
        makeLayout(type.getShape(), contiguity.dim, elements, 1024 / bits, warps);
    if (!registers)
      return std::nullopt;
    std::optional<layout::VectorWidth> width =
        layout::getVectorWidth(*registers, type.getLayout().getValue(), bits, elements * bits);
    if (width && width->elements == elements)
      return CopyLayout{*registers, elements};
  }
  return std::nullopt;
}
