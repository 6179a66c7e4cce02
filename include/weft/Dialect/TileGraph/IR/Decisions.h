// Ops that say why a plan is as it is, apart from the others because only explanations know them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_DECISIONS_H
#define WEFT_DIALECT_TILEGRAPH_IR_DECISIONS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/DecisionOps.h.inc"

#endif // WEFT_DIALECT_TILEGRAPH_IR_DECISIONS_H
