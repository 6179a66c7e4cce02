// weft-band-masks: constant masks of softmax that keep a band of places become comparisons of places.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exporter's mask is a constant C of 0 and v, or of booleans, made of a causal rule that constant folding has
// evaluated. Where row i keeps lo(i) <= j <= hi(i), both i + constant or constants (clamped to the tensor), C is
// select(lo(i) <= j <= hi(i), 0, v), every element the same, which kernels need not read and take the bounds of their
// loops from. For v = -inf that is all. A finite v is taken as -inf where the weights of masked places are 0 in both:
// exp(t - m), t the masked score and m the row's greatest, is 0 in f32 for t - m < log(2^-150) = -103.98. The row keeps
// a place, so m >= -S for scores of at most S in absolute value, and
//   t - m <= (S + v) + S  for s + v,    t - m <= v + S  for select(kept, s, v).
// S is found from the ops that make the scores, for operands of products that are numbers, or not; then it takes the
// licence.
#include "GraphBuilder.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Reference/Reference.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_BANDMASKS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// exp of less is 0 in f32 and in f16; in f64.
constexpr double leastExponent = -104, leastExponent64 = -746;
/// A mask's numbers are far below all scores; others are biases.
constexpr double greatestMask = -1000;
/// Elements of a mask that are looked at, at most; what all masks of a program may take to evaluate and read.
constexpr int64_t mostElements = int64_t(1) << 24, mostWork = int64_t(1) << 27;

double toDouble(APFloat number) {
  bool loses = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

/// How far back bounds and tables are looked for.
constexpr unsigned mostDepth = 32;

double largestOf(Value value) {
  auto element = dyn_cast<FloatType>(GraphBuilder::elementOf(value));
  return element ? toDouble(APFloat::getLargest(element.getFloatSemantics())) : infinity;
}

/// Bounds of absolute values that follow from ops, as long as what products multiply are numbers. A value that may
/// overflow has none: it may be infinite.
class Bounds {
public:
  /// Infinity where there is none.
  double of(Value value, unsigned depth = mostDepth) {
    auto [it, isNew] = known.try_emplace(value, infinity);
    Operation *op = value.getDefiningOp();
    if (!isNew || !op || depth == 0)
      return it->second;
    double bound = ofOp(op, depth - 1);
    return known[value] = bound <= largestOf(value) ? bound : infinity;
  }

private:
  static double ofConstant(ConstantOp op) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!elements || !isa<FloatType>(elements.getElementType()) || elements.getNumElements() > 4096)
      return infinity;
    double bound = 0;
    for (const APFloat &each : elements.getValues<APFloat>())
      bound = std::max(bound, each.isNaN() ? infinity : std::abs(toDouble(each)));
    return bound;
  }

  double ofContraction(ContractOp op, unsigned depth) {
    auto tile = cast<TileOpInterface>(*op);
    double places = 1;
    for (auto [kind, extent] : llvm::zip_equal(tile.getDomainIterators(), tile.getDomainExtents()))
      if (kind == utils::IteratorType::reduction)
        places *= getConstant(extent) ? double(*getConstant(extent)) : infinity;
    auto ofOperand = [&](Value operand) { return std::min(of(operand, depth), largestOf(operand)); };
    double left = ofOperand(op.getLhs()), right = ofOperand(op.getRhs());
    return left == 0 || right == 0 ? 0 : places * left * right * 1.01; // Sums round.
  }

  double ofOp(Operation *op, unsigned depth) {
    auto operand = [&](unsigned i) { return of(op->getOperand(i), depth); };
    if (auto constant = dyn_cast<ConstantOp>(op))
      return ofConstant(constant);
    if (auto contract = dyn_cast<ContractOp>(op))
      return ofContraction(contract, depth);
    if (isa<TanhOp, SigmoidOp, ErfOp, SinOp, CosOp>(op))
      return 1.01;
    bool isReal = llvm::all_of(op->getOperandTypes(),
                               [](Type type) { return isa<FloatType>(cast<RankedTensorType>(type).getElementType()); });
    if (!isReal)
      return infinity;
    if (isa<CastOp, NegOp, AbsOp, TransposeOp, ReshapeOp, BroadcastOp, SliceOp>(op))
      return operand(0) * 1.01;
    if (isa<AddOp, SubOp>(op))
      return (operand(0) + operand(1)) * 1.01;
    if (isa<MaxOp, MinOp>(op))
      return std::max(operand(0), operand(1));
    if (isa<MulOp>(op)) {
      double left = operand(0), right = operand(1);
      return left == 0 || right == 0 ? 0 : left * right * 1.01;
    }
    return infinity;
  }

  llvm::DenseMap<Value, double> known;
};

/// Whether a tensor of numbers is behind `value`: a constant that is more than one number, or a weight. Otherwise it is
/// made of places.
bool readsTable(Value value) {
  llvm::SetVector<Operation *> ops;
  if (Operation *op = value.getDefiningOp())
    ops.insert(op);
  for (size_t i = 0; i < ops.size(); ++i) {
    auto constant = dyn_cast<ConstantOp>(ops[i]);
    auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    if (isa<WeightOp>(ops[i]) || (constant && !(elements && elements.isSplat())))
      return true;
    for (Value operand : ops[i]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        ops.insert(op);
  }
  return false;
}

/// low <= j - (isSlanted ? i : 0) <= high; a side that masks nothing is none.
struct Band {
  std::optional<int64_t> low, high;
  bool isSlanted = true;
};

/// What a constant keeps of each row, and the number that stands in the other places.
struct Table {
  int64_t rows = 1, places = 1;
  double masked = 0;
  std::optional<Band> band;
  std::optional<int64_t> emptyRow; ///< The first that keeps nothing.
};

/// The first and the last place that row `i` keeps; first > last if there is none.
std::pair<int64_t, int64_t> findEnds(ArrayRef<uint8_t> row) {
  int64_t first = 0, last = int64_t(row.size()) - 1;
  while (first <= last && !row[first])
    ++first;
  while (last > first && !row[last])
    --last;
  return {first, last};
}

/// The band and the empty row of `table`, whose places `keeps` has row by row.
void describe(Table &table, ArrayRef<uint8_t> keeps) {
  Band band;
  band.isSlanted = table.rows > 1;
  for (int64_t i = 0; i < table.rows; ++i) {
    auto [first, last] = findEnds(keeps.slice(i * table.places, table.places));
    int64_t row = band.isSlanted ? i : 0;
    if (first > last)
      table.emptyRow = table.emptyRow ? table.emptyRow : i;
    else if (first > 0 && !band.low)
      band.low = first - row;
    if (first <= last && last < table.places - 1 && !band.high)
      band.high = last - row;
  }
  if (!band.low && !band.high)
    return;
  for (int64_t i = 0; i < table.rows; ++i)
    for (int64_t j = 0; j < table.places; ++j) {
      int64_t distance = j - (band.isSlanted ? i : 0);
      bool isIn = (!band.low || distance >= *band.low) && (!band.high || distance <= *band.high);
      if (isIn != bool(keeps[i * table.places + j]))
        return;
    }
  table.band = band;
}

/// Reads constants, each once, and not more of them than there is work for.
class Tables {
public:
  /// `value` as numbers of 0 and one other, far below; none if it is not constant or not such.
  std::optional<Table> readNumbers(Value value) {
    auto [it, isNew] = known.try_emplace({value, 0u}, std::nullopt);
    if (isNew && isa<FloatType>(GraphBuilder::elementOf(value)))
      it->second = makeNumbers(value);
    return it->second;
  }
  /// `condition` as booleans that are `kept` where a place is kept.
  std::optional<Table> readBooleans(Value condition, bool kept) {
    auto [it, isNew] = known.try_emplace({condition, unsigned(kept)}, std::nullopt);
    if (isNew)
      it->second = makeBooleans(condition, kept);
    return it->second;
  }

private:
  /// Rows and places of a mask whose other extents are 1; none of another form.
  static std::optional<Table> readShape(RankedTensorType type) {
    if (!type.hasStaticShape() || type.getRank() < 1 || type.getNumElements() < 2 ||
        type.getNumElements() > mostElements)
      return std::nullopt;
    Table table;
    table.places = type.getShape().back();
    table.rows = type.getRank() > 1 ? type.getDimSize(type.getRank() - 2) : 1;
    if (table.rows * table.places != type.getNumElements())
      return std::nullopt;
    return table;
  }

  DenseElementsAttr evaluate(Value value) {
    reference::Limits limits = reference::foldLimits();
    limits.sharedWork = &workLeft;
    auto elements = dyn_cast_or_null<DenseElementsAttr>(reference::foldToConstant(value, limits));
    if (!elements || elements.isSplat() || workLeft < elements.getNumElements())
      return {};
    workLeft -= elements.getNumElements();
    return elements;
  }

  std::optional<Table> makeNumbers(Value value) {
    std::optional<Table> table = readShape(cast<RankedTensorType>(value.getType()));
    DenseElementsAttr elements = table ? evaluate(value) : DenseElementsAttr();
    unsigned width = GraphBuilder::elementOf(value).getIntOrFloatBitWidth() / 8;
    if (!elements || width < 2 || int64_t(elements.getRawData().size()) != elements.getNumElements() * width)
      return std::nullopt;
    ArrayRef<char> bytes = elements.getRawData(), other;
    auto isZero = [&](ArrayRef<char> number) { // Either zero.
      return llvm::all_of(number.drop_back(), [](char c) { return c == 0; }) && (number.back() & 0x7f) == 0;
    };
    std::vector<uint8_t> keeps;
    int64_t place = 0;
    for (int64_t i = 0; i < elements.getNumElements(); ++i) {
      ArrayRef<char> number = bytes.slice(i * width, width);
      keeps.push_back(isZero(number));
      if (keeps.back())
        continue;
      if (other.empty()) {
        place = i;
        other = number;
      }
      if (number != other)
        return std::nullopt;
    }
    table->masked = toDouble(*(elements.getValues<APFloat>().begin() + place));
    if (!(table->masked <= greatestMask))
      return std::nullopt;
    describe(*table, keeps);
    return table;
  }

  std::optional<Table> makeBooleans(Value condition, bool kept) {
    std::optional<Table> table = readShape(cast<RankedTensorType>(condition.getType()));
    DenseElementsAttr elements = table ? evaluate(condition) : DenseElementsAttr();
    if (!elements)
      return std::nullopt;
    std::vector<uint8_t> keeps;
    for (bool each : elements.getValues<bool>())
      keeps.push_back(each == kept);
    describe(*table, keeps);
    return table;
  }

  llvm::DenseMap<std::pair<Value, unsigned>, std::optional<Table>> known;
  int64_t workLeft = mostWork;
};

std::optional<double> getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return toDouble(elements.getSplatValue<APFloat>());
}

/// A mask in the scores of a softmax.
struct Mask {
  Operation *op = nullptr; ///< The sum, or the choice, that makes the masked scores.
  Value scores;            ///< What it masks.
  Value source;            ///< What is added, or chosen by.
  bool isSum = true;
  Table table;
};

std::optional<Mask> readMask(Operation *op, Tables &tables) {
  if (isa_and_nonnull<AddOp>(op)) {
    for (unsigned i : {1u, 0u})
      if (std::optional<Table> table = tables.readNumbers(op->getOperand(i)))
        return Mask{op, op->getOperand(1 - i), op->getOperand(i), true, *table};
    return std::nullopt;
  }
  auto select = dyn_cast_or_null<SelectOp>(op);
  if (!select)
    return std::nullopt;
  std::optional<double> yes = getSplat(select.getOnTrue()), no = getSplat(select.getOnFalse());
  bool isMaskedWhereTrue = yes && *yes <= greatestMask;
  if (!isMaskedWhereTrue && !(no && *no <= greatestMask))
    return std::nullopt;
  std::optional<Table> table = tables.readBooleans(select.getCondition(), !isMaskedWhereTrue);
  if (!table)
    return std::nullopt;
  table->masked = isMaskedWhereTrue ? *yes : *no;
  return Mask{op, isMaskedWhereTrue ? select.getOnFalse() : select.getOnTrue(), select.getCondition(), false, *table};
}

/// Whether `value`, itself or cast, is read by nothing but `most`, the maximum of its rows, and the exponentials of its
/// distance from that.
bool isOnlySoftmax(Value value, ReduceOp most) {
  for (Operation *user : value.getUsers()) {
    if (user == most)
      continue;
    if (auto cast = dyn_cast<CastOp>(user)) {
      if (!isa<FloatType>(GraphBuilder::elementOf(cast.getResult())) || !isOnlySoftmax(cast.getResult(), most))
        return false;
      continue;
    }
    auto sub = dyn_cast<SubOp>(user);
    if (!sub || sub.getLhs() != value || sub.getRhs() != most.getResult() ||
        !llvm::all_of(sub->getUsers(), llvm::IsaPred<ExpOp>))
      return false;
  }
  return true;
}

struct BandMasks : impl::BandMasksBase<BandMasks> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ReduceOp> maxima;
    getOperation()->walk([&](ReduceOp reduce) {
      if (reduce.getKind() == Monoid::Max && reduce.getKeepDims() && reduce.getAxes().size() == 1 &&
          reduce.getAxes().front() == reduce.getInput().getType().getRank() - 1)
        maxima.push_back(reduce);
    });
    for (ReduceOp most : maxima) {
      Operation *op = most.getInput().getDefiningOp();
      while (isa_and_nonnull<CastOp>(op))
        op = op->getOperand(0).getDefiningOp();
      if (op)
        rewrite(op, most);
    }
    for (Operation *op : replaced)
      op->erase();
    bounds = {};
    tables = {};
    replaced.clear();
  }

private:
  static remark::RemarkOpts options(StringRef name) { return remark::RemarkOpts::name(name).category("fold"); }

  /// Why the masked number of `mask`, which is finite, may not count as -inf; empty if it may.
  std::string refuse(const Mask &mask, ReduceOp most) {
    const Table &constant = mask.table;
    if (constant.emptyRow)
      return llvm::formatv("row {0} keeps no place: with {1:e3} its weights are equal, not zero", *constant.emptyRow,
                           constant.masked);
    if (!isOnlySoftmax(mask.op->getResult(0), most))
      return "the masked scores are read by more than a softmax";
    double scores = bounds.of(mask.scores);
    double least = GraphBuilder::elementOf(most.getResult()).isF64() ? leastExponent64 : leastExponent;
    // The sum rounds to 2^-8 of itself in the coarsest type.
    double apart = (mask.isSum ? 2 : 1) * scores + constant.masked * (1 - 0x1p-7);
    if (apart < least || finite)
      return "";
    std::string known =
        std::isinf(scores) ? "scores have no bound" : llvm::formatv("scores may be up to {0:e3}", scores).str();
    return llvm::formatv(
        "{0}, so that {1:e3} beside them is not known to give a weight of 0; --fp=fast takes it as -inf", known,
        constant.masked);
  }

  void rewrite(Operation *op, ReduceOp most) {
    std::optional<Mask> mask = readMask(op, tables);
    if (!mask || (std::isinf(mask->table.masked) && !readsTable(mask->source)))
      return; // Comparisons of places already.
    const Table &constant = mask->table;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    int64_t rank = GraphBuilder::rankOf(mask->scores);
    bool fits = rank >= 2 && rank >= GraphBuilder::rankOf(mask->source) && type.getShape().back() == constant.places &&
                (constant.rows == 1 || (type.getRank() > 1 && type.getDimSize(type.getRank() - 2) == constant.rows));
    std::optional<Band> band = fits ? constant.band : std::nullopt;
    std::string reason = !band                         ? "the places that it keeps are no band"
                         : std::isinf(constant.masked) ? ""
                                                       : refuse(*mask, most);
    if (!reason.empty()) {
      remark::missed(op->getLoc(), options("no-band")) << remark::add("a constant mask stays: {0}", reason);
      return;
    }
    OpBuilder builder(op);
    GraphBuilder g{builder, op->getLoc()};
    build(*mask, *band, g);
    replaced.push_back(op);
    ++numMasks;
    auto side = [](std::optional<int64_t> bound) { return bound ? std::to_string(*bound) : std::string("any"); };
    remark::passed(op->getLoc(), options("band-mask")) << remark::add(
        "{0}",
        std::string(llvm::formatv("a constant mask of {0} x {1} keeps places from {2} to {3} {4}: compared, not read",
                                  constant.rows, constant.places, side(band->low), side(band->high),
                                  band->isSlanted ? "beside the row's" : "of each row")));
  }

  /// The masked scores, from comparisons of places.
  static void build(const Mask &mask, const Band &band, GraphBuilder &g) {
    const Table &constant = mask.table;
    Type i64 = g.builder.getI64Type();
    AffineExpr one = g.builder.getAffineConstantExpr(1);
    Value j = g.op<IotaOp>(getTensorType({one, g.builder.getAffineConstantExpr(constant.places)}, i64), uint64_t(1));
    Value condition;
    auto compare = [&](CmpPredicate predicate, std::optional<int64_t> distance) {
      if (!distance)
        return;
      auto number = [&](int64_t value) {
        return g.op<ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({}, i64), value));
      };
      // j - distance against i: what changes along the stream is computed in the fold.
      Value row, place = j;
      if (band.isSlanted) {
        row = g.op<IotaOp>(getTensorType({g.builder.getAffineConstantExpr(constant.rows), one}, i64), uint64_t(0));
        place = *distance == 0 ? j : g.op<AddOp>(j, number(-*distance));
      }
      Value holds = g.op<CmpOp>(predicate, place, row ? row : number(*distance));
      condition = condition ? g.op<AndOp>(condition, holds) : holds;
    };
    compare(CmpPredicate::Ge, band.low);
    compare(CmpPredicate::Le, band.high);
    Type element = GraphBuilder::elementOf(mask.op->getResult(0));
    Value least = g.scalar(-infinity, element), masked;
    if (mask.isSum && std::isinf(mask.table.masked))
      masked = g.op<AddOp>(mask.scores, g.op<SelectOp>(condition, g.scalar(0, element), least));
    else
      masked = g.op<SelectOp>(condition, mask.scores, least);
    mask.op->getResult(0).replaceAllUsesWith(masked);
  }

  /// These know values by their addresses: what is replaced stays until the end.
  Bounds bounds;
  Tables tables;
  SmallVector<Operation *> replaced;
};

} // namespace
} // namespace weft::tg
