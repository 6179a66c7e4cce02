// The price of a fold in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/FoldSplit.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Plan/KernelAccess.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

/// Clocks from one step of a fold to the next where nothing else limits: two products, a row maximum and a row sum, one
/// after the other (0.6 us measured on an H100).
static constexpr double stepClocks = 1000;
static constexpr int64_t rowsOfCta = 64, step = 64, leastPlaces = 64, mostParts = 128;

double estimateFold(const FoldShape &shape, int64_t parts, const Device &device) {
  double ctas = double(shape.batch * int64_t(llvm::divideCeil(shape.rows, rowsOfCta)) * parts);
  double steps = double(llvm::divideCeil(shape.places / parts, step));
  double waves = std::ceil(ctas / device.sms);
  // Two CTAs of an SM hide each other's latency.
  double latency = steps * waves * stepClocks / std::min(waves, 2.0) / device.clock;
  double perCta = shape.streamBytes / double(shape.batch * parts);
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
  std::optional<int64_t> places = tg::getConstant(fold.getExtent().getResult(0));
  if (!places)
    return "the streamed dimension has no constant extent";
  shape.places = *places;
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
      shape.streamBytes += value.getDefiningOp<tg::IotaOp>() ? 0 : bytesOf(value.getType());
  return "";
}

FoldSplit chooseFoldSplit(tg::FoldOp fold, const Device &device) {
  FoldShape shape;
  FoldSplit best;
  best.reason = describe(fold, shape);
  if (!best.reason.empty())
    return best;
  double whole = estimateFold(shape, 1, device), least = whole;
  // More than two CTAs for each SM leave none idle.
  int64_t ctas = shape.batch * int64_t(llvm::divideCeil(shape.rows, rowsOfCta));
  int64_t most = std::min(mostParts, 2 * int64_t(device.sms) / std::max<int64_t>(ctas, 1));
  for (int64_t parts = 2; parts <= most && shape.places / parts >= leastPlaces; ++parts) {
    // Equal parts; whole steps if the stream has them.
    if (shape.places % parts != 0 || (shape.places % step == 0 && shape.places / parts % step != 0))
      continue;
    if (double seconds = estimateFold(shape, parts, device); seconds < least) {
      least = seconds;
      best.parts = parts;
    }
  }
  best.reason = llvm::formatv("fold of {0} places, {1} rows in {2} batches on {3} SMs: {4:f1} us whole, {5:f1} us in "
                              "{6} parts of {7} KiB of states",
                              shape.places, shape.rows, shape.batch, device.sms, whole * 1e6, least * 1e6, best.parts,
                              int64_t(shape.stateBytes / 1024));
  return best;
}

} // namespace weft::plan
