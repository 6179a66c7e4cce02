// The report: what `weft explain --json` says, as pictures and tables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const byId = (name) => document.getElementById(name);
let program = null, graph = null;

/** Edges as objects, nodes by number within their dispatch. */
function readProgram(source) {
  const names = source.names, edges = source.edges.map((row) => ({
    producer: names[row[0]], consumer: names[row[1]], producerOp: names[row[2]], consumerOp: names[row[3]], from: row[4], to: row[5],
    isFused: row[6] === -1, reason: row[6] === -1 ? "" : names[row[6]], bytes: row[7], saved: row[8], level: names[row[9]], tile: row[10], levelReason: names[row[11]],
  }));
  return { ...source, edges };
}

function drawSummary() {
  const summary = program.summary, total = (field) => program.dispatches.reduce((sum, dispatch) => sum + dispatch[field], 0), list = [];
  const add = (label, text) => list.push(makeElement("div", {}, makeElement("dt", {}, label), makeElement("dd", {}, text)));
  if (summary)
    add("ops → kernels", `${summary.ops} → ${program.dispatches.length}`);
  add("distinct kernels", String(program.kernels));
  if (summary) {
    add("operations", formatScaled(summary.flops, "FLOP"));
    add("traffic unfused → fused", `${formatSize(summary.unfused_bytes)} → ${formatSize(summary.fused_bytes)}`);
    add("results never stored", formatSize(summary.intermediate_bytes - summary.kept_intermediate_bytes));
  }
  add("traffic by the models", formatSize(total("model_bytes")));
  add("at least", formatSize(total("bound_bytes")));
  add("activations", formatSize(program.memory.arena_bytes));
  const fused = program.edges.filter((edge) => edge.isFused).length;
  add("edges fused", `${fused} of ${program.edges.length}`);
  if (program.device)
    add("time at peak rates", `${(total("seconds") * 1e6).toFixed(1)} µs`);
  byId("summary").replaceChildren(...list);
}

/** The nodes that a dispatch shows: those of the bundle; ops where nodes have no names. */
const nodesOf = (dispatch) => (dispatch.nodes.length ? dispatch.nodes : dispatch.ops);

function drawGraph() {
  const most = Math.max(1e-30, ...program.dispatches.map((dispatch) => dispatch.seconds || dispatch.model_bytes));
  const places = program.dispatches.map((dispatch) => new Map(nodesOf(dispatch).map((node, i) => [node, i]))), inner = program.dispatches.map(() => []);
  for (const edge of program.edges)
    if (edge.isFused && edge.from >= 0 && edge.producer !== edge.consumer) {
      const [a, b] = [places[edge.from].get(edge.producer), places[edge.from].get(edge.consumer)];
      if (a !== undefined && b !== undefined)
        inner[edge.from].push([a, b]);
    }
  graph.setProgram(program.dispatches.map((dispatch) => ({
    title: dispatch.kernel, nodes: nodesOf(dispatch), weight: (dispatch.seconds || dispatch.model_bytes) / most,
    subtitle: `${nodesOf(dispatch).length} nodes, ${formatSize(dispatch.model_bytes)}`,
  })), program.edges, inner);
}

function describeDispatch(number) {
  const dispatch = program.dispatches[number];
  if (!dispatch)
    return;
  const nodes = nodesOf(dispatch), shown = nodes.slice(0, 12).join(", ") + (nodes.length > 12 ? `, and ${nodes.length - 12} more` : "");
  byId("selected").textContent = `Kernel ${number}, ${dispatch.kernel}: ${formatScaled(dispatch.flops, "FLOP")}, ${formatSize(dispatch.model_bytes)} by the model, at least ` +
    `${formatSize(dispatch.bound_bytes)}${dispatch.bound_by ? `, bound by ${dispatch.bound_by}` : ""}${dispatch.tile ? `, tile ${dispatch.tile}` : ""}` +
    `${dispatch.traversal ? `, order ${dispatch.traversal}` : ""}. Nodes: ${shown}`;
  const code = (program.code || []).findIndex((each) => each.kernel === dispatch.kernel);
  if (code >= 0 && byId("code-kernel").options.length > code) {
    byId("code-kernel").selectedIndex = code;
    drawCode();
  }
}

function showDispatch(number) {
  graph.select(number, true);
  byId("graph-section").scrollIntoView({ block: "start" });
  byId("graph").focus({ preventScroll: true });
}

function linkTo(number) {
  if (number < 0)
    return "-";
  const link = makeElement("a", { href: "#graph-section" }, String(number));
  link.addEventListener("click", (event) => { event.preventDefault(); showDispatch(number); });
  return link;
}

const measuredBytes = (dispatch) => {
  const read = dispatch.measured?.["dram__bytes_read.sum"], write = dispatch.measured?.["dram__bytes_write.sum"];
  return read === undefined ? -1 : read + (write || 0);
};
const textColumn = (label, value) => ({ label, value, isText: true });
const sizeColumn = (label, value) => ({ label, value, show: (row) => (value(row) < 0 ? "-" : formatSize(value(row))) });
const numberColumn = (label, value, digits) => ({ label, value, show: (row) => (value(row) < 0 ? "-" : value(row).toFixed(digits)) });

const tables = {
  kernels: new ReportTable("kernels", [
    { label: "#", value: (row) => row.number, show: (row) => linkTo(row.number) }, textColumn("kernel", (row) => row.kernel),
    { ...textColumn("nodes", (row) => nodesOf(row).join(" ")), show: (row) => nodesOf(row).slice(0, 3).join(" ") + (nodesOf(row).length > 3 ? ` … ${nodesOf(row).length} nodes` : "") }, textColumn("grid", (row) => row.grid || ""), textColumn("tile", (row) => row.tile || ""),
    textColumn("order", (row) => row.traversal || ""), { label: "operations", value: (row) => row.flops, show: (row) => formatScaled(row.flops, "") },
    sizeColumn("bound", (row) => row.bound_bytes), sizeColumn("compulsory", (row) => row.compulsory_bytes), sizeColumn("model", (row) => row.model_bytes), sizeColumn("measured", measuredBytes),
    numberColumn("L2 hit %", (row) => row.l2_hit_pct ?? -1, 1), textColumn("bound by", (row) => row.bound_by || ""),
    numberColumn("µs at peak", (row) => row.seconds * 1e6, 1), numberColumn("FLOP/B", (row) => (row.model_bytes > 0 ? row.flops / row.model_bytes : -1), 1),
    numberColumn("µs measured", (row) => (measuredSeconds(row) ?? -1e-6) * 1e6, 1),
  ]),
  edges: new ReportTable("edges", [
    textColumn("from", (row) => row.producer || row.producerOp), textColumn("to", (row) => row.consumer || row.consumerOp),
    textColumn("ops", (row) => `${row.producerOp} → ${row.consumerOp}`), textColumn("decision", (row) => (row.isFused ? "fused" : "not fused")),
    { label: "kernels", value: (row) => row.from, show: (row) => makeElement("span", {}, linkTo(row.from), row.from === row.to ? "" : " → ", row.from === row.to ? "" : linkTo(row.to)) },
    textColumn("reason", (row) => row.reason), textColumn("in", (row) => row.level), sizeColumn("bytes", (row) => row.bytes), sizeColumn("saved", (row) => row.saved),
    sizeColumn("a tile", (row) => row.tile), textColumn("why there", (row) => row.levelReason),
  ]),
  remarks: new ReportTable("remarks", [
    textColumn("kind", (row) => row.kind), textColumn("category", (row) => row.category), textColumn("name", (row) => row.name),
    textColumn("kernel", (row) => row.function), textColumn("node", (row) => row.node), textColumn("text", (row) => row.text),
  ]),
  buffers: new ReportTable("buffers", [
    sizeColumn("size", (row) => row[0]), sizeColumn("at", (row) => row[1]), { label: "from kernel", value: (row) => row[2] }, { label: "to kernel", value: (row) => row[3] },
  ]),
};

function drawTraffic() {
  const rows = [...program.dispatches].sort((a, b) => b.model_bytes - a.model_bytes).slice(0, 24), height = 20, left = 230, width = 900;
  const most = Math.max(1, ...rows.map((row) => Math.max(row.model_bytes, measuredBytes(row)))), x = (bytes) => left + ((width - left - 90) * bytes) / most;
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${rows.length * height + 8}`, role: "img", "aria-label": "Bytes by the model, bound and measurement, for the kernels that move most" });
  rows.forEach((row, i) => {
    const y = i * height + 4;
    svg.appendChild(makeSvg("text", { x: left - 6, y: y + 13, "text-anchor": "end" }, `${row.number} ${row.kernel.slice(0, 32)}`));
    svg.appendChild(makeSvg("rect", { x: left, y: y + 3, width: Math.max(x(row.model_bytes) - left, 0.5), height: 12, class: "bar-model" }))
      .appendChild(makeSvg("title", {}, `${row.kernel}: ${formatSize(row.model_bytes)} by the model, at least ${formatSize(row.bound_bytes)}, compulsory ${formatSize(row.compulsory_bytes)}`));
    svg.appendChild(makeSvg("line", { x1: x(row.bound_bytes), x2: x(row.bound_bytes), y1: y, y2: y + 18, class: "bar-bound" }));
    if (measuredBytes(row) >= 0)
      svg.appendChild(makeSvg("circle", { cx: x(measuredBytes(row)), cy: y + 9, r: 5, class: "dot" }));
    svg.appendChild(makeSvg("text", { x: x(Math.max(row.model_bytes, measuredBytes(row))) + 8, y: y + 13 }, formatSize(row.model_bytes)));
  });
  byId("traffic").replaceChildren(svg);
}

/** The arena over time: across, the dispatches; up, bytes. */
function drawMemory() {
  const { buffers, arena_bytes: arena, unshared_bytes: unshared, note } = program.memory, canvas = byId("memory"), steps = Math.max(program.dispatches.length, 1);
  byId("memory-note").textContent = note ? `not known: ${note}` : `${buffers.length} buffers share ${formatSize(arena)}; without sharing they would take ${formatSize(unshared)}. Across: kernels in order. Up: offsets in the arena.`;
  const width = Math.min(Math.max(steps * 6, 600), 4000), height = 320, ratio = window.devicePixelRatio || 1, context = canvas.getContext("2d"), style = getComputedStyle(canvas);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.setAttribute("aria-label", byId("memory-note").textContent);
  context.scale(ratio, ratio);
  context.strokeStyle = style.getPropertyValue("--ground");
  buffers.forEach(([size, offset, first, last], i) => {
    context.fillStyle = style.getPropertyValue(`--wave${i % 6}`);
    const x = (first / steps) * width, y = height - ((offset + size) / Math.max(arena, 1)) * height, w = ((last - first + 1) / steps) * width, h = (size / Math.max(arena, 1)) * height;
    context.fillRect(x, y, w, h);
    if (h > 2 && w > 2)
      context.strokeRect(x, y, w, h);
  });
}

function drawOrder() {
  const box = byId("order-picture"), launch = program.launches[byId("launch").selectedIndex];
  box.replaceChildren();
  byId("order-numbers").replaceChildren();
  if (!launch)
    return;
  const config = readConfiguration(launch, weftDevices), state = new State(config);
  if (state.total <= maxDrawnTiles && state.hasPanels) {
    state.showOrder(config.order);
    box.append(...state.grids.map((_, stage) => drawGrid(state, stage, new Set(), null, () => {})));
  } else {
    box.append(makeElement("p", { class: "note" }, `${state.total} tiles: too many to draw`));
  }
  const rows = Object.keys({ ...launch.predicted, ...launch.measured }).sort().map((name) => makeElement("tr", {}, makeElement("td", {}, name),
    makeElement("td", {}, launch.predicted?.[name] === undefined ? "-" : String(+launch.predicted[name].toPrecision(5))),
    makeElement("td", {}, launch.measured?.[name] === undefined ? "-" : String(+launch.measured[name].toPrecision(5)))));
  byId("order-numbers").append(makeElement("table", {}, makeElement("thead", {}, makeElement("tr", {}, ...["metric", "predicted", "measured"].map((text) => makeElement("th", { scope: "col" }, text)))),
    makeElement("tbody", {}, ...rows)));
}

let codeForm = "ir";

/** The chosen kernel's IR, as outlined, or its PTX. */
function drawCode() {
  const each = (program.code || [])[byId("code-kernel").selectedIndex];
  for (const form of ["ir", "ptx"])
    byId(`code-${form}`).setAttribute("aria-selected", String(codeForm === form));
  byId("code-text").textContent = (each && each[codeForm]) || "not in the bundle";
}

function chooseForm(form) {
  codeForm = form;
  drawCode();
}

function showProgram(index) {
  program = readProgram(weftExplanation.programs[index]);
  program.launches = weftExplanation.launches.map((launch, i) => ({ ...launch, place: weftExplanation.launch_places[i] })).filter((launch) => launch.place[0] === index);
  drawSummary();
  drawGraph();
  describeDispatch(0);
  tables.kernels.setRows(program.dispatches);
  tables.edges.setRows(program.edges);
  tables.remarks.setRows(program.remarks);
  tables.buffers.setRows(program.memory.buffers);
  drawTraffic();
  byId("roofline-section").hidden = !drawRoofline(program, byId("roofline"), showDispatch);
  byId("diff-section").hidden = !drawDiff(weftExplanation, program.target, byId("diff"));
  drawMemory();
  byId("code-kernel").replaceChildren(...(program.code || []).map((each) => new Option(each.kernel)));
  byId("code-section").hidden = !(program.code || []).length;
  drawCode();
  byId("launch").replaceChildren(...program.launches.map((launch) => new Option(`${launch.place[1]}: ${launch.name}`)));
  byId("orders-section").hidden = program.launches.length === 0;
  drawOrder();
}

function findNode() {
  const text = byId("find").value.toLowerCase(), hits = text ? program.dispatches.filter((dispatch) => nodesOf(dispatch).some((node) => node.toLowerCase().includes(text))) : [];
  byId("found").textContent = text ? `${hits.length} kernels` : "";
  if (hits.length)
    graph.select(hits[0].number, true);
}

function start() {
  const { model, version, programs } = weftExplanation;
  document.title = `${model}: what was made of it, and why`;
  byId("title").textContent = model;
  byId("subtitle").textContent = `${version}; the same as JSON: weft explain --json`;
  byId("program").replaceChildren(...programs.map((each) => new Option(each.device ? `${each.target} (${each.device})` : each.target)));
  graph = new KernelGraph(byId("graph"), describeDispatch);
  byId("program").addEventListener("change", () => showProgram(byId("program").selectedIndex));
  byId("expand").addEventListener("click", () => graph.setAll(true));
  byId("collapse").addEventListener("click", () => graph.setAll(false));
  byId("zoom-in").addEventListener("click", () => graph.zoom(1.25));
  byId("zoom-out").addEventListener("click", () => graph.zoom(0.8));
  byId("fit").addEventListener("click", () => graph.fit());
  byId("find").addEventListener("input", findNode);
  byId("launch").addEventListener("change", drawOrder);
  byId("code-kernel").addEventListener("change", drawCode);
  for (const form of ["ir", "ptx"])
    byId(`code-${form}`).addEventListener("click", () => chooseForm(form));
  document.querySelector("#code-section [role=tablist]").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight")
      return;
    chooseForm(codeForm === "ir" ? "ptx" : "ir");
    byId(`code-${codeForm}`).focus();
  });
  tables.edges.keep = (edge) => !byId("edges-missed").checked || !edge.isFused;
  byId("edges-missed").addEventListener("change", () => tables.edges.setRows(program.edges));
  byId("save-json").addEventListener("click", () => {
    const link = makeElement("a", { href: URL.createObjectURL(new Blob([JSON.stringify(weftExplanation)], { type: "application/json" })), download: "explain.json" });
    link.click();
  });
  if (programs.length)
    showProgram(0);
}

start();
