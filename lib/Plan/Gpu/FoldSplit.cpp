// The price of a fold in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/FoldSplit.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/IR/FoldMask.h"
#include "weft/Plan/KernelAccess.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

/// Clocks from one step of a fold to the next where nothing else limits: two products, a row maximum and a row sum, one
/// after the other (0.6 us measured on an H100); where rows are too few for a warpgroup, one warp does all of it
/// (1.2 us).
static double getStepClocks(int64_t rows) { return rows < 64 ? 2200 : 1000; }
static constexpr int64_t rowsOfCta = 64, step = 64, mostParts = 128;

double estimateFold(const FoldShape &shape, int64_t parts, const Device &device) {
  double ctas = double(shape.batch * int64_t(llvm::divideCeil(shape.rows, rowsOfCta)) * parts);
  double steps = double(llvm::divideCeil(llvm::divideCeil(shape.places, step), parts)); // Of the longest part.
  double waves = std::ceil(ctas / device.sms);
  // Two CTAs of an SM hide each other's latency.
  double latency = steps * waves * getStepClocks(shape.rows) / std::min(waves, 2.0) / device.clock;
  double perCta = shape.placeBytes * std::min(steps * double(step), double(shape.places)) / double(shape.batch);
  double bytes = perCta * waves * device.sms / device.memoryBandwidth; // Of the busiest SM, at its share.
  double seconds = std::max(latency, bytes);
  if (parts > 1)
    seconds += device.kernelSeconds() + 2 * double(parts) * shape.stateBytes / (device.l2BytesPerSecond() / 2);
  return seconds;
}

static double bytesOf(Type type) {
  double bytes = double(tg::getElementBits(cast<RankedTensorType>(type).getElementType())) / 8;
  for (AffineExpr extent : tg::getDims(type))
    bytes *= double(estimateExtent(extent));
  return bytes;
}

/// The shape, or why there is none.
static std::string describe(tg::FoldOp fold, FoldShape &shape) {
  if (fold.getMerge().empty())
    return "the fold has no merge";
  tg::ContractOp sum;
  for (Operation &op : fold.getUpdate().front())
    if (auto contract = dyn_cast<tg::ContractOp>(op); contract && tg::isStreamed(contract))
      sum = contract;
  if (!sum)
    return "the fold has no contraction over its stream";
  shape.places = estimateExtent(fold.getExtent().getResult(0));
  Operation *rhs = sum.getRhs().getDefiningOp();
  bool rowsOnLeft = !rhs || !fold->isAncestor(rhs);
  for (auto [d, extent] : llvm::enumerate(cast<tg::TileOpInterface>(sum.getOperation()).getDomainExtents())) {
    bool made = sum.getMap(rowsOnLeft ? 0 : 1).isFunctionOfDim(d),
         read = sum.getMap(rowsOnLeft ? 1 : 0).isFunctionOfDim(d);
    if (sum.getMap(2).isFunctionOfDim(d))
      (made && read ? shape.batch : made ? shape.rows : shape.columns) *= estimateExtent(extent);
  }
  for (Type type : fold.getUpdate().front().getArgumentTypes())
    shape.stateBytes += bytesOf(type);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(fold.getUpdate(), captured);
  for (Value value : captured) // By the extent: what has it goes along the stream.
    if (llvm::is_contained(tg::getDims(value.getType()), fold.getExtent().getResult(0)))
      shape.placeBytes += value.getDefiningOp<tg::IotaOp>() ? 0 : bytesOf(value.getType()) / double(shape.places);
  return "";
}

/// The number of parts that costs least over all of these extents: by the product of its ratios to the cheapest ones.
static int64_t chooseParts(FoldShape shape, ArrayRef<int64_t> extents, int64_t most, const Device &device) {
  SmallVector<double> ratios(most, 1.0), seconds(most, 0.0);
  for (int64_t places : extents) {
    shape.places = places;
    for (int64_t i = 0; i < most; ++i) // A launch that is there in any case keeps ratios of short folds down.
      seconds[i] = device.kernelSeconds() + estimateFold(shape, i + 1, device);
    double least = *llvm::min_element(seconds);
    for (int64_t i = 0; i < most; ++i)
      ratios[i] *= seconds[i] / least;
  }
  return llvm::min_element(ratios) - ratios.begin() + 1;
}

FoldSplit chooseFoldSplit(tg::FoldOp fold, const Device &device) {
  FoldShape shape;
  FoldSplit best;
  best.reason = describe(fold, shape);
  if (!best.reason.empty())
    return best;
  // More than two CTAs for each SM leave none idle; each part has a step at least.
  int64_t ctas = shape.batch * int64_t(llvm::divideCeil(shape.rows, rowsOfCta));
  int64_t most = std::clamp<int64_t>(2 * int64_t(device.sms) / std::max<int64_t>(ctas, 1), 1, mostParts);
  SmallVector<int64_t> extents{shape.places};
  bool isKnown = tg::getConstant(fold.getExtent().getResult(0)).has_value();
  if (isKnown) {
    most = std::min(most, std::max<int64_t>(llvm::divideCeil(shape.places, step), 1));
  } else if (!tg::mergesInitialStates(fold)) {
    best.reason = "parts may be without places, and merging such a part is not proved to change nothing";
    return best;
  } else { // Caches of any length.
    constexpr int64_t longest = 32768;
    for (extents = {step}; extents.back() < longest;)
      extents.push_back(extents.back() * 2);
  }
  best.unit = step;
  best.parts = chooseParts(shape, extents, most, device);
  double whole = estimateFold(shape, 1, device), least = estimateFold(shape, best.parts, device);
  best.reason =
      llvm::formatv("fold of {0}{1} places, {2} rows in {3} batches on {4} SMs: {5:f1} us whole, {6:f1} us in "
                    "{7} parts of {8} KiB of states",
                    isKnown ? "" : "about ", shape.places, shape.rows, shape.batch, device.sms, whole * 1e6,
                    least * 1e6, best.parts, int64_t(shape.stateBytes / 1024));
  return best;
}

} // namespace weft::plan
