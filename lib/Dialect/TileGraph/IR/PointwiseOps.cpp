// Elementwise ops: generated definitions and `tg.cast`. Their scalar functions are in ScalarMath*.cpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/PointwiseOps.cpp.inc"

void CastOp::build(OpBuilder &builder, OperationState &state, Value input, Type elementType) {
  build(builder, state, withElement(input.getType(), elementType), input);
}

LogicalResult CastOp::verify() {
  if (withElement(getInput().getType(), getType().getElementType()) != getType())
    return emitOpError("expected result extents equal to the operand's, got ")
           << getType() << " for " << getInput().getType();
  if (getRoundUp() && !isa<Float8E8M0FNUType>(getType().getElementType()))
    return emitOpError("expected result element type f8E8M0FNU with 'round_up', got ") << getType().getElementType();
  return success();
}

SmallVector<AffineExpr> CastOp::getDomainExtents() { return detail::resultExtents(*this); }
SmallVector<utils::IteratorType> CastOp::getDomainIterators() { return detail::parallelIterators(*this); }
std::optional<AffineMap> CastOp::getOperandMap(unsigned operand) { return detail::identityResultMap(*this); }
std::optional<AffineMap> CastOp::getResultMap(unsigned) { return detail::identityResultMap(*this); }
MappingType CastOp::getMappingType(unsigned) { return MappingType::OneToOne; }
