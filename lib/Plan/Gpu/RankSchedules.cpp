// See the header. The planner's own choosers are asked for each product's tile, so that all that follows from a tile
// (order, clusters, persistence) is theirs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/RankSchedules.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Plan/GemmLaunch.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <vector>

using namespace mlir;

namespace weft::plan {

static constexpr size_t mostOfTile = 3; ///< Schedules with one tile of the result.

/// The best stages of each tile shape of a product, by cost.
static SmallVector<GemmChoice> rankTiles(const GemmProblem &problem, const Device &device) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, tg::Engine, int64_t, int64_t>;
  std::map<Key, GemmChoice> best;
  forEachTile(problem, device, [&](const GemmTile &tile) {
    GemmCost cost = estimateGemm(problem, tile, device);
    if (!cost.fits)
      return;
    GemmChoice &known = best[{tile.m, tile.n, tile.k, tile.warps, tile.engine, tile.split, tile.multicast}];
    if (!known.cost.fits || cost.seconds < known.cost.seconds)
      known = {tile, cost};
  });
  SmallVector<GemmChoice> choices;
  for (auto &[key, choice] : best)
    choices.push_back(choice);
  llvm::stable_sort(choices, [](const GemmChoice &a, const GemmChoice &b) { return a.cost.seconds < b.cost.seconds; });
  return choices;
}

/// A product's schedules: the planner's choice for each tile, as for one that its launch asks for.
static void rankProduct(ModuleOp module, const KernelToSchedule &kernel, const GemmProblem &problem,
                        const Device &device, size_t count, SmallVectorImpl<RankedSchedule> &ranked) {
  std::map<std::pair<int64_t, int64_t>, size_t> ofTile;
  for (const GemmChoice &choice : rankTiles(problem, device)) {
    const GemmTile &tile = choice.tile;
    if (ranked.size() >= count)
      break;
    if (ofTile[{tile.m, tile.n}]++ >= mostOfTile)
      continue;
    module->setAttr(launchTileAttr,
                    tg::ScheduleAttr::get(module.getContext(), {tile.m, tile.n}, {tile.k}, tile.engine, tile.warps,
                                          tile.stages, "row", false, tile.split, tile.multicast, false));
    tg::ScheduleAttr schedule = chooseSchedule(kernel, device).getAttr(module.getContext());
    if (!llvm::is_contained(llvm::map_range(ranked, [](const RankedSchedule &each) { return each.schedule; }),
                            schedule))
      ranked.push_back({schedule, choice.cost.seconds});
  }
  module->removeAttr(launchTileAttr);
}

/// What one step leads to from `from`.
static std::vector<ScheduleChoice> listNeighbours(const KernelToSchedule &kernel, const ScheduleChoice &from) {
  constexpr int64_t mostWarps = 16, mostStages = 6;
  std::vector<ScheduleChoice> found;
  auto add = [&](llvm::function_ref<void(ScheduleChoice &)> change) {
    ScheduleChoice next = from;
    change(next);
    found.push_back(next);
  };
  for (size_t d = 0; d < from.tile.size(); ++d) {
    if (from.tile[d] < kernel.extents[d])
      add([&](ScheduleChoice &next) { next.tile[d] *= 2; });
    if (from.tile[d] % 2 == 0)
      add([&](ScheduleChoice &next) { next.tile[d] /= 2; });
  }
  for (size_t d = 0; d < from.stream.size(); ++d) {
    if (from.tile.size() + d < kernel.extents.size() && from.stream[d] < kernel.extents[from.tile.size() + d])
      add([&](ScheduleChoice &next) { next.stream[d] *= 2; });
    if (from.stream[d] % 2 == 0)
      add([&](ScheduleChoice &next) { next.stream[d] /= 2; });
  }
  if (from.warps < mostWarps)
    add([](ScheduleChoice &next) { next.warps *= 2; });
  if (from.warps % 2 == 0)
    add([](ScheduleChoice &next) { next.warps /= 2; });
  if (from.stages < mostStages)
    add([](ScheduleChoice &next) { ++next.stages; });
  if (from.stages > 1)
    add([](ScheduleChoice &next) { --next.stages; });
  if (from.engine == tg::Engine::Wgmma)
    add([](ScheduleChoice &next) { next.persistent = !next.persistent; });
  return found;
}

/// Elements of a warp's part of a tile, and of a step.
static std::pair<double, double> countHeld(const ScheduleChoice &choice) {
  double tile = 1, step = 1;
  for (int64_t extent : choice.tile)
    tile *= double(extent);
  for (int64_t extent : choice.stream)
    step *= double(extent);
  return {tile / double(choice.warps), step};
}

/// More than the planner gives a thread spills, and takes ptxas minutes: maps are code for each element. The part of a
/// warp that multiplies has the shape of its instruction.
static bool holdsLikeThat(const ScheduleChoice &next, const ScheduleChoice &planned) {
  auto [tile, step] = countHeld(next);
  auto [plannedTile, plannedStep] = countHeld(planned);
  return planned.engine == tg::Engine::Simt ? tile * step <= 2 * plannedTile * plannedStep
                                            : tile == plannedTile && step <= plannedStep;
}

/// All else: what at most `steps` steps lead to, with the order that the planner would give it.
static void rankNeighbours(const KernelToSchedule &kernel, tg::ScheduleAttr planned, const Device &device, size_t count,
                           SmallVectorImpl<RankedSchedule> &ranked) {
  constexpr int steps = 2;
  std::vector<ScheduleChoice> last{readSchedule(planned)};
  llvm::SetVector<Attribute> seen;
  seen.insert(planned);
  SmallVector<RankedSchedule> found;
  MLIRContext *context = planned.getContext();
  for (int step = 0; step < steps; ++step) {
    std::vector<ScheduleChoice> reached;
    for (const ScheduleChoice &from : last)
      for (ScheduleChoice &next : listNeighbours(kernel, from)) {
        if (ArrayRef(next.tile) != planned.getTile())
          next.order = "row"; // Of another grid.
        tg::ScheduleAttr schedule = next.getAttr(context);
        if (!seen.insert(schedule) || !holdsLikeThat(next, readSchedule(planned)))
          continue;
        reached.push_back(next);
        if (std::optional<double> seconds = estimateKernel(kernel, schedule, device))
          found.push_back({schedule, *seconds});
      }
    last = std::move(reached);
  }
  llvm::stable_sort(found, [](const RankedSchedule &a, const RankedSchedule &b) { return a.seconds < b.seconds; });
  std::map<SmallVector<int64_t>, size_t> ofTile;
  for (const RankedSchedule &each : found) {
    if (ranked.size() >= count)
      return;
    if (ofTile[SmallVector<int64_t>(each.schedule.getTile())]++ < mostOfTile)
      ranked.push_back(each);
  }
}

SmallVector<RankedSchedule> rankSchedules(ModuleOp module, const Device &device, bool allowTf32, size_t count) {
  SmallVector<RankedSchedule> ranked;
  auto planned = module->getAttrOfType<tg::ScheduleAttr>(scheduleAttr);
  auto func = module.lookupSymbol<func::FuncOp>("kernel");
  if (!planned || !func || func.isExternal() || func.getNumResults() == 0 || count == 0)
    return ranked;
  OwningOpRef<ModuleOp> own = module.clone();
  tg::LikelyExtents likely(*own);
  KernelToSchedule kernel(own->lookupSymbol<func::FuncOp>("kernel"));
  kernel.allowTf32 = allowTf32;
  ranked.push_back({planned, estimateKernel(kernel, planned, device).value_or(0)});
  if (std::optional<TiledProduct> product = describeTiledProduct(kernel))
    rankProduct(*own, kernel, product->problem, device, count, ranked);
  else
    rankNeighbours(kernel, planned, device, count, ranked);
  return ranked;
}

} // namespace weft::plan
