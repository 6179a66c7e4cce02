// Which rows a kernel's CTAs compute, and which of its operands' elements these need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_ROWBLOCKS_H
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_ROWBLOCKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// The attribute `tk.tile_rows` (weft/Target/RowBlocks.h) of a kernel of tg primitives with this schedule; null where
/// tiles are not computed in the order of rows, one by each CTA, or where extents depend on symbols.
mlir::DictionaryAttr makeRowBlocks(mlir::func::FuncOp kernel, const KernelAccess &access, ScheduleAttr schedule);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_ROWBLOCKS_H
