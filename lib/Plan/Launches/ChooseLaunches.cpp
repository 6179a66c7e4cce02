// The pass --weft-choose-launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChainModel.h"
#include "Launches.h"
#include "mlir/IR/Remarks.h"
#include "weft/Plan/Launches/Passes.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/Launches.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft::plan {

#define GEN_PASS_DEF_CHOOSELAUNCHES
#include "weft/Plan/Launches/Passes.h.inc"

namespace {

struct ChooseLaunchesPass : impl::ChooseLaunchesBase<ChooseLaunchesPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp program = getOperation();
    auto chains = llvm::StringSwitch<std::optional<Chains>>(chainMode)
                      .Case("none", Chains::None)
                      .Case("model", Chains::Model)
                      .Case("all", Chains::All)
                      .Default(std::nullopt);
    if (!chains) {
      program.emitError() << "expected none, model or all as chains, got " << chainMode;
      return signalPassFailure();
    }
    auto main = program.lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !schedule::canShareLaunches(main))
      return;
    if (llvm::any_of(main.getOps<tg::DispatchOp>(),
                     [](tg::DispatchOp dispatch) { return dispatch->hasAttr(gpu::sharedLaunchAttr); }))
      return; // They are given.
    orders.clear();
    problem.clear();
    SymbolTable symbols(program);
    int64_t number = 0;
    for (PlannedLaunch &launch : chooseLaunches(main, symbols, deviceName, *chains))
      if (launch.parts.size() > 1)
        write(launch, number++);
    bool isOrdered = llvm::any_of(orders, [](const auto &each) { return each.second > 0; });
    if (chainHeight > 0 && !isOrdered) {
      program.emitError() << "traversal chain<" << int64_t(chainHeight)
                          << ">: no launch holds a chain of two kernels that go by rows"
                          << (problem.empty() ? "" : ": " + problem);
      return signalPassFailure();
    }
  }

private:
  void write(PlannedLaunch &launch, int64_t number) {
    Builder builder(&getContext());
    for (auto [place, dispatch] : llvm::enumerate(launch.dispatches))
      dispatch->setAttr(gpu::sharedLaunchAttr, builder.getDenseI64ArrayAttr({number, int64_t(place)}));
    SmallVector<schedule::Wire> wires = schedule::findWires(launch);
    if (int64_t height = findHeight(launch, wires))
      launch.dispatches.front()->setAttr(gpu::sharedLaunchOrderAttr,
                                         builder.getStringAttr("chain<" + std::to_string(height) + ">"));
    SmallVector<Location> locations =
        llvm::map_to_vector(launch.dispatches, [](tg::DispatchOp dispatch) { return dispatch.getLoc(); });
    remark::passed(builder.getFusedLoc(locations),
                   remark::RemarkOpts::name("merged").category("fusion").function("main"))
        << remark::add(wires.empty() ? "{0} kernels that do not need each other start as one"
                                     : "{0} kernels start as one, and wait for each other in it",
                       std::to_string(launch.dispatches.size()))
        << remark::metric("kernel", (wires.empty() ? "launch_" : "chain_") + launch.parts.front().getName().str());
  }

  /// How the parts take turns; 0: they do not. Launches that are the same kernel have one order.
  int64_t findHeight(PlannedLaunch &launch, ArrayRef<schedule::Wire> wires) {
    if (wires.empty())
      return 0;
    auto [known, isNew] = orders.try_emplace(schedule::nameLaunch(launch, wires), 0);
    if (!isNew)
      return known->second;
    int64_t height = chainHeight > 0 ? int64_t(chainHeight) : choose(launch, wires);
    if (height > 0 && schedule::findInterleaving(launch.parts, wires, height, problem))
      known->second = height;
    return known->second;
  }

  /// By the simulation; a remark has its numbers.
  static int64_t choose(PlannedLaunch &launch, ArrayRef<schedule::Wire> wires) {
    Turns turns = chooseTurns(launch.parts, wires, *launch.device);
    std::string kernel = "chain_" + launch.parts.front().getName().str();
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

  llvm::StringMap<int64_t> orders; ///< By the launch's name.
  std::string problem;             ///< Why the last chain's parts do not take turns.
};

} // namespace
} // namespace weft::plan
