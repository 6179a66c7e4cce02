// The loop of a tile's products, as far as CTAs can share it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_DOTLOOP_H
#define WEFT_LIB_SCHEDULE_DOTLOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// The one loop directly in `tiles` that holds its dots; null if there are others, dots outside of it, or some that
/// wgmma multiplies where `byWarpgroups` is false (and the other way round).
mlir::scf::ForOp findDotLoop(tk::ForTilesOp tiles, bool byWarpgroups);

/// The steps of a loop from 0 by 1 whose results start from zero.
std::optional<int64_t> countSteps(mlir::scf::ForOp loop);

/// Leaves the CTA of number `rank` among `parts` its share of the loop's `steps`: every `parts`-th one, since
/// neighbouring steps are then under way at the same time, for the sake of DRAM's pages. Where they do not come out
/// even the first CTAs have one step more, or the last ones none.
void takeSteps(mlir::scf::ForOp loop, mlir::Value rank, int64_t parts, int64_t steps);

/// Ahead of the loop over tiles: lets the CTAs of a cluster send `bytes` to `buffer` (tk.cluster_open), on the channel
/// that is returned, whose slot is free when `consumers` have given it back. Null if `bytes` is 0: there are no
/// clusters.
mlir::Value openExchange(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, int64_t consumers,
                         int64_t bytes);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_DOTLOOP_H
