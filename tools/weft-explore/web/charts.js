// Plots: bytes against the size of the cache, with the lower bound; reuse distances. Plain SVG.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const formatBytes = (bytes) => {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.length; ++unit)
    bytes /= 1000;
  return `${unit && bytes < 100 ? bytes.toPrecision(3) : Math.round(bytes)} ${units[unit]}`;
};
const formatSize = (bytes) => (bytes >= 1 << 20 ? `${+(bytes / 2 ** 20).toPrecision(3)} MiB` : `${+(bytes / 1024).toPrecision(3)} KiB`);

/** curves: [{name, points: [[cacheBytes, bytes]], isBound}]; `here`: the configured size; `dots`: [[x, y, title]]. */
function drawTraffic(curves, here, dots) {
  const width = 640, height = 320, left = 64, bottom = 40, top = 10, right = 150;
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Bytes from memory by size of the cache, one curve for each order, the lower bound dashed" });
  const points = curves.flatMap((curve) => curve.points).concat(dots).filter(([, y]) => y > 0);
  if (!points.length)
    return svg;
  const xs = points.map(([x]) => Math.log2(x)), ys = points.map(([, y]) => Math.log10(y));
  const x0 = Math.min(...xs), x1 = Math.max(...xs, x0 + 1), y0 = Math.min(...ys) - 0.05, y1 = Math.max(...ys, y0 + 0.2) + 0.05;
  const px = (x) => left + ((Math.log2(x) - x0) / (x1 - x0)) * (width - left - right), py = (y) => height - bottom - ((Math.log10(y) - y0) / (y1 - y0)) * (height - bottom - top);
  svg.appendChild(makeSvg("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, class: "axis", fill: "none" }));
  for (let tick = Math.ceil(x0); tick <= x1; tick += Math.max(1, Math.round((x1 - x0) / 6)))
    svg.appendChild(makeSvg("text", { x: px(2 ** tick), y: height - bottom + 16, "text-anchor": "middle" }, formatSize(2 ** tick)));
  for (let k = 0; k <= 4; ++k) {
    const value = 10 ** (y0 + (k / 4) * (y1 - y0));
    svg.appendChild(makeSvg("text", { x: left - 6, y: py(value) + 4, "text-anchor": "end" }, formatBytes(value)));
  }
  svg.appendChild(makeSvg("line", { x1: px(here), x2: px(here), y1: top, y2: height - bottom, class: "here" }));
  svg.appendChild(makeSvg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "size of the cache"));
  const labels = [];
  curves.forEach((curve, i) => {
    const drawn = curve.points.filter(([, y]) => y > 0).map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`);
    if (!drawn.length)
      return;
    const line = makeSvg("polyline", { points: drawn.join(" "), class: curve.isBound ? "bound" : "curve" });
    if (!curve.isBound)
      line.style.stroke = `var(--c${i % 6})`;
    line.appendChild(makeSvg("title", {}, curve.name));
    svg.appendChild(line);
    labels.push({ name: curve.name, y: py(curve.points[0][1]), colour: curve.isBound ? "var(--ink)" : `var(--c${i % 6})`, isBound: curve.isBound });
  });
  for (const [x, y, title] of dots)
    svg.appendChild(makeSvg("circle", { cx: px(x), cy: py(y), r: 5, fill: "var(--focus)" })).appendChild(makeSvg("title", {}, title));
  labels.sort((a, b) => a.y - b.y).forEach((label, i) => {
    const y = top + 14 + 18 * i;
    const key = makeSvg("line", { x1: width - right + 12, x2: width - right + 34, y1: y - 4, y2: y - 4, class: label.isBound ? "bound" : "curve" });
    if (!label.isBound)
      key.style.stroke = label.colour;
    svg.appendChild(key);
    svg.appendChild(makeSvg("text", { x: width - right + 40, y }, label.name));
  });
  return svg;
}

/** Bars of uses by distance, in powers of two; `capacity` panels is the line between hits and misses. */
function drawReuse(reuse, capacity) {
  const bins = [{ label: "first", count: reuse.cold, from: Infinity }];
  for (let from = 0, to = 1; from < Math.max(reuse.counts.length, 1); [from, to] = [to, to * 2])
    bins.push({ label: to - from > 1 ? `${from}-${to - 1}` : `${from}`, count: reuse.counts.slice(from, to).reduce((a, b) => a + b, 0), from });
  while (bins.length > 2 && !bins[bins.length - 1].count)
    bins.pop();
  bins.push(bins.shift());
  const width = 640, height = 220, bottom = 36, left = 10, most = Math.max(...bins.map((bin) => bin.count), 1), step = (width - 2 * left) / bins.length;
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Uses of panels by reuse distance" });
  let split = bins.length - 1;
  bins.forEach((bin, i) => {
    const tall = (bin.count / most) * (height - bottom - 24), isMiss = bin.from >= capacity;
    if (isMiss)
      split = Math.min(split, i);
    svg.appendChild(makeSvg("rect", { x: left + i * step + 2, y: height - bottom - tall, width: step - 4, height: tall, class: isMiss ? "bar miss" : "bar" }));
    svg.appendChild(makeSvg("text", { x: left + (i + 0.5) * step, y: height - bottom - tall - 4, "text-anchor": "middle" }, bin.count));
    svg.appendChild(makeSvg("text", { x: left + (i + 0.5) * step, y: height - bottom + 14, "text-anchor": "middle" }, bin.label));
  });
  svg.appendChild(makeSvg("line", { x1: left + split * step, x2: left + split * step, y1: 4, y2: height - bottom, class: "here" }));
  svg.appendChild(makeSvg("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, `other panels in between (${capacity} fit)`));
  return svg;
}
