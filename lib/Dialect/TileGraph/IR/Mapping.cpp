// Mapping types from maps: one rule for all ops instead of an answer per op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Mapping.h"

using namespace mlir;

namespace weft::tg {
namespace {

/// What one coordinate of an operand reads.
struct Coordinate {
  bool divides = false;
  bool isBackward = false;
  SmallVector<unsigned, 2> dims;
};

Coordinate readCoordinate(AffineExpr expr) {
  Coordinate read;
  expr.walk([&](AffineExpr part) {
    AffineExprKind kind = part.getKind();
    read.divides |= kind == AffineExprKind::FloorDiv || kind == AffineExprKind::CeilDiv || kind == AffineExprKind::Mod;
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      if (!llvm::is_contained(read.dims, dim.getPosition()))
        read.dims.push_back(dim.getPosition());
    if (auto product = dyn_cast<AffineBinaryOpExpr>(part); product && kind == AffineExprKind::Mul)
      if (auto factor = dyn_cast<AffineConstantExpr>(product.getRHS()))
        read.isBackward |= factor.getValue() < 0;
  });
  return read;
}

/// Of a map from result coordinates to operand coordinates, without reductions.
MappingType classifyView(AffineMap map, ArrayRef<AffineExpr> extents) {
  SmallVector<unsigned> order; // Dimensions that are not 1, in the operand's order.
  bool isInPlace = map.getNumResults() == map.getNumDims(), isBackward = false;
  for (auto [place, expr] : llvm::enumerate(map.getResults())) {
    Coordinate read = readCoordinate(expr);
    if (read.divides)
      return MappingType::Reorganize;
    llvm::erase_if(read.dims, [&](unsigned dim) { return getConstant(extents[dim]) == 1; });
    if (read.dims.size() > 1)
      return MappingType::OneToMany;
    if (read.dims.empty())
      continue;
    isInPlace &= read.dims.front() == place;
    isBackward |= read.isBackward;
    order.push_back(read.dims.front());
  }
  for (auto [dim, extent] : llvm::enumerate(extents))
    if (getConstant(extent) != 1 && !llvm::is_contained(order, dim))
      return MappingType::OneToMany;
  if (isBackward || !llvm::is_sorted(order))
    return MappingType::Shuffle;
  return isInPlace ? MappingType::OneToOne : MappingType::Reorganize;
}

} // namespace

MappingType deriveMappingType(TileOpInterface op, unsigned operand) {
  std::optional<AffineMap> map = op.getOperandMap(operand), result = op.getResultMap(0);
  if (!map || !result)
    return MappingType::Opaque;
  if (llvm::is_contained(op.getDomainIterators(), utils::IteratorType::reduction)) {
    if (!map->isProjectedPermutation(/*allowZeroInResults=*/true))
      return MappingType::Window;
    return op->getNumOperands() > 1 ? MappingType::Contraction : MappingType::Reduction;
  }
  return result->isIdentity() ? classifyView(*map, op.getDomainExtents()) : MappingType::Opaque;
}

} // namespace weft::tg
