// The model behind the page: launches and panels. With simulation.js and bounds.js a port of lib/Plan/Cost, function by
// function, with the same integers; test/tools/weft-explore compares the two. No DOM here.
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
