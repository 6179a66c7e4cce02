// A factor of a product that is computed element by element from stored tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StoredFactor.h"
#include "weft/Dialect/TileGraph/IR/ReshapePlaces.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <numeric>

using namespace mlir;

namespace weft::plan {

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

bool isNarrow(Type element) {
  return isa<IntegerType>(element) && !element.isInteger(1) && tg::getElementBits(element) <= 8;
}

uint64_t Source::read(int64_t place) const {
  const char *raw = bytes.raw.data();
  place = bytes.isSplat ? 0 : place;
  int64_t stored = bytes.isPacked ? bits : std::max<int64_t>(bits, 8);
  if (stored < 8)
    return uint8_t(raw[place * stored / 8]) >> (place * stored % 8) & ((1 << stored) - 1);
  uint64_t number = 0;
  std::memcpy(&number, raw + place * (stored / 8), stored / 8);
  return bits < 8 ? number & ((1 << bits) - 1) : number;
}

/// The terms of a sum.
static void addTerms(AffineExpr expr, SmallVectorImpl<AffineExpr> &terms) {
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr); sum && sum.getKind() == AffineExprKind::Add) {
    addTerms(sum.getLHS(), terms);
    return addTerms(sum.getRHS(), terms);
  }
  terms.push_back(expr);
}

/// Adds stride * index to the source; false if the index is no sum of one part a dimension.
static bool addPlace(Source &source, AffineExpr place, int64_t stride, ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> terms;
  addTerms(place, terms);
  for (AffineExpr term : terms) {
    std::optional<unsigned> dim;
    for (unsigned d = 0; d < shape.size(); ++d)
      if (term.isFunctionOfDim(d) && std::exchange(dim, d))
        return false;
    SmallVector<AffineExpr> at(shape.size(), getAffineConstantExpr(0, term.getContext()));
    for (int64_t i = 0; i < (dim ? shape[*dim] : 1); ++i) {
      if (dim)
        at[*dim] = getAffineConstantExpr(i, term.getContext());
      auto value = dyn_cast<AffineConstantExpr>(term.replaceDims(at));
      if (!value)
        return false;
      if (!dim) {
        source.start += stride * value.getValue();
        continue;
      }
      source.parts[*dim].resize(shape[*dim], 0);
      source.parts[*dim][i] += stride * value.getValue();
    }
  }
  return true;
}

bool Factor::trace() {
  auto type = cast<RankedTensorType>(root.getType());
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return false;
  shape.assign(type.getShape().begin(), type.getShape().end());
  Coordinates own;
  for (int64_t d = 0; d < type.getRank(); ++d)
    own.push_back(getAffineDimExpr(d, root.getContext()));
  return visit(root, own);
}

bool Factor::forOperands(Operation *op, ArrayRef<AffineExpr> at, function_ref<bool(Value, const Coordinates &)> read) {
  if (auto reshape = dyn_cast<tg::ReshapeOp>(op)) {
    tg::Dims from = tg::getDims(reshape.getInput().getType());
    Coordinates places;
    if (!from.empty())
      places = tg::placesBeforeReshape(from, tg::getDims(reshape.getType()), at, /*isExact=*/true);
    return llvm::all_of(places, [](AffineExpr place) { return bool(place); }) && read(reshape.getInput(), places);
  }
  auto tile = dyn_cast<tg::TileOpInterface>(op);
  if (!tile || !isa<tg::PointwiseOpInterface, tg::TransposeOp, tg::SliceOp, tg::BroadcastOp>(op))
    return false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<AffineMap> map = tile.getOperandMap(i);
    if (!map || map->getNumSymbols() || map->getNumDims() != at.size())
      return false;
    Coordinates places;
    for (AffineExpr expr : map->getResults())
      places.push_back(expr.replaceDims(at));
    if (!read(operand, places))
      return false;
  }
  return true;
}

const Source *Factor::find(Value value, const Coordinates &at) const {
  auto it = llvm::find_if(sources, [&](const Source &s) { return s.value == value && s.coordinates == at; });
  return it == sources.end() ? nullptr : &*it;
}

/// Whether words of moved numbers can take the place of those that `op` reads: as a number of a type that has them all.
static bool takesNumbers(Operation *op) {
  if (!isa<tg::PointwiseOpInterface>(op) || llvm::none_of(op->getOperands(), [](Value v) {
        return tg::getElementBits(elementOf(v)) < 8 && isNarrow(elementOf(v));
      }))
    return true;
  Type result = elementOf(op->getResult(0));
  return isa<tg::CastOp>(op) && !result.isInteger(1) && tg::getElementBits(result) >= 8 &&
         isa<IntegerType, Float16Type, BFloat16Type, Float32Type, Float64Type>(result);
}

bool Factor::visit(Value value, const Coordinates &at) {
  constexpr unsigned mostVisits = 64;
  Operation *op = value.getDefiningOp();
  if (++visits > mostVisits || !op || !takesNumbers(op))
    return false;
  if (isa<tg::ConstantOp, tg::WeightOp>(op))
    return find(value, at) || addSource(value, at);
  hasViews |= !isa<tg::PointwiseOpInterface>(op);
  return forOperands(op, at, [&](Value operand, const Coordinates &places) { return visit(operand, places); });
}

bool Factor::addSource(Value value, const Coordinates &at) {
  std::optional<StoredBytes> bytes = findStoredBytes(value);
  auto type = cast<RankedTensorType>(value.getType());
  if (!bytes || !type.hasStaticShape())
    return false;
  Source source{value, at, *bytes, tg::getElementBits(type.getElementType()), 0, {}, 0};
  source.parts.resize(shape.size());
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; stride *= type.getDimSize(d--))
    if (!addPlace(source, at[d], stride, shape))
      return false;
  for (std::vector<int64_t> &part : source.parts)
    if (llvm::all_equal(part)) {
      source.start += part.empty() ? 0 : part.front();
      part.clear();
    }
  ArrayRef<int64_t> along = source.parts[depth];
  for (size_t i = 1; i < along.size(); ++i)
    if (along[i] != along[i - 1])
      source.run = std::gcd(source.run, int64_t(i));
  sources.push_back(std::move(source));
  return true;
}

/// The largest magnitude that `value` can have, of sums, differences and products; none if it may be infinite.
std::optional<double> Factor::findLargest(Value value) const {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<FloatType>(elementOf(value));
  auto source = llvm::find_if(sources, [&](const Source &s) { return s.value == value; });
  double largest = 0;
  if (source != sources.end() && !type) {
    largest = std::ldexp(1.0, int(source->bits));
  } else if (source != sources.end()) {
    int64_t count = source->bytes.isSplat ? 1 : cast<RankedTensorType>(value.getType()).getNumElements();
    for (int64_t i = 0; i < count; ++i) {
      APFloat number(type.getFloatSemantics(), APInt(unsigned(source->bits), source->read(i)));
      if (!number.isFinite())
        return std::nullopt;
      bool loses;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      largest = std::max(largest, std::abs(number.convertToDouble()));
    }
  } else {
    bool isProduct = isa<tg::MulOp>(op);
    if (isa<tg::PointwiseOpInterface>(op) && !isa<tg::CastOp, tg::AddOp, tg::SubOp, tg::MulOp>(op))
      return std::nullopt;
    largest = isProduct;
    for (Value operand : op->getOperands()) {
      std::optional<double> one = findLargest(operand);
      if (!one)
        return std::nullopt;
      largest = isProduct ? largest * *one : largest + *one;
    }
  }
  constexpr double ofRounding = 1.01; // Each op rounds once.
  largest *= ofRounding;
  if (isa<IntegerType>(elementOf(value))) // Which wrap.
    largest = std::ldexp(1.0, int(tg::getElementBits(elementOf(value))));
  return !type || largest < APFloat::getLargest(type.getFloatSemantics()).convertToDouble() ? std::optional(largest)
                                                                                            : std::nullopt;
}

bool Factor::isFinite() const { return findLargest(root).has_value(); }

} // namespace weft::plan
