// Registration of the dialect's ops, apart from their definitions because it instantiates every op's model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Decisions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace weft::tg;

void TileGraphDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/PointwiseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/ReductionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/DataOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/CompositeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/StructureOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/FoldOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/ProgramOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/DecisionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileGraph/IR/CollectiveOps.cpp.inc"
      >();
}
