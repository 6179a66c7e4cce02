// Mean and squared deviations of few long rows, in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A norm of fewer rows than SMs (GroupNorm: 64 rows of 40,960 elements) goes through each row three times in one CTA,
// and most SMs idle; of rows that no CTA's registers hold, however many there are, memory is read three times. Here a
// row is s parts of n elements, each of which gives its mean m_p and the squares q_p of its deviations from it; with
// equal parts the row's are
//   m = (m_1 + ... + m_s) / s,     q = sum of q_p + n (m_p - m)^2                                (Chan, Golub, LeVeque)
// No large numbers are subtracted, however far the row is from 0. The first kernel reads the input once, a part in
// registers, and stores two numbers a part; whoever normalizes reads the input again, from the L2, and the numbers.
// The few sums over parts are cheap enough to be computed again by each of its CTAs (rule G3).
//
// Where a GEMM makes what is stored (a convolution in front of a GroupNorm), its tiles have parts in registers: all
// that is reduced of the elements of one operand, for each element of the other one. Then the parts are further results
// of its kernel (tg::findTileParts), and nobody reads the input for them; of each channel of a group there are some.
#include "SplitMoments.h"
#include "../Facts/RowStatistics.h"
#include "../Groups/InnerContractions.h"
#include "Stored.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/ReadTime.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

/// The ops of a mean and of the squares of deviations from it, over the same axes of the same values.
struct Moments {
  tg::ReduceOp sum, spread;
  Value mean;
  tg::SubOp deviations;
  Value input; ///< Of the sum.
};

struct Rows {
  double rows = 1, places = 1, bytes = 0; ///< Bytes of an element where it is stored.
};

struct MomentsCut {
  int64_t axis = -1, parts = 1;
  double whole = 0, split = 0; ///< Seconds.
};

/// Parts that the tiles of a GEMM make.
struct TileCut {
  Value stored; ///< Its last dimensions are cut.
  unsigned begin = 0;
  int64_t places = 1;             ///< Of a part.
  int64_t terms = 1;              ///< Parts of a row.
  double apart = 0, together = 0; ///< Seconds of a kernel for the parts, and what the GEMM and the reader lose.
};

/// CTAs that share an SM where a row is whole, and where it is parts.
constexpr double wholeCtas = 1, partCtas = 4;
/// Elements of a row, and of a part of it, that one CTA holds in registers; else it reads them for each pass: mean,
/// deviations and, of a whole row, the result.
constexpr double heldPlaces = 32768, heldPartPlaces = 16384;
constexpr int64_t leastPlaces = 1024;

} // namespace

static bool isNumber(Value value, double number) {
  auto constant = value.getDefiningOp<tg::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  return dense && dense.isSplat() && dense.getSplatValue<APFloat>().convertToDouble() == number;
}

static bool mustKeepOrder(Operation *op) {
  auto numerics = op->getAttrOfType<StringAttr>("tg.numerics");
  return numerics && numerics.getValue() == "exact";
}

/// Rows of static extents; none for others.
static std::optional<Rows> describeRows(tg::ReduceOp op) {
  Rows rows;
  for (auto [d, extent] : llvm::enumerate(tg::getDims(op.getInput().getType()))) {
    std::optional<int64_t> number = tg::getConstant(extent);
    if (!number || *number == 0)
      return std::nullopt;
    (llvm::is_contained(op.getAxes(), int64_t(d)) ? rows.places : rows.rows) *= double(*number);
  }
  return rows;
}

/// What `mean` is a `count`-th of: a quotient, or, of a power of two, the product that the quotient has become. Null if
/// neither.
static Value findSumOfMean(Value mean, double count) {
  Operation *op = mean.getDefiningOp();
  if (isa_and_nonnull<tg::DivOp>(op) && isNumber(op->getOperand(1), count))
    return op->getOperand(0);
  if (isa_and_nonnull<tg::MulOp>(op))
    for (unsigned i : {0u, 1u})
      if (isNumber(op->getOperand(i), 1 / count))
        return op->getOperand(1 - i);
  return {};
}

static std::optional<Moments> findMoments(tg::ReduceOp spread) {
  auto isSum = [&](tg::ReduceOp op) {
    return op && op.getKind() == tg::Monoid::Add && op.getKeepDims() && !mustKeepOrder(op) &&
           op.getAxes() == spread.getAxes();
  };
  auto squares = spread.getInput().getDefiningOp<tg::MulOp>();
  if (!isSum(spread) || !squares || squares->getOperand(0) != squares->getOperand(1) || !squares->hasOneUse())
    return std::nullopt;
  Moments moments;
  moments.spread = spread;
  moments.deviations = squares->getOperand(0).getDefiningOp<tg::SubOp>();
  std::optional<Rows> rows = describeRows(spread);
  if (!moments.deviations || !rows)
    return std::nullopt;
  moments.mean = moments.deviations->getOperand(1);
  Value sum = findSumOfMean(moments.mean, rows->places);
  moments.sum = sum ? sum.getDefiningOp<tg::ReduceOp>() : tg::ReduceOp();
  if (!isSum(moments.sum) || !moments.sum->hasOneUse() || moments.sum.getInput() != moments.deviations->getOperand(0) ||
      moments.deviations.getType() != moments.sum.getInput().getType())
    return std::nullopt;
  moments.input = moments.sum.getInput();
  Type element = cast<RankedTensorType>(moments.input.getType()).getElementType();
  bool isWide = isa<FloatType>(element) && tg::getComputeType(element) == element;
  if (!isWide || moments.mean.getType() != moments.sum.getType())
    return std::nullopt;
  return moments;
}

/// What `value` is by casts and renamings, in any order: a norm's input is cast before its rows are cut out, or after.
static Value skipCastsAndRenamings(Value value) {
  while (isa_and_nonnull<tg::CastOp, tg::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// What the row is a cast of; null if that is arithmetic that a kernel of rows would do on its way.
static Value findStored(Value value) {
  value = skipCastsAndRenamings(value);
  return isStored(value) ? value : Value();
}

/// The elements that registers have for so many.
static double heldFor(double places) { return double(llvm::PowerOf2Ceil(uint64_t(places))); }

/// Seconds of reading `count` rows, each in steps of one CTA, which has room for `held` bytes of it.
static double secondsOf(double count, double bytes, double held, double ctasPerSm, const Device &device) {
  // CTAs that share an SM come one by one, others in waves.
  double waves = count / (ctasPerSm * device.sms);
  waves = ctasPerSm > 1 ? std::max(waves, 1.0) : std::ceil(waves);
  double steps = std::ceil(held * ctasPerSm / device.alone.rowStepBytes);
  return std::max(writeSeconds(count * bytes, device), waves * steps * device.alone.rowStep);
}

/// Seconds that the kernel of the parts takes, and what their number costs the kernel that merges them.
static double secondsOfParts(const Rows &rows, int64_t parts, const Device &device) {
  double count = rows.rows * double(parts), places = rows.places / double(parts);
  bool isHeld = heldFor(places) <= heldPartPlaces;
  double merge = parts > mostStatistics ? device.mergeSeconds : 0;
  double held = (isHeld ? heldFor(places) : places) * rows.bytes;
  return (isHeld ? 1 : 2) * secondsOf(count, places * rows.bytes, held, partCtas, device) + merge;
}

static std::optional<MomentsCut> chooseCut(Moments moments, const Rows &rows, const Device &device) {
  bool isRead = heldFor(rows.places) <= heldPlaces; // Once, and normalized from registers.
  if (isRead && rows.rows > device.sms)
    return std::nullopt;
  double bytes = rows.places * rows.bytes, total = rows.rows * bytes;
  MomentsCut best;
  best.whole = (isRead ? 1 : 3) * secondsOf(rows.rows, bytes, bytes, wholeCtas, device) + writeSeconds(total, device);
  // Beside the first kernel's: the second one reads what is in the L2, or not, and is one more kernel.
  MemoryLevel level = levelBetweenKernels(2 * total, device);
  double second = moveSeconds(total, level, device) + writeSeconds(total, device) + device.kernelSeconds();
  best.split = best.whole - device.tailSeconds; // Estimates are no better.
  tg::Dims dims = tg::getDims(moments.input.getType());
  for (int64_t axis : moments.sum.getAxes()) {
    int64_t extent = *tg::getConstant(dims[axis]);
    for (int64_t parts = 2; parts <= std::min(extent, mostStatisticTerms); ++parts) {
      if (rows.rows * double(parts) > mostTermsOfAll)
        break;
      if (parts > mostStatistics && best.parts > 1 && heldFor(rows.places / double(best.parts)) <= heldPartPlaces)
        break; // More would be more terms for the reader alone.
      if (extent % parts != 0 || rows.places / double(parts) < leastPlaces)
        continue;
      double seconds = secondsOfParts(rows, parts, device) + second;
      // Of equal ones the smallest parts where rows are many: a kernel of its own merges them.
      bool isEqual = seconds == best.split && rows.rows > device.sms && parts <= mostStatistics;
      if (seconds < best.split || isEqual)
        best.axis = axis, best.parts = parts, best.split = seconds;
    }
    if (best.parts > 1)
      return best;
  }
  return std::nullopt;
}

/// The last dimensions of what a GEMM stores, in tiles of it; all reduced, the last ones of the sum's input.
static std::optional<TileCut> findTileCut(Moments moments, const Rows &rows, Value stored, const Device &device) {
  TileCut cut;
  cut.stored = stored;
  std::optional<tg::ProductOf> made = tg::findProductOf(stored);
  tg::Dims dims = tg::getDims(stored.getType()), input = tg::getDims(moments.input.getType());
  ArrayRef<int64_t> axes = moments.sum.getAxes();
  bool isTail = axes.back() + 1 == int64_t(input.size()) && axes.back() - axes.front() + 1 == int64_t(axes.size());
  if (!made || !isTail)
    return std::nullopt;
  int64_t all = 1; // The most dimensions that are reduced as a whole, and that one side of the GEMM has.
  for (cut.begin = dims.size(); cut.begin > 0; --cut.begin) {
    std::optional<int64_t> extent = tg::getConstant(dims[cut.begin - 1]);
    if (!extent || int64_t(rows.places) % (all * *extent) != 0 ||
        !canHaveParts(made->product, ArrayRef(made->order).drop_front(cut.begin - 1), 1))
      break;
    all *= *extent;
  }
  if (cut.begin == dims.size())
    return std::nullopt;
  ArrayRef<int64_t> order = ArrayRef(made->order).drop_front(cut.begin);
  AffineMap result = made->product.getMap(2);
  unsigned dim = cast<AffineDimExpr>(result.getResult(order.back())).getPosition();
  GemmProblem problem = describeProduct(made->product, made->product.getMap(0).isFunctionOfDim(dim) ? 0 : 1);
  double free = chooseGemmTile(problem, device).cost.seconds, best = 0;
  // Twice the parts are twice the reader's terms, and of two wide tiles the model likes the one that pads more: with
  // 128 elements (and 256 of 320 channels) an H100 takes 55 us for what the model has at 33.3, with 256 elements 35
  // (35.7).
  constexpr int64_t leastTile = 64, mostTile = 256;
  constexpr double worthTwice = 0.9;
  for (int64_t places = mostTile; places >= leastTile; places /= 2) { // Fewer parts, unless the GEMM is slower.
    double terms = rows.places / double(places);
    if (all % places != 0 || !canHaveParts(made->product, order, places) || terms > double(mostStatisticTerms) ||
        rows.rows * terms > mostTermsOfAll)
      continue;
    problem.onlyM = places;
    GemmChoice choice = chooseGemmTile(problem, device);
    if (choice.cost.fits && (best == 0 || choice.cost.seconds < best * worthTwice)) {
      best = choice.cost.seconds;
      cut.places = places;
      cut.terms = int64_t(terms);
    }
  }
  double bytes = rows.rows * rows.places * rows.bytes;
  cut.apart = moveSeconds(bytes, levelBetweenKernels(2 * bytes, device), device) + device.kernelSeconds();
  cut.together = best - free + device.mergeSeconds;
  return best > 0 ? std::optional(cut) : std::nullopt;
}

namespace {

/// The new ops, ahead of the sum.
class MomentsBuilder {
public:
  MomentsBuilder(Moments found, const MomentsCut &cut)
      : moments(found), cut(cut), builder(found.sum), loc(found.sum.getLoc()) {}

  void run(double places) {
    double partPlaces = places / double(cut.parts);
    Value part = cutInput(), count = number(partPlaces);
    SmallVector<int64_t> axes; // The parts come first of the cut axis.
    for (int64_t axis : moments.sum.getAxes())
      axes.push_back(axis + (axis >= cut.axis));
    Value partMean = tg::DivOp::create(builder, loc, sum(part, axes), count).getResult();
    Value deviations = tg::SubOp::create(builder, loc, part, partMean).getResult();
    Value partSpread = sum(tg::MulOp::create(builder, loc, deviations, deviations).getResult(), axes);
    partMean = dropUnit(partMean);
    partSpread = dropUnit(partSpread);
    auto [mean, spread] = merge(partMean, partSpread, count, cut.axis, cut.parts);
    replace(mean, spread);
  }

  /// The same of parts that a GEMM's tiles make: each of its last dimensions' elements, whatever they are of a row.
  void run(const TileCut &tiles) {
    tg::Dims dims = tg::getDims(tiles.stored.getType());
    int64_t all = 1, axis = int64_t(tiles.begin) + 1;
    while (dims.size() > tiles.begin)
      all *= *tg::getConstant(dims.pop_back_val());
    dims.push_back(builder.getAffineConstantExpr(all / tiles.places));
    dims.push_back(builder.getAffineConstantExpr(tiles.places));
    Value part = reshaped(castLikeInput(tiles.stored), dims), count = number(double(tiles.places));
    Value partMean = tg::DivOp::create(builder, loc, sum(part, axis), count).getResult();
    Value deviations = tg::SubOp::create(builder, loc, part, partMean).getResult();
    Value partSpread = sum(tg::MulOp::create(builder, loc, deviations, deviations).getResult(), axis);
    tg::Dims row = tg::getDims(moments.input.getType());
    int64_t first = moments.sum.getAxes().front();
    row.resize(first);
    row.push_back(builder.getAffineConstantExpr(tiles.terms));
    auto [mean, spread] = merge(reshaped(partMean, row), reshaped(partSpread, row), count, first, tiles.terms);
    tg::Dims last = tg::getDims(moments.sum.getType());
    replace(reshaped(mean, last), reshaped(spread, last));
  }

private:
  Value reshaped(Value value, const tg::Dims &dims) {
    Type type = tg::getTensorType(dims, cast<RankedTensorType>(value.getType()).getElementType());
    return type == value.getType() ? value : tg::ReshapeOp::create(builder, loc, type, value).getResult();
  }

  /// `value` by the casts that make the sum's input of what is stored.
  Value castLikeInput(Value value) {
    SmallVector<tg::CastOp> casts;
    for (Operation *op = moments.input.getDefiningOp(); isa_and_nonnull<tg::CastOp, tg::ReshapeOp>(op);
         op = op->getOperand(0).getDefiningOp())
      if (auto cast = dyn_cast<tg::CastOp>(op))
        casts.push_back(cast);
    while (!casts.empty())
      value = tg::CastOp::create(builder, loc, value, casts.pop_back_val().getType().getElementType()).getResult();
    return value;
  }

  /// Mean and spread of `terms` parts of `count` elements each along `axis`.
  std::pair<Value, Value> merge(Value partMean, Value partSpread, Value count, int64_t axis, int64_t terms) {
    Value mean = tg::DivOp::create(builder, loc, sum(partMean, axis), number(double(terms))).getResult();
    Value apart = tg::SubOp::create(builder, loc, partMean, mean).getResult();
    apart = tg::MulOp::create(builder, loc, apart, apart).getResult();
    apart = tg::MulOp::create(builder, loc, apart, count).getResult();
    return {mean, sum(tg::AddOp::create(builder, loc, apart, partSpread).getResult(), axis)};
  }

  Value number(double value) {
    Type element = cast<RankedTensorType>(moments.input.getType()).getElementType();
    FloatAttr scalar = builder.getFloatAttr(element, value);
    return tg::ConstantOp::create(builder, loc, DenseElementsAttr::get(RankedTensorType::get({}, element), scalar));
  }

  Value sum(Value input, ArrayRef<int64_t> axes) {
    return tg::ReduceOp::create(builder, loc, tg::Monoid::Add, input, axes, /*keepDims=*/true).getResult();
  }

  /// The input with the cut axis as [parts, extent / parts]: what is stored, cut, and its casts.
  Value cutInput() {
    tg::Dims dims = tg::getDims(moments.input.getType());
    dims[cut.axis] = builder.getAffineConstantExpr(*tg::getConstant(dims[cut.axis]) / cut.parts);
    dims.insert(dims.begin() + cut.axis, builder.getAffineConstantExpr(cut.parts));
    return castLikeInput(reshaped(skipCastsAndRenamings(moments.input), dims));
  }

  /// Without the extent of 1 that is left of the cut axis.
  Value dropUnit(Value value) {
    tg::Dims dims = tg::getDims(value.getType());
    dims.erase(dims.begin() + cut.axis + 1);
    return reshaped(value, dims);
  }

  void replace(Value mean, Value spread) {
    Operation *squares = moments.spread.getInput().getDefiningOp();
    tg::ReduceOp sum = moments.sum, last = moments.spread;
    Operation *oldMean = moments.mean.getDefiningOp();
    moments.mean.replaceAllUsesWith(mean);
    last.getResult().replaceAllUsesWith(spread);
    last.erase();
    squares->erase();
    oldMean->erase();
    sum.erase();
    if (moments.deviations->use_empty())
      tg::SubOp(moments.deviations).erase();
  }

  Moments moments;
  MomentsCut cut;
  OpBuilder builder;
  Location loc;
};

} // namespace

bool splitMoments(tg::ReduceOp spread, const Device &device) {
  std::optional<Moments> moments = findMoments(spread);
  Value stored = moments ? findStored(moments->input) : Value();
  if (!stored)
    return false;
  Rows rows = *describeRows(spread);
  rows.bytes =
      double(std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(stored.getType()).getElementType()), 8)) / 8;
  std::optional<MomentsCut> cut = chooseCut(*moments, rows, device);
  if (!cut)
    return false;
  std::optional<TileCut> tiles = findTileCut(*moments, rows, stored, device);
  if (tiles && tiles->together >= tiles->apart)
    remark::missed(spread.getLoc(), remark::RemarkOpts::name("no-tiles").category("plan"))
        << remark::add("{0}", std::string(llvm::formatv("moments of what a GEMM stores: {0:f1} us apart, {1:f1} us "
                                                        "in tiles of {2} elements",
                                                        tiles->apart * 1e6, tiles->together * 1e6, tiles->places)));
  auto passed = remark::passed(spread.getLoc(), remark::RemarkOpts::name("split").category("plan"));
  if (tiles && tiles->together < tiles->apart) {
    passed << remark::add("{0}", std::string(llvm::formatv(
                                     "moments: {0:f1} us apart, {1:f1} us in tiles of {2} elements of a GEMM",
                                     tiles->apart * 1e6, tiles->together * 1e6, tiles->places)))
           << remark::metric("parts", tiles->terms);
    MomentsBuilder(*moments, *cut).run(*tiles);
    return true;
  }
  passed << remark::add("{0}", std::string(llvm::formatv("moments: {0:f1} us whole, {1:f1} us in {2} parts of axis {3}",
                                                         cut->whole * 1e6, cut->split * 1e6, cut->parts, cut->axis)))
         << remark::metric("parts", cut->parts);
  MomentsBuilder(*moments, *cut).run(rows.places);
  return true;
}

} // namespace weft::plan
