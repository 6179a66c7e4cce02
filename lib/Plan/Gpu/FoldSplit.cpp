// The price of a fold in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/FoldSplit.h"
#include "weft/Dialect/TileGraph/IR/FoldMask.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/ReadTime.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

/// Borders of parts are borders of steps.
static constexpr int64_t unit = 64, mostParts = 128, decoderRows = 16, rowsOfCta = 64;

double estimateFoldInParts(FoldProblem problem, double stateBytes, int64_t parts, int64_t unit, const Device &device) {
  if (parts == 1)
    return chooseFoldTile(problem, device).cost.seconds;
  int64_t units = llvm::divideCeil(problem.streamed, unit);
  problem.streamed = std::min<int64_t>(problem.streamed, int64_t(llvm::divideCeil(units, parts)) * unit);
  problem.longestStep = std::min(problem.longestStep, unit);
  problem.batch *= parts;
  problem.isInParts = true;
  double states = double(parts) * stateBytes, results = std::exchange(problem.resultBytes, 0);
  // States are written and read once, by way of the L2, at half of its rate.
  double moved = 2 * states / (device.l2BytesPerSecond() / 2) + writeSeconds(results, device);
  return chooseFoldTile(problem, device).cost.seconds + moved + device.kernelSeconds();
}

static double estimateBytes(Type type) {
  double bytes = double(tg::getElementBits(cast<RankedTensorType>(type).getElementType())) / 8;
  for (AffineExpr extent : tg::getDims(type))
    bytes *= double(estimateExtent(extent));
  return bytes;
}

/// Numbers of parts to look at: all small ones, of large ones those that are an eighth apart.
static SmallVector<int64_t> countsUpTo(int64_t most) {
  SmallVector<int64_t> counts;
  for (int64_t parts = 1; parts <= most; parts += std::max<int64_t>(parts / 8, 1))
    counts.push_back(parts);
  return counts;
}

/// The number of parts that costs least over all of these extents: by the product of its ratios to the cheapest ones.
static int64_t chooseParts(FoldProblem problem, double stateBytes, ArrayRef<int64_t> extents, int64_t most,
                           const Device &device) {
  SmallVector<int64_t> counts = countsUpTo(most);
  SmallVector<double> ratios(counts.size(), 1.0), seconds(counts.size(), 0.0);
  double ofPlace = problem.operandBytes / double(problem.streamed);
  for (int64_t places : extents) {
    problem.streamed = places;
    problem.operandBytes = ofPlace * double(places);
    for (auto [i, parts] :
         llvm::enumerate(counts)) // A launch that is there in any case keeps short folds' ratios down.
      seconds[i] = device.tailSeconds + estimateFoldInParts(problem, stateBytes, parts, unit, device);
    double least = *llvm::min_element(seconds);
    for (auto [ratio, time] : llvm::zip_equal(ratios, seconds))
      ratio *= time / least;
  }
  constexpr double clearly = 0.95; // The model errs by more: a second kernel has to pay.
  auto *least = llvm::min_element(ratios);
  return *least < clearly * ratios.front() ? counts[least - ratios.begin()] : 1;
}

FoldSplit chooseFoldSplit(tg::FoldOp fold, const Device &device) {
  FoldSplit best;
  tg::ContractOp sum = findFoldSum(fold);
  if (fold.getMerge().empty() || !sum) {
    best.reason = sum ? "the fold has no merge" : "the fold has no contraction over its stream";
    return best;
  }
  FoldProblem problem = describeFold(fold, sum);
  double stateBytes = 0;
  for (Type type : fold.getUpdate().front().getArgumentTypes())
    stateBytes += estimateBytes(type);
  int64_t places = problem.streamed, most = mostParts, leastUnits = 1;
  if (problem.getRows() > decoderRows) {
    // A prompt whose tiles fill two rounds stays whole: its states are as large as what it reads (8 x 293 x 2944 x 112
    // on an H100: 78.7 us, in two parts 100); so does a short one. One instruction's rows are a decoder's.
    int64_t tiles = problem.batch * int64_t(llvm::divideCeil(problem.getRows(), rowsOfCta));
    most = std::clamp<int64_t>(2 * int64_t(device.sms) / std::max<int64_t>(tiles, 1), 1, most);
    leastUnits = 4;
  }
  SmallVector<int64_t> extents{places};
  bool isLikely = tg::LikelyExtents::has(fold.getExtent().getResult(0));
  if (!problem.isKnown && !tg::mergesInitialStates(fold)) {
    best.reason = "parts may be empty, and merging such a part is not proved to change nothing";
    return best;
  }
  if (problem.isKnown || isLikely) {
    most = std::min(most, std::max<int64_t>(llvm::divideCeil(places, unit) / leastUnits, 1));
  } else { // Caches of any length.
    constexpr int64_t longest = 32768;
    for (extents = {unit}; extents.back() < longest;)
      extents.push_back(extents.back() * 2);
  }
  best.unit = unit;
  best.parts = chooseParts(problem, stateBytes, extents, most, device);
  double whole = estimateFoldInParts(problem, stateBytes, 1, unit, device),
         least = estimateFoldInParts(problem, stateBytes, best.parts, unit, device);
  best.reason =
      llvm::formatv("fold over {0}{1} elements, {2} rows in {3} batches on {4} SMs: {5:f1} us whole, {6:f1} us in "
                    "{7} parts of {8} KiB of states",
                    problem.isKnown ? "" : "about ", places, problem.getRows(), problem.batch, device.sms, whole * 1e6,
                    least * 1e6, best.parts, int64_t(stateBytes / 1024));
  return best;
}

} // namespace weft::plan
