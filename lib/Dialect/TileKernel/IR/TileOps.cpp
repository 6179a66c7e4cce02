// Verifiers, folders and forms of the ops on register tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/OpImplementation.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace weft::tk;

#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/TileKernelOps.cpp.inc"

void TileKernelDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileKernel/IR/TileKernelOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileKernel/IR/ScalarOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/TileKernel/IR/PartOps.cpp.inc"
      >();
}

//===-- tk.for_tiles ----------------------------------------------------------------------------------------------===//

void ForTilesOp::build(OpBuilder &builder, OperationState &state, AffineMap extents) {
  state.addAttribute(getExtentsAttrName(state.name), AffineMapAttr::get(extents));
  Block &body = state.addRegion()->emplaceBlock();
  for (unsigned i = 0; i < extents.getNumResults(); ++i)
    body.addArgument(builder.getIndexType(), state.location);
}

ParseResult ForTilesOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> indices;
  AffineMapAttr extents;
  StringAttr order;
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("in") ||
      parser.parseAttribute(extents, getExtentsAttrName(state.name), state.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("order")) &&
      parser.parseAttribute(order, getOrderAttrName(state.name), state.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("persistent")))
    state.addAttribute(getPersistentAttrName(state.name), parser.getBuilder().getUnitAttr());
  for (OpAsmParser::Argument &index : indices)
    index.type = parser.getBuilder().getIndexType();
  return failure(parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.parseRegion(*state.addRegion(), indices));
}

void ForTilesOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer, [&](Value index) { printer << index; });
  printer << ") in " << getExtentsAttr();
  if (getOrderAttr())
    printer << " order " << getOrderAttr();
  if (getPersistent())
    printer << " persistent";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getExtentsAttrName(), getOrderAttrName(), getPersistentAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ForTilesOp::verify() {
  AffineMap extents = getExtents();
  if (extents.getNumDims() || extents.getNumResults() == 0)
    return emitOpError("expected `extents` without dimensions and with a result, got ") << AffineMapAttr::get(extents);
  Block &body = getBody().front();
  if (body.getNumArguments() != extents.getNumResults())
    return emitOpError("expected ") << extents.getNumResults() << " region arguments, got " << body.getNumArguments();
  for (Type type : body.getArgumentTypes())
    if (!type.isIndex())
      return emitOpError("expected region arguments of type index, got ") << type;
  if (!isa<YieldOp>(body.back()) || body.back().getNumOperands())
    return emitOpError("expected a region that ends with `tk.yield` without values");
  return success();
}

//===-- Accesses --------------------------------------------------------------------------------------------------===//

/// Checks what every access has: a map and a guard over the tile's dimensions, the index tiles, and the symbols.
static LogicalResult verifyAccess(Operation *op, ArrayRef<int64_t> shape, AffineMap map,
                                  std::optional<IntegerSet> guard, unsigned symbols, ValueRange indices,
                                  unsigned results) {
  unsigned dims = shape.size() + indices.size();
  if (map && (map.getNumDims() != dims || map.getNumSymbols() != symbols || map.getNumResults() != results))
    return op->emitOpError("expected a map of ") << dims << " dimensions and " << symbols << " symbols with " << results
                                                 << " results, got " << AffineMapAttr::get(map);
  if (guard && (guard->getNumDims() != dims || guard->getNumSymbols() != symbols))
    return op->emitOpError("expected a guard of ")
           << dims << " dimensions and " << symbols << " symbols, got " << IntegerSetAttr::get(*guard);
  for (Value index : indices) {
    auto type = cast<TileType>(index.getType());
    if (type.getShape() != shape || !(type.getElementType().isInteger(32) || type.getElementType().isInteger(64)))
      return op->emitOpError("expected index tiles of i32 or i64 with the extents of the tile, got ") << type;
  }
  return success();
}

static LogicalResult verifyMask(Operation *op, Value mask, ArrayRef<int64_t> shape) {
  auto type = mask ? cast<TileType>(mask.getType()) : TileType();
  if (type && (type.getShape() != shape || !type.getElementType().isInteger(1)))
    return op->emitOpError("expected a mask of i1 with the extents of the tile, got ") << type;
  return success();
}

/// Elements of tiles hold elements of tensors as stored.
static LogicalResult verifyElement(Operation *op, Type element, GlobalType global) {
  Type stored = global.getTensor().getElementType();
  unsigned bits = weft::tg::getElementBits(stored);
  bool isStoredAsInteger = !isa<FloatType>(stored) || weft::tg::isStorageFloat(stored);
  bool fits = isStoredAsInteger ? element.isInteger(std::max(bits, 8u)) : element == stored;
  return fits ? success()
              : op->emitOpError("expected a tile whose elements hold ") << stored << " as stored, got " << element;
}

static std::optional<IntegerSet> optionalSet(IntegerSetAttr attr) {
  return attr ? std::optional<IntegerSet>(attr.getValue()) : std::nullopt;
}

LogicalResult AffineOp::verify() {
  TileType type = getResult().getType();
  if (!type.getElementType().isInteger(32) && !type.getElementType().isInteger(64))
    return emitOpError("expected elements i32 or i64, got ") << type.getElementType();
  return verifyAccess(*this, type.getShape(), getMap(), {}, getSymbols().size(), getIndices(), 1);
}

LogicalResult GuardOp::verify() {
  TileType type = getResult().getType();
  if (!type.getElementType().isInteger(1))
    return emitOpError("expected elements i1, got ") << type.getElementType();
  return verifyAccess(*this, type.getShape(), {}, getGuard(), getSymbols().size(), getIndices(), 0);
}

LogicalResult LoadOp::verify() {
  TileType type = getResult().getType();
  if (failed(verifyAccess(*this, type.getShape(), getMap(), optionalSet(getGuardAttr()), getSymbols().size(),
                          getIndices(), getSource().getType().getTensor().getRank())) ||
      failed(verifyMask(*this, getMask(), type.getShape())))
    return failure();
  if (getFillAttr() && getFillAttr().getType() != type.getElementType())
    return emitOpError("expected a fill of type ") << type.getElementType() << ", got " << getFillAttr();
  return verifyElement(*this, type.getElementType(), getSource().getType());
}

LogicalResult StoreOp::verify() {
  TileType type = getValue().getType();
  if (failed(verifyAccess(*this, type.getShape(), getMap(), optionalSet(getGuardAttr()), getSymbols().size(),
                          getIndices(), getTarget().getType().getTensor().getRank())) ||
      failed(verifyMask(*this, getMask(), type.getShape())))
    return failure();
  if (getLines() && (!getIndices().empty() || getMask() || getCombine()))
    return emitOpError("expected no index tiles, mask or combiner of a store in lines");
  return verifyElement(*this, type.getElementType(), getTarget().getType());
}

LogicalResult StoreBoxOp::verify() {
  TileType type = getValue().getType();
  SharedType buffer = getBuffer().getType();
  if (failed(verifyAccess(*this, type.getShape(), getMap(), {}, getSymbols().size(), {},
                          getTarget().getType().getTensor().getRank())))
    return failure();
  constexpr int64_t rows = 64, leastBits = 256, mostBits = 1024; // Of a line.
  int64_t bits = buffer.getRank() == 2 ? buffer.getShape()[1] * getElementBits(type.getElementType()) : 0;
  if (type.getRank() != 2 || buffer.getElementType() != type.getElementType() || bits < leastBits || bits > mostBits ||
      buffer.getShape()[0] != rows)
    return emitOpError("expected a buffer of 64 lines of 32 to 128 bytes for a tile of two dimensions, got ")
           << type << " through " << buffer;
  if (bool(getShare()) != bool(getShares()) || (getShares() && *getShares() < 2))
    return emitOpError("expected a share of at least 2");
  int64_t live = getLiveColumns().value_or(type.getShape()[1]);
  if (live < 1 || live > type.getShape()[1] || live % buffer.getShape()[1])
    return emitOpError("expected live columns of whole lines of ")
           << buffer.getShape()[1] << " in a tile of " << type.getShape()[1] << ", got " << live;
  return verifyElement(*this, type.getElementType(), getTarget().getType());
}

LogicalResult CopyOp::verify() {
  SharedType type = getTarget().getType();
  if (bool(getChannel()) != bool(getIteration()))
    return emitOpError("expected a channel and an iteration, or neither");
  if (type.getSlots() != 1)
    return emitOpError("expected a target of one slot, got ") << type;
  auto isWithin = [](auto pair) { return std::get<0>(pair) >= 1 && std::get<0>(pair) <= std::get<1>(pair); };
  if (std::optional<ArrayRef<int64_t>> live = getLive())
    if (getEngine() != CopyEngine::Tma || live->size() != type.getShape().size() ||
        !llvm::all_of(llvm::zip_equal(*live, type.getShape()), isWithin))
      return emitOpError("expected live indices of each dimension of ")
             << type << ", by engine tma, got [" << *live << "]";
  if (failed(verifyAccess(*this, type.getShape(), getMap(), optionalSet(getGuardAttr()), getSymbols().size(), {},
                          getSource().getType().getTensor().getRank())))
    return failure();
  return verifyElement(*this, type.getElementType(), getSource().getType());
}

//===-- Values ----------------------------------------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  Type element = getResult().getType().getElementType();
  if (getValue().getType() != element)
    return emitOpError("expected a value of type ") << element << ", got " << getValue();
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

LogicalResult SplatOp::verify() {
  Type element = getResult().getType().getElementType();
  if (getScalar().getType() != element)
    return emitOpError("expected a scalar of type ") << element << ", got " << getScalar().getType();
  return success();
}

/// A region whose arguments are `arguments` and which yields `yields`.
static LogicalResult verifyRegion(Operation *op, Block &body, TypeRange arguments, TypeRange yields) {
  if (body.getArgumentTypes() != arguments)
    return op->emitOpError("expected region arguments ") << arguments << ", got " << body.getArgumentTypes();
  if (body.empty() || !isa<YieldOp>(body.back()) || body.back().getOperandTypes() != yields)
    return op->emitOpError("expected a region that yields ") << yields;
  return success();
}

static SmallVector<Type> elementsOf(TypeRange tiles) {
  return llvm::map_to_vector(tiles, [](Type type) { return cast<TileType>(type).getElementType(); });
}

LogicalResult MapOp::verify() {
  if (getResults().empty())
    return emitOpError("expected a result");
  auto first = cast<TileType>(getResultTypes().front());
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(getInputs().getTypes()), SmallVector<Type>(getResultTypes()))) {
    auto tile = cast<TileType>(type);
    if (tile.getShape() != first.getShape() || tile.getLayout() != first.getLayout())
      return emitOpError("expected operands and results of one shape and layout, got ") << tile << " beside " << first;
  }
  return verifyRegion(*this, getBody().front(), elementsOf(getInputs().getTypes()), elementsOf(getResultTypes()));
}

LogicalResult BroadcastOp::verify() {
  TileType from = getInput().getType(), to = getResult().getType();
  if (from.getElementType() != to.getElementType() || int64_t(getDims().size()) != from.getRank())
    return emitOpError("expected one entry of `dims` for each dimension of ")
           << from << ", and its element type, got " << to;
  llvm::SmallBitVector seen(to.getRank());
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    if (dim < 0 || dim >= to.getRank() || seen.test(dim))
      return emitOpError("expected distinct `dims` below ") << to.getRank() << ", got [" << getDims() << "]";
    seen.set(dim);
    if (from.getShape()[i] != 1 && from.getShape()[i] != to.getShape()[dim])
      return emitOpError("expected extent 1 or ") << to.getShape()[dim] << " in dimension " << i << " of " << from;
  }
  return success();
}
OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType() && llvm::is_sorted(getDims()))
    return getInput();
  return adaptor.getInput(); // A constant stays that constant.
}

LogicalResult ReduceOp::verify() {
  auto dims = getDims();
  if (getInputs().empty() || getInputs().size() != getResults().size())
    return emitOpError("expected as many results as operands, and at least one, got ")
           << getInputs().size() << " operands and " << getResults().size() << " results";
  ArrayRef<int64_t> shape = cast<TileType>(getInputs()[0].getType()).getShape();
  if (!llvm::is_sorted(dims, std::less_equal<>()) ||
      llvm::any_of(dims, [&](int64_t d) { return d < 0 || d >= int64_t(shape.size()); }))
    return emitOpError("expected sorted, distinct `dims` below ") << shape.size() << ", got [" << dims << "]";
  SmallVector<int64_t> kept;
  for (auto [i, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(i)))
      kept.push_back(extent);
  for (auto [input, result] : llvm::zip(getInputs(), getResults())) {
    auto from = cast<TileType>(input.getType()), to = cast<TileType>(result.getType());
    if (from.getShape() != shape || to.getShape() != ArrayRef<int64_t>(kept) ||
        from.getElementType() != to.getElementType())
      return emitOpError("expected operands of one shape and results without the reduced dimensions, got ")
             << from << " and " << to;
  }
  SmallVector<Type> elements = elementsOf(getInputs().getTypes()), twice = elements;
  llvm::append_range(twice, elements);
  return verifyRegion(*this, getCombiner().front(), twice, elements);
}

LogicalResult ScanOp::verify() {
  TileType type = getInput().getType();
  if (getDim() < 0 || getDim() >= uint64_t(type.getRank()))
    return emitOpError("expected a dimension below ") << type.getRank() << ", got " << getDim();
  if (getResult().getType() != type)
    return emitOpError("expected a result of type ") << type << ", got " << getResult().getType();
  Type element = type.getElementType();
  return verifyRegion(*this, getCombiner().front(), {element, element}, {element});
}

LogicalResult SortOp::verify() {
  if (getInputs().empty() || getInputs().getTypes() != getResultTypes())
    return emitOpError("expected results of the operands' types, and at least one");
  ArrayRef<int64_t> shape = cast<TileType>(getInputs()[0].getType()).getShape();
  for (Type type : getInputs().getTypes())
    if (cast<TileType>(type).getShape() != shape)
      return emitOpError("expected operands of one shape, got ") << type;
  if (getDim() >= shape.size())
    return emitOpError("expected a dimension below ") << shape.size() << ", got " << getDim();
  SmallVector<Type> elements = elementsOf(getInputs().getTypes()), twice = elements;
  llvm::append_range(twice, elements);
  return verifyRegion(*this, getBefore().front(), twice, IntegerType::get(getContext(), 1));
}

/// Shape and element of an operand of a dot.
static std::pair<ArrayRef<int64_t>, Type> describe(Type type) {
  if (auto tile = dyn_cast<TileType>(type))
    return {tile.getShape(), tile.getElementType()};
  auto shared = cast<SharedType>(type);
  return {shared.getShape(), shared.getElementType()};
}

LogicalResult DotOp::verify() {
  auto [lhs, lhsElement] = describe(getLhs().getType());
  auto [rhs, rhsElement] = describe(getRhs().getType());
  TileType acc = getAcc().getType();
  bool hasRanks = lhs.size() == 2 && rhs.size() == 2 && (acc.getRank() == 2 || acc.getRank() == 3);
  if (!hasRanks || lhs[1] != rhs[0] || lhs[0] != acc.getShape()[0] || rhs[1] != acc.getShape()[1] ||
      lhs[1] % getSlices())
    return emitOpError("expected [m, k], [k, n] and [m, n], or [m, n, s] with a divisor s of k, got ")
           << getLhs().getType() << ", " << getRhs().getType() << " and " << acc;
  for (Value operand : {getLhs(), getRhs()})
    if (auto shared = dyn_cast<SharedType>(operand.getType()))
      if (shared.getSlots() != 1)
        return emitOpError("expected one slot of shared memory, got ") << shared;
  Type sum = acc.getElementType();
  bool fits = lhsElement == rhsElement;
  if (lhsElement.isF64())
    fits = fits && sum.isF64();
  else if (isa<FloatType>(lhsElement))
    fits = fits && sum.isF32();
  else
    fits = fits && isa<IntegerType>(sum) && sum.getIntOrFloatBitWidth() >= lhsElement.getIntOrFloatBitWidth();
  if (!fits)
    return emitOpError("expected operands of one element type and an accumulator of f32 (f64 for f64, integers for "
                       "integers), got ")
           << lhsElement << ", " << rhsElement << " and " << sum;
  if (getResult().getType() != acc)
    return emitOpError("expected a result of type ") << acc << ", got " << getResult().getType();
  auto isWithin = [](int64_t live, int64_t whole) { return live >= 1 && live <= whole; };
  if (!isWithin(countLiveColumns(), rhs[1]) || !isWithin(countLiveDepth(), rhs[0]))
    return emitOpError("expected live columns from 1 to ")
           << rhs[1] << " and a live depth from 1 to " << rhs[0] << ", got " << countLiveColumns() << " and "
           << countLiveDepth();
  if (std::optional<ArrayRef<int64_t>> order = getDepthOrder()) {
    int64_t depth = rhs[0] / getSlices();
    llvm::SmallBitVector places(order->size());
    for (int64_t place : *order)
      if (place >= 0 && place < int64_t(order->size()))
        places.set(unsigned(place));
    if (!llvm::isPowerOf2_64(uint64_t(depth)) || int64_t(1) << order->size() != depth || !places.all() ||
        getLiveDepth())
      return emitOpError("expected a depth order that permutes the bits of ")
             << depth << " elements along k, and no live depth, got " << getDepthOrderAttr();
  }
  return success();
}

int64_t DotOp::countLiveColumns() { return getLiveColumns().value_or(describe(getRhs().getType()).first[1]); }

int64_t DotOp::countLiveDepth() { return getLiveDepth().value_or(describe(getRhs().getType()).first[0]); }

LogicalResult RelabelOp::verify() {
  TileType from = getInput().getType(), to = getResult().getType();
  if (from.getElementType() != to.getElementType() || !from.getLayout() || !to.getLayout() ||
      from.getLayout().getValue().ins() != to.getLayout().getValue().ins())
    return emitOpError(
               "expected tiles of one element type with layouts of equally many registers, lanes and warps, got ")
           << from << " and " << to;
  return success();
}

LogicalResult ConvertOp::verify() {
  TileType from = getInput().getType(), to = getResult().getType();
  if (from.getShape() != to.getShape() || from.getElementType() != to.getElementType() || !from.getLayout() ||
      !to.getLayout())
    return emitOpError("expected tiles with layouts that differ in nothing else, got ") << from << " and " << to;
  return success();
}
OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  return adaptor.getInput();
}

Operation *TileKernelDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto typed = dyn_cast<TypedAttr>(value);
  auto tile = dyn_cast<TileType>(type);
  if (!typed || !tile || typed.getType() != tile.getElementType())
    return nullptr;
  return ConstantOp::create(builder, loc, tile, typed);
}
