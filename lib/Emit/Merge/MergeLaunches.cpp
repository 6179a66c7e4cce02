// The pass --weft-gpu-merge-launches: kernels that do not need each other, and chains of kernels, start as one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A merged kernel has the CTAs of its parts one part after the other, and each CTA runs the part that its number lies
// in; a part never sees that there are others. Threads that a part has not leave at once, and its barriers count its
// own threads. Parts of one level of the program (the longest chain of kernels in front of them) do not need each
// other. Behind them may come parts that read their results, and wait for them (Flags.h). No other kernel must have to
// run between the parts.
#include "Merger.h"
#include "ReadLaunches.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "weft/Emit/ChainOrder.h"
#include "weft/Emit/Passes.h"
#include "weft/Emit/Ptx.h"
#include "weft/Target/Launches.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace weft::emit {

#define GEN_PASS_DEF_GPUMERGELAUNCHES
#include "weft/Emit/Passes.h.inc"

namespace {

struct GpuMergeLaunches : impl::GpuMergeLaunchesBase<GpuMergeLaunches> {
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

  /// The merged kernel; launches of the same parts, wired and ordered in the same way, share one.
  static StringAttr getKernel(const Launch &launch, ArrayRef<Wire> wires, std::optional<Interleaving> turns,
                              SymbolTable &symbols, llvm::StringMap<StringAttr> &known) {
    auto order = tg::DispatchOp(launch.dispatches.front())->getAttrOfType<StringAttr>(gpu::sharedLaunchOrderAttr);
    StringAttr &name = known[nameLaunch(launch, wires) + (order ? order.getValue().str() : "")];
    if (!name) {
      OwningOpRef<ModuleOp> module = mergeParts(launch.parts, wires, turns);
      if (turns)
        module.get()->setAttr(traversalAttr, order);
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
    SmallVector<Location> locations;
    for (auto [number, dispatch] : llvm::enumerate(launch.dispatches)) {
      for (auto [i, operand] : llvm::enumerate(dispatch.getOperands_()))
        if (!isWired(wires, number, i))
          operands.push_back(operand);
      llvm::append_range(types, dispatch.getResultTypes());
      locations.push_back(dispatch.getLoc());
      if (auto names = dispatch->getAttrOfType<ArrayAttr>("tg.nodes"))
        llvm::append_range(nodes, names);
    }
    OpBuilder builder(launch.dispatches.back());
    auto callee = SymbolRefAttr::get(name, FlatSymbolRefAttr::get(builder.getContext(), "kernel"));
    auto merged = tg::DispatchOp::create(builder, builder.getFusedLoc(locations), types, callee, operands,
                                         AffineMap::get(0, 0, ArrayRef<AffineExpr>(), builder.getContext()));
    if (!nodes.empty())
      merged->setAttr("tg.nodes", builder.getArrayAttr(nodes));
    remark::passed(merged.getLoc(), remark::RemarkOpts::name("merged").category("fusion").function("main"))
        << remark::add(wires.empty() ? "{0} kernels that do not need each other start as one"
                                     : "{0} kernels start as one, and wait for each other in it",
                       std::to_string(launch.dispatches.size()))
        << remark::metric("kernel", name.getValue());
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
      if (getKernelFunction(module) && !used.contains(module.getSymNameAttr()))
        module.erase();
  }
};

} // namespace
} // namespace weft::emit
