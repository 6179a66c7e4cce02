// Uses the report as a person would and leaves what it saw in an element `probe`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

(() => {
  const seen = {}, click = (name) => byId(name).click(), type = (name, text) => { byId(name).value = text; byId(name).dispatchEvent(new Event("input")); };
  const press = (key, shift) => byId("graph").dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey: Boolean(shift), bubbles: true, cancelable: true }));
  const readLaunchTiles = () => {
    const { problem, tile } = program.launches[0];
    return problem.kind === "tiles" ? problem.rows * problem.cols : Math.ceil(problem.m / tile.m) * Math.ceil(problem.n / tile.n);
  };
  const count = (selector) => document.querySelectorAll(selector).length;
  seen.programs = [...byId("program").options].map((option) => option.text);
  seen.summary = byId("summary").textContent.includes("25.2 MB → 8.39 MB");
  byId("program").selectedIndex = 1;
  byId("program").dispatchEvent(new Event("change"));
  seen.title = byId("title").textContent;
  seen.kernels = [...document.querySelectorAll("#kernels tbody tr")].map((row) => row.children[1].textContent);
  document.querySelectorAll("#kernels th button")[8].click(); // By the model's bytes, largest first.
  seen.sorted = [document.querySelector("#kernels tbody tr").children[8].textContent, document.querySelectorAll("#kernels th")[8].getAttribute("aria-sort")];
  document.querySelectorAll("#kernels th button")[8].click();
  seen.reversed = document.querySelector("#kernels tbody tr").children[8].textContent;
  seen.edges = byId("edges-count").textContent;
  click("edges-missed");
  seen.missed = [byId("edges-count").textContent, byId("edges").textContent.includes("G5: a widening cast belongs to its consumer")];
  click("edges-missed");
  type("edges-filter", "MatMul_0 tg.add");
  seen.filtered = byId("edges-count").textContent;
  type("remarks-filter", "schedule gemm-or-not-there");
  seen.remarks = byId("remarks-count").textContent.startsWith("0 of ");
  seen.boxes = [graph.boxes.length, graph.drawn.boxes, graph.drawn.edges];
  const closed = graph.height;
  press("Enter");
  seen.opened = graph.open.size === 1 && graph.height > closed;
  click("expand");
  seen.all = graph.open.size;
  click("collapse");
  press("ArrowDown");
  seen.selected = [graph.selected, byId("selected").textContent.includes("Kernel 1, norm")];
  type("find", "matmul");
  seen.found = [byId("found").textContent, graph.selected];
  const pixels = byId("graph").getContext("2d").getImageData(0, 0, byId("graph").width, byId("graph").height).data;
  seen.isDrawn = pixels.some((value) => value !== 0);
  seen.tiles = count("#order-picture .tile") === readLaunchTiles();
  seen.metrics = byId("order-numbers").textContent.includes("dram__bytes_read.sum");
  seen.bars = count("#traffic rect");
  seen.roofline = [count("#roofline circle") > 0, count("#roofline .roof"), byId("roofline-section").hidden];
  document.querySelector("#roofline circle").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  seen.chosen = byId("selected").textContent.startsWith("Kernel 0, gemm_add_tanh");
  seen.diff = [byId("diff-totals").rows[1].cells[2].textContent, count("#diff-edges tbody tr") > 0, byId("diff-kernels").textContent.includes("gemm_add_tanh")];
  byId("code-kernel").selectedIndex = 0;
  byId("code-kernel").dispatchEvent(new Event("change"));
  seen.code = [byId("code-text").textContent.includes("tg.contract")];
  click("code-ptx");
  seen.code.push(byId("code-text").textContent.startsWith(".visible .entry k"), byId("code-ptx").getAttribute("aria-selected"));
  seen.launches = byId("launch").options.length;
  seen.memory = byId("memory-note").textContent.startsWith("1 buffers share 1.05 MB");
  seen.narrow = document.documentElement.scrollWidth <= window.innerWidth + 1;
  seen.unlabelled = [...document.querySelectorAll("input, select, button, canvas")].filter((each) =>
    !each.hidden && !each.getAttribute("aria-label") && !(each.labels && each.labels.length) && !each.textContent.trim()).length;
  seen.requests = performance.getEntriesByType("resource").length;
  const result = document.createElement("pre");
  result.id = "probe";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
})();
