// Runs in the page after its own scripts: uses it as a person would and leaves what it saw in an element called probe.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

(() => {
  const $ = (id) => document.getElementById(id), seen = {};
  const tiles = () => [...document.querySelectorAll("#grids rect.tile")];
  const click = (element) => element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const key = (name, extra) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...extra }));
  const choose = (id, value) => { $(id).value = value; $(id).dispatchEvent(new Event("change", { bubbles: true })); };
  const read = () => $("totals").rows[1].cells[1].textContent;

  click(tiles()[0]);
  seen.afterOne = [$("position-text").textContent, read(), $("step").textContent];
  click(tiles()[1]);
  seen.afterTwo = read();
  click(tiles()[0]);
  seen.twice = $("status").textContent;
  key("z", { ctrlKey: true });
  seen.undone = [$("position-text").textContent, read()];
  key("y", { ctrlKey: true });
  seen.redone = [$("position-text").textContent, read()];
  $("grids").focus();
  key("ArrowDown");
  key("ArrowRight");
  key("Enter");
  seen.byKeys = [$("status").textContent, $("position-text").textContent];
  seen.arrows = document.querySelectorAll("#grids line[marker-end]").length;
  $("order").value = "hilbert";
  click($("show"));
  seen.hilbert = [$("position-text").textContent, document.querySelectorAll("#grids rect.wave0").length];
  $("order").value = "hilbrt";
  click($("show"));
  seen.unknown = $("status").textContent;
  choose("kind", "chain");
  seen.chain = [document.querySelectorAll("#grids svg").length, document.querySelectorAll("#grids rect.locked").length, $("order").value];
  click([...document.querySelectorAll("#grids svg")[1].querySelectorAll("rect.tile")][0]);
  seen.tooEarly = $("status").textContent;
  choose("kind", "attention");
  seen.attention = $("status").textContent;
  choose("kind", "gemm");
  choose("hints", "Z=evict_last");
  const refusal = $("status").textContent;
  choose("hints", "A=evict_last");
  seen.hints = [$("hints").value, refusal];
  choose("device", "H100");
  seen.device = [$("sms").value, $("cacheKib").value, $("partitions").value];
  $("problem-m").value = 0;
  $("problem-m").dispatchEvent(new Event("change", { bubbles: true }));
  seen.outOfRange = $("status").textContent;
  $("problem-m").value = 512;
  choose("problem-n", 512);
  choose("problem-k", 512);
  choose("cacheKib", 400);
  click($("optimum"));
  const finish = () => {
    if (!document.body.dataset.ready) {
      setTimeout(finish, 50);
      return;
    }
    seen.optimum = [$("status").textContent, $("order").value.slice(0, 6)];
    seen.rows = $("ranks").rows.length;
    seen.curves = document.querySelectorAll("#traffic-plot polyline").length;
    seen.bars = document.querySelectorAll("#reuse-plot rect").length;
    seen.requests = performance.getEntriesByType("resource").length;
    const pre = document.body.appendChild(document.createElement("pre"));
    pre.id = "probe";
    pre.textContent = JSON.stringify(seen);
  };
  setTimeout(finish, 500);
})();
