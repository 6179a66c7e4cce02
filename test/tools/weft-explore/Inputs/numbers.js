// What `weft explore --numbers` prints, by the page's scripts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

function hashTiles(tiles) {
  return tiles.reduce((hash, tile) => mixBits((hash ^ (tile.row * 65537 + tile.col * 2 + tile.stage)) >>> 0), 0);
}

function computeNumbers(config) {
  const launch = makeLaunch(config), grids = launch.stages.map((stage) => stage.grid), tiles = listTiles(config.order, grids);
  const panels = makePanels(launch), capacity = config.machine.cache.bytes, numbers = { order: config.order, tiles: tiles.length, hash: hashTiles(tiles), panels: {} };
  for (const policy of ["lru", "fifo", "farthest"]) {
    const t = runPanels(panels, tiles, capacity, policy);
    numbers.panels[policy] = [t.reads, t.loads, t.writes, t.left];
  }
  const reuse = computeReuse(tiles.flatMap((tile) => panels.usesOf(tile).map((use) => use.panel)));
  numbers.lruLoads = [2, 3, 5, 8, 16, 40].map((capacity) => getLruLoads(reuse, capacity));
  const { rows, cols } = grids[0];
  if (rows * cols + rows + cols <= 19)
    numbers.optimum = [2, 3, 4].map((capacity) => findOptimalOrder(rows, cols, capacity).loads);
  const r = simulate(launch, tiles, config.machine);
  numbers.simulation = {};
  for (const name of ["readSectors", "writtenSectors", "merged", "lookups", "writeLookups", "hits", "dramReads", "dramWrites", "dirty", "fabric", "ticks", "sampling", "dramReadsByArray"])
    numbers.simulation[name] = r[name];
  const group = makeGroup(config), bound = computeTrafficBound(group, capacity), once = getCompulsory(launch);
  numbers.bound = { partition: bound.partition, compulsory: group ? bound.compulsory : once.reads + once.writes };
  return numbers;
}
