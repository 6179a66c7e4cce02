// The graph of kernels on a canvas: layered once, drawn only where it is seen.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dispatch is a box; its layer is one more than that of its last producer. Boxes of a layer go by the mean position of their
// neighbours (two sweeps). An open box lists its nodes and the edges between them. Layout takes time linear in boxes and
// edges, but for sorting; only boxes and edges in the view are drawn.
"use strict";

const boxWidth = 190, boxHeight = 34, rowHeight = 15, gapX = 26, gapY = 44;

class KernelGraph {
  constructor(canvas, onSelect) {
    this.canvas = canvas;
    this.onSelect = onSelect;
    this.open = new Set();
    this.selected = 0;
    this.boxes = [];
    this.view = { x: 0, y: 0, scale: 1 };
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** `dispatches`: {title, nodes, weight (0..1)}; `edges`: {from, to, bytes}; `inner`: by dispatch, pairs of nodes' numbers. */
  setProgram(dispatches, edges, inner) {
    this.dispatches = dispatches;
    this.inner = inner;
    const merged = new Map();
    for (const edge of edges)
      if (edge.from !== edge.to && edge.from >= 0 && edge.to >= 0) {
        const key = edge.from * dispatches.length + edge.to;
        merged.set(key, { from: edge.from, to: edge.to, bytes: (merged.has(key) ? merged.get(key).bytes : 0) + Math.max(edge.bytes, 0) });
      }
    this.edges = [...merged.values()];
    this.open.clear();
    this.selected = 0;
    this.placeLayers();
    this.fit();
  }

  placeLayers() {
    const count = this.dispatches.length, layer = new Array(count).fill(0), ins = Array.from({ length: count }, () => []), outs = Array.from({ length: count }, () => []);
    for (const edge of this.edges) {
      const [from, to] = [Math.min(edge.from, edge.to), Math.max(edge.from, edge.to)]; // Dispatches are in order.
      ins[to].push(from);
      outs[from].push(to);
    }
    this.layers = [];
    for (let i = 0; i < count; ++i) {
      for (const maker of ins[i])
        layer[i] = Math.max(layer[i], layer[maker] + 1);
      (this.layers[layer[i]] ??= []).push(i);
    }
    const place = new Array(count).fill(0), number = () => this.layers.forEach((list) => list.forEach((box, i) => { place[box] = i - (list.length - 1) / 2; }));
    const sweep = (layers, neighbours) => {
      for (const list of layers) {
        const mean = new Map(list.map((box) => [box, neighbours[box].length ? neighbours[box].reduce((sum, other) => sum + place[other], 0) / neighbours[box].length : place[box]]));
        list.sort((a, b) => mean.get(a) - mean.get(b) || a - b);
        list.forEach((box, i) => { place[box] = i - (list.length - 1) / 2; });
      }
    };
    number();
    sweep(this.layers, ins);
    sweep([...this.layers].reverse(), outs);
    this.layout();
  }

  heightOf(box) { return boxHeight + (this.open.has(box) ? this.dispatches[box].nodes.length * rowHeight + 6 : 0); }

  layout() {
    this.boxes = new Array(this.dispatches.length);
    let y = 0;
    this.rows = [];
    for (const list of this.layers) {
      const height = Math.max(...list.map((box) => this.heightOf(box)));
      list.forEach((box, i) => {
        this.boxes[box] = { x: (i - (list.length - 1) / 2) * (boxWidth + gapX) - boxWidth / 2, y, width: boxWidth, height: this.heightOf(box) };
      });
      this.rows.push({ y, height, list });
      y += height + gapY;
    }
    this.height = Math.max(y - gapY, 1);
    this.width = Math.max(1, ...this.layers.map((list) => list.length)) * (boxWidth + gapX);
    // Edges by the rows they cross, so that a view finds its own.
    this.sorted = this.edges.map((edge) => ({ ...edge, top: Math.min(this.boxes[edge.from].y, this.boxes[edge.to].y), bottom: Math.max(this.boxes[edge.from].y, this.boxes[edge.to].y) }))
      .sort((a, b) => a.top - b.top);
  }

  fit() {
    const box = this.canvas.getBoundingClientRect(), scale = Math.min(1, box.width / (this.width + 40), box.height / (this.height + 40));
    const readable = Math.max(scale, Math.min(0.75, box.width / (this.width + 40)), 0.3);
    this.view = { scale: readable, x: 0, y: box.height / readable / 2 - 24 };
    this.draw();
  }

  colours() {
    const style = getComputedStyle(this.canvas), get = (name) => style.getPropertyValue(name).trim();
    return { ink: get("--ink"), quiet: get("--quiet"), ground: get("--ground"), panel: get("--todo"), accent: get("--accent"), line: get("--line"), hot: get("--c1") };
  }

  draw() {
    if (!this.dispatches)
      return;
    const rect = this.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1, { x, y, scale } = this.view;
    this.canvas.width = Math.max(1, Math.round(rect.width * ratio));
    this.canvas.height = Math.max(1, Math.round(rect.height * ratio));
    const context = this.canvas.getContext("2d"), colours = this.colours();
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * (rect.width / 2 - x * scale), ratio * (rect.height / 2 - y * scale));
    const seen = { left: x - rect.width / 2 / scale, right: x + rect.width / 2 / scale, top: y - rect.height / 2 / scale, bottom: y + rect.height / 2 / scale };
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawn = { boxes: 0, edges: 0 };
    this.drawEdges(context, colours, seen);
    for (const row of this.rows)
      if (row.y + row.height >= seen.top && row.y <= seen.bottom)
        for (const box of row.list)
          if (this.boxes[box].x + boxWidth >= seen.left && this.boxes[box].x <= seen.right)
            this.drawBox(context, colours, box);
  }

  drawEdges(context, colours, seen) {
    context.strokeStyle = colours.quiet;
    for (const edge of this.sorted) {
      if (edge.top > seen.bottom)
        break;
      if (edge.bottom < seen.top)
        continue;
      const from = this.boxes[edge.from], to = this.boxes[edge.to], isChosen = edge.from === this.selected || edge.to === this.selected;
      context.lineWidth = Math.min(1 + Math.log10(1 + edge.bytes / 1e5), 5) + (isChosen ? 1 : 0);
      context.strokeStyle = isChosen ? colours.accent : colours.line;
      const [x0, y0, x1, y1] = [from.x + boxWidth / 2, from.y + from.height, to.x + boxWidth / 2, to.y], bend = Math.min(Math.abs(y1 - y0) / 2, 60);
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
      context.stroke();
      ++this.drawn.edges;
    }
  }

  drawBox(context, colours, number) {
    const box = this.boxes[number], dispatch = this.dispatches[number], isOpen = this.open.has(number);
    ++this.drawn.boxes;
    context.fillStyle = colours.panel;
    context.fillRect(box.x, box.y, box.width, box.height);
    context.fillStyle = colours.hot;
    context.fillRect(box.x, box.y + boxHeight - 5, box.width * dispatch.weight, 4);
    context.lineWidth = number === this.selected ? 3 : 1;
    context.strokeStyle = number === this.selected ? colours.accent : colours.line;
    context.strokeRect(box.x, box.y, box.width, box.height);
    if (this.view.scale < 0.25)
      return;
    context.fillStyle = colours.ink;
    context.fillText(this.cut(`${isOpen ? "▾" : "▸"} ${number} ${dispatch.title}`, 27), box.x + 6, box.y + 9);
    context.fillStyle = colours.quiet;
    context.fillText(this.cut(dispatch.subtitle, 32), box.x + 6, box.y + 22);
    if (!isOpen)
      return;
    const rowY = (i) => box.y + boxHeight + (i + 0.5) * rowHeight + 2;
    context.strokeStyle = colours.accent;
    context.lineWidth = 1;
    for (const [a, b] of this.inner[number] || []) { // Arcs along the left side.
      context.beginPath();
      context.moveTo(box.x + 16, rowY(a));
      context.quadraticCurveTo(box.x + 16 - Math.min(4 + 3 * Math.abs(b - a), 15), (rowY(a) + rowY(b)) / 2, box.x + 16, rowY(b));
      context.stroke();
    }
    context.fillStyle = colours.ink;
    dispatch.nodes.forEach((node, i) => context.fillText(this.cut(node, 28), box.x + 20, rowY(i)));
  }

  /** Names of nodes are telling at their ends. */
  cut(text, most) { return text.length <= most ? text : `${text.slice(0, 6)}…${text.slice(text.length - most + 7)}`; }

  boxAt(clientX, clientY) {
    const rect = this.canvas.getBoundingClientRect(), x = (clientX - rect.left - rect.width / 2) / this.view.scale + this.view.x;
    const y = (clientY - rect.top - rect.height / 2) / this.view.scale + this.view.y;
    return this.boxes.findIndex((box) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height);
  }

  select(number, isCentred) {
    this.selected = Math.min(Math.max(number, 0), this.dispatches.length - 1);
    const box = this.boxes[this.selected];
    if (box && isCentred) {
      this.view.x = box.x + box.width / 2;
      this.view.y = box.y + box.height / 2;
    }
    this.draw();
    this.onSelect(this.selected);
  }

  toggle(number) {
    if (!this.open.delete(number))
      this.open.add(number);
    this.layout();
    this.draw();
  }
  setAll(isOpen) {
    this.open = new Set(isOpen ? this.dispatches.keys() : []);
    this.layout();
    this.draw();
  }
  zoom(factor) {
    this.view.scale = Math.min(Math.max(this.view.scale * factor, 0.03), 3);
    this.draw();
  }
  move(dx, dy) {
    this.view.x += dx / this.view.scale;
    this.view.y += dy / this.view.scale;
    this.draw();
  }

  /** The kernel beside the chosen one in its layer, or above or below it. */
  neighbour(key) {
    const row = this.rows.findIndex((each) => each.list.includes(this.selected)), list = this.rows[row].list, at = list.indexOf(this.selected);
    if (key === "ArrowLeft" || key === "ArrowRight")
      return list[Math.min(Math.max(at + (key === "ArrowLeft" ? -1 : 1), 0), list.length - 1)];
    const next = this.rows[Math.min(Math.max(row + (key === "ArrowUp" ? -1 : 1), 0), this.rows.length - 1)].list, x = this.boxes[this.selected].x;
    return next.reduce((best, box) => (Math.abs(this.boxes[box].x - x) < Math.abs(this.boxes[best].x - x) ? box : best));
  }

  listen() {
    let drag = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, isMoved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag || (!drag.isMoved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 4))
        return;
      this.move(drag.x - event.clientX, drag.y - event.clientY);
      drag = { x: event.clientX, y: event.clientY, isMoved: true };
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const hit = drag && !drag.isMoved ? this.boxAt(event.clientX, event.clientY) : -1;
      drag = null;
      if (hit < 0)
        return;
      if (hit === this.selected || this.open.has(hit))
        this.toggle(hit);
      this.select(hit, false);
    });
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.ctrlKey)
        this.zoom(Math.exp(-event.deltaY / 200));
      else
        this.move(event.deltaX, event.deltaY);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] }[event.key];
      if (event.ctrlKey || event.altKey || event.metaKey || !this.dispatches.length)
        return;
      if (step && event.shiftKey)
        this.move(...step);
      else if (step)
        this.select(this.neighbour(event.key), true);
      else if (event.key === "Enter" || event.key === " ")
        this.toggle(this.selected);
      else if (event.key === "+" || event.key === "-")
        this.zoom(event.key === "+" ? 1.25 : 0.8);
      else
        return;
      event.preventDefault();
    });
  }
}
