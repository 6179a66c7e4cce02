// What OperandBoxes.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OperandBoxes.h"
#include "ProductRows.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace weft::plan {

/// The most elements of a tensor from a box's first to its last along a dimension, and from one of the box to the next.
static constexpr int64_t mostReach = 256, mostStep = 8;
/// Bytes that boxes begin at multiples of, along what is contiguous.
static constexpr int64_t tmaUnit = 16;

static int64_t bytesOf(Value value) {
  return std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) / 8, 1);
}

Value sourceOf(Value operand) {
  while (isa_and_nonnull<tg::PadOp, tg::TransposeOp, tg::SliceOp>(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  return operand;
}

bool hasAlignedRows(Value value) {
  tg::Dims dims = tg::getDims(value.getType());
  std::optional<int64_t> row = dims.empty() ? std::nullopt : tg::getConstant(dims.back());
  return row && *row * bytesOf(value) % tmaUnit == 0;
}

bool readsBoxes(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  return llvm::all_of(map.getResults(), [&](AffineExpr index) {
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(index);
        sum && sum.getKind() == AffineExprKind::Add && isa<AffineConstantExpr>(sum.getRHS()))
      index = sum.getLHS();
    auto dim = dyn_cast<AffineDimExpr>(index);
    if (!dim || seen.test(dim.getPosition()))
      return isa<AffineConstantExpr>(index);
    seen.set(dim.getPosition());
    return true;
  });
}

/// Whether tiles of a slice are boxes that end where the slice does: it ends with the tensor, or where any tile does.
static bool endsWithTiles(tg::SliceOp slice) {
  constexpr int64_t mostTile = 256;
  tg::Dims whole = tg::getDims(slice.getInput().getType()), own = tg::getDims(slice.getType());
  return llvm::all_of(llvm::seq<size_t>(0, own.size()), [&](size_t d) {
    AffineExpr end = tg::simplify(own[d] + slice.getOffsets()[d]);
    std::optional<int64_t> extent = tg::getConstant(own[d]);
    return slice.getStrides()[d] == 1 && (tg::isEqual(end, whole[d]) || (extent && *extent % mostTile == 0));
  });
}

namespace {
/// A dimension of the kernel in an index, and what it is multiplied by.
struct ScaledDim {
  unsigned dim;
  int64_t factor;
};
} // namespace

/// Whether `at` is a sum of multiples of dimensions, which are appended to `dims`, and of constants.
static bool isSumOfDims(AffineExpr at, SmallVectorImpl<ScaledDim> &dims) {
  if (auto dim = dyn_cast_or_null<AffineDimExpr>(at)) {
    dims.push_back({dim.getPosition(), 1});
    return true;
  }
  auto both = dyn_cast_or_null<AffineBinaryOpExpr>(at);
  if (!both)
    return isa_and_nonnull<AffineConstantExpr>(at);
  if (both.getKind() == AffineExprKind::Add)
    return isSumOfDims(both.getLHS(), dims) && isSumOfDims(both.getRHS(), dims);
  auto dim = dyn_cast<AffineDimExpr>(both.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(both.getRHS());
  if (both.getKind() != AffineExprKind::Mul || !dim || !factor)
    return false;
  dims.push_back({dim.getPosition(), factor.getValue()});
  return true;
}

/// Whether the indices are those of a box: see hasBoxes.
static bool isBox(const KernelToSchedule &kernel, const KernelRequest &request, std::optional<unsigned> depth) {
  unsigned above = 0;
  for (AffineExpr at : request.coordinates) {
    SmallVector<ScaledDim> dims;
    if (!isSumOfDims(at, dims))
      return false;
    for (auto [d, factor] : dims) {
      bool isReduced = kernel.access.dims[d].reducer != nullptr;
      if (isReduced && d != depth) // One element in a step, wherever it is.
        continue;
      if (factor < 1 || factor > (isReduced ? 1 : mostStep))
        return false;
      if (isReduced || kernel.extents[d] == 1)
        continue;
      if (d < above)
        return false;
      above = d;
    }
  }
  AffineDimExpr last = tg::getShiftedDim(request.coordinates.back(), tmaUnit / bytesOf(request.value));
  return last && (!kernel.access.dims[last.getPosition()].reducer || last.getPosition() == depth);
}

bool hasBoxes(const KernelToSchedule &kernel, Value operand, std::optional<unsigned> depth) {
  Value source = sourceOf(operand);
  for (; operand != source; operand = operand.getDefiningOp()->getOperand(0))
    if (auto slice = operand.getDefiningOp<tg::SliceOp>(); slice && !endsWithTiles(slice))
      return false;
  return isa<BlockArgument>(source) && hasAlignedRows(source) &&
         llvm::all_of(kernel.access.of(source),
                      [&](const KernelRequest *request) { return isBox(kernel, *request, depth); });
}

/// By how much indices of the operand grow with `dim`, at most.
static int64_t findStep(const KernelToSchedule &kernel, Value source, unsigned dim) {
  int64_t step = 1;
  for (const KernelRequest *request : kernel.access.of(source))
    for (AffineExpr at : request->coordinates) {
      SmallVector<ScaledDim> dims;
      if (!isSumOfDims(at, dims))
        continue;
      for (ScaledDim each : dims)
        if (each.dim == dim)
          step = std::max(step, each.factor);
    }
  return step;
}

int64_t findMostBox(const KernelToSchedule &kernel, Value operand, ArrayRef<unsigned> side) {
  int64_t most = mostReach, all = 1;
  auto wholeOf = [&](unsigned d) {
    return std::min<int64_t>(int64_t(llvm::PowerOf2Ceil(kernel.extents[d])), mostReach);
  };
  for (unsigned d : side)
    all = std::min(all * wholeOf(d), mostReach);
  for (unsigned d : side) {
    int64_t reached = mostReach / int64_t(llvm::PowerOf2Ceil(findStep(kernel, sourceOf(operand), d)));
    // What is beyond all elements of a side is behind the last dimension (splitTile).
    if (wholeOf(d) * (mostReach / all) > reached)
      most = std::min(most, reached);
  }
  return most;
}

/// The index along what is contiguous where it is not the same for all; else null.
static AffineExpr getLast(const KernelRequest &request) {
  AffineExpr last = request.coordinates.empty() ? AffineExpr() : request.coordinates.back();
  return last && !isa<AffineConstantExpr>(last) ? last : AffineExpr();
}

bool slidesAlongRows(const KernelToSchedule &kernel, Value operand) {
  return llvm::any_of(kernel.access.of(sourceOf(operand)), [&](const KernelRequest *request) {
    AffineExpr last = getLast(*request);
    return last && llvm::count_if(llvm::seq<unsigned>(0, kernel.access.dims.size()),
                                  [&](unsigned d) { return last.isFunctionOfDim(d); }) > 1;
  });
}

int64_t findVectorAlignment(const KernelToSchedule &kernel, Value operand) {
  Value source = sourceOf(operand);
  int64_t alignment = findRowAlignment(source), bytes = bytesOf(source);
  for (const KernelRequest *request : kernel.access.of(source)) {
    AffineExpr last = getLast(*request);
    if (!last)
      continue;
    if (!tg::getShiftedDim(last))
      return bytes;
    if (auto shifted = dyn_cast<AffineBinaryOpExpr>(last))
      alignment = std::gcd(alignment, cast<AffineConstantExpr>(shifted.getRHS()).getValue() * bytes);
  }
  return std::max(alignment, bytes);
}

} // namespace weft::plan
