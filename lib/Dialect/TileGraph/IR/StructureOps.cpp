// Constants, weights, symbol arithmetic, kernels and dispatches: verifiers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/StructureOps.cpp.inc"

LogicalResult WeightOp::verify() {
  std::optional<int64_t> size = getByteSize(getType());
  if (!size)
    return emitOpError("expected a static type, got ") << getType();
  if (*size != getData().getSize())
    return emitOpError("expected ") << *size << " bytes for " << getType() << ", got " << getData().getSize();
  if (!getOrder())
    return success();
  SmallVector<int64_t> sorted(*getOrder());
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq(getType().getRank())))
    return emitOpError("expected an order of dimensions 0 to ") << getType().getRank() - 1 << ", got " << *getOrder();
  if (getElementBits(getType().getElementType()) % 8 != 0 && !getType().getElementType().isInteger(1))
    return emitOpError("expected elements of whole bytes with an order, got ") << getType();
  return success();
}

static LogicalResult verifySymbolMap(Operation *op, AffineMap map) {
  if (map.getNumDims() != 0)
    return op->emitOpError("expected a map of symbols only, got ") << map.getNumDims() << " dimensions";
  return success();
}

LogicalResult ExtentsOp::verify() { return verifySymbolMap(*this, getMap()); }

LogicalResult AssumeEqualOp::verify() {
  if (getMap().getNumResults() < 2)
    return emitOpError("expected at least 2 results, got ") << getMap().getNumResults();
  return verifySymbolMap(*this, getMap());
}

LogicalResult IotaOp::verify() {
  int64_t rank = getType().getRank();
  if (getAxis() < 0 || int64_t(getAxis()) >= rank)
    return emitOpError("expected axis within [0, ") << rank << "), got " << int64_t(getAxis());
  if (getType().getElementType().isInteger(1))
    return emitOpError("expected numeric elements, got i1");
  return success();
}

LogicalResult KernelOp::verify() {
  auto yield = dyn_cast_or_null<YieldOp>(getBody().front().empty() ? nullptr : &getBody().front().back());
  if (!yield)
    return emitOpError("expected its region to end in tg.yield");
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("expected tg.yield to have the kernel's result types");
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (!getDomain() && !getAccess())
    return success();
  LikelyExtents likely(*this);
  KernelDomain own = describeDomain(*this);
  if (getDomainAttr() != own.domain)
    return emitOpError("expected domain ") << own.domain << ", as its ops' maps say, got " << getDomainAttr();
  ArrayAttr access = getAccessAttr();
  if (!access || access.size() != own.access.size())
    return emitOpError("expected maps for ")
           << own.access.size() << " values in access, got " << (access ? access.size() : 0);
  for (auto [i, maps, given] : llvm::enumerate(own.access, access))
    if (maps != given)
      return emitOpError("expected access ") << maps << " of value " << i << ", as its ops' maps say, got " << given;
  return success();
}
