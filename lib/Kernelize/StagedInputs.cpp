// Inputs that a CTA reads several times at elements that overlap, fetched once: the box of all elements goes to shared
// memory, zeros where it leaves the tensor, and each reading is a position of the buffer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The terms of a window in front of a reduction, say, whose CTA has whole images of a few channels: from global memory
// each term of each element asks the L1 for another line, one tag a clock, and each has a predicate. And the weights of
// all terms, which come from DRAM, are under way together with the image.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"

using namespace mlir;

namespace weft::kernelize {

/// The argument, and where in it, that `value` is at these positions, through views that move all elements and one pad
/// with zeros: positions outside the argument are zero.
std::optional<std::pair<BlockArgument, Exprs>> Kernelizer::throughToMemory(Value value, ArrayRef<AffineExpr> at) {
  Exprs places = canonical(value, at);
  bool isPadded = false;
  while (Operation *op = value.getDefiningOp()) {
    if (auto pad = dyn_cast<tg::PadOp>(op)) {
      TypedAttr fill = getSplat(pad.getValue());
      bool hasHoles = llvm::any_of(pad.getInterior(), [](int64_t n) { return n != 0; });
      if (isPadded || hasHoles || !fill || fill != getZero(fill.getType()))
        return std::nullopt;
      places = throughPad(pad, places).first;
      isPadded = true;
    } else if (isa<tg::TransposeOp>(op) || (isa<tg::ReshapeOp>(op) && !isPadded)) { // Zeros cannot be reshaped.
      places = *throughView(op, places);
    } else {
      return std::nullopt;
    }
    value = op->getOperand(0);
    if (!isPadded) // Else what is next to the only element of a dimension is zero.
      places = canonical(value, places);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !arguments.count(argument))
    return std::nullopt;
  return std::pair(argument, places);
}

/// From where on and how far the elements along one dimension go: `reads` differ by constants, and each is a sum of
/// axes.
std::optional<Kernelizer::BoxSide> Kernelizer::planSide(ArrayRef<AffineExpr> reads) {
  AffineExpr first = reads.front();
  int64_t least = 0, most = 0;
  for (AffineExpr read : reads) {
    std::optional<int64_t> distance = tg::getConstant(space.simplify(read - first));
    if (!distance)
      return std::nullopt;
    least = std::min(least, *distance);
    most = std::max(most, *distance);
  }
  BoxSide side{first + least, most - least, most - least};
  for (unsigned number : space.atomsOf(first)) {
    const Atom &atom = space.atom(number);
    if (atom.kind == Atom::Kind::Scalar)
      continue;
    AffineExpr axis = getAffineSymbolExpr(number, space.getContext());
    std::optional<int64_t> factor = tg::getConstant(space.simplify(first.replace(axis, axis + 1) - first));
    std::optional<int64_t> extent = tg::getConstant(atom.extent);
    if (atom.kind != Atom::Kind::Axis || !factor || *factor <= 0 || !extent)
      return std::nullopt;
    bool isWhole = tg::getConstant(atom.base) == 0;
    side.low = side.low.replace(axis, atom.base * atom.tile);
    side.last += *factor * ((isWhole ? std::min(atom.tile, *extent) : atom.tile) - 1);
    side.lastOfTile += *factor * (atom.tile - 1);
  }
  side.low = space.simplify(side.low);
  return side;
}

/// The box of an argument that holds all of `reads`, where it is small and its elements are read often: `elements` by
/// each read.
std::optional<StagedInput> Kernelizer::planBox(BlockArgument argument, ArrayRef<Exprs> reads, int64_t elements) {
  constexpr int64_t mostBytes = 64 << 10, leastReads = 1;
  Type element = cast<RankedTensorType>(argument.getType()).getElementType(), held = getHeldType(element);
  if (hasFields(argument) || llvm::is_contained(cast<RankedTensorType>(argument.getType()).getShape(), 0))
    return std::nullopt;
  StagedInput staged{argument, {}, {}, {}, {}, 1};
  int64_t places = 1, last = 0;
  for (size_t d = 0; d < reads.front().size(); ++d) {
    auto side = planSide(llvm::map_to_vector(reads, [&](const Exprs &read) { return read[d]; }));
    if (!side || side->lastOfTile > mostBytes)
      return std::nullopt;
    int64_t extent = roundUpToPowerOf2(side->last + 1);
    places *= extent;
    last = last * extent + side->lastOfTile;
    staged.low.push_back(side->low);
    if (places > mostBytes || last > mostBytes)
      return std::nullopt;
    if (extent == 1 && side->lastOfTile == 0)
      continue;
    staged.dims.push_back(d);
    staged.shape.push_back(extent);
  }
  staged.slots = last / places + 1; // Elements past the end of a ragged axis are read, too.
  int64_t bytes = places * held.getIntOrFloatBitWidth() / 8;
  if (staged.dims.empty() || bytes * staged.slots > mostBytes || int64_t(reads.size()) * elements < leastReads * places)
    return std::nullopt;
  return staged;
}

/// The box in registers.
Tile Kernelizer::loadBox(const StagedInput &staged) {
  constexpr double afterAll = 3000;
  Exprs at = staged.low;
  SmallVector<unsigned> taken;
  for (auto [dim, extent] : llvm::zip_equal(staged.dims, staged.shape)) {
    if (extent == 1)
      continue;
    taken.push_back(reductionLane(extent, afterAll + dim, taken));
    AffineExpr axis =
        space.getAxis(space.constant(extent), space.constant(0), extent, taken.back(), /*divisor=*/1, &root);
    at[dim] = space.simplify(at[dim] + axis);
  }
  return broadcast(load(staged.argument, at, {}, {}), taken);
}

/// Memory for the box, with zeros in the slots behind it: what a tile that runs past a ragged axis reads there reaches
/// no result, but memory that nobody wrote may hold anything, and a sanitizer cannot tell such a read from one that
/// came before its store.
Value Kernelizer::makeRoom(StagedInput &staged, const Tile &box) {
  OpBuilder allocs(tiles);
  auto type = tk::SharedType::get(staged.slots, staged.shape, box.element());
  staged.buffer = tk::AllocOp::create(allocs, builder.getLoc(), type, IntegerAttr());
  if (staged.slots == 1)
    return staged.buffer;
  auto slot = [&](int64_t number) {
    auto slotType = tk::SharedType::get(1, staged.shape, box.element());
    return tk::SlotOp::create(builder, slotType, staged.buffer, index(space.constant(number)));
  };
  Tile zeros = constant(getZero(box.element()), box.lanes);
  for (int64_t number = 1; number < staged.slots; ++number)
    tk::LocalStoreOp::create(builder, zeros.value, slot(number));
  return slot(0);
}

void Kernelizer::stage(MutableArrayRef<StagedInput *> inputs) {
  SmallVector<Tile> boxes; // All loads are under way before the first store waits.
  for (StagedInput *staged : inputs)
    boxes.push_back(loadBox(*staged));
  SmallVector<Value> rooms;
  for (auto [staged, box] : llvm::zip_equal(inputs, boxes))
    rooms.push_back(makeRoom(*staged, box));
  for (auto [box, room] : llvm::zip_equal(boxes, rooms))
    tk::LocalStoreOp::create(builder, box.value, room);
  tk::BarrierOp::create(builder);
}

Tile Kernelizer::readStaged(const StagedInput &staged, ArrayRef<AffineExpr> places) {
  Exprs inBox;
  for (unsigned dim : staged.dims)
    inBox.push_back(space.simplify(places[dim] - staged.low[dim]));
  SmallVector<unsigned> lanes = space.lanesOf(inBox);
  Indexing indexing(space, lanes);
  for (AffineExpr place : inBox)
    indexing.addResult(place);
  AffineMap map = indexing.getMap();
  Type held = cast<tk::SharedType>(staged.buffer.getType()).getElementType();
  return {tk::LocalReadOp::create(builder, typeOf(lanes, held), staged.buffer, indexing.symbols, map), lanes};
}

} // namespace weft::kernelize
