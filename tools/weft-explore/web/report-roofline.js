// The report's roofline, and what differs from another compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const rooflineKernels = 400;

/** Seconds that a profiler measured (gpu__time_duration.sum is in nanoseconds); undefined without. */
function measuredSeconds(dispatch) {
  const value = dispatch.measured?.["gpu__time_duration.sum"];
  return value > 0 ? value * 1e-9 : undefined;
}

/** Kernels as points: operations for a byte from memory, operations in a second, by the model and as measured. */
function listRoofline(program) {
  const rows = program.dispatches.filter((row) => row.flops > 0 && row.model_bytes > 0 && row.seconds > 0);
  return rows.sort((a, b) => b.seconds - a.seconds).slice(0, rooflineKernels).map((row) => ({
    row, intensity: row.flops / row.model_bytes, model: row.flops / row.seconds,
    measured: measuredSeconds(row) === undefined ? undefined : row.flops / measuredSeconds(row),
  }));
}

/** Log-log, decades as lines: the roof by the device's bandwidth and matrix rate. */
function drawRoofline(program, box, showKernel) {
  const points = listRoofline(program), device = weftDevices.find((each) => each.name === program.device);
  box.replaceChildren();
  if (!points.length || !device)
    return false;
  const bandwidth = program.bandwidth || device.bandwidth, peak = device.flops, width = 900, height = 360, left = 80, bottom = 40;
  const xs = [...points.map((p) => p.intensity), peak / bandwidth], ys = points.flatMap((p) => [p.model, p.measured ?? p.model]).concat(peak);
  const decades = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 1e-9)];
  const [x0, x1] = decades(xs), [y0, y1] = decades(ys);
  const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 20), y = (value) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - bottom - 16);
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Roofline: operations in a second against operations for a byte; the table of kernels has the numbers" });
  for (let i = x0; i <= x1; ++i) {
    svg.appendChild(makeSvg("line", { x1: x(10 ** i), x2: x(10 ** i), y1: y(10 ** y0), y2: y(10 ** y1), class: "grid-line" }));
    svg.appendChild(makeSvg("text", { x: x(10 ** i), y: height - bottom + 16, "text-anchor": "middle" }, String(10 ** i)));
  }
  for (let i = y0; i <= y1; ++i) {
    svg.appendChild(makeSvg("line", { x1: x(10 ** x0), x2: x(10 ** x1), y1: y(10 ** i), y2: y(10 ** i), class: "grid-line" }));
    svg.appendChild(makeSvg("text", { x: left - 6, y: y(10 ** i) + 4, "text-anchor": "end" }, formatScaled(10 ** i, "FLOP/s")));
  }
  svg.appendChild(makeSvg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "operations for a byte from memory, by the model"));
  const ridge = peak / bandwidth, start = Math.max(10 ** x0, 10 ** y0 / bandwidth);
  svg.appendChild(makeSvg("polyline", { points: `${x(start)},${y(start * bandwidth)} ${x(ridge)},${y(peak)} ${x(10 ** x1)},${y(peak)}`, class: "roof" }));
  for (const point of points) {
    const text = `${point.row.number} ${point.row.kernel}: ${point.intensity.toPrecision(3)} FLOP/B, at most ${formatScaled(point.model, "FLOP/s")}` +
      (point.measured === undefined ? "" : `, measured ${formatScaled(point.measured, "FLOP/s")}`);
    const add = (value, className) => {
      const dot = svg.appendChild(makeSvg("circle", { cx: x(point.intensity), cy: y(value), r: 5, class: className }));
      dot.appendChild(makeSvg("title", {}, text));
      dot.addEventListener("click", () => showKernel(point.row.number));
    };
    add(point.model, "dot-model");
    if (point.measured !== undefined)
      add(point.measured, "dot");
  }
  box.replaceChildren(svg);
  return true;
}

/** Totals, decisions and kernels that differ from the compile that --diff names; false without one. */
function drawDiff(explanation, target, box) {
  const diff = explanation.diff, program = diff?.programs.find((each) => each.target === target);
  box.replaceChildren();
  if (!program)
    return false;
  const cell = (name, text) => makeElement(name, name === "th" ? { scope: "col" } : {}, text);
  const table = (id, head, rows) => makeElement("table", { id }, makeElement("thead", {}, makeElement("tr", {}, ...head.map((text) => cell("th", text)))),
    makeElement("tbody", {}, ...rows.slice(0, pageRows).map((row) => makeElement("tr", {}, ...row.map((text) => cell("td", text))))));
  const number = (name, value) => (name.endsWith("bytes") ? formatSize(value) : name === "flops" ? formatScaled(value, "FLOP") : name === "seconds" ? `${(value * 1e6).toFixed(1)} µs` : String(value));
  const kernel = (each) => (each ? [each.kernel, formatSize(each.model_bytes), each.tile && `tile ${each.tile}`, each.traversal && `order ${each.traversal}`].filter(Boolean).join(", ") : "-");
  const more = (list) => (list.length > pageRows ? makeElement("p", { class: "note" }, `${list.length - pageRows} more: weft explain --diff --json`) : "");
  box.append(
    makeElement("p", { class: "note" }, `Before: ${diff.before}. Now: ${diff.now}.`),
    table("diff-totals", ["total", "before", "now"], program.totals.map(([name, before, now]) => [name.replace(/_/g, " "), number(name, before), number(name, now)])),
    makeElement("h3", {}, `${program.edges.length} decisions changed`),
    table("diff-edges", ["from", "to", "now", "reason"], program.edges.map((edge) => [edge.producer, edge.consumer, edge.fused_now ? "fused" : "not fused", edge.reason])), more(program.edges),
    makeElement("h3", {}, `${program.kernels.length} kernels changed`),
    table("diff-kernels", ["nodes", "before", "now"], program.kernels.map((each) => [each.nodes.slice(0, 3).join(" ") + (each.nodes.length > 3 ? ` … ${each.nodes.length} nodes` : ""), kernel(each.before), kernel(each.now)])), more(program.kernels));
  return true;
}
