// Scales that commute with contractions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_SCALES_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_SCALES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <optional>

namespace weft::tg {

/// The domain dimension that axis `i` of a tensor under `map` is, if it is one alone.
std::optional<unsigned> getDomainDim(mlir::AffineMap map, unsigned i);

/// The extents of `scale`, which broadcasts to a tensor under `from`, as a tensor of the rank of `to`; none if it
/// varies along a dimension that `to` has not, or if its elements would be in another order.
std::optional<Dims> moveScale(mlir::Value scale, mlir::AffineMap from, mlir::AffineMap to);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_SCALES_H
