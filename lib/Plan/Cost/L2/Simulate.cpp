// A launch through the L2, step by step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dispatcher hands the next block of the order to the first free position; positions take turns in a tick.
// Deterministic: the same numbers everywhere.
#include "weft/Plan/Cost/Simulate.h"

#include <algorithm>
#include <utility>

using namespace weft::plan;
using When = AccessModel::When;

/// Lines in a row with the same home.
static constexpr uint32_t linesOfHome = 4;

namespace {
/// Both halves of an L2, in front of memory.
class MemorySystem {
public:
  MemorySystem(const CacheConfig &config, int64_t sampling, int64_t universe) : isSplit(config.partitions == 2) {
    int64_t lines = std::max<int64_t>(config.bytes / config.partitions / config.lineBytes / sampling, 1);
    for (int64_t i = 0; i < config.partitions; ++i)
      banks.emplace_back(lines, config.ways, universe);
  }

  /// An SM on `side` asks; returns the sectors that came from DRAM.
  int64_t access(int64_t side, int32_t line, uint32_t sectors, CacheHint hint, bool isWrite, SimulationResult &counts);

  int64_t countDirtySectors() const {
    int64_t count = 0;
    for (const CacheBank &bank : banks)
      count += bank.countDirtySectors();
    return count;
  }

private:
  bool isSplit;
  std::vector<CacheBank> banks;
};

class Simulation {
public:
  Simulation(const LaunchModel &launch, const TileOrder &order, const MachineModel &machine, SimulationResult &result)
      : launch(launch), order(order), machine(machine), result(result) {}

  bool run(std::string &error);

private:
  /// A position for a block on an SM.
  struct Slot {
    int64_t block = -1, step = 0, delay = 0, side = 0;
    int64_t next = 0; ///< Of blocks that go to positions by their numbers.
  };

  bool prepare(std::string &error);
  bool advance(Slot &slot);
  void runStep(const Slot &slot, const Tile &tile, int64_t lastStep);
  void runAccess(const AccessModel &access, const Tile &tile, int64_t step, int64_t side);

  const LaunchModel &launch;
  const TileOrder &order;
  const MachineModel &machine;
  SimulationResult &result;

  std::vector<int64_t> firstLine, linesPerRow; ///< Of every array, in lines of the sample.
  std::vector<MemorySystem> memory;            ///< One, made when the lines are counted.
  std::vector<int64_t> doneInRow;              ///< Stage 0's finished tiles by row.
  std::vector<Slot> slots;
  int64_t nextBlock = 0;
  uint32_t turn = 0;             ///< Counts ports, tick after tick.
  std::vector<uint32_t> lastAsk; ///< The last turn in which a line was read.
};
} // namespace

int64_t MemorySystem::access(int64_t side, int32_t line, uint32_t sectors, CacheHint hint, bool isWrite,
                             SimulationResult &counts) {
  int64_t asked = __builtin_popcount(sectors);
  int64_t home = isSplit ? mixBits(uint32_t(line) / linesOfHome) & 1 : 0;
  counts.lookups += asked;
  if (isWrite) {
    counts.writeLookups += asked;
    if (isSplit) // The other half's copy is old now.
      banks[1 - home].drop(line);
    CacheBank::Outcome outcome = banks[home].access(line, sectors, hint, true);
    counts.hits += asked;
    counts.dramWrites += outcome.evicted;
    if (home != side && isSplit) {
      counts.lookups += asked;
      counts.writeLookups += asked;
      counts.hits += asked;
      counts.fabric += asked;
    }
    return 0;
  }
  CacheBank::Outcome near = banks[isSplit ? side : 0].access(line, sectors, hint, false);
  int64_t missing = __builtin_popcount(near.missing);
  counts.hits += asked - missing;
  counts.dramWrites += near.evicted;
  if (isSplit && home != side && missing) {
    counts.lookups += missing;
    counts.fabric += missing;
    CacheBank::Outcome far = banks[home].access(line, near.missing, hint, false);
    counts.hits += missing - __builtin_popcount(far.missing);
    counts.dramWrites += far.evicted;
    missing = __builtin_popcount(far.missing);
  }
  counts.dramReads += missing;
  return missing;
}

/// The most accesses of boxes that a run may take: some seconds.
static constexpr int64_t maxAccesses = int64_t(1) << 32, maxLines = int64_t(1) << 26;

static bool checkMachine(const MachineModel &machine, std::string &error) {
  if (!checkCache(machine.cache, error))
    return false;
  if (machine.sms < 1 || machine.blocksPerSm < 1 || machine.sms > 4096 || machine.blocksPerSm > 64)
    error = "expected 1 to 4096 SMs with 1 to 64 blocks each, got " + std::to_string(machine.sms) + " and " +
            std::to_string(machine.blocksPerSm);
  else if (machine.skew < 0 || machine.skew > 1 << 20)
    error = "expected a skew of 0 to 1048576 steps, got " + std::to_string(machine.skew);
  else if (machine.drift < 0 || machine.drift > 1 << 20)
    error = "expected a drift of 0 to 1048576 steps, got " + std::to_string(machine.drift);
  else if (machine.smsPerPort < 1 || machine.smsPerPort > 4096)
    error = "expected 1 to 4096 SMs at a port, got " + std::to_string(machine.smsPerPort);
  else if (machine.sampling < 0 || machine.sampling > 1 << 20 || (machine.sampling & (machine.sampling - 1)) != 0)
    error = "expected a sampling of a power of two, got " + std::to_string(machine.sampling);
  return error.empty();
}

static bool checkLaunch(const LaunchModel &launch, const TileOrder &order, std::string &error) {
  if (launch.stages.empty() || launch.stages.size() > 2)
    error = "expected a launch of 1 or 2 stages, got " + std::to_string(launch.stages.size());
  else if (order.getGrids().size() != launch.stages.size())
    error = "expected an order of " + std::to_string(launch.stages.size()) + " stages, got " +
            std::to_string(order.getGrids().size());
  int64_t total = 0;
  for (size_t s = 0; s < launch.stages.size() && error.empty(); ++s) {
    const StageModel &stage = launch.stages[s];
    const TileGrid &grid = order.getGrids()[s];
    if (stage.grid.rows != grid.rows || stage.grid.cols != grid.cols)
      error = "expected an order of " + std::to_string(stage.grid.rows) + "x" + std::to_string(stage.grid.cols) +
              " tiles, got " + std::to_string(grid.rows) + "x" + std::to_string(grid.cols);
    else if (stage.steps < 1 || stage.steps > maxAccesses)
      error = "expected 1 to 4294967296 steps of a tile, got " + std::to_string(stage.steps);
    for (const AccessModel &access : stage.accesses)
      if (access.array < 0 || access.array >= int64_t(launch.arrays.size()) || access.outers < 1 || access.bytes < 1 ||
          access.rowDivisor < 1)
        error = "expected accesses of the launch's arrays, boxes and divisors of at least 1";
    if (error.empty() && (total += grid.rows * grid.cols * std::min(stage.steps, maxAccesses)) > maxAccesses)
      error = "expected at most 4294967296 steps of all tiles; use larger tiles";
  }
  return error.empty();
}

/// Whether all boxes together have no more than 2^33 lines of the sample to look up.
static bool isShort(const LaunchModel &launch, int64_t sampling, int64_t lineBytes) {
  double lookups = 0;
  for (const StageModel &stage : launch.stages)
    for (const AccessModel &access : stage.accesses) {
      double boxes =
          double(stage.grid.rows) * double(stage.grid.cols) * (access.when == When::EachStep ? double(stage.steps) : 1);
      const ArrayModel &array = launch.arrays[access.array];
      int64_t rows = std::min(access.outers, array.outers) / sampling + 1;
      lookups += boxes * double(rows) * double(std::min(access.bytes, array.rowBytes) / lineBytes + 1);
    }
  return lookups <= double(int64_t(1) << 33);
}

bool Simulation::prepare(std::string &error) {
  if (!checkMachine(machine, error) || !checkLaunch(launch, order, error))
    return false;
  int64_t sampling = machine.sampling;
  if (!sampling) {
    sampling = 64;
    for (const StageModel &stage : launch.stages)
      for (const AccessModel &access : stage.accesses)
        while (sampling > std::min(access.outers, launch.arrays[access.array].outers))
          sampling /= 2;
  }
  result.sampling = sampling;
  int64_t lines = 0;
  for (const ArrayModel &array : launch.arrays) {
    bool isSmall = array.outers >= 1 && array.rowBytes >= 1 && array.outers <= int64_t(1) << 40 &&
                   array.rowBytes <= int64_t(1) << 40;
    int64_t rows = isSmall ? (array.outers + sampling - 1) / sampling : maxLines;
    int64_t perRow = isSmall ? (array.rowBytes + machine.cache.lineBytes - 1) / machine.cache.lineBytes : 2;
    firstLine.push_back(lines);
    linesPerRow.push_back(perRow);
    if (rows > (maxLines - lines) / perRow) {
      error = "array " + array.name + ": expected at most " + std::to_string(maxLines) +
              " lines in all arrays; use a larger sampling";
      return false;
    }
    lines += rows * perRow;
  }
  if (!isShort(launch, sampling, machine.cache.lineBytes)) {
    error = "expected at most 2^33 lines in the boxes of all steps; use larger tiles or a larger sampling";
    return false;
  }
  memory.emplace_back(machine.cache, sampling, lines);
  if (machine.smsPerPort > 1)
    lastAsk.assign(lines, 0);
  result.dramReadsByArray.assign(launch.arrays.size(), 0);
  result.blocks = order.size();
  result.resident = machine.sms * machine.blocksPerSm;
  slots.resize(result.resident);
  for (int64_t i = 0; i < result.resident; ++i) {
    int64_t port = i % machine.sms / machine.smsPerPort;
    slots[i].next = i;
    slots[i].side = machine.cache.partitions == 2 ? mixBits(uint32_t(port)) & 1 : 0;
    slots[i].delay = machine.skew ? mixBits(uint32_t(i)) % uint32_t(machine.skew + 1) : 0;
  }
  doneInRow.assign(launch.stages[0].grid.rows, 0);
  return true;
}

void Simulation::runAccess(const AccessModel &access, const Tile &tile, int64_t step, int64_t side) {
  const ArrayModel &array = launch.arrays[access.array];
  auto at = [&](const AffineIndex &index) { return index.getValue(tile.row, tile.col, step, access.rowDivisor); };
  int64_t outerStart = at(access.outer), byteStart = at(access.byte);
  int64_t outer = std::max<int64_t>(outerStart, 0), byte = std::max<int64_t>(byteStart, 0);
  int64_t outerEnd = std::min(outerStart + access.outers, array.outers);
  int64_t byteEnd = std::min(byteStart + access.bytes, array.rowBytes);
  if (byte >= byteEnd)
    return;
  int64_t lineBytes = machine.cache.lineBytes, sectorBytes = machine.cache.sectorBytes, sampling = result.sampling;
  for (int64_t sample = (outer + sampling - 1) / sampling; sample * sampling < outerEnd; ++sample) {
    int64_t start = firstLine[access.array] + sample * linesPerRow[access.array];
    for (int64_t line = byte / lineBytes; line <= (byteEnd - 1) / lineBytes; ++line) {
      int64_t first = std::max<int64_t>(byte - line * lineBytes, 0) / sectorBytes;
      int64_t last = (std::min(byteEnd - line * lineBytes, lineBytes) - 1) / sectorBytes;
      uint32_t sectors = uint32_t((uint64_t(2) << last) - (uint64_t(1) << first));
      (access.isWrite ? result.writtenSectors : result.readSectors) += last - first + 1;
      if (!access.isWrite && machine.smsPerPort > 1 && std::exchange(lastAsk[start + line], turn) == turn) {
        result.merged += last - first + 1;
        continue;
      }
      result.dramReadsByArray[access.array] +=
          memory[0].access(side, int32_t(start + line), sectors, access.hint, access.isWrite, result);
    }
  }
}

void Simulation::runStep(const Slot &slot, const Tile &tile, int64_t lastStep) {
  for (const AccessModel &access : launch.stages[tile.stage].accesses)
    if (access.when == When::EachStep || slot.step == (access.when == When::FirstStep ? 0 : lastStep))
      runAccess(access, tile, slot.step, slot.side);
}

/// One tick of a position; false if it has nothing to do or its block waits.
bool Simulation::advance(Slot &slot) {
  if (slot.delay > 0) {
    --slot.delay;
    return true;
  }
  if (slot.block < 0) {
    bool isStatic = launch.stages[0].isStatic;
    if ((isStatic ? slot.next : nextBlock) >= order.size())
      return false;
    slot.block = isStatic ? slot.next : nextBlock;
    slot.next += result.resident;
    ++nextBlock;
    slot.step = 0;
    if (machine.drift && slot.block >= result.resident)
      slot.delay = mixBits(uint32_t(slot.block / machine.smsPerPort)) % uint32_t(machine.drift + 1);
    if (slot.delay > 0)
      return true;
  }
  const Tile &tile = order[slot.block];
  if (tile.stage == 1 && doneInRow[tile.row] < launch.stages[0].grid.cols)
    return false;
  int64_t lastStep = launch.stages[tile.stage].getSteps(tile.row, tile.col) - 1;
  runStep(slot, tile, lastStep);
  if (slot.step++ == lastStep) {
    if (tile.stage == 0)
      ++doneInRow[tile.row];
    slot.block = -1;
  }
  return true;
}

bool Simulation::run(std::string &error) {
  if (!prepare(error))
    return false;
  auto isBusy = [](const Slot &slot) { return slot.block >= 0; };
  while (nextBlock < order.size() || std::any_of(slots.begin(), slots.end(), isBusy)) {
    bool isMoving = false;
    for (int64_t i = 0; i < result.resident; ++i) {
      turn += i % machine.sms % machine.smsPerPort == 0;
      isMoving |= advance(slots[i]);
    }
    if (!isMoving) {
      error = "expected an order in which blocks wait for earlier ones; all " + std::to_string(result.resident) +
              " slots hold blocks that wait";
      return false;
    }
    ++result.ticks;
  }
  result.dirty = memory[0].countDirtySectors();
  for (int64_t *count : {&result.readSectors, &result.writtenSectors, &result.merged, &result.lookups, &result.hits,
                         &result.writeLookups, &result.dramReads, &result.dramWrites, &result.dirty, &result.fabric})
    *count *= result.sampling;
  for (int64_t &count : result.dramReadsByArray)
    count *= result.sampling;
  return true;
}

bool weft::plan::simulate(const LaunchModel &launch, const TileOrder &order, const MachineModel &machine,
                          SimulationResult &result, std::string &error) {
  error.clear();
  result = SimulationResult();
  return Simulation(launch, order, machine, result).run(error);
}
