// Contents of values at import: constants, and what follows from them by the Reference evaluator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "weft/Reference/Reference.h"

using namespace weft;
using namespace weft::onnx;

/// Ops that a handler built on the way to the value it asks about; results of earlier nodes are known to be constant or
/// not.
static constexpr unsigned maxHandlerOps = 64;

bool GraphImporter::followsFromConstants(mlir::Value value, unsigned &budget) const {
  if (isConstant(value))
    return true;
  mlir::Operation *op = value.getDefiningOp();
  if (!op || budget-- == 0)
    return false;
  if (llvm::isa<tg::ConstantOp, tg::WeightOp>(op))
    return true;
  return op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [&](mlir::Value operand) { return followsFromConstants(operand, budget); });
}

mlir::ElementsAttr GraphImporter::fold(mlir::Value value) {
  if (mlir::ElementsAttr elements = tg::getConstantElements(value, maxFoldBytes))
    return elements;
  unsigned budget = maxHandlerOps;
  if (!followsFromConstants(value, budget))
    return {};
  reference::Limits limits = reference::foldLimits();
  limits.sharedWork = &foldWork;
  return reference::foldToConstant(value, limits);
}
