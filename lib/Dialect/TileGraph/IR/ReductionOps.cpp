// Contractions, reductions, scans, top-k: verifiers, builders, iteration domains.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Mapping.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/ReductionOps.cpp.inc"

//===-- ContractOp
//-------------------------------------------------------------------------------------------------===//

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, StringRef einsum,
                       Type elementType) {
  auto [inputs, output] = einsum.split("->");
  auto [left, right] = inputs.split(',');
  SmallVector<char> letters(output.begin(), output.end());
  for (char letter : (left + right).str())
    if (!llvm::is_contained(letters, letter))
      letters.push_back(letter);
  auto mapOf = [&](StringRef labels) {
    SmallVector<AffineExpr> exprs;
    for (char letter : labels)
      exprs.push_back(builder.getAffineDimExpr(llvm::find(letters, letter) - letters.begin()));
    return AffineMap::get(letters.size(), 0, exprs, builder.getContext());
  };
  Dims leftDims = getDims(lhs.getType()), rightDims = getDims(rhs.getType()), dims;
  assert(left.size() == leftDims.size() && right.size() == rightDims.size() && "labels must match ranks");
  for (char letter : output) {
    size_t place = left.find(letter);
    dims.push_back(place != StringRef::npos ? leftDims[place] : rightDims[right.find(letter)]);
  }
  build(builder, state, getTensorType(dims, elementType), lhs, rhs,
        builder.getAffineMapArrayAttr({mapOf(left), mapOf(right), mapOf(output)}));
}

/// Extents of the domain: from the result's and operands' dimensions that a domain dimension indexes alone. A null
/// entry is a dimension that no map has alone.
static Dims contractExtents(ContractOp op) {
  Dims extents(op.getMap(0).getNumDims());
  auto collect = [&](AffineMap map, Type type) {
    Dims dims = getDims(type);
    for (auto [expr, dim] : llvm::zip(map.getResults(), dims))
      if (auto d = dyn_cast<AffineDimExpr>(expr); d && !extents[d.getPosition()])
        extents[d.getPosition()] = dim;
  };
  collect(op.getMap(2), op.getType());
  collect(op.getMap(0), op.getLhs().getType());
  collect(op.getMap(1), op.getRhs().getType());
  return extents;
}

/// The range of `expr` over a box of static extents, or none if an extent it uses is symbolic or the arithmetic
/// overflows.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(AffineExpr expr, ArrayRef<AffineExpr> extents) {
  if (auto constant = getConstant(expr))
    return std::pair(*constant, *constant);
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    std::optional<int64_t> extent = getConstant(extents[dim.getPosition()]);
    if (!extent)
      return std::nullopt;
    return std::pair<int64_t, int64_t>(0, *extent - 1);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = rangeOf(binary.getLHS(), extents), rhs = rangeOf(binary.getRHS(), extents);
  if (!lhs || !rhs)
    return std::nullopt;
  std::pair<int64_t, int64_t> sum;
  if (expr.getKind() == AffineExprKind::Add) {
    if (llvm::AddOverflow(lhs->first, rhs->first, sum.first) || llvm::AddOverflow(lhs->second, rhs->second, sum.second))
      return std::nullopt;
    return sum;
  }
  if (rhs->first != rhs->second)
    return std::nullopt;
  int64_t factor = rhs->first;
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    if (llvm::MulOverflow(lhs->first, factor, sum.first) || llvm::MulOverflow(lhs->second, factor, sum.second))
      return std::nullopt;
    return std::minmax(sum.first, sum.second);
  case AffineExprKind::FloorDiv:
    if (factor <= 0)
      return std::nullopt;
    return std::pair(llvm::divideFloorSigned(lhs->first, factor), llvm::divideFloorSigned(lhs->second, factor));
  case AffineExprKind::Mod:
    if (factor <= 0)
      return std::nullopt;
    return std::pair<int64_t, int64_t>(0, factor - 1);
  default:
    return std::nullopt;
  }
}

/// Checks that every access of `map` over the box `extents` lies inside `type`, as far as extents are static.
static LogicalResult checkInBounds(Operation *op, AffineMap map, ArrayRef<AffineExpr> extents, Type type,
                                   StringRef role) {
  if (llvm::any_of(extents, [](AffineExpr e) { return getConstant(e) == 0; }))
    return success();
  Dims dims = getDims(type);
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    std::optional<int64_t> extent = getConstant(dims[d]);
    auto range = rangeOf(expr, extents);
    if (extent && range && (range->first < 0 || range->second >= *extent))
      return op->emitOpError("expected accesses of ") << role << " dimension " << d << " within [0, " << *extent
                                                      << "), got [" << range->first << ", " << range->second << "]";
  }
  return success();
}

/// Checks that a domain dimension has one extent wherever it indexes alone.
static LogicalResult checkExtents(Operation *op, AffineMap map, ArrayRef<AffineExpr> extents, Type type) {
  Dims dims = getDims(type);
  for (auto [expr, dim] : llvm::zip(map.getResults(), dims)) {
    auto d = dyn_cast<AffineDimExpr>(expr);
    if (!d || !getConstant(dim) || !getConstant(extents[d.getPosition()]) || dim == extents[d.getPosition()])
      continue;
    return op->emitOpError("expected one extent of domain dimension ")
           << d.getPosition() << ", got " << *getConstant(extents[d.getPosition()]) << " and " << *getConstant(dim);
  }
  return success();
}

static LogicalResult checkMap(Operation *op, AffineMap map, unsigned numDims, Type type, StringRef role) {
  int64_t rank = cast<RankedTensorType>(type).getRank();
  if (map.getNumDims() != numDims || map.getNumSymbols() != 0 || int64_t(map.getNumResults()) != rank)
    return op->emitOpError("expected the ") << role << " map to have " << numDims << " dimensions, no symbols and "
                                            << rank << " results, got " << AffineMapAttr::get(map);
  return success();
}

LogicalResult ContractOp::verify() {
  if (getMaps().size() != 3)
    return emitOpError("expected 3 maps (lhs, rhs, result), got ") << getMaps().size();
  unsigned numDims = getMap(0).getNumDims();
  if (failed(checkMap(*this, getMap(0), numDims, getLhs().getType(), "lhs")) ||
      failed(checkMap(*this, getMap(1), numDims, getRhs().getType(), "rhs")) ||
      failed(checkMap(*this, getMap(2), numDims, getType(), "result")))
    return failure();
  if (!getMap(2).isProjectedPermutation())
    return emitOpError("expected the result map to be a projected permutation, got ") << getMaps()[2];
  Dims extents = contractExtents(*this);
  for (auto [d, extent] : llvm::enumerate(extents))
    if (!extent)
      return emitOpError("expected domain dimension ") << d << " alone in a result of at least one map";
  if (failed(checkExtents(*this, getMap(0), extents, getLhs().getType())) ||
      failed(checkExtents(*this, getMap(1), extents, getRhs().getType())))
    return failure();
  if (failed(checkInBounds(*this, getMap(0), extents, getLhs().getType(), "lhs")) ||
      failed(checkInBounds(*this, getMap(1), extents, getRhs().getType(), "rhs")))
    return failure();
  Type lhs = getLhs().getType().getElementType(), rhs = getRhs().getType().getElementType();
  Type result = getType().getElementType();
  bool floats = isa<FloatType>(lhs) && isa<FloatType>(rhs) && isa<FloatType>(result);
  bool integers = isa<IntegerType>(lhs) && isa<IntegerType>(rhs) && isa<IntegerType>(result);
  if (!floats && !integers)
    return emitOpError("expected operands and result all float or all integer, got ")
           << lhs << ", " << rhs << ", " << result;
  return success();
}

SmallVector<AffineExpr> ContractOp::getDomainExtents() { return contractExtents(*this); }
SmallVector<utils::IteratorType> ContractOp::getDomainIterators() {
  SmallVector<utils::IteratorType> kinds(getMap(2).getNumDims(), utils::IteratorType::reduction);
  for (AffineExpr expr : getMap(2).getResults())
    kinds[cast<AffineDimExpr>(expr).getPosition()] = utils::IteratorType::parallel;
  return kinds;
}
std::optional<AffineMap> ContractOp::getOperandMap(unsigned operand) { return getMap(operand); }
std::optional<AffineMap> ContractOp::getResultMap(unsigned) { return getMap(2); }
MappingType ContractOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }
std::optional<Monoid> ContractOp::getCombiner() { return Monoid::Add; }
int64_t ContractOp::getFlopsPerPoint() { return 2; }

//===-- Reductions along axes
//--------------------------------------------------------------------------------------===//

/// Map from the operand's index space to a result in which the dimensions `axes` are gone or 0.
static AffineMap reducedMap(Type input, ArrayRef<int64_t> axes, bool keepDims) {
  MLIRContext *context = input.getContext();
  int64_t rank = cast<RankedTensorType>(input).getRank();
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d) {
    if (!llvm::is_contained(axes, d))
      exprs.push_back(getAffineDimExpr(d, context));
    else if (keepDims)
      exprs.push_back(getAffineConstantExpr(0, context));
  }
  return AffineMap::get(rank, 0, exprs, context);
}

static AffineMap identityMap(Type type) {
  return AffineMap::getMultiDimIdentityMap(cast<RankedTensorType>(type).getRank(), type.getContext());
}

static SmallVector<utils::IteratorType> reductionIterators(Type input, ArrayRef<int64_t> axes) {
  SmallVector<utils::IteratorType> kinds(cast<RankedTensorType>(input).getRank(), utils::IteratorType::parallel);
  for (int64_t axis : axes)
    kinds[axis] = utils::IteratorType::reduction;
  return kinds;
}

LogicalResult ReduceOp::verify() {
  Type element = getInput().getType().getElementType();
  bool boolean = element.isInteger(1);
  bool logical = getKind() == Monoid::And || getKind() == Monoid::Or;
  if (isa<FloatType>(element) && logical)
    return emitOpError("expected integer or boolean elements for '")
           << stringifyMonoid(getKind()) << "', got " << element;
  if (boolean && (getKind() == Monoid::Add || getKind() == Monoid::Mul))
    return emitOpError("expected numeric elements for '") << stringifyMonoid(getKind()) << "', got " << element;
  return success();
}

SmallVector<AffineExpr> ReduceOp::getDomainExtents() { return getDims(getInput().getType()); }
SmallVector<utils::IteratorType> ReduceOp::getDomainIterators() {
  return reductionIterators(getInput().getType(), getAxes());
}
std::optional<AffineMap> ReduceOp::getOperandMap(unsigned) { return identityMap(getInput().getType()); }
std::optional<AffineMap> ReduceOp::getResultMap(unsigned) {
  return reducedMap(getInput().getType(), getAxes(), getKeepDims());
}
MappingType ReduceOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }
std::optional<Monoid> ReduceOp::getCombiner() { return getKind(); }
int64_t ReduceOp::getFlopsPerPoint() { return 1; }

LogicalResult ArgReduceOp::verify() {
  if (getKind() != Monoid::Max && getKind() != Monoid::Min)
    return emitOpError("expected kind max or min, got ") << stringifyMonoid(getKind());
  return success();
}

SmallVector<AffineExpr> ArgReduceOp::getDomainExtents() { return getDims(getInput().getType()); }
SmallVector<utils::IteratorType> ArgReduceOp::getDomainIterators() {
  return reductionIterators(getInput().getType(), {int64_t(getAxis())});
}
std::optional<AffineMap> ArgReduceOp::getOperandMap(unsigned) { return identityMap(getInput().getType()); }
std::optional<AffineMap> ArgReduceOp::getResultMap(unsigned) {
  return reducedMap(getInput().getType(), {int64_t(getAxis())}, getKeepDims());
}
MappingType ArgReduceOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }
std::optional<Monoid> ArgReduceOp::getCombiner() { return getKind(); }
int64_t ArgReduceOp::getFlopsPerPoint() { return 1; }

static LogicalResult verifyAxis(Operation *op, Type input, int64_t axis) {
  int64_t rank = cast<RankedTensorType>(input).getRank();
  if (axis < 0 || axis >= rank)
    return op->emitOpError("expected axis within [0, ") << rank << "), got " << axis;
  return success();
}

LogicalResult ScanOp::verify() { return verifyAxis(*this, getInput().getType(), getAxis()); }
SmallVector<AffineExpr> ScanOp::getDomainExtents() { return getDims(getInput().getType()); }
SmallVector<utils::IteratorType> ScanOp::getDomainIterators() {
  return reductionIterators(getInput().getType(), {int64_t(getAxis())});
}
std::optional<AffineMap> ScanOp::getOperandMap(unsigned) { return identityMap(getInput().getType()); }
std::optional<AffineMap> ScanOp::getResultMap(unsigned) { return identityMap(getInput().getType()); }
MappingType ScanOp::getMappingType(unsigned operand) { return deriveMappingType(*this, operand); }
std::optional<Monoid> ScanOp::getCombiner() { return getKind(); }
int64_t ScanOp::getFlopsPerPoint() { return 1; }

LogicalResult TopKOp::verify() { return success(); }
SmallVector<AffineExpr> TopKOp::getDomainExtents() { return getDims(getInput().getType()); }
SmallVector<utils::IteratorType> TopKOp::getDomainIterators() {
  return reductionIterators(getInput().getType(), {int64_t(getAxis())});
}
std::optional<AffineMap> TopKOp::getOperandMap(unsigned) { return identityMap(getInput().getType()); }
std::optional<AffineMap> TopKOp::getResultMap(unsigned) { return std::nullopt; }
MappingType TopKOp::getMappingType(unsigned) { return MappingType::Opaque; }
