// Into how many parts a fold is cut: what a second kernel costs against what idle SMs lose.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_FOLDSPLIT_H
#define WEFT_PLAN_FOLDSPLIT_H

#include "weft/Plan/FoldModel.h"
#include <string>

namespace weft::plan {

struct FoldSplit {
  int64_t parts = 1;
  int64_t unit = 1;   ///< Elements that no border of parts divides.
  std::string reason; ///< The numbers that decided.
};

/// Seconds of a fold of `problem` in `parts` of whole `unit`s, by the best tiles, the kernel that merges them included.
double estimateFoldInParts(FoldProblem problem, double stateBytes, int64_t parts, int64_t unit, const Device &device);

/// The cheapest number of parts; of a stream whose extent is not known, over extents up to 32,768. 1 where the fold has
/// no merge or no contraction over its stream, or where a split does not pay.
FoldSplit chooseFoldSplit(tg::FoldOp fold, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_FOLDSPLIT_H
