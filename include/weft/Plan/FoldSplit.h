// Into how many parts a fold is cut: what a second kernel costs against what idle SMs lose.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_FOLDSPLIT_H
#define WEFT_PLAN_FOLDSPLIT_H

#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Target/Device.h"
#include <string>

namespace weft::plan {

/// Dimensions of the result of a fold's contraction over the stream, as numbers of places.
struct FoldShape {
  int64_t rows = 1;      ///< Only the operand that the cascade makes has them.
  int64_t columns = 1;   ///< Only the other operand has them.
  int64_t batch = 1;     ///< Both have them.
  int64_t places = 1;    ///< Of the streamed dimension.
  double placeBytes = 0; ///< What the fold reads of one place of the stream, once.
  double stateBytes = 0; ///< Of all states.
};

struct FoldSplit {
  int64_t parts = 1;
  int64_t unit = 1;   ///< Places that no border of parts divides.
  std::string reason; ///< The numbers that decided.
};

/// Seconds of a fold in `parts`, the kernel that merges them included.
double estimateFold(const FoldShape &shape, int64_t parts, const Device &device);

/// The cheapest number of parts; of a stream whose extent is not known, over extents up to 32,768. 1 where the fold has
/// no merge or no contraction over its stream, or where a split does not pay.
FoldSplit chooseFoldSplit(tg::FoldOp fold, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_FOLDSPLIT_H
