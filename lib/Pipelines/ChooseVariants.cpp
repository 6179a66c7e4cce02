// Which symbol a program has variants for, and the plans that are tried for them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Pipelines/Variants.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;

namespace weft {
namespace {

/// Plans of one symbol's values, each made when it is asked for. Others have their likely values.
class Trials {
public:
  Trials(ModuleOp normalized, unsigned symbol, const Device &device, const PhaseOptions &options)
      : normalized(normalized), symbol(symbol), device(device), options(options) {
    VariantChoice none;
    none.symbol = symbol;
    OwningOpRef<ModuleOp> copy = normalized.clone();
    setLikely(*copy, none);
    auto likely = copy->getOperation()->getAttrOfType<DenseI64ArrayAttr>(tg::likelyAttr);
    values.assign(tg::getSymbolNames(normalized).size(), 0);
    if (likely)
      values.assign(likely.asArrayRef().begin(), likely.asArrayRef().end());
  }

  int64_t getLikely() const { return values[symbol] > 0 ? values[symbol] : tg::symbolEstimate; }

  double time(int64_t planned, bool isStatic, int64_t at) {
    ModuleOp plan = get(planned, isStatic);
    if (plan->hasAttr(refusedAttr))
      return -1;
    SmallVector<int64_t> now(values);
    // At 1 a plan of several values does what it does at 2; the models would take it for another kind of kernel.
    now[symbol] = isStatic ? at : std::max<int64_t>(at, 2);
    return predictProgram(plan, now, device, options.gpu->allowTf32);
  }

  /// Different kernels of the plan for the likely value.
  size_t countKernels() { return llvm::range_size(get(getLikely(), false).getOps<ModuleOp>()); }

private:
  ModuleOp get(int64_t planned, bool isStatic) {
    OwningOpRef<ModuleOp> &plan = plans[{planned, isStatic}];
    if (!plan)
      plan = make(planned, isStatic);
    return *plan;
  }

  OwningOpRef<ModuleOp> make(int64_t planned, bool isStatic) {
    VariantChoice choice{symbol, {Variant{isStatic ? planned : 0, planned, planned}}};
    OwningOpRef<ModuleOp> copy = makeVariant(normalized, choice, 0);
    PhaseOptions quiet = options;
    quiet.finished = nullptr;
    quiet.started = nullptr;
    quiet.nameSubgraphs = false;
    quiet.mostVariants = 1;
    LogicalResult done = success();
    if (isStatic)
      done = runPlainPhases(*copy, Phase::Import, Phase::Normalize, quiet);
    if (succeeded(done))
      done = runPlainPhases(*copy, Phase::Normalize, Phase::Outline, quiet);
    if (succeeded(done)) {
      PassManager pm(copy->getContext());
      buildPlanSchedulesPipeline(pm, *options.gpu);
      done = pm.run(*copy);
    }
    if (failed(done))
      copy->getOperation()->setAttr(refusedAttr, UnitAttr::get(copy->getContext()));
    return copy;
  }

  static constexpr llvm::StringLiteral refusedAttr = "weft.refused";

  ModuleOp normalized;
  unsigned symbol;
  const Device &device;
  const PhaseOptions &options;
  SmallVector<int64_t> values;
  std::map<std::pair<int64_t, bool>, OwningOpRef<ModuleOp>> plans;
};

/// Nobody hears what trials say.
class Silence {
public:
  Silence(MLIRContext *context, const PhaseOptions &options)
      : options(options), handler(context, [](Diagnostic &) { return success(); }) {
    if (options.hush)
      options.hush(true);
  }
  ~Silence() {
    if (options.hush)
      options.hush(false);
  }

private:
  const PhaseOptions &options;
  ScopedDiagnosticHandler handler;
};

} // namespace

/// Symbols that extents of @main's arguments are; none of a program whose flow or extents depend on data, or that has
/// other functions: its bodies would have variants of their own.
static SmallVector<unsigned> findSymbols(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  bool isPlain = main && !main.isExternal() && llvm::hasSingleElement(module.getOps<func::FuncOp>()) &&
                 llvm::none_of(main.front(), llvm::IsaPred<tg::BindSymbolsOp, tg::LoopOp, tg::IfOp>);
  SmallVector<unsigned> symbols;
  if (!isPlain)
    return symbols;
  for (Type type : main.getArgumentTypes())
    for (AffineExpr dim : tg::getDims(type))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(dim); symbol && !llvm::is_contained(symbols, symbol.getPosition()))
        symbols.push_back(symbol.getPosition());
  return symbols;
}

/// The symbol whose ends lose most by the plan for its likely value; a batch and a length have different ones. At most
/// `mostTried` symbols are looked at.
static unsigned findSignificant(ModuleOp normalized, ArrayRef<unsigned> symbols, const Device &device,
                                const PhaseOptions &options) {
  constexpr size_t mostTried = 4;
  constexpr int64_t farthest = 4096;
  unsigned best = symbols.front();
  double most = -1;
  SmallVector<tg::SymbolRange> ranges = tg::getSymbolRanges(normalized);
  for (unsigned symbol : symbols.take_front(mostTried)) {
    Trials trials(normalized, symbol, device, options);
    double loss = 0;
    for (int64_t end : {std::max<int64_t>(ranges[symbol].low, 2), std::min(ranges[symbol].high, farthest)}) {
      double likely = trials.time(trials.getLikely(), false, end), own = trials.time(end, false, end);
      loss = std::max(loss, own > 0 && likely > 0 ? likely / own - 1 : 0);
    }
    if (loss > most) {
      most = loss;
      best = symbol;
    }
  }
  return best;
}

double predictVariant(ModuleOp normalized, const VariantChoice &choice, size_t variant, int64_t at,
                      const PhaseOptions &options) {
  const Device *device = options.gpu ? findDevice(normalized.getContext(), options.gpu->target) : nullptr;
  if (!device)
    return -1;
  Silence silence(normalized.getContext(), options);
  const Variant &each = choice.variants[variant];
  return Trials(normalized, choice.symbol, *device, options).time(each.planned, each.isStatic(), at);
}

VariantChoice chooseVariants(ModuleOp normalized, const PhaseOptions &options) {
  VariantChoice choice;
  const Device *device = options.gpu ? findDevice(normalized.getContext(), options.gpu->target) : nullptr;
  SmallVector<unsigned> symbols = findSymbols(normalized);
  bool isGiven = !options.plan.empty() || !options.emitPlan.empty();
  if (!device || symbols.empty() || options.mostVariants <= 1 || isGiven)
    return choice;
  {
    Silence silence(normalized.getContext(), options);
    unsigned most = options.mostVariants;
    if (options.mostVariantKernels) {
      size_t kernels = Trials(normalized, symbols.front(), *device, options).countKernels();
      most = std::min<unsigned>(most, options.mostVariantKernels / std::max<size_t>(kernels, 1));
    }
    if (most > 1) {
      choice.symbol = symbols.size() > 1 ? findSignificant(normalized, symbols, *device, options) : symbols.front();
      Trials trials(normalized, choice.symbol, *device, options);
      tg::SymbolRange range = tg::getSymbolRanges(normalized)[choice.symbol];
      choice.variants = chooseIntervals(
          range.low, range.high, trials.getLikely(), most,
          [&](int64_t planned, bool isStatic, int64_t at) { return trials.time(planned, isStatic, at); });
    }
  }
  // Where one plan serves all, it is the one that is made where nothing is known.
  if (choice.variants.size() == 1 && !tg::getSymbolRanges(normalized)[choice.symbol].likely)
    choice.variants.clear();
  remark::analysis(normalized.getLoc(), remark::RemarkOpts::name("variants").category("plan").function("main"))
      << remark::add("{0}", choice.variants.empty() ? "one plan" : choice.describe(normalized));
  return choice;
}

} // namespace weft
