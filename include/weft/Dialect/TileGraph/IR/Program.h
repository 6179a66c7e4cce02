// Ops that only a program has, apart from the others because few rooms know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_PROGRAM_H
#define WEFT_DIALECT_TILEGRAPH_IR_PROGRAM_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/ProgramOps.h.inc"

#endif // WEFT_DIALECT_TILEGRAPH_IR_PROGRAM_H
