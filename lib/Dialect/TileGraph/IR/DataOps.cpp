// Data movement: verifiers and iteration domains.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Limits.h"
#include "weft/Dialect/TileGraph/IR/Mapping.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/DataOps.cpp.inc"

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }
static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

static LogicalResult verifySameElement(Operation *op) {
  Type operand = elementOf(op->getOperand(0)), result = elementOf(op->getResult(0));
  if (operand != result)
    return op->emitOpError("expected result element type ") << operand << ", got " << result;
  return success();
}

/// The domain of a view is its result's index space.
#define WEFT_VIEW_DOMAIN(OP)                                                                                           \
  SmallVector<AffineExpr> OP::getDomainExtents() { return detail::resultExtents(*this); }                              \
  SmallVector<utils::IteratorType> OP::getDomainIterators() { return detail::parallelIterators(*this); }               \
  std::optional<AffineMap> OP::getResultMap(unsigned) { return detail::identityResultMap(*this); }
WEFT_VIEW_DOMAIN(TransposeOp)
WEFT_VIEW_DOMAIN(ReshapeOp)
WEFT_VIEW_DOMAIN(BitcastOp)
WEFT_VIEW_DOMAIN(BroadcastOp)
WEFT_VIEW_DOMAIN(SliceOp)
WEFT_VIEW_DOMAIN(PadOp)
WEFT_VIEW_DOMAIN(ConcatOp)
WEFT_VIEW_DOMAIN(WindowOp)
WEFT_VIEW_DOMAIN(GatherOp)
#undef WEFT_VIEW_DOMAIN

//===-- Views
//------------------------------------------------------------------------------------------------------===//

std::optional<AffineMap> TransposeOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs(getPermutation().size());
  for (auto [d, from] : llvm::enumerate(getPermutation()))
    exprs[from] = getAffineDimExpr(d, getContext());
  return AffineMap::get(exprs.size(), 0, exprs, getContext());
}
MappingType TransposeOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }

LogicalResult ReshapeOp::verify() {
  if (failed(verifySameElement(*this)))
    return failure();
  AffineExpr from = getNumElements(getInput().getType()), to = getNumElements(getType());
  if (getConstant(from) && getConstant(to) && from != to)
    return emitOpError("expected equal numbers of elements, got ") << *getConstant(from) << " and " << *getConstant(to);
  return success();
}

/// Delinearised position in the operand of the result's linear position. Only for static operand extents behind the
/// first.
std::optional<AffineMap> ReshapeOp::getOperandMap(unsigned) {
  MLIRContext *context = getContext();
  auto inputType = getInput().getType();
  ArrayRef<int64_t> from = inputType.getShape(), to = getType().getShape();
  if (llvm::any_of(from.drop_front(from.empty() ? 0 : 1), ShapedType::isDynamic) ||
      llvm::any_of(to.drop_front(to.empty() ? 0 : 1), ShapedType::isDynamic) || llvm::is_contained(from, 0))
    return std::nullopt;
  AffineExpr linear = getAffineConstantExpr(0, context);
  int64_t stride = 1;
  for (int64_t d = to.size() - 1; d >= 0; --d) {
    linear = linear + getAffineDimExpr(d, context) * stride;
    stride *= d > 0 ? to[d] : 1;
  }
  SmallVector<AffineExpr> exprs(from.size());
  int64_t inner = 1;
  for (int64_t d = from.size() - 1; d >= 0; --d) {
    AffineExpr quotient = linear.floorDiv(inner);
    exprs[d] = d == 0 ? quotient : quotient % from[d];
    inner *= d > 0 ? from[d] : 1;
  }
  return simplifyAffineMap(AffineMap::get(to.size(), 0, exprs, context));
}
/// Row-major order is kept by definition, whether a map can say so or not.
MappingType ReshapeOp::getMappingType(unsigned) { return MappingType::Reorganize; }

LogicalResult BitcastOp::verify() {
  if (withElement(getInput().getType(), getType().getElementType()) != getType())
    return emitOpError("expected result extents equal to the operand's, got ") << getType();
  if (getElementBits(elementOf(getInput())) != getElementBits(getType().getElementType()))
    return emitOpError("expected element types of one width, got ")
           << elementOf(getInput()) << " and " << getType().getElementType();
  return success();
}
std::optional<AffineMap> BitcastOp::getOperandMap(unsigned) { return detail::identityResultMap(*this); }
MappingType BitcastOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }

LogicalResult BroadcastOp::verify() {
  if (failed(verifySameElement(*this)))
    return failure();
  Dims from = getDims(getInput().getType()), to = getDims(getType());
  bool fits = from.size() <= to.size();
  for (size_t i = 1; fits && i <= from.size(); ++i) {
    AffineExpr source = from[from.size() - i], target = to[to.size() - i];
    fits = getConstant(source) == 1 || source == target || !getConstant(source) || !getConstant(target);
  }
  if (!fits)
    return emitOpError("expected an operand that broadcasts to ") << getType() << ", got " << getInput().getType();
  return success();
}
std::optional<AffineMap> BroadcastOp::getOperandMap(unsigned operand) { return detail::broadcastMap(*this, operand); }
MappingType BroadcastOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }

LogicalResult SliceOp::verify() {
  if (failed(verifySameElement(*this)))
    return failure();
  size_t rank = rankOf(getInput());
  if (getOffsets().size() != rank || getStrides().size() != rank || size_t(getType().getRank()) != rank)
    return emitOpError("expected offsets, strides and a result of rank ") << rank;
  ArrayRef<int64_t> from = getInput().getType().getShape(), to = getType().getShape();
  for (size_t d = 0; d < rank; ++d) {
    int64_t offset = getOffsets()[d], stride = getStrides()[d];
    if (offset < 0 || offset > placeLimit || stride == 0 || stride > placeLimit || stride < -placeLimit)
      return emitOpError("expected an offset within [0, 2^40] and a stride that is not 0 in dimension ")
             << d << ", got " << offset << " and " << stride;
    if (ShapedType::isDynamic(from[d]) || ShapedType::isDynamic(to[d]) || to[d] == 0)
      continue;
    __int128 last = __int128(offset) + __int128(to[d] - 1) * stride;
    if (offset >= from[d] || last < 0 || last >= from[d])
      return emitOpError("expected reads of dimension ") << d << " within [0, " << from[d] << "), got offset " << offset
                                                         << ", stride " << stride << ", extent " << to[d];
  }
  return success();
}
std::optional<AffineMap> SliceOp::getOperandMap(unsigned) {
  SmallVector<AffineExpr> exprs;
  for (auto [d, offset] : llvm::enumerate(getOffsets()))
    exprs.push_back(getAffineDimExpr(d, getContext()) * getStrides()[d] + offset);
  return AffineMap::get(exprs.size(), 0, exprs, getContext());
}
MappingType SliceOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }

LogicalResult WindowOp::verify() { return success(); }
std::optional<AffineMap> WindowOp::getOperandMap(unsigned) {
  int64_t rank = rankOf(getInput());
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d)
    exprs.push_back(getAffineDimExpr(d, getContext()));
  for (auto [j, d] : llvm::enumerate(getDims()))
    exprs[d] = exprs[d] * getStrides()[j] + getAffineDimExpr(rank + j, getContext()) * getDilations()[j];
  return AffineMap::get(getType().getRank(), 0, exprs, getContext());
}
MappingType WindowOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }

//===-- Padding and concatenation
//----------------------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  if (rankOf(getValue()) != 0 || elementOf(getValue()) != elementOf(getInput()))
    return emitOpError("expected a value of rank 0 and element type ")
           << elementOf(getInput()) << ", got " << getValue().getType();
  return success();
}

/// Affine where only low padding shifts the operand: inside the operand's box the map holds, outside it the result is
/// the value.
std::optional<AffineMap> PadOp::getOperandMap(unsigned operand) {
  MLIRContext *context = getContext();
  if (operand == 1)
    return AffineMap::get(getType().getRank(), 0, {}, context);
  if (llvm::any_of(getInterior(), [](int64_t n) { return n != 0; }))
    return std::nullopt;
  SmallVector<AffineExpr> exprs;
  for (auto [d, low] : llvm::enumerate(getLow()))
    exprs.push_back(getAffineDimExpr(d, context) - low);
  return AffineMap::get(exprs.size(), 0, exprs, context);
}
/// With interior padding no affine map says so, but elements stay in order and have one index each.
MappingType PadOp::getMappingType(unsigned operand) {
  return getOperandMap(operand) ? deriveMappingType(*this, operand) : MappingType::OneToOne;
}

std::optional<AffineMap> ConcatOp::getOperandMap(unsigned operand) {
  AffineExpr offset = getAffineConstantExpr(0, getContext());
  for (Value input : getInputs().take_front(operand))
    offset = offset + getDim(input.getType(), getAxis());
  std::optional<int64_t> constant = getConstant(simplify(offset));
  if (!constant)
    return std::nullopt;
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < getType().getRank(); ++d)
    exprs.push_back(getAffineDimExpr(d, getContext()) - (d == int64_t(getAxis()) ? *constant : 0));
  return AffineMap::get(exprs.size(), 0, exprs, getContext());
}
/// Behind a symbolic extent the offset is in no map, but it is an offset all the same.
MappingType ConcatOp::getMappingType(unsigned operand) {
  return getOperandMap(operand) ? deriveMappingType(*this, operand) : MappingType::OneToOne;
}

//===-- Gather and scatter
//-----------------------------------------------------------------------------------------===//

/// Checks the maps of a gather or scatter over a domain of rank `domainRank`.
static LogicalResult verifyIndexedMaps(Operation *op, AffineMap dataMap, ArrayAttr indexMaps, int64_t domainRank,
                                       Value data, Value indices) {
  if (dataMap.getNumDims() != domainRank || dataMap.getNumSymbols() != indexMaps.size() ||
      int64_t(dataMap.getNumResults()) != rankOf(data))
    return op->emitOpError("expected data_map to have ")
           << domainRank << " dimensions, " << indexMaps.size() << " symbols and " << rankOf(data) << " results, got "
           << AffineMapAttr::get(dataMap);
  for (AffineExpr expr : dataMap.getResults()) {
    bool usesSymbol = false;
    expr.walk([&](AffineExpr e) { usesSymbol |= isa<AffineSymbolExpr>(e); });
    if (usesSymbol && !isa<AffineSymbolExpr>(expr))
      return op->emitOpError("expected each result of data_map to be one symbol or a function of dimensions, got ")
             << AffineMapAttr::get(dataMap);
  }
  for (Attribute attr : indexMaps) {
    AffineMap map = cast<AffineMapAttr>(attr).getValue();
    if (map.getNumDims() != domainRank || map.getNumSymbols() != 0 || int64_t(map.getNumResults()) != rankOf(indices))
      return op->emitOpError("expected index maps of ")
             << domainRank << " dimensions, no symbols and " << rankOf(indices) << " results, got " << attr;
  }
  return success();
}

LogicalResult GatherOp::verify() {
  if (failed(verifySameElement(*this)))
    return failure();
  return verifyIndexedMaps(*this, getDataMap(), getIndexMaps(), getType().getRank(), getData(), getIndices());
}

/// The map of an index operand, if all index maps are the same one; the data operand has none.
static std::optional<AffineMap> indexOperandMap(ArrayAttr maps) {
  if (maps.empty() || !llvm::all_equal(maps.getValue()))
    return std::nullopt;
  return cast<AffineMapAttr>(maps[0]).getValue();
}

std::optional<AffineMap> GatherOp::getOperandMap(unsigned operand) {
  return operand == 1 ? indexOperandMap(getIndexMaps()) : std::nullopt;
}
/// An element of the data may be read any number of times, and so may an index that several maps read.
MappingType GatherOp::getMappingType(unsigned operand) {
  return getOperandMap(operand) ? deriveMappingType(*this, operand) : MappingType::OneToMany;
}

LogicalResult ScatterOp::verify() {
  if (elementOf(getData()) != elementOf(getUpdates()))
    return emitOpError("expected updates of element type ")
           << elementOf(getData()) << ", got " << elementOf(getUpdates());
  return verifyIndexedMaps(*this, getDataMap(), getIndexMaps(), rankOf(getUpdates()), getData(), getIndices());
}
SmallVector<AffineExpr> ScatterOp::getDomainExtents() { return weft::tg::getDims(getUpdates().getType()); }
SmallVector<utils::IteratorType> ScatterOp::getDomainIterators() {
  return SmallVector<utils::IteratorType>(rankOf(getUpdates()), utils::IteratorType::reduction);
}
std::optional<AffineMap> ScatterOp::getOperandMap(unsigned operand) {
  if (operand == 1)
    return indexOperandMap(getIndexMaps());
  if (operand == 2)
    return AffineMap::getMultiDimIdentityMap(rankOf(getUpdates()), getContext());
  return std::nullopt;
}
std::optional<AffineMap> ScatterOp::getResultMap(unsigned) { return std::nullopt; }
MappingType ScatterOp::getMappingType(unsigned) { return MappingType::Opaque; }
std::optional<Monoid> ScatterOp::getCombiner() { return getKind(); }
