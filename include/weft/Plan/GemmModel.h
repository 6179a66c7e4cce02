// The time of a contraction on a GPU, by tile shape: what the planner minimises.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An SM computes its share of the tiles. A step of a tile's loop costs the most of: matrix pipe, shared memory, L2
// (more where rows do not start at lines), the issue of narrow copies; or, where too little is under way, latency.
// Behind the loop come what its warps do with each element, and stores, which the L2 takes by the sector. The GPU as a
// whole is bound by DRAM. Times in clocks of the device unless named otherwise; the constants are Device's.
#ifndef WEFT_PLAN_GEMMMODEL_H
#define WEFT_PLAN_GEMMMODEL_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>
#include <tuple>

namespace weft::plan {

/// What multiplies: the rate class of the operands.
/// Tf32: f32 whose products may be rounded.
enum class GemmType { F16, S8, F32, Tf32, F64, Other };

struct GemmTile {
  int64_t m = 1, n = 1, k = 1;
  int64_t warps = 4, stages = 2;
  tg::Engine engine = tg::Engine::Simt;
  int64_t split = 1; ///< CTAs of a cluster that share the steps of one tile.
  /// CTAs of a cluster with tiles side by side: what they have to read in common they read once.
  int64_t multicast = 1;
  /// `tail<whole,parts,ORDER>`: of each tile (of a cluster) behind the first `whole` ones so many CTAs have a part of
  /// the steps; 1: there is no tail.
  int64_t whole = 0, parts = 1;

  bool operator==(const GemmTile &other) const {
    auto key = [](const GemmTile &t) {
      return std::tie(t.m, t.n, t.k, t.warps, t.stages, t.engine, t.split, t.multicast, t.whole, t.parts);
    };
    return key(*this) == key(other);
  }
};

/// `batch` times `products` of m x k by k x n.
struct GemmProblem {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  GemmType type = GemmType::F16;
  int64_t lhsBytes = 2, rhsBytes = 2, resultBytes = 2; ///< Of an element.
  /// Bytes that all rows start at multiples of, a line at most: what a thread moves at once is no wider.
  int64_t lhsAlignment = 128, rhsAlignment = 128, resultAlignment = 128;
  bool lhsAlongK = true, rhsAlongK = true;   ///< Rows of an operand in memory, else along its side.
  bool lhsSlides = false, rhsSlides = false; ///< Windows slide along them: each element is copied alone.
  /// Elements of memory that an operand consists of, where those are fewer than its indices: windows overlap.
  double lhsElements = 0, rhsElements = 0;
  double epilogueWork = 0; ///< Instructions behind the products for an element of the result.
  /// Products of the same extents in one kernel, an accumulator each, and the tensors that they read on either side.
  int64_t products = 1, lhsTensors = 1, rhsTensors = 1;
  /// 32-bit registers per element of the accumulator that an epilogue holds beside it (tensors of the result's extents
  /// that it reads).
  double epilogueRegisters = 0;
  /// And what it holds of its own until all of a tile is there: further results.
  double heldRegisters = 0;
  /// Elements of the reduction that stay constant along k: a window's other dimensions; the loop has k * taps steps.
  int64_t taps = 1;
  /// Instructions of an element of an operand that the kernel computes, each time a tile reads it (a depthwise window
  /// in front of a pointwise convolution): its steps wait for what they load, and it passes through registers.
  double lhsWork = 0, rhsWork = 0;
  /// Bits in memory of an element of the left operand where warpgroups unpack it in registers; 0: it is not so.
  int64_t unpackedBits = 0;
  bool contiguousAlongK = true; ///< The larger operand; else along its rows or columns.
  /// The extents that a side consists of, outermost first, where they are several, and the least tile along the last of
  /// them that is not 1: what is contiguous in memory wants whole vectors.
  llvm::SmallVector<int64_t> mExtents, nExtents;
  int64_t leastInnerM = 1, leastInnerN = 1;
  bool wholeM = false;          ///< A tile has all rows: what follows adds them up.
  int64_t onlyM = 0, onlyN = 0; ///< The rows and the columns of a tile, if something asks for them.
  /// The step, if it goes along several dimensions of the reduction: then threads load elements, not vectors.
  int64_t onlyK = 0;
  bool isBeside = false;       ///< CTAs of other kernels want room beside its own, which stay small.
  bool allowMulticast = false; ///< Each side and the reduction are one dimension.
  bool allowSplit = false;     ///< CTAs of a cluster may share a tile: its results leave as boxes.
  /// CTAs of a cluster may share the steps of a tile, and have rows of its sums each (weft-tk-split-steps).
  bool allowRowShares = false;
  /// Tiles behind the whole rounds may be shared by CTAs that go on from tile to tile.
  bool allowTail = false;
  bool allowWgmma = true;                 ///< Operands have rows of whole 16-byte units (TMA).
  int64_t mostBoxM = 256, mostBoxN = 256; ///< The largest tiles that are boxes of the operands (TMA again).
  /// The tile that was chosen for all products of a launch (GemmLaunch.h); taken if it fits.
  std::optional<GemmTile> only;
};

/// What a CTA takes of its SM.
struct CtaRoom {
  double registers = 1; ///< Of all its threads.
  int64_t shared = 0, threads = 1;

  int64_t countCtas(const Device &device) const;
};

struct GemmCost {
  bool fits = false;
  double seconds = 0;
  int64_t ctasPerSm = 0, tiles = 0;
  CtaRoom room;
  const char *bound = ""; ///< "matrix", "shared", "l2", "copies", "latency", "stores", "dram".
};

/// Powers of two, the product `elements`, to tile a side of these extents with (outermost first): those that need the
/// fewest tiles, of equal ones the widest along the inner dimensions; at least `leastInner` along the last dimension
/// that is not 1, if it has as many.
llvm::SmallVector<int64_t> splitTile(llvm::ArrayRef<int64_t> extents, int64_t elements, int64_t leastInner);

/// Operations of an SM in a clock.
double flopsPerClock(const GemmProblem &problem, tg::Engine engine, const Device &device);

/// Whether all tiles start at once, each on an SM of its own, and stay together for many steps.
bool isLongWave(const GemmProblem &problem, const GemmTile &tile, int64_t tiles, const Device &device);

GemmCost estimateGemm(const GemmProblem &problem, const GemmTile &tile, const Device &device);

/// Calls `visit` for every tile that the device's engines can do, whether it fits or not.
void forEachTile(const GemmProblem &problem, const Device &device, llvm::function_ref<void(const GemmTile &)> visit);

/// The cheapest tile over everything that the device's engines can do; always finds one.
struct GemmChoice {
  GemmTile tile;
  GemmCost cost;
};
GemmChoice chooseGemmTile(const GemmProblem &problem, const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_GEMMMODEL_H
