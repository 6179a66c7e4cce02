// The price of a contraction's tile, and the search over all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/GemmModel.h"
#include "weft/Target/Slices.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using llvm::ArrayRef, llvm::SmallVector;

namespace weft::plan {

/// Clocks until a copy from L2 or DRAM is there, to fill the pipeline of a tile and to end one.
static constexpr double loadLatency = 900, fillClocks = 1500, drainClocks = 500;
/// Weights of a computed operand are asked for by the step that needs them, and come from DRAM: for each step after the
/// first. On an H100 depthwise windows in front of 14 x 14 x 384, 576 and 7 x 7 x 960 places of bf16 add 3.3, 5.2 and
/// 7.2 us to the product (2, 3 and 4 steps), 2.1 us as a kernel. FMA products are slow enough to hide it.
static constexpr double coldClocks = 1500;
/// What a step costs beside its work: waiting at the barrier for the slowest warp, index arithmetic.
static constexpr double stepClocks = 40;
/// What DRAM takes longer for rows that are read 128 bytes at a time than for 256 and more (16 x 28672 x 4096 on an
/// H100: 0.096 ms against 0.092), and up to which extent of the other side that decides.
static constexpr double pieceFactor = 1.06, idleFactor = 1.03;
static constexpr int64_t skinny = 32;

namespace {

/// The search of splitTile, from the last dimension on.
struct TileSplit {
  ArrayRef<int64_t> extents;
  int64_t leastInner;
  SmallVector<int64_t> tile, best;
  int64_t fewest = INT64_MAX;

  void search(size_t dims, int64_t left, int64_t tiles, bool isInnermost) {
    if (tiles >= fewest)
      return;
    if (dims == 0) {
      if (left == 1) {
        best = tile;
        fewest = tiles;
      }
      return;
    }
    size_t d = dims - 1;
    int64_t most = std::min<int64_t>(left, llvm::PowerOf2Ceil(extents[d]));
    bool isInner = isInnermost && extents[d] > 1;
    int64_t least = isInner ? std::min(most, leastInner) : 1;
    for (tile[d] = most; tile[d] >= least; tile[d] /= 2)
      search(d, left / tile[d], tiles * int64_t(llvm::divideCeil(extents[d], tile[d])), isInnermost && !isInner);
  }
};

struct Rates {
  double flopsPerClock = 0; ///< Of an SM.
  double l2BytesPerClock = 0;
};

} // namespace

SmallVector<int64_t> splitTile(ArrayRef<int64_t> extents, int64_t elements, int64_t leastInner) {
  int64_t all = 1; // What one tile of everything takes; more pads the innermost dimension.
  for (int64_t extent : extents)
    all = std::min<int64_t>(all * int64_t(llvm::PowerOf2Ceil(std::min<int64_t>(extent, elements))), elements);
  TileSplit split{extents, leastInner, SmallVector<int64_t>(extents.size(), 1), {}};
  split.search(extents.size(), std::min(all, elements), 1, /*isInnermost=*/true);
  SmallVector<int64_t> tile = split.best.empty() ? SmallVector<int64_t>(extents.size(), 1) : split.best;
  size_t inner = extents.size();
  while (inner-- > 1 && extents[inner] == 1)
    ;
  if (!extents.empty())
    tile[inner] *= elements / std::min(all, elements);
  return tile;
}

/// Tiles of `elements` along a side.
static int64_t countTiles(int64_t extent, ArrayRef<int64_t> extents, int64_t elements, int64_t leastInner) {
  if (extents.size() < 2)
    return llvm::divideCeil(extent, elements);
  int64_t count = 1;
  for (auto [whole, part] : llvm::zip_equal(extents, splitTile(extents, elements, leastInner)))
    count *= int64_t(llvm::divideCeil(whole, part));
  return count;
}

static Rates ratesOf(const GemmProblem &problem, tg::Engine engine, const Device &device) {
  Rates rates;
  const MatrixRates &matrix = engine == tg::Engine::Wgmma ? device.matrix : device.mmaSync;
  if (engine == tg::Engine::Simt) // f64 outside the matrix units.
    rates.flopsPerClock =
        problem.type == GemmType::F64 ? device.f32PerClock / double(device.can.f64Shares) : device.f32PerClock;
  else
    rates.flopsPerClock = problem.type == GemmType::S8     ? matrix.i8
                          : problem.type == GemmType::Tf32 ? matrix.tf32
                                                           : matrix.f16;
  // Neighbouring SMs that read one panel at a time share the request on sm_90: gemm_sm90_c1 moves 8.7 TB/s at 4096^3.
  rates.l2BytesPerClock = double(device.l2BytesPerClock) / device.sms * (device.hasWgmma() ? 2 : 1);
  return rates;
}

/// Groups of warps that share each step of a tile (weft-tk-slice-steps).
static int64_t slicesOf(const GemmProblem &problem, const GemmTile &tile) {
  if (tile.engine != tg::Engine::Mma || problem.lhsWork + problem.rhsWork > 0)
    return 1; // Windows have registers for no more sums.
  int64_t steps = llvm::divideCeil(llvm::divideCeil(problem.k, tile.k) * problem.taps, tile.split);
  int64_t stepBytes = tile.k * std::max(problem.lhsBytes, problem.rhsBytes);
  return gpu::countSlices(tile.m, tile.n, stepBytes, stepBytes * steps, tile.warps);
}

/// Bytes of shared memory that the matrix pipe (or the FMA units) read for one step.
static double sharedReads(const GemmProblem &problem, const GemmTile &tile) {
  double lhs = double(tile.m * tile.k * problem.lhsBytes * problem.products);
  double rhs = double(tile.k * tile.n * problem.rhsBytes * problem.products);
  if (tile.engine == tg::Engine::Wgmma) // Each warpgroup reads its 64 rows and all columns.
    return lhs + rhs * double(tile.m) / 64;
  // Warps of a slice in the most nearly square grid: each reads its rows and columns.
  int64_t rows = 1, warps = tile.warps / slicesOf(problem, tile);
  while (rows * rows * 4 <= warps && tile.m / (rows * 2) >= 16)
    rows *= 2;
  while (warps / rows > std::max<int64_t>(tile.n / 8, 1))
    rows *= 2;
  return lhs * double(std::max<int64_t>(warps / rows, 1)) + rhs * double(rows);
}

/// Registers of a thread.
static double registersOf(const GemmProblem &problem, const GemmTile &tile) {
  double accumulator = double(tile.m * tile.n * slicesOf(problem, tile)) / double(tile.warps * 32);
  if (problem.type == GemmType::F64)
    accumulator *= 2;
  double working = tile.engine == tg::Engine::Wgmma ? 40 : 64;
  // The sum of a computed element, and two of what it is summed up of under way.
  double computed = double((problem.lhsWork > 0 ? tile.m * tile.k : 0) + (problem.rhsWork > 0 ? tile.n * tile.k : 0));
  working += 3 * computed / double(tile.warps * 32);
  if (problem.onlyK) // All elements of a step are under way.
    working += double((tile.m + tile.n) * tile.k) / double(tile.warps * 32);
  return accumulator * (double(problem.products) + problem.epilogueRegisters + problem.heldRegisters) + working;
}

/// Clocks of an SM to compute the elements of one step's operands, whose warps keep a quarter of the lanes busy each.
static double computingClocks(const GemmProblem &problem, const GemmTile &tile) {
  constexpr double lanesOfWarp = 32;
  double work = double(tile.k) * (double(tile.m) * problem.lhsWork + double(tile.n) * problem.rhsWork);
  return work / (lanesOfWarp * std::min<double>(double(tile.warps), 4));
}

/// Clocks of what a tile's warps do with each sum, 32 lanes a quarter of the SM: a conversion, a way through shared
/// memory and a store. (12,544 x 96 x 16 on an H100: 64 x 64 by two warps 4.2 us, 64 x 32 by four 2.5.)
static double storeClocksOf(const GemmProblem &problem, const GemmTile &tile) {
  constexpr double storeWork = 8, lanesOfWarp = 32;
  return double(tile.m * tile.n * problem.products) * storeWork /
         (lanesOfWarp * std::min<double>(double(tile.warps), 4));
}

/// Bytes of the operands of one step.
static int64_t stepBytesOf(const GemmProblem &problem, const GemmTile &tile) {
  return tile.k * (tile.m * problem.lhsBytes * problem.lhsTensors + tile.n * problem.rhsBytes * problem.rhsTensors);
}

/// Registers of a CTA. Beside one warpgroup of consumers the producers keep what they start with; beside more they give
/// up all but 40 a thread (weft-tk-roles).
static double fileOf(const GemmTile &tile, double registers) {
  double threads = double(tile.warps * 32), rounded = std::ceil(registers / 8) * 8;
  if (tile.engine != tg::Engine::Wgmma)
    return rounded * threads;
  return rounded * threads + 128 * (tile.warps > 4 ? 40 : rounded);
}

static int64_t sharedOf(const GemmProblem &problem, const GemmTile &tile) {
  int64_t bytes = tile.stages * stepBytesOf(problem, tile) + 1024; // Barriers, and alignment of the first buffer.
  if (int64_t slices = slicesOf(problem, tile); slices > 1)        // In the place of the operands.
    bytes = std::max(bytes, slices * tile.m * tile.n * 4);
  if (tile.engine == tg::Engine::Wgmma) // What the epilogue reads lies beside the operands (weft-tk-stage).
    bytes += int64_t(problem.epilogueRegisters * 4 * double(tile.m * tile.n));
  if (tile.split > 1) // Results pass through a slot each warpgroup; else what the CTAs send each other has a place.
    bytes += tile.engine == tg::Engine::Wgmma ? tile.warps / 4 * 64 * 128 : tile.m * tile.n * 4 * problem.products;
  return bytes;
}

/// Bytes from DRAM: all once if the operands fit the L2 (with room for what streams through), else panels by wave.
static double dramBytes(const GemmProblem &problem, const GemmTile &tile, int64_t wave, const Device &device) {
  double depth = double(problem.k * problem.taps);
  double lhs = double(problem.m) * depth * double(problem.lhsBytes * problem.lhsTensors);
  double rhs = double(problem.n) * depth * double(problem.rhsBytes * problem.rhsTensors);
  double result = double(problem.m) * double(problem.n) * double(problem.resultBytes);
  if (lhs + rhs <= 0.6 * double(device.l2Bytes))
    return double(problem.batch) * (lhs / double(problem.taps) + rhs + result);
  double rows = double(llvm::divideCeil(problem.m, tile.m)), cols = double(llvm::divideCeil(problem.n, tile.n));
  // A wave of r x c tiles reads r row panels and c column panels; r * m = c * n reads least.
  double inWave = std::min<double>(double(wave), rows * cols);
  double r = std::clamp(std::sqrt(inWave * double(tile.n) / double(tile.m)), 1.0, rows);
  double c = std::clamp(inWave / r, 1.0, cols);
  r = std::clamp(inWave / c, 1.0, rows);
  double waves = rows * cols / (r * c);
  double reads = waves * (r * lhs / rows + c * rhs / cols);
  return double(problem.batch) * (std::max(reads, lhs / double(problem.taps) + rhs) + result);
}

/// What slices of a step cost beside their bytes: two barriers and a way through shared memory.
static constexpr double sliceClocks = 120;
static constexpr int64_t mostSplit = 4, mostRowShares = 8, mostMulticast = 2;

/// What each CTA sends when the CTAs of a cluster add their sums: all but its own part, in f32.
static int64_t sentBytes(const GemmProblem &problem, const GemmTile &tile) {
  return tile.m * tile.n * problem.products * 4 / tile.split * (tile.split - 1);
}

/// Whether warps without a warpgroup's instructions can share the steps of a tile among CTAs, each of which then has a
/// share of the rows. Where steps do not compute their operands, fewer tiles than SMs, and clusters: others were not
/// measured.
static bool canSplitRows(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device) {
  int64_t steps = llvm::divideCeil(problem.k, tile.k) * problem.taps;
  bool computes = problem.lhsWork + problem.rhsWork > 0, hasClusters = device.maxCluster > 1;
  if ((!computes && (!hasClusters || tiles >= int64_t(device.sms))) ||
      (hasClusters && tile.split > int64_t(device.maxCluster)))
    return false;
  bool isDot = tile.engine != tg::Engine::Simt || std::min(tile.m, tile.n) >= 16; // Thin ones are no loop of dots.
  // Steps that compute their operands wait for what they load: one more is a wait more, which the price has not (with
  // uneven shares of them MobileNetV2 takes 118.1 us instead of 114.8, EfficientNet-B0 225 instead of 219, H100).
  bool isEven = steps % tile.split == 0 || (problem.taps == 1 && problem.k % tile.k != 0);
  return problem.allowRowShares && isDot && tile.m % tile.split == 0 && steps >= 2 && 2 * steps > tile.split &&
         (isEven || (!computes && problem.taps == 1));
}

/// SMs that CTAs find.
static int64_t countSms(const GemmTile &tile, const Device &device) {
  return device.maxCluster > 1 && tile.split > 2 ? device.clusteredSms : device.sms;
}

/// Whether `split` CTAs can share a tile: a share of whole blocks of 64 rows and 128 bytes, a step for each, room for
/// what they send in the buffers of an operand, one wave.
static bool canSplit(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device) {
  if (tile.engine != tg::Engine::Wgmma)
    return canSplitRows(problem, tile, tiles, device);
  if (tile.split > int64_t(device.maxCluster))
    return false;
  int64_t buffer = tile.stages * tile.k * std::max(tile.m * problem.lhsBytes, tile.n * problem.rhsBytes);
  int64_t share = tile.m * tile.n / (tile.warps * 32 * tile.split);
  return problem.allowSplit && share * problem.resultBytes % 64 == 0 && problem.k >= tile.k * tile.split &&
         sentBytes(problem, tile) <= buffer && tiles * tile.split <= countSms(tile, device);
}

/// Tiles of rows and of columns.
static std::pair<int64_t, int64_t> countSides(const GemmProblem &problem, const GemmTile &tile) {
  return {countTiles(problem.m, problem.mExtents, tile.m, problem.leastInnerM),
          countTiles(problem.n, problem.nExtents, tile.n, problem.leastInnerN)};
}

/// Of long launches whose CTAs all start together (measured with 512x4096x14336 in tiles of 128x128 on an H100, 512
/// clocks of products a step):
/// * requests for a panel merge on their way to L2 if its readers start side by side: 14.0 million sectors, else 22.2;
/// * TMA writes to shared memory beside wgmma's reads: 528 clocks a step whether its 32 KiB come or not, so 256 bytes;
/// * an instruction waits for the one before it if that adds to the same registers, is short, and its warpgroup has no
///   others: 558 clocks by two warpgroups of 64 rows, 528 by one of 128.
static constexpr double waveMerge = 1.6, tmaBytesPerClock = 256, chainClocks = 8;
static constexpr int64_t shortColumns = 128, longRowBytes = 1 << 14;

/// Clocks of a step that its warpgroups wait for their own instructions.
static double chainClocksOf(const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t depthBytes = 32; // Of an instruction.
  int64_t groups = tile.warps / 4, rowGroups = std::min(groups, std::max<int64_t>(tile.m / 64, 1));
  int64_t columns = tile.n * rowGroups / groups, sums = tile.m / (64 * rowGroups) * problem.products;
  return sums > 1 || columns > shortColumns ? 0 : chainClocks * double(tile.k * problem.lhsBytes / depthBytes);
}

/// Clocks of a step that a warp of mma.sync takes alone, one thing after the other: its copies (addresses, where there
/// are taps masks, too), what it reads first of shared memory, and instructions along k, each of which waits for the
/// one before it or, where the warp has several sums, for the pipe of its quarter. An H100, 2 warps: 128x768x768 in
/// 32x32 by 64 380 clocks, 128x768x3072 in 64x64 by 64 1,060; 3x3 windows in 32x32 by 64 480.
static double chainClocksOfWarp(const GemmProblem &problem, const GemmTile &tile) {
  constexpr double instructionBytes = 32, mmaLatency = 33, mmaIssue = 7, sharedLatency = 60;
  double copyBytes = problem.onlyK ? double(std::min(problem.lhsBytes, problem.rhsBytes)) : 16;
  double copyClocks = problem.taps > 1 ? 30 : 20;
  int64_t slices = slicesOf(problem, tile), warps = tile.warps / slices;
  double depth = double(tile.k * std::max(problem.lhsBytes, problem.rhsBytes)) / double(slices) / instructionBytes;
  double sums = double(tile.m * tile.n * problem.products) / double(16 * 8 * warps);
  double copies = double(stepBytesOf(problem, tile)) / (copyBytes * 32 * double(tile.warps));
  return sharedLatency + stepClocks + (problem.onlyK ? loadLatency : 0) +
         depth * std::max(mmaLatency, mmaIssue * std::max(sums, 1.0)) + copies * copyClocks;
}

/// Bytes of one step that come from L2: of what the CTAs of a cluster have in common each reads its part.
static double l2BytesOf(const GemmProblem &problem, const GemmTile &tile, std::pair<int64_t, int64_t> tiles) {
  int64_t common = 0;
  if (tiles.first % tile.multicast == 0)
    common = tile.k * tile.n * problem.rhsBytes * problem.rhsTensors;
  if (tiles.second % tile.multicast == 0)
    common = std::max(common, tile.k * tile.m * problem.lhsBytes * problem.lhsTensors);
  return double(stepBytesOf(problem, tile) - common / tile.multicast * (tile.multicast - 1));
}

/// Whether CTAs side by side can form clusters, and have something in common. Not where all start at once: their
/// requests merge anyway, and 5 products of 128 to 1,536 rows take 1 to 5 % longer with multicasts (H100, 2026-11-22).
static bool canMulticast(const GemmProblem &problem, const GemmTile &tile, std::pair<int64_t, int64_t> tiles,
                         int64_t atOnce) {
  return problem.allowMulticast && tile.engine == tg::Engine::Wgmma && tile.split == 1 &&
         problem.batch * tiles.first * tiles.second > atOnce &&
         l2BytesOf(problem, tile, tiles) < double(stepBytesOf(problem, tile));
}

bool isLongWave(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device) {
  return tile.engine == tg::Engine::Wgmma && tile.split == 1 && tile.multicast == 1 && problem.batch == 1 &&
         tiles <= int64_t(device.sms) && problem.k * problem.taps * problem.lhsBytes >= longRowBytes;
}

int64_t CtaRoom::countCtas(const Device &device) const {
  return std::min({int64_t(device.registersPerSm / registers),
                   int64_t(device.sharedPerSm) / (shared + int64_t(device.sharedReservedPerCta)),
                   int64_t(device.threadsPerSm) / threads, int64_t(device.ctasPerSm)});
}

GemmCost estimateGemm(const GemmProblem &problem, const GemmTile &tile, const Device &device) {
  GemmCost cost;
  double registers = registersOf(problem, tile);
  int64_t threads = tile.warps * 32;
  // A warpgroup of producers runs beside wgmma's consumers.
  cost.room = {fileOf(tile, registers), sharedOf(problem, tile),
               tile.engine == tg::Engine::Wgmma ? threads + 128 : threads};
  if (registers > 0.94 * device.registersPerThread || cost.room.shared > int64_t(device.sharedPerCta) ||
      cost.room.threads > 1024)
    return cost;
  cost.ctasPerSm = cost.room.countCtas(device);
  if (cost.ctasPerSm < 1)
    return cost;
  std::pair<int64_t, int64_t> sides = countSides(problem, tile);
  cost.tiles = problem.batch * sides.first * sides.second;
  if (tile.multicast > 1 && !canMulticast(problem, tile, sides, cost.ctasPerSm * int64_t(device.sms)))
    return cost;
  if (tile.split > 1 && !canSplit(problem, tile, cost.tiles, device))
    return cost;
  cost.fits = true;

  Rates rates = ratesOf(problem, tile.engine, device);
  double steps = double(llvm::divideCeil(llvm::divideCeil(problem.k, tile.k) * problem.taps, tile.split));
  double stepBytes = double(stepBytesOf(problem, tile));
  double matrix = 2.0 * double(problem.products * tile.m * tile.n * tile.k) / rates.flopsPerClock;
  if (tile.engine ==
      tg::Engine::Simt) // A thread with t x t sums loads 2 t operands from shared memory for t^2 products.
    matrix *= 1 + 2 / std::sqrt(double(tile.m * tile.n) / double(threads));
  double fill = stepBytes / device.sharedBytesPerClock, l2 = l2BytesOf(problem, tile, sides) / rates.l2BytesPerClock;
  double stalls = stepClocks, chain = 0;
  // Prices of steps that compute operands were measured without these two.
  bool isPlain = problem.lhsWork + problem.rhsWork == 0;
  if (isPlain && tile.engine == tg::Engine::Mma)
    chain = chainClocksOfWarp(problem, tile);
  if (isLongWave(problem, tile, cost.tiles, device)) {
    fill = stepBytes / tmaBytesPerClock;
    l2 /= waveMerge;
    stalls += chainClocksOf(problem, tile);
  }
  double sharedClocks = sharedReads(problem, tile) / device.sharedBytesPerClock + fill;
  double busiest = std::max({matrix, sharedClocks, l2}) + stalls;
  // Alone on its SM a CTA keeps a quarter of the pipes busy with each warp, and waits for its own copies.
  double alone = std::max({busiest, matrix * 4 / std::min<double>(double(tile.warps), 4), chain});
  double waiting = loadLatency / double(std::max<int64_t>(tile.stages - 1, 1));
  double latency = std::max(alone, waiting);
  if (double computing = computingClocks(problem, tile); computing > 0) { // Loads, arithmetic, a barrier, products.
    busiest += computing;
    latency += computing + loadLatency;
    if (tile.engine == tg::Engine::Mma)
      latency += coldClocks * (steps - 1) / steps;
  }

  int64_t tilesPerSm = llvm::divideCeil(cost.tiles * tile.split, countSms(tile, device));
  int64_t resident = std::min(cost.ctasPerSm, tilesPerSm);
  int64_t rounds = llvm::divideCeil(tilesPerSm, cost.ctasPerSm);
  double storeClocks = double(tile.m * tile.n * problem.resultBytes) / rates.l2BytesPerClock;
  double ends = fillClocks + drainClocks + storeClocks;
  if (isPlain)
    ends += storeClocksOf(problem, tile);
  if (int64_t slices = slicesOf(problem, tile); slices > 1) // Stored, and loaded again by those who add them up.
    ends += sliceClocks + 2 * double(slices * tile.m * tile.n * problem.products * 4) / device.sharedBytesPerClock;
  if (tile.split > 1 && device.maxCluster > 1) // The CTAs meet, and what all of an SM send takes its way.
    ends += 2 * double(device.clusterClocks) + device.mergeClocks +
            double(resident * sentBytes(problem, tile)) / device.mergeBytesPerClock;
  else if (tile.split > 1) // Through the L2, which CTAs of an SM reach side by side.
    ends += device.mergeClocks + double(sentBytes(problem, tile)) / device.mergeBytesPerClock;
  if (tile.multicast > 1) // They meet; the last slot's way back.
    ends += 2 * double(device.clusterClocks);
  // Producers of wgmma run ahead into the next tile; CTAs beside hide each other's ends.
  double hidden = tile.engine == tg::Engine::Wgmma ? 2 : double(resident);
  double throughput = double(tilesPerSm) * (steps * busiest + ends / hidden);
  double waits = double(rounds) * (steps * latency + ends);
  double clocks = std::max(throughput, waits);
  double dram = dramBytes(problem, tile, cost.ctasPerSm * device.sms, device) / device.memoryBandwidth;
  bool largerIsLeft = problem.m > problem.n;
  int64_t piece = problem.contiguousAlongK ? tile.k : largerIsLeft ? tile.m : tile.n;
  if (std::min(problem.m, problem.n) <= skinny && piece * (largerIsLeft ? problem.lhsBytes : problem.rhsBytes) < 256)
    dram *= pieceFactor;
  if (cost.tiles < int64_t(device.sms)) // Fewer SMs ask for less at a time.
    dram *= idleFactor;
  double seconds = clocks / device.clock;
  // The lesser of the two is not hidden entirely.
  cost.seconds = std::max(seconds, dram) + 0.15 * std::min(seconds, dram) + device.launchSeconds;
  cost.bound = dram > seconds                         ? "dram"
               : waits > throughput                   ? "latency"
               : matrix >= std::max(sharedClocks, l2) ? "matrix"
               : l2 >= sharedClocks                   ? "l2"
                                                      : "shared";
  return cost;
}

/// Of a launch whose CTAs are all there at once, steps under way in what shared memory is left: under load DRAM answers
/// later than loadLatency. Of 179 pairs of tiles of 16 to 197 rows on an H100, six stages take 0.96 times as long as
/// three in the median, 0.64 to 1.11; where they keep CTAs waiting, 1.21 times.
static void addStages(const GemmProblem &problem, const Device &device, GemmChoice &choice) {
  constexpr int64_t most = 6;
  if (choice.tile.engine == tg::Engine::Simt)
    return;
  GemmTile tile = choice.tile;
  int64_t steps = llvm::divideCeil(llvm::divideCeil(problem.k, tile.k) * problem.taps, tile.split);
  for (++tile.stages; tile.stages <= std::min(most, steps); ++tile.stages) {
    GemmCost cost = estimateGemm(problem, tile, device);
    if (cost.fits && cost.seconds <= choice.cost.seconds &&
        cost.tiles * tile.split <= cost.ctasPerSm * countSms(tile, device))
      choice = {tile, cost};
  }
}

/// Calls `visit` for every tile shape that `engine` knows.
static void forEachTile(const GemmProblem &problem, tg::Engine engine,
                        llvm::function_ref<void(const GemmTile &)> visit) {
  bool simt = engine == tg::Engine::Simt, wgmma = engine == tg::Engine::Wgmma;
  auto limit = [](int64_t extent, int64_t least, int64_t most) {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(extent), least, most);
  };
  // Instruction shapes: wgmma m64 (two warpgroups: 128) n8-256, mma m16n8, one element of an FMA. k: whole 16-byte
  // chunks of 8 rows at least, and 128 bytes at most, the widest swizzle.
  int64_t leastM = simt ? std::min<int64_t>(llvm::PowerOf2Ceil(problem.m), 16) : wgmma ? 64 : 16;
  int64_t leastN = simt ? std::min<int64_t>(llvm::PowerOf2Ceil(problem.n), 16) : wgmma ? 32 : 8;
  int64_t elementBytes = std::max(problem.lhsBytes, problem.rhsBytes);
  int64_t leastK = simt ? 8 : 32 / elementBytes, mostK = std::max<int64_t>(128 / elementBytes, leastK);
  if (engine == tg::Engine::Mma && std::min(problem.m, problem.n) <= skinny && problem.contiguousAlongK)
    mostK *= 2;                              // See pieceFactor.
  if (problem.lhsWork + problem.rhsWork > 0) // Fewer steps that wait.
    mostK *= 4;
  bool isWide = engine == tg::Engine::Mma && !problem.isBeside;
  int64_t mostSliced = isWide ? std::max<int64_t>(mostK, 512 / elementBytes) : mostK;
  if (problem.wholeM)
    leastM = limit(problem.m, leastM, 256);
  int64_t byWarpgroups = problem.allowSplit ? mostSplit : 1, byWarps = problem.allowRowShares ? mostRowShares : 1;
  int64_t mostSplits = wgmma ? byWarpgroups : byWarps;
  for (int64_t m = limit(problem.m, leastM, 256); m >= leastM; m /= 2)
    for (int64_t n = limit(problem.n, leastN, 256); n >= leastN; n /= 2)
      for (int64_t k = limit(problem.k, leastK, mostSliced); k >= leastK; k /= 2)
        for (int64_t warps : {4, 8, 2, 1}) {
          if ((problem.onlyM && m != problem.onlyM) || (problem.onlyN && n != problem.onlyN) ||
              (problem.onlyK && k != problem.onlyK))
            continue;
          if (wgmma && (warps < 4 || m % (16 * warps) != 0 || m > problem.mostBoxM || n > problem.mostBoxN))
            continue;
          // Elements that a thread loads one by one, each with its mask: more than these ptxas spills.
          if (problem.onlyK && (m + n) * k > warps * 32 * 24)
            continue;
          // A thread's sums of FMAs live beside its operands. Kernelize sums thin products place by place, in
          // registers.
          if (simt && problem.products * m * n > warps * 32 * 64)
            continue;
          if (simt && (m < 16 || n < 16) && problem.products * m * n * k > warps * 32 * 32)
            continue;
          // A warp has a fragment of its own, a thread an element.
          int64_t slices = slicesOf(problem, {m, n, k, warps, 1, engine});
          if (m * n * slices < (simt ? 32 : 128) * warps && warps > 1)
            continue;
          if ((k > mostK && slices == 1) || (problem.isBeside && slices > 1 && warps > 4))
            continue;
          for (int64_t stages : {4, 3, 2, 5, 6})
            for (int64_t split = 1; split <= mostSplits; split *= 2)
              for (int64_t multicast = 1; multicast <= (wgmma && problem.allowMulticast ? mostMulticast : 1);
                   multicast *= 2)
                visit({m, n, k, warps, stages, engine, split, multicast});
        }
}

void forEachTile(const GemmProblem &problem, const Device &device, llvm::function_ref<void(const GemmTile &)> visit) {
  bool hasMatrix = problem.type == GemmType::F16 || problem.type == GemmType::S8 || problem.type == GemmType::Tf32;
  if (hasMatrix && device.hasWgmma() && problem.allowWgmma && problem.m >= 64 && problem.n >= 32)
    forEachTile(problem, tg::Engine::Wgmma, visit);
  if (hasMatrix)
    forEachTile(problem, tg::Engine::Mma, visit);
  if (!hasMatrix || std::min(problem.m, problem.n) < 8)
    forEachTile(problem, tg::Engine::Simt, visit);
}

GemmChoice chooseGemmTile(const GemmProblem &problem, const Device &device) {
  // What estimates tell apart: for less no CTAs wait for each other, but where they then compute less.
  double resolved = problem.lhsWork + problem.rhsWork > 0 ? 0.999 : 0.98;
  GemmChoice best, split, only;
  forEachTile(problem, device, [&](const GemmTile &tile) {
    GemmCost cost = estimateGemm(problem, tile, device);
    GemmChoice &alike = tile.split > 1 ? split : best;
    if (cost.fits && (!alike.cost.fits || cost.seconds < alike.cost.seconds * 0.999))
      alike = {tile, cost};
    if (cost.fits && problem.only == tile)
      only = {tile, cost};
  });
  if (split.cost.fits && (!best.cost.fits || split.cost.seconds < best.cost.seconds * resolved))
    best = split;
  if (only.cost.fits)
    return only;
  addStages(problem, device, best);
  return best;
}

} // namespace weft::plan
