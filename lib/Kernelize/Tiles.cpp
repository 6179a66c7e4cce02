// Building blocks: constants, broadcasts, scalar maps, guards, reductions over lanes, loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::kernelize {

int64_t roundUpToPowerOf2(int64_t extent) { return extent <= 1 ? 1 : int64_t(llvm::PowerOf2Ceil(extent)); }

//===-- Elements --------------------------------------------------------------------------------------------------===//

Type getHeldType(Type element) {
  Type stored = tg::getStorageType(element);
  unsigned bits = stored.getIntOrFloatBitWidth();
  return bits < 8 && bits != 1 ? IntegerType::get(element.getContext(), 8) : stored;
}

Value loadScalar(OpBuilder &builder, Location loc, Value held, Type element, FloatType compute) {
  Type stored = tg::getStorageType(element);
  if (held.getType() != stored)
    held = arith::TruncIOp::create(builder, loc, stored, held);
  return tg::buildLoad(builder, loc, held, element, compute);
}

Value storeScalar(OpBuilder &builder, Location loc, Value scalar, Type element) {
  Value stored = tg::buildStore(builder, loc, scalar, element);
  Type held = getHeldType(element);
  return stored.getType() == held ? stored : arith::ExtUIOp::create(builder, loc, held, stored).getResult();
}

TypedAttr getHeldAttr(Attribute number, Type element) {
  Type held = getHeldType(element);
  APInt bits;
  if (auto real = dyn_cast<FloatAttr>(number)) {
    if (isa<FloatType>(held))
      return FloatAttr::get(held, real.getValue());
    bits = real.getValue().bitcastToAPInt();
  } else if (auto integer = dyn_cast<IntegerAttr>(number)) {
    bits = integer.getValue();
  } else {
    return {};
  }
  return IntegerAttr::get(held, bits.zextOrTrunc(held.getIntOrFloatBitWidth()));
}

TypedAttr getSplat(Value value) {
  auto op = value.getDefiningOp<tg::ConstantOp>();
  auto elements = op ? dyn_cast<DenseElementsAttr>(op.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return {};
  return getHeldAttr(elements.getSplatValue<Attribute>(), elements.getElementType());
}

TypedAttr getZero(Type held) { return cast<TypedAttr>(Builder(held.getContext()).getZeroAttr(held)); }

TypedAttr getIdentity(tg::Monoid kind, Type element) {
  Block scratch;
  OpBuilder builder(element.getContext());
  builder.setInsertionPointToEnd(&scratch);
  Value scalar =
      tg::buildIdentity(builder, UnknownLoc::get(element.getContext()), kind, element, tg::getComputeType(element));
  Attribute value;
  if (!scalar || !matchPattern(scalar, m_Constant(&value)))
    return {};
  auto real = dyn_cast<FloatAttr>(value);
  if (!real)
    return getHeldAttr(value, element);
  APFloat number = real.getValue();
  bool losesInfo = false;
  number.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return FloatAttr::get(element, number);
}

Type getAccumulator(Type element) {
  return isa<FloatType>(element) ? Type(tg::getComputeType(element)) : getHeldType(element);
}

Type getIndexType(AffineExpr extent) {
  std::optional<int64_t> bound = tg::getConstant(extent);
  return IntegerType::get(extent.getContext(), bound && *bound < (int64_t(1) << 30) ? 32 : 64);
}

int64_t fittingStep(AffineExpr extent, int64_t limit) {
  std::optional<int64_t> bound = tg::getConstant(extent);
  return bound && *bound < limit ? roundUpToPowerOf2(*bound) : limit;
}

//===-- Tiles -----------------------------------------------------------------------------------------------------===//

tk::TileType Kernelizer::typeOf(ArrayRef<unsigned> lanes, Type held) const {
  SmallVector<int64_t> shape = llvm::map_to_vector(lanes, [&](unsigned lane) { return space.lane(lane).extent; });
  if (shape.empty())
    shape.push_back(1);
  return tk::TileType::get(shape, held);
}

Tile Kernelizer::constant(TypedAttr value, ArrayRef<unsigned> lanes) {
  return {tk::ConstantOp::create(builder, typeOf(lanes, value.getType()), value), SmallVector<unsigned>(lanes)};
}

Tile Kernelizer::broadcast(const Tile &tile, ArrayRef<unsigned> lanes) {
  if (ArrayRef<unsigned>(tile.lanes) == lanes)
    return tile;
  if (auto op = tile.value.getDefiningOp<tk::ConstantOp>())
    return constant(op.getValueAttr(), lanes);
  SmallVector<int64_t> dims;
  for (unsigned lane : tile.lanes)
    dims.push_back(llvm::find(lanes, lane) - lanes.begin());
  if (tile.lanes.empty())
    dims.push_back(0);
  Value value = tk::BroadcastOp::create(builder, typeOf(lanes, tile.element()), tile.value, dims);
  return {value, SmallVector<unsigned>(lanes)};
}

SmallVector<Tile> Kernelizer::map(ArrayRef<Tile> inputs, ArrayRef<Type> elements, MapBody body) {
  SmallVector<unsigned> lanes;
  for (const Tile &input : inputs)
    lanes = space.unite(lanes, input.lanes);
  // Each distinct tile is one operand; constants are built inside.
  SmallVector<Value> operands;
  SmallVector<Type> types = llvm::map_to_vector(elements, [&](Type t) -> Type { return typeOf(lanes, t); });
  SmallVector<int> places;
  for (const Tile &input : inputs) {
    if (input.value.getDefiningOp<tk::ConstantOp>()) {
      places.push_back(-1);
      continue;
    }
    Value value = broadcast(input, lanes).value;
    auto it = llvm::find(operands, value);
    places.push_back(it - operands.begin());
    if (it == operands.end())
      operands.push_back(value);
  }
  auto op = tk::MapOp::create(builder, types, operands);
  Block &block = op.getBody().emplaceBlock();
  for (Value operand : operands)
    block.addArgument(cast<tk::TileType>(operand.getType()).getElementType(), op.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Scalars arguments;
  for (auto [input, place] : llvm::zip(inputs, places)) {
    if (place >= 0) {
      arguments.push_back(block.getArgument(place));
      continue;
    }
    TypedAttr value = input.value.getDefiningOp<tk::ConstantOp>().getValueAttr();
    arguments.push_back(arith::ConstantOp::create(inner, op.getLoc(), value));
  }
  tk::YieldOp::create(inner, op.getLoc(), body(inner, op.getLoc(), arguments));
  return llvm::map_to_vector(op.getResults(), [&](Value result) { return Tile{result, lanes}; });
}

Tile Kernelizer::map(ArrayRef<Tile> inputs, Type element,
                     llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  auto one = [&](OpBuilder &inner, Location loc, ValueRange args) { return Scalars{body(inner, loc, args)}; };
  return map(inputs, ArrayRef<Type>(element), one).front();
}

Tile Kernelizer::select(const Tile &condition, const Tile &onTrue, const Tile &onFalse) {
  return map({condition, onTrue, onFalse}, onTrue.element(),
             [](OpBuilder &inner, Location loc, ValueRange args) -> Value {
               return arith::SelectOp::create(inner, loc, args[0], args[1], args[2]);
             });
}

/// The index tiles of an access, spread over its lanes.
static SmallVector<Tile> indexTiles(const Indexing &indexing) {
  return llvm::map_to_vector(indexing.indices, [](const Atom *atom) { return Tile{atom->value, atom->lanes}; });
}

Tile Kernelizer::guard(const Constraints &constraints) {
  Exprs exprs = llvm::map_to_vector(constraints, [](const Constraint &c) { return c.expr; });
  SmallVector<unsigned> lanes = space.lanesOf(exprs);
  Indexing indexing(space, lanes);
  for (const Constraint &constraint : constraints)
    indexing.addConstraint(constraint);
  std::optional<IntegerSet> set = indexing.getSet();
  if (!set)
    return constant(builder.getBoolAttr(true), lanes);
  SmallVector<Value> indices;
  for (const Tile &tile : indexTiles(indexing))
    indices.push_back(broadcast(tile, lanes).value);
  Value value = tk::GuardOp::create(builder, typeOf(lanes, builder.getI1Type()), *set, indexing.symbols, indices);
  return {value, lanes};
}

Tile Kernelizer::affine(AffineExpr expr, Type element) {
  SmallVector<unsigned> lanes = space.lanesOf(expr);
  Indexing indexing(space, lanes);
  indexing.addResult(expr);
  if (auto number = tg::getConstant(indexing.getMap().getResult(0)))
    return constant(builder.getIntegerAttr(element, *number), lanes);
  SmallVector<Value> indices;
  for (const Tile &tile : indexTiles(indexing))
    indices.push_back(broadcast(tile, lanes).value);
  Value value = tk::AffineOp::create(builder, typeOf(lanes, element), indexing.getMap(), indexing.symbols, indices);
  return {value, lanes};
}

Tile Kernelizer::toAccumulator(const Tile &tile, Type element, Type accumulator) {
  if (tile.element() == accumulator)
    return tile;
  return map({tile}, accumulator, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    if (auto compute = dyn_cast<FloatType>(accumulator))
      return loadScalar(inner, loc, args[0], element, compute);
    unsigned from = args[0].getType().getIntOrFloatBitWidth(), to = accumulator.getIntOrFloatBitWidth();
    if (from > to)
      return arith::TruncIOp::create(inner, loc, accumulator, args[0]);
    if (tg::isUnsignedElement(element))
      return arith::ExtUIOp::create(inner, loc, accumulator, args[0]);
    return arith::ExtSIOp::create(inner, loc, accumulator, args[0]);
  });
}

Tile Kernelizer::fromAccumulator(const Tile &tile, Type element) {
  Type held = getHeldType(element);
  if (tile.element() == held)
    return tile;
  return map({tile}, held, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    if (isa<FloatType>(tile.element()))
      return storeScalar(inner, loc, args[0], element);
    return arith::TruncIOp::create(inner, loc, held, args[0]);
  });
}

SmallVector<Tile> Kernelizer::combineLanes(ArrayRef<Tile> inputs, ArrayRef<unsigned> lanes, MapBody combiner) {
  if (lanes.empty())
    return SmallVector<Tile>(inputs);
  SmallVector<unsigned> kept;
  SmallVector<int64_t> dims;
  for (auto [d, lane] : llvm::enumerate(inputs.front().lanes)) {
    if (llvm::is_contained(lanes, lane))
      dims.push_back(d);
    else
      kept.push_back(lane);
  }
  SmallVector<Value> operands;
  SmallVector<Type> types, elements;
  for (const Tile &input : inputs) {
    Value value = input.value;
    if (kept.empty()) { // A unit dimension for what stays.
      auto type = cast<tk::TileType>(value.getType());
      SmallVector<int64_t> shape{1}, places;
      for (auto [d, extent] : llvm::enumerate(type.getShape())) {
        shape.push_back(extent);
        places.push_back(d + 1);
      }
      value = tk::BroadcastOp::create(builder, tk::TileType::get(shape, type.getElementType()), value, places);
    }
    operands.push_back(value);
    elements.push_back(input.element());
    types.push_back(typeOf(kept, input.element()));
  }
  if (kept.empty())
    for (int64_t &dim : dims)
      ++dim;
  auto op = tk::ReduceOp::create(builder, types, operands, dims);
  Block &block = op.getCombiner().emplaceBlock();
  for (int side = 0; side < 2; ++side)
    for (Type element : elements)
      block.addArgument(element, op.getLoc());
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  tk::YieldOp::create(inner, op.getLoc(), combiner(inner, op.getLoc(), block.getArguments()));
  return llvm::map_to_vector(op.getResults(), [&](Value result) { return Tile{result, kept}; });
}

//===-- Scalars and loops -----------------------------------------------------------------------------------------===//

Value Kernelizer::index(AffineExpr expr) {
  Value &known = indices[expr.getAsOpaquePointer()];
  if (known)
    return known;
  if (isa<AffineSymbolExpr>(expr))
    return known = space.atom(expr).value;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  Value lhs = binary ? index(binary.getLHS()) : Value(), rhs = binary ? index(binary.getRHS()) : Value();
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPoint(tiles);
  Value value;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    value = arith::AddIOp::create(builder, lhs, rhs);
    break;
  case AffineExprKind::Mul:
    value = arith::MulIOp::create(builder, lhs, rhs);
    break;
  case AffineExprKind::FloorDiv:
    value = arith::DivUIOp::create(builder, lhs, rhs);
    break;
  case AffineExprKind::CeilDiv:
    value = arith::DivUIOp::create(builder, arith::AddIOp::create(builder, lhs, index(binary.getRHS() - 1)), rhs);
    break;
  case AffineExprKind::Mod:
    value = arith::RemUIOp::create(builder, lhs, rhs);
    break;
  default:
    value = arith::ConstantIndexOp::create(builder, *tg::getConstant(expr));
  }
  return indices[expr.getAsOpaquePointer()] = value;
}

Kernelizer::Scalars Kernelizer::loop(AffineExpr count, ValueRange init, LoopBody body, StepRange range) {
  std::optional<int64_t> turns = tg::getConstant(count);
  if (turns == 0)
    return Scalars(init);
  if (turns == 1 && !range.lower && !range.upper)
    return body(space.constant(0), init);
  if (range.turns) {
    auto shifted = [&](AffineExpr counter, ValueRange state) {
      return body(space.simplify(range.first + counter), state);
    };
    return loop(space.constant(*range.turns), init, shifted, {});
  }
  Value lower = range.lower ? range.lower : index(space.constant(0)), one = index(space.constant(1));
  auto op = scf::ForOp::create(builder, lower, range.upper ? range.upper : index(count), one, init);
  Block *block = op.getBody();
  if (!block->empty()) // A loop without state comes with its terminator.
    block->back().erase();
  Scope *outer = current;
  Operation *pending = std::exchange(outer->pending, op);
  Scope scope;
  scope.parent = outer;
  scope.depth = outer->depth + 1;
  scope.block = block;
  {
    InScope in(*this, &scope, builder.getLoc());
    Value number = op.getInductionVar();
    if (range.offset)
      number = arith::AddIOp::create(builder, number, range.offset);
    AffineExpr counter = space.addScalar(number, count, &scope);
    Scalars results = body(counter, op.getRegionIterArgs());
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, results);
  }
  outer->pending = pending;
  return Scalars(op.getResults());
}

Kernelizer::Scalars Kernelizer::stream(ArrayRef<Streamed> dims, ValueRange init, StreamBody body, StepRange range) {
  Exprs counts;
  AffineExpr total = space.constant(1);
  for (const Streamed &dim : dims) {
    counts.push_back(space.simplify(dim.extent.ceilDiv(dim.step)));
    total = space.simplify(total * counts.back());
  }
  return loop(
      total, init,
      [&](AffineExpr counter, ValueRange state) {
        Exprs places(dims.size()), axes;
        AffineExpr rest = counter;
        for (size_t i = dims.size(); i-- > 0;) {
          const Streamed &dim = dims[i];
          AffineExpr base = space.simplify(rest % counts[i]);
          rest = space.simplify(rest.floorDiv(counts[i]));
          if (dim.step == 1 || dim.isUnrolled)
            places[i] = space.simplify(base * dim.step);
          else
            places[i] = space.getAxis(dim.extent, base, dim.step, dim.lane, dim.divisor, &root);
        }
        return body(places, space.ragged(places), state);
      },
      range);
}

InScope::InScope(Kernelizer &kernelizer, Scope *scope, Location loc)
    : kernelizer(kernelizer), before(kernelizer.current), place(kernelizer.builder.saveInsertionPoint()),
      loc(kernelizer.builder.getLoc()) {
  kernelizer.current = scope;
  kernelizer.builder.setLoc(loc);
  if (scope->pending)
    kernelizer.builder.setInsertionPoint(scope->pending);
  else
    kernelizer.builder.setInsertionPointToEnd(scope->block);
}

InScope::~InScope() {
  kernelizer.current = before;
  kernelizer.builder.restoreInsertionPoint(place);
  kernelizer.builder.setLoc(loc);
}

} // namespace weft::kernelize
