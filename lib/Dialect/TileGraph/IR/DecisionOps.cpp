// Why a plan is as it is: verifiers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Decisions.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/DecisionOps.cpp.inc"

LogicalResult DecisionsOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<PlannerOp, EdgeOp, RemarkOp>(op))
      return emitOpError("expected tg.planner, tg.edge and tg.remark, got ") << op.getName();
  return success();
}

LogicalResult EdgeOp::verify() {
  if (int64_t least = std::min({getFromAttr().getInt(), getToAttr().getInt(), getBytesAttr().getInt()}); least < -1)
    return emitOpError("expected numbers of dispatches and bytes, or -1, got ") << least;
  if (getApart() && (getLevel() || getInFold()))
    return emitOpError("expected a memory level of what shares a kernel, got one of ops that are apart");
  return success();
}
