// Collectives: verifiers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/CollectiveOps.cpp.inc"

bool weft::tg::isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, OwnPartOp>(op);
}

/// The bundle's limit, too.
static constexpr int64_t mostRanks = 1024;

static LogicalResult verifyRanks(Operation *op, std::optional<int64_t> ranks) {
  if (ranks && *ranks >= 2 && *ranks <= mostRanks)
    return success();
  InFlightDiagnostic error = op->emitOpError("expected 2 to ") << mostRanks << " ranks, got ";
  return ranks ? error << *ranks : error << "an extent that is not static";
}

static LogicalResult verifyElements(Operation *op, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  if (getElementBits(element) % 8 == 0 || element.isInteger(1))
    return success();
  return op->emitOpError("expected elements of whole bytes, got ") << element;
}

static LogicalResult verifyKind(Operation *op, Monoid kind, Type type) {
  if (kind == Monoid::And || kind == Monoid::Or)
    return op->emitOpError("expected add, mul, max or min, got ") << stringifyMonoid(kind);
  Type element = cast<RankedTensorType>(type).getElementType();
  if (element.isInteger(16))
    return op->emitOpError("expected floats or integers of 8, 32 or 64 bits, got ") << element;
  return success();
}

/// `many` has the ranks as dimension 0 in front of the dimensions of `one`.
static LogicalResult verifyParts(Operation *op, Type many, Type one) {
  auto rank = cast<RankedTensorType>(many).getRank();
  if (rank == 0)
    return op->emitOpError("expected a dimension of ranks, got ") << many;
  Dims dims = getDims(many);
  if (failed(verifyRanks(op, getConstant(dims.front()))) || failed(verifyElements(op, many)))
    return failure();
  Type part = getTensorType(ArrayRef(dims).drop_front(), cast<RankedTensorType>(many).getElementType());
  if (part == one)
    return success();
  return op->emitOpError("expected parts of type ") << part << ", got " << one;
}

LogicalResult AllReduceOp::verify() {
  return success(succeeded(verifyRanks(*this, getRanks())) && succeeded(verifyKind(*this, getKind(), getType())));
}

LogicalResult AllGatherOp::verify() { return verifyParts(*this, getType(), getInput().getType()); }

LogicalResult ReduceScatterOp::verify() {
  return success(succeeded(verifyParts(*this, getInput().getType(), getType())) &&
                 succeeded(verifyKind(*this, getKind(), getType())));
}

LogicalResult AllToAllOp::verify() {
  Type type = getInput().getType();
  if (cast<RankedTensorType>(type).getRank() == 0)
    return emitOpError("expected a dimension of ranks, got ") << type;
  return success(succeeded(verifyRanks(*this, getConstant(getDims(type).front()))) &&
                 succeeded(verifyElements(*this, type)));
}

LogicalResult OwnPartOp::verify() { return verifyParts(*this, getInput().getType(), getType()); }
