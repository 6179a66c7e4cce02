// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters spell a mask in many ways: Where of a comparison of Range, Trilu of ones or of the number itself, a number
// times booleans, (1 - booleans) times a number, a sum or a choice of several. All of them are a number far below where
// a condition fails. What of the condition compares functions of indices (IndexForms.h), or is a constant band, is
// taken out as a form; what is left of the value, where the forms hold, is often 0.
#include "MaskConditions.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

/// How deep a mask may be.
static constexpr unsigned mostDepth = 32;

/// The number that all elements are, also behind broadcasts.
static std::optional<double> getSplatNumber(Value value) {
  while (isa_and_nonnull<BroadcastOp, ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return toDouble(elements.getSplatValue<APFloat>());
  if (!isa<IntegerType>(elements.getElementType()))
    return std::nullopt;
  APInt number = elements.getSplatValue<APInt>();
  return number.getBitWidth() == 1 ? double(number.getZExtValue()) : double(number.getSExtValue());
}

/// The number far below that all elements are.
static std::optional<double> getMasked(Value value) {
  for (auto cast = value.getDefiningOp<CastOp>(); cast; cast = value.getDefiningOp<CastOp>()) {
    if (!isa<FloatType>(GraphBuilder::elementOf(cast.getInput())) || !isa<FloatType>(GraphBuilder::elementOf(value)))
      break;
    value = cast.getInput();
  }
  std::optional<double> number = getSplatNumber(value);
  return number && *number <= greatestMask ? number : std::nullopt;
}

static bool isZero(Value value) { return getSplatNumber(value) == 0; }

MaskConditions MaskReader::read(Value value) {
  Places at;
  for (unsigned d = 0; d < dims.size(); ++d)
    at.push_back(builder.getAffineDimExpr(d));
  found.rest = readNumber(value, at, mostDepth);
  return found;
}

void MaskReader::undo() {
  for (Operation *op : llvm::reverse(made))
    if (op->use_empty())
      op->erase();
  made.clear();
}

/// Lengths of sequences and the like: one integer from memory for all rows and positions of the stream.
AffineExpr MaskReader::addData(Value value, ArrayRef<AffineExpr> at) {
  int64_t last = -1;
  for (auto [place, extent] : llvm::zip_equal(at, getDims(value.getType()))) {
    auto dim = dyn_cast<AffineDimExpr>(place);
    bool isAlong = dim && int64_t(dim.getPosition()) > last && dim.getPosition() + 2 < dims.size();
    if (!isAlong && getConstant(extent) != 1)
      return {};
    last = isAlong ? dim.getPosition() : last;
  }
  data.push_back({value, Places(at)});
  return builder.getAffineDimExpr(dims.size() + data.size() - 1);
}

/// Captures `form` >= 0; false if it is nothing that steps of the stream can be left out by.
bool MaskReader::addForm(AffineExpr form) {
  std::optional<PlaceForm> linear = splitLinear(form, dims.size() + data.size());
  if (!linear)
    return false;
  for (auto [i, factor] : llvm::enumerate(ArrayRef(linear->factors).drop_front(dims.size())))
    if (factor != 0)
      linear->data.push_back({data[i].value, data[i].at, factor});
  linear->factors.resize(dims.size());
  if (linear->data.size() > 1) // Kernels read one number for a bound.
    return false;
  if (facts.isNonNegative(*linear, dims))
    return true;
  if (std::abs(linear->factors.back()) != 1)
    return false;
  found.forms.push_back(*linear);
  return true;
}

bool MaskReader::addTable(const std::optional<Table> &table, ArrayRef<AffineExpr> at) {
  if (!table)
    return false;
  if (!table->band) {
    found.refused = "the elements that it keeps are no band";
    return false;
  }
  AffineExpr distance = at.back();
  if (table->band->isSlanted)
    distance = distance - at[at.size() - 2];
  if (table->band->low && !addForm(distance - *table->band->low))
    return false;
  if (table->band->high && !addForm(-distance + *table->band->high))
    return false;
  found.emptyRow = found.emptyRow ? found.emptyRow : table->emptyRow;
  found.isTable = true;
  found.isChoice = false;
  return true;
}

/// Captures the comparison (its opposite, unless it `holds`) of two functions of indices.
bool MaskReader::addComparison(CmpOp op, bool holds, ArrayRef<AffineExpr> at) {
  using P = CmpPredicate;
  auto formOf = [&](unsigned i) {
    return getIndexForm(op->getOperand(i), getOperandPlaces(op, i, at),
                        [&](Value value, ArrayRef<AffineExpr> places) { return addData(value, places); });
  };
  AffineExpr lhs = formOf(0), rhs = lhs ? formOf(1) : AffineExpr();
  auto isNumber = [&](AffineExpr form) {
    auto dim = dyn_cast<AffineDimExpr>(form);
    return dim && dim.getPosition() >= dims.size();
  };
  if (!rhs || isNumber(lhs) || isNumber(rhs)) // Compared as it is, a number in memory may be any.
    return false;
  P predicate = op.getPredicate();
  if (predicate == (holds ? P::Le : P::Gt))
    return addForm(rhs - lhs);
  if (predicate == (holds ? P::Lt : P::Ge))
    return addForm(rhs - lhs - 1);
  if (predicate == (holds ? P::Ge : P::Lt))
    return addForm(lhs - rhs);
  if (predicate == (holds ? P::Gt : P::Le))
    return addForm(lhs - rhs - 1);
  return predicate == (holds ? P::Eq : P::Ne) && addForm(lhs - rhs) && addForm(rhs - lhs);
}

/// The indices of what `op` moves; exporters slice a stored table with run-time offsets, which is a gather.
std::optional<Places> MaskReader::findPlaces(Operation *op, ArrayRef<AffineExpr> at) const {
  if (auto gather = dyn_cast_or_null<GatherOp>(op))
    return getGatheredPlaces(gather, at, dims, facts);
  return getViewedPlaces(op, at);
}

/// Captures that `value` is not 0 (is 0, unless it `holds`).
bool MaskReader::readNonZero(Value value, bool holds, ArrayRef<AffineExpr> at, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (GraphBuilder::elementOf(value).isInteger(1))
    return !readCondition(value, holds, at, depth);
  if (std::optional<Places> through = findPlaces(op, at))
    return readNonZero(op->getOperand(0), holds, *through, depth - 1);
  if (isa<CastOp>(op))
    return readNonZero(op->getOperand(0), holds, at, depth - 1);
  auto select = dyn_cast<SelectOp>(op);
  if (!select)
    return addTable(tables.readBooleans(value, holds), at);
  std::optional<double> yes = getSplatNumber(select.getOnTrue()), no = getSplatNumber(select.getOnFalse());
  if (!yes || !no || (*yes == 0) == (*no == 0))
    return false;
  if (double number = *yes + *no; number != std::round(number) || std::abs(number) > 127) // Casts would lose it.
    return false;
  return !readCondition(select.getCondition(), holds == (*yes != 0), getOperandPlaces(op, 0, at), depth - 1);
}

/// What `op` makes of `value`, which has 1 in place of some of its operand's extents, if `op` adds or removes nothing
/// but dimensions of extent 1; else nothing.
static std::optional<Dims> reshapeSmall(Operation *op, Value value) {
  Dims from = getDims(op->getOperand(0).getType()), to = getDims(op->getResult(0).getType());
  Dims own = getDims(value.getType());
  if (!isa<ReshapeOp>(op) || own.size() > from.size())
    return std::nullopt;
  AffineExpr one = getAffineConstantExpr(1, op->getContext());
  own.insert(own.begin(), from.size() - own.size(), one);
  Dims small(to.size(), one);
  size_t d = 0;
  for (auto [extent, mine] : llvm::zip_equal(from, own)) {
    if (getConstant(extent) == 1)
      continue;
    while (d < to.size() && getConstant(to[d]) == 1)
      ++d;
    if (d == to.size() || !isEqual(to[d], extent))
      return std::nullopt;
    small[d++] = mine;
  }
  bool isAll = llvm::all_of(llvm::drop_begin(to, d), [](AffineExpr extent) { return getConstant(extent) == 1; });
  return isAll ? std::optional(small) : std::nullopt;
}

/// The view `op` of `value` instead, which has the extents of its operand, or 1 in their place.
Value MaskReader::cloneView(Operation *op, Value value) {
  if (std::optional<Dims> small = reshapeSmall(op, value)) {
    Value view = GraphBuilder{builder, op->getLoc()}.reshape(value, *small);
    if (view != value)
      made.push_back(view.getDefiningOp());
    return view;
  }
  if (Type type = op->getOperand(0).getType(); value.getType() != type) {
    value = GraphBuilder{builder, op->getLoc()}.op<BroadcastOp>(type, value);
    made.push_back(value.getDefiningOp());
  }
  Operation *view = builder.clone(*op);
  view->setOperand(0, value);
  made.push_back(view);
  return view->getResult(0);
}

/// What is left of `condition`: it holds (does not, unless it `holds`) where the forms and that do; null if that is
/// everywhere.
Value MaskReader::readCondition(Value condition, bool holds, ArrayRef<AffineExpr> at, unsigned depth) {
  Operation *op = condition.getDefiningOp();
  if (!op || depth == 0)
    return condition;
  auto make = [&](Operation *like, ValueRange operands) {
    GraphBuilder g{builder, like->getLoc()};
    Value result = operands.size() == 1 ? g.op<NotOp>(operands[0])
                   : isa<AndOp>(like)   ? g.op<AndOp>(operands[0], operands[1])
                                        : g.op<OrOp>(operands[0], operands[1]);
    made.push_back(result.getDefiningOp());
    return result;
  };
  if (std::optional<Places> through = findPlaces(op, at)) {
    Value left = readCondition(op->getOperand(0), holds, *through, depth - 1);
    return !left ? Value() : left == op->getOperand(0) ? condition : cloneView(op, left);
  }
  if (isa<NotOp>(op)) {
    Value left = readCondition(op->getOperand(0), !holds, at, depth - 1);
    return !left || left == op->getOperand(0) ? (left ? condition : Value()) : make(op, left);
  }
  if (holds ? isa<AndOp>(op) : isa<OrOp>(op)) {
    Value lhs = readCondition(op->getOperand(0), holds, getOperandPlaces(op, 0, at), depth - 1);
    Value rhs = readCondition(op->getOperand(1), holds, getOperandPlaces(op, 1, at), depth - 1);
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return lhs == op->getOperand(0) && rhs == op->getOperand(1) ? condition : make(op, {lhs, rhs});
  }
  bool isTaken = false;
  if (auto cmp = dyn_cast<CmpOp>(op)) {
    bool isEqual = cmp.getPredicate() == CmpPredicate::Eq;
    isTaken = addComparison(cmp, holds, at);
    if (!isTaken && (isEqual || cmp.getPredicate() == CmpPredicate::Ne) && isZero(cmp.getRhs()))
      isTaken = readNonZero(cmp.getLhs(), holds != isEqual, getOperandPlaces(op, 0, at), depth - 1);
  } else if (isa<CastOp>(op)) {
    isTaken = readNonZero(op->getOperand(0), holds, at, depth - 1);
  }
  return isTaken || addTable(tables.readBooleans(condition, holds), at) ? Value() : condition;
}

/// The indices of `value`, which is broadcast to a tensor that is asked for at `at`.
static Places alignPlaces(Value value, ArrayRef<AffineExpr> at) {
  Dims dims = getDims(value.getType());
  Places places;
  for (auto [place, extent] : llvm::zip_equal(at.take_back(dims.size()), dims))
    places.push_back(getConstant(extent) == 1 ? getAffineConstantExpr(0, value.getContext()) : place);
  return places;
}

/// A choice has `number` where it masks.
void MaskReader::noteNumber(double number) {
  found.isChoice &= !chosen || *chosen == number;
  chosen = number;
}

/// A choice between a number far below and others.
Value MaskReader::readSelect(SelectOp op, ArrayRef<AffineExpr> at, unsigned depth) {
  std::optional<double> yes = getMasked(op.getOnTrue()), no = getMasked(op.getOnFalse());
  if (bool(yes) == bool(no))
    return op;
  noteNumber(yes ? *yes : *no);
  unsigned kept = yes ? 2 : 1;
  size_t before = found.forms.size();
  Value condition = readCondition(op.getCondition(), !yes, getOperandPlaces(op, 0, at), depth - 1);
  bool isMasked = found.forms.size() > before;
  before = found.forms.size();
  Value value = readNumber(op->getOperand(kept), getOperandPlaces(op, kept, at), depth - 1);
  // Where data mask a position that forms of the other operand mask as well, it is this number.
  if (isMasked || (condition && found.forms.size() > before))
    found.masked = std::max(found.masked, yes ? *yes : *no);
  if (!condition)
    return value;
  found.terms.push_back({yes ? MaskTerm::Kind::Masked : MaskTerm::Kind::Kept, condition, alignPlaces(condition, at)});
  if (condition == op.getCondition() && value == op->getOperand(kept))
    return op;
  GraphBuilder g{builder, op.getLoc()};
  Value left =
      yes ? g.op<SelectOp>(condition, op.getOnTrue(), value) : g.op<SelectOp>(condition, value, op.getOnFalse());
  made.push_back(left.getDefiningOp());
  return left;
}

/// A number far below times what is 0 or 1: booleans, or 1 less them.
Value MaskReader::readProduct(MulOp op, ArrayRef<AffineExpr> at, unsigned depth) {
  for (unsigned i : {0u, 1u}) {
    std::optional<double> number = getMasked(op->getOperand(i));
    if (!number || std::isinf(*number)) // 0 * inf is NaN.
      continue;
    Value factor = op->getOperand(1 - i);
    Places places = getOperandPlaces(op, 1 - i, at);
    bool holds = false;
    if (auto sub = factor.getDefiningOp<SubOp>(); sub && getSplatNumber(sub.getLhs()) == 1) {
      places = getOperandPlaces(sub, 1, places);
      factor = sub.getRhs();
      holds = true;
    }
    while (auto cast = factor.getDefiningOp<CastOp>())
      factor = cast.getInput();
    auto select = factor.getDefiningOp<SelectOp>();
    bool isOneOrZero = GraphBuilder::elementOf(factor).isInteger(1) ||
                       (select && getSplatNumber(select.getOnTrue()) == 1 && getSplatNumber(select.getOnFalse()) == 0);
    size_t before = found.forms.size();
    bool isTaken = isOneOrZero && readNonZero(factor, holds, places, depth - 1);
    if (found.forms.size() > before)
      found.masked = std::max(found.masked, *number);
    if (isTaken) {
      found.isChoice = false;
      Value zero = GraphBuilder{builder, op.getLoc()}.scalar(0, GraphBuilder::elementOf(op.getResult()));
      made.push_back(zero.getDefiningOp());
      return zero;
    }
  }
  return op;
}

Value MaskReader::readView(Operation *op, ArrayRef<AffineExpr> at, unsigned depth) {
  Value input = op->getOperand(0), value = readNumber(input, at, depth - 1);
  if (isZero(value) && !isZero(input)) {
    found.isChoice &= !isa<CastOp>(op);
    Value zero = GraphBuilder{builder, op->getLoc()}.scalar(0, GraphBuilder::elementOf(op->getResult(0)));
    made.push_back(zero.getDefiningOp());
    return zero;
  }
  if (value == input)
    return op->getResult(0);
  if (!isa<CastOp>(op))
    return cloneView(op, value);
  found.isChoice = false;
  Value left = GraphBuilder{builder, op->getLoc()}.op<CastOp>(value, GraphBuilder::elementOf(op->getResult(0)));
  made.push_back(left.getDefiningOp());
  return left;
}

/// What is left of `value` where the forms hold.
Value MaskReader::readNumber(Value value, ArrayRef<AffineExpr> at, unsigned depth) {
  found.largest = std::min(found.largest, largestOf(value));
  size_t forms = found.forms.size(), terms = found.terms.size();
  Value left = readParts(value, at, depth);
  if (left == value && found.forms.size() == forms)
    if (std::optional<Table> table = tables.readNumbers(value); addTable(table, at)) {
      found.masked = std::max(found.masked, table->masked);
      found.terms.truncate(terms);
      left = GraphBuilder{builder, value.getLoc()}.scalar(0, GraphBuilder::elementOf(value));
      made.push_back(left.getDefiningOp());
    }
  if (left == value && found.terms.size() == terms && !isZero(value))
    found.terms.push_back({MaskTerm::Kind::Number, value, alignPlaces(value, at)});
  return left;
}

/// The same, by the parts that `value` is made of.
Value MaskReader::readParts(Value value, ArrayRef<AffineExpr> at, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || !isa<FloatType>(GraphBuilder::elementOf(value)))
    return value;
  if (std::optional<Places> through = findPlaces(op, at))
    return readView(op, *through, depth);
  if (isa<CastOp>(op))
    return readView(op, at, depth);
  if (auto select = dyn_cast<SelectOp>(op))
    return readSelect(select, at, depth);
  if (auto product = dyn_cast<MulOp>(op))
    return readProduct(product, at, depth);
  if (!isa<AddOp>(op))
    return value;
  Value lhs = readNumber(op->getOperand(0), getOperandPlaces(op, 0, at), depth - 1);
  Value rhs = readNumber(op->getOperand(1), getOperandPlaces(op, 1, at), depth - 1);
  if (lhs == op->getOperand(0) && rhs == op->getOperand(1))
    return value;
  found.isChoice &= depth == mostDepth && (lhs == op->getOperand(0) || rhs == op->getOperand(1)); // Scores and a mask.
  if (isZero(lhs) || isZero(rhs))
    return isZero(lhs) ? rhs : lhs;
  Value left = GraphBuilder{builder, op->getLoc()}.op<AddOp>(lhs, rhs);
  made.push_back(left.getDefiningOp());
  return left;
}

} // namespace weft::tg
