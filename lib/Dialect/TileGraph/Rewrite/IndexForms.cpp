// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IndexForms.h"
#include "GraphBuilder.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"

using namespace mlir;

namespace weft::tg {

/// The simplest form of what may have dimensions, too.
static AffineExpr tidy(AffineExpr expr) {
  unsigned dims = 0, symbols = 0;
  expr.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      dims = std::max(dims, dim.getPosition() + 1);
    else if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  return simplifyAffineExpr(expr, dims, symbols);
}

static Places compose(AffineMap map, ArrayRef<AffineExpr> at) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return tidy(expr.replaceDims(at)); });
}

Places getOperandPlaces(Operation *op, unsigned i, ArrayRef<AffineExpr> at) {
  return compose(detail::broadcastMap(op, i), at);
}

/// Dimensions of extent 1 come and go; several become one, never one several.
static std::optional<Places> throughReshape(ReshapeOp op, ArrayRef<AffineExpr> at) {
  Dims from = getDims(op.getInput().getType()), to = getDims(op.getType());
  AffineExpr zero = getAffineConstantExpr(0, op.getContext());
  Places places(from.size(), zero);
  for (const ReshapeSegment &segment : splitReshape(from, to)) {
    AffineExpr place = zero;
    for (size_t d = segment.toBegin; d < segment.toEnd; ++d)
      if (getConstant(to[d]) != 1)
        place = place * to[d] + at[d];
    bool isPlaced = false;
    for (size_t d = segment.fromBegin; d < segment.fromEnd; ++d) {
      if (getConstant(from[d]) == 1)
        continue;
      if (isPlaced)
        return std::nullopt;
      isPlaced = true;
      places[d] = tidy(place);
    }
  }
  return places;
}

std::optional<Places> getViewedPlaces(Operation *op, ArrayRef<AffineExpr> at) {
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    return throughReshape(reshape, at);
  if (!isa_and_nonnull<TransposeOp, BroadcastOp, SliceOp>(op))
    return std::nullopt;
  return compose(*cast<TileOpInterface>(op).getOperandMap(0), at);
}

static AffineExpr getSplatIndex(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat() || !isa<IntegerType>(elements.getElementType()))
    return {};
  APInt number = elements.getSplatValue<APInt>();
  return number.getSignificantBits() <= 63 ? getAffineConstantExpr(number.getSExtValue(), value.getContext())
                                           : AffineExpr();
}

/// A running sum of equal numbers.
static AffineExpr getScanForm(ScanOp scan, ArrayRef<AffineExpr> at, unsigned depth) {
  AffineExpr each =
      scan.getKind() == Monoid::Add && !scan.getReverse() ? getIndexForm(scan.getInput(), at, {}, depth) : AffineExpr();
  if (!each || !getConstant(each))
    return {};
  return tidy((at[scan.getAxis()] + (scan.getExclusive() ? 0 : 1)) * each);
}

/// Of casts, sums and products.
static AffineExpr getArithmeticForm(Operation *op, ArrayRef<AffineExpr> at, DataForm data, unsigned depth) {
  Places forms;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    forms.push_back(getIndexForm(op->getOperand(i), getOperandPlaces(op, i, at), data, depth));
    if (!forms.back())
      return {};
  }
  if (isa<CastOp>(op))
    return forms[0];
  if (isa<NegOp>(op))
    return tidy(-forms[0]);
  if (isa<AddOp>(op))
    return tidy(forms[0] + forms[1]);
  if (isa<SubOp>(op))
    return tidy(forms[0] - forms[1]);
  return getConstant(forms[0]) || getConstant(forms[1]) ? tidy(forms[0] * forms[1]) : AffineExpr();
}

AffineExpr getIndexForm(Value value, ArrayRef<AffineExpr> at, DataForm data, unsigned depth) {
  auto type = dyn_cast<IntegerType>(GraphBuilder::elementOf(value));
  if (!type || type.getWidth() < 32 || depth == 0) // Indices fit every type that a mask is made in.
    return {};
  Operation *op = value.getDefiningOp();
  AffineExpr form;
  if (!op)
    form = {};
  else if (std::optional<Places> through = getViewedPlaces(op, at))
    form = getIndexForm(op->getOperand(0), *through, data, depth - 1);
  else if (auto iota = dyn_cast<IotaOp>(op))
    form = at[iota.getAxis()];
  else if (AffineExpr number = getSplatIndex(value))
    form = number;
  else if (auto extents = dyn_cast<ExtentsOp>(op))
    form = extents.getMap().getNumResults() == 1 ? extents.getMap().getResult(0) : AffineExpr();
  else if (auto scan = dyn_cast<ScanOp>(op))
    form = getScanForm(scan, at, depth - 1);
  else if (isa<CastOp, AddOp, SubOp, MulOp, NegOp>(op))
    form = getArithmeticForm(op, at, data, depth - 1);
  return form || !data ? form : data(value, at);
}

static bool addLinear(AffineExpr expr, int64_t factor, PlaceForm &form) {
  if (expr.isSymbolicOrConstant()) {
    form.rest = form.rest + expr * factor;
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    form.factors[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, form) && addLinear(binary.getRHS(), factor, form);
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && number &&
         addLinear(binary.getLHS(), factor * number.getValue(), form);
}

std::optional<PlaceForm> splitLinear(AffineExpr expr, unsigned dims) {
  PlaceForm form{SmallVector<int64_t>(dims, 0), getAffineConstantExpr(0, expr.getContext()), {}};
  if (!addLinear(expr, 1, form))
    return std::nullopt;
  form.rest = tidy(form.rest);
  return form;
}

SymbolFacts::SymbolFacts(Operation *op) {
  Operation *module = op;
  while (!isa<ModuleOp>(module))
    module = module->getParentOp();
  for (const SymbolRange &range : getSymbolRanges(module))
    ranges.push_back({range.low, range.high});
  op->walk([&](Operation *check) {
    auto equal = dyn_cast<AssumeEqualOp>(check);
    auto atMost = dyn_cast<AssumeAtMostOp>(check);
    if (!equal && !atMost)
      return;
    ArrayRef<AffineExpr> results = (equal ? equal.getMap() : atMost.getMap()).getResults();
    for (size_t i = 0; i + 1 < results.size(); ++i) {
      facts.push_back(tidy(results[i + 1] - results[i]));
      if (equal)
        facts.push_back(tidy(results[i] - results[i + 1]));
    }
  });
}

/// From the ranges of symbols alone.
bool SymbolFacts::isShown(AffineExpr expr) const {
  // Symbols as dimensions: a sum of them, and a number.
  Places dims;
  for (size_t i = 0; i < ranges.size(); ++i)
    dims.push_back(getAffineDimExpr(i, expr.getContext()));
  std::optional<PlaceForm> form = splitLinear(tidy(expr).replaceSymbols(dims), ranges.size());
  std::optional<int64_t> least = form ? getConstant(form->rest) : std::nullopt;
  if (!least)
    return false;
  for (auto [factor, range] : llvm::zip_equal(form->factors, ranges)) {
    if (factor < 0 && range.second == INT64_MAX)
      return false;
    if (factor != 0 && (llvm::MulOverflow(factor, factor > 0 ? range.first : range.second, factor) ||
                        llvm::AddOverflow(*least, factor, *least)))
      return false;
  }
  return *least >= 0;
}

bool SymbolFacts::isNonNegative(AffineExpr expr) const {
  return isShown(expr) || llvm::any_of(facts, [&](AffineExpr fact) { return isShown(expr - fact); });
}

bool SymbolFacts::isNonNegative(const PlaceForm &form, ArrayRef<AffineExpr> dims) const {
  if (!form.data.empty())
    return false;
  AffineExpr least = form.rest;
  for (auto [factor, extent] : llvm::zip_equal(form.factors, dims))
    if (factor < 0)
      least = least + (extent - 1) * factor;
  return isNonNegative(tidy(least));
}

bool SymbolFacts::isInside(AffineExpr index, AffineExpr extent, ArrayRef<AffineExpr> dims) const {
  std::optional<PlaceForm> low = splitLinear(tidy(index), dims.size()),
                           high = splitLinear(tidy(extent - 1 - index), dims.size());
  return low && high && isNonNegative(*low, dims) && isNonNegative(*high, dims);
}

std::optional<Places> getGatheredPlaces(GatherOp op, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> dims,
                                        const SymbolFacts &facts) {
  Places places;
  for (auto [expr, extent] : llvm::zip_equal(op.getDataMap().getResults(), getDims(op.getData().getType()))) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expr);
    if (!symbol) {
      places.push_back(tidy(expr.replaceDims(at)));
      continue;
    }
    AffineExpr index = getIndexForm(op.getIndices(), compose(op.getIndexMap(symbol.getPosition()), at));
    if (!index || !facts.isInside(index, extent, dims))
      return std::nullopt;
    places.push_back(index);
  }
  return places;
}

} // namespace weft::tg
