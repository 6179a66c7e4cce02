// tg.contract: one flat loop over the steps of its reduction dimensions, tk.dot where the operands have the shape for
// it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes that the operands' coordinates have decide. If each has one lane of its own, and there is a lane of reduced
// elements, the tiles are [m, k] and [k, n]. Else (matrix times vector, depthwise convolutions, outer products,
// dimensions that both operands read) products are summed element by element over all lanes, and along the reduced lane
// at the end.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace weft::kernelize {

struct Product {
  Type accumulator;
  Exprs domain;                         ///< Coordinates of the domain; null for reduction dimensions.
  SmallVector<unsigned> reductions;     ///< Domain dimensions that are reduced.
  SmallVector<Streamed> dims;           ///< How.
  std::optional<unsigned> reduced;      ///< The lane of reduced elements.
  SmallVector<unsigned> lanes[2];       ///< Lanes of the operands, but for `reduced`.
  std::optional<AffineExpr> step;       ///< The one step of a fold that this is, in place of `dims`.
  std::optional<Tile> start;            ///< What products are added to.
  std::optional<unsigned> copies;       ///< A lane of equal rows, where a vector is multiplied as a matrix is.
  int64_t together = 1;                 ///< Terms of a window whose operands the registers of a thread can hold.
  bool isVector = false;                ///< Each CTA makes it alone, for another contraction.
  std::optional<StagedInput> staged[2]; ///< Operands of a window that are in shared memory.

  bool isMatrix() const { return lanes[0].size() == 1 && lanes[1].size() == 1 && lanes[0] != lanes[1]; }
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
  if (product.staged[i])
    return readStaged(*product.staged[i], throughToMemory(operand, composed(op.getMap(i), domain))->second);
  TypedAttr zero = getZero(getHeldType(cast<RankedTensorType>(operand.getType()).getElementType()));
  return masked(operand, composed(op.getMap(i), domain), mask, zero);
}

/// Steps of the reduction dimensions, those of more than one element side by side in one lane; `unrolls`: those of the
/// longest only.
static SmallVector<Streamed> planSteps(ArrayRef<AffineExpr> extents, ArrayRef<unsigned> reductions,
                                       ArrayRef<int64_t> stream, bool inFold, bool unrolls) {
  // In a fold the left operand stays, so its rows are taken whole.
  const int64_t defaultStep = inFold ? 256 : 32;
  SmallVector<Streamed> dims;
  for (auto [i, dim] : llvm::enumerate(reductions)) {
    bool isLast = i + 1 == reductions.size();
    int64_t step = i < stream.size() ? stream[i] : isLast ? fittingStep(extents[dim], defaultStep) : 1;
    dims.push_back({extents[dim], step});
  }
  auto *longest = llvm::max_element(dims, [](const Streamed &a, const Streamed &b) { return a.step < b.step; });
  int64_t divisor = 1;
  for (Streamed &dim : llvm::reverse(dims)) {
    dim.isUnrolled = unrolls && &dim != longest && dim.step > 1;
    if (dim.isUnrolled)
      continue;
    dim.divisor = divisor;
    divisor *= dim.step;
  }
  return dims;
}

/// Steps of a contraction that another op of the kernel reads: the schedule's are of the anchor. A window goes element
/// by element; of a longer sum, as many elements along the last dimension as the threads can hold beside `own`
/// elements.
static SmallVector<int64_t> planInnerSteps(tg::ContractOp op, ArrayRef<unsigned> reductions, int64_t own,
                                           int64_t threads) {
  constexpr int64_t placesPerThread = 32, leastPlaces = 64;
  SmallVector<int64_t> steps(reductions.size(), 1);
  if (!steps.empty() && !tg::isWindowSum(op)) {
    int64_t places = llvm::bit_floor(uint64_t(std::max<int64_t>(placesPerThread * threads / own, 1)));
    AffineExpr extent = op.getDomainExtents()[reductions.back()];
    std::optional<int64_t> whole = tg::getConstant(extent);
    while (whole && *whole > places && places > leastPlaces &&
           int64_t(llvm::alignTo(*whole, places)) - *whole > *whole / 16) // Little of the last step is beyond it.
      places /= 2;
    steps.back() = fittingStep(extent, places);
  }
  return steps;
}

/// The reduction dimensions' steps and their lane.
void Kernelizer::planProduct(tg::ContractOp op, Product &product) {
  tg::Dims extents = op.getDomainExtents();
  if (std::optional<AffineExpr> step = foldStep(op)) { // This step's elements and no loop.
    product.step = step;
    SmallVector<unsigned> lanes = space.lanesOf(*step);
    if (!lanes.empty())
      product.reduced = lanes.front();
    return;
  }
  bool inFold = isa<tg::FoldOp>(op->getParentOp());
  SmallVector<int64_t> steps;
  bool isInner = !inFold && tg::isInner(op);
  if (isInner && !tg::isWindowSum(op) && !tg::findAnchor(*op->getBlock())) { // Behind those of the reduction.
    llvm::append_range(steps, schedule.getStream().take_back(product.reductions.size()));
  } else if (isInner) {
    int64_t own = 1;
    for (unsigned lane : space.unite(product.lanes[0], product.lanes[1]))
      own *= space.lane(lane).extent;
    steps = planInnerSteps(op, product.reductions, own, schedule.getWarps() * 32);
    product.isVector = !tg::isWindowSum(op);
  } else if (!inFold) {
    llvm::append_range(steps, schedule.getStream());
  }
  bool unrolls = !inFold && !isInner && product.isMatrix() && schedule.getEngine() == tg::Engine::Wgmma;
  product.dims = planSteps(extents, product.reductions, steps, inFold, unrolls);
  int64_t places = 1;
  for (const Streamed &dim : product.dims) {
    places *= dim.isUnrolled ? 1 : dim.step;
    std::optional<int64_t> extent = tg::getConstant(dim.extent);
    if (dim.isUnrolled && (!extent || *extent % dim.step))
      fail(op, op, "expected steps that divide the extents of a window");
  }
  if (places == 1)
    return;
  // Between the operands' own lanes, so that operands are [m, k] and [k, n] as they come.
  double key = 2000;
  if (product.isMatrix())
    key = (space.lane(product.lanes[0][0]).key + space.lane(product.lanes[1][0]).key) / 2;
  product.reduced = reductionLane(places, key, space.unite(product.lanes[0], product.lanes[1]));
  for (Streamed &dim : product.dims)
    dim.lane = *product.reduced;
}

/// The elements of each GEMM of a step: those of unrolled dimensions one after the other.
static SmallVector<Exprs> unrollPlaces(ArrayRef<Streamed> dims, ArrayRef<AffineExpr> places) {
  SmallVector<Exprs> all{Exprs(places)};
  for (auto [i, dim] : llvm::enumerate(dims)) {
    SmallVector<Exprs> next;
    for (const Exprs &each : all)
      for (int64_t place = 0; place < (dim.isUnrolled ? dim.step : 1); ++place) {
        next.push_back(each);
        next.back()[i] = next.back()[i] + place;
      }
    all = std::move(next);
  }
  return all;
}

/// mma.sync has no form for a vector: each of the eight columns of its right operand is the vector, and one column of
/// the result is taken. So a matrix that has to be unpacked costs one instruction for 256 of its elements.
void Kernelizer::copyVector(tg::ContractOp op, Product &product) {
  constexpr int64_t columns = 8;
  constexpr double behindSinks = 3000;
  if (schedule.getEngine() != tg::Engine::Mma || tg::isInner(op) || isa<tg::FoldOp>(op->getParentOp()) ||
      cast<RankedTensorType>(op.getLhs().getType()).getElementType().getIntOrFloatBitWidth() != 16 ||
      product.lanes[0].size() + product.lanes[1].size() != 1)
    return;
  SmallVector<unsigned> &vector = product.lanes[product.lanes[0].empty() ? 0 : 1];
  product.copies = reductionLane(columns, behindSinks, {});
  vector.push_back(*product.copies);
}

Tile Kernelizer::contract(tg::ContractOp op, ArrayRef<AffineExpr> at, std::optional<Tile> start) {
  Product product;
  product.accumulator = accumulatorOf(op);
  product.start = start;
  product.domain.resize(op.getMap(2).getNumDims());
  for (auto [expr, place] : llvm::zip_equal(op.getMap(2).getResults(), at))
    product.domain[cast<AffineDimExpr>(expr).getPosition()] = place;
  Exprs parallel = product.domain;
  for (unsigned d = 0; d < parallel.size(); ++d)
    if (!parallel[d]) {
      product.reductions.push_back(d);
      parallel[d] = space.constant(0);
    }
  for (unsigned i : {0u, 1u})
    product.lanes[i] = space.lanesOf(canonical(op->getOperand(i), composed(op.getMap(i), parallel)));
  copyVector(op, product);
  planProduct(op, product);
  orderTaps(op, product);
  if (product.step && product.reductions.size() != 1)
    return fail(op, op, "expected one streamed dimension");

  // Where all GEMMs of a step fit the registers, a thin dot is better off without shared memory.
  constexpr int64_t thin = 16, productsPerThread = 32, warpThreads = 32;
  auto extentOf = [&](unsigned i) { return space.lane(product.lanes[i][0]).extent; };
  bool isDot = product.isMatrix() && product.reduced && *product.reduced != product.lanes[0][0] &&
               *product.reduced != product.lanes[1][0];
  if (isDot && schedule.getEngine() == tg::Engine::Simt && std::min(extentOf(0), extentOf(1)) < thin)
    isDot = extentOf(0) * extentOf(1) * space.lane(*product.reduced).extent >
            productsPerThread * warpThreads * schedule.getWarps();
  Tile sum = isDot ? contractByDot(op, product) : contractByMaps(op, product);
  if (product.copies)
    sum = combineLanes(sum, *product.copies, [](OpBuilder &, Location, ValueRange args) {
            return Scalars{args[0]};
          }).front();
  return fromAccumulator(sum, op.getType().getElementType());
}

/// The taps of a window that is gone through one by one, at least those of its rows without a loop.
static std::optional<int64_t> countTaps(ArrayRef<Streamed> dims) {
  int64_t taps = 1;
  for (const Streamed &dim : dims) {
    std::optional<int64_t> extent = tg::getConstant(dim.extent);
    if (!extent || dim.step != 1 || *extent < 1 || *extent > tg::mostTerms)
      return std::nullopt;
    taps *= *extent; // Kernels have few dimensions: it fits.
  }
  return taps;
}

/// The terms along what is contiguous in memory come first, and are a loop where there is one: those that are unrolled
/// then go along a dimension of which a thread has neighbouring elements, which have most of what they read in common.
void Kernelizer::orderTaps(tg::ContractOp op, Product &product) {
  if (product.step || product.dims.size() < 2 || tg::isInner(op) || !countTaps(product.dims))
    return;
  for (Value operand : op->getOperands()) {
    AffineMap map = op.getMap(operand == op.getLhs() ? 0 : 1);
    auto placesOf = [&](size_t moved) {
      Exprs domain = product.domain;
      for (auto [d, dim] : llvm::enumerate(product.reductions))
        domain[dim] = space.constant(d == moved);
      return throughToMemory(operand, composed(map, domain));
    };
    bool slides = llvm::any_of(map.getResults(), [](AffineExpr at) { return !isa<AffineDimExpr>(at); });
    auto start = slides ? placesOf(product.dims.size()) : std::nullopt;
    for (size_t d = 1; start && d < product.dims.size(); ++d)
      if (auto moved = placesOf(d); moved && moved->second.back() != start->second.back()) {
        std::rotate(product.dims.begin(), product.dims.begin() + d, product.dims.begin() + d + 1);
        std::rotate(product.reductions.begin(), product.reductions.begin() + d, product.reductions.begin() + d + 1);
        return;
      }
  }
}

/// A window that another op of the kernel reads, in a CTA that computes it once: what its terms read of inputs several
/// times, from shared memory.
void Kernelizer::stageWindow(tg::ContractOp op, Product &product, int64_t elements) {
  std::optional<int64_t> taps = product.step ? std::nullopt : countTaps(product.dims);
  if (!taps || *taps < 2 || *taps > tg::mostTerms || !tg::isInner(op) || current != &root || schedule.getPersistent())
    return;
  if (tg::findAnchor(*op->getBlock())) // In front of a GEMM each tile has its own elements, and its steps their warps.
    return;
  SmallVector<StagedInput *> inputs;
  for (unsigned i : {0u, 1u}) {
    SmallVector<Exprs> reads;
    BlockArgument argument;
    for (int64_t tap = 0; tap < *taps; ++tap) {
      Exprs domain = product.domain;
      int64_t rest = tap;
      for (size_t d = product.dims.size(); d-- > 0; rest /= *tg::getConstant(product.dims[d].extent))
        domain[product.reductions[d]] = space.constant(rest % *tg::getConstant(product.dims[d].extent));
      auto found = throughToMemory(op->getOperand(i), composed(op.getMap(i), domain));
      if (!found)
        break;
      argument = found->first;
      reads.push_back(found->second);
    }
    if (int64_t(reads.size()) == *taps && (product.staged[i] = planBox(argument, reads, elements)))
      inputs.push_back(&*product.staged[i]);
  }
  if (!inputs.empty())
    stage(inputs);
}

/// Unrolled: the loads of all taps are under way together. Of a window with more than `together` of them that is a
/// row's, and its rows are a loop.
Kernelizer::Scalars Kernelizer::unrollTaps(ArrayRef<Streamed> dims, int64_t taps, int64_t together, ValueRange init,
                                           StreamBody body) {
  size_t rows = 0; // The leading dimensions that are a loop.
  for (; taps > together && rows + 1 < dims.size(); ++rows)
    taps /= *tg::getConstant(dims[rows].extent);
  auto unroll = [&](ArrayRef<AffineExpr> row, ValueRange before) {
    Scalars state(before);
    for (int64_t tap = 0; tap < taps; ++tap) {
      Exprs places(row);
      places.resize(dims.size());
      int64_t rest = tap;
      for (size_t i = dims.size(); i-- > rows; rest /= *tg::getConstant(dims[i].extent))
        places[i] = space.constant(rest % *tg::getConstant(dims[i].extent));
      state = body(places, space.ragged(places), state);
    }
    return state;
  };
  if (rows == 0)
    return unroll({}, init);
  return stream(dims.take_front(rows), init,
                [&](ArrayRef<AffineExpr> row, const Constraints &, ValueRange state) { return unroll(row, state); });
}

/// The steps along the last dimension of a vector's GEMM that has no others, where they are few.
static std::optional<int64_t> countSteps(ArrayRef<Streamed> dims) {
  constexpr int64_t mostSteps = 16;
  for (const Streamed &dim : dims.drop_back())
    if (tg::getConstant(dim.extent) != 1)
      return std::nullopt;
  std::optional<int64_t> extent = dims.empty() ? std::nullopt : tg::getConstant(dims.back().extent);
  if (!extent || *extent < 1 || *extent > mostSteps * dims.back().step)
    return std::nullopt;
  return llvm::divideCeil(*extent, dims.back().step);
}

/// No loop: the weights of all steps, which come from far, are under way together.
Kernelizer::Scalars Kernelizer::unrollSteps(ArrayRef<Streamed> dims, int64_t steps, ValueRange init, StreamBody body) {
  Scalars state(init);
  const Streamed &along = dims.back();
  for (int64_t step = 0; step < steps; ++step) {
    Exprs places(dims.size(), space.constant(0));
    if (along.step == 1)
      places.back() = space.constant(step);
    else
      places.back() = space.getAxis(along.extent, space.constant(step), along.step, along.lane, along.divisor, &root);
    state = body(places, space.ragged(places), state);
  }
  return state;
}

/// Whether CTAs share the steps of the GEMM, which is all that its kernel streams.
bool Kernelizer::isShared(tg::ContractOp op, const Product &product) {
  if (!tilePart || product.step || tg::isInner(op))
    return false;
  if (isStoring || current != &root)
    fail(op, op, "expected one GEMM, of which CTAs share a tile's steps");
  return !isStoring && current == &root;
}

Kernelizer::Scalars Kernelizer::streamProduct(const Product &product, Value init, StreamBody body, StepRange range) {
  if (product.step)
    return body(*product.step, space.ragged(*product.step), init);
  if (std::optional<int64_t> taps = countTaps(product.dims))
    return unrollTaps(product.dims, *taps, product.together, init, body);
  if (std::optional<int64_t> steps = product.isVector ? countSteps(product.dims) : std::nullopt)
    return unrollSteps(product.dims, *steps, init, body);
  return stream(product.dims, init, body, range);
}

AffineExpr Kernelizer::countAllSteps(const Product &product) {
  AffineExpr count = space.constant(1);
  for (const Streamed &dim : product.dims)
    count = space.simplify(count * dim.extent.ceilDiv(dim.step));
  return count;
}

/// The type that operands are multiplied in: as they are if a dot takes them so.
static Type multiplicandOf(Type lhs, Type rhs, Type accumulator) {
  bool isNarrow =
      isa<FloatType>(lhs) ? accumulator.isF32() || lhs.isF64() : lhs.isInteger(8) && accumulator.isInteger(32);
  return lhs == rhs && isNarrow ? lhs : accumulator;
}

/// How many elements of `lane` are within extents and tiles, if `places` have it from narrow tiles, or from one tile of
/// a whole, shorter dimension.
std::optional<int64_t> Kernelizer::livePlaces(ArrayRef<AffineExpr> places, unsigned lane) const {
  int64_t live = 0, whole = space.lane(lane).extent;
  for (unsigned i : space.atomsOf(places)) {
    const Atom &atom = space.atom(i);
    if (!llvm::is_contained(atom.lanes, lane))
      continue;
    if (atom.kind != Atom::Kind::Axis)
      return std::nullopt;
    if (atom.divisor * atom.getPlaces() != whole) // Inside of the outermost, it ends where that begins anew.
      continue;
    std::optional<int64_t> extent = tg::getConstant(atom.base) == 0 ? tg::getConstant(atom.extent) : std::nullopt;
    live = std::max(live, std::min(extent.value_or(atom.tile), atom.tile) * atom.divisor);
  }
  return live > 0 && live < whole ? std::optional(live) : std::nullopt;
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
    llvm::SaveAndRestore forDot(isForDot, true);
    Tile part = operandAt(op, i, product, places, mask);
    return broadcast(part.element() == element ? part : toAccumulator(part, elements[i], element), order).value;
  };
  SmallVector<unsigned> result{lanes[left], lanes[right]};
  Exprs own;
  for (AffineExpr expr : op.getMap(2).getResults())
    own.push_back(product.domain[cast<AffineDimExpr>(expr).getPosition()]);
  std::optional<int64_t> liveColumns = livePlaces(canonical(op, own), lanes[right]);
  Tile start = product.start ? *product.start : constant(getZero(product.accumulator));
  auto multiply = [&](ArrayRef<AffineExpr> places, const Constraints &mask, Value sum) -> Value {
    Value lhs = operand(left, places, mask, {lanes[left], *product.reduced});
    Value rhs = operand(right, places, mask, {*product.reduced, lanes[right]});
    auto dot = tk::DotOp::create(builder, lhs, rhs, sum);
    dot.setEngine(schedule.getEngine());
    dot.setLiveColumns(liveColumns);
    dot.setLiveDepth(livePlaces(places, *product.reduced));
    dot.setTf32(allowTf32 && element.isF32());
    if (element != product.accumulator && isa<IntegerType>(element)) {
      dot.setUnsignedLhs(tg::isUnsignedElement(elements[left]));
      dot.setUnsignedRhs(tg::isUnsignedElement(elements[right]));
    }
    return dot;
  };
  bool shares = isShared(op, product);
  Scalars sums = streamProduct(
      product, broadcast(start, result).value,
      [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange state) {
        Value sum = state[0];
        for (const Exprs &each : unrollPlaces(product.dims, places))
          sum = multiply(each, mask, sum);
        return Scalars{sum};
      },
      shares ? shareSteps({}, countAllSteps(product)) : StepRange());
  auto live = liveColumns ? builder.getI64IntegerAttr(*liveColumns) : IntegerAttr();
  if (shares) {
    auto sum = tk::PartSumOp::create(builder, sums[0].getType(), builder.getI1Type(), builder.getIndexType(), sums[0],
                                     tilePart.getNumber(), tilePart.getPart(), tilePart.getParts(),
                                     builder.getI64IntegerAttr(partSlots), builder.getI64IntegerAttr(partsOfTile), live,
                                     /*piece=*/IntegerAttr());
    isStoring = sum.getStores();
    sums = {sum.getResult()};
  }
  return {sums[0], result};
}

/// Terms of so many elements for all threads whose operands fit beside sums and addresses: those of 25 elements by 4
/// f32 elements a thread, 512 threads, spill 2 KB of 128 registers (on sm_90a 16.4 us, by rows 7.4).
static int64_t countTogether(tg::ContractOp op, int64_t elements, int64_t threads) {
  constexpr int64_t registersOfSm = 65536, mostRegisters = 255, others = 32, least = 9;
  int64_t bytes = 0;
  for (Value operand : op->getOperands())
    bytes += getHeldType(cast<RankedTensorType>(operand.getType()).getElementType()).getIntOrFloatBitWidth() / 8;
  int64_t registers = std::min(registersOfSm / threads, mostRegisters) - others;
  return std::max(registers * 4 * threads / std::max<int64_t>(elements * bytes, 1), least);
}

/// An operand that is memory comes first: its loads are under way while the other one is computed.
Tile Kernelizer::contractByMaps(tg::ContractOp op, Product &product) {
  SmallVector<unsigned> lanes = space.unite(product.lanes[0], product.lanes[1]), reduced;
  if (product.reduced) {
    reduced.push_back(*product.reduced);
    lanes = space.unite(lanes, reduced);
  }
  int64_t elements = 1;
  for (unsigned lane : lanes)
    elements *= space.lane(lane).extent;
  product.together = countTogether(op, elements, schedule.getWarps() * 32);
  stageWindow(op, product, elements);
  if (product.staged[0] && product.staged[1])
    product.together = tg::mostTerms;
  Type accumulator = product.accumulator;
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
      streamProduct(product, constant(getZero(accumulator), lanes).value,
                    [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange state) {
                      Tile operands[2];
                      unsigned first = op.getLhs().getDefiningOp() ? 1 : 0;
                      for (unsigned i : {first, 1 - first}) {
                        Type element = cast<RankedTensorType>(op->getOperand(i).getType()).getElementType();
                        operands[i] = toAccumulator(operandAt(op, i, product, places, mask), element, accumulator);
                      }
                      Tile next = map({operands[0], operands[1], {state[0], lanes}}, accumulator, multiplyAdd);
                      return Scalars{broadcast(next, lanes).value};
                    });
  Tile total = combineLanes(Tile{sums[0], lanes}, reduced, sum).front();
  return product.start ? map({*product.start, total}, accumulator, sum).front() : total;
}

} // namespace weft::kernelize
