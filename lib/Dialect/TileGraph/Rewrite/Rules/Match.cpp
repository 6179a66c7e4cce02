// Matching of patterns against ops, and what matching may know about values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

using namespace mlir;

namespace weft::tg {

/// Patterns by text, parsed once.
static const Pattern &getPattern(const std::string &text) {
  static std::mutex mutex;
  static llvm::StringMap<std::unique_ptr<Pattern>> parsed;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Pattern> &entry = parsed[text];
  if (!entry)
    entry = std::make_unique<Pattern>(parsePattern(text));
  return *entry;
}

static bool isSameValue(Value a, Value b, unsigned depth) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || depth == 0 || a.getType() != b.getType() || left->getName() != right->getName() ||
      left->getNumRegions() != 0 || !isPure(left) || left->getAttrDictionary() != right->getAttrDictionary() ||
      left->getPropertiesAsAttribute() != right->getPropertiesAsAttribute() ||
      left->getNumOperands() != right->getNumOperands() ||
      cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  return llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()),
                      [&](auto pair) { return isSameValue(std::get<0>(pair), std::get<1>(pair), depth - 1); });
}

bool isSameValue(Value a, Value b) { return isSameValue(a, b, /*depth=*/4); }

bool isNumber(Value value, double number) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat())
    return false;
  if (!isa<FloatType>(elements.getElementType())) {
    APInt integer = elements.getSplatValue<APInt>();
    return integer.isSignedIntN(32) && double(integer.getSExtValue()) == number;
  }
  APFloat real = elements.getSplatValue<APFloat>();
  bool losesInfo;
  real.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return real.convertToDouble() == number && !real.isNegZero();
}

bool isOfKind(Operation *op, llvm::StringRef name) {
  llvm::StringRef kind = op->getName().getStringRef();
  if (!kind.consume_front("tg."))
    return false;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return name == "reduce" || (name.consume_front("reduce.") && stringifyMonoid(reduce.getKind()) == name);
  if (name == "elementwise")
    return isa<PointwiseOpInterface>(op);
  return kind == name;
}

namespace {

/// Backtracking over the orders of commutative operands. `next` continues with what is left to match.
class Matcher {
public:
  using Next = llvm::function_ref<bool()>;
  Match match;
  unsigned stepsLeft = 4096;

  bool visit(const Pattern &pattern, Value value, Next next) {
    if (stepsLeft == 0 || --stepsLeft == 0)
      return false;
    if (pattern.kind == Pattern::Kind::Variable)
      return bind(pattern.name, value, next);
    if (pattern.kind == Pattern::Kind::Number)
      return isNumber(value, pattern.number) && next();
    Operation *op = value.getDefiningOp();
    return op && op->getBlock() == match.root->getBlock() && visitOp(pattern, op, next);
  }

  bool visitOp(const Pattern &pattern, Operation *op, Next next) {
    if (op->getNumResults() != 1 || (!pattern.takesAny && op->getNumOperands() != pattern.children.size()) ||
        !isOfKind(op, pattern.name))
      return false;
    match.ops.push_back(op);
    size_t mark = match.ops.size();
    if (pattern.takesAny) {
      bool isFound = next();
      match.ops.truncate(isFound ? mark : mark - 1);
      return isFound;
    }
    SmallVector<Value> operands(op->getOperands());
    if (visitOperands(pattern.children, operands, next))
      return true;
    match.ops.truncate(mark);
    bool isSwappable = operands.size() == 2 && op->hasTrait<OpTrait::IsCommutative>() && operands[0] != operands[1];
    if (isSwappable && visitOperands(pattern.children, {operands[1], operands[0]}, next))
      return true;
    match.ops.truncate(mark - 1);
    return false;
  }

private:
  bool visitOperands(ArrayRef<Pattern> patterns, ArrayRef<Value> operands, Next next) {
    if (patterns.empty())
      return next();
    return visit(patterns.front(), operands.front(),
                 [&] { return visitOperands(patterns.drop_front(), operands.drop_front(), next); });
  }

  bool bind(llvm::StringRef name, Value value, Next next) {
    if (Value bound = match[name])
      return isSameValue(bound, value) && next();
    match.variables.emplace_back(name, value);
    if (next())
      return true;
    match.variables.pop_back();
    return false;
  }
};

} // namespace

Value Match::operator[](llvm::StringRef name) const {
  for (auto &[variable, value] : variables)
    if (variable == name)
      return value;
  return {};
}

Type Match::getElementType() const { return cast<RankedTensorType>(root->getResult(0).getType()).getElementType(); }

bool mayMatch(const Rule &rule, Operation *op) {
  return op->getNumResults() == 1 && isOfKind(op, getPattern(rule.before).name);
}

void forEachMatch(const Rule &rule, Operation *root, llvm::function_ref<bool(const Match &)> found) {
  Matcher matcher;
  matcher.match.root = root;
  (void)matcher.visitOp(getPattern(rule.before), root, [&] { return found(matcher.match); });
}

const Pattern &getBefore(const Rule &rule) { return getPattern(rule.before); }
const Pattern &getAfter(const Rule &rule) { return getPattern(rule.after); }

} // namespace weft::tg
