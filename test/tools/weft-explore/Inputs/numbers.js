// What `weft explore --numbers` prints, by the page's scripts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

/** CacheModel.h's. */
function mixBits(value) {
  value = Math.imul((value ^ (value >>> 16)) >>> 0, 0x85ebca6b) >>> 0;
  value = Math.imul((value ^ (value >>> 13)) >>> 0, 0xc2b2ae35) >>> 0;
  return (value ^ (value >>> 16)) >>> 0;
}

function hashTiles(tiles) {
  return tiles.reduce((hash, tile) => mixBits((hash ^ (tile.row * 65537 + tile.col * 2 + tile.stage)) >>> 0), 0);
}

/** LRU of `capacity` panels. */
const getLruLoads = (reuse, capacity) => reuse.counts.slice(capacity).reduce((sum, count) => sum + count, reuse.cold);

function computeNumbers(value) {
  const config = readConfiguration(value, weftDevices), launch = makeLaunch(config), grids = launch.stages.map((stage) => stage.grid);
  const tiles = listTiles(config.order, grids), panels = makePanels(launch), capacity = config.machine.cache.bytes;
  const numbers = { order: config.order, tiles: tiles.length, hash: hashTiles(tiles), panels: {} };
  for (const policy of policies) {
    const t = runPanels(panels, tiles, capacity, policy), last = watchPanels(panels, tiles, capacity, policy, tiles.length - 1);
    numbers.panels[policy] = [t.reads, t.loads, t.writes, t.left];
    const uses = panels.usesOf(tiles[tiles.length - 1]), list = (isWrite) => uses.filter((use) => use.isWrite === isWrite).map((use) => use.panel).sort().join();
    if (last.traffic.left !== t.left || last.stored.sort().join() !== list(true) || [...last.hits, ...last.loads].sort().join() !== list(false))
      numbers.panels[policy].push("the last step differs");
  }
  const reuse = computeReuse(panels, tiles, true);
  numbers.lruLoads = [2, 3, 5, 8, 16, 40].map((count) => getLruLoads(reuse, count));
  const { rows, cols } = grids[0];
  if (rows * cols + rows + cols <= 19)
    numbers.optimum = [2, 3, 4].map((count) => findOptimalOrder(rows, cols, count).loads);
  const r = simulate(launch, config.order, config.machine), bound = computeBound(launch, capacity);
  numbers.simulation = {};
  for (const name of ["readSectors", "writtenSectors", "merged", "lookups", "writeLookups", "hits", "dramReads", "dramWrites", "dirty", "fabric", "ticks", "sampling", "dramReadsByArray"])
    numbers.simulation[name] = r[name];
  numbers.bound = { partition: bound.partition, compulsory: bound.compulsory };
  return numbers;
}
