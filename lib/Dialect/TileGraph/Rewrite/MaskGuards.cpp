// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run tests is a condition for each sequence, or each head of one: with U = 0 where it holds and 2^30 elsewhere,
// comparisons of positions moved by U are those of the mask, or hold everywhere. So where the test fails nothing is
// changed and no step left out. The tests are
//   that a row keeps a position beside what data mask (padding): one that all rows may keep, the first, is no padding;
//   or no position is; that scores are small beside the mask's number: max|q| max|k|, times what makes scores of their
//   products.
// The former is the same for all layers and reads a mask of one number a position. The latter reads operands, and has
// to save more than that takes.
#include "MaskGuards.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// exp of less is 0 in f32 and in f16; in f64.
static constexpr double leastExponent = -104, leastExponent64 = -746;
/// More than any position, and less than what an index may be.
static constexpr int64_t everyPlace = int64_t(1) << 30;
/// Sums and products round: a bound's share for that.
static constexpr double rounding = 1.01;

/// Of all numbers of a constant.
static double getGreatest(ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !isa<FloatType>(elements.getElementType()) || elements.getNumElements() > 4096)
    return infinity;
  double bound = 0;
  for (const APFloat &each : elements.getValues<APFloat>())
    bound = std::max(bound, each.isNaN() ? infinity : std::abs(toDouble(each)));
  return bound;
}

/// How many products an element of a contraction is the sum of; infinity if that is not known.
static double countProducts(ContractOp op) {
  auto tile = cast<TileOpInterface>(*op);
  double places = 1;
  for (auto [kind, extent] : llvm::zip_equal(tile.getDomainIterators(), tile.getDomainExtents()))
    if (kind == utils::IteratorType::reduction)
      places *= getConstant(extent) ? double(*getConstant(extent)) : infinity;
  return places;
}

double ScoreBounds::of(Value value, unsigned depth) {
  auto [it, isNew] = known.try_emplace(value, infinity);
  Operation *op = value.getDefiningOp();
  if (!isNew || !op || depth == 0)
    return it->second;
  double bound = ofOp(op, depth - 1);
  return known[value] = bound <= largestOf(value) ? bound : infinity;
}

double ScoreBounds::ofContraction(ContractOp op, unsigned depth) {
  auto ofOperand = [&](Value operand) { return std::min(of(operand, depth), largestOf(operand)); };
  double left = ofOperand(op.getLhs()), right = ofOperand(op.getRhs());
  double sum = left == 0 || right == 0 ? 0 : countProducts(op) * left * right * rounding;
  return std::min(sum, largestOf(op.getResult()));
}

/// The one number that `value` is everywhere.
static std::optional<double> getNumber(Value value) {
  while (isa_and_nonnull<BroadcastOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return toDouble(elements.getSplatValue<APFloat>());
}

double ScoreBounds::ofOp(Operation *op, unsigned depth) {
  auto operand = [&](unsigned i) { return of(op->getOperand(i), depth); };
  if (auto constant = dyn_cast<ConstantOp>(op))
    return getGreatest(constant);
  if (auto contract = dyn_cast<ContractOp>(op))
    return ofContraction(contract, depth);
  if (isa<TanhOp, SigmoidOp, ErfOp, SinOp, CosOp>(op))
    return rounding;
  bool isReal = llvm::all_of(op->getOperandTypes(),
                             [](Type type) { return isa<FloatType>(cast<RankedTensorType>(type).getElementType()); });
  if (!isReal)
    return infinity;
  if (isa<CastOp, NegOp, AbsOp, TransposeOp, ReshapeOp, BroadcastOp, SliceOp>(op))
    return operand(0) * rounding;
  if (isa<AddOp, SubOp>(op))
    return (operand(0) + operand(1)) * rounding;
  if (isa<MaxOp, MinOp>(op))
    return std::max(operand(0), operand(1));
  if (isa<DivOp>(op)) {
    std::optional<double> by = getNumber(op->getOperand(1));
    return by && *by != 0 ? operand(0) / std::abs(*by) * rounding : infinity;
  }
  if (isa<MulOp>(op)) {
    double left = operand(0), right = operand(1);
    return left == 0 || right == 0 ? 0 : left * right * rounding;
  }
  return infinity;
}

namespace {
/// `factor` times at most what a contraction gives.
struct ScaledProduct {
  ContractOp product;
  double factor = 1;
};
} // namespace

/// Scores as they are made of products: with a constant factor, or divisor, in another type. Null if they are more.
static ScaledProduct findProduct(Value value) {
  ScaledProduct found;
  for (Operation *op = value.getDefiningOp(); op; op = value.getDefiningOp()) {
    if ((found.product = dyn_cast<ContractOp>(op)))
      return found;
    found.factor *= rounding;
    std::optional<double> number = isa<MulOp, DivOp>(op) ? getNumber(op->getOperand(1)) : std::nullopt;
    unsigned scaled = 0;
    if (!number && isa<MulOp>(op)) {
      number = getNumber(op->getOperand(0));
      scaled = 1;
    }
    if (number && *number != 0)
      found.factor *= isa<MulOp>(op) ? std::abs(*number) : 1 / std::abs(*number);
    else if (!isa<NegOp>(op) && !(isa<CastOp>(op) && isa<FloatType>(GraphBuilder::elementOf(op->getOperand(0)))))
      return {};
    value = op->getOperand(scaled);
  }
  return {};
}

/// Tells scores from what data mask, which is the same for all rows.
std::string MaskGuard::sortTerms() {
  auto row = dims.size() >= 2 ? getAffineDimExpr(dims.size() - 2, op->getContext()) : AffineExpr();
  for (const MaskTerm &term : mask.terms) {
    bool hasRows = false, isPlain = true;
    for (auto [place, extent] : llvm::zip_equal(term.at, getDims(term.value.getType()))) {
      hasRows |= place == row && getConstant(extent) != 1;
      isPlain &= isa<AffineDimExpr>(place) || getConstant(extent) == 1;
    }
    bool isScore = term.kind == MaskTerm::Kind::Number && (hasRows || !row || findProduct(term.value).product);
    if (!isScore && hasRows)
      return "data mask elements of some rows";
    if (!isPlain)
      return "the mask of data is read at other indices";
    (isScore ? scores : data).push_back(term);
  }
  return scores.empty() ? "nothing is known of the scores" : "";
}

/// Whether every row of a tensor of extents `dims` keeps a position: a first and a last one that are inside, and in
/// order.
static bool keepsPlaces(ArrayRef<PlaceForm> forms, ArrayRef<AffineExpr> dims, const SymbolFacts &facts) {
  AffineExpr zero = getAffineConstantExpr(0, dims.front().getContext());
  PlaceForm none{SmallVector<int64_t>(dims.size(), 0), zero, {}};
  SmallVector<PlaceForm> sides[2]; // j <= .., and .. <= j.
  sides[0].push_back(none);
  sides[0].back().factors.back() = -1;
  sides[0].back().rest = dims.back() - 1;
  sides[1].push_back(none);
  sides[1].back().factors.back() = 1;
  for (const PlaceForm &form : forms)
    sides[form.factors.back() > 0].push_back(form);
  for (auto [i, high] : llvm::enumerate(sides[0]))
    for (auto [k, low] : llvm::enumerate(sides[1])) {
      PlaceForm between{{}, high.rest + low.rest, high.data};
      between.data.append(low.data);
      for (auto [a, b] : llvm::zip_equal(high.factors, low.factors))
        between.factors.push_back(a + b);
      if (i + k > 0 && !facts.isNonNegative(between, dims)) // No row of no positions keeps any.
        return false;
    }
  return true;
}

/// Each row keeps a position: by the forms, and by data if a run finds that of theirs.
std::string MaskGuard::refuseRows(const SymbolFacts &facts) {
  isFirstKept = llvm::all_of(mask.forms, [&](PlaceForm form) {
    form.factors.back() = 0; // j = 0.
    return facts.isNonNegative(form, dims);
  });
  if ((isFirstKept && !data.empty()) || keepsPlaces(mask.forms, dims, facts))
    return "";
  return llvm::formatv("a row may keep no element: with {0:e3} its weights are equal, not zero", mask.masked);
}

/// Whether a test of the operands of `term`'s products costs less than the steps that it saves.
bool MaskGuard::canTest(const MaskTerm &term, std::optional<TestPrice> price) {
  ContractOp product = findProduct(term.value).product;
  if (!product || !price || std::isinf(countProducts(product)) || dims.size() < 2)
    return false;
  for (unsigned i = 0; i < 3; ++i)
    if (!product.getMap(i).isProjectedPermutation())
      return false;
  for (auto [d, place] : llvm::enumerate(term.at))
    if (place != getAffineDimExpr(d, op->getContext()))
      return false;
  double columns = 1, bytes = 0;
  for (AffineExpr extent : dims)
    columns *= double(estimateExtent(extent));
  for (Value operand : product.getOperands()) {
    double elements = 1;
    for (AffineExpr extent : getDims(operand.getType()))
      elements *= double(estimateExtent(extent));
    bytes += elements * GraphBuilder::elementOf(operand).getIntOrFloatBitWidth() / 8;
  }
  // A causal mask leaves out half of two products, of which an element takes 2 operations for each position.
  return 2 * columns * countProducts(product) > 2 * price->kernel + bytes * price->byte;
}

/// Scores are small beside the number: proved, or tested.
std::string MaskGuard::refuseScores(ScoreBounds &bounds, std::optional<TestPrice> price) {
  double least = GraphBuilder::elementOf(most.getResult()).isF64() ? leastExponent64 : leastExponent;
  bool isReplaced = isa<SelectOp>(op) && data.empty() && llvm::is_contained(op->getOperands(), mask.rest);
  // The sum rounds to 2^-8 of itself in the coarsest type.
  double most = std::min((least - mask.masked * (1 - 0x1p-7)) / (isReplaced ? 1 : 2), mask.largest), known = 0;
  SmallVector<const MaskTerm *> open;
  for (const MaskTerm &term : scores) {
    double bound = bounds.of(term.value);
    known += std::isinf(bound) || bound >= most ? 0 : bound;
    if (std::isinf(bound) || bound >= most)
      open.push_back(&term);
  }
  if (open.empty() && known < most)
    return "";
  if (open.size() == 1 && known < most && canTest(*open.front(), price)) {
    ScaledProduct scaled = findProduct(open.front()->value);
    tested = scaled.product;
    limit = (most - known) / (scaled.factor * countProducts(tested) * rounding);
    return "";
  }
  double bound = open.empty() ? known : bounds.of(open.front()->value);
  std::string text =
      std::isinf(bound) ? "scores have no bound" : llvm::formatv("scores may be up to {0:e3}", bound).str();
  return llvm::formatv("{0}, so that {1:e3} beside them is not known to give a weight of 0{2}", text, mask.masked,
                       price && open.size() == 1 ? ", and a test of that would cost more than it saves" : "");
}

std::string MaskGuard::refuse(const SymbolFacts &facts, ScoreBounds &bounds, std::optional<TestPrice> price) {
  std::string reason = sortTerms();
  if (reason.empty())
    reason = refuseRows(facts);
  if (reason.empty())
    reason = refuseScores(bounds, price);
  if (reason.empty() && isTested() &&
      llvm::any_of(mask.forms, [](const PlaceForm &form) { return !form.data.empty(); }))
    reason = "kernels read one number for a bound"; // keepsPlaces takes no such form; here for the reader.
  return reason;
}

/// `value` in the order of the scores' dimensions, those of extent 1 among them.
Value MaskGuard::toLine(GraphBuilder &g, Value value, ArrayRef<AffineExpr> at) const {
  Dims line(dims.size(), g.builder.getAffineConstantExpr(1));
  for (auto [place, extent] : llvm::zip_equal(at, getDims(value.getType())))
    if (auto dim = dyn_cast<AffineDimExpr>(place); dim && getConstant(extent) != 1)
      line[dim.getPosition()] = extent;
  return g.reshape(value, line);
}

/// Whether data keep the first position, or all; and are nothing that could raise a score that the forms mask.
Value MaskGuard::buildKept(GraphBuilder &g, const MaskTerm &term) const {
  Type f32 = g.builder.getF32Type();
  Value zero = g.scalar(0, f32), value = term.value;
  if (term.kind != MaskTerm::Kind::Number) {
    Value out = g.scalar(-1, f32);
    bool isKept = term.kind == MaskTerm::Kind::Kept;
    value = g.op<SelectOp>(value, isKept ? zero : out, isKept ? out : zero);
  }
  value = g.cast(value, f32);
  AffineExpr stream = g.builder.getAffineDimExpr(dims.size() - 1);
  int64_t axis = llvm::find(term.at, stream) - term.at.begin(), rank = term.at.size();
  auto along = [&](Monoid kind) { return axis == rank ? value : g.reduce(kind, value, axis); };
  auto first = [&] {
    Dims one = getDims(value.getType());
    one[axis] = g.builder.getAffineConstantExpr(1);
    return g.op<SliceOp>(getTensorType(one, f32), value, SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 1));
  };
  Value least = isFirstKept && axis < rank ? first() : along(Monoid::Min);
  Value kept = g.op<CmpOp>(CmpPredicate::Ge, least, zero);
  if (term.kind == MaskTerm::Kind::Number)
    kept = g.op<AndOp>(kept, g.op<CmpOp>(CmpPredicate::Le, along(Monoid::Max), zero));
  return toLine(g, kept, term.at);
}

/// The greatest absolute value of an operand for each sequence and head, where it has those in the scores' order.
Value MaskGuard::buildGreatest(GraphBuilder &g, unsigned operand) const {
  ContractOp product = tested;
  Value value = product->getOperand(operand);
  AffineMap map = product.getMap(operand), result = product.getMap(2);
  SmallVector<AffineExpr> at;
  SmallVector<int64_t> axes;
  int64_t last = -1;
  for (auto [d, place] : llvm::enumerate(map.getResults())) {
    std::optional<unsigned> in = result.getResultPosition(place);
    bool isKept = in && *in + 2 < dims.size() && int64_t(*in) > last;
    at.push_back(isKept ? g.builder.getAffineDimExpr(*in) : g.builder.getAffineConstantExpr(0));
    if (isKept)
      last = *in;
    else
      axes.push_back(d);
  }
  Value greatest = g.reduce(Monoid::Max, g.op<AbsOp>(value), axes);
  return toLine(g, g.cast(greatest, g.builder.getF32Type()), at);
}

Value MaskGuard::buildBelow(GraphBuilder &g) const {
  Value product = g.op<MulOp>(buildGreatest(g, 0), buildGreatest(g, 1));
  return g.op<CmpOp>(CmpPredicate::Lt, product, g.scalar(limit, g.builder.getF32Type()));
}

Value MaskGuard::build(GraphBuilder g, BuiltGuards &built) const {
  std::vector<const void *> key{op->getBlock(), isFirstKept ? op->getBlock() : nullptr};
  for (const MaskTerm &term : data) {
    key.push_back(term.value.getAsOpaquePointer());
    for (AffineExpr place : term.at)
      key.push_back(place.getAsOpaquePointer());
  }
  Value &known = built[key];
  if (known && !tested)
    return known;
  Value holds = tested ? buildBelow(g) : Value();
  for (const MaskTerm &term : data) {
    Value kept = buildKept(g, term);
    holds = holds ? g.op<AndOp>(holds, kept) : kept;
  }
  auto number = [&](int64_t value) {
    return g.op<ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({}, g.builder.getI64Type()), value));
  };
  Value moved = g.op<SelectOp>(holds, number(0), number(everyPlace));
  if (!tested)
    known = moved;
  return moved;
}

} // namespace weft::tg
