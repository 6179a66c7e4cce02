// Traversal orders: the text form, and the tiles in order. A port of lib/Traversal; curves are walked here and
// computed from the block's number there, and a test compares the two tile by tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const orderNames = ["row", "column", "serpentine", "grouped", "grouped-snake", "cutlass", "morton", "hilbert", "table", "chain", "each", "zigzag"];
const maxPageTiles = 1 << 18;

/** Parses `grouped<8,columns>` and the like; throws an Error with the message of the compiler's parser. */
function parseOrder(text) {
  let position = 0;
  const fail = (expected) => {
    const got = position < text.length ? `'${text.slice(position, position + 40)}'` : "the end";
    throw new Error(`traversal '${text.slice(0, 40)}': expected ${expected}, got ${got}`);
  };
  const accept = (token) => text.startsWith(token, position) && (position += token.length, true);
  const expect = (token) => accept(token) || fail(`'${token}'`);
  const parseNumber = (least) => {
    const digits = /^\d+/.exec(text.slice(position)), value = digits ? Number(digits[0]) : NaN;
    if (!(value >= least && value <= 1 << 24))
      fail(`a number from ${least} to 16777216`);
    position += digits[0].length;
    return value;
  };
  const parse = (outer) => {
    const start = position, name = /^[^<>,]*/.exec(text.slice(position))[0];
    if (!orderNames.includes(name))
      fail(`one of ${orderNames.join(", ")}`);
    if (outer && ["chain", "table", "each", "zigzag"].includes(name) && !(name === "each" && outer === "zigzag"))
      fail("an order of one stage that is not a table");
    position = start + name.length;
    const order = { kind: name, width: 1, byColumns: false, table: [], inner: null };
    if (!["grouped", "grouped-snake", "cutlass", "table", "chain", "each", "zigzag"].includes(name))
      return order;
    expect("<");
    if (name === "table") {
      do order.table.push(parseNumber(0)); while (accept(","));
    } else {
      const at = position;
      order.width = parseNumber(1);
      if (name === "cutlass" && ![1, 2, 4, 8].includes(order.width)) {
        position = at;
        fail("the width 1, 2, 4 or 8");
      }
      if (name === "each" || name === "zigzag") {
        expect(",");
        order.inner = parse(name);
      } else if (name === "chain") {
        if (accept(","))
          order.inner = parse(name);
      } else if (name !== "cutlass" && accept(",")) {
        order.byColumns = true;
        expect("columns");
      }
    }
    expect(">");
    return order;
  };
  const order = parse("");
  return position === text.length ? order : fail("the end");
}

const transpose = ([row, col]) => [col, row];

function listStrips(width, isSnake, rows, cols) {
  const places = [];
  for (let top = 0, strip = 0; top < rows; top += width, ++strip) {
    const height = Math.min(width, rows - top), tiles = [];
    for (let i = 0; i < height * cols; ++i)
      tiles.push([top + (i % height), Math.floor(i / height)]);
    places.push(...(isSnake && strip % 2 ? tiles.reverse() : tiles));
  }
  return places;
}

function listMorton(rows, cols) {
  const places = [];
  const walk = (row, col, r, c, half) => {
    if (r <= 0 || c <= 0)
      return;
    if (half < 1) {
      places.push([row, col]);
      return;
    }
    const top = Math.min(r, half), left = Math.min(c, half), next = half / 2 >= 1 ? half / 2 : 0;
    walk(row, col, top, left, next);
    walk(row, col + half, top, c - left, next);
    walk(row + half, col, r - top, left, next);
    walk(row + half, col + half, r - top, c - left, next);
  };
  let half = 1;
  while (2 * half < Math.max(rows, cols))
    half *= 2;
  walk(0, 0, rows, cols, half);
  return places;
}

const halve = (extent) => {
  const half = Math.floor(extent / 2);
  return half + (half % 2 && extent > 2 ? 1 : 0);
};

/** From the start `along` tiles in direction a and `across` tiles in direction b. */
function walkHilbert(places, row, col, along, across, a, b) {
  const move = (i, j) => [row + i * a[0] + j * b[0], col + i * a[1] + j * b[1]];
  if (along === 1 || across === 1) {
    for (let i = 0; i < along * across; ++i)
      places.push(along === 1 ? move(0, i) : move(i, 0));
    return;
  }
  if (3 * across < 2 * along) {
    const half = halve(along);
    walkHilbert(places, row, col, half, across, a, b);
    walkHilbert(places, ...move(half, 0), along - half, across, a, b);
    return;
  }
  const up = halve(across), half = Math.floor(along / 2);
  walkHilbert(places, row, col, up, half, b, a);
  walkHilbert(places, ...move(0, up), along, across - up, a, b);
  walkHilbert(places, ...move(along - 1, up - 1), up, along - half, [-b[0], -b[1]], [-a[0], -a[1]]);
}

function listHilbert(rows, cols) {
  const places = [], isTall = rows > cols;
  const down = [1, 0], right = [0, 1];
  walkHilbert(places, 0, 0, Math.max(rows, cols), Math.min(rows, cols), isTall ? down : right, isTall ? right : down);
  return places;
}

function chooseCutlassWidth(most, cols) {
  if (most >= 8 && cols >= 6) return 8;
  if (most >= 4 && cols >= 3) return 4;
  return most >= 2 && cols >= 2 ? 2 : 1;
}

/** The places of one stage in order, as [row, col]. */
function listPlaces(order, rows, cols) {
  const all = Array.from({ length: rows * cols }, (_, i) => [Math.floor(i / cols), i % cols]);
  switch (order.kind) {
  case "column": return listStrips(rows, false, rows, cols);
  case "serpentine": return all.map(([row, col]) => [row, row % 2 ? cols - 1 - col : col]);
  case "grouped":
  case "grouped-snake": {
    const isSnake = order.kind === "grouped-snake";
    return order.byColumns ? listStrips(order.width, isSnake, cols, rows).map(transpose) : listStrips(order.width, isSnake, rows, cols);
  }
  case "cutlass": return listStrips(chooseCutlassWidth(order.width, cols), false, cols, rows).map(transpose);
  case "morton": return listMorton(rows, cols);
  case "hilbert": return listHilbert(rows, cols);
  case "table": {
    if (order.table.length !== rows * cols || new Set(order.table).size !== rows * cols || order.table.some((tile) => tile >= rows * cols))
      throw new Error(`table: expected each of ${rows * cols} tiles once`);
    return order.table.map((tile) => all[tile]);
  }
  case "each": {
    const height = rows / order.width;
    if (!Number.isInteger(height))
      throw new Error(`each: expected tile rows in ${order.width} equal runs, got ${rows}`);
    const places = listPlaces(order.inner, height, cols);
    return Array.from({ length: order.width }, (_, run) => places.map(([row, col]) => [run * height + row, col])).flat();
  }
  case "zigzag": {
    const places = listPlaces(order.inner, rows, cols), runs = [];
    for (let first = 0; first < places.length; first += order.width)
      runs.push(places.slice(first, first + order.width));
    return runs.flatMap((run, i) => i % 2 ? run.reverse() : run);
  }
  default: return all;
  }
}

/** The tiles {stage, row, col} of a traversal's text on one grid, or two for a chain. */
function listTiles(text, grids) {
  const order = parseOrder(text), total = grids.reduce((sum, grid) => sum + grid.rows * grid.cols, 0);
  if ((order.kind === "chain" ? 2 : 1) !== grids.length)
    throw new Error(`traversal ${text}: expected ${order.kind === "chain" ? 2 : 1} grid(s) of tiles, got ${grids.length}`);
  if (total > maxPageTiles)
    throw new Error(`expected at most ${maxPageTiles} tiles on this page, got ${total}; use larger tiles`);
  if (order.kind !== "chain")
    return listPlaces(order, grids[0].rows, grids[0].cols).map(([row, col]) => ({ stage: 0, row, col }));
  const tiles = [], rows = grids[0].rows, inner = order.inner || { kind: "column" };
  for (let top = 0; top < rows; top += order.width)
    for (const stage of [0, 1])
      for (const [row, col] of listPlaces(inner, Math.min(order.width, rows - top), grids[stage].cols))
        tiles.push({ stage, row: top + row, col });
  return tiles;
}
