// The kernel function, its loop over tiles, and the stores of its results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Traversal/GridTail.h"

using namespace mlir;

namespace weft::kernelize {

static bool isPacked(Type tensor) { return tg::getElementBits(cast<RankedTensorType>(tensor).getElementType()) < 8; }

/// The buffer of a tensor: itself, or the bytes (or whole words, `inWords`) that its elements share.
static tk::GlobalType bufferOf(Type tensor, bool inWords = false) {
  auto type = cast<RankedTensorType>(tensor);
  if (!isPacked(type) && !inWords)
    return tk::GlobalType::get(type.getContext(), type);
  constexpr unsigned byteBits = 8, wordBits = 32;
  int64_t bits = tg::getElementBits(type.getElementType());
  unsigned unit = inWords ? wordBits : byteBits;
  AffineExpr units = tg::getNumElements(type).ceilDiv(unit / bits);
  return tk::GlobalType::get(type.getContext(),
                             tg::getTensorType(ArrayRef(units), IntegerType::get(type.getContext(), unit)));
}

/// Whether `value` is computed from `argument`.
static bool isMadeOf(Value value, Value argument) {
  Operation *op = value.getDefiningOp();
  return value == argument || (op && llvm::any_of(op->getOperands(), [&](Value v) { return isMadeOf(v, argument); }));
}

/// The operand of the kernel's GEMM in 16 bits that is computed from the integers of `argument`, several to a word,
/// where the schedule's instructions take it from registers: by warps of few rows, or by warpgroups.
static std::optional<unsigned> findUnpackedOperand(BlockArgument argument, tg::ScheduleAttr schedule) {
  constexpr int64_t mostRows = 32, mostBits = 8;
  auto product = tg::findAnchor(*argument.getOwner());
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  bool byWarps = schedule.getEngine() == tg::Engine::Mma, byGroups = schedule.getEngine() == tg::Engine::Wgmma;
  if (!product || !type || !(byWarps || byGroups) || !isa<IntegerType>(type.getElementType()) ||
      type.getElementType().isInteger(1) || product.getType().getRank() != int64_t(schedule.getTile().size()))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto operand = cast<RankedTensorType>(product->getOperand(i).getType());
    auto factor = dyn_cast<FloatType>(operand.getElementType());
    if (!factor || factor.getWidth() != 16 || !operand.hasStaticShape() || !type.hasStaticShape() ||
        tg::getElementBits(type.getElementType()) > std::min<int64_t>(mostBits, factor.getFPMantissaWidth() - 1) ||
        type.getNumElements() < operand.getNumElements() || !isMadeOf(product->getOperand(i), argument))
      continue;
    int64_t rows = 1;
    for (auto [tile, at] : llvm::zip_equal(schedule.getTile(), product.getMap(2).getResults()))
      rows *= product.getMap(i).isFunctionOfDim(cast<AffineDimExpr>(at).getPosition()) ? 1 : tile;
    if (byGroups || rows <= mostRows)
      return i;
  }
  return std::nullopt;
}

/// Whether `argument` has such integers.
static bool isUnpackedMatrix(BlockArgument argument, tg::ScheduleAttr schedule) {
  return findUnpackedOperand(argument, schedule).has_value();
}

/// Whether the elements of an operand are read as fields of words: what a GEMM unpacks, and beside it or without a
/// GEMM what is less than a byte.
static bool readsWords(BlockArgument argument, tg::ScheduleAttr schedule) {
  constexpr int64_t wordBits = 32, byteBits = 8;
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t bits = tg::getElementBits(type.getElementType());
  std::optional<int64_t> count = tg::getConstant(tg::getNumElements(type));
  if (!count || *count == 0 || *count * bits % wordBits != 0)
    return false;
  if (bits >= byteBits)
    return bits == byteBits && isUnpackedMatrix(argument, schedule);
  Block &body = *argument.getOwner();
  return !tg::findAnchor(body) ||
         llvm::any_of(body.getArguments(), [&](BlockArgument other) { return isUnpackedMatrix(other, schedule); });
}

/// `@kernel(inputs, outputs, symbols)`.
void Kernelizer::makeFunction() {
  Operation *terminator = source.getBody().front().getTerminator();
  SmallVector<Type> types;
  SmallVector<BlockArgument> tensors;
  for (BlockArgument argument : source.getArguments())
    if (isa<RankedTensorType>(argument.getType())) {
      tensors.push_back(argument);
      types.push_back(bufferOf(argument.getType(), readsWords(argument, schedule)));
    }
  readInto();
  for (auto [i, type] : llvm::enumerate(terminator->getOperandTypes()))
    types.push_back(bufferOf(into && into->result == i ? into->type : type));
  unsigned numSymbols = source.getNumArguments() - tensors.size();
  types.append(numSymbols, builder.getIndexType());
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointAfter(source);
  target = func::FuncOp::create(builder, source.getName(), builder.getFunctionType(types, {}));
  target->setDiscardableAttrs(source->getDiscardableAttrDictionary());
  target->setAttr(tk::warpsAttr, builder.getI64IntegerAttr(schedule.getWarps()));
  Block *entry = target.addEntryBlock();
  for (auto [i, argument] : llvm::enumerate(tensors))
    arguments[argument] = entry->getArgument(i);
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    targets.push_back(entry->getArgument(tensors.size() + i));
  for (BlockArgument symbol : entry->getArguments().take_back(numSymbols))
    space.addScalar(symbol, {}, &root);
  builder.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder);
}

void Kernelizer::makeTileLoop(ArrayRef<AffineExpr> counts) {
  Exprs extents(counts);
  if (extents.empty())
    extents.push_back(space.constant(1));
  Block &entry = target.getBody().front();
  builder.setInsertionPoint(entry.getTerminator());
  unsigned numSymbols = llvm::count_if(entry.getArgumentTypes(), [](Type type) { return type.isIndex(); });
  auto op = tk::ForTilesOp::create(builder, AffineMap::get(0, numSymbols, extents, builder.getContext()));
  op.setOrder(schedule.getOrder());
  op.setPersistent(schedule.getPersistent());
  tiles = op;
  root.block = &op.getBody().front();
  current = &root;
  makeTilePart(op);
}

/// Where the order has several CTAs for a tile.
void Kernelizer::makeTilePart(tk::ForTilesOp loop) {
  plan::GridTail tail;
  std::string error;
  std::string_view order = schedule.getOrder();
  if (!plan::takeGridTail(order, tail, error) || tail.parts == 1)
    return; // Who lowers the loop reports the former.
  // Tiles are counted as those of CTAs are, of clusters that read once what their tiles have in common as those of
  // clusters: which dimension these are side by side along is not known yet.
  int64_t ctas = schedule.getMulticast(), count = 1, most = 1;
  for (AffineExpr extent : loop.getExtents().getResults()) {
    int64_t own = tg::getConstant(extent).value_or(0);
    most = std::max(most * own, count * int64_t(llvm::alignTo(own, ctas)));
    count *= own;
  }
  int64_t clusters = most / ctas;
  if (count < 1 || tail.whole >= clusters || schedule.getSplit() > 1) {
    source.emitError("expected a known number of tiles, above ")
        << tail.whole << " and not split otherwise, with order " << schedule.getOrder();
    failed = true;
    return;
  }
  partsOfTile = tail.parts;
  partSlots = std::max(count - tail.whole, (clusters - tail.whole) * ctas) * tail.parts;
  InScope in(*this, &root, loop.getLoc());
  tilePart = tk::TilePartOp::create(builder);
}

//===-- Dimensions of the results ---------------------------------------------------------------------------------===//

/// Whether an op of the kernel goes along this dimension of the results.
bool Kernelizer::isRow(int64_t dim) {
  bool found = false;
  source.walk([&](tg::TileOpInterface op) {
    if (!isa<tg::ReduceOp, tg::ArgReduceOp, tg::ScanOp>(op) || tg::isStreamed(op))
      return;
    for (auto [d, kind] : llvm::enumerate(op.getDomainIterators()))
      found |= kind == utils::IteratorType::reduction && access.findAlong(op, d) == dim;
  });
  return found;
}

bool Kernelizer::isStreamedRow(int64_t dim) {
  std::optional<int64_t> extent = tg::getConstant(tg::getDim(domain, dim));
  return isRow(dim) && (!extent || *extent > schedule.getTile()[dim]);
}

bool Kernelizer::findContraction(Value value, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> probes,
                                 SmallVectorImpl<int> &sides, SmallPtrSetImpl<Operation *> &seen) {
  if (auto state = dyn_cast<BlockArgument>(value)) // What a fold finishes with is what its update yields.
    if (auto fold = dyn_cast<tg::FoldOp>(state.getOwner()->getParentOp());
        fold && state.getOwner() == &fold.getFinish().front())
      return findContraction(fold.getUpdate().front().getTerminator()->getOperand(state.getArgNumber()), at, probes,
                             sides, seen);
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  if (auto fold = dyn_cast<tg::FoldOp>(op))
    return findContraction(
        fold.getFinish().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()),
        at.drop_front(fold.getNumPartDims()), probes, sides, seen);
  if (auto contract = dyn_cast<tg::ContractOp>(op)) {
    if (!tg::isStreamed(contract) &&
        tg::isInner(contract)) // It is computed where others read it: rows keep a lane for each dimension.
      return false;
    Exprs places(contract.getMap(2).getNumDims(), space.constant(0));
    for (auto [expr, place] : llvm::zip_equal(contract.getMap(2).getResults(), at))
      places[cast<AffineDimExpr>(expr).getPosition()] = place;
    auto lhs = space.atomsOf(composed(contract.getMap(0), places)),
         rhs = space.atomsOf(composed(contract.getMap(1), places));
    for (auto [probe, side] : llvm::zip_equal(probes, sides)) {
      unsigned atom = cast<AffineSymbolExpr>(probe).getPosition();
      bool left = llvm::is_contained(lhs, atom), right = llvm::is_contained(rhs, atom);
      side = left == right ? 0 : left ? 1 : 2;
    }
    return true;
  }
  if (std::optional<Exprs> through = throughView(op, at))
    return findContraction(op->getOperand(0), *through, probes, sides, seen);
  if (isa<tg::PointwiseOpInterface>(op))
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (findContraction(operand, composed(tg::detail::broadcastMap(op, i), at), probes, sides, seen))
        return true;
  return false;
}

SmallVector<int> Kernelizer::findContractionSides() {
  Exprs probes;
  for (AffineExpr extent : tg::getDims(domain))
    probes.push_back(space.addScalar({}, extent, &root));
  SmallVector<int> sides(probes.size(), 0);
  SmallPtrSet<Operation *, 8> seen;
  findContraction(source.getBody().front().getTerminator()->getOperand(0), probes, probes, sides, seen);
  return sides;
}

/// A lane for each tiled dimension; those of one operand of a contraction share one, row-major.
void Kernelizer::makeSinkLanes() {
  SmallVector<int> sides = findContractionSides();
  ArrayRef<int64_t> tile = schedule.getTile();
  int registersSide = 0;
  for (BlockArgument argument : source.getArguments())
    if (std::optional<unsigned> operand = findUnpackedOperand(argument, schedule))
      registersSide = int(*operand) + 1;
  sinkLanes.assign(tile.size(), std::nullopt);
  sinkDivisors.assign(tile.size(), 1);
  for (size_t d = 0; d < tile.size(); ++d) {
    if (tile[d] == 1 || sinkLanes[d])
      continue;
    SmallVector<size_t> members{d};
    for (size_t other = d + 1; other < tile.size(); ++other)
      if (sides[d] != 0 && sides[other] == sides[d] && tile[other] > 1)
        members.push_back(other);
    int64_t extent = 1;
    for (size_t member : llvm::reverse(members)) {
      sinkDivisors[member] = extent;
      extent *= roundUpToPowerOf2(tile[member]);
    }
    // Its lane comes first: wgmma has a left operand in registers, and mma.sync takes 8 rows on the right.
    bool isFirst = registersSide != 0 && sides[d] == registersSide;
    unsigned lane = space.addLane(extent, isFirst ? double(d) - double(tile.size()) : double(d), &root);
    for (size_t member : members)
      sinkLanes[member] = lane;
  }
}

AffineExpr Kernelizer::sinkPlace(int64_t dim, AffineExpr base) {
  if (!sinkLanes[dim])
    return base;
  return space.getAxis(tg::getDim(domain, dim), base, schedule.getTile()[dim], *sinkLanes[dim], sinkDivisors[dim],
                       &root);
}

//===-- Results ---------------------------------------------------------------------------------------------------===//

void Kernelizer::storeResults(ArrayRef<AffineExpr> at) {
  auto results = source.getBody().front().getTerminator()->getOperands();
  sinkPlaces.assign(at.begin(), at.end());
  store(tile(results[0], at), targets[0], at, domain.getElementType());
  for (unsigned further = 1; further < results.size(); ++further)
    storeFurther(further, at);
}

/// The dimensions of `result` that those of `whole` are, where one GEMM makes both.
static std::optional<SmallVector<int64_t>> findOrder(Value whole, Value result) {
  std::optional<tg::ProductOf> one = tg::findProductOf(whole), other = tg::findProductOf(result);
  if (!one || !other || one->product != other->product)
    return std::nullopt;
  return llvm::map_to_vector(one->order,
                             [&](int64_t d) -> int64_t { return llvm::find(other->order, d) - other->order.begin(); });
}

/// The tile's elements along what is cut must be a part: all along inner dimensions, and 1 outside of one that is cut.
/// What is reduced is then at indices of the domain, so that it is computed once for all results.
std::optional<Kernelizer::TilePart> Kernelizer::findTilePart(tg::ReduceOp op) {
  std::optional<tg::TileParts> parts = sinkPlaces.empty() ? std::nullopt : tg::findTileParts(op);
  std::optional<SmallVector<int64_t>> order =
      parts ? findOrder(parts->whole, source.getBody().front().getTerminator()->getOperand(0)) : std::nullopt;
  if (!order)
    return std::nullopt;
  std::optional<unsigned> lane;
  int64_t stride = 1, covered = 1;
  bool isCut = false;
  AffineExpr place = space.constant(0), base = place;
  for (unsigned d = parts->end; d-- > parts->begin;) {
    int64_t dim = (*order)[d], extent = tg::getConstant(tg::getDim(domain, dim)).value_or(0);
    int64_t tile = sinkLanes[dim] ? schedule.getTile()[dim] : 1;
    if (extent == 0 || extent % tile != 0 || (tile > 1 && (isCut || (lane && *lane != *sinkLanes[dim]))))
      return std::nullopt;
    AffineExpr at = sinkPlaces[dim];
    place = place + at * stride;
    base = base + (tile > 1 ? space.atom(at).base * tile : at) * stride;
    lane = tile > 1 ? sinkLanes[dim] : lane;
    isCut |= tile < extent;
    stride *= extent;
    covered *= tile;
  }
  if (!lane || covered != parts->places || space.lane(*lane).extent != covered)
    return std::nullopt;
  TilePart part{{}, space.simplify(place - base), *lane};
  for (auto [d, dim] : llvm::enumerate(*order))
    if (d < parts->begin || d >= parts->end) {
      part.places.push_back(sinkPlaces[dim]);
    } else if (d == parts->begin) {
      part.places.push_back(space.simplify(base.floorDiv(covered)));
      if (op.getKeepDims())
        part.places.push_back(space.constant(0));
    }
  return part;
}

/// One element of each row or column of the tile, which is one part. False if `result` is something else.
bool Kernelizer::storeParts(Value result, Value buffer) {
  std::optional<tg::PartsResult> parts = tg::findPartsResult(result);
  std::optional<TilePart> part = parts ? findTilePart(parts->parts.reduce) : std::nullopt;
  if (!part)
    return false;
  InScope in(*this, space.scopeOf(sinkPlaces, &root), result.getLoc());
  Exprs places = llvm::map_to_vector(parts->permutation, [&](int64_t d) { return part->places[d]; });
  store(tile(parts->value, part->places), buffer, places, cast<RankedTensorType>(result.getType()).getElementType());
  return true;
}

/// A result after the first: along each dimension at the index of the domain's that it runs along; what the domain
/// lacks is gone through in a loop.
void Kernelizer::storeFurther(unsigned number, ArrayRef<AffineExpr> at) {
  constexpr int64_t placesOfStep = 256;
  Value result = source.getBody().front().getTerminator()->getOperand(number), buffer = targets[number];
  auto type = cast<RankedTensorType>(result.getType());
  if (storeParts(result, buffer))
    return;
  const std::optional<tg::ResultPlace> &placed = access.results[number];
  Exprs places;
  SmallVector<Streamed> lacking;
  SmallVector<size_t> lackingDims;
  SmallVector<unsigned> lanes = space.lanesOf(at);
  for (auto [d, extent] : llvm::enumerate(tg::getDims(type))) {
    places.push_back(space.constant(0));
    if (tg::getConstant(extent) == 1)
      continue;
    if (auto along = dyn_cast_or_null<AffineDimExpr>(placed ? (*placed)[d] : AffineExpr())) {
      places[d] = at[along.getPosition()];
      continue;
    }
    Streamed dim{extent, lacking.empty() ? fittingStep(extent, placesOfStep) : 1};
    if (dim.step > 1) {
      dim.lane = reductionLane(dim.step, 4000, lanes);
      lanes.push_back(dim.lane);
    }
    lacking.push_back(dim);
    lackingDims.push_back(d);
  }
  InScope in(*this, space.scopeOf(places, &root), result.getLoc());
  stream(lacking, {}, [&](ArrayRef<AffineExpr> steps, const Constraints &, ValueRange) {
    for (auto [d, step] : llvm::zip_equal(lackingDims, steps))
      places[d] = step;
    store(tile(result, places), buffer, places, type.getElementType());
    return Scalars();
  });
}

/// Loops over the rows from dimension `dim` on that no tile holds.
void Kernelizer::streamRows(int64_t dim, Exprs at) {
  while (dim < domain.getRank() && !isStreamedRow(dim))
    ++dim;
  if (dim == domain.getRank())
    return storeResults(at);
  AffineExpr steps = space.simplify(tg::getDim(domain, dim).ceilDiv(schedule.getTile()[dim]));
  loop(steps, {}, [&](AffineExpr counter, ValueRange) {
    at[dim] = sinkPlace(dim, counter);
    streamRows(dim + 1, at);
    return Scalars();
  });
}

/// A result whose elements share bytes: tiles of bytes, each made of its elements.
void Kernelizer::storePacked(Value result, Value buffer) {
  constexpr int64_t bytesOfTile = 512;
  auto type = cast<RankedTensorType>(result.getType());
  int64_t bits = tg::getElementBits(type.getElementType()), perByte = 8 / bits;
  AffineExpr numElements = tg::getNumElements(type), numBytes = space.simplify(numElements.ceilDiv(perByte));
  domain = cast<tk::GlobalType>(buffer.getType()).getTensor();
  access = {}; // Tiles go along none of the result's dimensions.
  sinkLanes.assign(1, std::nullopt);
  AffineExpr count = space.simplify(numBytes.ceilDiv(bytesOfTile));
  makeTileLoop(count);
  AffineExpr number = space.addScalar(root.block->getArgument(0), count, &root);
  unsigned lane = space.addLane(bytesOfTile, 0, &root);
  AffineExpr place = space.getAxis(numBytes, number, bytesOfTile, lane, 1, &root);
  InScope in(*this, &root, result.getLoc());
  Tile byte = constant(builder.getI8IntegerAttr(0));
  for (int64_t i = 0; i < perByte; ++i) {
    AffineExpr element = space.simplify(place * perByte + i), slack = space.simplify(numElements - 1 - element);
    Constraints mask;
    if (!space.isNonNegative(slack))
      mask.push_back({slack});
    auto flat = tg::getTensorType(ArrayRef(numElements), type.getElementType());
    Tile part = masked(result, reshaped(type, flat, element), mask, builder.getI8IntegerAttr(0));
    byte = map({byte, part}, builder.getI8Type(), [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
      Value ones = arith::ConstantOp::create(inner, loc, inner.getI8IntegerAttr((1 << bits) - 1));
      Value shift = arith::ConstantOp::create(inner, loc, inner.getI8IntegerAttr(i * bits));
      Value low = arith::AndIOp::create(inner, loc, args[1], ones);
      return arith::OrIOp::create(inner, loc, args[0], arith::ShLIOp::create(inner, loc, low, shift));
    });
  }
  store(byte, buffer, place, builder.getI8Type());
}

void Kernelizer::makeSinks() {
  Operation *terminator = source.getBody().front().getTerminator();
  domain = cast<RankedTensorType>(terminator->getOperand(0).getType());
  if (isPacked(domain))
    return storePacked(terminator->getOperand(0), targets.front());
  makeSinkLanes();
  Exprs counts, at;
  for (auto [d, extent] : llvm::enumerate(tg::getDims(domain)))
    counts.push_back(isStreamedRow(d) ? space.constant(1) : space.simplify(extent.ceilDiv(schedule.getTile()[d])));
  makeTileLoop(counts);
  for (auto [d, count] : llvm::enumerate(counts)) {
    bool isOne = tg::getConstant(count) == 1;
    at.push_back(sinkPlace(d, isOne ? space.constant(0) : space.addScalar(root.block->getArgument(d), count, &root)));
  }
  InScope in(*this, &root, terminator->getLoc());
  streamRows(0, at);
}

LogicalResult Kernelizer::run() {
  makeFunction();
  makeSinks();
  builder.setInsertionPointToEnd(root.block);
  tk::YieldOp::create(builder);
  if (tilePart && !isStoring && !failed) {
    source.emitError("expected a fold or a GEMM in a kernel whose order has a tail, got ") << schedule.getOrder();
    failed = true;
  }
  if (failed) {
    target.erase();
    return failure();
  }
  if (isStoring)
    guardStores();
  putLongTilesFirst();
  source.erase();
  return success();
}

} // namespace weft::kernelize
