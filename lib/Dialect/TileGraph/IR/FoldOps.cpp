// What makes a fold well formed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Fold.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/FoldOps.cpp.inc"

/// A region of `fold` with arguments `arguments` that yields `yields`.
static LogicalResult verifyRegion(FoldOp fold, StringRef name, Region &region, TypeRange arguments, TypeRange yields) {
  Block &body = region.front();
  if (body.getArgumentTypes() != arguments)
    return fold.emitOpError("expected `") << name << "` to take " << arguments << ", got " << body.getArgumentTypes();
  if (body.empty() || !isa<FoldYieldOp>(body.back()) || body.back().getOperandTypes() != yields)
    return fold.emitOpError("expected `") << name << "` to yield " << yields;
  return success();
}

/// What `finish` has to yield: the results, each without the dimension of parts.
static FailureOr<SmallVector<Type>> typesOfParts(FoldOp fold) {
  SmallVector<Type> types(fold.getResultTypes());
  if (!fold.getParts() && !fold.getUnit())
    return types;
  if (fold.getParts().value_or(0) < 1 || fold.getUnit().value_or(0) < 1)
    return fold.emitOpError("expected a positive number of parts and a positive unit, got ")
           << fold.getParts().value_or(0) << " and " << fold.getUnit().value_or(0);
  for (Type &type : types) {
    Dims dims = getDims(type);
    if (dims.empty() || getConstant(dims.front()) != int64_t(*fold.getParts()))
      return fold.emitOpError("expected results with a leading dimension of ")
             << *fold.getParts() << " parts, got " << type;
    dims.erase(dims.begin());
    type = getTensorType(dims, cast<RankedTensorType>(type).getElementType());
  }
  return types;
}

/// The extent of all dimensions that `op` reduces; none if it reduces nothing.
static std::optional<AffineExpr> reducedExtent(Operation &op) {
  auto tile = dyn_cast<TileOpInterface>(op);
  if (!tile || !isa<ReduceOp, ContractOp>(op))
    return std::nullopt;
  AffineExpr extent;
  for (auto [kind, dim] : llvm::zip(tile.getDomainIterators(), tile.getDomainExtents()))
    if (kind == utils::IteratorType::reduction)
      extent = extent ? extent * dim : dim;
  return extent ? std::optional(simplify(extent)) : std::nullopt;
}

LogicalResult FoldOp::verify() {
  AffineMap extent = getExtent();
  if (extent.getNumDims() || extent.getNumResults() != 1)
    return emitOpError("expected an extent of one result without dimensions, got ") << AffineMapAttr::get(extent);
  SmallVector<Type> states(getUpdate().front().getArgumentTypes()), twice = states;
  llvm::append_range(twice, states);
  if (states.empty() || getInit().size() != states.size())
    return emitOpError("expected an initial value for each of ")
           << states.size() << " states, and a state, got " << getInit().size();
  for (auto [type, attr] : llvm::zip(states, getInit())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto value = dyn_cast<TypedAttr>(attr);
    if (!tensor || !value || value.getType() != tensor.getElementType())
      return emitOpError("expected an initial value of the element type of ") << type << ", got " << attr;
  }
  FailureOr<SmallVector<Type>> finished = typesOfParts(*this);
  if (failed(finished) || failed(verifyRegion(*this, "update", getUpdate(), states, states)) ||
      failed(verifyRegion(*this, "finish", getFinish(), states, *finished)) ||
      (!getMerge().empty() && failed(verifyRegion(*this, "merge", getMerge(), twice, states))))
    return failure();
  unsigned streamed = 0;
  for (Operation &op : getUpdate().front()) {
    if (!isStreamed(&op))
      continue;
    ++streamed;
    std::optional<AffineExpr> reduced = reducedExtent(op);
    if (!reduced || !isEqual(*reduced, extent.getResult(0)))
      return op.emitOpError("expected a streamed op to reduce ") << AffineMapAttr::get(extent) << " elements";
  }
  return streamed ? success() : emitOpError("expected an op with `tg.streamed` in `update`");
}
