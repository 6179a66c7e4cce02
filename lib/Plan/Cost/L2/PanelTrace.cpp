// Whole operands of blocks through a cache of bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every array is cut into cells: the boxes that are written, or what one block reads. A block's use of an array is the
// list of the cells that it touches over all its steps.
#include "weft/Plan/Cost/PanelTrace.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace weft::plan;
using When = AccessModel::When;

namespace {
/// A range of rows and of bytes in them; ends excluded.
struct Region {
  int64_t outer = 0, outerEnd = 0, byte = 0, byteEnd = 0;
};

/// How an array is cut, and the number of its first panel.
struct Cells {
  int64_t rows = 0, bytes = 0, perRow = 1, count = 0;
  int64_t first = 0;
};
} // namespace

/// What a block touches over its steps.
static Region getRegion(const AccessModel &access, const ArrayModel &array, const Tile &tile, int64_t steps) {
  int64_t first = access.when == When::LastStep ? steps - 1 : 0, last = access.when == When::FirstStep ? 0 : steps - 1;
  // Terms of the step go up and down: their range is from none to the most of any step.
  auto range = [&](const AffineIndex &index) {
    AffineIndex fixed = index;
    std::pair<int64_t, int64_t> ends(0, 0);
    for (LoopTerm &term : fixed.terms) {
      if (term.loop != LaunchLoop::Step || first == last)
        continue;
      int64_t most = last / term.divisor;
      most = term.factor * (term.modulus ? std::min(most, term.modulus - 1) : most);
      (most < 0 ? ends.first : ends.second) += most;
      term.factor = 0;
    }
    int64_t start = fixed.getValue(tile.row, tile.col, first, access.rowDivisor);
    int64_t end = fixed.getValue(tile.row, tile.col, last, access.rowDivisor);
    return std::pair(std::min(start, end) + ends.first, std::max(start, end) + ends.second);
  };
  auto [outer, lastOuter] = range(access.outer);
  auto [byte, lastByte] = range(access.byte);
  Region region;
  region.outer = std::max<int64_t>(outer, 0);
  region.outerEnd = std::min(lastOuter + access.outers, array.outers);
  region.byte = std::max<int64_t>(byte, 0);
  region.byteEnd = std::min(lastByte + access.bytes, array.rowBytes);
  return region;
}

/// Cells of every array, from its writes or else from what tile (0, 0), or the last of a causal row, reads.
static std::vector<Cells> cutArrays(const LaunchModel &launch) {
  std::vector<Cells> cells(launch.arrays.size());
  for (bool isWrite : {true, false})
    for (const StageModel &stage : launch.stages)
      for (const AccessModel &access : stage.accesses) {
        Cells &cell = cells[access.array];
        const ArrayModel &array = launch.arrays[access.array];
        if (access.isWrite != isWrite || cell.rows > 0)
          continue;
        Region region = getRegion(access, array, {}, isWrite ? 1 : stage.steps);
        cell.rows = std::max<int64_t>(isWrite ? access.outers : region.outerEnd - region.outer, 1);
        cell.bytes = std::max<int64_t>(isWrite ? access.bytes : region.byteEnd - region.byte, 1);
      }
  int64_t next = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    Cells &cell = cells[i];
    cell.first = next;
    if (!cell.rows)
      continue;
    cell.perRow = (launch.arrays[i].rowBytes + cell.bytes - 1) / cell.bytes;
    cell.count = (launch.arrays[i].outers + cell.rows - 1) / cell.rows * cell.perRow;
    next += cell.count;
  }
  return cells;
}

static void namePanels(const LaunchModel &launch, const std::vector<Cells> &cells, PanelTrace &trace) {
  for (size_t i = 0; i < cells.size(); ++i) {
    const ArrayModel &array = launch.arrays[i];
    for (int64_t k = 0; k < cells[i].count; ++k) {
      int64_t row = k / cells[i].perRow, col = k % cells[i].perRow;
      bool isOneRow = array.outers <= cells[i].rows;
      std::string place = isOneRow ? std::to_string(col) : std::to_string(row);
      if (!isOneRow && cells[i].perRow > 1)
        place += "." + std::to_string(col);
      trace.names.push_back(array.name + place);
      int64_t rows = std::min(cells[i].rows, array.outers - row * cells[i].rows);
      trace.bytes.push_back(rows * std::min(cells[i].bytes, array.rowBytes - col * cells[i].bytes));
      trace.arrays.push_back(int32_t(i));
    }
  }
}

bool weft::plan::listPanels(const LaunchModel &launch, const TileOrder &order, PanelTrace &trace, std::string &error) {
  error.clear();
  trace = PanelTrace();
  constexpr int64_t maxPanels = 1 << 22, maxUses = 1 << 24;
  if (order.getGrids().size() != launch.stages.size()) {
    error = "expected an order of " + std::to_string(launch.stages.size()) + " stages, got " +
            std::to_string(order.getGrids().size());
    return false;
  }
  std::vector<Cells> cells = cutArrays(launch);
  int64_t panels = 0, uses = 0;
  for (const Cells &cell : cells)
    panels += std::min(cell.count, maxPanels + 1);
  if (panels > maxPanels) {
    error = "expected at most " + std::to_string(maxPanels) + " panels; use larger tiles";
    return false;
  }
  namePanels(launch, cells, trace);
  for (const Tile &tile : order.getTiles()) {
    trace.uses.emplace_back();
    const StageModel &stage = launch.stages[tile.stage];
    for (const AccessModel &access : stage.accesses) {
      const Cells &cell = cells[access.array];
      Region region = getRegion(access, launch.arrays[access.array], tile, stage.getSteps(tile.row, tile.col));
      for (int64_t row = region.outer / cell.rows; row * cell.rows < region.outerEnd; ++row)
        for (int64_t col = region.byte / cell.bytes; col * cell.bytes < region.byteEnd; ++col)
          trace.uses.back().push_back({int32_t(cell.first + row * cell.perRow + col), access.isWrite});
    }
    if ((uses += int64_t(trace.uses.back().size())) > maxUses) {
      error = "expected at most " + std::to_string(maxUses) + " uses of panels; use larger tiles";
      return false;
    }
  }
  return true;
}

std::vector<int32_t> weft::plan::flattenUses(const PanelTrace &trace) {
  std::vector<int32_t> all;
  for (const std::vector<PanelUse> &block : trace.uses)
    for (const PanelUse &use : block)
      all.push_back(use.panel);
  return all;
}

namespace {
/// The panels in the cache, ordered by what the policy asks.
class PanelCache {
public:
  PanelCache(const PanelTrace &trace, int64_t capacity) : trace(trace), capacity(capacity) {
    keys.assign(trace.bytes.size(), absent);
    isDirty.assign(trace.bytes.size(), false);
  }

  bool has(int32_t panel) const { return keys[panel] != absent; }
  int64_t getKey(int32_t panel) const { return keys[panel]; }
  void place(int32_t panel, int64_t key, bool isWrite);
  /// Evicts into `step` until everything fits, but not what is in `pinned`; by the greatest key or the least.
  void shrink(const std::vector<int32_t> &pinned, bool fromGreatest, PanelStep &step);
  int64_t sumDirty() const;
  std::vector<int32_t> list() const;

private:
  static constexpr int64_t absent = -1;

  const PanelTrace &trace;
  int64_t capacity, used = 0;
  std::set<std::pair<int64_t, int32_t>> order;
  std::vector<int64_t> keys;
  std::vector<bool> isDirty;
};
} // namespace

void PanelCache::place(int32_t panel, int64_t key, bool isWrite) {
  if (has(panel))
    order.erase({keys[panel], panel});
  else
    used += trace.bytes[panel];
  keys[panel] = key;
  order.insert({key, panel});
  isDirty[panel] = isDirty[panel] || isWrite;
}

void PanelCache::shrink(const std::vector<int32_t> &pinned, bool fromGreatest, PanelStep &step) {
  while (used > capacity) {
    auto isFree = [&](const std::pair<int64_t, int32_t> &entry) {
      return std::find(pinned.begin(), pinned.end(), entry.second) == pinned.end();
    };
    auto victim = order.end();
    if (fromGreatest) {
      auto found = std::find_if(order.rbegin(), order.rend(), isFree);
      victim = found == order.rend() ? order.end() : std::prev(found.base());
    } else {
      victim = std::find_if(order.begin(), order.end(), isFree);
    }
    if (victim == order.end())
      return;
    int32_t panel = victim->second;
    order.erase(victim);
    keys[panel] = absent;
    used -= trace.bytes[panel];
    step.evicted.push_back(panel);
    if (isDirty[panel])
      step.traffic.writes += trace.bytes[panel];
    isDirty[panel] = false;
  }
}

int64_t PanelCache::sumDirty() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < isDirty.size(); ++i)
    if (isDirty[i])
      bytes += trace.bytes[i];
  return bytes;
}

std::vector<int32_t> PanelCache::list() const {
  std::vector<int32_t> panels;
  for (const auto &[key, panel] : order)
    panels.push_back(panel);
  return panels;
}

/// The time of the next use of the panel of every use, a time past the end if there is none.
static std::vector<int64_t> findNextUses(const std::vector<int32_t> &uses, size_t panels) {
  std::vector<int64_t> next(uses.size()), upcoming(panels, int64_t(uses.size()));
  for (size_t time = uses.size(); time-- > 0;) {
    next[time] = upcoming[uses[time]];
    upcoming[uses[time]] = int64_t(time);
  }
  return next;
}

/// The last of the first `blocks` blocks; nothing of it but the traffic if there are none.
static PanelStep runBlocks(const PanelTrace &trace, PanelCache &cache, Replacement replacement, size_t blocks) {
  PanelStep step;
  bool isFarthest = replacement == Replacement::FarthestUse;
  std::vector<int64_t> next;
  if (isFarthest)
    next = findNextUses(flattenUses(trace), trace.bytes.size());
  int64_t time = 0;
  std::vector<int32_t> pinned;
  for (size_t block = 0; block < blocks; ++block) {
    for (std::vector<int32_t> *list : {&pinned, &step.hits, &step.loads, &step.stored, &step.evicted})
      list->clear();
    if (isFarthest)
      for (const PanelUse &use : trace.uses[block])
        pinned.push_back(use.panel);
    for (const PanelUse &use : trace.uses[block]) {
      bool isHit = cache.has(use.panel);
      (use.isWrite ? step.stored : isHit ? step.hits : step.loads).push_back(use.panel);
      if (!isHit && !use.isWrite) {
        step.traffic.reads += trace.bytes[use.panel];
        ++step.traffic.loads;
      }
      int64_t key = isFarthest ? next[time] : time;
      if (replacement == Replacement::Fifo && isHit)
        key = cache.getKey(use.panel);
      cache.place(use.panel, key, use.isWrite);
      ++time;
      if (!isFarthest)
        pinned.assign(1, use.panel);
      if (!isHit)
        cache.shrink(pinned, isFarthest, step);
    }
  }
  return step;
}

PanelTraffic weft::plan::runPanels(const PanelTrace &trace, int64_t capacity, Replacement replacement) {
  PanelCache cache(trace, capacity);
  PanelTraffic traffic = runBlocks(trace, cache, replacement, trace.uses.size()).traffic;
  traffic.left = cache.sumDirty();
  return traffic;
}

PanelStep weft::plan::watchPanels(const PanelTrace &trace, int64_t capacity, Replacement replacement, size_t block) {
  PanelCache cache(trace, capacity);
  PanelStep step = runBlocks(trace, cache, replacement, std::min(block + 1, trace.uses.size()));
  step.held = cache.list();
  step.traffic.left = cache.sumDirty();
  return step;
}
