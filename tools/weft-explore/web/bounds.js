// Lower bounds and exact optima: ports of lib/Plan/Cost/Bounds and L2/OptimalOrder.cpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

//===--- Groups ---===//

const makeGroupArray = (name, kind, bytes, dims, axes = dims.map((dim) => [dim, 1])) => ({ name, kind, bytes, dims, axes });
/** A group as JSON (GroupText.cpp). */
const readGroup = (group) => ({ extents: group.dims, statements: group.statements,
  arrays: group.arrays.map((array, i) => makeGroupArray(`T${i}`, array.kind, array.bytes, array.axes.flatMap((axis) => axis.filter((_, k) => k % 2 === 0)), array.axes)) });

/** The affine group of a configuration: products, and attention as a chain for each head. */
function makeGroup(config, copies = 1) {
  const p = config.problem, b = config.elementBytes;
  if (p.kind === "gemm")
    return {
      extents: [p.m, p.n, p.k, copies],
      arrays: [makeGroupArray("A", "input", b, [3, 0, 2]), makeGroupArray("B", "input", b, [3, 2, 1]), makeGroupArray("C", "output", b, [3, 0, 1])],
      statements: [{ dims: [0, 1, 2, 3], reads: [0, 1], result: 2 }],
    };
  if (p.kind === "tiles")
    return p.product ? makeGroup({ problem: { kind: "gemm", ...p.product }, elementBytes: b }, p.product.batch) : p.group ? readGroup(p.group) : null;
  const isAttention = p.kind === "attention";
  // Heads of a group are rows of one product; a causal half has half of the keys at most. Whole groups only.
  const heads = Math.min(p.group, p.heads), keys = p.causal ? Math.floor((p.keys + 1) / 2) : p.keys;
  const [m, k, l, n, batch] = isAttention ? [p.queries * heads, p.headDim, keys, p.headDim, Math.floor(p.heads / heads)] : [p.m, p.k, p.l, p.n, 1];
  return {
    extents: [m, k, l, n, batch],
    arrays: [makeGroupArray("A", "input", b, [4, 0, 1]), makeGroupArray("B", "input", b, [4, 1, 2]), makeGroupArray("C", "intermediate", b, [4, 0, 2]),
             makeGroupArray("D", "input", b, [4, 2, 3]), makeGroupArray("E", "output", b, [4, 0, 3])],
    statements: [{ dims: [0, 1, 2, 4], reads: [0, 1], result: 2 }, { dims: [0, 2, 3, 4], reads: [2, 3], result: 4 }],
  };
}

//===--- V(X) ---===//

const product = (dims, sides) => dims.reduce((value, dim) => value * sides[dim], 1);
/** Distinct values of s[1] a + s[3] b for a and b in the box, by what lies between whole numbers. */
const getAxisSide = ([first, stride, second, other], sides) => second === undefined ? sides[first]
  : Math.min(stride * (sides[first] - 1) + other * (sides[second] - 1) + 1, sides[first] * sides[second]);
const getArrayElements = (array, sides) => array.axes.reduce((value, axis) => value * getAxisSide(axis, sides), 1);
const sumOperations = (group, sides) => group.statements.reduce((sum, statement) => sum + product(statement.dims, sides), 0);

class BoxSearch {
  constructor(group, inside) {
    this.group = group;
    this.most = group.extents.map(Math.log);
    this.isFull = group.extents.map(() => false);
    this.counted = group.arrays.filter((_, i) => !inside.includes(i));
    for (const i of inside)
      for (const statement of group.statements)
        if (statement.result === i || statement.reads.includes(i))
          for (const dim of statement.dims)
            this.isFull[dim] = this.isFull[dim] || !group.arrays[i].dims.includes(dim);
  }
  getFootprint(sides) { return this.counted.reduce((sum, array) => sum + array.bytes * getArrayElements(array, sides), 0); }
  /** {sides, operations} of the box at `logs`, all sides moved by one factor until it touches `bytes`. */
  scale(logs, bytes) {
    const sides = new Array(logs.length);
    const place = (shift) => {
      for (let d = 0; d < logs.length; ++d)
        sides[d] = Math.exp(this.isFull[d] ? this.most[d] : Math.min(Math.max(logs[d] + shift, 0), this.most[d]));
      return this.getFootprint(sides);
    };
    let low = -64, high = 64;
    if (place(low) > bytes)
      return { sides, operations: 0 };
    if (place(high) <= bytes)
      return { sides, operations: sumOperations(this.group, sides) };
    for (let i = 0; i < 40; ++i) {
      const middle = (low + high) / 2;
      if (place(middle) > bytes) high = middle; else low = middle;
    }
    place(low);
    return { sides, operations: sumOperations(this.group, sides) };
  }
  improve(bytes, start) {
    let logs = start, best = this.scale(logs, bytes);
    const dims = logs.length;
    for (let step = 2; step > 1e-3; step /= 2)
      for (let isBetter = true, round = 0; isBetter && round < 32; ++round) {
        isBetter = false;
        for (let up = 0; up < dims; ++up)
          for (let down = -1; down < dims; ++down) {
            if (up === down || this.isFull[up] || (down >= 0 && this.isFull[down]))
              continue;
            for (const sign of [1, -1]) {
              const moved = logs.slice();
              moved[up] += sign * step;
              if (down >= 0)
                moved[down] -= sign * step;
              const found = this.scale(moved, bytes);
              if (found.operations <= best.operations * (1 + 1e-9))
                continue;
              best = found;
              logs = found.sides.map(Math.log);
              isBetter = true;
            }
          }
      }
    return { ...best, logs };
  }
  maximise(bytes) {
    const zeros = this.most.map(() => 0);
    const starts = this.start ? [this.start] : [zeros, ...this.most.map((most, d) => zeros.map((zero, k) => (k === d ? most : zero)))];
    let best = { operations: 0 };
    for (const start of starts) {
      const found = this.improve(bytes, start);
      if (found.operations > best.operations)
        best = found;
    }
    if (best.logs)
      this.start = best.logs;
    return best;
  }
}

/** {bytes, partition, compulsory} for a fast memory of `fastBytes`. */
function computeTrafficBound(group, fastBytes) {
  if (!group) // A launch of which only the boxes are known: what is compulsory is its caller's.
    return { bytes: 0, partition: 0, compulsory: 0 };
  const choices = group.arrays.reduce((list, array, i) => (array.kind === "intermediate" ? [...list, ...list.map((c) => [...c, i])] : list), [[]]);
  const searches = choices.map((inside) => new BoxSearch(group, inside));
  const total = sumOperations(group, group.extents);
  let partition = 0;
  const evaluate = (logRatio) => {
    const part = fastBytes * Math.exp(logRatio), most = Math.max(...searches.map((search) => search.maximise(part).operations));
    const bytes = most > 0 ? (part - fastBytes) * Math.max(total / most - 1, 0) : 0;
    partition = Math.max(partition, bytes);
    return bytes;
  };
  const ratio = (Math.sqrt(5) - 1) / 2;
  let low = Math.log(1.1), high = Math.log(20), left = high - ratio * (high - low), right = low + ratio * (high - low);
  let atLeft = evaluate(left), atRight = evaluate(right);
  for (let i = 0; i < 14; ++i) {
    if (atLeft > atRight) {
      high = right;
      right = left;
      atRight = atLeft;
      atLeft = evaluate((left = high - ratio * (high - low)));
    } else {
      low = left;
      left = right;
      atLeft = atRight;
      atRight = evaluate((right = low + ratio * (high - low)));
    }
  }
  const compulsory = group.arrays.reduce((sum, array) => sum + (array.kind === "intermediate" ? 0 : array.bytes * getArrayElements(array, group.extents)), 0);
  return { bytes: Math.max(partition, compulsory), partition, compulsory };
}

//===--- The exact optimum of small grids ---===//

/** The most tiles + panels that the page searches: 2^25 states. */
const maxPageSearchBits = 25;

function countSearchBits(value) {
  let count = 0;
  for (; value; value &= value - 1)
    ++count;
  return count;
}

/** The fewest panel loads of any order under any replacement, and such an order as row-major tile numbers. */
function findOptimalOrder(rows, cols, capacity) {
  const panels = rows + cols, tiles = rows * cols;
  if (tiles + panels > maxPageSearchBits || capacity < 2)
    throw new Error(`expected at least 2 panels and a grid with at most ${maxPageSearchBits} tiles and panels`);
  const tilesOf = new Array(panels).fill(0), all = 2 ** tiles - 1, mask = 2 ** panels - 1;
  for (let i = 0; i < rows; ++i)
    for (let j = 0; j < cols; ++j) {
      tilesOf[i] |= 1 << (i * cols + j);
      tilesOf[rows + j] |= 1 << (i * cols + j);
    }
  const close = (visited, cached) => {
    let byRow = 0, byCol = 0;
    for (let panel = 0; panel < panels; ++panel)
      if ((cached >> panel) & 1) {
        if (panel < rows) byRow |= tilesOf[panel]; else byCol |= tilesOf[panel];
      }
    return ((visited | (byRow & byCol)) << panels) | cached;
  };
  const expand = (state, visit) => {
    const cached = state & mask, visited = state >> panels, isFull = countSearchBits(cached) >= capacity;
    for (let load = 0; load < panels; ++load) {
      if ((cached >> load) & 1 || (tilesOf[load] & ~visited) === 0)
        continue;
      const extended = cached | (1 << load);
      if (!isFull) {
        visit(close(visited, extended));
        continue;
      }
      for (let evict = 0; evict < panels; ++evict)
        if ((cached >> evict) & 1)
          visit(close(visited, extended & ~(1 << evict)));
    }
  };
  const seen = new Uint32Array(2 ** (tiles + panels) / 32 + 1), layers = [[0]];
  let goal = 0;
  while (goal >> panels !== all) {
    const layer = [];
    for (const state of layers[layers.length - 1])
      expand(state, (next) => {
        if ((seen[next >> 5] >>> (next & 31)) & 1)
          return;
        seen[next >> 5] |= 1 << (next & 31);
        layer.push(next);
        if (next >> panels === all)
          goal = next;
      });
    layers.push(layer);
  }
  const path = [goal];
  for (let i = layers.length - 1; i-- > 0;)
    for (const state of layers[i]) {
      let isFound = false;
      expand(state, (next) => { isFound = isFound || next === path[path.length - 1]; });
      if (isFound) {
        path.push(state);
        break;
      }
    }
  const table = [];
  let before = 0;
  for (const state of path.reverse()) {
    const visited = state >> panels;
    for (let tile = 0; tile < tiles; ++tile)
      if (((visited & ~before) >> tile) & 1)
        table.push(tile);
    before = visited;
  }
  return { loads: layers.length - 1, table };
}
