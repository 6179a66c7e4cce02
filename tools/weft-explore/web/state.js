// The page's state: a configuration, a path of tiles, how many of them are computed; and its forms as JSON and as a
// link. No DOM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const problemFields = {
  gemm: { m: 1024, n: 1024, k: 4096 },
  chain: { m: 1024, k: 1024, l: 1024, n: 512 },
  tiles: {}, // Of a compiled kernel: read from a file, not edited.
  attention: { heads: 16, group: 4, queries: 1024, keys: 1024, headDim: 128, causal: false },
};
const fieldNames = {
  m: "M (rows)", n: "N (columns)", k: "K (depth)", l: "L (between the GEMMs)", heads: "heads x batch", group: "heads that share keys",
  queries: "queries", keys: "keys", headDim: "size of a head", causal: "causal",
};

function makeDefault() {
  return {
    problem: { kind: "gemm", ...problemFields.gemm }, tile: { m: 128, n: 128, k: 64 }, elementBytes: 2, order: "row", hints: "",
    machine: { sms: 4, blocksPerSm: 1, skew: 0, drift: 0, smsPerPort: 1, sampling: 0, cache: { bytes: 3 << 20, lineBytes: 128, sectorBytes: 32, ways: 16, partitions: 1 } },
  };
}

function applyDevice(machine, device) {
  machine.sms = device.sms;
  machine.cache.bytes = device.bytes;
  machine.cache.partitions = device.partitions;
  machine.drift = device.drift;
  machine.smsPerPort = device.smsPerPort;
}

/** A launch of any tiles, field by field (TilesLaunch.cpp has the same ranges). */
function readTiles(p, fail) {
  const most = 2 ** 31;
  const number = (from, name, least, most, path, otherwise) => {
    const value = from[name] === undefined ? otherwise : from[name];
    return Number.isInteger(value) && value >= least && value <= most ? value : fail(`${path}.${name}`, `a whole number from ${least} to ${most}`);
  };
  const index = (value, path) => {
    const from = value || {}, terms = from.terms || [];
    const isGood = Array.isArray(terms) && terms.length <= 16 && terms.every((term) => Array.isArray(term) && term.length === 4 &&
      ["row", "col", "step"].includes(term[0]) && term.slice(1).every((x) => Number.isInteger(x) && Math.abs(x) <= most) && term[1] >= 1 && term[2] >= 0);
    return { base: number(from, "base", -most, most, path, 0), terms: isGood ? terms : fail(path, 'terms ["row" or "col" or "step", divisor, modulus, factor]') };
  };
  const list = (name) => (Array.isArray(p[name]) && p[name].length >= 1 && p[name].length <= 64 ? p[name] : fail(`problem.${name}`, "an array of 1 to 64"));
  const tiles = { kind: "tiles", rows: number(p, "rows", 1, 1 << 24, "problem"), cols: number(p, "cols", 1, 1 << 24, "problem"),
                  steps: number(p, "steps", 1, 1 << 24, "problem", 1), static: Boolean(p.static), operations: Number(p.operations) || 0 };
  tiles.arrays = list("arrays").map((array, i) => ({ name: array.name === undefined ? `T${i}` : String(array.name),
    outers: number(array, "outers", 1, most, `problem.arrays[${i}]`, 1), rowBytes: number(array, "rowBytes", 1, most, `problem.arrays[${i}]`) }));
  tiles.accesses = list("accesses").map((access, i) => {
    const path = `problem.accesses[${i}]`, when = access.when || "each";
    if (!["each", "first", "last"].includes(when))
      fail(`${path}.when`, "each, first or last");
    return { array: number(access, "array", 0, tiles.arrays.length - 1, path), outers: number(access, "outers", 1, most, path, 1),
             bytes: number(access, "bytes", 1, most, path), when, write: Boolean(access.write), outer: index(access.outer, `${path}.outer`),
             byte: index(access.byte, `${path}.byte`) };
  });
  if (p.causal)
    tiles.causal = { rows: number(p.causal, "rows", 1, 1 << 24, "problem.causal"), cols: number(p.causal, "cols", 1, 1 << 24, "problem.causal"),
                     base: number(p.causal, "base", -most, most, "problem.causal", 0),
                     ...(p.causal.place ? { place: index(p.causal.place, "problem.causal.place") } : {}) };
  if (p.product)
    tiles.product = Object.fromEntries(["batch", "m", "n", "k"].map((name) => [name, number(p.product, name, 1, most, "problem.product", 1)]));
  if (p.group) {
    const isList = (value, most, isGood) => Array.isArray(value) && value.length <= most && value.every(isGood);
    const isWhole = (x) => Number.isInteger(x) && x >= 0 && x < most, { dims, arrays, statements } = p.group;
    const isDim = (x) => isWhole(x) && x < dims.length, isArray = (x) => isWhole(x) && x < arrays.length;
    const isAxis = (axis) => isList(axis, 4, isWhole) && [2, 4].includes(axis.length) && axis.every((x, k) => (k % 2 ? x >= 1 : isDim(x)));
    if (!isList(dims, 10, (x) => isWhole(x) && x >= 1) || !isList(arrays, 31, (array) => ["input", "output", "intermediate"].includes(array.kind) && isWhole(array.bytes) && isList(array.axes, 16, isAxis)) ||
        !isList(statements, 16, (each) => isList(each.dims, 10, isDim) && isList(each.reads, 31, isArray) && isArray(each.result)))
      fail("problem.group", "dims, arrays of kind, bytes and axes, statements of dims, reads and a result");
    tiles.group = { dims, arrays, statements };
  }
  return tiles;
}

/** Checks a configuration from outside field by field; throws an Error that names the field. */
function readConfiguration(value, devices) {
  const config = makeDefault();
  const fail = (name, expected) => { throw new Error(`${name}: expected ${expected}`); };
  const number = (from, to, name, least, most, path) => {
    if (from === undefined || from[name] === undefined)
      return;
    if (!Number.isInteger(from[name]) || from[name] < least || from[name] > most)
      fail(`${path}.${name}`, `a whole number from ${least} to ${most}`);
    to[name] = from[name];
  };
  if (!value || typeof value !== "object" || !value.problem || typeof value.problem !== "object")
    fail("problem", "an object");
  if (!Object.prototype.hasOwnProperty.call(problemFields, value.problem.kind))
    fail("problem.kind", "gemm, chain, attention or tiles");
  config.problem = value.problem.kind === "tiles" ? readTiles(value.problem, fail) : { kind: value.problem.kind, ...problemFields[value.problem.kind] };
  for (const name of Object.keys(problemFields[config.problem.kind]))
    if (name === "causal")
      config.problem.causal = Boolean(value.problem.causal);
    else
      number(value.problem, config.problem, name, 1, 2 ** 31, "problem");
  for (const name of ["m", "n", "k"])
    number(value.tile, config.tile, name, 1, 1 << 20, "tile");
  number(value, config, "elementBytes", 1, 16, "launch");
  const machine = value.machine || {};
  if (machine.device !== undefined) {
    const device = devices.find((candidate) => candidate.name === machine.device);
    applyDevice(config.machine, device || fail("machine.device", devices.map((d) => d.name).join(", ")));
  }
  for (const [name, least, most] of [["sms", 1, 4096], ["blocksPerSm", 1, 64], ["skew", 0, 1 << 20], ["drift", 0, 1 << 20], ["smsPerPort", 1, 4096], ["sampling", 0, 1 << 20]])
    number(machine, config.machine, name, least, most, "machine");
  for (const [name, least, most] of [["bytes", 128, 2 ** 36], ["ways", 0, 1024], ["partitions", 1, 2]])
    number(machine.cache, config.machine.cache, name, least, most, "machine.cache");
  if (value.order !== undefined)
    config.order = String(value.order);
  checkOrder(config.order);
  if (value.hints !== undefined)
    config.hints = String(value.hints);
  makeLaunch(config); // Refuses hints for arrays that are not there.
  return config;
}

/** The launches of a file: one, an array, or {launches: [...]}. Each is {name, config, measured, predicted}. */
function readLaunches(text, devices) {
  const root = JSON.parse(text), list = Array.isArray(root) ? root : Array.isArray(root.launches) ? root.launches : [root];
  if (!list.length)
    throw new Error("expected at least one launch");
  return list.map((value, i) => {
    try {
      return { name: String(value.name || `launch ${i}`), config: readConfiguration(value, devices), measured: value.measured || {},
               policy: policies.includes(value.policy) ? value.policy : "lru" };
    } catch (error) {
      throw new Error(`launch ${i}: ${error.message}`);
    }
  });
}

/** A configuration and a path: which tiles, in which order, and how many of them are computed. */
class State {
  constructor(config) {
    this.policy = "lru";
    this.setConfiguration(config);
  }
  setConfiguration(config) {
    this.config = config;
    this.launch = makeLaunch(config);
    this.grids = this.launch.stages.map((stage) => stage.grid);
    this.total = this.grids.reduce((sum, grid) => sum + grid.rows * grid.cols, 0);
    this.panels = null;
    this.refusal = "";
    try {
      if (this.total > maxPageTiles)
        throw new Error(`${this.total} tiles, ${maxPageTiles} at most on this page; use larger tiles.`);
      this.panels = makePanels(this.launch);
    } catch (error) {
      this.refusal = error.message;
    }
    this.hasPanels = this.panels !== null;
    this.path = [];
    this.shown = 0;
    this.isOwn = true;
  }
  getId(tile) { return (tile.stage ? this.grids[0].rows * this.grids[0].cols : 0) + tile.row * this.grids[tile.stage].cols + tile.col; }
  /** Why a tile cannot be computed now; empty if it can. */
  getObstacle(tile) {
    const done = this.path.slice(0, this.shown);
    if (done.some((other) => this.getId(other) === this.getId(tile)))
      return "this tile is computed already";
    if (tile.stage === 1) {
      const ready = done.filter((other) => other.stage === 0 && other.row === tile.row).length, needed = this.grids[0].cols;
      if (ready < needed)
        return `needs row ${tile.row} of the first GEMM: ${ready} of ${needed} tiles are computed`;
    }
    return "";
  }
  add(tile) {
    const obstacle = this.getObstacle(tile);
    if (obstacle)
      return obstacle;
    this.path = [...this.path.slice(0, this.shown), tile];
    this.shown = this.path.length;
    this.isOwn = true;
    return "";
  }
  setPath(tiles, isOwn) {
    this.path = tiles;
    this.shown = tiles.length;
    this.isOwn = isOwn;
  }
  showOrder(text) {
    this.setPath(listTiles(text, this.grids), false);
    this.config.order = text;
  }
  move(by) { this.shown = Math.min(Math.max(this.shown + by, 0), this.path.length); }
  /** The traversal that the path is: the order shown, or a table; empty if a path of one's own is not whole. */
  getOrderText() {
    if (!this.isOwn || !this.path.length)
      return this.config.order;
    if (this.path.length < this.total || this.grids.length > 1)
      return "";
    return `table<${this.path.map((tile) => this.getId(tile)).join(",")}>`;
  }
  toJson() {
    const order = this.getOrderText();
    return { schema: "weft.launch/1", ...this.config, order: order || this.config.order, policy: this.policy };
  }
  toHash() {
    const saved = { ...this.toJson(), shown: this.shown };
    if (this.isOwn && this.path.length && !this.getOrderText())
      saved.path = this.path.map((tile) => this.getId(tile));
    return "#" + encodeURIComponent(JSON.stringify(saved));
  }
  static fromHash(hash, devices) {
    const saved = JSON.parse(decodeURIComponent(hash.slice(1))), state = new State(readConfiguration(saved, devices));
    if (policies.includes(saved.policy))
      state.policy = saved.policy;
    if (Array.isArray(saved.path))
      for (const id of saved.path) {
        const tile = state.tileOf(id);
        if (tile && state.add(tile))
          throw new Error("the path computes a tile twice or too early");
      }
    else
      state.showOrder(state.config.order);
    if (Number.isInteger(saved.shown))
      state.move(saved.shown - state.shown);
    return state;
  }
  tileOf(id) {
    const first = this.grids[0].rows * this.grids[0].cols, stage = id >= first ? 1 : 0, grid = this.grids[stage];
    if (!Number.isInteger(id) || id < 0 || !grid || id - stage * first >= grid.rows * grid.cols)
      return null;
    const local = id - stage * first;
    return { stage, row: Math.floor(local / grid.cols), col: local % grid.cols };
  }
}

/** Orders worth a row in the table. */
function listCandidates(state) {
  const rows = state.grids[0].rows;
  if (state.grids.length > 1) {
    const heights = [1, 2, 4, 8, 16, 32].filter((height) => height < rows);
    return [...heights, rows].flatMap((height) => [`chain<${height}>`, `chain<${height},serpentine>`]);
  }
  const widths = [2, 3, 4, 6, 8, 12, 16].filter((width) => width < rows);
  return ["row", "column", "serpentine", ...widths.flatMap((width) => [`grouped<${width}>`, `grouped-snake<${width}>`]), "cutlass<8>", "morton", "hilbert"];
}
