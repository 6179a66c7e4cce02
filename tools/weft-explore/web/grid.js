// The grids as SVG: tiles coloured by wave, operand panels along the edges, the path with arrows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const svgSpace = "http://www.w3.org/2000/svg";
const maxDrawnTiles = 4096, maxArrows = 400;

function makeSvg(name, attributes, text) {
  const element = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes || {}))
    element.setAttribute(key, value);
  if (text !== undefined)
    element.textContent = text;
  return element;
}

/** The read arrays of a stage, as those that follow the tile's row and those that follow its column. */
function getEdges(state, stage) {
  const reads = state.launch.stages[stage].accesses.filter((access) => !access.isWrite);
  const name = (access) => state.launch.arrays[access.array].name;
  const isByRow = (access) => access.outer.perRow !== 0 && access.outer.perCol === 0, isByCol = (access) => access.byte.perCol !== 0;
  return { left: reads.filter(isByRow).map(name), top: reads.filter(isByCol).map(name) };
}

const waveOf = (state, index) => Math.floor(index / (state.config.machine.sms * state.config.machine.blocksPerSm)) % 6;

/** Whether any panel, or every one, that a tile at (row, col) uses of `array` is in the cache. */
function isHeld(state, held, stage, array, row, col) {
  const uses = state.panels.usesOf({ stage, row, col }).filter((use) => state.launch.arrays[state.panels.arrayOf[use.panel]].name === array);
  return uses.length > 0 && uses.every((use) => held.has(use.panel));
}

/** Draws one stage; returns the SVG element. `held`: panels in the cache; `focus`: the keyboard's tile. */
function drawGrid(state, stage, held, focus, onTile) {
  const grid = state.grids[stage], size = Math.max(8, Math.min(46, Math.floor(760 / Math.max(grid.rows, grid.cols)))), edge = 34;
  const svg = makeSvg("svg", { viewBox: `0 0 ${edge + grid.cols * size + 4} ${edge + grid.rows * size + 4}`, role: "img" });
  const result = state.launch.stages[stage].accesses.find((access) => access.isWrite), name = state.launch.arrays[result.array].name;
  svg.setAttribute("aria-label", `${name}: ${grid.rows} by ${grid.cols} tiles`);
  svg.style.maxWidth = `${edge + grid.cols * size + 4}px`;
  const defs = svg.appendChild(makeSvg("defs"));
  const marker = makeSvg("marker", { id: `arrow${stage}`, viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto-start-reverse" });
  marker.appendChild(makeSvg("path", { d: "M0 0L6 3L0 6z", fill: "currentColor" }));
  defs.appendChild(marker);
  svg.appendChild(makeSvg("text", { x: 2, y: 14 }, name));
  drawEdges(svg, state, stage, held, size, edge);
  const done = new Map(state.path.slice(0, state.shown).map((tile, i) => [state.getId(tile), i]));
  const ready = stage === 1 ? countReadyRows(state) : null, outputs = new Set();
  for (let row = 0; row < grid.rows; ++row)
    for (let col = 0; col < grid.cols; ++col) {
      const tile = { stage, row, col }, id = state.getId(tile), index = done.get(id), isLocked = ready && index === undefined && ready[row] < state.grids[0].cols;
      const box = makeSvg("rect", { x: edge + col * size, y: edge + row * size, width: size, height: size, class: "tile" });
      if (index !== undefined)
        box.classList.add(`wave${waveOf(state, index)}`);
      else
        box.classList.add(isLocked ? "locked" : "clickable");
      if (index === state.shown - 1)
        box.classList.add("now");
      if (focus && focus.stage === stage && focus.row === row && focus.col === col)
        box.classList.add("focus");
      box.appendChild(makeSvg("title", {}, `${name} tile (${row}, ${col})` + (index !== undefined ? `, number ${index}, wave ${Math.floor(index / (state.config.machine.sms * state.config.machine.blocksPerSm))}` : isLocked ? ", waits for its row of the first product" : "")));
      box.addEventListener("click", () => onTile(tile));
      svg.appendChild(box);
      if (state.grids.length > 1 && stage === 0 && index !== undefined && isHeld(state, held, 0, name, row, col))
        outputs.add([row, col]);
      if (index !== undefined && size >= 18)
        svg.appendChild(makeSvg("text", { x: edge + (col + 0.5) * size, y: edge + row * size + 12, class: "number" }, index));
    }
  for (const [row, col] of outputs)
    svg.appendChild(makeSvg("rect", { x: edge + col * size + 3, y: edge + row * size + 3, width: size - 6, height: size - 6, class: "kept" }));
  drawPath(svg, state, stage, size, edge);
  return svg;
}

function countReadyRows(state) {
  const ready = new Array(state.grids[0].rows).fill(0);
  for (const tile of state.path.slice(0, state.shown))
    if (tile.stage === 0)
      ++ready[tile.row];
  return ready;
}

/** The panels of rows on the left, of columns on top; filled when the cache holds them. */
function drawEdges(svg, state, stage, held, size, edge) {
  const grid = state.grids[stage], { left, top } = getEdges(state, stage);
  const draw = (array, x, y, width, height, row, col, label) => {
    const cached = isHeld(state, held, stage, array, row, col) ? " cached" : "";
    svg.appendChild(makeSvg("rect", { x, y, width, height, rx: 2, class: "header-cell" + cached })).appendChild(
      makeSvg("title", {}, `${array}${label}: ${cached ? "in the cache" : "in memory"}`));
    if (size >= (String(label).length > 1 ? 24 : 16))
      svg.appendChild(makeSvg("text", { x: x + width / 2, y: y + height / 2 + 4, class: "header-text" + cached }, array + label));
  };
  for (let row = 0; row < grid.rows; ++row)
    left.forEach((array, i) => draw(array, 1 + (i * (edge - 4)) / left.length, edge + row * size + 1, (edge - 4) / left.length - 1, size - 2, row, 0, row));
  for (let col = 0; col < grid.cols; ++col)
    top.forEach((array) => draw(array, edge + col * size + 1, edge - 19, size - 2, 16, 0, col, col));
}

/** Lines between tiles that follow each other in this stage; arrows while there are few. */
function drawPath(svg, state, stage, size, edge) {
  const places = state.path.slice(0, state.shown).map((tile, i) => ({ ...tile, i })).filter((tile) => tile.stage === stage);
  if (places.length < 2)
    return;
  const x = (tile) => edge + (tile.col + 0.5) * size, y = (tile) => edge + (tile.row + 0.58) * size;
  if (places.length > maxArrows) {
    svg.appendChild(makeSvg("polyline", { points: places.map((tile) => `${x(tile)},${y(tile)}`).join(" "), class: "path" }));
    return;
  }
  for (let k = 1; k < places.length; ++k) {
    const [a, b] = [places[k - 1], places[k]], isJump = b.i !== a.i + 1, length = Math.hypot(x(b) - x(a), y(b) - y(a)) || 1, cut = Math.min(size * 0.22, length / 3) / length;
    const dx = (x(b) - x(a)) * cut, dy = (y(b) - y(a)) * cut;
    svg.appendChild(makeSvg("line", { x1: x(a) + dx, y1: y(a) + dy, x2: x(b) - dx, y2: y(b) - dy, class: "path", "marker-end": `url(#arrow${stage})`, ...(isJump ? { "stroke-dasharray": "3 3" } : {}) }));
  }
}
