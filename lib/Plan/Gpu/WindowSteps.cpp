// Steps of several places of a window: which there are, and what they save.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WindowSteps.h"
#include "GemmTiles.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace weft::plan {

static constexpr int64_t leastStages = 3, mostStages = 5;

namespace {

/// A dimension of a window, and the one of the result that it slides along.
struct Sliding {
  unsigned tap, place;
  bool isLeft;
  int64_t taps, distance; ///< Places of the window, and rows of the image from one to the next.
  int64_t step;           ///< Rows of the image from one place of the result to the next.
};

/// Rows of the image in one step, and places of each.
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

/// Rows that all taps of `own` places have: taps that lie a multiple of the step apart share rows.
static int64_t countSharedRows(const Sliding &sliding, int64_t own) {
  llvm::SmallMapVector<int64_t, int64_t, 4> last; // By what is left of the tap's place, of those that came so far.
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

/// A step of one place of a window or of several: what it takes of the operand that windows slide over, and of the
/// other one.
struct WindowBytes {
  int64_t taps, windows, others;
  double fetched; ///< What the L2 takes for as many.

  /// Of all taps, in which the image has `rows`.
  WindowBytes(const Sliding &sliding, const Rows &rows, const GemmProblem &problem, const GemmTile &tile)
      : WindowBytes(sliding, sliding.taps, rows.count * rows.places, problem, tile) {}
  /// Of one.
  WindowBytes(const Sliding &sliding, const GemmProblem &problem, const GemmTile &tile)
      : WindowBytes(sliding, 1, sliding.isLeft ? tile.m : tile.n, problem, tile) {}

  int64_t all() const { return windows + others; }

private:
  WindowBytes(const Sliding &sliding, int64_t taps, int64_t places, const GemmProblem &problem, const GemmTile &tile)
      : taps(taps), windows(tile.k * places * (sliding.isLeft ? problem.lhsBytes : problem.rhsBytes)),
        others(tile.k * taps * (sliding.isLeft ? tile.n * problem.rhsBytes : tile.m * problem.lhsBytes)) {
    int64_t alignment = sliding.isLeft ? problem.lhsAlignment : problem.rhsAlignment;
    int64_t elementBytes = sliding.isLeft ? problem.lhsBytes : problem.rhsBytes;
    // Windows slide over what is contiguous along the depth (findSliding). Rows of 952 and 488 channels, which begin
    // inside of lines, came at 33 bytes a clock and SM, of 768, 64 and 1024 at 44 to 47; so do all operands of 952
    // channels where the image has 960 (H100).
    constexpr double linePart = 0.4;
    constexpr int64_t line = 128;
    int64_t straddling = std::max<int64_t>(std::min(tile.k * elementBytes, line) - alignment, 0);
    fetched = double(all()) * (1 + linePart * double(straddling) / double(line));
  }
};

/// Seconds of `tiles` in such steps. A step takes what the matrix unit or the L2 does, and its share of the latency of
/// what is under way: slots are given back a step late, so one of them is not. On an H100 steps of three places take
/// 1,870 clocks (64 x 256 places by 64, three stages), 1,990 (conv3d), 780 (64 x 64, five stages), 1,040 (64 x 128,
/// four) and, with two stages, 2,425; single places 1,130 (64 x 256, four stages) and 1,430 (128 x 256, three).
static double estimateSteps(const WindowBytes &bytes, const GemmProblem &problem, const GemmTile &tile, int64_t tiles,
                            const Device &device) {
  constexpr double loadLatency = 900, stepClocks = 40, fillClocks = 1500, drainClocks = 500, storeWork = 8;
  constexpr double pieceBytes = 64, lanes = 128;
  double rowBytes = double(tile.k * std::max(problem.lhsBytes, problem.rhsBytes));
  double active = std::min<double>(double(tiles), device.sms), l2 = 2.0 * double(device.l2BytesPerClock) / active;
  double rate = std::min(l2, device.sharedBytesPerClock / 2.0) * std::sqrt(std::min(rowBytes, pieceBytes) / pieceBytes);
  double matrix =
      double(bytes.taps) * 2.0 * double(tile.m * tile.n * tile.k) / flopsPerClock(problem, tile.engine, device);
  double fetch = bytes.fetched / rate;
  double step = std::max(matrix, fetch) + loadLatency / double(std::max<int64_t>(tile.stages - 1, 1)) + stepClocks;
  double steps = double(llvm::divideCeil(problem.k, tile.k) * problem.taps) / double(bytes.taps);
  double ends = fillClocks + drainClocks + fetch +
                double(tile.m * tile.n) * (storeWork / lanes + double(problem.resultBytes) / l2);
  double perSm = double(llvm::divideCeil(tiles, int64_t(device.sms)));
  double seconds = (perSm * (steps * step + ends / 2) + ends / 2) / device.clock;
  if (padded(tile).n != tile.n)
    seconds *= narrowFactor;
  double depth = double(problem.k), lhs = double(problem.m * problem.lhsBytes),
         rhs = double(problem.n * problem.rhsBytes);
  double dram = (depth * (lhs + rhs) + double(problem.m) * double(problem.n) * double(problem.resultBytes)) /
                device.memoryBandwidth;
  return std::max(seconds, dram) + 0.15 * std::min(seconds, dram) + device.launchSeconds;
}

/// Whether taps of such a tile can be in one step: of whole panels, or of shorter ones where these cover an eighth less
/// beyond the depth.
static bool mayShare(const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t panelBytes = 128;
  int64_t panel = panelBytes / std::max(problem.lhsBytes, problem.rhsBytes), whole = llvm::alignTo(problem.k, panel);
  bool isWhole = tile.k == panel || (tile.k < panel && int64_t(llvm::alignTo(problem.k, tile.k)) <= whole - whole / 8);
  return tile.engine == tg::Engine::Wgmma && tile.split == 1 && tile.multicast == 1 && problem.products == 1 && isWhole;
}

/// Tiles of `elements` along the side whose outer dimensions have one place, as many as `rows` along that of the
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

static int64_t countTiles(ArrayRef<int64_t> extents, ArrayRef<int64_t> tile) {
  int64_t count = 1;
  for (auto [whole, part] : llvm::zip_equal(extents, tile))
    count *= int64_t(llvm::divideCeil(whole, part));
  return count;
}

/// Whether rows of the kernel's result start at any element: they leave in pieces of lines (weft-tk-layouts), or of
/// what an accumulator's threads hold.
static bool hasOddRows(const KernelToSchedule &kernel) {
  func::FuncOp func = kernel.func;
  auto type = cast<RankedTensorType>(func.getBody().front().getTerminator()->getOperand(0).getType());
  tg::Dims dims = tg::getDims(type);
  std::optional<int64_t> row = dims.empty() ? std::nullopt : tg::getConstant(dims.back());
  return row && *row % 2 && tg::getElementBits(type.getElementType()) < 32;
}

/// Seconds that narrow pieces of the result's rows take longer to store. Of odd rows, pieces shorter than lines leave
/// by two places, sectors of their own, which take the L2 as long as two whole ones.
static double getNarrowStores(const GemmProblem &problem, int64_t inner, int64_t leastInner, bool isOdd,
                              const Device &device) {
  constexpr int64_t sectorBytes = 32, lineBytes = 64, pieces = 4;
  double elements = double(problem.m) * double(problem.n);
  if (isOdd && inner * problem.resultBytes < lineBytes)
    return elements / double(pieces) * double(2 * sectorBytes) / device.l2BytesPerSecond();
  if (inner >= leastInner)
    return 0;
  return elements * double(problem.resultBytes) * (double(leastInner) / double(inner) - 1) / device.memoryBandwidth;
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

  const ProductDims &dims;
  const GemmProblem &problem;
  const Device &device;
  bool isOdd; ///< Rows of the result.
};

} // namespace

/// The same tile with no more rows along the window's dimension than its tiles need there; empty if that is the same.
/// Places of columns end where the tile does: they are those of an instruction.
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
  constexpr int64_t leastPlaces = 8;
  bool isLeft = sliding.isLeft;
  ArrayRef<unsigned> side = isLeft ? dims.m : dims.n;
  ArrayRef<int64_t> extents = isLeft ? problem.mExtents : problem.nExtents;
  int64_t elements = isLeft ? tile.m : tile.n, leastInner = isLeft ? problem.leastInnerM : problem.leastInnerN;
  // Results pass through shared memory on their way to another layout.
  int64_t room = int64_t(device.sharedPerCta) - (cost.room.shared - tile.stages * countBytes(problem, tile)) -
                 tile.m * tile.n * problem.resultBytes;
  for (int64_t rows = 1; rows <= elements; rows *= 2) {
    SmallVector<int64_t> sideTile =
        splitSide(sliding, side, extents, elements, rows, std::min(leastInner, leastPlaces));
    bool isGiven = isLeft ? problem.onlyM : problem.onlyN; // Of what is reduced in parts.
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
  Rows image = countRows(sliding, isLeft ? dims.m : dims.n, sideTile);
  WindowBytes bytes(sliding, image, problem, tile);
  tile.stages = image.count ? std::min(room / bytes.all(), mostStages) : 0;
  if (tile.stages < leastStages)
    return;
  ArrayRef<int64_t> extents = isLeft ? problem.mExtents : problem.nExtents;
  int64_t others =
      problem.batch * int64_t(isLeft ? llvm::divideCeil(problem.n, tile.n) : llvm::divideCeil(problem.m, tile.m));
  WindowStep step{sliding.tap, isLeft, SmallVector<int64_t>(sideTile), {tile, cost}};
  step.choice.cost.tiles = others * countTiles(extents, sideTile);
  step.choice.cost.ctasPerSm = 1;
  double seconds =
      estimateSteps(bytes, problem, tile, step.choice.cost.tiles, device) +
      getNarrowStores(problem, sideTile.back(), isLeft ? problem.leastInnerM : problem.leastInnerN, isOdd, device);
  // Of equal ones that which has the fewest waits by estimateGemm.
  bool isEqual = found && seconds < least * 1.001 && cost.seconds < found->choice.cost.seconds;
  if (seconds >= least * 0.999 && !isEqual)
    return;
  least = seconds;
  found = step;
}

std::optional<WindowStep> chooseWindowStep(const KernelToSchedule &kernel, const ProductDims &dims,
                                           const GemmProblem &problem, const GemmChoice &best, const Device &device) {
  SmallVector<Sliding> slidings = findSliding(kernel, dims);
  if (slidings.empty() || problem.only || problem.onlyK || problem.lhsWork + problem.rhsWork > 0)
    return std::nullopt;
  // Of fewer rows than the instruction has, where the prices of the engines differ by less than half of what a kernel
  // costs beside its work, mma.sync: small images took warpgroups about as much longer than their price
  // (bench/results/2026-11-23-window-tiles-h100.md).
  constexpr int64_t instructionRows = 64;
  const double unknownSeconds = device.kernelSeconds() / 2;
  double least = best.cost.seconds - (problem.m < instructionRows ? unknownSeconds : 0);
  if (best.tile.engine == tg::Engine::Wgmma && best.tile.split == 1 && best.tile.multicast == 1)
    least =
        estimateSteps(WindowBytes(slidings.front(), problem, best.tile), problem, best.tile, best.cost.tiles, device);
  WindowSearch search(dims, problem, device, hasOddRows(kernel), least);
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
  for (const Sliding &sliding : findSliding(kernel, dims)) {
    if (!mayShare(problem, tile) ||
        schedule.getStream()[llvm::find(dims.k, sliding.tap) - dims.k.begin()] != sliding.taps)
      continue;
    auto tileOf = [&](ArrayRef<unsigned> side) {
      return llvm::map_to_vector(side, [&](unsigned d) { return schedule.getTile()[d]; });
    };
    Rows image = countRows(sliding, sliding.isLeft ? dims.m : dims.n, tileOf(sliding.isLeft ? dims.m : dims.n));
    int64_t tiles =
        problem.batch * countTiles(problem.mExtents, tileOf(dims.m)) * countTiles(problem.nExtents, tileOf(dims.n));
    if (image.count)
      return estimateSteps(WindowBytes(sliding, image, problem, tile), problem, tile, tiles, device);
  }
  return std::nullopt;
}

} // namespace weft::plan
