// Loads of the kernel's arguments and stores of its results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Booleans are bytes in memory and i1 in tiles. Elements of less than a byte lie several to a byte, the first in the
// low bits: element i is in byte i floordiv n, n = 8 / bits, at bit (i mod n) * bits. The buffer is then a tensor of
// bytes.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace weft::kernelize {

/// Whether `place` rises with the atom of `axis`, which occurs in it as a term of a sum.
static bool risesWith(AffineExpr place, AffineExpr axis) {
  unsigned atom = cast<AffineSymbolExpr>(axis).getPosition();
  auto binary = dyn_cast<AffineBinaryOpExpr>(place);
  if (!binary)
    return place == axis;
  if (binary.getKind() == AffineExprKind::Mul) {
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    return factor && factor.getValue() > 0 && binary.getLHS() == axis;
  }
  AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
  if (binary.getKind() != AffineExprKind::Add)
    return false;
  bool inLeft = lhs.isFunctionOfSymbol(atom), inRight = rhs.isFunctionOfSymbol(atom);
  return inLeft != inRight && risesWith(inLeft ? lhs : rhs, axis);
}

/// That ragged axes are within their extents, unless elements past them leave the tensor, and narrow ones within their
/// tiles: `slacks` are the upper bounds that the guard has anyway, by coordinate (null: it needs none within the
/// extents).
static Constraints raggedBeyond(const Space &space, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> slacks) {
  Constraints result;
  for (unsigned atom : space.atomsOf(at)) {
    AffineExpr axis = getAffineSymbolExpr(atom, space.getContext());
    bool isBounded = llvm::all_of(llvm::zip_equal(at, slacks), [&](auto pair) {
      auto [place, slack] = pair;
      return !place.isFunctionOfSymbol(atom) || (slack && risesWith(place, axis));
    });
    Constraints ragged = space.ragged(axis);
    if (!isBounded)
      llvm::append_range(result, ragged);
    else if (space.atom(atom).isNarrow()) // Elements past the end of its tile are the next one's, and in the tensor.
      result.push_back(ragged.back());
  }
  return result;
}

/// Without those that another one implies.
static Constraints dropImplied(Space &space, const Constraints &all) {
  Constraints kept;
  for (auto [i, constraint] : llvm::enumerate(all)) {
    bool isImplied = llvm::any_of(llvm::enumerate(all), [&, i = i, &constraint = constraint](auto other) {
      if (other.index() == i || constraint.isEquality || other.value().isEquality)
        return false;
      std::optional<int64_t> beyond = tg::getConstant(space.simplify(constraint.expr - other.value().expr));
      return beyond && (*beyond > 0 || (*beyond == 0 && other.index() < i));
    });
    if (!isImplied)
      kept.push_back(constraint);
  }
  return kept;
}

Tile Kernelizer::loadElements(Value from, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> extents,
                              const Constraints &mask, TypedAttr fill, Type element) {
  Constraints bounds;
  Exprs slacks;
  for (auto [place, extent] : llvm::zip_equal(at, extents)) {
    bool leavesBefore = !space.isNonNegative(place);
    if (leavesBefore)
      bounds.push_back({space.simplify(place)});
    // Of padded elements, and of windows that a dot sums over, both bounds are the tensor's own, as TMA has them, where
    // axes are ragged: nobody reads what the dot makes of elements past them.
    AffineExpr slack = space.simplify(extent - 1 - place);
    bool isOwn = leavesBefore || (isForDot && isa<AffineBinaryOpExpr>(place));
    bool isWithin = space.isNonNegative(slack) && (!isOwn || space.ragged(place).empty());
    slacks.push_back(isWithin ? AffineExpr() : slack);
    if (slacks.back())
      bounds.push_back({slack});
  }
  Constraints guard = raggedBeyond(space, at, slacks);
  llvm::append_range(guard, bounds);
  llvm::append_range(guard, mask);
  guard = dropImplied(space, guard);
  Exprs exprs(at);
  for (const Constraint &constraint : guard)
    exprs.push_back(constraint.expr);
  SmallVector<unsigned> lanes = space.lanesOf(exprs);
  Indexing indexing(space, lanes);
  for (AffineExpr place : at)
    indexing.addResult(place);
  for (const Constraint &constraint : guard)
    indexing.addConstraint(constraint);
  std::optional<IntegerSet> set = indexing.getSet();
  SmallVector<Value> indices;
  for (const Atom *atom : indexing.indices)
    indices.push_back(broadcast({atom->value, atom->lanes}, lanes).value);
  IntegerSetAttr setAttr = set ? IntegerSetAttr::get(*set) : IntegerSetAttr();
  if (!set || (fill && fill == getZero(fill.getType())))
    fill = {};
  Value value = tk::LoadOp::create(builder, typeOf(lanes, element), from, indexing.symbols, indices, Value(),
                                   AffineMapAttr::get(indexing.getMap()), setAttr, fill);
  return {value, lanes};
}

Tile Kernelizer::load(BlockArgument argument, ArrayRef<AffineExpr> at, const Constraints &mask, TypedAttr fill) {
  auto type = cast<RankedTensorType>(argument.getType());
  Type element = type.getElementType();
  if (llvm::is_contained(type.getShape(), 0)) // Nothing to read.
    return constant(fill ? fill : getZero(getHeldType(element)));
  if (hasFields(argument))
    return loadPacked(argument, at, mask);
  Type inMemory = element.isInteger(1) ? builder.getI8Type() : getHeldType(element);
  if (fill && fill.getType() != inMemory)
    fill = IntegerAttr::get(inMemory, cast<IntegerAttr>(fill).getValue().zext(8));
  Tile loaded = loadElements(arguments.lookup(argument), at, tg::getDims(type), mask, fill, inMemory);
  if (!element.isInteger(1))
    return loaded;
  return map({loaded}, element, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    Value zero = arith::ConstantOp::create(inner, loc, inner.getI8IntegerAttr(0));
    return arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ne, args[0], zero);
  });
}

bool Kernelizer::hasFields(BlockArgument argument) const {
  RankedTensorType buffer = cast<tk::GlobalType>(arguments.lookup(argument).getType()).getTensor();
  return buffer.getElementType() != cast<RankedTensorType>(argument.getType()).getElementType();
}

Tile Kernelizer::loadPacked(BlockArgument argument, ArrayRef<AffineExpr> at, const Constraints &mask) {
  auto type = cast<RankedTensorType>(argument.getType());
  Value buffer = arguments.lookup(argument);
  auto unit = cast<IntegerType>(cast<tk::GlobalType>(buffer.getType()).getTensor().getElementType());
  int64_t bits = tg::getElementBits(type.getElementType()), fields = int64_t(unit.getWidth()) / bits;
  AffineExpr place = space.constant(0);
  for (auto [coordinate, extent] : llvm::zip_equal(at, tg::getDims(type)))
    place = place * extent + coordinate;
  place = space.simplify(place);
  // The bounds of the tensor's own dimensions guard the byte or word.
  Constraints guard = mask;
  llvm::append_range(guard, space.ragged(at));
  for (auto [coordinate, extent] : llvm::zip_equal(at, tg::getDims(type))) {
    if (!space.isNonNegative(coordinate))
      guard.push_back({coordinate});
    if (AffineExpr slack = space.simplify(extent - 1 - coordinate); !space.isNonNegative(slack))
      guard.push_back({slack});
  }
  Type i8 = builder.getI8Type(), i32 = builder.getI32Type();
  AffineExpr first = space.simplify(place.floorDiv(fields)),
             end = space.simplify(tg::getNumElements(type).ceilDiv(fields));
  // Of words the guard has all that bounds them. (Bytes of operands in shared memory keep a bound of their own.)
  bool isWord = unit.getWidth() > 8;
  llvm::SaveAndRestore ownBounds(isForDot, isForDot && !isWord);
  Tile whole = loadElements(buffer, first, isWord ? first + 1 : end, guard, {}, unit);
  Tile offset = affine(space.simplify(place % fields * bits), i32);
  return map({whole, offset}, i8, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    Value shift = unit == i32 ? args[1] : arith::TruncIOp::create(inner, loc, unit, args[1]).getResult();
    Value low = arith::ShRUIOp::create(inner, loc, args[0], shift);
    Value ones = arith::ConstantOp::create(inner, loc, inner.getIntegerAttr(unit, (1 << bits) - 1));
    Value field = arith::AndIOp::create(inner, loc, low, ones);
    return unit == i8 ? field : arith::TruncIOp::create(inner, loc, i8, field).getResult();
  });
}

void Kernelizer::store(const Tile &tile, Value target, ArrayRef<AffineExpr> at, Type element) {
  Tile bytes = tile;
  if (element.isInteger(1))
    bytes = map({tile}, builder.getI8Type(), [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
      return arith::ExtUIOp::create(inner, loc, inner.getI8Type(), args[0]);
    });
  Exprs places(at);
  std::optional<Tile> within;
  if (into && target == targets[into->result])
    std::tie(places, within) = placesInto(at);
  SmallVector<unsigned> lanes = space.unite(space.lanesOf(places), tile.lanes);
  if (within)
    lanes = space.unite(lanes, within->lanes);
  Indexing indexing(space, lanes);
  for (AffineExpr place : places)
    indexing.addResult(place);
  for (const Constraint &constraint : space.ragged(at))
    indexing.addConstraint(constraint);
  std::optional<IntegerSet> set = indexing.getSet();
  IntegerSetAttr setAttr = set ? IntegerSetAttr::get(*set) : IntegerSetAttr();
  SmallVector<Value> indices;
  for (const Atom *atom : indexing.indices)
    indices.push_back(broadcast({atom->value, atom->lanes}, lanes).value);
  tk::StoreOp::create(builder, broadcast(bytes, lanes).value, target, indexing.symbols, indices,
                      within ? broadcast(*within, lanes).value : Value(), AffineMapAttr::get(indexing.getMap()),
                      setAttr, tg::MonoidAttr());
}

} // namespace weft::kernelize
