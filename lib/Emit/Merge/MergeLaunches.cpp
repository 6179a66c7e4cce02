// The pass --weft-gpu-merge-launches: kernels that do not need each other, and chains of kernels, start as one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A merged kernel has the CTAs of its parts one part after the other, and each CTA runs the part that its number lies
// in; a part never sees that there are others. Threads that a part has not leave at once, and its barriers count its
// own threads. Parts of one level of the program (the longest chain of kernels in front of them) do not need each
// other. Behind them may come parts that read their results, and wait for them (Flags.h). No other kernel must have to
// run between the parts.
#include "ChainModel.h"
#include "Launches.h"
#include "Merger.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Emit/ChainOrder.h"
#include "weft/Emit/Passes.h"
#include "weft/Emit/Ptx.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

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
    // Levels know operands only, and a launch may not reach across an op that binds symbols or runs a body.
    if (llvm::any_of(main.getBody().front(), llvm::IsaPred<tg::BindSymbolsOp, tg::LoopOp, tg::IfOp>))
      return;
    auto chains = llvm::StringSwitch<std::optional<Chains>>(chainMode)
                      .Case("none", Chains::None)
                      .Case("model", Chains::Model)
                      .Case("all", Chains::All)
                      .Default(std::nullopt);
    if (!chains) {
      program.emitError() << "expected none, model or all as chains, got " << chainMode;
      return signalPassFailure();
    }
    numOrdered = 0;
    problem.clear();
    SymbolTable symbols(program);
    llvm::StringMap<StringAttr> known;
    for (Launch &launch : chooseLaunches(main, symbols, deviceName, *chains))
      if (launch.parts.size() > 1)
        merge(launch, symbols, known);
    if (chainHeight > 0 && numOrdered == 0) {
      program.emitError() << "traversal chain<" << int64_t(chainHeight)
                          << ">: no launch holds a chain of two kernels that go by rows"
                          << (problem.empty() ? "" : ": " + problem);
      return signalPassFailure();
    }
    sortTopologically(&main.getBody().front());
    eraseUnused(program, main);
  }

  /// The merged kernel; launches of the same parts, wired in the same way, share one.
  StringAttr getKernel(const Launch &launch, ArrayRef<Wire> wires, SymbolTable &symbols,
                       llvm::StringMap<StringAttr> &known) {
    std::string key;
    for (const Part &part : launch.parts)
      key += (part.getName() + "+").str();
    for (const Wire &wire : wires)
      key += llvm::formatv(" {0}.{1}={2}.{3}", wire.reader, wire.input, wire.writer, wire.result);
    StringAttr &name = known[key];
    if (!name) {
      std::string merged = (wires.empty() ? "launch_" : "chain_") + launch.parts.front().getName().str();
      int64_t height = wires.empty() ? 0 : chainHeight > 0 ? int64_t(chainHeight) : chooseHeight(launch, wires, merged);
      std::optional<Interleaving> turns;
      if (height > 0)
        turns = findInterleaving(launch.parts, wires, height, problem);
      OwningOpRef<ModuleOp> module = mergeParts(launch.parts, wires, turns);
      numOrdered += turns.has_value();
      if (turns)
        module.get()->setAttr(traversalAttr, StringAttr::get(&getContext(), "chain<" + std::to_string(height) + ">"));
      module->setSymName(merged);
      name = symbols.insert(module.release());
    }
    return name;
  }

  /// By the simulation; a remark has its numbers.
  static int64_t chooseHeight(const Launch &launch, ArrayRef<Wire> wires, const std::string &kernel) {
    Turns turns = chooseTurns(launch.parts, wires, *launch.device);
    auto options = remark::RemarkOpts::name("chain-order").category("plan").function(kernel);
    Location loc = launch.dispatches.front()->getLoc();
    if (turns.numbers.empty())
      remark::missed(loc, options) << remark::add("one after the other: {0}", turns.reason);
    else
      remark::passed(loc, options) << remark::add("order {0}: {1}",
                                                  turns.height ? "chain<" + std::to_string(turns.height) + ">"
                                                               : std::string("of one after the other"),
                                                  turns.numbers);
    return turns.height;
  }

  static bool isWired(ArrayRef<Wire> wires, size_t reader, size_t input) {
    return llvm::any_of(wires, [&](const Wire &wire) { return wire.reader == reader && wire.input == input; });
  }

  void merge(Launch &launch, SymbolTable &symbols, llvm::StringMap<StringAttr> &known) {
    SmallVector<Wire> wires = findWires(launch);
    StringAttr name = getKernel(launch, wires, symbols, known);
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
  }

  /// Views that nobody reads any more, and modules that are parts now and nothing else.
  static void eraseUnused(ModuleOp program, func::FuncOp main) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
      if (isa<tg::ReshapeOp>(op) && op.use_empty())
        op.erase();
    llvm::DenseSet<StringAttr> used;
    for (auto dispatch : main.getOps<tg::DispatchOp>())
      used.insert(dispatch.getCallee().getRootReference());
    for (ModuleOp module : llvm::make_early_inc_range(program.getOps<ModuleOp>()))
      if (getKernelFunction(module) && !used.contains(module.getSymNameAttr()))
        module.erase();
  }

  unsigned numOrdered = 0; ///< Kernels whose parts take turns.
  std::string problem;     ///< Why the last chain's do not.
};

} // namespace
} // namespace weft::emit
