// Contents of values at import: constants, and what follows from them by the Reference evaluator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "weft/Reference/Reference.h"

using namespace weft;
using namespace weft::onnx;

/// Ops that a handler built on the way to the value it asks about; results of earlier nodes are known to be constant or
/// not.
static constexpr unsigned maxHandlerOps = 256;

bool GraphImporter::followsFromConstants(mlir::Value value, bool withIndices) const {
  llvm::SmallVector<mlir::Value> work{value};
  llvm::DenseSet<mlir::Value> seen;
  while (!work.empty()) {
    mlir::Value next = work.pop_back_val();
    if (isConstant(next) || !seen.insert(next).second)
      continue;
    mlir::Operation *op = next.getDefiningOp();
    if (!op || seen.size() > maxHandlerOps)
      return false;
    if (llvm::isa<tg::ConstantOp, tg::WeightOp>(op) || (withIndices && llvm::isa<tg::IotaOp>(op)))
      continue;
    if (op->getNumOperands() == 0)
      return false;
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

mlir::ElementsAttr GraphImporter::fold(mlir::Value value, bool withIndices) {
  if (mlir::ElementsAttr elements = tg::getConstantElements(value, maxFoldBytes))
    return elements;
  if (!followsFromConstants(value, withIndices))
    return {};
  reference::Limits limits = reference::foldLimits();
  limits.sharedWork = &foldWork;
  return reference::foldToConstant(value, limits);
}
