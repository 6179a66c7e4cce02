// Launches by the attributes of their dispatches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReadLaunches.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/Launches.h"
#include <map>

using namespace mlir;

namespace weft::schedule {

/// By launch, then by position.
using Places = std::map<int64_t, std::map<int64_t, tg::DispatchOp>>;

static FailureOr<Places> readPlaces(func::FuncOp main) {
  Places places;
  for (auto dispatch : main.getOps<tg::DispatchOp>()) {
    Attribute attribute = dispatch->getAttr(gpu::sharedLaunchAttr);
    if (!attribute)
      continue;
    auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
    if (!numbers || numbers.size() != 2)
      return dispatch.emitError("expected tg.launch = array<i64: launch, position>, got ") << attribute;
    if (!canShareLaunches(main))
      return dispatch.emitError("expected no tg.launch in a program with loops, branches or extents that are data");
    if (!places[numbers[0]].try_emplace(numbers[1], dispatch).second)
      return dispatch.emitError("expected one dispatch at position ") << numbers[1] << " of launch " << numbers[0];
  }
  return places;
}

static LogicalResult check(int64_t number, const Launch &launch) {
  tg::DispatchOp front = launch.dispatches.front();
  ModuleOp module = launch.parts.front().module;
  auto target = module->getAttrOfType<StringAttr>(gpu::targetAttr);
  const Device *device = target ? findDevice(target.getValue()) : nullptr;
  if (!device)
    return module.emitError("expected kernels of launch ") << number << " with a target (tk.target)";
  if (std::string limit = findLimit(launch.parts, *device); !limit.empty())
    return front.emitError("launch ") << number << ": " << limit << "; give it fewer dispatches";
  for (const Wire &wire : findWires(launch))
    if (wire.writer >= wire.reader)
      return front.emitError("launch ") << number << ": expected writers before readers, got a kernel at position "
                                        << wire.reader << " that reads what the one at position " << wire.writer
                                        << " writes";
  return success();
}

FailureOr<SmallVector<Launch>> readLaunches(func::FuncOp main, SymbolTable &symbols) {
  FailureOr<Places> places = readPlaces(main);
  if (failed(places))
    return failure();
  SmallVector<Launch> launches;
  llvm::DenseMap<Operation *, unsigned> collectives = tg::countCollectives(main.getBody().front());
  for (auto &[number, dispatches] : *places) {
    if (dispatches.size() < 2)
      continue;
    for (auto [place, dispatch] : dispatches)
      if (collectives.lookup(dispatch) != collectives.lookup(dispatches.begin()->second))
        return dispatch.emitError("launch ") << number
                                             << ": expected no collective between its kernels, got some; "
                                                "take the kernel out of the launch";
    Launch &launch = launches.emplace_back();
    for (auto [place, dispatch] : dispatches) {
      auto module = symbols.lookup<ModuleOp>(dispatch.getCallee().getRootReference());
      std::optional<Part> part = module ? readPart(dispatch, module) : std::nullopt;
      if (!part)
        return dispatch.emitError("launch ")
               << number << ": expected a kernel of tiles whose CTAs do not meet (in clusters, or in memory), got "
               << dispatch.getCallee() << "; take it out of the launch";
      launch.dispatches.push_back(dispatch);
      launch.parts.push_back(std::move(*part));
    }
    if (failed(check(number, launch)))
      return failure();
  }
  return launches;
}

FailureOr<std::optional<Interleaving>> readOrder(Launch &launch, ArrayRef<Wire> wires) {
  tg::DispatchOp front = launch.dispatches.front();
  Attribute attribute = front->getAttr(gpu::sharedLaunchOrderAttr);
  if (!attribute)
    return std::optional<Interleaving>();
  auto text = dyn_cast<StringAttr>(attribute);
  std::optional<int64_t> height = text ? gpu::parseChainOrder(text.getValue()) : std::nullopt;
  if (!height)
    return front.emitError("expected tg.launch_order = \"chain<g>\", got ") << attribute;
  std::string reason;
  std::optional<Interleaving> turns = findInterleaving(launch.parts, wires, *height, reason);
  if (!turns)
    return front.emitError("tg.launch_order = ") << attribute << ": " << reason;
  return turns;
}

} // namespace weft::schedule
