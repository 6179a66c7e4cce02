// Variants as programs of their own, and as one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipelines/Variants.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/Substitution.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Emit/BundleWriter.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/ReadTime.h"
#include "weft/Plan/WeightOrder.h"
#include "weft/Target/PlanAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;

namespace weft {

std::string VariantChoice::describe(ModuleOp module, size_t variant) const {
  SmallVector<std::string> names = tg::getSymbolNames(module);
  const Variant &each = variants[variant];
  std::string text = (symbol < names.size() ? names[symbol] : "?") + " " + std::to_string(each.low);
  if (each.isStatic())
    return text;
  return text + "-" + (each.high == INT64_MAX ? "" : std::to_string(each.high));
}

std::string VariantChoice::describe(ModuleOp module) const {
  std::string text;
  for (size_t i = 0; i < variants.size(); ++i)
    text += (i ? ", " : "") + describe(module, i);
  return text;
}

/// What the symbols of a program count as: what the user said; else the estimate for all, if the range lets it, or
/// nothing. Above 1: an extent of 1 is one that no dimension runs along, which holds for no plan of several values.
static SmallVector<int64_t> likelyValues(ModuleOp module) {
  SmallVector<int64_t> values;
  for (const tg::SymbolRange &range : tg::getSymbolRanges(module))
    values.push_back(range.likely                      ? std::max<int64_t>(*range.likely, 2)
                     : range.low > tg::symbolEstimate  ? range.low
                     : range.high < tg::symbolEstimate ? std::max<int64_t>(range.high, 2)
                                                       : 0);
  return values;
}

void setLikely(ModuleOp program, const VariantChoice &choice) {
  SmallVector<int64_t> likely = likelyValues(program);
  if (choice.symbol < likely.size() && !choice.variants.empty())
    likely[choice.symbol] = std::max<int64_t>(choice.variants.front().planned, 2);
  if (llvm::any_of(likely, [](int64_t value) { return value != 0; }))
    program->setAttr(tg::likelyAttr, DenseI64ArrayAttr::get(program.getContext(), likely));
}

OwningOpRef<ModuleOp> makeVariant(ModuleOp normalized, const VariantChoice &choice, size_t variant) {
  OwningOpRef<ModuleOp> copy = normalized.clone();
  const Variant &each = choice.variants[variant];
  setLikely(*copy, {choice.symbol, {each}});
  if (each.isStatic())
    tg::substituteSymbol(*copy, choice.symbol, getAffineConstantExpr(each.low, normalized.getContext()));
  return copy;
}

void renameKernels(ModuleOp variant, StringRef suffix) {
  for (ModuleOp kernel : variant.getOps<ModuleOp>()) {
    std::string name = kernel.getSymName().value_or("kernel").str();
    kernel.setSymName(name + suffix.str());
  }
  for (auto function : variant.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : function.getOps<tg::DispatchOp>()) {
      auto name = StringAttr::get(variant.getContext(), dispatch.getCallee().getRootReference().getValue() + suffix);
      dispatch.setCalleeAttr(SymbolRefAttr::get(name, dispatch.getCallee().getNestedReferences()));
    }
}

void keepWeightOrders(ModuleOp planned, ModuleOp variant) {
  llvm::DenseMap<Attribute, int64_t> innermost;
  planned.walk([&](tg::WeightOp weight) {
    std::optional<ArrayRef<int64_t>> order = weight.getOrder();
    int64_t rank = cast<RankedTensorType>(weight.getType()).getRank();
    if (rank > 0)
      innermost.try_emplace(weight.getData(), order ? order->back() : rank - 1);
  });
  variant.walk([&](tg::WeightOp weight) {
    if (auto it = innermost.find(weight.getData()); it != innermost.end())
      weight->setAttr(plan::innermostAttr, Builder(variant.getContext()).getI64IntegerAttr(it->second));
  });
}

//===--- The predicted time ---===//

/// What the kernel's symbols are where the program's are `symbols`.
static SmallVector<int64_t> symbolsOf(tg::DispatchOp dispatch, ArrayRef<int64_t> symbols) {
  MLIRContext *context = dispatch.getContext();
  SmallVector<AffineExpr> constants;
  for (unsigned s = 0; s < dispatch.getSymbols().getNumSymbols(); ++s)
    constants.push_back(
        getAffineConstantExpr(s < symbols.size() && symbols[s] > 0 ? symbols[s] : tg::symbolEstimate, context));
  SmallVector<int64_t> values;
  for (AffineExpr expr : dispatch.getSymbols().getResults())
    values.push_back(tg::getConstant(tg::simplify(expr.replaceSymbols(constants))).value_or(tg::symbolEstimate));
  return values;
}

/// Of one launch of a kernel; 0 of what is no kernel of tiles.
static double predictKernel(ModuleOp kernel, ArrayRef<int64_t> values, const Device &device, bool allowTf32) {
  auto func = kernel.lookupSymbol<func::FuncOp>("kernel");
  auto schedule = kernel->getAttrOfType<tg::ScheduleAttr>(plan::scheduleAttr);
  if (!func || func.isExternal() || func.getNumResults() == 0 || !schedule)
    return 0;
  Attribute before = kernel->getAttr(tg::likelyAttr);
  kernel->setAttr(tg::likelyAttr, DenseI64ArrayAttr::get(kernel.getContext(), values));
  double seconds = 0;
  {
    tg::LikelyExtents likely(kernel);
    plan::KernelToSchedule request(func);
    request.allowTf32 = allowTf32;
    std::optional<double> known = plan::estimateKernel(request, schedule, device);
    // Tiles that a model refuses: at least what the memory takes.
    seconds = known ? *known : 2 * plan::estimateMemoryBound(request, schedule, device).seconds;
  }
  if (before)
    kernel->setAttr(tg::likelyAttr, before);
  else
    kernel->removeAttr(tg::likelyAttr);
  return seconds + device.kernelSeconds();
}

double predictProgram(ModuleOp planned, ArrayRef<int64_t> symbols, const Device &device, bool allowTf32) {
  SymbolTable table(planned);
  std::map<std::pair<Operation *, SmallVector<int64_t>>, double> known; // Layers share their kernels.
  double seconds = 0;
  for (auto function : planned.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : function.getOps<tg::DispatchOp>()) {
      auto kernel = table.lookup<ModuleOp>(dispatch.getCallee().getRootReference());
      if (!kernel)
        continue;
      SmallVector<int64_t> values = symbolsOf(dispatch, symbols);
      auto [it, isNew] = known.try_emplace({kernel, values}, 0);
      if (isNew)
        it->second = predictKernel(kernel, values, device, allowTf32);
      seconds += it->second;
    }
  return seconds;
}

//===--- Many programs as one ---===//

/// A kernel's text without what only describes it.
static std::string fingerprint(ModuleOp kernel) {
  OwningOpRef<ModuleOp> copy = kernel.clone();
  Operation *module = copy->getOperation();
  for (StringRef name : {StringRef(tg::likelyAttr), StringRef(plan::secondsAttr), StringRef(plan::launchAttr),
                         StringRef(plan::subgraphAttr), StringRef(plan::shapesAttr), SymbolTable::getSymbolAttrName()})
    module->removeAttr(name);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().useLocalScope());
  return text;
}

namespace {

/// Takes the kernels of variants in, equal ones once.
class KernelPool {
public:
  explicit KernelPool(ModuleOp program) : symbols(program) {}

  /// The name that the kernel has here.
  StringAttr take(ModuleOp kernel) {
    StringAttr &name = known[fingerprint(kernel)];
    if (!name) {
      kernel->remove();
      name = symbols.insert(kernel);
    }
    return name;
  }

  StringAttr insert(Operation *op) { return symbols.insert(op); }

private:
  SymbolTable symbols;
  llvm::StringMap<StringAttr> known;
};

} // namespace

/// The checks of a program stay in @main: they hold for all variants.
static bool isCheck(Operation &op) { return isa<tg::AssumeEqualOp, tg::AssumeAtMostOp>(op); }

/// The program of one variant as a function of `pool`.
static func::FuncOp takeProgram(ModuleOp variant, size_t number, KernelPool &pool) {
  MLIRContext *context = variant.getContext();
  auto body = variant.lookupSymbol<func::FuncOp>("main");
  SmallVector<Attribute> names;
  llvm::StringMap<StringAttr> renamed;
  for (ModuleOp kernel : llvm::to_vector(variant.getOps<ModuleOp>())) {
    std::string old = kernel.getSymName().value_or("").str();
    renamed[old] = pool.take(kernel);
    names.push_back(renamed[old]);
  }
  for (Operation &op : llvm::make_early_inc_range(body.front())) {
    if (isCheck(op))
      op.erase();
    else if (auto dispatch = dyn_cast<tg::DispatchOp>(op))
      if (auto it = renamed.find(dispatch.getCallee().getRootReference()); it != renamed.end())
        dispatch.setCalleeAttr(SymbolRefAttr::get(it->second, dispatch.getCallee().getNestedReferences()));
  }
  body->remove();
  body.setName("main_" + std::to_string(number));
  body.setPrivate();
  if (!names.empty())
    body->setAttr(emit::variantKernelsAttr, ArrayAttr::get(context, names));
  if (Attribute likely = variant->getAttr(tg::likelyAttr))
    body->setAttr(tg::likelyAttr, likely);
  pool.insert(body);
  return body;
}

void joinVariants(ModuleOp module, const VariantChoice &choice, MutableArrayRef<OwningOpRef<ModuleOp>> variants) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Block &block = main.front();
  block.getTerminator()->setOperands({});
  SmallVector<Operation *> replaced;
  for (Operation &op : block.without_terminator())
    if (!isCheck(op))
      replaced.push_back(&op);
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  KernelPool pool(module);
  SmallVector<Attribute> bodies;
  SmallVector<int64_t> low, high;
  for (auto [i, variant] : llvm::enumerate(variants)) {
    bodies.push_back(FlatSymbolRefAttr::get(takeProgram(*variant, i, pool)));
    for (NamedAttribute attribute : variant->getOperation()->getAttrs())
      if (StringRef name = attribute.getName(); name != tg::likelyAttr && !module->hasAttr(name))
        module->setAttr(name, attribute.getValue());
    if (i + 1 == variants.size())
      break;
    low.push_back(choice.variants[i].low);
    high.push_back(choice.variants[i].high);
  }
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  AffineMap value = AffineMap::get(0, choice.symbol + 1, getAffineSymbolExpr(choice.symbol, module.getContext()));
  auto joined = tg::VariantsOp::create(builder, main.getLoc(), main.getResultTypes(), value, low, high,
                                       builder.getArrayAttr(bodies), block.getArguments());
  terminator->setOperands(joined.getResults());
  SmallVector<int64_t> planned;
  for (const Variant &variant : choice.variants)
    planned.push_back(variant.planned);
  joined->setAttr("planned", builder.getDenseI64ArrayAttr(planned));
}

/// Kernels that several variants share have the likely extents of the first.
static void restoreLikely(ModuleOp program) {
  auto likely = program->getAttrOfType<DenseI64ArrayAttr>(tg::likelyAttr);
  SymbolTable table(program);
  program.walk([&](tg::DispatchOp dispatch) {
    auto kernel = table.lookup<ModuleOp>(dispatch.getCallee().getRootReference());
    if (!likely || !kernel || dispatch.getSymbols().getNumResults() == 0)
      return;
    SmallVector<int64_t> values;
    for (AffineExpr expr : dispatch.getSymbols().getResults()) {
      auto symbol = dyn_cast<AffineSymbolExpr>(expr);
      values.push_back(symbol && symbol.getPosition() < likely.size() ? likely[symbol.getPosition()] : 0);
    }
    kernel->setAttr(tg::likelyAttr, DenseI64ArrayAttr::get(program.getContext(), values));
  });
}

VariantChoice splitVariants(ModuleOp module, SmallVectorImpl<OwningOpRef<ModuleOp>> &variants) {
  VariantChoice choice;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return choice;
  auto ops = main.getOps<tg::VariantsOp>();
  if (ops.empty())
    return choice;
  tg::VariantsOp joined = *ops.begin();
  auto symbol = dyn_cast<AffineSymbolExpr>(joined.getValue().getResult(0));
  auto planned = joined->getAttrOfType<DenseI64ArrayAttr>("planned");
  choice.symbol = symbol ? symbol.getPosition() : 0;
  for (auto [i, body] : llvm::enumerate(joined.getBodies().getAsRange<FlatSymbolRefAttr>())) {
    bool isLast = i == joined.getLow().size();
    Variant variant;
    variant.low = isLast ? (i ? joined.getHigh()[i - 1] + 1 : 0) : joined.getLow()[i];
    variant.high = isLast ? tg::getSymbolRanges(module)[choice.symbol].high : joined.getHigh()[i];
    variant.planned = planned && i < size_t(planned.size()) ? planned[i] : variant.low;
    choice.variants.push_back(variant);
    auto function = module.lookupSymbol<func::FuncOp>(body.getValue());
    OwningOpRef<ModuleOp> program = ModuleOp::create(module.getLoc());
    program->getOperation()->setAttrs(module->getAttrDictionary());
    if (Attribute likely = function->getAttr(tg::likelyAttr))
      program->getOperation()->setAttr(tg::likelyAttr, likely);
    OpBuilder builder = OpBuilder::atBlockEnd(program->getBody());
    auto own = cast<func::FuncOp>(builder.clone(*function));
    own.setName("main");
    own.setPublic();
    own->removeAttr(tg::likelyAttr);
    own->removeAttr(emit::variantKernelsAttr);
    if (auto names = function->getAttrOfType<ArrayAttr>(emit::variantKernelsAttr))
      for (auto name : names.getAsRange<StringAttr>())
        if (auto kernel = module.lookupSymbol<ModuleOp>(name); kernel && !program->lookupSymbol(name))
          builder.clone(*kernel);
    restoreLikely(*program);
    variants.push_back(std::move(program));
  }
  return choice;
}

} // namespace weft
