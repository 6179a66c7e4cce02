// The models behind the pages: lib/Traversal and lib/Plan/Cost as WebAssembly, which the build makes of ../Models.cpp and puts
// into the page as `weftModels`. Numbers and texts go in and come out; nothing is computed here. No DOM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const maxPageTiles = 1 << 18, maxPagePanels = 1 << 18;
/** The most tiles + panels that the page searches: 2^25 states. */
const maxPageSearchBits = 25;
const policies = ["lru", "fifo", "farthest"];

/** call(name, numbers, text) gives {numbers, texts}: what the function of Models.cpp leaves; throws its message as an Error. */
const models = (() => {
  const module = new WebAssembly.Module(Uint8Array.from(atob(weftModels), (c) => c.charCodeAt(0))), imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) { // Of the C library; a page has no files.
    imports[from] = imports[from] || {};
    imports[from][name] = () => { throw new Error(`${name}: expected no call of the system`); };
  }
  const wasm = new WebAssembly.Instance(module, imports).exports, encoder = new TextEncoder(), decoder = new TextDecoder();
  wasm._initialize();
  let opened = null;
  const call = (name, numbers, text = "") => {
    const bytes = encoder.encode(text), at = wasm.resizeNumbers(numbers.length), textAt = wasm.resizeText(bytes.length);
    new Float64Array(wasm.memory.buffer, at, numbers.length).set(numbers); // The memory may have moved until here.
    new Uint8Array(wasm.memory.buffer, textAt, bytes.length).set(bytes);
    const isGood = wasm[name](), answer = decoder.decode(new Uint8Array(wasm.memory.buffer, wasm.getText(), wasm.countText()));
    if (!isGood)
      throw new Error(answer);
    return { numbers: new Float64Array(wasm.memory.buffer, wasm.getNumbers(), wasm.countNumbers()).slice(), texts: answer.split("\0").slice(0, -1) };
  };
  /** The same of a launch, which is opened if another one is. */
  const callOf = (launch, name, numbers, text) => {
    if (opened !== launch) {
      opened = null;
      call("openLaunch", launch.numbers, launch.text);
      opened = launch;
    }
    return call(name, numbers, text);
  };
  const open = (numbers, text) => {
    opened = null;
    return call("openLaunch", numbers, text);
  };
  return { call, callOf, open };
})();

/** Takes numbers of an answer one by one. */
class Answer {
  constructor(numbers) { Object.assign(this, { numbers, place: 0 }); }
  next() { return this.numbers[this.place++]; }
  take(count) { return Array.from(this.numbers.subarray(this.place, (this.place += count))); }
  list() { return this.take(this.next()); }
}

//===--- Orders ---===//

/** Throws an Error if `text` is no traversal. */
const checkOrder = (text) => { models.call("checkOrder", [], text); };

/** The tiles {stage, row, col} of a traversal's text on one grid, or two for a chain. */
function listTiles(text, grids) {
  const total = grids.reduce((sum, grid) => sum + grid.rows * grid.cols, 0);
  if (total > maxPageTiles)
    throw new Error(`expected at most ${maxPageTiles} tiles on this page, got ${total}; use larger tiles`);
  const { numbers } = models.call("listTiles", grids.flatMap((grid) => [grid.rows, grid.cols]), text);
  return Array.from({ length: total }, (_, i) => ({ stage: numbers[3 * i], row: numbers[3 * i + 1], col: numbers[3 * i + 2] }));
}

//===--- Launches ---===//

const indexNumbers = ({ base = 0, terms = [] } = {}) =>
  [base, terms.length, ...terms.flatMap(([loop, ...factors]) => [["row", "col", "step"].indexOf(loop), ...factors])];
const listNumbers = (list) => [list.length, ...list];

function groupNumbers({ dims, arrays, statements }) {
  const every = (list, part) => list.filter((_, i) => i % 2 === part);
  return [...listNumbers(dims), arrays.length,
          ...arrays.flatMap((array) => [["input", "output", "intermediate"].indexOf(array.kind), array.bytes, array.axes.length,
                                        ...array.axes.flatMap((axis) => [...listNumbers(every(axis, 0)), ...listNumbers(every(axis, 1))])]),
          statements.length, ...statements.flatMap((each) => [...listNumbers(each.dims), ...listNumbers(each.reads), each.result])];
}

function tilesNumbers(p) {
  const causal = p.causal ? [1, p.causal.rows, p.causal.cols, p.causal.base || 0, ...(p.causal.place ? [1, ...indexNumbers(p.causal.place)] : [0])] : [0];
  const product = p.product && ["batch", "m", "n", "k"].map((name) => p.product[name] || 1);
  return [p.rows, p.cols, p.steps || 1, p.static ? 1 : 0, ...causal, ...p.arrays.flatMap((array) => [array.outers || 1, array.rowBytes]), p.accesses.length,
          ...p.accesses.flatMap((access) => [access.array, access.outers || 1, access.bytes, ["each", "first", "last"].indexOf(access.when || "each"),
                                             access.write ? 1 : 0, ...indexNumbers(access.outer), ...indexNumbers(access.byte)]),
          ...(product ? [1, ...product] : [0, ...(p.group ? groupNumbers(p.group) : [0, 0, 0])])];
}

/** The launch of a configuration (docs/explorer.md): what a page draws of it, and what opens it. Throws an Error if the hints do not fit. */
function makeLaunch(config) {
  const p = config.problem, kind = ["gemm", "chain", "attention", "tiles"].indexOf(p.kind);
  const problem = [() => [p.m, p.n, p.k, 0, 0, 0], () => [p.m, p.k, p.l, p.n, 0, 0],
                   () => [p.heads, p.group || 1, p.queries, p.keys, p.headDim, p.causal ? 1 : 0], () => tilesNumbers(p)][kind]();
  const numbers = [kind, config.tile.m, config.tile.n, config.tile.k, config.elementBytes, ...problem];
  const names = kind === 3 ? p.arrays.map((array, i) => String(array.name === undefined ? `T${i}` : array.name).replaceAll("\0", "")) : [];
  const text = [config.hints || "", ...names].map((part) => `${part}\0`).join("");
  const { numbers: said, texts } = models.open(numbers, text), answer = new Answer(said), repeat = (make) => Array.from({ length: answer.next() }, (_, i) => make(i));
  const compulsory = { reads: answer.next(), writes: answer.next() };
  const arrays = repeat((i) => ({ name: texts[i], outers: answer.next(), rowBytes: answer.next() }));
  const stages = repeat(() => {
    const [rows, cols, steps] = answer.take(3);
    return { grid: { rows, cols }, steps, accesses: repeat(() => {
      const [array, isWrite, outerRow, outerCol, byteCol] = answer.take(5);
      return { array, isWrite: Boolean(isWrite), outer: { perRow: outerRow, perCol: outerCol }, byte: { perCol: byteCol } };
    }) };
  });
  return { numbers, text, compulsory, arrays, stages };
}

//===--- Panels ---===//

/** Panels of a launch: `names`, `bytes`, `arrayOf`, `usesOf(tile)`, a list of {panel, isWrite}, and `idOf(tile)`. Throws an Error if there are too many. */
function makePanels(launch) {
  const { numbers, texts: names } = models.callOf(launch, "listLaunchPanels", []), answer = new Answer(numbers), bytes = answer.list(), arrayOf = answer.list();
  if (bytes.length > maxPagePanels)
    throw new Error(`expected at most ${maxPagePanels} panels on this page, got ${bytes.length}; use larger tiles`);
  const [first, last] = [launch.stages[0].grid, launch.stages[launch.stages.length - 1].grid], starts = [];
  while (answer.place < numbers.length) {
    starts.push(answer.place);
    answer.place += numbers[answer.place] + 1;
  }
  const idOf = (tile) => (tile.stage ? first.rows * first.cols : 0) + tile.row * (tile.stage ? last : first).cols + tile.col;
  const usesOf = (tile) => {
    const start = starts[idOf(tile)];
    return Array.from(numbers.subarray(start + 1, start + 1 + numbers[start]), (use) => ({ panel: Math.floor(use / 2), isWrite: use % 2 === 1 }));
  };
  return { launch, names, bytes, arrayOf, idOf, usesOf };
}

const readTraffic = (answer) => ({ reads: answer.next(), loads: answer.next(), writes: answer.next(), left: answer.next() });
const callPath = (panels, name, numbers, tiles) => new Answer(models.callOf(panels.launch, name, [...numbers, ...tiles.map(panels.idOf)]).numbers);

/** Runs tiles through a cache of whole panels: bytes, and how many loads. */
const runPanels = (panels, tiles, capacity, policy) => readTraffic(callPath(panels, "runPath", [capacity, policies.indexOf(policy)], tiles));

/** What block `index` of them does, as lists of panels, and the traffic so far. */
function watchPanels(panels, tiles, capacity, policy, index) {
  const answer = callPath(panels, "watchPath", [capacity, policies.indexOf(policy), index], tiles), traffic = readTraffic(answer);
  const [hits, loads, stored, evicted, held] = Array.from({ length: 5 }, () => answer.list());
  return { traffic, hits, loads, stored, evicted, held };
}

/** How many other panels were used between two uses: {cold, counts[distance]}. Writes count if `countsWrites`. */
function computeReuse(panels, tiles, countsWrites) {
  const answer = callPath(panels, "reusePath", [countsWrites ? 1 : 0], tiles);
  return { cold: answer.next(), counts: answer.take(answer.numbers.length - 1) };
}

//===--- Simulation, bounds, optima ---===//

const counterNames = ["readSectors", "writtenSectors", "merged", "lookups", "hits", "writeLookups", "dramReads", "dramWrites", "dirty", "fabric", "ticks",
                      "blocks", "resident", "sampling"];

/** The counters of an order on a machine, in sectors. */
function simulate(launch, order, machine) {
  const { sms, blocksPerSm, skew, drift, smsPerPort, sampling, cache } = machine;
  const { numbers } = models.callOf(launch, "simulateOrder", [sms, blocksPerSm, skew, drift, smsPerPort, sampling || 0, cache.bytes, cache.lineBytes, cache.sectorBytes,
                                                              cache.ways, cache.partitions], order);
  return { ...Object.fromEntries(counterNames.map((name, i) => [name, numbers[i]])), dramReadsByArray: Array.from(numbers.subarray(counterNames.length)) };
}

/** {bytes, partition, compulsory}: what no schedule with a fast memory of `fastBytes` goes below. */
function computeBound(launch, fastBytes) {
  const [partition, compulsory] = models.callOf(launch, "boundTraffic", [fastBytes]).numbers;
  return { bytes: Math.max(partition, compulsory), partition, compulsory };
}

/** The fewest panel loads of any order under any replacement, and such an order as row-major tile numbers. */
function findOptimalOrder(rows, cols, capacity) {
  if (rows * cols + rows + cols > maxPageSearchBits)
    throw new Error(`expected a grid with at most ${maxPageSearchBits} tiles and panels`);
  const answer = new Answer(models.call("searchOrder", [rows, cols, capacity]).numbers);
  return { loads: answer.next(), table: answer.take(answer.numbers.length - 1) };
}
