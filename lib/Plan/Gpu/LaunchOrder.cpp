// The order of any launch's tiles, by simulation; its description as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every split of the grid into rows and columns has candidates: columns first, strips of rows, within each outer grid
// or across all of them. All are simulated on a part of the steps, in a cache of that part of the size. Time is the
// larger of two: what the busiest SM computes, what DRAM moves. Rows stay unless another order gains more than the
// model errs (docs/traversal.md has measured what that is).
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/OrderModel.h"
#include "weft/Traversal/GridOrder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <queue>

using namespace mlir;
namespace json = llvm::json;

namespace weft::plan {
namespace {

struct Candidate {
  GridOrder order;
  double bytes = 0, seconds = 0; ///< Simulated.
  double hitRate = 0;
};

/// Whether tiles come row by row, in rounds of whatever direction.
bool isByRows(const Traversal &traversal) {
  return traversal.kind == Traversal::Kind::Zigzag ? isByRows(*traversal.inner)
                                                   : traversal.kind == Traversal::Kind::Row;
}

/// A launch to simulate in part.
class Sampler {
public:
  Sampler(const KernelToSchedule &kernel, const Device &device, const ScheduleChoice &choice)
      : kernel(kernel), device(device), choice(choice) {}

  /// False where there is nothing to choose: few tiles, or too many for the time.
  bool prepare();
  std::vector<GridOrder> listOrders() const;
  bool simulate(Candidate &candidate) const;
  int64_t getLookups() const { return lookups; } ///< Of one simulation.
  /// A part of the steps was simulated. CTAs of a wave are as many as before, so that what they ask for at once takes
  /// too much of the smaller cache: bytes are too many, and count only against an order that is not of rows.
  bool isCoarse() const { return depth > 1; }
  /// Whether no order can do better than one that moves `bytes`: tiles take equally many steps, nothing moves twice.
  bool isBest(double bytes) const {
    return !launches[0].launch.stages[0].causalRows && bytes <= 1.05 * launches[0].bytes;
  }

private:
  int64_t countLookups(const LaunchModel &launch) const;

  const KernelToSchedule &kernel;
  const Device &device;
  const ScheduleChoice &choice;
  std::vector<KernelLaunch> launches; ///< By colDims - 1.
  int64_t depth = 1, lookups = 0;
  double secondsOfStep = 0;
};

} // namespace

/// One in `depth` parts of every tile's steps, and of what it reads or writes once.
static LaunchModel sampleSteps(const LaunchModel &whole, int64_t depth) {
  LaunchModel launch = whole;
  StageModel &stage = launch.stages[0];
  stage.steps = std::max<int64_t>(stage.steps / depth, 1);
  stage.causalCols *= depth;
  for (AccessModel &access : stage.accesses)
    if (access.when != AccessModel::When::EachStep) {
      int64_t part = std::min(depth, access.outers);
      access.outers /= part;
      access.bytes = std::max<int64_t>(access.bytes * part / depth, 1);
    }
  return launch;
}

/// Steps until the last position is done, if a step takes everywhere the same time.
static int64_t countSteps(const StageModel &stage, const TileOrder &order, int64_t places) {
  std::priority_queue<std::pair<int64_t, int64_t>, std::vector<std::pair<int64_t, int64_t>>, std::greater<>> free;
  std::vector<int64_t> taken(places, 0);
  int64_t last = 0;
  for (int64_t i = 0; i < order.size(); ++i) {
    const Tile &tile = order[i];
    int64_t steps = stage.getSteps(tile.row, tile.col), end;
    if (stage.isStatic || i < places) {
      end = taken[i % places] += steps;
    } else {
      end = free.top().first + steps;
      free.pop();
    }
    if (!stage.isStatic)
      free.push({end, i});
    last = std::max(last, end);
  }
  return last;
}

/// Rows of a box, and bytes of a row: sectors, each a line of its own. What of a box is in the cache is there as a
/// whole.
static constexpr int64_t mostRows = 1024, sectorBytes = 32;

/// One of so many rows is simulated: of what is read in each step every box has one. What tiles touch once may have one
/// in some tiles only.
static int64_t chooseSampling(const LaunchModel &launch) {
  int64_t sampling = mostRows, most = 1;
  for (const AccessModel &access : launch.stages[0].accesses)
    most = std::max(most, std::min(access.outers, launch.arrays[access.array].outers));
  for (const AccessModel &access : launch.stages[0].accesses)
    if (access.when == AccessModel::When::EachStep)
      sampling = std::min(sampling, std::min(access.outers, launch.arrays[access.array].outers));
  return int64_t(llvm::bit_floor(uint64_t(std::min(sampling, most))));
}

int64_t Sampler::countLookups(const LaunchModel &launch) const {
  const StageModel &stage = launch.stages[0];
  int64_t sampling = chooseSampling(launch), count = 0;
  for (const AccessModel &access : stage.accesses)
    count += (access.when == AccessModel::When::EachStep ? stage.steps : 1) *
             std::max<int64_t>(access.outers / sampling, 1) * ((access.bytes + sectorBytes - 1) / sectorBytes);
  return count * stage.grid.rows * stage.grid.cols;
}

bool Sampler::prepare() {
  constexpr int64_t mostTiles = 1 << 14, mostLookups = mostOrderLookups / 4;
  LaunchRequest request{1, /*mergesTaps=*/true, mostRows, sectorBytes, /*isLikely=*/true};
  std::optional<KernelLaunch> first = describeLaunch(kernel, choice, request);
  if (!first)
    return false;
  int64_t tiles = first->launch.stages[0].grid.rows * first->launch.stages[0].grid.cols;
  size_t several = llvm::count_if(first->counts, [](int64_t count) { return count > 1; });
  if (several < 2 || tiles > mostTiles || tiles <= choice.ctasPerSm * int64_t(device.sms))
    return false;
  const StageModel &stage = first->launch.stages[0];
  while ((lookups = countLookups(sampleSteps(first->launch, depth))) > mostLookups && stage.steps / depth > 2)
    depth *= 2;
  if (lookups > 2 * mostLookups)
    return false;
  const MatrixRates &rates = choice.engine == tg::Engine::Wgmma ? device.matrix : device.mmaSync;
  double peak = device.perSecond(choice.engine == tg::Engine::Simt ? device.f32PerClock : rates.f16);
  // A step's share of an SM that holds several CTAs takes that many times as long.
  secondsOfStep =
      stage.operations / (double(tiles) * double(stage.steps)) / (peak / double(device.sms)) * double(choice.ctasPerSm);
  if (choice.stepSeconds > 0)
    secondsOfStep = choice.stepSeconds;
  launches.push_back(std::move(*first));
  for (size_t colDims = 2; colDims < several; ++colDims) {
    request.colDims = int64_t(colDims);
    if (std::optional<KernelLaunch> next = describeLaunch(kernel, choice, request))
      launches.push_back(std::move(*next));
  }
  return true;
}

/// Rows first, then from short index arithmetic to long, as many as the time allows.
std::vector<GridOrder> Sampler::listOrders() const {
  constexpr int64_t mostInAll = mostOrderLookups / 2;
  std::vector<GridOrder> orders(1);
  auto add = [&](Traversal traversal, const KernelLaunch &launch, int64_t runs) {
    GridOrder order;
    order.colDims = launch.colDims;
    order.traversal = std::move(traversal);
    if (runs > 1) {
      Traversal each;
      each.kind = Traversal::Kind::Each;
      each.width = runs;
      each.inner = std::make_shared<Traversal>(order.traversal);
      order.traversal = each;
    }
    IndexProgram program;
    std::string error;
    if (buildGridOrder(order, launch.countsOfLaunch, program, error))
      orders.push_back(order);
  };
  for (const KernelLaunch &launch : launches) {
    TileGrid grid = launch.launch.stages[0].grid;
    if (grid.rows < 2 || grid.cols < 2)
      continue;
    Traversal column;
    column.kind = Traversal::Kind::Column;
    add(column, launch, 1);
    // Within each of the grids that leading dimensions number.
    int64_t below = grid.cols, inner = 1;
    for (size_t d = launch.counts.size(); d-- > 0 && inner < grid.rows;) {
      if (below > 1) {
        below /= launch.counts[d];
        continue;
      }
      if (launch.counts[d] == 1)
        continue;
      inner *= launch.counts[d];
      if (grid.rows / inner > 1)
        add(column, launch, grid.rows / inner);
    }
    for (bool isByColumns : {false, true})
      for (int64_t width : {4, 8, 16})
        if (width < (isByColumns ? grid.cols : grid.rows)) {
          Traversal strips;
          strips.kind = Traversal::Kind::Grouped;
          strips.width = width;
          strips.isByColumns = isByColumns;
          add(strips, launch, 1);
        }
  }
  orders.resize(std::min<size_t>(orders.size(), std::max<int64_t>(mostInAll / std::max<int64_t>(lookups, 1), 2)));
  // Who gets the longest tile of a round is to get the shortest one of the next. Each grid for itself begins with its
  // longest tiles anew.
  const StageModel &stage = launches[0].launch.stages[0];
  if (stage.isStatic && stage.causalRows)
    for (GridOrder &order : orders)
      if (order.traversal.kind != Traversal::Kind::Each)
        order.traversal = makeZigzag(device.sms, order.traversal);
  return orders;
}

bool Sampler::simulate(Candidate &candidate) const {
  const KernelLaunch &whole = launches[candidate.order.colDims - 1];
  MachineModel machine = makeMachine(device);
  machine.blocksPerSm = choice.ctasPerSm;
  machine.cache.bytes = std::max<int64_t>(machine.cache.bytes / depth, machine.cache.lineBytes);
  machine.cache.lineBytes = machine.cache.sectorBytes = sectorBytes;
  machine.cache.ways = 0; // A few boxes: sets would be smaller than one.
  machine.drift = 0;
  LaunchModel launch = sampleSteps(whole.launch, depth);
  machine.sampling = chooseSampling(launch);
  TileOrder order;
  SimulationResult result;
  std::string error;
  if (!TileOrder::create(candidate.order.traversal, launch.getGrids(), order, error) ||
      !plan::simulate(launch, order, machine, result, error))
    return false;
  double sectors = double(result.dramReads + result.dramWrites + result.dirty);
  candidate.bytes = double(depth * machine.cache.sectorBytes) * sectors;
  candidate.seconds =
      double(countSteps(whole.launch.stages[0], order, machine.sms * machine.blocksPerSm)) * secondsOfStep;
  if (!isCoarse() || !isByRows(candidate.order.traversal))
    candidate.seconds = std::max(candidate.seconds, candidate.bytes / device.memoryBandwidth);
  candidate.hitRate = result.getHitRate();
  return true;
}

int64_t chooseOrderOfLaunch(const KernelToSchedule &kernel, const Device &device, ScheduleChoice &choice) {
  // What the model errs by: bytes by 1.5 % at the median, and it ranks orders that differ by 5 % right; time is
  // coarser.
  constexpr double fewerBytes = 0.95, lessTime = 0.97, sameTime = 1.005, same = 1.01;
  Sampler sampler(kernel, device, choice);
  if (!sampler.prepare())
    return 0;
  std::vector<Candidate> candidates;
  int64_t work = 0;
  for (const GridOrder &order : sampler.listOrders()) {
    Candidate candidate{order};
    work += sampler.getLookups();
    if (sampler.simulate(candidate))
      candidates.push_back(candidate);
    if (candidates.empty() || (candidates.size() == 1 && sampler.isBest(candidates[0].bytes)))
      return work;
  }
  if (candidates.size() < 2 || !isByRows(candidates[0].order.traversal))
    return work;
  const Candidate &rows = candidates[0], *best = &rows;
  for (const Candidate &candidate : candidates) {
    bool isFaster = candidate.seconds < lessTime * rows.seconds;
    bool isLighter = !sampler.isCoarse() && candidate.seconds <= sameTime * rows.seconds &&
                     candidate.bytes < fewerBytes * rows.bytes;
    if (!isFaster && !isLighter)
      continue;
    bool isBetter = candidate.seconds * same < best->seconds ||
                    (candidate.seconds <= same * best->seconds && candidate.bytes * same < best->bytes);
    best = isBetter ? &candidate : best;
  }
  choice.order = best->order.print();
  std::string text;
  for (const Candidate &candidate : candidates)
    text += llvm::formatv("{0}{1} {2:f1} MB {3:f0} us (L2 {4:f0} %)", text.empty() ? "" : ", ", candidate.order.print(),
                          candidate.bytes * 1e-6, candidate.seconds * 1e6, 100 * candidate.hitRate);
  choice.reason += "; order " + choice.order + ": " + text;
  return work;
}

//===--- As JSON ---===//

std::optional<json::Object> writeKernelLaunch(const KernelToSchedule &kernel, const ScheduleChoice &choice,
                                              const Device &device, StringRef name) {
  GridOrder order;
  std::string error;
  if (!parseGridOrder(choice.order, order, error))
    return std::nullopt;
  std::optional<KernelLaunch> launch = describeLaunch(kernel, choice, {order.colDims});
  if (!launch)
    return std::nullopt;
  std::optional<AffineGroup> group = launch->product ? std::nullopt : describeGroup(kernel);
  return json::Object{{"name", json::fixUTF8(name)},
                      {"problem", writeTilesLaunch(launch->launch, launch->product, group ? &*group : nullptr)},
                      {"elementBytes", launch->elementBytes},
                      {"engine", tg::stringifyEngine(choice.engine)},
                      {"warps", choice.warps},
                      {"bytes", launch->bytes},
                      {"order", order.traversal.print()},
                      {"persistent", choice.persistent},
                      {"machine", json::Object{{"device", device.name}, {"blocksPerSm", choice.ctasPerSm}}}};
}

} // namespace weft::plan
