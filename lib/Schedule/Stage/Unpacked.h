// Operands of tk.dot that are unpacked where they are multiplied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_STAGE_UNPACKED_H
#define WEFT_SCHEDULE_STAGE_UNPACKED_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// How many neighbouring elements along `dim` are fields of a word of the load; 1 where they are not.
int64_t countFields(tk::LoadOp load, unsigned dim);

/// Whether `operand` is computed from fields of words in memory, neighbours of which lie along `dim`.
bool isUnpacked(mlir::Value operand, unsigned dim);

/// Takes from the operands what makes them zero past the end of the sum, where the other one is zero there anyway.
void dropMasks(tk::DotOp dot);

/// Where an operand of `dot` is made of fields of words in memory (weights of 4 bits) and a warp's share of both
/// operands fits its registers: they stay there, and the instructions take elements of k together that are neighbours
/// in a thread's vector of words. Whether it is so.
bool keepUnpacked(tk::DotOp dot, int64_t warps);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_STAGE_UNPACKED_H
