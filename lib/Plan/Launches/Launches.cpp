// Launches by levels, and chains of launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Launches.h"
#include "ChainModel.h"
#include "Obstacles.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Plan/LaunchLevels.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::plan {

using schedule::Part;

static Value getStorage(Value value) {
  while (auto reshape = value.getDefiningOp<tg::ReshapeOp>())
    value = reshape->getOperand(0);
  return value;
}

static void remarkNotMerged(tg::DispatchOp dispatch, const std::string &reason, const Part &part, const Part &beside) {
  remark::missed(dispatch.getLoc(), remark::RemarkOpts::name("not-merged").category("fusion").function("main"))
      << remark::add("launch of its own: {0}", reason) << remark::metric("kernel", part.getName())
      << remark::metric("beside", beside.getName());
}

//===--- Levels ---===//

/// What keeps `parts` from starting as one. With `all` that is what cannot be; else also what costs more than it saves,
/// and so kernels whose CTAs depend on symbols, for which nothing is known of that.
static std::string findReason(ArrayRef<Part> parts, const Device &device, Chains mode) {
  if (mode == Chains::All)
    return schedule::findLimit(parts, device);
  if (llvm::any_of(parts, [](const Part &part) { return part.grid == 0; }))
    return "a grid that depends on symbols";
  return findObstacle(parts, device);
}

static void place(tg::DispatchOp dispatch, SymbolTable &symbols, StringRef deviceName, Chains mode,
                  SmallVector<PlannedLaunch> &launches) {
  auto module = symbols.lookup<ModuleOp>(dispatch.getCallee().getRootReference());
  std::optional<Part> part = module ? schedule::readPart(dispatch, module) : std::nullopt;
  auto target = module ? module->getAttrOfType<StringAttr>(gpu::targetAttr) : StringAttr();
  const Device *device =
      findDevice(dispatch.getContext(), deviceName.empty() && target ? target.getValue() : deviceName);
  if (!part || !device) {
    launches.push_back({{{dispatch}, {}}, nullptr});
    return;
  }
  for (PlannedLaunch &launch : launches) {
    if (launch.parts.empty())
      continue;
    SmallVector<Part> together(launch.parts);
    together.push_back(*part);
    std::string obstacle = findReason(together, *device, mode);
    if (obstacle.empty()) {
      launch.dispatches.push_back(dispatch);
      launch.parts = std::move(together);
      return;
    }
    remarkNotMerged(dispatch, obstacle, *part, launch.parts.front());
  }
  launches.push_back({{{dispatch}, {*part}}, device});
}

/// Parts of matrix instructions come first: CTAs begin in the order of their numbers, and short ones of a map in front
/// of them hold the slots of SMs that the long ones wait for (a decoded layer of 16 rows, whose fold then started
/// behind the copies of its caches' rows: 3 us on an H100).
static void putMapsLast(PlannedLaunch &launch) {
  SmallVector<unsigned> order(llvm::to_vector(llvm::seq<unsigned>(0, launch.parts.size())));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) { return launch.parts[a].isMap < launch.parts[b].isMap; });
  PlannedLaunch sorted{{}, launch.device};
  for (unsigned i : order) {
    sorted.dispatches.push_back(launch.dispatches[i]);
    sorted.parts.push_back(launch.parts[i]);
  }
  launch = std::move(sorted);
}

static SmallVector<PlannedLaunch> chooseLevels(func::FuncOp main, SymbolTable &symbols, StringRef deviceName,
                                               Chains mode) {
  SmallVector<PlannedLaunch> all;
  for (ArrayRef<tg::DispatchOp> level : findLevels(main)) {
    SmallVector<PlannedLaunch> launches;
    for (tg::DispatchOp dispatch : level)
      place(dispatch, symbols, deviceName, mode, launches);
    for (PlannedLaunch &launch : launches)
      if (launch.parts.size() > 1)
        putMapsLast(launch);
    llvm::append_range(all, launches);
  }
  return all;
}

//===--- Chains ---===//

namespace {

/// Puts launches behind those that they read from, in the order of levels.
class Chainer {
public:
  Chainer(SmallVector<PlannedLaunch> &launches, Block &block, Chains mode)
      : launches(launches), collectives(tg::countCollectives(block)), mode(mode) {}

  void run() {
    for (auto [i, launch] : llvm::enumerate(launches))
      for (tg::DispatchOp dispatch : launch.dispatches)
        places[dispatch] = i;
    for (unsigned i = 0; i < launches.size(); ++i)
      if (!launches[i].parts.empty())
        tryToMove(i);
    llvm::erase_if(launches, [](const PlannedLaunch &launch) { return launch.dispatches.empty(); });
  }

private:
  /// Launches that write what `launch` reads.
  llvm::SetVector<unsigned> findSources(unsigned number) const {
    llvm::SetVector<unsigned> sources;
    for (tg::DispatchOp dispatch : launches[number].dispatches)
      for (Value operand : dispatch.getOperands_())
        for (Operation *op = operand.getDefiningOp(); op;) { // Views of other elements count here.
          if (auto found = places.find(op); found != places.end()) {
            if (found->second != number)
              sources.insert(found->second);
            break;
          }
          auto update = dyn_cast<tg::ScatterOp>(op); // In place: kernels have all others.
          Value from = update ? update.getUpdates() : op->getNumOperands() ? op->getOperand(0) : Value();
          op = from ? from.getDefiningOp() : nullptr;
        }
    return sources;
  }

  /// Whether a third launch reads `from` and has to be done before `to`.
  bool isBetween(unsigned from, unsigned to) const {
    llvm::SetVector<unsigned> before;
    for (unsigned source : findSources(to))
      if (source != from)
        before.insert(source);
    for (unsigned i = 0; i < before.size(); ++i)
      for (unsigned source : findSources(before[i])) {
        if (source == from)
          return true;
        before.insert(source);
      }
    return false;
  }

  /// Behind the launch that comes last of those that it reads.
  void tryToMove(unsigned number) {
    PlannedLaunch &launch = launches[number];
    SmallVector<unsigned> sources(findSources(number).getArrayRef());
    llvm::sort(sources, std::greater<unsigned>());
    for (unsigned source : sources) {
      PlannedLaunch &front = launches[source];
      if (front.parts.empty() || isBetween(source, number) || readsOtherElements(launch) ||
          collectives.lookup(front.dispatches.front()) != collectives.lookup(launch.dispatches.front()))
        continue;
      SmallVector<Part> together(front.parts);
      llvm::append_range(together, launch.parts);
      std::string obstacle = findReason(together, *front.device, mode);
      if (obstacle.empty() && mode == Chains::Model)
        obstacle = findLoss(*front.device);
      if (!obstacle.empty()) {
        remarkNotMerged(launch.dispatches.front(), obstacle, launch.parts.front(), front.parts.front());
        continue;
      }
      for (tg::DispatchOp dispatch : launch.dispatches)
        places[dispatch] = source;
      llvm::append_range(front.dispatches, launch.dispatches);
      front.parts = std::move(together);
      launch.dispatches.clear();
      launch.parts.clear();
      return;
    }
  }

  /// A tensor that its writer made with elements of another type, or of which it made a part.
  static bool readsOtherElements(const PlannedLaunch &launch) {
    return llvm::any_of(launch.dispatches, [](tg::DispatchOp dispatch) {
      return llvm::any_of(dispatch.getOperands_(), [](Value operand) {
        return isa_and_nonnull<tg::BitcastOp, tg::ScatterOp>(getStorage(operand).getDefiningOp());
      });
    });
  }

  SmallVector<PlannedLaunch> &launches;
  llvm::DenseMap<Operation *, unsigned> collectives; ///< In front of each dispatch.
  Chains mode;
  llvm::DenseMap<Operation *, unsigned> places; ///< The launch of each dispatch.
};

} // namespace

SmallVector<PlannedLaunch> chooseLaunches(func::FuncOp main, SymbolTable &symbols, StringRef deviceName,
                                          Chains chains) {
  SmallVector<PlannedLaunch> launches = chooseLevels(main, symbols, deviceName, chains);
  if (chains != Chains::None)
    Chainer(launches, main.getBody().front(), chains).run();
  return launches;
}

} // namespace weft::plan
