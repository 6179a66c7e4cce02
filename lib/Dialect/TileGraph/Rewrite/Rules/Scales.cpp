// Where a scale of one operand of a contraction lies in another operand or in the result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/Scales.h"

using namespace mlir;

namespace weft::tg {

std::optional<unsigned> getDomainDim(AffineMap map, unsigned i) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(i));
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

/// The result of `map` that is domain dimension `dim` alone.
static std::optional<unsigned> findPlace(AffineMap map, unsigned dim) {
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (getDomainDim(map, i) == dim)
      return i;
  return std::nullopt;
}

std::optional<Dims> moveScale(Value scale, AffineMap from, AffineMap to) {
  Dims dims = getDims(scale.getType()), moved(to.getNumResults(), getAffineConstantExpr(1, to.getContext()));
  int64_t shift = int64_t(from.getNumResults()) - int64_t(dims.size());
  int64_t last = -1;
  for (auto [i, extent] : llvm::enumerate(dims)) {
    if (getConstant(extent) == 1)
      continue;
    std::optional<unsigned> dim = shift < 0 ? std::nullopt : getDomainDim(from, i + shift);
    std::optional<unsigned> place = dim ? findPlace(to, *dim) : std::nullopt;
    if (!place || int64_t(*place) <= last)
      return std::nullopt;
    moved[*place] = extent;
    last = *place;
  }
  return moved;
}

} // namespace weft::tg
