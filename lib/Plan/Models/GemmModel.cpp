// The price of a contraction's tile, and the search over all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GemmTiles.h"
#include "TileParts.h"
#include "weft/Target/PackedSteps.h"
#include "weft/Target/ReadAhead.h"
#include "weft/Target/Slices.h"
#include "weft/Target/SplitSteps.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

using llvm::ArrayRef, llvm::SmallVector;

namespace weft::plan {

/// What DRAM takes longer where fewer SMs than all ask for something.
static constexpr double idleFactor = 1.07;
/// Of the lesser of two times, what the greater does not hide: where a thread asks for boxes ahead of the others, and
/// where those that multiply ask themselves. Of 22 products of 21 to 3105 rows that an H100 did by both, what these
/// tell to be the best takes 1.04 times the best; 1.07 where both are 0.34.
static constexpr double unhiddenByBoxes = 0.2, unhiddenByThreads = 0.6;
/// Of mma.sync's steps, the part of what shared memory takes that comes on top of the products: the same warps ask for
/// fragments and multiply them; and where the first ones are read ahead (of 4096^3 by 256 x 128 and 128 x 128 on an
/// H100).
static constexpr double fragmentPart = 0.51, fragmentPartAhead = 0.24;
/// And of all steps, the part of what others take that comes on top of the longest.
static constexpr double besidePart = 0.02;
/// Of what a step's lines take in the L2, the part that comes on top of the way there and back, of the CTA's own and of
/// each other one's on its SM.
static constexpr double queuedPart = 0.98, queuedBeside = 0.25;
/// What DRAM takes longer for rows that are read 128 bytes at a time than for 256 and more (16 x 28672 x 4096 on an
/// H100: 0.096 ms against 0.092), for products of few rows (skinny).
static constexpr double pieceFactor = 1.06;

/// Tiles of `elements` along a side.
static int64_t countTiles(int64_t extent, ArrayRef<int64_t> extents, int64_t elements, int64_t leastInner) {
  if (extents.size() < 2)
    return llvm::divideCeil(extent, elements);
  int64_t count = 1;
  for (auto [whole, part] : llvm::zip_equal(extents, splitTile(extents, elements, leastInner)))
    count *= int64_t(llvm::divideCeil(whole, part));
  return count;
}

double flopsPerClock(const GemmProblem &problem, tg::Engine engine, const Device &device) {
  const MatrixRates &matrix = engine == tg::Engine::Wgmma ? device.matrix : device.mmaSync;
  if (engine == tg::Engine::Simt) // f64 outside the matrix units.
    return problem.type == GemmType::F64 ? device.f32PerClock / double(device.can.f64Shares) : device.f32PerClock;
  return problem.type == GemmType::S8 ? matrix.i8 : problem.type == GemmType::Tf32 ? matrix.tf32 : matrix.f16;
}

/// Bytes of panels in a clock for each of so many SMs, which ask side by side: its port is as wide as shared memory's.
static double panelBytesOfSm(double busySms, const Device &device) {
  return std::min(device.panelBytesPerClock * device.waveMerge / busySms, double(device.sharedBytesPerClock));
}

int64_t slicesOf(const GemmProblem &problem, const GemmTile &tile) {
  if (tile.engine != tg::Engine::Mma || problem.lhsWork + problem.rhsWork > 0)
    return 1; // Windows have registers for no more sums.
  int64_t steps = llvm::divideCeil(llvm::divideCeil(problem.k, tile.k) * problem.taps, tile.split);
  int64_t stepBytes = tile.k * std::max(problem.lhsBytes, problem.rhsBytes);
  return gpu::countSlices(tile.m, tile.n, stepBytes, stepBytes * steps, tile.warps);
}

/// Whether a step's first fragments are read ahead of the last products of the step before.
static bool readsAhead(const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t instructionPlaces = 16 * 8;
  bool copies = problem.lhsWork + problem.rhsWork == 0 && !problem.unpackedBits && !problem.onlyK;
  return tile.engine == tg::Engine::Mma && copies && slicesOf(problem, tile) == 1 &&
         gpu::readsAhead(tile.m * tile.n / tile.warps / instructionPlaces, tile.warps, tile.stages);
}

/// Bytes of an element of the left operand in memory.
static double lhsBytesInMemory(const GemmProblem &problem) {
  return problem.unpackedBits ? double(problem.unpackedBits) / 8 : double(problem.lhsBytes);
}

double sharedReads(const GemmProblem &problem, const GemmTile &tile) {
  double lhs = problem.unpackedBits ? 0 : double(tile.m * tile.k * problem.lhsBytes * problem.products);
  double rhs = double(tile.k * tile.n * problem.rhsBytes * problem.products);
  if (tile.engine == tg::Engine::Wgmma) // Each warpgroup reads its 64 rows and all columns.
    return lhs + rhs * double(tile.m) / 64;
  // Warps of a slice in the grid that lets each read the least: an instruction has half as many columns as rows.
  int64_t warps = tile.warps / slicesOf(problem, tile);
  int64_t rows = std::max<int64_t>(tile.m / 16, 1), columns = std::max<int64_t>(tile.n / 8, 1);
  int64_t byRows = 1, byColumns = 1, least = INT64_MAX;
  for (int64_t each = 1; each <= std::min(rows, warps); each *= 2) {
    int64_t others = std::min(columns, warps / each);
    int64_t read = rows / each * 2 + columns / others + (warps / each / others - 1) * (2 * rows + columns);
    if (read < least)
      least = read, byRows = each, byColumns = others;
  }
  return lhs * double(byColumns) + rhs * double(byRows);
}

/// What cp.async copies at least; narrower elements pass through registers.
static constexpr int64_t leastAsync = 4;

/// Of an operand's piece of one step: bytes, and the most that a lane copies at once.
struct Piece {
  double bytes;
  int64_t vector;
  bool slides;
};

static std::array<Piece, 2> piecesOf(const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t widest = 16;
  auto pieceOf = [&](int64_t rows, int64_t elementBytes, int64_t tensors, int64_t alignment, bool slides) {
    int64_t vector = problem.onlyK ? elementBytes : std::max(std::min(alignment, widest), elementBytes);
    return Piece{double(rows * tile.k * elementBytes * tensors), vector, slides};
  };
  return {pieceOf(tile.m, problem.lhsBytes, problem.lhsTensors, problem.lhsAlignment, problem.lhsSlides),
          pieceOf(tile.n, problem.rhsBytes, problem.rhsTensors, problem.rhsAlignment, problem.rhsSlides)};
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
  for (Piece piece : piecesOf(problem, tile)) // All elements of a step that cp.async does not copy are under way.
    if (piece.vector < leastAsync && tile.engine != tg::Engine::Wgmma)
      working += piece.bytes / double(piece.vector) / double(tile.warps * 32);
  // What an instruction reads, and the words of this step and the next, which four lanes have all.
  if (problem.unpackedBits)
    working += double(tile.m * tile.k) / double(tile.warps * 32) * (0.5 + 2 * 4 * double(problem.unpackedBits) / 32);
  // Sums that leave for other CTAs: 128 x 256 by eight warps of a cluster spill (111 x 7936 x 5734 on an H100: 168 us,
  // by 128 x 128 65).
  if (tile.engine != tg::Engine::Wgmma && tile.split > 1)
    working += accumulator / 2;
  return accumulator * (double(problem.products) + problem.epilogueRegisters + problem.heldRegisters) + working;
}

/// Clocks of an SM to compute the elements of one step's operands, whose warps keep a quarter of the lanes busy each.
static double computingClocks(const GemmProblem &problem, const GemmTile &tile) {
  constexpr double lanesOfWarp = 32;
  double work = double(tile.k) * (double(tile.m) * problem.lhsWork + double(tile.n) * problem.rhsWork);
  return work / (lanesOfWarp * std::min<double>(double(tile.warps), 4));
}

/// Clocks of a warpgroup to unpack one step's left operand: a warp's instructions wait for each other, and for those of
/// the warps that have the same scheduler.
static double unpackingClocks(const GemmProblem &problem, const GemmTile &tile, const Device &device) {
  constexpr double instructions = 2.9; // Of an element: fields of words, their position, a scale.
  double elements = double(tile.m * tile.k) / double(tile.warps * 32), others = double(tile.warps) / 4 - 1;
  return problem.unpackedBits ? elements * instructions * (device.tiles.instruction + others) : 0;
}

/// What a step waits for its words where they are asked for as many steps ahead as there are registers.
static double packedWait(const GemmProblem &problem, const GemmTile &tile, const Device &device) {
  int64_t threads = tile.warps * 32;
  int64_t held = tile.m * tile.n / threads + tile.m * tile.k / 2 / threads;
  int64_t words = tile.m * tile.k * problem.unpackedBits / 32 * gpu::lanesOfPackedRow / threads;
  return device.coldClocks / double(gpu::countPackedSteps(held, words));
}

/// Bytes of the operands of one step.
static int64_t stepBytesOf(const GemmProblem &problem, const GemmTile &tile) {
  int64_t lhsBytes = problem.unpackedBits ? 0 : problem.lhsBytes * problem.lhsTensors;
  return tile.k * (tile.m * lhsBytes + tile.n * problem.rhsBytes * problem.rhsTensors);
}

/// Registers of a CTA. Beside one warpgroup of consumers the producers keep what they start with; beside more they give
/// up all but 40 a thread (weft-tk-roles).
static double fileOf(const GemmTile &tile, double registers) {
  double threads = double(tile.warps * 32), rounded = std::ceil(registers / 8) * 8;
  if (tile.engine != tg::Engine::Wgmma)
    return rounded * threads;
  return rounded * threads + 128 * (tile.warps > 4 ? 40 : rounded);
}

static int64_t sharedOf(const GemmProblem &problem, const GemmTile &narrow) {
  GemmTile tile = padded(problem, narrow);
  int64_t bytes = tile.stages * stepBytesOf(problem, tile) + 1024; // Barriers, and alignment of the first buffer.
  if (int64_t slices = slicesOf(problem, tile); slices > 1)        // In the place of the operands.
    bytes = std::max(bytes, slices * tile.m * tile.n * 4);
  if (tile.engine == tg::Engine::Wgmma) // What the epilogue reads lies beside the operands (weft-tk-stage).
    bytes += int64_t(problem.epilogueRegisters * 4 * double(tile.m * tile.n));
  if (tile.split > 1) // Results pass through a slot each warpgroup; else what the CTAs send each other has a buffer.
    bytes += tile.engine == tg::Engine::Wgmma ? tile.warps / 4 * 64 * 128 : tile.m * tile.n * 4 * problem.products;
  return bytes;
}

/// Bytes from DRAM: all once if the operands fit the L2 (with room for what streams through), else panels by wave.
static double dramBytes(const GemmProblem &problem, const GemmTile &tile, int64_t wave, const Device &device) {
  double depth = double(problem.k * problem.taps);
  double lhsElements = problem.lhsElements > 0 ? problem.lhsElements : double(problem.m) * depth;
  double rhsElements = problem.rhsElements > 0 ? problem.rhsElements : double(problem.n) * depth;
  double lhs = lhsElements * lhsBytesInMemory(problem) * double(problem.lhsTensors);
  double rhs = rhsElements * double(problem.rhsBytes * problem.rhsTensors);
  double result = double(problem.m) * double(problem.n) * double(problem.resultBytes);
  if (lhs + rhs <= 0.6 * double(device.l2Bytes))
    return double(problem.batch) * (lhs + rhs + result);
  double rows = double(llvm::divideCeil(problem.m, tile.m)), cols = double(llvm::divideCeil(problem.n, tile.n));
  // A wave of r x c tiles reads r row panels and c column panels; r * m = c * n reads least.
  double inWave = std::min<double>(double(wave), rows * cols);
  double r = std::clamp(std::sqrt(inWave * double(tile.n) / double(tile.m)), 1.0, rows);
  double c = std::clamp(inWave / r, 1.0, cols);
  r = std::clamp(inWave / c, 1.0, rows);
  double waves = rows * cols / (r * c);
  double reads = waves * (r * lhs / rows + c * rhs / cols);
  return double(problem.batch) * (std::max(reads, lhs + rhs) + result);
}

/// Elements of tiles whose steps are long enough that CTAs of a cluster do not wait for each other.
static constexpr int64_t longStep = 128 * 256;

/// What each CTA sends when the CTAs of a cluster add their sums: all but its own part, in f32.
static int64_t sentBytes(const GemmProblem &problem, const GemmTile &tile) {
  return tile.m * tile.n * problem.products * 4 / tile.split * (tile.split - 1);
}

/// Whether warps without a warpgroup's instructions can share the steps of a tile among CTAs, each of which then has a
/// share of the rows. Where steps do not compute their operands, fewer tiles than SMs: others were not measured.
static bool canSplitRows(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device) {
  int64_t steps = llvm::divideCeil(problem.k, tile.k) * problem.taps;
  bool computes = problem.lhsWork + problem.rhsWork > 0, hasClusters = device.maxCluster > 1;
  int64_t sums = tile.m * tile.n * problem.products * tile.split;
  bool hasRoom = hasClusters ? tile.split <= int64_t(device.maxCluster) : tiles <= gpu::mostBytesOfParts / (4 * sums);
  if ((!computes && tiles >= int64_t(device.sms)) || !hasRoom)
    return false;
  bool isDot = tile.engine != tg::Engine::Simt || std::min(tile.m, tile.n) >= 16; // Thin ones are no loop of dots.
  // Steps that compute their operands wait for what they load: one more is a wait more, which the price has not (with
  // uneven shares of them MobileNetV2 takes 118.1 us instead of 114.8, EfficientNet-B0 225 instead of 219, H100).
  bool isEven = steps % tile.split == 0 || (problem.taps == 1 && problem.k % tile.k != 0);
  return problem.allowRowShares && isDot && tile.m % tile.split == 0 && steps >= 2 && 2 * steps > tile.split &&
         (isEven || (!computes && problem.taps == 1));
}

/// Whether `split` CTAs can share a tile: a share of whole blocks of 64 rows and 128 bytes, a step for each, room for
/// what they send in the buffers of an operand, one wave.
static bool canSplit(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device) {
  if (tile.engine != tg::Engine::Wgmma)
    return canSplitRows(problem, tile, tiles, device);
  if (tile.split > int64_t(device.maxCluster) || isNarrow(tile))
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

/// Clocks of a step that its own warps take for copies where nobody else is on the SM, and those of the SM for narrow
/// ones.
static std::pair<double, double> copyClocksOf(const GemmProblem &problem, const GemmTile &tile, const Device &device) {
  constexpr double lanes = 32;
  constexpr int64_t widest = 16;
  double own = device.tiles.copyStep, all = 0;
  for (Piece piece : piecesOf(problem, tile)) {
    double copies = piece.bytes / (double(piece.vector) * lanes);
    own += copies / double(tile.warps) * device.tiles.copyIssue;
    if (piece.vector < widest)
      all += copies * (piece.slides                ? device.tiles.slidingCopy
                       : piece.vector < leastAsync ? device.tiles.narrowestCopy
                                                   : device.tiles.narrowCopy);
  }
  return {own, all};
}

/// Bytes of the lines that a step's piece of an operand touches: its rows begin anywhere at multiples of `alignment`.
/// Tiles of one wave ask for lines side by side, in the order of the launch; later ones have drifted apart, so that
/// what counts is sectors, and rows that start at sectors touch no more of them (steps of 128 x 256 take 1170 clocks
/// of rows at lines in several rounds, 1200 at 32 and 64 bytes, 1800 at 16; docs/notes/stream-k.md).
static double lineBytesOf(int64_t side, int64_t depth, int64_t elementBytes, int64_t alignment, bool isAlongK,
                          bool isWave) {
  constexpr double line = 128;
  constexpr int64_t sector = 32;
  if (!isWave && alignment >= sector)
    alignment = int64_t(line);
  double piece = double((isAlongK ? depth : side) * elementBytes), rows = double(isAlongK ? side : depth);
  double aligned = double(std::min<int64_t>(alignment, int64_t(line)));
  double lines =
      piece >= line ? piece / line * (1 + (line - aligned) / line) : 1 + std::max(piece - aligned, 0.0) / line;
  return rows * lines * line;
}

/// Along which side CTAs of a cluster stand, as weft-tk-roles finds it (Share.cpp): where they have the most in common,
/// less what tiles past the end take. Those read nothing and store nothing if others end there, too.
static std::optional<unsigned> findPairedSide(const GemmProblem &problem, const GemmTile &tile,
                                              std::pair<int64_t, int64_t> tiles) {
  int64_t lhs = problem.unpackedBits ? 0 : tile.m * problem.lhsBytes * problem.lhsTensors,
          rhs = tile.n * problem.rhsBytes * problem.rhsTensors;
  auto commonOf = [&](int64_t extent, int64_t each, int64_t count, int64_t bytes) {
    if (count < 2 || (count % tile.multicast != 0 && extent % each == 0))
      return 0.0;
    return double(bytes) * double(count) / double(llvm::alignTo(count, tile.multicast));
  };
  double byRows = commonOf(problem.m, tile.m, tiles.first, rhs);
  double byColumns = commonOf(problem.n, tile.n, tiles.second, lhs);
  return std::max(byRows, byColumns) > 0 ? std::optional(byColumns > byRows ? 1u : 0u) : std::nullopt;
}

/// Whether CTAs of a cluster may read together. Smaller tiles wait for each other in launches of several rounds: 128 x
/// 128 by pairs takes a product of 3105 x 1344 x 7168 188 us, 128 x 256 159; a SwiGLU of 512 rows by 128 x 64 367
/// instead of 273 (H100).
static bool canMulticast(const GemmProblem &problem, const GemmTile &tile, std::pair<int64_t, int64_t> tiles,
                         const Device &device) {
  return tile.m * tile.n >= longStep || problem.batch * tiles.first * tiles.second <= int64_t(device.sms);
}

/// Bytes of one step that come from L2: of what the CTAs of a cluster have in common each reads its part.
static double l2BytesOf(const GemmProblem &problem, const GemmTile &tile, std::optional<unsigned> pairedSide,
                        bool isWave) {
  double lhs = problem.unpackedBits
                   ? double(tile.m * tile.k) * lhsBytesInMemory(problem)
                   : double(problem.lhsTensors) *
                         lineBytesOf(tile.m, tile.k, problem.lhsBytes, problem.lhsAlignment, problem.lhsAlongK, isWave);
  double rhs = double(problem.rhsTensors) *
               lineBytesOf(tile.n, tile.k, problem.rhsBytes, problem.rhsAlignment, problem.rhsAlongK, isWave);
  double common = !pairedSide ? 0 : *pairedSide == 0 ? rhs : lhs;
  return lhs + rhs - common / double(tile.multicast) * double(tile.multicast - 1);
}

bool isLongWave(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device) {
  constexpr int64_t longRowBytes = 1 << 14;
  return tile.engine == tg::Engine::Wgmma && tile.split == 1 && tile.multicast == 1 && problem.batch == 1 &&
         tiles <= int64_t(device.sms) && problem.k * problem.taps * problem.lhsBytes >= longRowBytes;
}

int64_t CtaRoom::countCtas(const Device &device) const {
  return std::min({int64_t(device.registersPerSm / registers),
                   int64_t(device.sharedPerSm) / (shared + int64_t(device.sharedReservedPerCta)),
                   int64_t(device.threadsPerSm) / threads, int64_t(device.ctasPerSm)});
}

namespace {
/// Clocks of an SM for a tile's steps and for what comes behind them.
struct TileTime {
  double matrix = 0, shared = 0, l2 = 0, copies = 0; ///< Of a step, by what does it.
  double busy = 0;                                   ///< Of a step: the most of these, while others are on the SM.
  double alone = 0;                                  ///< Of a step where the CTA is.
  double steps = 0;
  double stores = 0; ///< Of a tile, in the L2: all SMs together.
  double warps = 0;  ///< Of a tile, by its own warps, and meetings with others: hidden by CTAs beside.
};
} // namespace

/// Bytes of results that one write to a sector of the L2 has where rows are not aligned: what a lane of an accumulator
/// holds, four side by side; of rows at any address, whose lines leave whole (tk.store lines), what the sectors that a
/// line touches have in the mean.
static double bytesOfSector(const GemmProblem &problem, const GemmTile &tile) {
  constexpr int64_t fragmentColumns = 2, fragmentLanes = 4, sector = 32, leastLine = 64, mostLine = 256;
  int64_t columns =
      problem.nExtents.size() < 2 ? tile.n : splitTile(problem.nExtents, tile.n, problem.leastInnerN).back();
  int64_t line = std::min(columns * problem.resultBytes, mostLine);
  if (problem.resultAlignment <= problem.resultBytes && line >= leastLine)
    return double(line) * sector / double(line + sector - problem.resultBytes);
  int64_t written = std::min(problem.resultAlignment, fragmentColumns * problem.resultBytes); // By a lane.
  return double(std::min(fragmentLanes * std::max<int64_t>(written, 1), sector));
}

/// Clocks of an SM to store a tile where the L2 is what bounds it.
static double storeClocksOf(const GemmProblem &problem, const GemmTile &tile, double tiles, double busySms,
                            const Device &device) {
  constexpr int64_t widest = 16;
  double bytes = double(tile.m * tile.n * problem.resultBytes);
  // What is read beside (epilogueRegisters) has no SM to itself either.
  double beside = 4 * problem.epilogueRegisters * double(tile.m * tile.n) / device.tiles.besideBytesPerClock;
  if (problem.resultAlignment >= widest)
    return bytes / panelBytesOfSm(busySms, device) + beside;
  double places = double(problem.batch) * double(problem.m) * double(problem.n);
  double live = std::min(1.0, places / (tiles * double(tile.m * tile.n)));
  return live * (bytes / bytesOfSector(problem, tile) * busySms / double(device.partialSectorsPerClock) + beside);
}

/// Clocks of a tile's warps behind its last step.
static double warpClocksOf(const GemmProblem &problem, const GemmTile &tile, int64_t resident, const Device &device) {
  constexpr double lanes = 32, quarters = 4, mostIssued = 8; // Warps that keep an SM's four schedulers busy.
  const TileClocks &clocks = device.tiles;
  double places = double(tile.m * tile.n) / lanes, sums = places * double(problem.products);
  bool isBoxed = tile.engine == tg::Engine::Wgmma && problem.resultAlignment >= 16;
  // Prices of steps that compute operands were measured with their stores.
  bool computes = problem.lhsWork + problem.rhsWork > 0;
  double all =
      computes ? 0 : sums * (isBoxed ? clocks.boxStore : clocks.store) / std::min(double(tile.warps), quarters);
  all += places * problem.epilogueWork * clocks.instruction / std::min(double(tile.warps), mostIssued);
  if (int64_t slices = slicesOf(problem, tile);
      slices > 1) // Stored, and loaded again by those who add them up: two barriers.
    all +=
        2 * clocks.copyStep + 2 * double(slices * tile.m * tile.n * problem.products * 4) / device.sharedBytesPerClock;
  if (tile.split > 1 && device.maxCluster > 1) // The CTAs meet, and what all of an SM send takes its way.
    all += 2 * double(device.clusterClocks) + device.mergeClocks +
           double(resident * sentBytes(problem, tile)) / device.mergeBytesPerClock;
  else if (tile.split > 1) // Through the L2, which CTAs of an SM reach side by side.
    all += device.mergeClocks + double(sentBytes(problem, tile)) / device.mergeBytesPerClock;
  if (tile.multicast > 1) // They meet; the last slot's way back.
    all += 2 * double(device.clusterClocks);
  return all;
}

/// Clocks of a step that warpgroups take beside its work: less where an instruction does not wait for the one before it
/// because they add to several sums, or because each is long (of 128 x 128 a step takes 558 clocks by two warpgroups of
/// 64 rows, 528 by one of 128, and 512 of the pipe).
static double boxStepOf(const GemmProblem &problem, const GemmTile &tile, const Device &device) {
  constexpr int64_t shortColumns = 128;
  constexpr double waitingPart = 0.4;
  int64_t groups = std::max<int64_t>(tile.warps / 4, 1),
          rowGroups = std::min(groups, std::max<int64_t>(tile.m / 64, 1));
  int64_t columns = tile.n * rowGroups / groups, sums = tile.m / (64 * rowGroups) * problem.products;
  bool waits = sums == 1 && columns <= shortColumns;
  return device.tiles.boxStep * (waits ? 1 : 1 - waitingPart);
}

static TileTime timeTile(const GemmProblem &problem, const GemmTile &tile, std::optional<unsigned> pairedSide,
                         double tiles, int64_t resident, const Device &device) {
  const TileClocks &clocks = device.tiles;
  bool isBoxed = tile.engine == tg::Engine::Wgmma;
  double busySms = std::min(tiles * double(tile.split), double(device.sms));
  TileTime time;
  time.steps = double(llvm::divideCeil(llvm::divideCeil(problem.k, tile.k) * problem.taps, tile.split));
  time.matrix = 2.0 * double(problem.products * tile.m * tile.n * tile.k) / flopsPerClock(problem, tile.engine, device);
  if (tile.engine == tg::Engine::Simt) // Threads with t x t sums load 2 t operands from shared memory for t^2 products.
    time.matrix *= 1 + 2 / std::sqrt(double(tile.m * tile.n) / double(tile.warps * 32));
  double written = isBoxed ? 0 : double(stepBytesOf(problem, tile));
  time.shared = (sharedReads(problem, tile) + written) / device.sharedBytesPerClock;
  // Roles run ahead, each by what its tiles leave it: after the first tiles nobody is beside anybody.
  bool isWave = !isBoxed || tiles * double(tile.split) <= double(device.sms);
  double lines = l2BytesOf(problem, tile, pairedSide, isWave) / panelBytesOfSm(busySms, device);
  if (isBoxed && tile.split > 1) // Neighbours have other steps of the same tile.
    lines *= device.waveMerge;
  time.l2 = lines * (isWave ? 1 : device.waveMerge);
  // What steps compute has a price of its own.
  bool computes = problem.lhsWork + problem.rhsWork > 0;
  auto [own, all] = isBoxed || computes ? std::pair(0.0, 0.0) : copyClocksOf(problem, tile, device);
  time.copies = all;
  double ofFragments = readsAhead(problem, tile) ? fragmentPartAhead : fragmentPart;
  double products = time.matrix + (tile.engine == tg::Engine::Mma ? ofFragments * time.shared : 0);
  double most = std::max({products, time.shared, time.l2, time.copies});
  time.busy = most + besidePart * (products + time.shared + time.l2 - most) +
              (isBoxed ? boxStepOf(problem, tile, device) : clocks.step) +
              (pairedSide && tile.m * tile.n < longStep ? clocks.pairedStep : 0);
  // Alone on its SM a CTA keeps a quarter of the pipes busy with each warp, and waits for its own copies.
  // Slots but the one that is read are under way.
  double slots = double(std::max<int64_t>(tile.stages, 2) - 1) - (isBoxed ? clocks.heldSlots : 0);
  if (problem.lhsSlides || problem.rhsSlides) // Through registers, which have those of one step.
    slots = 1;
  double waiting =
      (isBoxed ? clocks.box : clocks.copy) / slots + queuedPart * (1 + queuedBeside * double(resident - 1)) * lines;
  time.alone = std::max({time.busy, time.matrix * 4 / std::min<double>(double(tile.warps), 4), own, waiting});
  // A warpgroup unpacks, waits and multiplies in turn.
  if (double unpacking = unpackingClocks(problem, tile, device); unpacking > 0)
    time.alone = std::max({time.alone, unpacking + clocks.unpackedStep + time.matrix / double(tile.warps / 4),
                           packedWait(problem, tile, device)});
  if (double computing = computingClocks(problem, tile); computing > 0) { // Loads, arithmetic, a barrier, products.
    time.busy += computing;
    time.alone += computing + clocks.copy;
    // Weights are asked for by the step that needs them, and come from DRAM: for each step after the first. On an H100
    // depthwise windows in front of 14 x 14 x 384, 576 and 7 x 7 x 960 elements of bf16 add 3.3, 5.2 and 7.2 us to the
    // product (2, 3 and 4 steps), 2.1 us as a kernel. FMA products are slow enough to hide it.
    if (tile.engine == tg::Engine::Mma)
      time.alone += device.coldClocks * (time.steps - 1) / time.steps;
  }
  time.stores = storeClocksOf(problem, tile, tiles, busySms, device);
  time.warps = warpClocksOf(problem, tile, resident, device) + clocks.turn;
  return time;
}

/// Clocks of the GPU where CTAs (or clusters) go on from whole tiles to parts of the others, but for the merge.
static double tailClocks(const GemmTile &tile, const TileTime &time, int64_t tiles, const Device &device) {
  int64_t slots = device.sms / tile.multicast, clusters = llvm::divideCeil(tiles, tile.multicast);
  double rounds = double(llvm::divideCeil(tile.whole, slots)),
         shares = double(llvm::divideCeil((clusters - tile.whole) * tile.parts, slots));
  double ends = time.stores + time.warps;
  return rounds * (time.steps * time.alone + ends) +
         shares * (std::ceil(time.steps / double(tile.parts)) * time.alone + ends);
}

/// And the merge, which begins when the last steps are over, whatever these wait for.
static double tailMergeClocks(const GemmProblem &problem, const GemmTile &tile, const Device &device) {
  constexpr int64_t rows = 64, lineBytes = 128; // Of the blocks that results leave in.
  int64_t line = std::gcd(tile.n, lineBytes / problem.resultBytes);
  double pieces = std::max(double(tile.m * tile.n) / double(rows * line * (tile.warps / 4)), 1.0);
  return mergeShareClocks(double(tile.m * tile.n * problem.products * 4), double(tile.parts), pieces, device);
}

static GemmCost timeOf(const GemmProblem &problem, const GemmTile &tile, std::optional<unsigned> pairedSide,
                       const Device &device, GemmCost cost) {
  int64_t tilesPerSm = llvm::divideCeil(cost.tiles * tile.split, countSms(tile, device));
  int64_t resident = std::min(cost.ctasPerSm, tilesPerSm), rounds = llvm::divideCeil(tilesPerSm, cost.ctasPerSm);
  TileTime time = timeTile(problem, tile, pairedSide, double(cost.tiles), resident, device);
  // CTAs beside each other hide what their warps do behind the steps, but for the last.
  double throughput = double(tilesPerSm) * (time.steps * time.busy + time.stores + time.warps / double(resident)) +
                      time.warps * (1 - 1 / double(resident));
  double waits = double(rounds) * (time.steps * time.alone + time.stores + time.warps);
  double clocks = tile.parts > 1 ? tailClocks(tile, time, cost.tiles, device) : std::max(throughput, waits);
  double seconds = (clocks + device.tiles.start) / device.clock;
  constexpr int64_t tallest = 256, sector = 32;
  if (tile.engine == tg::Engine::Wgmma && tile.m > tile.n && (tilesPerSm > 1 || tile.m == tallest))
    seconds *= device.tiles.tall;
  if (isNarrow(tile))
    seconds *= device.tiles.narrow * (problem.resultAlignment < sector ? device.tiles.straddling : 1);
  double dram = dramBytes(problem, tile, cost.ctasPerSm * device.sms, device) / device.memoryBandwidth;
  bool largerIsLeft = problem.m > problem.n;
  int64_t piece = problem.contiguousAlongK ? tile.k : largerIsLeft ? tile.m : tile.n;
  if (std::min(problem.m, problem.n) <= skinny && piece * (largerIsLeft ? problem.lhsBytes : problem.rhsBytes) < 256)
    dram *= pieceFactor;
  if (cost.tiles < int64_t(device.sms))
    dram *= idleFactor;
  double unhidden = tile.engine == tg::Engine::Wgmma ? unhiddenByBoxes : unhiddenByThreads;
  cost.seconds = std::max(seconds, dram) + unhidden * std::min(seconds, dram) + device.launchSeconds;
  if (tile.parts > 1)
    cost.seconds += tailMergeClocks(problem, tile, device) / device.clock;
  double most = std::max({time.matrix, time.shared, time.l2, time.copies});
  cost.bound = dram > seconds                                       ? "dram"
               : time.stores + time.warps > time.steps * time.alone ? "stores"
               : waits > throughput && time.alone > 1.1 * time.busy ? "latency"
               : time.matrix == most                                ? "matrix"
               : time.copies == most                                ? "copies"
               : time.l2 == most                                    ? "l2"
                                                                    : "shared";
  return cost;
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
  std::optional<unsigned> pairedSide;
  if (tile.multicast > 1) {
    if (problem.allowMulticast && tile.engine == tg::Engine::Wgmma && tile.split == 1)
      pairedSide = findPairedSide(problem, tile, sides);
    if (!pairedSide || !canMulticast(problem, tile, sides, device))
      return cost;
    int64_t &side = *pairedSide == 0 ? sides.first : sides.second;
    side = int64_t(llvm::alignTo(side, tile.multicast));
  }
  cost.tiles = problem.batch * sides.first * sides.second;
  if (tile.split > 1 && !canSplit(problem, tile, cost.tiles, device))
    return cost;
  cost.fits = true;

  return timeOf(problem, tile, pairedSide, device, cost);
}

} // namespace weft::plan
