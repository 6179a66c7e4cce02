// weft-split-reductions: a reduction to few elements of many elements, in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA reduces a row, so fewer rows than SMs leave SMs idle, and one SM alone gets a small part of the bandwidth. The
// outermost reduced axis that can be cut is [parts, extent / parts]; each part is reduced in the accumulator's type,
// and the parts' results are. By the monoid's law that is the same up to the rounding of sums, of which there are
// fewer.
#include "SplitMoments.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/Device.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace weft::plan {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// What one SM gets of the GPU's bandwidth beyond its share, when others are idle.
constexpr double aloneFactor = 4;
/// What a cut must gain, in kernels: it may part the reduction from what would share its kernel, and others from that.
constexpr double leastKernels = 7;
constexpr int64_t mostParts = 1024;

struct Cut {
  int64_t axis = -1, parts = 1;
  double whole = 0, split = 0; ///< Seconds.
};

double estimate(double rows, double rowBytes, const Device &device) {
  double share = device.memoryBandwidth / device.sms;
  double waves = std::ceil(rows / device.sms);
  return std::max(rows * rowBytes / device.memoryBandwidth, waves * rowBytes / (aloneFactor * share));
}

std::optional<Cut> chooseCut(tg::ReduceOp op, const Device &device) {
  tg::Dims dims = tg::getDims(op.getInput().getType());
  double rows = 1, places = 1;
  for (auto [d, extent] : llvm::enumerate(dims)) {
    std::optional<int64_t> number = tg::getConstant(extent);
    bool isReduced = llvm::is_contained(op.getAxes(), int64_t(d));
    if (!number || *number == 0)
      return std::nullopt;
    (isReduced ? places : rows) *= double(*number);
  }
  double bytes = double(std::max<int64_t>(tg::getElementBits(op.getInput().getType().getElementType()), 8)) / 8;
  Cut best;
  best.whole = best.split = estimate(rows, places * bytes, device);
  for (int64_t axis : op.getAxes()) {
    int64_t extent = *tg::getConstant(dims[axis]);
    for (int64_t parts = 2; parts <= std::min(extent, mostParts) && rows * double(parts) <= 4.0 * device.sms; ++parts) {
      double seconds = estimate(rows * double(parts), places * bytes / double(parts), device) + device.kernelSeconds();
      if (extent % parts == 0 && seconds + leastKernels * device.kernelSeconds() < best.whole && seconds <= best.split)
        best.axis = axis, best.parts = parts, best.split = seconds;
    }
    if (best.parts > 1)
      return best;
  }
  return std::nullopt;
}

void cut(tg::ReduceOp op, const Cut &choice) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value input = op.getInput();
  Type element = op.getInput().getType().getElementType(), wide = element;
  if (isa<FloatType>(element) && (op.getKind() == tg::Monoid::Add || op.getKind() == tg::Monoid::Mul))
    wide = tg::getComputeType(element);
  if (wide != element)
    input = tg::CastOp::create(builder, loc, input, wide).getResult();
  tg::Dims dims = tg::getDims(input.getType());
  SmallVector<int64_t> axes;
  for (int64_t axis : op.getAxes()) // The parts come first of the cut axis.
    axes.push_back(axis + (axis >= choice.axis));
  dims[choice.axis] = builder.getAffineConstantExpr(*tg::getConstant(dims[choice.axis]) / choice.parts);
  dims.insert(dims.begin() + choice.axis, builder.getAffineConstantExpr(choice.parts));
  Value value = tg::ReshapeOp::create(builder, loc, tg::getTensorType(dims, wide), input);
  value = tg::ReduceOp::create(builder, loc, op.getKind(), value, axes, /*keepDims=*/false).getResult();
  int64_t place = choice.axis - llvm::count_if(op.getAxes(), [&](int64_t axis) { return axis < choice.axis; });
  value =
      tg::ReduceOp::create(builder, loc, op.getKind(), value, ArrayRef<int64_t>{place}, /*keepDims=*/false).getResult();
  if (wide != element)
    value = tg::CastOp::create(builder, loc, value, element).getResult();
  if (value.getType() != op.getType())
    value = tg::ReshapeOp::create(builder, loc, op.getType(), value);
  op.getResult().replaceAllUsesWith(value);
  op.erase();
}

struct SplitReductionsPass : weft::plan::impl::SplitReductionsBase<SplitReductionsPass> {
  using Base::Base;

  SmallVector<tg::ReduceOp> findReductions() {
    SmallVector<tg::ReduceOp> found;
    getOperation()->walk([&](tg::ReduceOp op) {
      if (!op->getParentOfType<tg::FoldOp>())
        found.push_back(op);
    });
    return found;
  }

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    for (tg::ReduceOp op : findReductions()) // A mean's sum, which goes with its squares, comes ahead of them.
      numSplits += splitMoments(op, *device);
    for (tg::ReduceOp op : findReductions()) {
      std::optional<Cut> choice = chooseCut(op, *device);
      if (!choice)
        continue;
      remark::passed(op.getLoc(), remark::RemarkOpts::name("split").category("plan"))
          << remark::add("{0}", std::string(llvm::formatv(
                                    "reduction: {0:f1} us whole, {1:f1} us in {2} parts of axis {3}",
                                    choice->whole * 1e6, choice->split * 1e6, choice->parts, choice->axis)))
          << remark::metric("parts", choice->parts);
      cut(op, *choice);
      ++numSplits;
    }
  }
};

} // namespace
