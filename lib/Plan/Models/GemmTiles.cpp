// All tiles of a product that the engines know.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GemmTiles.h"
#include <algorithm>

using llvm::SmallVector;

namespace weft::plan {

static constexpr int64_t mostSplit = 4, mostRowShares = 8, mostMulticast = 2;

/// Columns of tiles: powers of two, and of warpgroups' the fewest instruction columns, in multiples that leave as
/// boxes, with which so many tiles go over the extent, along one dimension.
static SmallVector<int64_t> listColumns(const GemmProblem &problem, int64_t least, int64_t most, bool isWgmma) {
  constexpr int64_t unit = 16;
  SmallVector<int64_t> columns;
  for (int64_t n = most; n >= least; n /= 2)
    columns.push_back(n);
  if (!isWgmma || problem.onlyN || llvm::count_if(problem.nExtents, [](int64_t extent) { return extent > 1; }) > 1)
    return columns;
  for (int64_t n = most - unit; n > least; n -= unit) {
    int64_t tiles = llvm::divideCeil(problem.n, n);
    if (!llvm::isPowerOf2_64(uint64_t(n)) && int64_t(llvm::alignTo(llvm::divideCeil(problem.n, tiles), unit)) == n)
      columns.push_back(n);
  }
  return columns;
}

/// Whether the price is known to hold for a tile that is no power of two. Of 64 rows, of 48 columns, and of more
/// elements than 256 x 160, nine products took 1.05 to 1.4 times what it says; two products by 256 x 80 1.1 times
/// (H100, docs/notes/narrow-tiles.md).
static bool isKnownTile(int64_t m, int64_t n) {
  constexpr int64_t leastRows = 128, leastColumns = 80, leastOfTall = 112, mostElements = 256 * 160;
  return llvm::isPowerOf2_64(uint64_t(n)) ||
         (m >= leastRows && n >= (m > leastRows ? leastOfTall : leastColumns) && m * n <= mostElements);
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
  if (problem.unpackedBits) // Half as many waits: 8192 x 8192, 128 rows by 64 columns 56.1 us, else 67.8 (an H100).
    mostK *= 2;
  bool isWide = engine == tg::Engine::Mma && !problem.isBeside;
  int64_t mostSliced = isWide ? std::max<int64_t>(mostK, 512 / elementBytes) : mostK;
  if (problem.wholeM)
    leastM = limit(problem.m, leastM, 256);
  int64_t byWarpgroups = problem.allowSplit ? mostSplit : 1, byWarps = problem.allowRowShares ? mostRowShares : 1;
  int64_t mostSplits = wgmma ? byWarpgroups : byWarps;
  SmallVector<int64_t> columns = listColumns(problem, leastN, limit(problem.n, leastN, 256), wgmma);
  for (int64_t m = limit(problem.m, leastM, 256); m >= leastM; m /= 2)
    for (int64_t n : columns)
      for (int64_t k = limit(problem.k, leastK, mostSliced); k >= leastK; k /= 2)
        for (int64_t warps : {4, 8, 2, 1}) {
          if (!isKnownTile(m, n) || (problem.onlyM && m != problem.onlyM) || (problem.onlyN && n != problem.onlyN) ||
              (problem.onlyK && k != problem.onlyK))
            continue;
          if (wgmma && (warps < 4 || m % (16 * warps) != 0 || m > problem.mostBoxM || n > problem.mostBoxN))
            continue;
          // Elements that a thread loads one by one, each with its mask: more than these ptxas spills.
          if (problem.onlyK && (m + n) * k > warps * 32 * 24)
            continue;
          // A thread's sums of FMAs live beside its operands. Kernelize sums thin products element by element, in
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
  // Rows of the instruction that stay empty cost nothing where a product is bound by what it streams, and boxes stream
  // it faster than threads (an H100: 33 x 2560 x 5120 18.1 us, not 22.9; 21 x 5488 x 4864 26.1, not 31.1). Windows read
  // each element many times, which steps of several of their elements do not (92 channels to 8, 15 x 45 x 45: 88 us, by
  // mma.sync 156).
  constexpr int64_t warpRows = 16;
  bool hasRows = problem.m > (problem.taps > 1 ? 1 : warpRows);
  if (hasMatrix && device.hasWgmma() && problem.allowWgmma && hasRows && problem.n >= 32)
    forEachTile(problem, tg::Engine::Wgmma, visit);
  if (problem.unpackedBits)
    return;
  if (hasMatrix)
    forEachTile(problem, tg::Engine::Mma, visit);
  // A thread that multiplies elements copied one by one waits for them (2 x 6208 x 1190: 24.8 us on an H100, by
  // mma.sync 13.7; 6 x 2200 x 3908: 20.4 and 15.0).
  constexpr int64_t vectorBytes = 16;
  bool copiesVectors = problem.taps > 1 || std::min(problem.lhsAlignment, problem.rhsAlignment) >= vectorBytes;
  if (!hasMatrix || (std::min(problem.m, problem.n) < 8 && copiesVectors))
    forEachTile(problem, tg::Engine::Simt, visit);
}

} // namespace weft::plan
