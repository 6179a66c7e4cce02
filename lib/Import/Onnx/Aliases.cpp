// Caches in place: results that lie in the memory of arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A result that is a tg.scatter into an argument may lie in that argument's memory, if nothing else reads it: the
// program then writes the updates only; also where exporters update a transposed argument and transpose the result
// back. Exporters also write present = concat(past, new): past has P rows, present P + S. Their rows lie elsewhere,
// since the extent is in the strides of what is outside of it. So past and present both become the whole memory, of C
// rows (a symbol of its own, `NAME_capacity`):
//   past = slice(memory, 0 .. P), memory' = scatter(memory, P .. P + S, new), present = slice(memory', 0 .. P + S)
// Readers of past read rows that the scatter leaves as they are. P is then no extent of an input any more, unless
// others have it; it is what an equation that import assumed says (the mask's extent T = P + S: P = T - S).
#include "Aliases.h"
#include "weft/Dialect/TileGraph/IR/Canonicalize.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/Substitution.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"

using namespace mlir;

namespace weft::onnx {

namespace {

/// `text` with what stands for the `*` of `pattern`; none if it does not match. A pattern without one matches itself.
std::optional<StringRef> match(StringRef pattern, StringRef text) {
  auto [prefix, suffix] = pattern.split('*');
  if (!pattern.contains('*'))
    return pattern == text ? std::optional(StringRef()) : std::nullopt;
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix))
    return std::nullopt;
  return text.drop_front(prefix.size()).drop_back(suffix.size());
}

std::string withStar(StringRef pattern, StringRef star) {
  auto [prefix, suffix] = pattern.split('*');
  return pattern.contains('*') ? (prefix + star + suffix).str() : pattern.str();
}

/// A result that is an argument with more rows along an axis.
struct Growth {
  unsigned argument, result;
  tg::ConcatOp concat;
};

class Aliases {
public:
  Aliases(func::FuncOp main, const ImportOptions &options, Diagnostics &diagnostics)
      : main(main), module(main->getParentOfType<ModuleOp>()), context(main.getContext()), options(options),
        diagnostics(diagnostics), returned(main.front().getTerminator()->getOpOperands()) {}

  void run() {
    PatternRewriter rewriter(context);
    for (OpOperand &result : returned)
      if (auto transpose = result.get().getDefiningOp<tg::TransposeOp>())
        (void)tg::moveScatterBeforeTranspose(transpose, rewriter);
    for (const Alias &alias : options.aliases)
      expand(alias);
    for (unsigned result = 0; result < returned.size(); ++result)
      recognise(result);
    // All arguments of one length change together.
    llvm::MapVector<unsigned, SmallVector<Growth>> byLength;
    for (const Growth &growth : growths)
      if (std::optional<unsigned> length = findLength(growth))
        byLength[*length].push_back(growth);
    for (auto &[length, group] : byLength)
      makeRoom(length, group);
  }

private:
  void report(const Twine &cause, const Twine &remedy = "") {
    (void)diagnostics.report(ErrorClass::Usage, "--alias: " + cause, remedy);
  }
  StringRef nameOf(DictionaryAttr attributes) {
    auto name = attributes ? attributes.getAs<StringAttr>("tg.name") : StringAttr();
    return name ? name.getValue() : StringRef();
  }
  StringRef argumentName(unsigned i) { return nameOf(main.getArgAttrDict(i)); }
  StringRef resultName(unsigned i) { return nameOf(main.getResultAttrDict(i)); }
  std::string pairName(unsigned argument, unsigned result) {
    return ("result `" + resultName(result) + "` and input `" + argumentName(argument) + "`").str();
  }

  void expand(const Alias &alias);
  void alias(unsigned argument, unsigned result);
  void recognise(unsigned result);
  std::optional<unsigned> findLength(const Growth &growth);
  AffineExpr solve(unsigned symbol, ArrayRef<Growth> group);
  void makeRoom(unsigned length, ArrayRef<Growth> group);
  void update(const Growth &growth, AffineExpr past, AffineExpr capacity);
  Value slice(OpBuilder &builder, Location loc, Value input, int64_t axis, AffineExpr extent);

  func::FuncOp main;
  ModuleOp module;
  MLIRContext *context;
  const ImportOptions &options;
  Diagnostics &diagnostics;
  MutableArrayRef<OpOperand> returned;
  SmallVector<Growth> growths;
  llvm::SmallDenseSet<unsigned> used; ///< Arguments that share their memory.
};

} // namespace

/// The pairs that `each` names.
void Aliases::expand(const Alias &each) {
  bool found = false;
  for (unsigned result = 0; result < returned.size(); ++result) {
    std::optional<StringRef> star = match(each.output, resultName(result));
    if (!star)
      continue;
    found = true;
    std::string input = withStar(each.input, *star);
    auto arguments = llvm::seq<unsigned>(0, main.getNumArguments());
    auto argument = llvm::find_if(arguments, [&](unsigned i) { return argumentName(i) == input; });
    if (argument == arguments.end())
      report("the model has no input `" + Twine(input) + "`, which result `" + resultName(result) + "` asks for");
    else
      alias(*argument, result);
  }
  if (!found)
    report("the model has no result `" + Twine(each.output) + "`");
}

void Aliases::alias(unsigned argument, unsigned result) {
  BlockArgument memory = main.getArgument(argument);
  Operation *op = returned[result].get().getDefiningOp();
  if (main.getResultAttr(result, tg::aliasAttr))
    return report("result `" + resultName(result) + "` is named twice");
  if (!used.insert(argument).second)
    return report("input `" + argumentName(argument) + "` cannot be the memory of two results");
  main.setResultAttr(result, tg::aliasAttr, Builder(context).getI64IntegerAttr(argument));
  auto scatter = dyn_cast_or_null<tg::ScatterOp>(op);
  if (scatter && scatter.getData() == memory && !scatter.getKind()) {
    if (!memory.hasOneUse())
      report(Twine(pairName(argument, result)) + ": the input is read beside its update, which may come first",
             "leave this pair out");
    return;
  }
  auto concat = dyn_cast_or_null<tg::ConcatOp>(op);
  if (concat && concat.getInputs().size() > 1 && concat.getInputs().front() == memory)
    return growths.push_back({argument, result, concat});
  report(Twine(pairName(argument, result)) +
             ": expected the result to be an update of the input, or the input with "
             "rows behind it, got " +
             (op ? "'" + op->getName().getStringRef() + "'" : StringRef("an input")),
         "name pairs of a cache before and after a step");
}

/// What is an alias without being named.
void Aliases::recognise(unsigned result) {
  if (main.getResultAttr(result, tg::aliasAttr))
    return;
  Operation *op = returned[result].get().getDefiningOp();
  auto isFree = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &main.front() && !used.contains(argument.getArgNumber());
  };
  auto scatter = dyn_cast_or_null<tg::ScatterOp>(op);
  bool isUpdate = scatter && !scatter.getKind() && (options.aliasCaches || scatter->hasAttr(tg::distinctAttr));
  if (isUpdate && isFree(scatter.getData()) && scatter.getData().hasOneUse())
    return alias(cast<BlockArgument>(scatter.getData()).getArgNumber(), result);
  auto concat = dyn_cast_or_null<tg::ConcatOp>(op);
  if (options.aliasCaches && concat && concat.getInputs().size() > 1 && isFree(concat.getInputs().front()))
    alias(cast<BlockArgument>(concat.getInputs().front()).getArgNumber(), result);
}

/// The symbol that is the argument's number of rows.
std::optional<unsigned> Aliases::findLength(const Growth &growth) {
  tg::ConcatOp concat = growth.concat;
  int64_t axis = concat.getAxis();
  AffineExpr extent = tg::getDim(main.getArgument(growth.argument).getType(), axis);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(extent))
    return symbol.getPosition();
  report(Twine(pairName(growth.argument, growth.result)) + ": expected dimension " + Twine(axis) +
             " of the input to be a named extent, got " + tg::formatDims(extent, tg::getSymbolNames(module)),
         "export the model with a dynamic length of the past");
  return std::nullopt;
}

/// What symbol `symbol` is where only the arguments of `group` have it as an extent: by an equation that import
/// assumed, in symbols that other arguments have. Null if there is none.
AffineExpr Aliases::solve(unsigned symbol, ArrayRef<Growth> group) {
  AffineExpr self = getAffineSymbolExpr(symbol, context), zero = getAffineConstantExpr(0, context);
  llvm::SmallDenseSet<unsigned> bound;
  for (BlockArgument argument : main.getArguments())
    if (llvm::none_of(group, [&](const Growth &growth) { return growth.argument == argument.getArgNumber(); }))
      for (AffineExpr dim : tg::getDims(argument.getType()))
        if (auto other = dyn_cast<AffineSymbolExpr>(dim))
          bound.insert(other.getPosition());
  if (bound.contains(symbol))
    return self;
  for (auto equal : main.getOps<tg::AssumeEqualOp>())
    for (AffineExpr side : equal.getMap().getResults().drop_front()) {
      AffineExpr difference = tg::simplify(equal.getMap().getResult(0) - side);
      AffineExpr rest = tg::simplify(difference.replace(self, zero));
      AffineExpr slope = tg::simplify(difference - rest);
      std::optional<AffineExpr> value;
      if (slope == self)
        value = tg::simplify(zero - rest);
      else if (tg::isEqual(slope, tg::simplify(zero - self)))
        value = rest;
      bool isKnown = value && !value
                                   ->walk([&](AffineExpr part) {
                                     auto other = dyn_cast<AffineSymbolExpr>(part);
                                     bool isFree = other && !bound.contains(other.getPosition());
                                     return isFree ? WalkResult::interrupt() : WalkResult::advance();
                                   })
                                   .wasInterrupted();
      if (isKnown)
        return *value;
    }
  return {};
}

void Aliases::makeRoom(unsigned length, ArrayRef<Growth> group) {
  SmallVector<std::string> names = tg::getSymbolNames(module);
  AffineExpr past = solve(length, group);
  if (!past)
    return report("nothing but the memory itself says how long the past `" + Twine(names[length]) + "` of input `" +
                      argumentName(group.front().argument) + "` is",
                  "export the model with an attention mask whose extent is that of past and new tokens");
  AffineExpr self = getAffineSymbolExpr(length, context), capacity = self;
  std::string name = names[length] + "_capacity";
  if (past == self) {
    capacity = getAffineSymbolExpr(names.size(), context);
    names.push_back(name);
  } else {
    tg::substituteSymbol(module, length, past);
    names[length] = name;
  }
  Builder builder(context);
  module->setAttr(tg::TileGraphDialect::symbolsAttrName,
                  builder.getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end())));
  for (const Growth &growth : group)
    update(growth, past, capacity);
}

Value Aliases::slice(OpBuilder &builder, Location loc, Value input, int64_t axis, AffineExpr extent) {
  tg::Dims dims = tg::getDims(input.getType());
  SmallVector<int64_t> offsets(dims.size(), 0), strides(dims.size(), 1);
  dims[axis] = extent;
  Type type = tg::getTensorType(dims, cast<RankedTensorType>(input.getType()).getElementType());
  return tg::SliceOp::create(builder, loc, type, input, builder.getDenseI64ArrayAttr(offsets),
                             builder.getDenseI64ArrayAttr(strides));
}

/// See the head of this file.
void Aliases::update(const Growth &growth, AffineExpr past, AffineExpr capacity) {
  tg::ConcatOp concat = growth.concat;
  Location loc = concat.getLoc();
  int64_t axis = concat.getAxis();
  BlockArgument memory = main.getArgument(growth.argument);
  Type element = cast<RankedTensorType>(memory.getType()).getElementType();
  tg::Dims dims = tg::getDims(memory.getType());
  dims[axis] = capacity;
  SmallVector<OpOperand *> readers;
  for (OpOperand &use : memory.getUses())
    if (use.getOwner() != concat)
      readers.push_back(&use);
  memory.setType(tg::getTensorType(dims, element));
  OpBuilder builder(concat);
  Value fresh = concat.getInputs()[1];
  if (concat.getInputs().size() > 2)
    fresh = tg::ConcatOp::create(builder, loc, concat.getInputs().drop_front(), axis);
  AffineExpr rows = tg::getDim(fresh.getType(), axis), length = tg::simplify(past + rows);
  StringRef name = argumentName(growth.argument);
  AffineExpr order[] = {getAffineConstantExpr(0, context), past, length, capacity};
  tg::AssumeAtMostOp::create(
      builder, loc, AffineMapAttr::get(tg::getSymbolMap(order, context)),
      builder.getStringAttr("the memory of `" + name + "`: expected room for past and new rows"));
  Type index = builder.getI64Type();
  Value places = tg::IotaOp::create(builder, loc, tg::getTensorType(ArrayRef(rows), index), 0);
  Value start = tg::ExtentsOp::create(builder, loc, AffineMapAttr::get(tg::getSymbolMap(past, context)));
  places = tg::AddOp::create(builder, loc, places, start);
  unsigned rank = dims.size();
  SmallVector<AffineExpr> target;
  for (unsigned d = 0; d < rank; ++d)
    target.push_back(int64_t(d) == axis ? getAffineSymbolExpr(0, context) : getAffineDimExpr(d, context));
  auto scatter = tg::ScatterOp::create(
      builder, loc, memory.getType(), memory, places, fresh,
      AffineMapAttr::get(AffineMap::get(rank, 1, target, context)),
      builder.getAffineMapArrayAttr(AffineMap::get(rank, 0, getAffineDimExpr(axis, context))), tg::MonoidAttr());
  scatter->setAttr(tg::distinctAttr, builder.getUnitAttr());
  concat.getResult().replaceAllUsesWith(slice(builder, loc, scatter.getResult(), axis, length));
  returned[growth.result].set(scatter.getResult());
  concat.erase();
  if (!readers.empty()) {
    builder.setInsertionPointToStart(&main.front());
    Value old = slice(builder, loc, memory, axis, past);
    for (OpOperand *use : readers)
      use->set(old);
  }
  main.setFunctionType(
      FunctionType::get(context, main.front().getArgumentTypes(), main.front().getTerminator()->getOperandTypes()));
}

void applyAliases(func::FuncOp main, const ImportOptions &options, Diagnostics &diagnostics) {
  Aliases(main, options, diagnostics).run();
}

} // namespace weft::onnx
