// The numbers of a configuration by every model, as the page has them from the same library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explore.h"
#include "weft/Plan/Cost/PanelModel.h"
#include "weft/Plan/Cost/PanelTrace.h"

using namespace weft;
using namespace weft::plan;
namespace json = llvm::json;

/// One number for a whole order.
static uint32_t hashTiles(const TileOrder &order) {
  uint32_t hash = 0;
  for (const Tile &tile : order.getTiles())
    hash = mixBits(hash ^ uint32_t(tile.row * 65537 + tile.col * 2 + tile.stage));
  return hash;
}

static void writePanels(const PanelTrace &trace, int64_t capacity, json::OStream &json) {
  json.attributeObject("panels", [&] {
    for (auto [name, policy] : {std::pair("lru", Replacement::Lru), std::pair("fifo", Replacement::Fifo),
                                std::pair("farthest", Replacement::FarthestUse)}) {
      PanelTraffic traffic = runPanels(trace, capacity, policy);
      json.attributeArray(name, [&] {
        for (int64_t value : {traffic.reads, traffic.loads, traffic.writes, traffic.left})
          json.value(value);
      });
    }
  });
  ReuseHistogram reuse = computeReuse(flattenUses(trace));
  json.attributeArray("lruLoads", [&] {
    for (int64_t panels : {2, 3, 5, 8, 16, 40})
      json.value(reuse.getLruLoads(panels));
  });
}

static void writeSimulation(const SimulationResult &r, json::OStream &json) {
  json.attributeObject("simulation", [&] {
    for (auto [name, value] :
         {std::pair("readSectors", r.readSectors), std::pair("writtenSectors", r.writtenSectors),
          std::pair("merged", r.merged), std::pair("lookups", r.lookups), std::pair("writeLookups", r.writeLookups),
          std::pair("hits", r.hits), std::pair("dramReads", r.dramReads), std::pair("dramWrites", r.dramWrites),
          std::pair("dirty", r.dirty), std::pair("fabric", r.fabric), std::pair("ticks", r.ticks),
          std::pair("sampling", r.sampling)})
      json.attribute(name, value);
    json.attributeArray("dramReadsByArray", [&] {
      for (int64_t count : r.dramReadsByArray)
        json.value(count);
    });
  });
}

bool weft::explore::writeNumbers(const Configuration &c, json::OStream &json, std::string &error) {
  TileOrder order;
  PanelTrace trace;
  SimulationResult simulation;
  TrafficBound bound;
  if (!TileOrder::create(c.traversal, c.launch.getGrids(), order, error) ||
      !listPanels(c.launch, order, trace, error) || !simulate(c.launch, order, c.machine, simulation, error) ||
      !computeBound(c, bound, error))
    return false;
  json.object([&] {
    json.attribute("order", c.traversal.print());
    json.attribute("tiles", order.size());
    json.attribute("hash", hashTiles(order));
    writePanels(trace, c.machine.cache.bytes, json);
    TileGrid grid = c.launch.stages[0].grid;
    if (grid.rows * grid.cols + grid.rows + grid.cols <= 19) // Quick on both sides.
      json.attributeArray("optimum", [&] {
        OptimalOrder optimum;
        for (int64_t panels : {2, 3, 4})
          if (findOptimalOrder(grid, panels, optimum, error))
            json.value(optimum.loads);
      });
    writeSimulation(simulation, json);
    json.attributeObject("bound", [&] {
      json.attribute("partition", bound.partition);
      json.attribute("compulsory", bound.compulsory);
    });
  });
  return true;
}
