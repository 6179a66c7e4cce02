// Ties state, models and drawing together: inputs, keys, animation, ranking in the background, files and links.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

(() => {
const $ = (id) => document.getElementById(id);
const maxSimulatedSteps = 3e6;
let state = new State(makeDefault()), focus = { stage: 0, row: 0, col: 0 }, timer = null, job = 0, launches = [];

function say(text, isError) {
  $("status").textContent = text;
  $("status").classList.toggle("error", Boolean(isError));
}

//===--- Settings ---===//

function fillExtents() {
  const kind = $("kind").value, box = $("extents");
  box.replaceChildren();
  for (const name of Object.keys(problemFields[kind])) {
    const label = document.createElement("label"), input = document.createElement("input");
    label.htmlFor = input.id = `problem-${name}`;
    label.textContent = fieldNames[name];
    input.type = name === "causal" ? "checkbox" : "number";
    if (name === "causal")
      input.checked = Boolean(state.config.problem.causal);
    else
      Object.assign(input, { min: 1, max: 2 ** 31, required: true, value: state.config.problem[name] ?? problemFields[kind][name] });
    box.append(label, input);
  }
}

function fillSettings() {
  const { problem, tile, machine, elementBytes } = state.config, cache = machine.cache;
  $("kind").value = problem.kind;
  fillExtents();
  const values = { tileM: tile.m, tileN: tile.n, tileK: tile.k, elementBytes, cacheKib: cache.bytes / 1024, sms: machine.sms, blocksPerSm: machine.blocksPerSm,
                   ways: cache.ways, partitions: cache.partitions, skew: machine.skew, drift: machine.drift, smsPerPort: machine.smsPerPort, hints: state.config.hints, order: state.config.order, policy: state.policy };
  for (const [id, value] of Object.entries(values))
    $(id).value = value;
  const device = weftDevices.find((d) => d.sms === machine.sms && d.bytes === cache.bytes && d.partitions === cache.partitions);
  $("device").value = device ? device.name : "";
}

function readSettings() {
  if (!$("settings").checkValidity()) {
    say("some settings are out of range", true);
    return;
  }
  const config = state.config, kind = $("kind").value, number = (id) => Number($(id).value), wasChain = state.grids.length > 1, wasKind = config.problem.kind;
  if (wasKind !== kind || kind !== "tiles")
    config.problem = { kind };
  for (const name of Object.keys(problemFields[kind]))
    config.problem[name] = name === "causal" ? $("problem-causal").checked : number(`problem-${name}`);
  config.tile = { m: number("tileM"), n: number("tileN"), k: number("tileK") };
  config.elementBytes = number("elementBytes");
  Object.assign(config.machine, { sms: number("sms"), blocksPerSm: number("blocksPerSm"), skew: number("skew"), drift: number("drift"), smsPerPort: number("smsPerPort") });
  Object.assign(config.machine.cache, { bytes: Math.max(Math.round(number("cacheKib") * 1024), 256), ways: number("ways"), partitions: number("partitions") });
  config.hints = wasKind === kind ? $("hints").value.replace(/\s/g, "") : ""; // Other problems have other arrays.
  if (wasChain !== (kind === "chain") || (wasKind === "tiles" && kind !== "tiles"))
    config.order = kind === "chain" ? "chain<1>" : "row";
  use(state.config);
}

/** Starts again with a configuration: an empty path, everything drawn anew. */
function use(config) {
  stop();
  try {
    state.setConfiguration(config);
    focus = { stage: 0, row: 0, col: 0 };
    say(`${state.grids.map((grid) => `${grid.rows} x ${grid.cols}`).join(" and ")} tiles`);
  } catch (error) {
    say(error.message, true);
  }
  fillSettings();
  refresh(true);
}

//===--- The board ---===//

/** The last step of the path that is shown, and the cache behind it. */
function replay() {
  const last = state.shown ? watchPanels(state.panels, state.path, state.config.machine.cache.bytes, state.policy, state.shown - 1) : null;
  return { last, held: last ? last.held : [] };
}

function drawBoard() {
  const box = $("grids");
  if (state.total > maxDrawnTiles) {
    box.replaceChildren(Object.assign(document.createElement("p"), { className: "note", textContent:
      `${state.total} tiles are too many to draw (${maxDrawnTiles} at most); the table and the plots below hold for them too.` }));
    drawTotals(null, []);
    return;
  }
  const { last, held } = replay(), set = new Set(held);
  box.replaceChildren(...state.grids.map((_, stage) => drawGrid(state, stage, set, document.activeElement === box ? focus : null, onTile)));
  drawTotals(last, held);
}

function drawTotals(last, held) {
  const { compulsory } = state.launch, capacity = state.config.machine.cache.bytes;
  const used = held.reduce((sum, panel) => sum + state.panels.bytes[panel], 0), rows = [
    ["tiles computed", `${state.shown} of ${state.total}`], ["read from memory", formatBytes(last ? last.traffic.reads : 0)], ["panel loads", last ? last.traffic.loads : 0],
    ["written back", formatBytes(last ? last.traffic.writes : 0)], ["compulsory reads", formatBytes(compulsory.reads)], ["in the cache", `${formatBytes(used)} of ${formatBytes(capacity)}`]];
  $("totals").replaceChildren(...rows.map(([name, value]) => {
    const row = document.createElement("tr");
    row.append(Object.assign(document.createElement("td"), { textContent: name }), Object.assign(document.createElement("td"), { textContent: value }));
    return row;
  }));
  const bar = document.createElement("div");
  bar.style.width = `${Math.min(100, (100 * used) / capacity)}%`;
  $("meter").replaceChildren(bar);
  const names = (list) => list.map((panel) => state.panels.names[panel]).join(", ") || "nothing";
  $("step").textContent = last ? `loads ${names(last.loads)}; finds ${names(last.hits)}; evicts ${names(last.evicted)}` : "none yet";
  $("panels").replaceChildren(...held.slice(0, 300).map((panel) => Object.assign(document.createElement("li"), { textContent: state.panels.names[panel] })));
  $("undo").disabled = state.shown === 0;
  $("redo").disabled = state.shown === state.path.length;
  $("position").max = state.path.length;
  $("position").value = state.shown;
  $("position-text").textContent = `${state.shown} / ${state.path.length}`;
  $("copy-flag").disabled = !state.getOrderText();
}

function onTile(tile) {
  stop();
  focus = tile;
  const obstacle = state.add(tile);
  if (obstacle)
    say(`tile (${tile.row}, ${tile.col}): ${obstacle}`, true);
  else
    say(`tile (${tile.row}, ${tile.col}) computed`);
  refresh(state.shown === state.total);
}

function move(by) {
  state.move(by);
  refresh(false);
}

function stop() {
  clearTimeout(timer);
  timer = null;
  $("play").textContent = "Play";
}

function play() {
  if (timer) {
    stop();
    return;
  }
  if (!state.path.length)
    show();
  if (state.shown === state.path.length)
    state.shown = 0;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    move(state.path.length);
    return;
  }
  $("play").textContent = "Pause";
  const tick = () => {
    const speed = Number($("speed").value), jump = Math.max(1, Math.round(speed / 30));
    move(jump);
    if (state.shown < state.path.length)
      timer = setTimeout(tick, (1000 * jump) / speed);
    else
      stop();
  };
  timer = setTimeout(tick, 0);
}

function show() {
  stop();
  try {
    state.showOrder($("order").value.trim());
    say(`${state.config.order}: ${state.total} tiles`);
  } catch (error) {
    say(error.message, true);
  }
  refresh(true);
}

/** Panels that fit, as if all had the size of those the first tile reads. */
function countPanels() {
  const reads = state.panels.usesOf({ stage: 0, row: 0, col: 0 }).filter((use) => !use.isWrite).map((use) => state.panels.bytes[use.panel]);
  return Math.max(2, Math.floor(state.config.machine.cache.bytes / (reads.reduce((a, b) => a + b, 0) / Math.max(reads.length, 1))));
}

function searchOptimum() {
  stop();
  const grid = state.grids[0], bits = grid.rows * grid.cols + grid.rows + grid.cols;
  if (state.config.problem.kind !== "gemm" || bits > maxPageSearchBits) {
    say("the exact search is for GEMMs of at most 4 x 4 tiles", true);
    return;
  }
  say("searching all orders and replacements...");
  setTimeout(() => {
    const capacity = countPanels(), found = findOptimalOrder(grid.rows, grid.cols, capacity);
    state.policy = $("policy").value = "farthest";
    $("order").value = `table<${found.table.join(",")}>`;
    show();
    say(`no order loads fewer than ${found.loads} panels with room for ${capacity} operand panels (results take no room in this count)`);
  }, 20);
}

//===--- Table and plots, computed piece by piece ---===//

const countBytes = (traffic) => traffic.reads + traffic.writes + traffic.left;
const countSteps = () => state.launch.stages.reduce((sum, stage) => sum + stage.grid.rows * stage.grid.cols * stage.steps, 0);

function rank(text, bound) {
  const tiles = listTiles(text, state.grids), traffic = runPanels(state.panels, tiles, state.config.machine.cache.bytes, state.policy);
  const row = { text, tiles, panel: countBytes(traffic), bound };
  if (countSteps() <= maxSimulatedSteps) {
    const result = simulate(state.launch, text, state.config.machine);
    Object.assign(row, { reads: result.dramReads * 32, writes: (result.dramWrites + result.dirty) * 32, hits: result.lookups ? result.hits / result.lookups : 0 });
  }
  return row;
}

function drawRanks(rows) {
  const key = (row) => (row.reads === undefined ? row.panel : row.reads + row.writes), sorted = [...rows].sort((a, b) => key(a) - key(b));
  const megabytes = (bytes) => (bytes === undefined ? "-" : (bytes / 1e6).toFixed(bytes < 1e8 ? 2 : 0));
  $("ranks").replaceChildren(...sorted.map((row) => {
    const line = document.createElement("tr"), button = Object.assign(document.createElement("button"), { type: "button", textContent: row.text.length > 40 ? `${row.text.slice(0, 38)}...` : row.text });
    const cell = (value) => Object.assign(document.createElement("td"), { textContent: value });
    const first = document.createElement("td");
    first.append(button);
    line.append(first, cell(megabytes(row.panel)), cell(megabytes(row.reads)), cell(megabytes(row.writes)),
                cell(row.hits === undefined ? "-" : `${(100 * row.hits).toFixed(1)} %`), cell(row.bound ? `${(row.panel / row.bound).toFixed(2)} x` : "-"));
    line.classList.toggle("current", row.text === state.config.order && !state.isOwn);
    line.addEventListener("click", () => {
      $("order").value = row.text;
      show();
    });
    return line;
  }));
}

const drawReuseOf = (tiles) => $("reuse-plot").replaceChildren(drawReuse(computeReuse(state.panels, tiles, false), countPanels()));

/** Curves of some orders over sizes from 1/64 to 4 times the cache's. */
function makeCurves(ranks) {
  const here = state.config.machine.cache.bytes, sizes = [];
  for (let k = -12; k <= 4; ++k)
    sizes.push(here * 2 ** (k / 2));
  const chosen = [...new Set([...ranks].sort((a, b) => a.panel - b.panel).slice(0, 2).map((row) => row.text)
    .concat(state.grids.length > 1 ? [ranks[ranks.length - 1].text, ranks[0].text] : ["row", "serpentine", "hilbert"], [state.config.order]))];
  return chosen.slice(0, 6).map((text) => {
    const known = ranks.find((row) => row.text === text), tiles = known ? known.tiles : listTiles(text, state.grids);
    return { name: text.slice(0, 20), points: sizes.map((size) => [size, countBytes(runPanels(state.panels, tiles, size, state.policy))]) };
  });
}

/** Runs the pieces of work one by one, so that the page stays alive; a newer call ends an older one. */
function runPieces(pieces) {
  const mine = ++job;
  const next = () => {
    if (mine !== job)
      return;
    const piece = pieces.shift();
    if (!piece) {
      document.body.dataset.ready = "yes";
      return;
    }
    try {
      piece(pieces);
    } catch (error) {
      $("ranking-note").textContent = error.message;
      $("ranking-note").classList.add("error");
    }
    setTimeout(next, 0);
  };
  delete document.body.dataset.ready;
  setTimeout(next, 30);
}

function analyse() {
  const once = state.launch.compulsory.reads + state.launch.compulsory.writes, getBound = (bytes) => Math.max(computeBound(state.launch, bytes).bytes, once);
  const note = $("ranking-note"), rows = [], here = state.config.machine.cache.bytes;
  note.classList.remove("error");
  note.textContent = countSteps() > maxSimulatedSteps ? `Not simulated: ${countSteps()} steps of tiles, ${maxSimulatedSteps} at most here; deeper steps make fewer.` : "";
  if (!state.hasPanels) {
    note.textContent = state.refusal;
    $("ranks").replaceChildren();
    return;
  }
  let bound = 0, curves = [];
  const plot = (boundPoints) => {
    const current = rows.find((row) => row.text === state.config.order && row.reads !== undefined);
    const dots = current ? [[here, current.reads + current.writes, `simulated, ${current.text}: ${formatBytes(current.reads + current.writes)}`]] : [];
    $("traffic-plot").replaceChildren(drawTraffic([...curves, { name: "lower bound", points: boundPoints, isBound: true }], here, dots));
  };
  const own = state.getOrderText(), texts = [...new Set([...listCandidates(state), own || state.config.order])];
  const pieces = [() => { bound = getBound(here); }, () => drawReuseOf(state.path.length ? state.path : listTiles(state.config.order, state.grids))];
  for (const text of texts)
    pieces.push(() => {
      rows.push(rank(text, bound));
      drawRanks(rows);
    });
  pieces.push(() => { curves = makeCurves(rows); });
  const points = [];
  for (let k = -12; k <= 4; k += 2)
    pieces.push(() => {
      points.push([here * 2 ** (k / 2), getBound(here * 2 ** (k / 2))]);
      plot(points);
    });
  runPieces(pieces);
}

function refresh(isNew) {
  if (state.hasPanels)
    drawBoard();
  if (isNew)
    analyse();
}

//===--- Files, links, exports ---===//

function save(name, type, text) {
  const link = Object.assign(document.createElement("a"), { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The board as one SVG with its colours inside. */
function makeBoardSvg() {
  const parts = [...$("grids").querySelectorAll("svg")], outer = makeSvg("svg", { xmlns: svgSpace });
  if (!parts.length)
    throw new Error("there is no drawn grid to export");
  let x = 0, height = 0;
  for (const part of parts) {
    const copy = part.cloneNode(true), [, , w, h] = part.getAttribute("viewBox").split(" ").map(Number);
    copy.removeAttribute("style");
    for (const [key, value] of [["x", x], ["width", w], ["height", h]])
      copy.setAttribute(key, value);
    const from = part.querySelectorAll("*"), to = copy.querySelectorAll("*");
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      to[i].setAttribute("style", ["fill", "stroke", "stroke-width", "font", "text-anchor", "opacity"].map((p) => `${p}:${style.getPropertyValue(p)}`).join(";"));
    });
    outer.append(copy);
    x += w + 16;
    height = Math.max(height, h);
  }
  outer.setAttribute("viewBox", `0 0 ${x - 16} ${height}`);
  outer.setAttribute("width", x - 16);
  outer.setAttribute("height", height);
  return new XMLSerializer().serializeToString(outer);
}

function savePng() {
  const text = makeBoardSvg(), image = new Image();
  image.onload = () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.width, height: 2 * image.height }), context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save("traversal.png", "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function copy(text, what) {
  const done = () => say(`${what} copied: ${text.slice(0, 120)}`);
  if (navigator.clipboard)
    navigator.clipboard.writeText(text).then(done, () => say(text));
  else
    say(text);
}

const sectors = 32;

/** Predicted by the simulation, under Nsight Compute's names. */
function predictCounters(config, launch) {
  const r = simulate(launch, config.order, config.machine);
  return {
    "dram__bytes_read.sum": r.dramReads * sectors, "dram__bytes_write.sum": r.dramWrites * sectors, "lts__t_sector_hit_rate.pct": r.lookups ? (100 * r.hits) / r.lookups : 0,
    "lts__t_sectors_op_read.sum": r.lookups - r.writeLookups, "lts__t_sectors_op_write.sum": r.writeLookups, "launch__grid_size": r.blocks, "launch__waves_per_multiprocessor": r.blocks / r.resident,
  };
}

function showLaunch(index) {
  const launch = launches[index];
  state.policy = launch.policy;
  use(JSON.parse(JSON.stringify(launch.config)));
  if (state.hasPanels)
    show();
  try {
    const predicted = countSteps() <= maxSimulatedSteps ? predictCounters(state.config, state.launch) : {};
    const names = [...new Set([...Object.keys(predicted), ...Object.keys(launch.measured)])];
    $("measured").replaceChildren(...names.map((name) => {
      const row = document.createElement("tr"), a = predicted[name], b = launch.measured[name], show = (v) => (typeof v === "number" ? +v.toPrecision(5) : "-");
      for (const value of [name, show(a), show(b), typeof a === "number" && typeof b === "number" && b ? (a / b).toFixed(3) : "-"])
        row.append(Object.assign(document.createElement("td"), { textContent: value }));
      return row;
    }));
  } catch (error) {
    say(error.message, true);
  }
}

function openText(text) {
  try {
    launches = readLaunches(text, weftDevices);
  } catch (error) {
    say(`not a file of launches: ${error.message}`, true);
    return;
  }
  $("measured-section").hidden = false;
  $("launch").replaceChildren(...launches.map((launch, i) => new Option(launch.name, i)));
  showLaunch(0);
}

//===--- Start ---===//

function onKey(event) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }, isGrid = document.activeElement === $("grids");
  if ((event.ctrlKey || event.metaKey) && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) {
    const key = event.key.toLowerCase();
    if (key === "z" || key === "y") {
      event.preventDefault();
      stop();
      move((key === "z") !== event.shiftKey ? -1 : 1);
    }
    return;
  }
  if (!isGrid || event.altKey)
    return;
  if (steps[event.key]) {
    let { stage, row, col } = focus;
    row += steps[event.key][0];
    col += steps[event.key][1];
    if (col >= state.grids[stage].cols && stage + 1 < state.grids.length)
      [stage, col] = [stage + 1, 0];
    else if (col < 0 && stage > 0)
      [stage, col] = [stage - 1, state.grids[stage - 1].cols - 1];
    const grid = state.grids[stage];
    focus = { stage, row: Math.min(Math.max(row, 0), grid.rows - 1), col: Math.min(Math.max(col, 0), grid.cols - 1) };
    say(`tile (${focus.row}, ${focus.col})${state.grids.length > 1 ? ` of GEMM ${focus.stage + 1}` : ""}: ${state.getObstacle(focus) || "ready"}`);
    drawBoard();
  } else if (event.key === "Enter" || event.key === " ") {
    onTile(focus);
  } else if (event.key.toLowerCase() === "p") {
    play();
  } else {
    return;
  }
  event.preventDefault();
}

function onHash() {
  try {
    state = State.fromHash(location.hash, weftDevices);
    fillSettings();
    say("opened from the link");
    refresh(true);
    return true;
  } catch (error) {
    say(`the link cannot be read: ${error.message}`, true);
    return false;
  }
}

function connect() {
  $("device").append(new Option("by hand", ""), ...weftDevices.map((device) => new Option(device.name, device.name)));
  $("order-names").append(...["row", "column", "serpentine", "grouped<8>", "grouped<8,columns>", "grouped-snake<8>", "cutlass<8>", "morton", "hilbert", "chain<2>", "chain<2,serpentine>"]
    .map((name) => new Option(name)));
  $("settings").addEventListener("submit", (event) => event.preventDefault());
  $("settings").addEventListener("change", (event) => {
    if (event.target.id === "kind")
      fillExtents();
    if (event.target.id === "device" && event.target.value) {
      applyDevice(state.config.machine, weftDevices.find((device) => device.name === event.target.value));
      use(state.config);
    } else {
      readSettings();
    }
  });
  $("policy").addEventListener("change", () => { state.policy = $("policy").value; refresh(true); });
  $("order").addEventListener("keydown", (event) => { if (event.key === "Enter") show(); });
  $("position").addEventListener("input", () => { stop(); move(Number($("position").value) - state.shown); });
  $("grids").addEventListener("focus", drawBoard);
  $("grids").addEventListener("blur", drawBoard);
  $("launch").addEventListener("change", () => showLaunch(Number($("launch").value)));
  $("file").addEventListener("change", () => $("file").files[0] && $("file").files[0].text().then(openText));
  const guarded = (action) => () => { try { action(); } catch (error) { say(error.message, true); } };
  const clicks = {
    show, play, optimum: searchOptimum, undo: () => { stop(); move(-1); }, redo: () => { stop(); move(1); }, clear: () => { stop(); state.setPath([], true); refresh(true); },
    open: () => $("file").click(), "export-json": () => save("traversal.json", "application/json", JSON.stringify(state.toJson(), null, 1)),
    "export-svg": () => save("traversal.svg", "image/svg+xml", makeBoardSvg()), "export-png": savePng,
    "copy-link": () => { history.replaceState(null, "", state.toHash()); copy(location.href, "link"); }, "copy-flag": () => copy(`--traversal=${state.getOrderText()}`, "flag"),
  };
  for (const [id, action] of Object.entries(clicks))
    $(id).addEventListener("click", guarded(action));
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", onHash);
}

connect();
if (weftLaunches)
  openText(JSON.stringify(weftLaunches));
else if (location.hash.length < 2 || !onHash()) {
  fillSettings();
  refresh(true);
}
})();
