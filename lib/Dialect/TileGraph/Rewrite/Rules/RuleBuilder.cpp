// Building the right sides of rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleBuilder.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::tg {

/// An op equal to `created` that is before it in the block: found among the users of an operand.
static Operation *findEqual(Operation *created) {
  for (Operation *user : created->getOperand(0).getUsers())
    if (user != created && user->getBlock() == created->getBlock() && user->isBeforeInBlock(created) &&
        isSameValue(user->getResult(0), created->getResult(0)))
      return user;
  return nullptr;
}

static Value reuse(Value created) {
  Operation *equal = findEqual(created.getDefiningOp());
  if (!equal)
    return created;
  created.getDefiningOp()->erase();
  return equal->getResult(0);
}

Value buildPointwise(OpBuilder &builder, Location loc, llvm::StringRef name, ValueRange operands) {
  std::string fullName = ("tg." + name).str();
  auto registered = RegisteredOperationName::lookup(fullName, builder.getContext());
  if (!registered)
    llvm::report_fatal_error("rewrite rule: no op `" + llvm::Twine(fullName) + "`");
  auto *inference = registered->getInterface<InferTypeOpInterface>();
  OperationState state(loc, fullName);
  state.addOperands(operands);
  if (!inference || failed(inference->inferReturnTypes(builder.getContext(), std::nullopt, operands,
                                                       DictionaryAttr::get(builder.getContext()),
                                                       OpaqueProperties(nullptr), RegionRange(), state.types)))
    return {};
  return reuse(builder.create(state)->getResult(0));
}

Value buildNumber(OpBuilder &builder, Location loc, double number, Type element) {
  auto type = RankedTensorType::get({}, element);
  if (isa<FloatType>(element)) {
    FloatAttr attr = FloatAttr::get(element, number); // Rounds: 70000 would be infinity in f16.
    if (attr.getValueAsDouble() != number)
      return {};
    return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attr.getValue()));
  }
  if (number != double(int64_t(number)))
    return {};
  APInt bits(64, int64_t(number), /*isSigned=*/true);
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, bits.trunc(element.getIntOrFloatBitWidth())));
}

Value buildReshape(OpBuilder &builder, Location loc, Value value, const Dims &dims) {
  auto type = getTensorType(dims, cast<RankedTensorType>(value.getType()).getElementType());
  return value.getType() == type ? value : reuse(ReshapeOp::create(builder, loc, type, value));
}

std::optional<SmallVector<int64_t>> alignAxes(ReduceOp reduce, int64_t rank) {
  int64_t shift = reduce.getInput().getType().getRank() - rank;
  SmallVector<int64_t> axes;
  for (int64_t axis : reduce.getAxes()) {
    if (axis < shift)
      return std::nullopt;
    axes.push_back(axis - shift);
  }
  return axes;
}

bool isUniform(Value value, ReduceOp reduce) {
  Dims dims = getDims(value.getType());
  int64_t shift = reduce.getInput().getType().getRank() - int64_t(dims.size());
  return llvm::all_of(reduce.getAxes(),
                      [&](int64_t axis) { return axis < shift || getConstant(dims[axis - shift]) == 1; });
}

Value buildReduced(OpBuilder &builder, Location loc, Value value, ReduceOp reduce) {
  if (reduce.getKeepDims())
    return value;
  Dims dims = getDims(value.getType()), kept;
  int64_t shift = reduce.getInput().getType().getRank() - int64_t(dims.size());
  for (auto [d, dim] : llvm::enumerate(dims))
    if (!llvm::is_contained(reduce.getAxes(), int64_t(d) + shift))
      kept.push_back(dim);
  return buildReshape(builder, loc, value, kept);
}

Value buildReduce(OpBuilder &builder, Location loc, Monoid kind, Value value, ReduceOp reduce) {
  auto axes = alignAxes(reduce, cast<RankedTensorType>(value.getType()).getRank());
  if (!axes)
    return {};
  // Where a factor was stretched along an axis of extent 1, the sum is over more elements than the value has.
  for (auto [axis, full] : llvm::zip(*axes, reduce.getAxes()))
    if (!isEqual(getDim(value.getType(), axis), getDim(reduce.getInput().getType(), full)))
      return {};
  return reuse(ReduceOp::create(builder, loc, kind, value, *axes, reduce.getKeepDims()));
}

std::optional<int64_t> getReducedCount(ReduceOp reduce) {
  int64_t count = 1;
  for (int64_t axis : reduce.getAxes()) {
    std::optional<int64_t> extent = getConstant(getDim(reduce.getInput().getType(), axis));
    if (!extent || llvm::MulOverflow(count, *extent, count))
      return std::nullopt;
  }
  return count;
}

/// The value of an expression of a right side; null if types do not fit.
static Value buildExpression(const Pattern &pattern, const Match &match, OpBuilder &builder) {
  Location loc = match.root->getLoc();
  auto reduce = match.find<ReduceOp>();
  switch (pattern.kind) {
  case Pattern::Kind::Variable:
    return match[pattern.name];
  case Pattern::Kind::Number:
    return buildNumber(builder, loc, pattern.number, match.getElementType());
  case Pattern::Kind::Count: {
    std::optional<int64_t> count = getReducedCount(reduce);
    return count ? buildNumber(builder, loc, double(*count), match.getElementType()) : Value();
  }
  case Pattern::Kind::Op:
    break;
  }
  SmallVector<Value> operands;
  for (const Pattern &child : pattern.children) {
    operands.push_back(buildExpression(child, match, builder));
    if (!operands.back())
      return {};
  }
  if (pattern.name == "reduced")
    return buildReduced(builder, loc, operands[0], reduce);
  llvm::StringRef name = pattern.name;
  if (name.consume_front("reduce."))
    return buildReduce(builder, loc, *symbolizeMonoid(name), operands[0], reduce);
  return buildPointwise(builder, loc, pattern.name, operands);
}

/// Whether x + `value` is x for every x: -0.0, or an integer 0. (0.0 turns -0.0 to itself.)
static bool isNoAddend(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat())
    return false;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().isNegZero();
  return elements.getSplatValue<APInt>().isZero();
}

static bool isConstant(Value value) { return isa_and_nonnull<ConstantOp, WeightOp>(value.getDefiningOp()); }

/// Asks the guards that the engine knows; the others are the rule's own.
static bool checkGuards(const Rule &rule, const Match &match, Guards &guards, const RuleLicence &licence) {
  bool isFloat = isa<FloatType>(match.getElementType());
  bool needsLicence = isFloat || !rule.isExactOnIntegers;
  if (rule.contract != Contract::Exact && !guards.require("licence", !needsLicence || rule.contract <= licence.allowed))
    return false;
  auto reduce = match.find<ReduceOp>();
  for (const std::string &guard : rule.guards) {
    auto [kind, rest] = llvm::StringRef(guard).split('(');
    Value value = match[rest.drop_back(rest.empty() ? 0 : 1)];
    bool holds = true;
    if (kind == "float")
      holds = isFloat;
    else if (kind == "non-empty")
      holds = reduce && getReducedCount(reduce).value_or(0) > 0;
    else if (kind == "non-negative")
      holds = value && isNonNegative(value);
    else if (kind == "uniform" && reduce && value)
      holds = isUniform(value, reduce);
    else if (kind == "constant")
      holds = value && isConstant(value);
    else if (kind == "no-addend")
      holds = value && isNoAddend(value);
    else if (kind == "signed")
      holds = !isUnsignedElement(match.getElementType());
    if (!guards.require(guard, holds))
      return false;
  }
  return true;
}

Value applyRule(const Rule &rule, const Match &match, OpBuilder &builder, Guards &guards, const RuleLicence &licence) {
  if (!checkGuards(rule, match, guards, licence))
    return {};
  Operation *place = match.place ? match.place : match.root, *before = place->getPrevNode();
  builder.setInsertionPoint(place);
  Value result = rule.build ? rule.build(match, builder, guards) : buildExpression(getAfter(rule), match, builder);
  if (result && guards.getFailed().empty() &&
      guards.require("type", result.getType() == match.root->getResult(0).getType()) &&
      result != match.root->getResult(0))
    return result;
  while (place->getPrevNode() != before)
    place->getPrevNode()->erase();
  return {};
}

bool Guards::require(llvm::StringRef guard, bool holds) {
  if (holds || llvm::is_contained(licence.disabledGuards, (rule + ":" + guard).str()))
    return true;
  if (failed.empty())
    failed = guard.str();
  return false;
}

std::vector<std::string> getGuards(const Rule &rule) {
  std::vector<std::string> all = rule.guards;
  if (rule.contract != Contract::Exact)
    all.insert(all.begin(), "licence");
  return all;
}

} // namespace weft::tg
