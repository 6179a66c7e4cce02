// weft-outline-kernels: each tg.kernel into a module of its own, structurally equal ones once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels are equal when their outlined modules print equally without locations: captures are numbered by first
// use, symbols are renumbered by first use, and weights are arguments, so the layers of a transformer share their
// kernels.
#include "InPlace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::plan {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

static constexpr int64_t clonedConstantBytes = 64;

/// Whether a captured constant is cloned into the kernel instead of passed.
static bool isCloned(Value value) {
  auto constant = value.getDefiningOp<tg::ConstantOp>();
  if (!constant)
    return false;
  std::optional<int64_t> bytes = tg::getByteSize(constant.getType());
  return constant.getValue().isSplat() || (bytes && *bytes <= clonedConstantBytes);
}

/// Values that `kernel` uses from outside, by first use.
static llvm::SetVector<Value> capturesOf(tg::KernelOp kernel) {
  llvm::SetVector<Value> captures;
  kernel.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!kernel.getBody().isAncestor(operand.getParentRegion()))
        captures.insert(operand);
  });
  return captures;
}

namespace {

/// Renumbers symbols of types and maps to a kernel's own, in order of first appearance.
class SymbolRenumbering {
public:
  explicit SymbolRenumbering(MLIRContext *context) : context(context) {
    replacer.addReplacement(
        [this](tg::DimsAttr dims) -> Attribute { return tg::DimsAttr::get(this->context, apply(dims.getMap())); });
    // A static tensor type has no encoding, so types need no rebuilding beyond their encodings.
  }

  AffineMap apply(AffineMap map) {
    SmallVector<AffineExpr> replacements;
    for (unsigned s = 0; s < map.getNumSymbols(); ++s) {
      bool used = llvm::any_of(map.getResults(), [&](AffineExpr e) { return e.isFunctionOfSymbol(s); });
      replacements.push_back(getAffineSymbolExpr(used ? number(s) : 0, context));
    }
    SmallVector<AffineExpr> results;
    unsigned count = 0;
    for (AffineExpr expr : map.getResults()) {
      results.push_back(expr.replaceSymbols(replacements));
      results.back().walk([&](AffineExpr e) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
          count = std::max(count, symbol.getPosition() + 1);
      });
    }
    return AffineMap::get(0, count, results, context);
  }

  Type apply(Type type) { return replacer.replace(type); }

  /// Rewrites types and symbol maps of `op` and of the ops in it.
  void apply(Operation *op) {
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      inner->removeAttr(tg::behindAttr); // Of the program.
      for (Value result : inner->getResults())
        result.setType(apply(result.getType()));
      for (Region &region : inner->getRegions())
        for (Value argument : region.getArguments())
          argument.setType(apply(argument.getType()));
      if (auto extents = dyn_cast<tg::ExtentsOp>(inner))
        extents.setMap(apply(extents.getMap()));
      if (auto fold = dyn_cast<tg::FoldOp>(inner))
        fold.setExtent(apply(fold.getExtent()));
    });
  }

  /// The module's symbols in the order of the kernel's.
  ArrayRef<unsigned> getOrder() const { return order; }

private:
  unsigned number(unsigned symbol) {
    auto [it, inserted] = numbers.try_emplace(symbol, order.size());
    if (inserted)
      order.push_back(symbol);
    return it->second;
  }

  MLIRContext *context;
  AttrTypeReplacer replacer;
  llvm::DenseMap<unsigned, unsigned> numbers;
  SmallVector<unsigned> order;
};

/// A kernel as a module, with what its call site needs.
struct Outlined {
  OwningOpRef<ModuleOp> module;
  SmallVector<Value> arguments;
  AffineMap symbols;
};

} // namespace

ArrayAttr weft::plan::getDimsAttr(Builder &builder, TypeRange types) {
  SmallVector<AffineMap> maps;
  for (Type type : types) {
    tg::Dims dims = tg::getDims(type);
    unsigned symbols = 0;
    for (AffineExpr dim : dims)
      dim.walk([&](AffineExpr e) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
          symbols = std::max(symbols, symbol.getPosition() + 1);
      });
    maps.push_back(AffineMap::get(0, symbols, dims, builder.getContext()));
  }
  return builder.getAffineMapArrayAttr(maps);
}

/// The attribute tg.into of a kernel whose operand `indices` has the indices.
static DictionaryAttr describeWrite(const Write &write, unsigned indices, SymbolRenumbering &renumber) {
  tg::ScatterOp scatter = write.scatter;
  Builder b(scatter.getContext());
  auto type = [&](Value value) -> Attribute { return TypeAttr::get(renumber.apply(value.getType())); };
  return b.getDictionaryAttr(
      {b.getNamedAttr("result", b.getI64IntegerAttr(write.number)), b.getNamedAttr("type", type(scatter.getData())),
       b.getNamedAttr("updates", type(scatter.getUpdates())), b.getNamedAttr("data_map", scatter.getDataMapAttr()),
       b.getNamedAttr("index_maps", scatter.getIndexMapsAttr()),
       b.getNamedAttr("indices", b.getI64IntegerAttr(indices)), b.getNamedAttr("places", type(scatter.getIndices()))});
}

static Outlined outline(tg::KernelOp kernel, Write *write) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  Outlined result;
  SymbolRenumbering renumber(context);
  IRMapping mapping;
  SmallVector<Type> argumentTypes;
  llvm::SetVector<Value> captures = capturesOf(kernel);
  for (Value capture : captures) {
    if (isCloned(capture))
      continue;
    result.arguments.push_back(capture);
    argumentTypes.push_back(renumber.apply(capture.getType()));
  }
  if (write && !llvm::is_contained(result.arguments, write->scatter.getIndices())) {
    result.arguments.push_back(write->scatter.getIndices());
    argumentTypes.push_back(renumber.apply(write->scatter.getIndices().getType()));
  }
  size_t numTensors = argumentTypes.size();

  result.module = ModuleOp::create(loc);
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(result.module->getBody());
  auto func = func::FuncOp::create(builder, loc, "kernel", builder.getFunctionType(argumentTypes, {}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [i, argument] : llvm::enumerate(result.arguments))
    mapping.map(argument, body->getArgument(i));
  for (Value capture : captures)
    if (isCloned(capture))
      builder.clone(*capture.getDefiningOp(), mapping);
  auto yield = cast<tg::YieldOp>(kernel.getBody().front().getTerminator());
  for (Operation &op : kernel.getBody().front().without_terminator())
    renumber.apply(builder.clone(op, mapping));
  SmallVector<Value> results;
  for (Value value : yield.getValues())
    results.push_back(mapping.lookupOrDefault(value));
  func::ReturnOp::create(builder, loc, results);

  if (write) {
    auto *places = llvm::find(result.arguments, write->scatter.getIndices());
    result.module->getOperation()->setAttr(
        weft::gpu::intoAttr, describeWrite(*write, unsigned(places - result.arguments.begin()), renumber));
  }

  SmallVector<AffineExpr> symbolExprs;
  unsigned numModuleSymbols = 0;
  for (unsigned symbol : renumber.getOrder()) {
    symbolExprs.push_back(getAffineSymbolExpr(symbol, context));
    numModuleSymbols = std::max(numModuleSymbols, symbol + 1);
    body->addArgument(builder.getIndexType(), loc);
    argumentTypes.push_back(builder.getIndexType());
  }
  result.module->getOperation()->setAttr(operandDimsAttr,
                                         getDimsAttr(builder, ArrayRef(argumentTypes).take_front(numTensors)));
  result.module->getOperation()->setAttr(resultDimsAttr, getDimsAttr(builder, TypeRange(ValueRange(results))));
  result.symbols = AffineMap::get(0, numModuleSymbols, symbolExprs, context);
  auto likely = kernel->getParentOfType<ModuleOp>()->getAttrOfType<DenseI64ArrayAttr>(tg::likelyAttr);
  if (likely && !symbolExprs.empty()) {
    SmallVector<int64_t> values;
    for (unsigned symbol : renumber.getOrder())
      values.push_back(symbol < likely.size() ? likely[symbol] : 0);
    result.module->getOperation()->setAttr(tg::likelyAttr, builder.getDenseI64ArrayAttr(values));
  }
  func.setFunctionType(builder.getFunctionType(argumentTypes, ValueRange(results).getTypes()));
  func->setAttr("tg.num_symbols", builder.getI64IntegerAttr(argumentTypes.size() - numTensors));
  return result;
}

static std::string fingerprint(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}

/// Whether no dispatch makes a value, one without operands either: an input, a weight or a constant, or a view of one.
/// The arguments of a loop's body are none.
static bool isSteady(Value value) {
  while (auto view = value.getDefiningOp<tg::ReshapeOp>())
    value = view.getInput();
  Operation *op = value.getDefiningOp();
  if (op)
    return isa<tg::WeightOp, tg::ConstantOp>(op);
  return cast<FunctionOpInterface>(value.getParentBlock()->getParentOp()).getName() == "main";
}

/// Sets tg.steady_operands of every kernel module with such operands.
static void markSteadyOperands(ModuleOp program) {
  llvm::MapVector<StringAttr, llvm::SmallBitVector> steady;
  auto note = [&](tg::DispatchOp dispatch) {
    llvm::SmallBitVector here(dispatch.getOperands_().size());
    for (auto [i, input] : llvm::enumerate(dispatch.getOperands_()))
      here[i] = isSteady(input);
    auto [it, isNew] = steady.try_emplace(dispatch.getCallee().getRootReference(), here);
    if (!isNew)
      it->second &= here;
  };
  for (auto function : program.getOps<func::FuncOp>())
    llvm::for_each(function.getOps<tg::DispatchOp>(), note);
  SymbolTable symbols(program);
  for (auto &[name, operands] : steady)
    if (auto module = symbols.lookup<ModuleOp>(name); module && operands.any()) {
      SmallVector<int64_t> numbers(operands.set_bits_begin(), operands.set_bits_end());
      module->setAttr(weft::gpu::steadyOperandsAttr, DenseI64ArrayAttr::get(program.getContext(), numbers));
    }
}

namespace {
struct OutlineKernelsPass : weft::plan::impl::OutlineKernelsBase<OutlineKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.lookupSymbol<func::FuncOp>("main")) {
      module.emitError("expected a function @main");
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    llvm::StringMap<StringAttr> known;
    SmallVector<tg::KernelOp> kernels;
    llvm::MapVector<Operation *, Write> writes;
    for (auto function : module.getOps<func::FuncOp>()) {
      for (auto &[kernel, write] : findWrites(function))
        writes[kernel] = write;
      llvm::append_range(kernels, function.getOps<tg::KernelOp>());
    }
    for (tg::KernelOp kernel : kernels) {
      auto *write = writes.find(kernel);
      Outlined outlined = outline(kernel, write == writes.end() ? nullptr : &write->second);
      StringAttr &name = known[fingerprint(*outlined.module)];
      if (!name) {
        ModuleOp nested = outlined.module.release();
        nested.setSymName(kernel.getLabel().value_or("kernel"));
        name = symbols.insert(nested);
        ++numModules;
      }
      replaceByDispatch(kernel, outlined, name);
      ++numDispatches;
    }
    markSteadyOperands(module);
  }

  void replaceByDispatch(tg::KernelOp kernel, const Outlined &outlined, StringAttr module) {
    OpBuilder builder(kernel);
    auto callee = SymbolRefAttr::get(module, FlatSymbolRefAttr::get(builder.getContext(), "kernel"));
    auto dispatch = tg::DispatchOp::create(builder, kernel.getLoc(), kernel.getResultTypes(), callee,
                                           outlined.arguments, outlined.symbols);
    llvm::SetVector<StringAttr> names;
    auto addNames = [&](Operation *op) {
      tg::forEachNodeName(op->getLoc(), [&](StringAttr name) { names.insert(name); });
    };
    addNames(kernel);
    // What a fold took in lies in its regions.
    kernel.walk([&](tg::FoldOp fold) {
      fold.walk([&](Operation *op) {
        if (!isa<tg::ConstantOp>(op))
          addNames(op);
      });
    });
    if (!names.empty())
      dispatch->setAttr("tg.nodes", builder.getArrayAttr(SmallVector<Attribute>(names.begin(), names.end())));
    for (StringRef name : {StringRef(subgraphAttr), StringRef(shapesAttr)})
      if (Attribute value = kernel->getAttr(name))
        dispatch->setAttr(name, value);
    kernel->replaceAllUsesWith(dispatch.getResults());
    kernel.erase();
  }
};
} // namespace
