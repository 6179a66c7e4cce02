// Part of --weft-tk-stage: what epilogues read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_STAGE_EPILOGUE_H
#define WEFT_LIB_SCHEDULE_STAGE_EPILOGUE_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// Where the operands of all dots come by TMA: loads of 16-bit tiles that only maps with an accumulator read become
/// copies through a channel of one slot, and reads of its buffer.
void stageEpilogue(tk::ForTilesOp tiles);

/// Loads behind a loop of dots that reductions alone read stand ahead of it, if `warps` warps can hold them.
void hoistLoads(tk::ForTilesOp tiles, int64_t warps);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_STAGE_EPILOGUE_H
