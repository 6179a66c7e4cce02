// Root of the `tg` dialect's records.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPH_TD
#define WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPH_TD

include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/PointwiseOps.td"
include "weft/Dialect/TileGraph/IR/ReductionOps.td"
include "weft/Dialect/TileGraph/IR/DataOps.td"
include "weft/Dialect/TileGraph/IR/CompositeOps.td"
include "weft/Dialect/TileGraph/IR/StructureOps.td"
include "weft/Dialect/TileGraph/IR/FoldOps.td"
include "weft/Dialect/TileGraph/IR/ProgramOps.td"
include "weft/Dialect/TileGraph/IR/DecisionOps.td"
include "weft/Dialect/TileGraph/IR/CollectiveOps.td"

#endif // WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPH_TD
