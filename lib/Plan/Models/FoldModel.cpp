// The price of a fold's tile, and the search over all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/FoldModel.h"
#include "TileParts.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Target/TileSlots.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using llvm::ArrayRef, llvm::SmallVector;

namespace weft::plan {

/// Rows of a warp's and of a warpgroup's instruction; threads of a warp.
static constexpr int64_t warpRows = 16, groupRows = 64, warpThreads = 32;
/// Of a step in instructions: their depth as the second product's operand.
static constexpr int64_t leastStep = 16;
/// Where there is one row: instructions of an element of keys or values (a conversion, a product, sums across lanes,
/// what its load takes), lanes of an SM.
static constexpr double vectorWork = 3, lanes = 128;

static int64_t productOf(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product = llvm::MulOverflow(product, extent, product) ? INT64_MAX : product;
  return product;
}

int64_t FoldProblem::getRows() const { return productOf(rows); }

/// One row: products of a vector and a matrix are no tiles of an instruction.
static bool isVector(const FoldProblem &problem) { return problem.getRows() == 1; }

//===--- What a CTA takes ---===//

/// Rows that a warp has of a tile for mma.sync: several of its instructions read an operand from shared memory once.
static int64_t rowsOfWarp(const FoldTile &tile) { return std::max(tile.numRows / tile.warps, warpRows); }

/// 32-bit registers of a thread that multiplies, beside what every kernel has: the columns' sums, a step's scores, and
/// those of the step before as the next product's operand (half as wide). Of tiles that are read beside the scores a
/// share; states that are stored as they are take more than a result of 16 bits.
static int64_t registersOf(const FoldProblem &problem, const FoldTile &tile) {
  bool isWgmma = tile.engine == tg::Engine::Wgmma;
  if (isVector(problem)) // Two tiles of loads.
    return tile.step * (problem.depth + problem.width / tile.columnTiles) * problem.bytes / 4 /
           (tile.warps * warpThreads);
  if (tile.engine == tg::Engine::Mma && rowsOfWarp(tile) > warpRows)
    return rowsOfWarp(tile) / warpRows * (problem.columns / tile.columnTiles / 2 + tile.step * 5 / 8);
  int64_t registers =
      (isWgmma ? problem.columns / tile.columnTiles : problem.width / tile.columnTiles) / 2 + tile.step * 3 / 4;
  // A loop of two turns becomes straight code, which holds scores of both.
  bool isStraight = problem.streamed > tile.step && problem.streamed <= 2 * tile.step;
  if (isWgmma && isStraight)
    registers += tile.numRows > 2 * groupRows || tile.step > 64 ? tile.step / 2 - 8 : 8;
  // A mask of indices compares them: those of the next tile, or of rows of several dimensions, are not at hand.
  if (isWgmma && problem.isMasked && tile.numRows > 2 * groupRows)
    registers += (tile.persistent ? 8 : 0) + (problem.rows.size() > 1 ? 8 : 0);
  if (problem.besideBytes == 0)
    return registers;
  if (problem.isInParts)
    registers += 16;
  bool isMasked = tile.numRows > groupRows && problem.streamed % tile.step != 0;
  return registers + (tile.step > 64 && isMasked ? tile.step / 4 + 8 : 0);
}

/// Bytes of a row of `elements` in a slot: as TMA brings it, or as threads copy it, who copy powers of two.
static int64_t rowBytes(const FoldProblem &problem, const FoldTile &tile, int64_t elements) {
  return tile.engine == tg::Engine::Wgmma ? countPanelBytes(elements, problem.bytes)
                                          : int64_t(llvm::PowerOf2Ceil(elements)) * problem.bytes;
}

/// Bytes of a tile's rows of queries.
static int64_t leftBytes(const FoldProblem &problem, const FoldTile &tile) {
  return tile.numRows * rowBytes(problem, tile, problem.depth);
}

/// Whether a CTA that goes on with another tile has room for its queries while it computes this one.
static bool hasEarlyQueries(const FoldProblem &problem, const FoldTile &tile) {
  return countTileSlots(tile.stages, leftBytes(problem, tile)) > 1;
}

/// Left operands (those of the next tile too, if the CTA goes on), both right operands of the steps, and the lines
/// through which results leave.
static int64_t sharedOf(const FoldProblem &problem, const FoldTile &tile) {
  int64_t barriers = 2048, left = leftBytes(problem, tile);
  int64_t lefts = tile.persistent ? countTileSlots(tile.stages, left) : 1;
  int64_t step = tile.step * (rowBytes(problem, tile, problem.depth) + rowBytes(problem, tile, problem.columns));
  int64_t lines = tile.engine == tg::Engine::Wgmma ? tile.numRows * 256 : 0;
  return lefts * left + tile.stages * step + lines + barriers;
}

/// CTAs that an SM has room for; 0 if there is none for one.
static int64_t countResident(const FoldProblem &problem, const FoldTile &tile, const Device &device) {
  int64_t shared = isVector(problem) ? 0 : sharedOf(problem, tile), registers = registersOf(problem, tile);
  if (shared > int64_t(device.sharedPerCta))
    return 0;
  constexpr int64_t mostPerThread = 255;
  int64_t limit = device.registersPerThread, beside = isVector(problem) ? 40 : 72;
  int64_t bySharedMemory = int64_t(device.sharedPerSm) / (shared + int64_t(device.sharedReservedPerCta));
  if (tile.engine == tg::Engine::Wgmma) {
    // Four warpgroups have 112 registers a thread; two, and their producers, an SM's.
    constexpr int64_t most = 176, mostOfFour = 80;
    int64_t allowed = (tile.numRows > 2 * groupRows ? mostOfFour : most) - std::max<int64_t>(mostPerThread - limit, 0);
    return registers <= allowed ? std::min<int64_t>(bySharedMemory, 1) : 0;
  }
  // The estimate is no bound, so it refuses only where fewer registers are asked for than a thread can have, or where
  // warps of fewer rows do the same.
  constexpr int64_t besideRows = 75;
  bool hasManyRows = tile.engine == tg::Engine::Mma && rowsOfWarp(tile) > warpRows;
  if (hasManyRows ? registers + besideRows > limit : limit < mostPerThread && registers + beside > limit)
    return 0;
  int64_t perThread = llvm::alignTo(std::min(registers + beside, mostPerThread), 8);
  return std::min({bySharedMemory, int64_t(device.registersPerSm) / (perThread * tile.warps * warpThreads),
                   int64_t(device.threadsPerSm) / (tile.warps * warpThreads), int64_t(device.ctasPerSm)});
}

//===--- Time ---===//

namespace {
/// Clocks of a CTA's step.
struct StepClocks {
  double busy = 0;  ///< Of an SM's pipes.
  double alone = 0; ///< Of a warp's or a warpgroup's way through products and maps.
  double chain = 0; ///< Latencies that no pipe hides.
  double copy = 0;  ///< Of its keys and values by the L2.
  const char *bound = "";
};
} // namespace

/// What an H100 takes for 150 folds of prompts, biased ones and a decoder's (2026-11-22), where it is no rate of the
/// device:
/// * of products, maps and copies a part of the second is not hidden behind the first: the less the more warpgroups
///   there are; warps whose instructions wait for their own results hide nothing;
/// * SMs that read the same keys at a time share some requests to the L2;
/// * a tile read beside the scores: predicates, loads of two neighbours, conversions; of a sector a thread has a part.
static constexpr double groupSerial = 0.84, warpSerial = 1, sharedRequests = 1.5;
static constexpr double besideWork = 12, besideTraffic = 3.5;

/// Of a score: by maps of the scores alone, and by what is read beside it.
static double mapClocks(const FoldProblem &problem, const Device &device) {
  return problem.score.special / device.specialPerClock + problem.score.plain / (device.f32PerClock / 2.0);
}
static double besideClocks(const FoldProblem &problem, const Device &device) {
  return problem.besideBytes > 0 ? besideWork / (device.f32PerClock / 2.0) : 0;
}

/// Of a score: by the products, of `depth` terms and of as many columns as a tile has. A warpgroup's instruction reads
/// 64 rows of queries from shared memory, which takes as long as products with as many keys.
static double productClocks(const FoldProblem &problem, const FoldTile &tile, double rate) {
  double reads = tile.engine == tg::Engine::Wgmma ? std::max(double(groupRows) / double(tile.step), 1.0) : 1;
  return 2.0 * (double(problem.depth) * reads + double(problem.columns / tile.columnTiles)) / rate;
}

static StepClocks getStepClocks(const FoldProblem &problem, const FoldTile &tile, const Device &device) {
  constexpr double quarters = 4; // An SM's: a warp has one of them.
  bool isWgmma = tile.engine == tg::Engine::Wgmma;
  double rows = double(tile.numRows), scores = rows * double(tile.step), serial = warpSerial;
  if (isWgmma)
    serial = groupSerial * double(groupRows) / rows;
  double rate = isWgmma ? device.matrix.f16 : tile.engine == tg::Engine::Mma ? device.mmaSync.f16 : device.f32PerClock;
  double products = scores * productClocks(problem, tile, rate),
         maps = scores * (mapClocks(problem, device) + besideClocks(problem, device));
  double l2Rate = double(device.l2BytesPerClock) / device.sms * (device.hasWgmma() ? sharedRequests : 1);
  double stepBytes = double(tile.step * (problem.depth + problem.columns / tile.columnTiles) * problem.bytes);
  double l2 = (stepBytes + scores * problem.besideBytes * besideTraffic) / l2Rate;
  StepClocks clocks;
  clocks.copy = stepBytes / l2Rate;
  if (isVector(problem)) { // Threads load and multiply; keys and values are asked for together.
    double elements = double(tile.step) * double(problem.depth + problem.width / tile.columnTiles);
    products = elements * vectorWork / lanes;
    maps = 0;
    clocks.alone = products * quarters / std::min(double(tile.warps), quarters);
    clocks.chain = device.loadClocks + device.folds.vectorStep;
  } else if (isWgmma) {
    clocks.alone = (products + maps) / (rows / double(groupRows));
    clocks.chain = device.foldClocks;
  } else {
    double busyWarps = std::min(rows / double(warpRows), double(tile.warps));
    // Each warp reads all of a step's keys and values, and its own queries; what four of them read is in
    // `operands`.
    if (busyWarps > quarters) {
      double reads = (busyWarps * double(tile.step) * double(problem.depth + problem.columns / tile.columnTiles) +
                      rows * double(problem.depth)) *
                     double(problem.bytes) / device.sharedBytesPerClock;
      products = std::max(products, reads);
    }
    clocks.alone = (products + maps) * quarters / std::min(busyWarps, quarters);
    clocks.chain = device.folds.operands + device.mmaFoldClocks;
  }
  double most = std::max({products, maps, l2}), least = std::min({products, maps, l2});
  clocks.busy = most + serial * (products + maps + l2 - most - least);
  clocks.bound = most == products ? "matrix" : most == maps ? "maps" : "l2";
  return clocks;
}

/// Steps of each tile along the dimension of rows that makes them grow, the least first; of others one number.
static SmallVector<double> countSteps(const FoldProblem &problem, const FoldTile &tile) {
  double all = double(llvm::divideCeil(problem.streamed, tile.step));
  if (!problem.growing)
    return {all};
  SmallVector<double> steps;
  int64_t extent = problem.rows[*problem.growing], rows = tile.rows[*problem.growing];
  for (int64_t first = 0; first < extent; first += rows) {
    int64_t last = std::min(first + rows, extent) - 1 + problem.growingBase;
    steps.push_back(std::clamp(double(last / tile.step + 1), 1.0, all));
  }
  return steps;
}

static int64_t countTiles(const FoldProblem &problem, const FoldTile &tile) {
  int64_t tiles = problem.batch * tile.columnTiles;
  for (auto [extent, rows] : llvm::zip_equal(problem.rows, tile.rows))
    tiles *= int64_t(llvm::divideCeil(extent, rows));
  return tiles;
}

static double mergeClocks(const FoldProblem &problem, const FoldTile &tile, const Device &device) {
  constexpr double wordBytes = 4, rowStates = 2;
  double bytes = double(tile.numRows) * (double(problem.columns / tile.columnTiles) + rowStates) * wordBytes;
  return mergeClocks(bytes, double(tile.parts), device);
}

namespace {
/// What CTAs take: of a step, and of a tile beside its steps; and how many there are at once.
struct TileClock {
  double step = 0, ends = 0, slots = 1;
};
} // namespace

/// Steps of the persistent CTA that has most of them, and how many tiles it has: tiles come longest first, every other
/// round backwards (`zigzag`).
static std::pair<double, int64_t> findLongestShare(ArrayRef<double> steps, int64_t tiles, int64_t slots) {
  constexpr int64_t mostRounds = 64; // Of more, what is uneven does not count.
  int64_t ofEach = llvm::divideCeil(tiles, int64_t(steps.size())), rounds = llvm::divideCeil(tiles, slots);
  if (rounds > mostRounds)
    return {std::accumulate(steps.begin(), steps.end(), 0.0) * double(ofEach) / double(slots), rounds};
  SmallVector<double> shares(slots, 0);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    int64_t first = tile / slots * slots, place = tile - first;
    bool isTurned = tile / slots % 2 == 1;
    shares[isTurned ? std::min(slots, tiles - first) - 1 - place : place] += steps[steps.size() - 1 - tile / ofEach];
  }
  return {*llvm::max_element(shares), rounds};
}

/// Clocks of all tiles of so many steps each, the least first, on the whole GPU.
static double estimateTiles(ArrayRef<double> steps, double tiles, bool isPersistent, const TileClock &clock) {
  double longest = steps.back() * clock.step + clock.ends;
  if (steps.size() == 1)
    return std::ceil(tiles / clock.slots) * longest;
  if (isPersistent) {
    auto [most, rounds] = findLongestShare(steps, int64_t(tiles), int64_t(clock.slots));
    return most * clock.step + double(rounds) * clock.ends;
  }
  // Longest first: the last ones that begin are short.
  double mean = std::accumulate(steps.begin(), steps.end(), 0.0) / double(steps.size());
  double shortest = steps.front() * clock.step + clock.ends,
         whole = tiles / clock.slots * (mean * clock.step + clock.ends);
  return std::max(longest, whole + (tiles > clock.slots ? shortest / 2 : 0));
}

/// The same where CTAs share the steps of tiles behind the whole ones.
static double estimateTail(ArrayRef<double> steps, double tiles, const FoldProblem &problem, const FoldTile &tile,
                           const Device &device, TileClock clock) {
  double parts = double(tile.parts), whole = double(tile.whole);
  double clocks = whole > 0 ? estimateTiles(steps, whole, tile.persistent, clock) : 0;
  SmallVector<double> shares =
      llvm::map_to_vector(steps, [&](double all) { return steps.size() > 1 ? all / parts : std::ceil(all / parts); });
  clock.ends += mergeClocks(problem, tile, device);
  return clocks + estimateTiles(shares, (tiles - whole) * parts, tile.persistent, clock);
}

FoldCost estimateFold(const FoldProblem &problem, const FoldTile &tile, const Device &device) {
  FoldCost cost;
  int64_t room = countResident(problem, tile, device);
  cost.fits = room > 0;
  cost.ctasPerSm = std::max<int64_t>(room, 1);
  cost.tiles = countTiles(problem, tile);
  StepClocks step = getStepClocks(problem, tile, device);
  // CTAs beside each other on an SM share its pipes, and hide each other's latencies.
  int64_t ctas = tile.parts > 1 ? tile.whole + (cost.tiles - tile.whole) * tile.parts : cost.tiles;
  int64_t perSm = llvm::divideCeil(ctas, int64_t(device.sms));
  double resident = double(std::min(cost.ctasPerSm, perSm));
  // A slot's copy is there when the other slots' steps are over. One slot is filled while values are multiplied, or
  // keys.
  constexpr double oneSlot = 0.5;
  double waits = isVector(problem) ? 0 : (device.loadClocks + step.copy) / std::max(double(tile.stages - 1), oneSlot);
  double stepClocks = std::max({resident * step.busy, step.alone, waits}) + step.chain;
  // A tile's first operands, what of its first and last step nothing hides, its results. Where CTAs go on, the next
  // tile's operands are on their way; with one slot for queries they wait for this tile's last product, and steps wait
  // behind them (widths of 144 to 176 on an H100: 0.9 to 1.7 us a tile more than where a CTA begins as another one
  // ends).
  constexpr double goingOn = 0.2, goingOnLate = 1.6;
  bool isWgmma = tile.engine == tg::Engine::Wgmma;
  double ends = (isWgmma ? device.folds.ends : device.folds.mmaEnds) + step.alone + step.chain;
  if (tile.persistent)
    ends *= hasEarlyQueries(problem, tile) ? goingOn : goingOnLate;
  else if (!isWgmma)
    ends /= resident;
  cost.stepSeconds = stepClocks / device.clock;

  SmallVector<double> steps = countSteps(problem, tile);
  TileClock clock{stepClocks, ends, resident * double(device.sms)};
  double clocks = tile.parts > 1 ? estimateTail(steps, double(cost.tiles), problem, tile, device, clock)
                                 : estimateTiles(steps, double(cost.tiles), tile.persistent, clock);
  // The GPU's calibration reads 3,083 GB/s of 3,352 (bench/results/h100-calibration).
  constexpr double readEfficiency = 0.92;
  double dram =
      problem.operandBytes / (readEfficiency * device.memoryBandwidth) + writeSeconds(problem.resultBytes, device);
  double seconds = clocks / device.clock + device.tailSeconds;
  // Threads that wait for what they load ask for nothing meanwhile: a part of the lesser is not hidden.
  constexpr double serialLoads = 0.3;
  double together = isVector(problem) ? serialLoads * std::min(seconds, dram) : 0;
  cost.seconds = std::max(seconds, dram) + together + device.launchSeconds;
  cost.bound = dram > seconds ? "dram" : std::max(step.alone, waits) > resident * step.busy ? "latency" : step.bound;
  return cost;
}

/// Of two warpgroups one waits for the other's products in each step. That pays where maps and products take about as
/// long (random causal folds of an H100: width 96 takes 0.87, 80 0.96 of the time); where maps take longer they hide
/// the products in any case (64: 1.03, 32: 1.08). Of four there is always one that can multiply.
bool takesTurns(const FoldProblem &problem, const FoldTile &tile, const Device &device) {
  constexpr double evenly = 1.55;
  if (tile.engine != tg::Engine::Wgmma || tile.numRows <= groupRows)
    return false;
  double maps = mapClocks(problem, device), products = productClocks(problem, tile, device.matrix.f16);
  return maps >= products && (tile.numRows > 2 * groupRows || maps < evenly * products);
}

//===--- The search ---===//

/// `elements` rows along the dimensions of rows (grouped heads and queries): the longest along the last dimension, or a
/// tile that makes clearly fewer steps in all. Where a mask lets the steps grow, tiles that are short there have fewer.
static SmallVector<int64_t> spreadRows(const FoldProblem &problem, int64_t elements) {
  constexpr double clearly = 0.94;
  ArrayRef<int64_t> extents = problem.rows;
  SmallVector<int64_t> now(extents.size(), 1), best;
  double least = std::numeric_limits<double>::infinity();
  auto look = [&](auto &self, size_t next, int64_t rest) -> void {
    if (next == extents.size()) {
      double steps = double(problem.streamed) + (problem.growing ? double(now[*problem.growing]) : 0.0);
      for (auto [extent, rows] : llvm::zip_equal(extents, now))
        steps *= double(llvm::divideCeil(extent, rows));
      if (steps < least * clearly) {
        least = steps;
        best = now;
      }
      return;
    }
    int64_t whole = std::min<int64_t>(rest, llvm::PowerOf2Ceil(extents[next]));
    for (int64_t side = next + 1 == extents.size() ? whole : 1; side <= whole; side *= 2) {
      now[next] = side;
      self(self, next + 1, rest / side);
    }
  };
  look(look, 0, elements);
  // What they do not need pads the innermost one that is not 1.
  for (int64_t rows : best)
    elements /= rows;
  auto inner = std::find_if(best.rbegin(), best.rend(), [](int64_t rows) { return rows > 1; });
  if (!best.empty())
    (inner == best.rend() ? best.back() : *inner) *= elements;
  return best;
}

/// Whether a tile's steps are so few that its start counts.
static bool isShort(const FoldProblem &problem, const FoldTile &tile) {
  constexpr int64_t mostSteps = 16;
  return problem.streamed <= mostSteps * tile.step;
}

/// Whether CTAs should go on with another tile where none is shared: its first operands come while the one before is
/// computed, and either it has few steps, or tiles of uneven work come in an order that evens them out.
static bool goesOn(const FoldProblem &problem, const FoldTile &tile, const FoldCost &cost, const Device &device) {
  return cost.tiles > int64_t(device.sms) && hasEarlyQueries(problem, tile) &&
         (isShort(problem, tile) || problem.growing);
}

/// With all numbers of stages; persistent or not: the start of a tile counts where it has few steps or all of them come
/// in an even share, else many are better shared out to whoever is free, unless CTAs share the last tiles.
static void visitGroupTiles(const FoldProblem &problem, FoldTile tile, const Device &device,
                            llvm::function_ref<void(const FoldTile &)> visit) {
  constexpr int64_t mostStages = 4;
  for (bool persistent : {true, false})
    for (tile.stages = mostStages; tile.stages >= 2; --tile.stages) {
      tile.persistent = persistent;
      if (!persistent || isShort(problem, tile) || problem.isMergeable || problem.growing)
        visit(tile);
    }
}

/// Warpgroups that multiply by wgmma, 64 rows each, and a producer that copies by TMA. Four of them only where maps
/// hold nothing but scores and take longer than products: while one waits for the maximum of its rows others compute.
static void forEachGroupTile(const FoldProblem &problem, const Device &device,
                             llvm::function_ref<void(const FoldTile &)> visit) {
  constexpr int64_t mostStepOfFour = 64, leastOfGroups = 32, leastColumns = 32;
  int64_t whole = llvm::PowerOf2Ceil(problem.getRows());
  if (!device.hasWgmma() || !problem.hasMatrix || problem.bytes != 2 || problem.width < leastStep)
    return;
  int64_t longest = std::clamp<int64_t>(llvm::PowerOf2Ceil(problem.streamed), leastStep, problem.longestStep);
  for (int64_t rows : {2 * groupRows, groupRows, 4 * groupRows}) {
    FoldTile tile;
    tile.engine = tg::Engine::Wgmma;
    tile.warps = rows / groupRows * 4;
    tile.rows = spreadRows(problem, rows);
    tile.numRows = rows;
    bool isFour = rows == 4 * groupRows;
    if (rows > whole || (isFour && (!problem.isPlain || !takesTurns(problem, tile, device))))
      continue;
    // Shorter steps of four were slower than fewer warpgroups (5534 x 128 x 48 on an H100: 22.5 us, 20.3).
    int64_t first = isFour ? std::min(longest, mostStepOfFour) : longest,
            last = isFour ? first : std::min(first, leastOfGroups);
    for (tile.step = first; tile.step >= last; tile.step /= 2)
      for (tile.columnTiles = 1; tile.columnTiles == 1 || (problem.width / tile.columnTiles >= leastColumns &&
                                                           countTiles(problem, tile) <= int64_t(device.sms));
           tile.columnTiles *= 2)
        visitGroupTiles(problem, tile, device, visit);
  }
}

/// Shared memory of an SM that CTAs of the fold may take. Around a decoder's fold stand products of few rows, whose
/// weights stream through the L1, and all kernels of a run have one division of an SM's memory: a third stays the L1's.
/// A layer of Llama takes 168.8 us on an H100 where two CTAs of the fold leave 28 KB, 159.5 where they leave 92 KB.
static int64_t findSharedOfSm(const FoldProblem &problem, const Device &device) {
  int64_t whole = device.sharedPerSm;
  return problem.getRows() > warpRows ? whole : std::min<int64_t>(whole, int64_t(device.l1PerSm) * 2 / 3);
}

/// Keys and values have a slot each at least, which is filled while the other is read. A decoder's fold is bound by
/// what is under way.
static int64_t leastStages(const FoldProblem &problem) { return problem.getRows() > warpRows ? 1 : 2; }

/// More steps under way if two CTAs still fit an SM, or if there is no second one for it.
static void setStages(const FoldProblem &problem, FoldTile &tile, const Device &device) {
  int64_t room = findSharedOfSm(problem, device), reserve = device.sharedReservedPerCta;
  bool isAlone = countTiles(problem, tile) <= int64_t(device.sms);
  int64_t share = isAlone ? std::min<int64_t>(device.sharedPerCta, room - reserve) : room / 2 - reserve;
  for (tile.stages = 4; tile.stages > leastStages(problem) && sharedOf(problem, tile) > share;)
    --tile.stages;
}

/// Warps of 16 rows each, whose threads copy what they multiply: 128 rows where they still fill the device, else 64;
/// never more than there are. Queries and two steps of keys and values must fit shared memory.
static FoldTile makeWarpTile(const FoldProblem &problem, const Device &device) {
  constexpr int64_t leastColumns = 32;
  auto fits = [&](FoldTile &tile, int64_t stages, int64_t bytes) {
    tile.stages = stages;
    return sharedOf(problem, tile) <= bytes;
  };
  FoldTile tile;
  tile.engine = problem.hasMatrix ? tg::Engine::Mma : tg::Engine::Simt;
  tile.step = std::min<int64_t>(problem.hasMatrix ? 64 : 32, llvm::PowerOf2Ceil(problem.streamed));
  if (problem.hasMatrix)
    tile.step = std::max(tile.step, leastStep);
  tile.numRows = 128;
  if (!problem.hasMatrix || problem.batch * int64_t(llvm::divideCeil(problem.getRows(), 128)) < int64_t(device.sms))
    tile.numRows = 64;
  tile.numRows = std::min<int64_t>(tile.numRows, std::max<int64_t>(llvm::PowerOf2Ceil(problem.getRows()), warpRows));
  while (!fits(tile, leastStages(problem), device.sharedPerCta) && (tile.numRows > warpRows || tile.step > leastStep))
    (tile.numRows > 2 * warpRows || tile.step == leastStep ? tile.numRows : tile.step) /= 2;
  tile.rows = spreadRows(problem, tile.numRows);
  tile.warps = std::clamp<int64_t>(tile.numRows / warpRows, 4, 8);
  // One row of queries a head leaves most SMs idle: columns go to several CTAs, each of which computes the scores
  // again. Where every warp has rows and there are two steps at most, that takes longer than the columns (on an H100,
  // a layer of 128 tokens and width 768 28.3 us, without 27.9; of 2 x 64 16.6 and 16.2; 19 tokens, two warps of
  // rows: 14.8 and 15.1).
  constexpr int64_t fewSteps = 2;
  bool isBrief = tile.numRows >= tile.warps * warpRows && problem.streamed <= fewSteps * tile.step;
  while (!isBrief && problem.width / tile.columnTiles > leastColumns &&
         2 * countTiles(problem, tile) <= int64_t(device.sms))
    tile.columnTiles *= 2;
  setStages(problem, tile, device);
  return tile;
}

/// Warps of two instructions' rows each, four to a CTA: a key that is read from shared memory is multiplied twice.
/// Loads of tiles beside the scores want more warps (2 x 7 x 655 x 96 with a bias, sm_80's code on an H100: 44.9 us
/// for 34.3).
static void forEachTallTile(const FoldProblem &problem, const Device &device,
                            llvm::function_ref<void(const FoldTile &)> visit) {
  constexpr int64_t warps = 4, longest = 64, shortest = 32;
  FoldTile tile;
  tile.engine = tg::Engine::Mma;
  tile.warps = warps;
  tile.numRows = warps * 2 * warpRows;
  if (!problem.hasMatrix || problem.besideBytes > 0 || tile.numRows > int64_t(llvm::PowerOf2Ceil(problem.getRows())))
    return;
  tile.rows = spreadRows(problem, tile.numRows);
  for (tile.step = longest; tile.step >= shortest; tile.step /= 2) {
    setStages(problem, tile, device);
    if (tile.step <= problem.longestStep && tile.step <= int64_t(llvm::PowerOf2Ceil(problem.streamed)))
      visit(tile);
  }
}

/// The tile with its last round shared by several CTAs a tile, if that gains: all tiles of which no round is whole, or
/// those of a whole round too. CTAs go on from one tile to the next: where others begin as they end a tail gains little
/// (24 heads of 4352 x 128 on an H100: 384 us without, 358 to 386 with, 336 where CTAs go on).
static std::optional<FoldTileChoice> shareTail(const FoldProblem &problem, const FoldTileChoice &whole,
                                               const Device &device) {
  constexpr int64_t mostParts = 8, mostBytes = 32 << 20, wordBytes = 4, mostRounds = 8;
  constexpr double clearly = 0.97; // What differs is known better than what does not.
  int64_t slots = whole.cost.ctasPerSm * int64_t(device.sms), rounds = whole.cost.tiles / slots;
  int64_t steps = llvm::divideCeil(problem.streamed, whole.tile.step);
  if (!problem.isMergeable || !whole.tile.persistent || rounds > mostRounds || whole.tile.columnTiles > 1)
    return std::nullopt;
  FoldTileChoice best;
  for (int64_t ahead : {rounds, rounds - 1}) {
    FoldTile tile = whole.tile;
    tile.whole = ahead * slots;
    if (ahead < 0 || tile.whole == whole.cost.tiles || (problem.growing && ahead > 0))
      continue;
    int64_t bytes = (whole.cost.tiles - tile.whole) * tile.numRows * (problem.columns + 2) * wordBytes;
    for (tile.parts = 2; tile.parts <= std::min(mostParts, steps / 2) && tile.parts * bytes <= mostBytes; ++tile.parts)
      if (FoldCost cost = estimateFold(problem, tile, device); !best.cost.fits || cost.seconds < best.cost.seconds)
        best = {tile, cost};
  }
  FoldTile alone = whole.tile;
  alone.persistent &= isShort(problem, alone);
  bool gains = best.cost.fits && best.cost.seconds < estimateFold(problem, alone, device).seconds * clearly;
  return gains ? std::optional(best) : std::nullopt;
}

FoldTileChoice chooseFoldTile(const FoldProblem &problem, const Device &device) {
  // Less than what the model errs is no reason for shorter steps or other rows. Where CTAs go on with tiles of uneven
  // work it ranks four warpgroups beside two right from 2 % on (15 x 8 x 4096 x 64: 617 us and 655, said 668 and 684;
  // 14 x 6 x 7082 x 48: 1,136 and 1,178, said 1,324 and 1,367).
  constexpr double clearly = 0.95, clearlyOfUneven = 0.98;
  FoldTileChoice best;
  auto look = [&](const FoldTile &tile) {
    FoldTileChoice choice{tile, estimateFold(problem, tile, device)};
    if (!choice.cost.fits)
      return;
    if (std::optional<FoldTileChoice> shared = shareTail(problem, choice, device))
      choice = *shared;
    else if (tile.persistent && !goesOn(problem, tile, choice.cost, device))
      return;
    bool isUneven = problem.growing && best.tile.persistent && tile.numRows > best.tile.numRows;
    if (!best.cost.fits || choice.cost.seconds < best.cost.seconds * (isUneven ? clearlyOfUneven : clearly))
      best = choice;
  };
  forEachGroupTile(problem, device, look);
  forEachTallTile(problem, device, look);
  FoldTile warps = makeWarpTile(problem, device);
  look(warps);
  if (!best.cost.fits) // Too wide for the device: whoever fits kernels says so.
    best = {warps, estimateFold(problem, warps, device)};
  return best;
}

} // namespace weft::plan
