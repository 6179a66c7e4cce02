// Which rows a kernel's CTAs compute, and which of its operands' elements these need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_ROWBLOCKS_H
#define WEFT_PLAN_ROWBLOCKS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/KernelAccess.h"

namespace weft::plan {

/// The attribute `tk.tile_rows` (weft/Target/RowBlocks.h) of a kernel of tg primitives with this schedule; null where
/// tiles are not computed in the order of rows, one by each CTA, or where extents depend on symbols.
mlir::DictionaryAttr makeRowBlocks(mlir::func::FuncOp kernel, const KernelAccess &access, tg::ScheduleAttr schedule);

} // namespace weft::plan

#endif // WEFT_PLAN_ROWBLOCKS_H
