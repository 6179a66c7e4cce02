// The pass --weft-tk-make-launches: kernels that do not need each other, and chains of kernels, become one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LaunchBuilder.h"
#include "ReadLaunches.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "weft/Schedule/Passes.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/Launches.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace weft::schedule {

#define GEN_PASS_DEF_TKMAKELAUNCHES
#include "weft/Schedule/Passes.h.inc"

namespace {

struct TkMakeLaunches : impl::TkMakeLaunchesBase<TkMakeLaunches> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp program = getOperation();
    auto main = program.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return;
    SymbolTable symbols(program);
    FailureOr<SmallVector<Launch>> launches = readLaunches(main, symbols);
    if (failed(launches))
      return signalPassFailure();
    llvm::StringMap<StringAttr> known;
    for (Launch &launch : *launches)
      if (failed(merge(launch, symbols, known)))
        return signalPassFailure();
    if (!sortTopologically(&main.getBody().front())) {
      main.emitError(
          "expected launches (tg.launch) that can start one after the other, got some that wait for each other "
          "or for a kernel between their own");
      return signalPassFailure();
    }
    eraseUnused(program, main);
  }

  static StringRef getTarget(ModuleOp module) { return module->getAttrOfType<StringAttr>(gpu::targetAttr).getValue(); }

  /// The merged kernel; launches of the same parts, wired and ordered in the same way, share one.
  static StringAttr getKernel(const Launch &launch, ArrayRef<Wire> wires, std::optional<Interleaving> turns,
                              SymbolTable &symbols, llvm::StringMap<StringAttr> &known) {
    auto order = tg::DispatchOp(launch.dispatches.front())->getAttrOfType<StringAttr>(gpu::sharedLaunchOrderAttr);
    StringAttr &name = known[nameLaunch(launch, wires) + (order ? order.getValue().str() : "")];
    if (!name) {
      OwningOpRef<ModuleOp> module =
          buildLaunch(launch.parts, wires, turns, *findDevice(getTarget(launch.parts.front().module)));
      if (turns)
        module.get()->setAttr(gpu::traversalAttr, order);
      module->setSymName((wires.empty() ? "launch_" : "chain_") + launch.parts.front().getName().str());
      name = symbols.insert(module.release());
    }
    return name;
  }

  static bool isWired(ArrayRef<Wire> wires, size_t reader, size_t input) {
    return llvm::any_of(wires, [&](const Wire &wire) { return wire.reader == reader && wire.input == input; });
  }

  LogicalResult merge(Launch &launch, SymbolTable &symbols, llvm::StringMap<StringAttr> &known) {
    SmallVector<Wire> wires = findWires(launch);
    FailureOr<std::optional<Interleaving>> turns = readOrder(launch, wires);
    if (failed(turns))
      return failure();
    StringAttr name = getKernel(launch, wires, *turns, symbols, known);
    SmallVector<Value> operands;
    SmallVector<Type> types;
    SmallVector<Attribute> nodes;
    SmallVector<AffineExpr> symbolValues;
    unsigned programSymbols = 0;
    SmallVector<Location> locations;
    for (auto [number, dispatch] : llvm::enumerate(launch.dispatches)) {
      for (auto [i, operand] : llvm::enumerate(dispatch.getOperands_()))
        if (!isWired(wires, number, i))
          operands.push_back(operand);
      llvm::append_range(types, dispatch.getResultTypes());
      llvm::append_range(symbolValues, dispatch.getSymbols().getResults());
      programSymbols = std::max(programSymbols, dispatch.getSymbols().getNumSymbols());
      locations.push_back(dispatch.getLoc());
      if (auto names = dispatch->getAttrOfType<ArrayAttr>("tg.nodes"))
        llvm::append_range(nodes, names);
    }
    OpBuilder builder(launch.dispatches.back());
    auto callee = SymbolRefAttr::get(name, FlatSymbolRefAttr::get(builder.getContext(), "kernel"));
    auto merged = tg::DispatchOp::create(builder, builder.getFusedLoc(locations), types, callee, operands,
                                         AffineMap::get(0, programSymbols, symbolValues, builder.getContext()));
    if (!nodes.empty())
      merged->setAttr("tg.nodes", builder.getArrayAttr(nodes));
    size_t next = 0;
    for (tg::DispatchOp dispatch : launch.dispatches)
      for (Value result : dispatch->getResults())
        result.replaceAllUsesWith(merged->getResult(next++));
    for (tg::DispatchOp dispatch : llvm::reverse(launch.dispatches))
      dispatch.erase();
    ++(wires.empty() ? numMerged : numChains);
    return success();
  }

  /// Views that nobody reads any more, and modules that are parts now and nothing else.
  static void eraseUnused(ModuleOp program, func::FuncOp main) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
      if (isa<tg::ReshapeOp>(op) && op.use_empty())
        op.erase();
    llvm::DenseSet<StringAttr> used;
    for (auto function : program.getOps<func::FuncOp>()) // Bodies of loops and branches too.
      for (auto dispatch : function.getOps<tg::DispatchOp>())
        used.insert(dispatch.getCallee().getRootReference());
    for (ModuleOp module : llvm::make_early_inc_range(program.getOps<ModuleOp>()))
      if (module.lookupSymbol<func::FuncOp>("kernel") && !used.contains(module.getSymNameAttr()))
        module.erase();
  }
};

} // namespace
} // namespace weft::schedule
