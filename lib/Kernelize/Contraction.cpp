// tg.contract: one flat loop over the steps of its reduction dimensions, tk.dot where the operands have the shape for
// it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes that the operands' coordinates have decide. If each has one lane of its own, and there is a lane of reduced
// places, the tiles are [m, k] and [k, n]. Else (matrix times vector, depthwise convolutions, outer products,
// dimensions that both operands read) products are summed place by place over all lanes, and along the reduced lane at
// the end.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::kernelize {

struct Product {
  Type accumulator;
  Exprs domain;                     ///< Coordinates of the domain; null for reduction dimensions.
  SmallVector<unsigned> reductions; ///< Domain dimensions that are reduced.
  SmallVector<Streamed> dims;       ///< How.
  std::optional<unsigned> reduced;  ///< The lane of reduced places.
  SmallVector<unsigned> lanes[2];   ///< Lanes of the operands, but for `reduced`.
};

/// f64 if an operand or the result is, else f32; integers of the result's type, in at least 32 bits.
static Type accumulatorOf(tg::ContractOp op) {
  Type result = op.getType().getElementType();
  if (isa<FloatType>(result))
    return tg::getComputeType(op.getOperation());
  return IntegerType::get(op.getContext(), std::max(32u, result.getIntOrFloatBitWidth()));
}

Tile Kernelizer::operandAt(tg::ContractOp op, unsigned i, const Product &product, ArrayRef<AffineExpr> places,
                           const Constraints &mask) {
  Exprs domain = product.domain;
  for (auto [dim, place] : llvm::zip_equal(product.reductions, places))
    domain[dim] = place;
  Value operand = op->getOperand(i);
  TypedAttr zero = getZero(getHeldType(cast<RankedTensorType>(operand.getType()).getElementType()));
  return masked(operand, composed(op.getMap(i), domain), mask, zero);
}

/// Steps of the reduction dimensions, those of more than one place side by side in one lane.
static SmallVector<Streamed> planSteps(ArrayRef<AffineExpr> extents, ArrayRef<unsigned> reductions,
                                       ArrayRef<int64_t> stream) {
  constexpr int64_t defaultStep = 32;
  SmallVector<Streamed> dims;
  for (auto [i, dim] : llvm::enumerate(reductions)) {
    bool isLast = i + 1 == reductions.size();
    int64_t step = i < stream.size() ? stream[i] : isLast ? fittingStep(extents[dim], defaultStep) : 1;
    dims.push_back({extents[dim], step});
  }
  int64_t divisor = 1;
  for (Streamed &dim : llvm::reverse(dims)) {
    dim.divisor = divisor;
    divisor *= dim.step;
  }
  return dims;
}

Tile Kernelizer::contract(tg::ContractOp op, ArrayRef<AffineExpr> at) {
  tg::Dims extents = op.getDomainExtents();
  Product product;
  product.accumulator = accumulatorOf(op);
  product.domain.resize(extents.size());
  for (auto [expr, place] : llvm::zip_equal(op.getMap(2).getResults(), at))
    product.domain[cast<AffineDimExpr>(expr).getPosition()] = place;
  for (unsigned d = 0; d < extents.size(); ++d)
    if (!product.domain[d])
      product.reductions.push_back(d);
  product.dims = planSteps(extents, product.reductions, schedule.getStream());
  Exprs parallel = product.domain;
  for (unsigned d : product.reductions)
    parallel[d] = space.constant(0);
  for (unsigned i : {0u, 1u})
    product.lanes[i] = space.lanesOf(canonical(op->getOperand(i), composed(op.getMap(i), parallel)));

  bool isMatrix = product.lanes[0].size() == 1 && product.lanes[1].size() == 1 && product.lanes[0] != product.lanes[1];
  int64_t places = 1;
  for (const Streamed &dim : product.dims)
    places *= dim.step;
  if (places > 1) {
    // Between the operands' own lanes, so that operands are [m, k] and [k, n] as they come.
    double key = 2000;
    if (isMatrix)
      key = (space.lane(product.lanes[0][0]).key + space.lane(product.lanes[1][0]).key) / 2;
    product.reduced = reductionLane(places, key, space.unite(product.lanes[0], product.lanes[1]));
    for (Streamed &dim : product.dims)
      dim.lane = *product.reduced;
  }
  // Where all products of a step fit the registers, a thin dot is better off without shared memory.
  constexpr int64_t thin = 16, productsPerThread = 32, warpThreads = 32;
  auto extentOf = [&](unsigned i) { return space.lane(product.lanes[i][0]).extent; };
  bool isDot = isMatrix && product.reduced;
  if (isDot && schedule.getEngine() == tg::Engine::Simt && std::min(extentOf(0), extentOf(1)) < thin)
    isDot = extentOf(0) * extentOf(1) * places > productsPerThread * warpThreads * schedule.getWarps();
  Tile sum = isDot ? contractByDot(op, product) : contractByMaps(op, product);
  return fromAccumulator(sum, op.getType().getElementType());
}

/// The type that operands are multiplied in: as they are if a dot takes them so.
static Type multiplicandOf(Type lhs, Type rhs, Type accumulator) {
  bool isNarrow =
      isa<FloatType>(lhs) ? accumulator.isF32() || lhs.isF64() : lhs.isInteger(8) && accumulator.isInteger(32);
  return lhs == rhs && isNarrow ? lhs : accumulator;
}

Tile Kernelizer::contractByDot(tg::ContractOp op, const Product &product) {
  // The operand whose lane comes first is on the left.
  unsigned lanes[] = {product.lanes[0][0], product.lanes[1][0]};
  unsigned left = space.lane(lanes[0]).key < space.lane(lanes[1]).key ? 0 : 1, right = 1 - left;
  Type elements[2];
  for (unsigned i : {0u, 1u})
    elements[i] = cast<RankedTensorType>(op->getOperand(i).getType()).getElementType();
  Type element = multiplicandOf(getHeldType(elements[0]), getHeldType(elements[1]), product.accumulator);
  auto operand = [&](unsigned i, ArrayRef<AffineExpr> places, const Constraints &mask, ArrayRef<unsigned> order) {
    Tile part = operandAt(op, i, product, places, mask);
    return broadcast(part.element() == element ? part : toAccumulator(part, elements[i], element), order).value;
  };
  SmallVector<unsigned> result{lanes[left], lanes[right]};
  Value zero = constant(getZero(product.accumulator), result).value;
  Scalars sums =
      stream(product.dims, zero, [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange state) {
        Value lhs = operand(left, places, mask, {lanes[left], *product.reduced});
        Value rhs = operand(right, places, mask, {*product.reduced, lanes[right]});
        auto dot = tk::DotOp::create(builder, lhs, rhs, state[0]);
        if (element != product.accumulator && isa<IntegerType>(element)) {
          dot.setUnsignedLhs(tg::isUnsignedElement(elements[left]));
          dot.setUnsignedRhs(tg::isUnsignedElement(elements[right]));
        }
        return Scalars{dot};
      });
  return {sums[0], result};
}

Tile Kernelizer::contractByMaps(tg::ContractOp op, const Product &product) {
  SmallVector<unsigned> lanes = space.unite(product.lanes[0], product.lanes[1]), reduced;
  if (product.reduced) {
    reduced.push_back(*product.reduced);
    lanes = space.unite(lanes, reduced);
  }
  Type accumulator = product.accumulator;
  Value zero = constant(getZero(accumulator), lanes).value;
  auto sum = [&](OpBuilder &inner, Location loc, ValueRange args) -> Scalars {
    if (isa<FloatType>(accumulator))
      return {arith::AddFOp::create(inner, loc, args[0], args[1])};
    return {arith::AddIOp::create(inner, loc, args[0], args[1])};
  };
  auto multiplyAdd = [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    if (isa<FloatType>(accumulator))
      return math::FmaOp::create(inner, loc, args[0], args[1], args[2]);
    return arith::AddIOp::create(inner, loc, arith::MulIOp::create(inner, loc, args[0], args[1]), args[2]);
  };
  Scalars sums =
      stream(product.dims, zero, [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange state) {
        Tile operands[2];
        for (unsigned i : {0u, 1u}) {
          Type element = cast<RankedTensorType>(op->getOperand(i).getType()).getElementType();
          operands[i] = toAccumulator(operandAt(op, i, product, places, mask), element, accumulator);
        }
        Tile next = map({operands[0], operands[1], {state[0], lanes}}, accumulator, multiplyAdd);
        return Scalars{broadcast(next, lanes).value};
      });
  return combineLanes(Tile{sums[0], lanes}, reduced, sum).front();
}

} // namespace weft::kernelize
