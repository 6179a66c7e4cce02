// Transpositions of a kernel's results, moved to its operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAYOUTS_RAISETRANSPOSES_H
#define WEFT_LIB_PLAN_LAYOUTS_RAISETRANSPOSES_H

#include "mlir/IR/Block.h"

namespace weft::plan {

/// Moves each tg.transpose of `body` in front of the elementwise ops and pads whose result it alone reads, so that the
/// dimensions of everything after a contraction have one order, and neighbours in memory can merge. Exact. For a CPU,
/// whose loops have the order of what they write, in front of poolings, too; and what several of these ops read has one
/// transposition, which moves on.
void raiseTransposes(mlir::Block &body, bool isCpu = false);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAYOUTS_RAISETRANSPOSES_H
