// What CarrySums.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding: of 16-bit floats x s and x s g were rounded; now x g is, and the GEMM times s. A row that fits f16 may
// have x g that does not, where g is larger than 1, or that is subnormal, where all of g is small: g is known, so x g
// gets the power of two that brings its greatest element to at most 1 and more than 1/2, and s the inverse one. Then
// nothing overflows that x did not; what one large element of g costs the others is at most `mostFactor`.
#include "CarrySums.h"
#include "../Groups/InnerContractions.h"
#include "../Models/Unpacked.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/GemmModel.h"
#include "weft/Plan/MemoryLevels.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Plan/Resolution.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace weft::plan {

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// Whether `value` is a tensor of the row's extents along its last dimension, and of 1 along others.
static bool isAlongRow(Value value, AffineExpr last) {
  tg::Dims dims = tg::getDims(value.getType());
  return !dims.empty() && tg::isEqual(dims.back(), last) &&
         llvm::all_of(ArrayRef(dims).drop_back(), [](AffineExpr extent) { return tg::getConstant(extent) == 1; });
}

/// Among what is kept, one tensor is the row, and a GEMM makes it; the others are the same for all rows.
std::string CarriedSums::findRow() {
  AffineExpr last = tg::getDims(operand.getType()).back();
  for (Value value : kept) { // One row has the extents of what all rows share.
    bool isMade = tg::getDims(value.getType()) == tg::getDims(operand.getType()) && tg::findProductOf(value);
    if (isAlongRow(value, last) && !isMade)
      continue;
    if (row || tg::getDims(value.getType()) != tg::getDims(operand.getType()))
      return "no GEMM in front can add up its rows: the norm is of more than one tensor";
    row = value;
  }
  std::optional<tg::ProductOf> made = row ? tg::findProductOf(row) : std::nullopt;
  product = made && llvm::is_sorted(made->order) ? made->product : tg::ContractOp();
  if (!product || !canHaveRowParts(product))
    return "no GEMM in front can add up its rows: none makes them";
  return "";
}

/// The one reduction: a sum in f32 of what is computed from the row alone, element by element.
std::string CarriedSums::findSum() {
  for (Operation *op : scaling)
    if (auto reduce = dyn_cast<tg::ReduceOp>(op)) {
      if (sum)
        return "no GEMM in front can add up its rows: two sums of each";
      sum = reduce;
    }
  tg::Dims dims = tg::getDims(row.getType());
  if (!sum || sum.getKind() != tg::Monoid::Add || !elementOf(sum.getInput()).isF32() ||
      sum.getAxes() != ArrayRef<int64_t>(int64_t(dims.size()) - 1) || tg::getDims(sum.getInput().getType()) != dims)
    return "no GEMM in front can add up its rows: what is needed of them is no sum in f32";
  constexpr size_t mostOps = 8;
  llvm::SetVector<Operation *> seen;
  SmallVector<Value> work{sum.getInput()};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (value == row || isa_and_nonnull<tg::ConstantOp>(op) || (op && seen.contains(op)))
      continue;
    if (!op || !isa<tg::PointwiseOpInterface>(op) || seen.size() == mostOps)
      return "no GEMM in front can add up its rows: the sum is of more than the row";
    seen.insert(op);
    llvm::append_range(work, op->getOperands());
  }
  return "";
}

/// The largest magnitude in a constant or a weight; none if it cannot be known.
static std::optional<double> findLargest(Value value) {
  constexpr int64_t mostElements = int64_t(1) << 20;
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape() || type.getNumElements() > mostElements || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  DenseElementsAttr elements;
  if (auto constant = value.getDefiningOp<tg::ConstantOp>())
    elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (auto weight = value.getDefiningOp<tg::WeightOp>()) {
    tg::DataAttr data = weight.getData();
    auto *dialect = value.getContext()->getLoadedDialect<tg::TileGraphDialect>();
    auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
    if (bool isSplat = false; bytes && DenseElementsAttr::isValidRawBuffer(type, *bytes, isSplat))
      elements = DenseElementsAttr::getFromRawBuffer(type, *bytes);
  }
  if (!elements)
    return std::nullopt;
  double largest = 0;
  for (const APFloat &each : elements.getValues<APFloat>()) {
    if (!each.isFinite())
      return std::nullopt;
    APFloat wide = each;
    bool losesInfo = false;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    largest = std::max(largest, std::fabs(wide.convertToDouble()));
  }
  return largest;
}

/// The power of two by which x g fits f16 wherever x, which must be f16 too, does. Other floats have the range of f32.
std::string CarriedSums::boundRow() {
  constexpr double mostFactor = 64, leastFactor = 1.0 / 65536; // 6 of the 14 binary orders that f16 has below 1.
  constexpr const char *unbounded =
      "no GEMM in front can add up its rows: without its scale the norm might not fit f16";
  if (!elementOf(operand).isF16())
    return "";
  if (!elementOf(row).isF16()) // Residuals in f32 may be of any size; casts of floats are not kept (DelayScales.cpp).
    return unbounded;
  double bound = 1;
  for (Value value : kept) {
    if (value == row)
      continue;
    std::optional<double> largest = findLargest(value);
    if (!largest)
      return unbounded;
    bound *= *largest;
  }
  factor = bound > 0 ? std::max(std::exp2(std::ceil(std::log2(bound))), leastFactor) : 1;
  return factor > mostFactor ? unbounded : "";
}

/// The norm's kernel against what the GEMM in front loses to tiles that fit the parts, and to storing x g, and what
/// the GEMMs behind lose to adding up. Of both, or as long as estimates tell, the plan without the kernel.
bool CarriedSums::pays(std::string &text) {
  AffineExpr last = product.getMap(2).getResults().back();
  unsigned side = product.getMap(0).isFunctionOfDim(cast<AffineDimExpr>(last).getPosition()) ? 1 : 0;
  std::optional<int64_t> extent = tg::getConstant(tg::getDims(row.getType()).back());
  double added = device.alone.sum * double(kernels), lost = added;
  if (std::optional<int64_t> columns = countUnpackedColumns(product, 1 - side, device))
    places = *columns; // Its tiles do not depend on what is stored.
  else
    lost += loseToParts(side, extent);
  double moved = estimateBytes(row) + estimateBytes(operand);
  double saved = moveSeconds(moved, levelBetweenKernels(moved, device), device) + device.kernelSeconds();
  text = llvm::formatv("sums of {0} elements of each row beside the GEMM in front: {1:f1} us in the kernels of the "
                       "GEMMs, {2:f1} us in one of the norm",
                       places, lost * 1e6, saved * 1e6);
  return extent && *extent % places == 0 && *extent > places && !isSlower(apart + lost, apart + saved);
}

/// What the GEMM in front loses in tiles as wide as `places`, which are chosen, beside `apart`, what it takes anyway.
double CarriedSums::loseToParts(unsigned side, std::optional<int64_t> extent) {
  constexpr int64_t leastColumns = 64, mostColumns = 256;
  GemmProblem problem = describeProduct(product, side);
  problem.resultBytes = int64_t(estimateBytes(row) / estimateElements(row));
  problem.epilogueRegisters = double(problem.resultBytes) / 4; // A residual.
  problem.allowSplit = problem.allowMulticast = true;
  apart = chooseGemmTile(problem, device).cost.seconds;
  problem.allowSplit = false;
  problem.resultBytes *= 2;
  problem.heldRegisters = 1;
  places = std::clamp(chooseGemmTile(problem, device).tile.n, leastColumns, mostColumns);
  while (extent && *extent % places != 0 && places > leastColumns)
    places /= 2;
  problem.onlyN = places;
  return chooseGemmTile(problem, device).cost.seconds - apart;
}

std::string CarriedSums::check(std::string &text) {
  for (auto step : {&CarriedSums::findRow, &CarriedSums::findSum, &CarriedSums::boundRow})
    if (std::string reason = (this->*step)(); !reason.empty())
      return reason;
  return pays(text) ? "" : text;
}

Value CarriedSums::build(OpBuilder &builder) {
  Location loc = operand.getLoc();
  auto times = [&](Value left, Value right) { return tg::MulOp::create(builder, loc, left, right).getResult(); };
  auto widened = [&](Value value) {
    bool isWide = elementOf(value).isF32();
    return isWide ? value : tg::CastOp::create(builder, loc, value, builder.getF32Type()).getResult();
  };
  Value made = widened(row);
  for (Value value : kept)
    if (value != row)
      made = times(made, widened(value));
  if (factor != 1) {
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    made = times(made, tg::ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar, float(1 / factor))));
  }
  if (elementOf(made) != elementOf(operand))
    made = tg::CastOp::create(builder, loc, made, elementOf(operand));
  tg::Dims dims = tg::getDims(row.getType());
  dims.back() = builder.getAffineConstantExpr(*tg::getConstant(dims.back()) / places);
  dims.push_back(builder.getAffineConstantExpr(places));
  Value cut = tg::ReshapeOp::create(builder, loc, tg::getTensorType(dims, builder.getF32Type()), sum.getInput());
  parts = tg::ReduceOp::create(builder, loc, tg::Monoid::Add, cut, ArrayRef<int64_t>(int64_t(dims.size()) - 1),
                               /*keepDims=*/false)
              .getResult();
  return made;
}

void CarriedSums::addUp(OpBuilder &builder, IRMapping &clones) const {
  tg::ReduceOp whole = sum;
  auto total =
      tg::ReduceOp::create(builder, whole.getLoc(), tg::Monoid::Add, parts, whole.getAxes(), whole.getKeepDims());
  clones.map(whole.getResult(), total.getResult());
}

} // namespace weft::plan
