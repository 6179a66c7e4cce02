// The model behind the page: launches, panels, the sectored cache, the simulation, lower bounds. A port of
// lib/Plan/Cost, function by function, with the same integers; tests/tools/weft-explore compares the two.
// No DOM here: the file runs in a page, in a worker and in Node.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const ceilDiv = (a, b) => Math.floor((a + b - 1) / b);

//===--- Launches (LaunchModel.cpp) ---===//

const affine = (fields) => ({ base: 0, perRow: 0, perCol: 0, perStep: 0, terms: [], ...fields });

/** Terms are [loop, divisor, modulus, factor] (LoopTerm of LaunchModel.h). */
function at(index, row, col, step, rowDivisor = 1) {
  let value = index.base + index.perRow * Math.floor(row / rowDivisor) + index.perCol * col + index.perStep * step;
  for (const [loop, divisor, modulus, factor] of index.terms) {
    const number = Math.floor((loop === "row" ? row : loop === "col" ? col : step) / divisor);
    value += factor * (modulus ? number % modulus : number);
  }
  return value;
}

function makeAccess(fields) {
  const access = { array: 0, outer: {}, byte: {}, outers: 1, bytes: 1, rowDivisor: 1, when: "each", isWrite: false, hint: 1, ...fields };
  return { ...access, outer: affine(access.outer), byte: affine(access.byte) };
}

function getSteps(stage, row, col) {
  if (!stage.causalRows)
    return stage.steps;
  const place = stage.causalPlace ? at(stage.causalPlace, row, col, 0) : col;
  return Math.min(Math.max(ceilDiv((place + 1) * stage.causalRows + (stage.causalBase || 0), stage.causalCols), 1), stage.steps);
}

function makeProduct(m, n, k, tile, elementBytes, arrays) {
  const operand = tile.k * elementBytes;
  return {
    grid: { rows: ceilDiv(m, tile.m), cols: ceilDiv(n, tile.n) },
    steps: ceilDiv(k, tile.k), causalRows: 0, causalCols: 1, operations: 2 * m * n * k,
    accesses: [
      makeAccess({ array: arrays[0], outer: { perRow: tile.m }, outers: tile.m, byte: { perStep: operand }, bytes: operand }),
      makeAccess({ array: arrays[1], outer: { perStep: tile.k }, outers: tile.k, byte: { perCol: tile.n * elementBytes }, bytes: tile.n * elementBytes }),
      makeAccess({ array: arrays[2], outer: { perRow: tile.m }, outers: tile.m, byte: { perCol: tile.n * elementBytes }, bytes: tile.n * elementBytes,
                   when: "last", isWrite: true }),
    ],
  };
}

function makeAttention(p, tile, b) {
  const row = p.headDim * b, kvHeads = ceilDiv(p.heads, p.group);
  const query = { outer: { perRow: p.queries, perCol: tile.m }, outers: tile.m, bytes: row };
  const key = { outer: { perRow: p.keys, perStep: tile.n }, outers: tile.n, bytes: row, rowDivisor: p.group };
  return {
    name: "attention",
    arrays: [["Q", p.heads * p.queries], ["K", kvHeads * p.keys], ["V", kvHeads * p.keys], ["O", p.heads * p.queries]]
      .map(([name, outers]) => ({ name, outers, rowBytes: row })),
    stages: [{
      grid: { rows: p.heads, cols: ceilDiv(p.queries, tile.m) }, steps: ceilDiv(p.keys, tile.n),
      causalRows: p.causal ? tile.m : 0, causalCols: p.causal ? tile.n : 1,
      operations: 4 * p.heads * p.queries * p.keys * (p.causal ? 0.5 : 1) * p.headDim,
      accesses: [makeAccess({ ...query, array: 0, when: "first" }), makeAccess({ ...key, array: 1 }), makeAccess({ ...key, array: 2 }),
                 makeAccess({ ...query, array: 3, when: "last", isWrite: true })],
    }],
  };
}

/** A launch of any tiles (TilesLaunch.cpp). */
function makeTiles(p) {
  const index = (fields) => affine(fields || {}), causal = p.causal || {};
  return {
    name: "tiles",
    arrays: p.arrays.map((array, i) => ({ name: `T${i}`, outers: 1, ...array })),
    stages: [{
      grid: { rows: p.rows, cols: p.cols }, steps: p.steps || 1, causalRows: causal.rows || 0, causalCols: causal.cols || 1,
      causalBase: causal.base || 0, causalPlace: causal.place ? index(causal.place) : null, isStatic: Boolean(p.static), operations: p.operations || 0,
      accesses: p.accesses.map((access) => makeAccess({ array: access.array, outer: access.outer || {}, byte: access.byte || {}, outers: access.outers || 1,
                                                        bytes: access.bytes, when: access.when || "each", isWrite: Boolean(access.write) })),
    }],
  };
}

/** The launch of a configuration (docs/explorer.md). */
const hintNames = ["evict_first", "normal", "evict_last"];

/** "A=evict_last,B=evict_first": eviction priorities of arrays; throws an Error that says what is wrong. */
function applyHints(text, launch) {
  for (const part of text ? text.split(",") : []) {
    const [name, hint] = part.split("=", 2), array = launch.arrays.findIndex((candidate) => candidate.name === name);
    if (array < 0)
      throw new Error(`hints: expected an array of ${launch.arrays.map((candidate) => candidate.name).join(", ")}, got '${name.slice(0, 40)}'`);
    if (!hintNames.includes(hint))
      throw new Error(`hints: ${name}: expected evict_first, normal or evict_last`);
    for (const stage of launch.stages)
      for (const access of stage.accesses)
        if (access.array === array)
          access.hint = hintNames.indexOf(hint);
  }
  return launch;
}

const makeLaunch = (config) => applyHints(config.hints || "", makeProblemLaunch(config));

function makeProblemLaunch(config) {
  const p = config.problem, tile = config.tile, b = config.elementBytes;
  if (p.kind === "attention")
    return makeAttention(p, tile, b);
  if (p.kind === "tiles")
    return makeTiles(p);
  if (p.kind === "chain")
    return {
      name: "chain",
      arrays: [{ name: "A", outers: p.m, rowBytes: p.k * b }, { name: "B", outers: p.k, rowBytes: p.l * b }, { name: "C", outers: p.m, rowBytes: p.l * b },
               { name: "D", outers: p.l, rowBytes: p.n * b }, { name: "E", outers: p.m, rowBytes: p.n * b }],
      stages: [makeProduct(p.m, p.l, p.k, tile, b, [0, 1, 2]), makeProduct(p.m, p.n, p.l, tile, b, [2, 3, 4])],
    };
  return {
    name: "gemm",
    arrays: [{ name: "A", outers: p.m, rowBytes: p.k * b }, { name: "B", outers: p.k, rowBytes: p.n * b }, { name: "C", outers: p.m, rowBytes: p.n * b }],
    stages: [makeProduct(p.m, p.n, p.k, tile, b, [0, 1, 2])],
  };
}

/** Bytes of what is only read, and of what is only written. */
function getCompulsory(launch) {
  const sum = { reads: 0, writes: 0 };
  launch.arrays.forEach((array, i) => {
    const uses = launch.stages.flatMap((stage) => stage.accesses).filter((access) => access.array === i);
    const isRead = uses.some((a) => !a.isWrite), isWritten = uses.some((a) => a.isWrite);
    if (isRead !== isWritten)
      sum[isRead ? "reads" : "writes"] += array.outers * array.rowBytes;
  });
  return sum;
}

//===--- Panels (PanelTrace.cpp, PanelModel.cpp) ---===//

function getRegion(access, array, tile, steps) {
  const first = access.when === "last" ? steps - 1 : 0, last = access.when === "first" ? 0 : steps - 1;
  const range = (index, extent, limit) => {
    let below = 0, above = 0;
    const terms = index.terms.filter(([loop, divisor, modulus, factor]) => {
      if (loop !== "step" || first === last)
        return true;
      const number = Math.floor(last / divisor), most = factor * (modulus ? Math.min(number, modulus - 1) : number);
      if (most < 0) below += most; else above += most;
      return false;
    });
    const fixed = { ...index, terms };
    const a = at(fixed, tile.row, tile.col, first, access.rowDivisor), b = at(fixed, tile.row, tile.col, last, access.rowDivisor);
    return [Math.max(Math.min(a, b) + below, 0), Math.min(Math.max(a, b) + above + extent, limit)];
  };
  const [outer, outerEnd] = range(access.outer, access.outers, array.outers);
  const [byte, byteEnd] = range(access.byte, access.bytes, array.rowBytes);
  return { outer, outerEnd, byte, byteEnd };
}

function cutArrays(launch) {
  const cells = launch.arrays.map(() => ({ rows: 0, bytes: 0, perRow: 1, count: 0, first: 0 }));
  for (const isWrite of [true, false])
    for (const stage of launch.stages)
      for (const access of stage.accesses) {
        const cell = cells[access.array];
        if (access.isWrite !== isWrite || cell.rows > 0)
          continue;
        const region = getRegion(access, launch.arrays[access.array], { row: 0, col: 0 }, isWrite ? 1 : stage.steps);
        cell.rows = Math.max(isWrite ? access.outers : region.outerEnd - region.outer, 1);
        cell.bytes = Math.max(isWrite ? access.bytes : region.byteEnd - region.byte, 1);
      }
  let next = 0;
  cells.forEach((cell, i) => {
    cell.first = next;
    if (!cell.rows)
      return;
    cell.perRow = ceilDiv(launch.arrays[i].rowBytes, cell.bytes);
    cell.count = ceilDiv(launch.arrays[i].outers, cell.rows) * cell.perRow;
    next += cell.count;
  });
  return cells;
}

/** How many panels a launch has, before their names are made. */
const countPanels = (launch) => cutArrays(launch).reduce((sum, cell) => sum + cell.count, 0);

/** Panels of a launch: `names`, `bytes`, and `usesOf(tile)`, a list of {panel, isWrite}. */
function makePanels(launch) {
  const cells = cutArrays(launch), names = [], bytes = [], arrayOf = [];
  cells.forEach((cell, i) => {
    const array = launch.arrays[i];
    for (let k = 0; k < cell.count; ++k) {
      const row = Math.floor(k / cell.perRow), col = k % cell.perRow, isOneRow = array.outers <= cell.rows;
      names.push(array.name + (isOneRow ? col : row) + (!isOneRow && cell.perRow > 1 ? "." + col : ""));
      bytes.push(Math.min(cell.rows, array.outers - row * cell.rows) * Math.min(cell.bytes, array.rowBytes - col * cell.bytes));
      arrayOf.push(i);
    }
  });
  const usesOf = (tile) => {
    const stage = launch.stages[tile.stage], uses = [];
    for (const access of stage.accesses) {
      const cell = cells[access.array], region = getRegion(access, launch.arrays[access.array], tile, getSteps(stage, tile.row, tile.col));
      for (let row = Math.floor(region.outer / cell.rows); row * cell.rows < region.outerEnd; ++row)
        for (let col = Math.floor(region.byte / cell.bytes); col * cell.bytes < region.byteEnd; ++col)
          uses.push({ panel: cell.first + row * cell.perRow + col, isWrite: access.isWrite });
    }
    return uses;
  };
  return { names, bytes, arrayOf, usesOf };
}

/** Next uses: of every use the time of the panel's next one, past the end if there is none. */
function findNextUses(blocks, panels) {
  const flat = blocks.flatMap((uses) => uses.map((use) => use.panel));
  const next = new Float64Array(flat.length), upcoming = new Float64Array(panels).fill(flat.length);
  for (let time = flat.length; time-- > 0;) {
    next[time] = upcoming[flat[time]];
    upcoming[flat[time]] = time;
  }
  return next;
}

/** Panels that were used last, or came first, in the order of a Map's keys. */
class QueueCache {
  constructor(bytes, capacity, movesOnUse) {
    Object.assign(this, { bytes, capacity, movesOnUse, used: 0, entries: new Map() });
  }
  has(panel) { return this.entries.has(panel); }
  list() { return [...this.entries.keys()]; }
  isDirty(panel) { return this.entries.get(panel); }
  /** Returns the panels evicted, as [panel, was it written]. */
  use(panel, isWrite) {
    const isHit = this.entries.has(panel), dirty = isWrite || (isHit && this.entries.get(panel)), evicted = [];
    if (isHit && this.movesOnUse)
      this.entries.delete(panel);
    this.entries.set(panel, dirty);
    if (isHit)
      return evicted;
    this.used += this.bytes[panel];
    for (const [victim, wasWritten] of this.entries) {
      if (this.used <= this.capacity)
        break;
      if (victim === panel)
        continue;
      this.entries.delete(victim);
      this.used -= this.bytes[victim];
      evicted.push([victim, wasWritten]);
    }
    return evicted;
  }
}

/** Farthest next use; the panels of the block stay. A heap of [next use, panel], old entries skipped. */
class FarthestCache {
  constructor(bytes, capacity) {
    Object.assign(this, { bytes, capacity, used: 0, entries: new Map(), heap: [] });
  }
  has(panel) { return this.entries.has(panel); }
  list() { return [...this.entries.keys()]; }
  isDirty(panel) { return this.entries.get(panel).dirty; }
  static above(a, b) { return a[0] !== b[0] ? a[0] > b[0] : a[1] > b[1]; }
  push(entry) {
    const heap = this.heap;
    let i = heap.push(entry) - 1;
    for (let parent; i > 0 && FarthestCache.above(heap[i], heap[parent = (i - 1) >> 1]); i = parent)
      [heap[i], heap[parent]] = [heap[parent], heap[i]];
  }
  pop() {
    const heap = this.heap, top = heap[0], last = heap.pop();
    if (heap.length) {
      heap[0] = last;
      for (let i = 0;;) {
        let best = i;
        for (const child of [2 * i + 1, 2 * i + 2])
          if (child < heap.length && FarthestCache.above(heap[child], heap[best]))
            best = child;
        if (best === i)
          break;
        [heap[i], heap[best]] = [heap[best], heap[i]];
        i = best;
      }
    }
    return top;
  }
  use(panel, isWrite, next, pinned) {
    const old = this.entries.get(panel), evicted = [], held = [];
    this.entries.set(panel, { dirty: isWrite || Boolean(old && old.dirty), next });
    this.push([next, panel]);
    if (old)
      return evicted;
    this.used += this.bytes[panel];
    while (this.used > this.capacity && this.heap.length) {
      const top = this.pop(), entry = this.entries.get(top[1]);
      if (!entry || entry.next !== top[0])
        continue;
      if (pinned.has(top[1])) {
        held.push(top);
        continue;
      }
      this.entries.delete(top[1]);
      this.used -= this.bytes[top[1]];
      evicted.push([top[1], entry.dirty]);
    }
    held.forEach((entry) => this.push(entry));
    return evicted;
  }
}

/** Runs tiles through a cache of whole panels. `observe(step)` sees each block: {hits, loads, stored, evicted: panels; cache; reads, loadCount, writes: so far}. */
function runPanels(panels, tiles, capacity, policy, observe) {
  const blocks = tiles.map(panels.usesOf), isFarthest = policy === "farthest";
  const next = isFarthest ? findNextUses(blocks, panels.bytes.length) : null;
  const cache = isFarthest ? new FarthestCache(panels.bytes, capacity) : new QueueCache(panels.bytes, capacity, policy === "lru");
  const traffic = { reads: 0, loads: 0, writes: 0, left: 0 };
  let time = 0;
  blocks.forEach((uses, index) => {
    const pinned = isFarthest ? new Set(uses.map((use) => use.panel)) : null;
    const step = { index, hits: [], loads: [], stored: [], evicted: [] };
    for (const { panel, isWrite } of uses) {
      if (isWrite)
        step.stored.push(panel);
      else if (cache.has(panel))
        step.hits.push(panel);
      else {
        step.loads.push(panel);
        traffic.reads += panels.bytes[panel];
        ++traffic.loads;
      }
      for (const [victim, wasWritten] of cache.use(panel, isWrite, next && next[time], pinned)) {
        step.evicted.push(victim);
        if (wasWritten)
          traffic.writes += panels.bytes[victim];
      }
      ++time;
    }
    if (observe)
      observe({ ...step, cache, reads: traffic.reads, loadCount: traffic.loads, writes: traffic.writes });
  });
  traffic.left = cache.list().reduce((sum, panel) => sum + (cache.isDirty(panel) ? panels.bytes[panel] : 0), 0);
  return traffic;
}

/** How many other panels were used between two uses: {cold, counts[distance]}. */
function computeReuse(uses) {
  let panels = 0;
  for (const use of uses)
    panels = Math.max(panels, use + 1);
  const last = new Int32Array(panels).fill(-1), tree = new Int32Array(uses.length + 1), counts = new Array(panels).fill(0);
  const change = (i, by) => { for (++i; i < tree.length; i += i & -i) tree[i] += by; };
  const upTo = (i) => { let sum = 0; for (++i; i > 0; i -= i & -i) sum += tree[i]; return sum; };
  let cold = 0;
  uses.forEach((use, time) => {
    const before = last[use];
    if (before < 0)
      ++cold;
    else {
      ++counts[upTo(time - 1) - upTo(before)];
      change(before, -1);
    }
    change(time, 1);
    last[use] = time;
  });
  return { cold, counts };
}

const getLruLoads = (reuse, capacity) => reuse.counts.slice(Math.max(capacity, 0)).reduce((sum, count) => sum + count, reuse.cold);

//===--- The cache (CacheModel.cpp) ---===//

function mixBits(value) {
  value = Math.imul((value ^ (value >>> 16)) >>> 0, 0x85ebca6b) >>> 0;
  value = Math.imul((value ^ (value >>> 13)) >>> 0, 0xc2b2ae35) >>> 0;
  return (value ^ (value >>> 16)) >>> 0;
}

function countBits(value) {
  let count = 0;
  for (; value; value &= value - 1)
    ++count;
  return count;
}

/** One half, or the whole, of a cache; see CacheModel.h. access() leaves its answer in `missing` and `evicted`. */
class CacheBank {
  constructor(lines, ways, universe) {
    this.ways = ways;
    this.sets = ways ? Math.max(Math.floor(lines / ways), 1) : 1;
    const slots = ways ? this.sets * ways : Math.max(lines, 1);
    this.number = new Int32Array(slots).fill(-1);
    for (const name of ["valid", "dirty", "stamp", "hint"])
      this[name] = new Uint32Array(slots);
    this.before = new Int32Array(slots).fill(-1);
    this.after = new Int32Array(slots).fill(-1);
    this.places = new Int32Array(universe).fill(-1);
    this.first = [-1, -1, -1];
    this.last = [-1, -1, -1];
    this.clock = this.unused = this.missing = this.evicted = 0;
  }
  unlink(slot) {
    const list = this.hint[slot], before = this.before[slot], after = this.after[slot];
    if (before >= 0) this.after[before] = after; else this.first[list] = after;
    if (after >= 0) this.before[after] = before; else this.last[list] = before;
  }
  append(slot) {
    const list = this.hint[slot], last = this.last[list];
    this.before[slot] = last;
    this.after[slot] = -1;
    if (last >= 0) this.after[last] = slot; else this.first[list] = slot;
    this.last[list] = slot;
  }
  chooseVictim(line) {
    if (!this.ways) {
      if (this.unused < this.number.length)
        return this.unused++;
      const slot = this.first.find((candidate) => candidate >= 0);
      this.unlink(slot);
      return slot;
    }
    const run = Math.floor(line / this.sets), set = ((line % this.sets) + (mixBits(run) % this.sets)) % this.sets;
    const start = set * this.ways;
    let victim = start;
    for (let slot = start + 1; slot < start + this.ways; ++slot)
      if (this.isBefore(slot, victim))
        victim = slot;
    return victim;
  }
  isBefore(a, b) {
    const usedA = this.number[a] >= 0, usedB = this.number[b] >= 0;
    if (usedA !== usedB) return usedB;
    return this.hint[a] !== this.hint[b] ? this.hint[a] < this.hint[b] : this.stamp[a] < this.stamp[b];
  }
  access(line, sectors, hint, isWrite) {
    let slot = this.places[line];
    this.evicted = 0;
    if (slot >= 0) {
      if (!this.ways)
        this.unlink(slot);
    } else {
      slot = this.chooseVictim(line);
      if (this.number[slot] >= 0)
        this.places[this.number[slot]] = -1;
      this.evicted = countBits(this.dirty[slot]);
      this.number[slot] = line;
      this.valid[slot] = this.dirty[slot] = 0;
      this.places[line] = slot;
    }
    this.missing = (sectors & ~this.valid[slot]) >>> 0;
    this.valid[slot] |= sectors;
    if (isWrite)
      this.dirty[slot] |= sectors;
    this.hint[slot] = hint;
    this.stamp[slot] = ++this.clock;
    if (!this.ways)
      this.append(slot);
  }
  drop(line) {
    const slot = this.places[line];
    if (slot >= 0)
      this.valid[slot] = this.dirty[slot] = 0;
  }
  countDirtySectors() { return this.dirty.reduce((sum, bits) => sum + countBits(bits), 0); }
}

//===--- The simulation (Simulate.cpp) ---===//

const linesOfHome = 4;

class Simulation {
  constructor(launch, tiles, machine) {
    Object.assign(this, { launch, tiles, machine, nextBlock: 0 });
    const cache = machine.cache;
    let sampling = machine.sampling || 64;
    if (!machine.sampling)
      for (const stage of launch.stages)
        for (const access of stage.accesses)
          while (sampling > Math.min(access.outers, launch.arrays[access.array].outers))
            sampling /= 2;
    let lines = 0;
    this.firstLine = [];
    this.linesPerRow = [];
    for (const array of launch.arrays) {
      this.firstLine.push(lines);
      this.linesPerRow.push(ceilDiv(array.rowBytes, cache.lineBytes));
      lines += ceilDiv(array.outers, sampling) * this.linesPerRow[this.linesPerRow.length - 1];
    }
    if (lines > 1 << 26)
      throw new Error("expected at most 67108864 lines in all arrays; use larger tiles");
    const perBank = Math.max(Math.floor(cache.bytes / cache.partitions / cache.lineBytes / sampling), 1);
    this.banks = Array.from({ length: cache.partitions }, () => new CacheBank(perBank, cache.ways, lines));
    const resident = machine.sms * machine.blocksPerSm, skew = machine.skew || 0;
    this.drift = machine.drift || 0;
    this.smsPerPort = machine.smsPerPort || 1;
    this.turn = 0;
    this.lastAsk = this.smsPerPort > 1 ? new Uint32Array(lines) : null;
    this.slots = Array.from({ length: resident }, (_, i) => ({
      block: -1, step: 0, next: i, side: cache.partitions === 2 ? mixBits(Math.floor((i % machine.sms) / this.smsPerPort)) & 1 : 0,
      delay: skew ? mixBits(i) % (skew + 1) : 0 }));
    this.doneInRow = new Array(launch.stages[0].grid.rows).fill(0);
    this.result = { readSectors: 0, writtenSectors: 0, merged: 0, lookups: 0, hits: 0, writeLookups: 0, dramReads: 0, dramWrites: 0, dirty: 0, fabric: 0, ticks: 0,
                    blocks: tiles.length, resident, dramReadsByArray: launch.arrays.map(() => 0), sampling };
  }
  accessLine(side, line, sectors, hint, isWrite) {
    const isSplit = this.banks.length === 2, r = this.result, asked = countBits(sectors);
    const home = isSplit ? mixBits(Math.floor(line / linesOfHome)) & 1 : 0;
    r.lookups += asked;
    if (isWrite) {
      r.writeLookups += asked;
      if (isSplit)
        this.banks[1 - home].drop(line);
      this.banks[home].access(line, sectors, hint, true);
      r.hits += asked;
      r.dramWrites += this.banks[home].evicted;
      if (home !== side && isSplit) {
        r.lookups += asked;
        r.writeLookups += asked;
        r.hits += asked;
        r.fabric += asked;
      }
      return 0;
    }
    const near = this.banks[isSplit ? side : 0];
    near.access(line, sectors, hint, false);
    let missing = countBits(near.missing);
    r.hits += asked - missing;
    r.dramWrites += near.evicted;
    if (isSplit && home !== side && missing) {
      r.lookups += missing;
      r.fabric += missing;
      const far = this.banks[home];
      far.access(line, near.missing, hint, false);
      r.hits += missing - countBits(far.missing);
      r.dramWrites += far.evicted;
      missing = countBits(far.missing);
    }
    r.dramReads += missing;
    return missing;
  }
  runAccess(access, tile, step, side) {
    const array = this.launch.arrays[access.array], r = this.result;
    const { lineBytes, sectorBytes } = this.machine.cache;
    const outerStart = at(access.outer, tile.row, tile.col, step, access.rowDivisor), byteStart = at(access.byte, tile.row, tile.col, step, access.rowDivisor);
    const outerEnd = Math.min(outerStart + access.outers, array.outers), byteEnd = Math.min(byteStart + access.bytes, array.rowBytes);
    const byte = Math.max(byteStart, 0);
    if (byte >= byteEnd)
      return;
    for (let sample = ceilDiv(Math.max(outerStart, 0), r.sampling); sample * r.sampling < outerEnd; ++sample) {
      const start = this.firstLine[access.array] + sample * this.linesPerRow[access.array];
      for (let line = Math.floor(byte / lineBytes); line <= Math.floor((byteEnd - 1) / lineBytes); ++line) {
        const first = Math.floor(Math.max(byte - line * lineBytes, 0) / sectorBytes);
        const last = Math.floor((Math.min(byteEnd - line * lineBytes, lineBytes) - 1) / sectorBytes);
        const sectors = (2 ** (last + 1) - 2 ** first) >>> 0;
        r[access.isWrite ? "writtenSectors" : "readSectors"] += last - first + 1;
        if (!access.isWrite && this.lastAsk) {
          const before = this.lastAsk[start + line];
          this.lastAsk[start + line] = this.turn;
          if (before === this.turn) {
            r.merged += last - first + 1;
            continue;
          }
        }
        r.dramReadsByArray[access.array] += this.accessLine(side, start + line, sectors, access.hint, access.isWrite);
      }
    }
  }
  advance(slot) {
    if (slot.delay > 0) {
      --slot.delay;
      return true;
    }
    if (slot.block < 0) {
      const isStatic = Boolean(this.launch.stages[0].isStatic);
      if ((isStatic ? slot.next : this.nextBlock) >= this.tiles.length)
        return false;
      slot.block = isStatic ? slot.next : this.nextBlock;
      slot.next += this.result.resident;
      ++this.nextBlock;
      slot.step = 0;
      if (this.drift && slot.block >= this.result.resident)
        slot.delay = mixBits(Math.floor(slot.block / this.smsPerPort)) % (this.drift + 1);
      if (slot.delay > 0)
        return true;
    }
    const tile = this.tiles[slot.block], stage = this.launch.stages[tile.stage];
    if (tile.stage === 1 && this.doneInRow[tile.row] < this.launch.stages[0].grid.cols)
      return false;
    const lastStep = getSteps(stage, tile.row, tile.col) - 1;
    for (const access of stage.accesses)
      if (access.when === "each" || slot.step === (access.when === "first" ? 0 : lastStep))
        this.runAccess(access, tile, slot.step, slot.side);
    if (slot.step++ === lastStep) {
      if (tile.stage === 0)
        ++this.doneInRow[tile.row];
      slot.block = -1;
    }
    return true;
  }
  run() {
    const r = this.result;
    while (this.nextBlock < this.tiles.length || this.slots.some((slot) => slot.block >= 0)) {
      let isMoving = false;
      this.slots.forEach((slot, i) => {
        if ((i % this.machine.sms) % this.smsPerPort === 0)
          this.turn = (this.turn + 1) >>> 0;
        isMoving = this.advance(slot) || isMoving;
      });
      if (!isMoving)
        throw new Error("expected an order in which blocks wait for earlier ones");
      ++r.ticks;
    }
    r.dirty = this.banks.reduce((sum, bank) => sum + bank.countDirtySectors(), 0);
    for (const name of ["readSectors", "writtenSectors", "merged", "lookups", "hits", "writeLookups", "dramReads", "dramWrites", "dirty", "fabric"])
      r[name] *= r.sampling;
    r.dramReadsByArray = r.dramReadsByArray.map((count) => count * r.sampling);
    return r;
  }
}

const simulate = (launch, tiles, machine) => new Simulation(launch, tiles, machine).run();

if (typeof module !== "undefined")
  module.exports = { makeLaunch, getCompulsory, countPanels, makePanels, runPanels, computeReuse, getLruLoads, simulate, mixBits, ceilDiv, getSteps };
