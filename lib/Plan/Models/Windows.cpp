// Tiles of windows, by instructions: products and sums, and loads, which terms of neighbouring places share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Windows.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

static constexpr int64_t warpThreads = 32, vectorBytes = 16, mostWarps = 4;

namespace {
/// What is known of the windows of a kernel.
struct Windows {
  unsigned inner = 0;   ///< The dimension of the result that is contiguous in memory.
  unsigned sliding = 0; ///< That of which a thread has neighbouring places.
  int64_t vector = 1;   ///< Elements along `inner` of one access.
  int64_t bytes = 2;    ///< Of an element.
  int64_t terms = 1;    ///< Of a place.
  int64_t own = 1;      ///< Of these along `sliding`,
  int64_t stride = 1, dilation = 1;
  SmallVector<int64_t> extents; ///< Of the result.

  /// What `places` neighbours read along `sliding`.
  int64_t countReads(int64_t places) const {
    llvm::SmallSet<int64_t, 32> reads;
    for (int64_t place = 0; place < places; ++place)
      for (int64_t term = 0; term < own; ++term)
        reads.insert(place * stride + term * dilation);
    return reads.size();
  }
};

struct WindowTile {
  SmallVector<int64_t> tile;
  int64_t warps = mostWarps, places = 1; ///< Of a thread along `sliding`.
  double seconds = 0;
};
} // namespace

/// By how much an index rises with a dimension, if that is a constant.
static int64_t getFactor(AffineExpr at, unsigned dim, unsigned dims) {
  AffineExpr next = at.replace(getAffineDimExpr(dim, at.getContext()), getAffineDimExpr(dim, at.getContext()) + 1);
  auto distance = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(next - at, dims, 0));
  return distance ? distance.getValue() : 0;
}

/// Notes where windows slide along in one tensor: the last of its indices but the innermost that does.
static bool readSlide(const KernelToSchedule &kernel, const KernelRequest &request, Windows &windows) {
  bool found = false;
  const KernelAccess &access = kernel.access;
  for (auto [i, at] : llvm::enumerate(request.coordinates)) {
    if (!at)
      return false;
    for (unsigned d = 0; d < access.resultRank; ++d)
      for (unsigned r = access.resultRank; r < access.dims.size(); ++r) {
        if (!at.isFunctionOfDim(d) || !at.isFunctionOfDim(r) || kernel.extents[d] == 1)
          continue;
        int64_t stride = getFactor(at, d, access.dims.size()), dilation = getFactor(at, r, access.dims.size());
        if (i + 1 == request.coordinates.size()) {
          windows.vector = 1; // Most terms begin between vectors.
        } else if (d != windows.inner && stride > 0 && dilation > 0) {
          found = true;
          windows.sliding = d;
          windows.own = kernel.extents[r];
          windows.stride = stride;
          windows.dilation = dilation;
        }
      }
  }
  return found;
}

static std::optional<Windows> findWindows(const KernelToSchedule &kernel, tg::ContractOp contract) {
  const KernelAccess &access = kernel.access;
  Windows windows;
  windows.extents.assign(kernel.extents.begin(), kernel.extents.begin() + access.resultRank);
  for (unsigned d = 0; d < access.resultRank; ++d)
    if (windows.extents[d] > 1)
      windows.inner = d;
  for (unsigned r = access.resultRank; r < access.dims.size(); ++r)
    if (access.dims[r].reducer == contract)
      windows.terms *= kernel.extents[r];
  windows.bytes = std::max<int64_t>(
      tg::getElementBits(cast<RankedTensorType>(contract.getLhs().getType()).getElementType()) / 8, 1);
  windows.vector = std::max<int64_t>(vectorBytes / kernel.getWidestBytes(), 1);
  bool found = false;
  for (const KernelRequest &request : access.requests)
    if (isa<BlockArgument>(request.value))
      found |= readSlide(kernel, request, windows);
  return found ? std::optional(windows) : std::nullopt;
}

/// Clocks that an SM's quarter takes for a warp: an instruction a clock, or what the SM's one path to its L1 cache
/// takes for the loads of four.
static double clocksOfWarp(const Windows &windows, const WindowTile &tile) {
  constexpr double overlap = 0.7, quarters = 4, lineBytes = 128, loadWork = 3, startWork = 100;
  double lanes = std::clamp<double>(double(tile.tile[windows.inner]) / double(windows.vector), 1, warpThreads);
  double vector = double(windows.vector), rows = warpThreads / lanes;
  double wavefronts = std::max(std::ceil(warpThreads * vector * double(windows.bytes) / lineBytes), rows);
  double terms = double(windows.terms), places = double(tile.places);
  double reads = terms / double(windows.own) * double(windows.countReads(tile.places));
  bool sharesWeights = windows.vector == 1; // One for all lanes, or a vector for each.
  double issued = startWork + terms * places * vector + reads * (loadWork + vector) + terms * (1 + vector);
  double loads = quarters * (reads * wavefronts + terms * (sharesWeights ? 1 : wavefronts));
  return std::max(issued, loads) + (1 - overlap) * std::min(issued, loads);
}

static int64_t countTiles(const Windows &windows, ArrayRef<int64_t> tile) {
  int64_t count = 1;
  for (auto [extent, size] : llvm::zip_equal(windows.extents, tile))
    if (llvm::MulOverflow(count, int64_t(llvm::divideCeil(extent, size)), count))
      return INT64_MAX / 2;
  return count;
}

static double secondsOf(const Windows &windows, const WindowTile &tile, const Device &device) {
  constexpr double quarters = 4, hidingWarps = 12; // Fewer of an SM do not hide what the others wait for.
  double warps = double(countTiles(windows, tile.tile)) * double(tile.warps) / double(device.sms);
  return std::max(std::ceil(warps / double(tile.warps)) * double(tile.warps), hidingWarps) / quarters *
         clocksOfWarp(windows, tile) / device.clock;
}

/// What is left of `threads` goes to the other dimensions, from the last on; the warps that this makes.
static void spreadThreads(const Windows &windows, int64_t threads, WindowTile &tile) {
  for (unsigned d = windows.extents.size(); d-- > 0;)
    if (d != windows.inner && d != windows.sliding) {
      tile.tile[d] = fitPower(windows.extents[d], threads, 1);
      threads /= tile.tile[d];
    }
  tile.warps = std::max<int64_t>(mostWarps / threads, 1);
}

static WindowTile findBest(const Windows &windows, const Device &device) {
  constexpr int64_t mostPlaces = 8, mostElements = 32;
  WindowTile best;
  auto whole = [&](unsigned d) { return int64_t(llvm::PowerOf2Ceil(windows.extents[d])); };
  for (int64_t places = 1; places <= std::min(mostPlaces, whole(windows.sliding)); places *= 2)
    for (int64_t lanes = 1; lanes <= mostWarps * warpThreads; lanes *= 2)
      for (int64_t rows = 1; rows * lanes <= mostWarps * warpThreads; rows *= 2) {
        int64_t columns = lanes * windows.vector;
        if (places * windows.vector > mostElements || (columns > whole(windows.inner) && lanes > 1) ||
            (places * rows > whole(windows.sliding) && rows > 1))
          continue;
        WindowTile tile;
        tile.tile.assign(windows.extents.size(), 1);
        tile.tile[windows.inner] = columns;
        tile.tile[windows.sliding] = places * rows;
        tile.places = places;
        spreadThreads(windows, mostWarps * warpThreads / (lanes * rows), tile);
        tile.seconds = secondsOf(windows, tile, device);
        if (best.tile.empty() || tile.seconds < best.seconds)
          best = tile;
      }
  return best;
}

std::optional<ScheduleChoice> chooseWindows(const KernelToSchedule &kernel, tg::ContractOp contract,
                                            const Device &device) {
  std::optional<Windows> windows = findWindows(kernel, contract);
  if (!windows)
    return std::nullopt;
  WindowTile best = findBest(*windows, device);
  ScheduleChoice choice;
  choice.tile = best.tile;
  choice.warps = best.warps;
  choice.reason =
      llvm::formatv("windows of {0} terms: {1} CTAs, {2} elements of each thread share what they read, {3:f1} us",
                    windows->terms, countTiles(*windows, best.tile), best.places, best.seconds * 1e6);
  return choice;
}

std::optional<double> estimateWindows(const KernelToSchedule &kernel, tg::ContractOp contract,
                                      tg::ScheduleAttr schedule, const Device &device) {
  std::optional<Windows> windows = findWindows(kernel, contract);
  if (!windows || schedule.getTile().size() != windows->extents.size())
    return std::nullopt;
  WindowTile tile;
  tile.tile.assign(schedule.getTile().begin(), schedule.getTile().end());
  tile.warps = schedule.getWarps();
  int64_t elements = 1;
  for (int64_t extent : tile.tile)
    elements *= extent;
  int64_t held = std::max<int64_t>(elements / (tile.warps * warpThreads * windows->vector), 1);
  tile.places = std::min(held, tile.tile[windows->sliding]);
  return secondsOf(*windows, tile, device);
}

} // namespace weft::plan
