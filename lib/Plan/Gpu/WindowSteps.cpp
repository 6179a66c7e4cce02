// Steps of several taps of a window: which there are, and what they save.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WindowSteps.h"
#include "../Models/GemmTiles.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace weft::plan {

static constexpr int64_t leastStages = 3, mostStages = 5, leastPlaces = 8;

namespace {

/// A dimension of a window, and the one of the result that it slides along.
struct Sliding {
  unsigned tap, place;
  bool isLeft;
  int64_t taps, distance; ///< Of the window, and rows of the image from one to the next.
  int64_t step;           ///< Rows of the image from one element of the result to the next.
};

/// Rows of the image in one step, and elements of each.
struct Rows {
  int64_t count = 0, places = 0;
};

} // namespace

/// By how much `at` grows with `dim`; 0 if that is no constant.
static int64_t getSlope(AffineExpr at, unsigned dim, unsigned rank) {
  AffineExpr place = getAffineDimExpr(dim, at.getContext());
  auto slope = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(at.replace(place, place + 1) - at, rank, 0));
  return slope ? slope.getValue() : 0;
}

/// The windows' dimensions whose taps lie whole rows apart in an operand that is contiguous along the depth.
static SmallVector<Sliding> findSliding(const KernelToSchedule &kernel, const ProductDims &dims) {
  SmallVector<Sliding> found;
  unsigned rank = kernel.access.dims.size();
  for (bool isLeft : {true, false})
    for (const KernelRequest *request : kernel.access.of(isLeft ? dims.lhs : dims.rhs)) {
      ArrayRef<AffineExpr> at = request->coordinates;
      AffineDimExpr inner = tg::getShiftedDim(at.empty() ? AffineExpr() : at.back());
      if (!inner || inner.getPosition() != dims.depth)
        continue;
      for (AffineExpr index : at.drop_back())
        for (unsigned tap : dims.k)
          for (unsigned place : isLeft ? dims.m : dims.n) {
            if (!index || tap == dims.depth || kernel.extents[tap] < 2 || !index.isFunctionOfDim(tap) ||
                getSlope(index, place, rank) < 1)
              continue;
            if (int64_t distance = getSlope(index, tap, rank); distance > 0)
              found.push_back({tap, place, isLeft, kernel.extents[tap], distance, getSlope(index, place, rank)});
          }
    }
  return found;
}

/// Rows that all taps of `own` elements have: taps that lie a multiple of the step apart share rows.
static int64_t countSharedRows(const Sliding &sliding, int64_t own) {
  llvm::SmallMapVector<int64_t, int64_t, 4> last; // By what is left of the tap's position, of those that came so far.
  int64_t rows = 0;
  for (int64_t tap = 0; tap < sliding.taps; ++tap) {
    int64_t at = tap * sliding.distance / sliding.step;
    auto [found, isFirst] = last.try_emplace(tap * sliding.distance % sliding.step, at);
    rows += isFirst ? own : at - found->second;
    found->second = at;
  }
  return rows;
}

/// Rows of a tile of the side that the window slides over; none if they do not follow each other as a tile's do, or
/// taps have none in common.
static Rows countRows(const Sliding &sliding, ArrayRef<unsigned> side, ArrayRef<int64_t> tile) {
  constexpr int64_t swizzledLines = 8;
  Rows rows{1, 1};
  int64_t own = 1;
  bool isOutside = true;
  for (auto [dim, extent] : llvm::zip_equal(side, tile)) {
    if (dim == sliding.place)
      rows.count = countSharedRows(sliding, extent), own = extent, isOutside = false;
    else if (isOutside && extent != 1)
      return {};
    else if (!isOutside)
      rows.places *= extent;
  }
  return rows.places % swizzledLines || rows.count >= own * sliding.taps ? Rows() : rows;
}

static int64_t countBytes(const GemmProblem &problem, const GemmTile &tile) {
  return tile.k * (tile.m * problem.lhsBytes + tile.n * problem.rhsBytes);
}

namespace {
/// A step of one element of a window or of several: bytes of the operand that windows slide over and of the other one
/// in shared memory, and of the lines of the L2 that these come from.
struct WindowReads {
  int64_t taps, windows, others;
  double windowLines, otherLines;
  bool straddles; ///< Pieces of rows do lines.

  /// Of all taps, in which the image has `rows`.
  WindowReads(const Sliding &sliding, const Rows &rows, const GemmProblem &problem, const GemmTile &tile,
              const Device &device)
      : WindowReads(sliding, sliding.taps, rows.count * rows.places, problem, tile, device) {}
  /// Of one.
  WindowReads(const Sliding &sliding, const GemmProblem &problem, const GemmTile &tile, const Device &device)
      : WindowReads(sliding, 1, sliding.isLeft ? tile.m : tile.n, problem, tile, device) {}

  int64_t all() const { return windows + others; }

private:
  WindowReads(const Sliding &sliding, int64_t taps, int64_t places, const GemmProblem &problem, const GemmTile &tile,
              const Device &device)
      : taps(taps) {
    int64_t bytes[] = {problem.rhsBytes, problem.lhsBytes}, alignments[] = {problem.rhsAlignment, problem.lhsAlignment};
    unsigned own = sliding.isLeft;
    int64_t rows = sliding.isLeft ? tile.n : tile.m;
    windows = tile.k * places * bytes[own], others = tile.k * taps * rows * bytes[1 - own];
    // Windows slide over what is contiguous along the depth (findSliding): of a few channels a line has several
    // elements.
    int64_t pitch = problem.k * bytes[own];
    windowLines =
        pitch < lineBytes ? double(places * pitch) : linesOf(places, tile.k * bytes[own], alignments[own], device);
    bool isAlongK = sliding.isLeft ? problem.rhsAlongK : problem.lhsAlongK;
    int64_t otherPiece = (isAlongK ? tile.k : rows) * bytes[1 - own];
    otherLines = double(taps) * linesOf(isAlongK ? rows : tile.k, otherPiece, alignments[1 - own], device);
    straddles = alignments[1 - own] < std::min(otherPiece, lineBytes) ||
                (pitch >= lineBytes && alignments[own] < std::min(tile.k * bytes[own], lineBytes));
  }

  static constexpr int64_t lineBytes = 128;
  /// Bytes of the lines of so many pieces, which begin at multiples of `alignment`: one that straddles two lines takes
  /// the L2 longer than both.
  static double linesOf(int64_t pieces, int64_t bytes, int64_t alignment, const Device &device) {
    double straddling = double(std::max<int64_t>(std::min(bytes, lineBytes) - alignment, 0)) / double(lineBytes);
    return double(pieces * std::max(bytes, lineBytes)) * (1 + device.windows.straddling * straddling);
  }
};

/// CTAs of a cluster side by side: what each of them takes of the lines that they have in common, and all tiles.
struct WindowPairs {
  double windowPart = 1, otherPart = 1;
  int64_t tiles;
};
} // namespace

static int64_t countTiles(ArrayRef<int64_t> extents, ArrayRef<int64_t> tile) {
  int64_t count = 1;
  for (auto [whole, part] : llvm::zip_equal(extents, tile))
    count *= int64_t(llvm::divideCeil(whole, part));
  return count;
}

/// Pairs along the dimension where they have the most in common, as weft-tk-roles finds it (Share.cpp); nothing where
/// there is none.
static std::optional<WindowPairs> findPairs(const Sliding &sliding, const WindowReads &reads,
                                            const GemmProblem &problem, ArrayRef<int64_t> mTile,
                                            ArrayRef<int64_t> nTile) {
  constexpr int64_t ctas = 2;
  std::optional<WindowPairs> found;
  double most = 0;
  int64_t all = countTiles(problem.mExtents, mTile) * countTiles(problem.nExtents, nTile);
  for (bool isLeft : {true, false})
    for (auto [extent, part] : llvm::zip_equal(isLeft ? problem.mExtents : problem.nExtents, isLeft ? mTile : nTile)) {
      int64_t count = llvm::divideCeil(extent, part), even = llvm::alignTo(count, ctas);
      if (count < 2 || (count != even && extent % part == 0)) // Tiles past the end do nothing where guards know them.
        continue;
      bool sharesWindows = isLeft != sliding.isLeft;
      double common = double(sharesWindows ? reads.windows : reads.others) * double(count) / double(even);
      if (common <= most)
        continue;
      most = common;
      found = WindowPairs{sharesWindows ? 1.0 / ctas : 1, sharesWindows ? 1 : 1.0 / ctas, all / count * even};
    }
  return problem.batch == 1 ? found : std::nullopt;
}

/// Seconds of the tiles in such steps. A step takes what the matrix unit or the L2 does, and a part of the other; a
/// tile's warps store it before they go on. Of 173 schedules of 60 convolutions on an H100 (2D and 3D, strides,
/// dilations, 16 to 1152 channels, single elements and several, by pairs and not) half are within 8 %, nine of ten
/// within 24 % (docs/notes/window-pairs.md); more stages than three made no difference.
static double estimateSteps(const WindowReads &reads, const WindowPairs &pairs, const GemmProblem &problem,
                            const GemmTile &tile, double storeFactor, const Device &device) {
  constexpr double lanes = 32, quarters = 4;
  double active = std::min<double>(double(pairs.tiles), device.sms);
  double rate = std::min(device.panelBytesPerClock * device.waveMerge / active, double(device.sharedBytesPerClock));
  double matrix =
      double(reads.taps) * 2.0 * double(tile.m * tile.n * tile.k) / flopsPerClock(problem, tile.engine, device);
  double fetch = (reads.windowLines * pairs.windowPart + reads.otherLines * pairs.otherPart) / rate;
  double shared = double(reads.taps) * sharedReads(problem, tile) / device.sharedBytesPerClock;
  double most = std::max({matrix, fetch, shared});
  double step = most + device.windows.beside * (matrix + fetch + shared - most) + device.windows.step;
  double steps = double(llvm::divideCeil(problem.k, tile.k) * problem.taps) / double(reads.taps);
  double stores = double(tile.m * tile.n) * device.tiles.store / (lanes * quarters) * storeFactor;
  double perSm = double(llvm::divideCeil(pairs.tiles, int64_t(device.sms)));
  double seconds = (perSm * (steps * step + stores + device.windows.turn) + device.tiles.start) / device.clock;
  double depth = double(problem.k), lhs = double(problem.m * problem.lhsBytes),
         rhs = double(problem.n * problem.rhsBytes);
  double dram = (depth * (lhs + rhs) + double(problem.m) * double(problem.n) * double(problem.resultBytes)) /
                device.memoryBandwidth;
  return std::max(seconds, dram) + device.launchSeconds;
}

/// Whether taps of such a tile can be in one step: of whole panels, or of shorter ones where these cover an eighth less
/// beyond the depth.
static bool mayShare(const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t panelBytes = 128;
  int64_t panel = panelBytes / std::max(problem.lhsBytes, problem.rhsBytes), whole = llvm::alignTo(problem.k, panel);
  bool isWhole = tile.k == panel || (tile.k < panel && int64_t(llvm::alignTo(problem.k, tile.k)) <= whole - whole / 8);
  return tile.engine == tg::Engine::Wgmma && tile.split == 1 && problem.products == 1 && isWhole;
}

/// Whether estimateSteps prices steps of single elements, too: of windows with a stride, and long sums. Others share so
/// much that single elements were not better where it said so (three shapes on an H100), and of short sums stores
/// decide, which estimateGemm knows better.
static bool hasPricedPlaces(const Sliding &sliding, const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t longSum = 32;
  return sliding.step > 1 && int64_t(llvm::divideCeil(problem.k, tile.k)) * problem.taps >= longSum;
}

/// Tiles of `elements` along the side whose outer dimensions have one element, as many as `rows` along that of the
/// window; empty if there are none.
static SmallVector<int64_t> splitSide(const Sliding &sliding, ArrayRef<unsigned> side, ArrayRef<int64_t> extents,
                                      int64_t elements, int64_t rows, int64_t leastInner) {
  const unsigned *place = llvm::find(side, sliding.place);
  size_t at = place - side.begin();
  if (at + 1 >= side.size() || elements / rows < std::min(leastInner, int64_t(llvm::PowerOf2Ceil(extents.back()))))
    return {};
  SmallVector<int64_t> tile(at, 1);
  tile.push_back(rows);
  llvm::append_range(tile, splitTile(extents.drop_front(at + 1), elements / rows, leastInner));
  return tile;
}

/// Whether rows of the kernel's result start at any element: they leave in pieces of lines (weft-tk-layouts), or of
/// what an accumulator's threads hold, by one or two elements.
static bool hasOddRows(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  auto type = cast<RankedTensorType>(func.getBody().front().getTerminator()->getOperand(0).getType());
  tg::Dims dims = tg::getDims(type);
  std::optional<int64_t> row = dims.empty() ? std::nullopt : tg::getConstant(dims.back());
  return row && *row % 2 && tg::getElementBits(type.getElementType()) < 32;
}

/// Seconds that results take longer where a tile's pieces of their rows are no sectors. 4 x 512 x 64 x 64 in pieces of
/// 8 elements takes 111 us, of 16 103; of what the L2 does not hold it writes parts of sectors back, and reads them
/// again: 23 x 512 x 98 x 98 775 us, 446 (H100). Pieces of odd rows have a price of their own.
static double getPartialSectors(const GemmProblem &problem, ArrayRef<int64_t> nTile, bool isOdd, const Device &device) {
  constexpr double sectorBytes = 32;
  double piece = double(nTile.back() * problem.resultBytes);
  double bytes = double(problem.batch) * double(problem.m) * double(problem.n) * double(problem.resultBytes);
  bool isHeld = bytes <= double(device.l2Bytes);
  if (piece >= sectorBytes || (isOdd && isHeld))
    return 0;
  return (isHeld ? device.windows.heldParts : device.windows.evictedParts) * bytes * (sectorBytes / piece - 1) /
         device.memoryBandwidth;
}

/// How many times as long as others stores of odd rows take, in pieces of a tile's columns (fitted with estimateSteps).
static double getStoreFactor(const GemmProblem &problem, ArrayRef<int64_t> nTile, bool isOdd, const Device &device) {
  constexpr int64_t pieceBytes = 64;
  const WindowClocks &windows = device.windows;
  return !isOdd ? 1 : nTile.back() * problem.resultBytes < pieceBytes ? windows.narrowOddStores : windows.oddStores;
}

namespace {

/// The search over all tiles.
class WindowSearch {
public:
  WindowSearch(const ProductDims &dims, const GemmProblem &problem, const Device &device, bool isOdd, double least)
      : least(least), dims(dims), problem(problem), device(device), isOdd(isOdd) {}

  void visit(const Sliding &sliding, const GemmTile &tile, const GemmCost &cost);
  std::optional<WindowStep> found;
  double least; ///< Seconds of it, or of what it has to be better than.

private:
  void consider(const Sliding &sliding, const GemmTile &tile, const GemmCost &cost, ArrayRef<int64_t> sideTile,
                int64_t room);
  /// Steps of the elements of `tap`, or of single ones.
  void fill(const Sliding &sliding, const WindowReads &reads, std::optional<unsigned> tap, WindowStep step,
            int64_t room);
  void offer(const Sliding &sliding, const WindowReads &reads, WindowStep step);

  const ProductDims &dims;
  const GemmProblem &problem;
  const Device &device;
  bool isOdd; ///< Rows of the result.
};

} // namespace

/// The same tile with no more rows along the window's dimension than its tiles need there; empty if that is the same.
/// Elements of columns end where the tile does: they are those of an instruction.
static SmallVector<int64_t> narrowSide(const Sliding &sliding, ArrayRef<unsigned> side, ArrayRef<int64_t> extents,
                                       ArrayRef<int64_t> sideTile) {
  constexpr int64_t columns = 8;
  size_t at = llvm::find(side, sliding.place) - side.begin();
  SmallVector<int64_t> narrow(sideTile);
  narrow[at] = llvm::divideCeil(extents[at], llvm::divideCeil(extents[at], sideTile[at]));
  if (sliding.isLeft || narrow[at] == sideTile[at] || llvm::product_of(narrow) % columns)
    return {};
  return narrow;
}

void WindowSearch::visit(const Sliding &sliding, const GemmTile &tile, const GemmCost &cost) {
  bool isLeft = sliding.isLeft;
  ArrayRef<unsigned> side = isLeft ? dims.m : dims.n;
  ArrayRef<int64_t> extents = isLeft ? problem.mExtents : problem.nExtents;
  int64_t elements = isLeft ? tile.m : tile.n, leastInner = isLeft ? problem.leastInnerM : problem.leastInnerN;
  // Results pass through shared memory on their way to another layout.
  int64_t room = int64_t(device.sharedPerCta) - (cost.room.shared - tile.stages * countBytes(problem, tile)) -
                 tile.m * tile.n * problem.resultBytes;
  bool isGiven = isLeft ? problem.onlyM : problem.onlyN; // Of what is reduced in parts.
  if (!isGiven)
    consider(sliding, tile, cost, splitTile(extents, elements, std::min(leastInner, leastPlaces)), room);
  for (int64_t rows = 1; rows <= elements; rows *= 2) {
    SmallVector<int64_t> sideTile =
        splitSide(sliding, side, extents, elements, rows, std::min(leastInner, leastPlaces));
    if (sideTile.empty() || (isGiven && sideTile != splitTile(extents, elements, leastInner)))
      continue;
    consider(sliding, tile, cost, sideTile, room);
    if (SmallVector<int64_t> narrow = narrowSide(sliding, side, extents, sideTile); !narrow.empty() && !isGiven)
      consider(sliding, tile, cost, narrow, room);
  }
}

void WindowSearch::consider(const Sliding &sliding, const GemmTile &whole, const GemmCost &cost,
                            ArrayRef<int64_t> sideTile, int64_t room) {
  bool isLeft = sliding.isLeft;
  GemmTile tile = whole;
  (isLeft ? tile.m : tile.n) = llvm::product_of(sideTile);
  WindowStep step{std::nullopt, isLeft, SmallVector<int64_t>(sideTile), {tile, cost}};
  if (Rows image = countRows(sliding, isLeft ? dims.m : dims.n, sideTile); image.count)
    fill(sliding, WindowReads(sliding, image, problem, tile, device), sliding.tap, step, room);
  if (hasPricedPlaces(sliding, problem, tile))
    fill(sliding, WindowReads(sliding, problem, tile, device), std::nullopt, step, room);
}

void WindowSearch::fill(const Sliding &sliding, const WindowReads &reads, std::optional<unsigned> tap, WindowStep step,
                        int64_t room) {
  step.tap = tap;
  step.choice.tile.stages = std::min(room / reads.all(), mostStages);
  if (step.choice.tile.stages >= leastStages)
    offer(sliding, reads, std::move(step));
}

void WindowSearch::offer(const Sliding &sliding, const WindowReads &reads, WindowStep step) {
  // Pairs wait for each other. Of whole lines ten took 0.96 to 1.36 times as long as CTAs alone, of others six 0.72 to
  // 0.98 times (docs/notes/window-pairs.md).
  GemmTile &tile = step.choice.tile;
  GemmCost &cost = step.choice.cost;
  bool isLeft = sliding.isLeft;
  SmallVector<int64_t> other = isLeft ? splitTile(problem.nExtents, tile.n, problem.leastInnerN)
                                      : splitTile(problem.mExtents, tile.m, problem.leastInnerM);
  ArrayRef<int64_t> mTile = isLeft ? step.sideTile : other, nTile = isLeft ? other : step.sideTile;
  WindowPairs alone{1, 1, problem.batch * countTiles(problem.mExtents, mTile) * countTiles(problem.nExtents, nTile)};
  double storeFactor = getStoreFactor(problem, nTile, isOdd, device);
  double seconds = estimateSteps(reads, alone, problem, tile, storeFactor, device);
  cost.tiles = alone.tiles;
  cost.ctasPerSm = 1;
  if (std::optional<WindowPairs> pairs = findPairs(sliding, reads, problem, mTile, nTile); pairs && reads.straddles) {
    double paired = device.windows.paired * estimateSteps(reads, *pairs, problem, tile, storeFactor, device);
    if (paired < seconds)
      seconds = paired, cost.tiles = pairs->tiles, tile.multicast = 2;
  }
  seconds += getPartialSectors(problem, nTile, isOdd, device);
  // Of equal ones that which has the fewest waits by estimateGemm.
  bool isEqual = found && seconds < least * 1.001 && cost.seconds < found->choice.cost.seconds;
  if (seconds >= least * 0.999 && !isEqual)
    return;
  least = seconds;
  found = std::move(step);
}

std::optional<WindowStep> chooseWindowStep(const KernelToSchedule &kernel, const ProductDims &dims,
                                           const GemmProblem &problem, const GemmChoice &best, const Device &device) {
  SmallVector<Sliding> slidings = findSliding(kernel, dims);
  if (slidings.empty() || problem.only || problem.onlyK || problem.lhsWork + problem.rhsWork > 0)
    return std::nullopt;
  // Of fewer rows than the instruction has, where the prices of the engines differ by less than half of what a kernel
  // costs beside its work, mma.sync: small images took warpgroups about as much longer than their price
  // (docs/notes/window-tiles.md).
  constexpr int64_t instructionRows = 64;
  const double unknownSeconds = device.kernelSeconds() / 2;
  bool isOdd = hasOddRows(kernel);
  double least = best.cost.seconds - (problem.m < instructionRows ? unknownSeconds : 0);
  if (best.tile.engine == tg::Engine::Wgmma && best.tile.split == 1)
    least = estimateSteps(
        WindowReads(slidings.front(), problem, best.tile, device), {1, 1, best.cost.tiles}, problem, best.tile,
        getStoreFactor(problem, splitTile(problem.nExtents, best.tile.n, problem.leastInnerN), isOdd, device), device);
  WindowSearch search(dims, problem, device, isOdd, least);
  forEachTile(problem, device, [&](const GemmTile &tile) {
    if (tile.stages != 2 || !mayShare(problem, tile))
      return;
    if (GemmCost cost = estimateGemm(problem, tile, device); cost.fits)
      for (const Sliding &sliding : slidings)
        search.visit(sliding, tile, cost);
  });
  if (search.found)
    search.found->choice.cost.seconds = search.least;
  return search.found;
}

std::optional<double> estimateWindowStep(const KernelToSchedule &kernel, const ProductDims &dims,
                                         const GemmProblem &problem, tg::ScheduleAttr schedule, const GemmTile &tile,
                                         const Device &device) {
  SmallVector<Sliding> slidings = findSliding(kernel, dims);
  if (slidings.empty() || !mayShare(problem, tile))
    return std::nullopt;
  auto tileOf = [&](ArrayRef<unsigned> side) {
    return llvm::map_to_vector(side, [&](unsigned d) { return schedule.getTile()[d]; });
  };
  SmallVector<int64_t> mTile = tileOf(dims.m), nTile = tileOf(dims.n);
  WindowPairs alone{1, 1, problem.batch * countTiles(problem.mExtents, mTile) * countTiles(problem.nExtents, nTile)};
  auto estimate = [&](const Sliding &sliding, const WindowReads &reads) {
    std::optional<WindowPairs> pairs;
    if (tile.multicast > 1)
      pairs = findPairs(sliding, reads, problem, mTile, nTile);
    return estimateSteps(reads, pairs.value_or(alone), problem, tile,
                         getStoreFactor(problem, nTile, hasOddRows(kernel), device), device);
  };
  for (const Sliding &sliding : slidings) {
    if (schedule.getStream()[llvm::find(dims.k, sliding.tap) - dims.k.begin()] != sliding.taps)
      continue;
    if (Rows image = countRows(sliding, sliding.isLeft ? dims.m : dims.n, sliding.isLeft ? mTile : nTile); image.count)
      return estimate(sliding, WindowReads(sliding, image, problem, tile, device));
  }
  if (!hasPricedPlaces(slidings.front(), problem, tile))
    return std::nullopt;
  return estimate(slidings.front(), WindowReads(slidings.front(), problem, tile, device));
}

} // namespace weft::plan
