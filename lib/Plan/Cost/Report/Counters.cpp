// Predicted counters of launches, and measured ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prediction by the simulation and the bounds; the CSV of ncu, whose units may be scaled (Kbyte, Mbyte) and whose
// numbers have thousands separators.
#include "weft/Plan/Cost/Counters.h"
#include "weft/Plan/Cost/TileTree.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace weft;
using namespace weft::plan;
using llvm::StringRef;

bool weft::plan::predictCounters(const Configuration &c, Counters &counters, std::string &error) {
  TileOrder order;
  SimulationResult r;
  TrafficBound bound;
  if (!TileOrder::create(c.traversal, c.launch.getGrids(), order, error) ||
      !simulate(c.launch, order, c.machine, r, error) || !computeBound(c, bound, error))
    return false;
  double sector = double(c.machine.cache.sectorBytes), operations = 0, waves = r.getWaves();
  for (const StageModel &stage : c.launch.stages)
    operations += stage.operations;
  double last = double(r.blocks % r.resident);
  int64_t blocks = c.isPersistent ? std::min(r.blocks, r.resident) : r.blocks;
  double compulsoryReads = double(c.launch.getCompulsoryReads()), compulsory = double(c.launch.getCompulsoryWrites());
  // A sample of rows may miss some: what must move is moved.
  double reads = std::max(double(r.dramReads) * sector, compulsoryReads), writes = double(r.dramWrites) * sector;
  double left = std::max(double(r.dirty) * sector, compulsory - writes);
  compulsory += compulsoryReads;
  counters = {{"dram__bytes_read.sum", reads},
              {"dram__bytes_write.sum", writes},
              {"lts__t_sectors_op_read.sum", double(r.lookups - r.writeLookups)},
              {"lts__t_sectors_op_write.sum", double(r.writeLookups)},
              {"lts__t_sectors_srcunit_tex.sum", double(r.readSectors - r.merged + r.writtenSectors)},
              {"lts__t_sectors_srcunit_ltcfabric.sum", double(r.fabric)},
              {"lts__t_sectors_lookup_miss.sum", double(r.lookups - r.hits)},
              {"lts__t_sectors.sum", double(r.lookups)},
              {"lts__t_sector_hit_rate.pct", 100 * r.getHitRate()},
              {"launch__grid_size", double(blocks)},
              {"launch__waves_per_multiprocessor", double(blocks) / double(r.resident)},
              {"weft.tile_waves", waves},
              {"weft.operations", operations},
              {"weft.l2_dirty_bytes_at_end", left},
              {"weft.dram_bytes_bound", std::max(bound.bytes, compulsory)},
              {"weft.dram_bytes_compulsory", compulsory},
              {"weft.last_wave_full_pct", last > 0 ? 100 * last / double(r.resident) : 100},
              {"weft.steps", double(r.ticks)}};
  addBytes(counters);
  countInstructions(c, counters);
  countTrees(c, counters);
  if (!c.device)
    return true;
  counters["weft.dram_seconds"] = counters["dram__bytes.sum"] / c.device->memoryBandwidth;
  if (c.elementBytes == 2)
    counters["weft.matrix_seconds"] = operations / c.device->perSecond(c.device->matrix.f16);
  return true;
}

void weft::plan::countTrees(const Configuration &c, Counters &counters) {
  if (c.traversal.kind != Traversal::Kind::Chain)
    return;
  auto extentOf = [&](size_t dim) { return c.group.dims[dim].extent; }; // m, k, l, n.
  int64_t rows = std::min(c.traversal.width * c.tileM, extentOf(0));
  for (auto [name, binding] : {std::pair("sequential", Binding::Sequential), std::pair("shared", Binding::Shared),
                               std::pair("pipelined", Binding::Pipelined)}) {
    TreeTraffic traffic;
    std::string error;
    bool isWhole = extentOf(0) % rows == 0 && extentOf(2) % c.tileN == 0;
    TileNode tree = makeChainTree(c.group, binding, rows, extentOf(1), c.tileN, extentOf(3));
    if (!isWhole || !computeTreeTraffic(c.group, tree, traffic, error))
      continue;
    counters["weft.tree_bytes_" + std::string(name)] = traffic.bytes;
    counters["weft.tree_resident_bytes_" + std::string(name)] = traffic.residentBytes;
  }
}

void weft::plan::addBytes(Counters &counters) {
  for (const char *side : {"read", "write"}) {
    auto sectors = counters.find("dram__sectors_" + std::string(side) + ".sum");
    if (sectors != counters.end())
      counters.insert({"dram__bytes_" + std::string(side) + ".sum", 32 * sectors->second});
  }
  auto read = counters.find("dram__bytes_read.sum"), write = counters.find("dram__bytes_write.sum");
  if (read != counters.end() && write != counters.end())
    counters.insert({"dram__bytes.sum", read->second + write->second});
}

//===--- CSV ---===//

/// The cells of one line; quotes within quotes are doubled.
static std::vector<std::string> splitCells(StringRef line) {
  std::vector<std::string> cells(1);
  bool isQuoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && isQuoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[i++];
    else if (line[i] == '"')
      isQuoted = !isQuoted;
    else if (line[i] == ',' && !isQuoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  return cells;
}

/// The factor of a unit with a prefix: Kbyte, Mbyte, Gsector.
static double getScale(StringRef unit) {
  if (!unit.ends_with("byte") && !unit.ends_with("sector"))
    return 1;
  switch (unit.front()) {
  case 'K':
    return 1e3;
  case 'M':
    return 1e6;
  case 'G':
    return 1e9;
  case 'T':
    return 1e12;
  default:
    return 1;
  }
}

bool weft::plan::parseNcuCsv(StringRef text, std::vector<MeasuredKernel> &kernels, std::string &error) {
  error.clear();
  static const char *const names[] = {"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"};
  size_t columns[5] = {};
  bool hasHeader = false;
  std::map<std::string, size_t> byId;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    if (!line.starts_with("\""))
      continue;
    std::vector<std::string> cells = splitCells(line.rtrim('\r'));
    if (!hasHeader) {
      for (size_t i = 0; i < 5; ++i) {
        auto found = std::find(cells.begin(), cells.end(), names[i]);
        if (found == cells.end()) {
          error = "expected a table of ncu --csv with a column " + std::string(names[i]);
          return false;
        }
        columns[i] = size_t(found - cells.begin());
      }
      hasHeader = true;
      continue;
    }
    if (cells.size() <= *std::max_element(columns, columns + 5))
      continue;
    std::string digits = cells[columns[4]];
    digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
    double value;
    if (StringRef(digits).getAsDouble(value)) // "n/a": the GPU does not have the metric.
      continue;
    auto [place, isNew] = byId.try_emplace(cells[columns[0]], kernels.size());
    if (isNew)
      kernels.push_back({cells[columns[1]], {}});
    kernels[place->second].counters[cells[columns[2]]] = value * getScale(cells[columns[3]]);
  }
  if (kernels.empty())
    error = "expected a table of ncu --csv with at least one value";
  for (MeasuredKernel &kernel : kernels)
    addBytes(kernel.counters);
  return error.empty();
}

ErrorSummary weft::plan::summarise(const std::vector<Comparison> &comparisons, const std::string &metric, bool isRate) {
  ErrorSummary summary;
  std::vector<double> errors;
  for (const Comparison &comparison : comparisons) {
    auto predicted = comparison.predicted.find(metric), measured = comparison.measured.find(metric);
    if (predicted == comparison.predicted.end() || measured == comparison.measured.end() ||
        (!isRate && measured->second == 0))
      continue;
    double error = std::abs(isRate ? predicted->second - measured->second : predicted->second / measured->second - 1);
    errors.push_back(error);
    if (error > summary.worst || summary.worstName.empty()) {
      summary.worst = error;
      summary.worstName = comparison.name;
    }
  }
  summary.launches = int64_t(errors.size());
  if (errors.empty())
    return summary;
  std::sort(errors.begin(), errors.end());
  size_t middle = errors.size() / 2;
  summary.median = errors.size() % 2 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
  return summary;
}

PairSummary weft::plan::rankPairs(const std::vector<Comparison> &comparisons, const std::string &metric,
                                  double difference) {
  PairSummary summary;
  auto get = [&](const Counters &counters) {
    auto found = counters.find(metric);
    return found == counters.end() ? std::nullopt : std::optional<double>(found->second);
  };
  for (size_t i = 0; i < comparisons.size(); ++i)
    for (size_t k = i + 1; k < comparisons.size(); ++k) {
      const Comparison &a = comparisons[i], &b = comparisons[k];
      std::optional<double> values[] = {get(a.measured), get(b.measured), get(a.predicted), get(b.predicted)};
      if (a.family.empty() || a.family != b.family || std::count(values, values + 4, std::nullopt))
        continue;
      double measured = *values[0] - *values[1];
      if (std::abs(measured) <= difference * std::max(*values[0], *values[1]))
        continue;
      ++summary.pairs;
      summary.right += measured * (*values[2] - *values[3]) > 0;
    }
  return summary;
}
