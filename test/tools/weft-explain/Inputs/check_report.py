"""The report of weft-explain in headless Chromium.

    check_report.py page|large TOOL BUNDLE [BEFORE]

`page` uses the report of BUNDLE, beside BEFORE, as a person would. `large` writes the report of BUNDLE with a model of 10,000 nodes in the place of its own, and
measures the time from the start of the navigation until it is loaded, laid out and drawn. Exit 1 and a line for each difference; a console message or a
request is one.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import html
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NODES, NODES_OF_KERNEL = 10_000, 3
MOST_SECONDS, MOST_BYTES = 2.0, 5_000_000

EXPECTED = {
    "programs": ["cpu", "sm_90a (H100)"], "summary": True, "title": "explain.mlir", "kernels": ["gemm_add_tanh", "norm"],
    "sorted": ["4.20 MB", "descending"], "reversed": "2.10 MB", "edges": "9 of 9", "missed": ["1 of 9", True], "filtered": "1 of 9", "remarks": True,
    "boxes": [2, 2, 1], "opened": True, "all": 2, "selected": [1, True], "found": ["1 kernels", 0], "isDrawn": True, "tiles": True, "metrics": True, "bars": 2,
    "roofline": [True, 1, False], "chosen": True, "diff": ["2", True, True], "code": [True, True, "true"], "launches": 2, "memory": True, "narrow": True, "unlabelled": 0, "requests": 0,
}

# Loaded, laid out, and the canvases' pixels there.
TIMER = """<script>addEventListener("load", () => {
  const height = document.body.offsetHeight, pixel = byId("graph").getContext("2d").getImageData(0, 0, 1, 1).data.length;
  const seen = { seconds: performance.now() / 1000, rows: document.querySelectorAll("tbody tr").length, boxes: graph.boxes.length,
    drawn: graph.drawn.boxes, requests: performance.getEntriesByType("resource").length, height, pixel };
  document.body.append(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(seen) })); });</script>"""


def browse(url: str, folder: pathlib.Path, flags: tuple = ()) -> tuple[dict, list[str]]:
    """What the page left in its probe, and the console's messages."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={folder}/profile", *flags, "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
    if not found:
        raise SystemExit(f"no probe in the page; the console: {[line for line in done.stderr.splitlines() if 'CONSOLE' in line]}")
    return json.loads(html.unescape(found.group(1))), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def write_report(tool: str, bundle: str, page: pathlib.Path) -> str:
    subprocess.run([tool, bundle, "-o", page, *[f"--diff={before}" for before in sys.argv[4:]]], check=True)
    return page.read_text()


def check_page(tool: str, bundle: str, folder: pathlib.Path) -> int:
    page = folder / "report.html"
    text = write_report(tool, bundle, page)
    bad = [f"address in the page: {url}" for url in re.findall(r"https?://[^\s\"'<)]+", text) if url != "http://www.w3.org/2000/svg"]
    page.write_text(text.replace("</body>", f"<script>{(HERE / 'probe.js').read_text()}</script></body>"))
    for width in (1280, 400):
        seen, console = browse(page.as_uri(), folder, (f"--window-size={width},900", "--virtual-time-budget=20000"))
        bad += console + [f"{width} wide: {key}: expected {want!r}, got {seen.get(key)!r}" for key, want in EXPECTED.items() if seen.get(key) != want]
    print("\n".join(bad))
    print(f"page: {2 * len(EXPECTED)} observations, {len(bad)} differences")
    return 1 if bad else 0


def make_large() -> dict:
    """A model as `weft explain --json` describes one: kernels of three nodes in a row, with skip connections."""
    rng, kernels = random.Random(1), NODES // NODES_OF_KERNEL + 1
    names, edges, dispatches = ["register", "memory", "tg.add", "G2: two contractions without a common operand"], [], []
    first = len(names)
    names += [f"/model/layers.{i // 40}/block/node_{i}" for i in range(NODES)]
    for number in range(kernels):
        nodes = list(range(number * NODES_OF_KERNEL, min((number + 1) * NODES_OF_KERNEL, NODES)))
        read, written = rng.randint(1 << 16, 1 << 24), rng.randint(1 << 16, 1 << 24)
        dispatches.append({"number": number, "kernel": f"add_mul_{number % 97}", "id": number % 97, "nodes": [names[first + i] for i in nodes], "ops": ["add"] * len(nodes),
                           "grid": "128", "tile": "128x128 by 64", "traversal": "row", "engine": "mma", "flops": 1e9, "read_bytes": read, "write_bytes": written,
                           "bound_bytes": read, "compulsory_bytes": read, "model_bytes": read + written, "seconds": 1e-6, "bound_by": "memory"})
        for i in nodes:
            for back in {1, rng.choice((2, 3, 40))}:
                if i >= back:
                    other = (i - back) // NODES_OF_KERNEL
                    fused = other == number
                    edges.append([first + i - back, first + i, 2, 2, other, number, -1 if fused else 3, 1 << 20, 1 << 21, 0 if fused else 1, 1 << 12, 2])
    buffers = [[1 << 20, (i % 8) << 20, i, min(i + 7, kernels - 1)] for i in range(kernels)]
    remarks = [{"kind": "Passed", "category": "plan", "name": "schedule", "function": f"add_mul_{i % 97}", "node": names[first + i], "text": "matrix 12 us, dram 10 us"}
               for i in range(3000)]
    program = {"target": "sm_90a", "device": "H100", "kernels": 97, "dispatches": dispatches, "edges": edges, "names": names, "edges_left_out": 0, "remarks": remarks,
               "remarks_left_out": 0, "memory": {"arena_bytes": 8 << 20, "unshared_bytes": kernels << 20, "buffers": buffers}}
    return {"schema": "weft.explain/3", "model": "large.onnx", "version": "weft", "programs": [program], "launches": [], "launch_places": []}


def check_large(tool: str, bundle: str, folder: pathlib.Path) -> int:
    """The best of three: the machine does other things beside."""
    page = folder / "large.html"
    text = write_report(tool, bundle, page)
    explanation = json.dumps(make_large(), separators=(",", ":")).replace("<", "\\u003c")
    text, count = re.subn(r"(const weftExplanation = ).*", lambda match: match.group(1) + explanation + ";</script>", text, count=1)
    page.write_text(text.replace("</body>", TIMER + "</body>"))
    bad = [] if count == 1 else ["no explanation in the page"]
    times = []
    for _ in range(3):
        seen, console = browse(page.as_uri(), folder, ("--window-size=1280,900", "--timeout=60000"))
        times.append(seen["seconds"])
        bad += console + [f"{key}: expected {want}, got {seen[key]}" for key, want in (("boxes", NODES // NODES_OF_KERNEL + 1), ("requests", 0)) if seen[key] != want]
        if not 0 < seen["drawn"] < 400 or seen["rows"] > 900:
            bad.append(f"expected what is in view and no more, got {seen['drawn']} boxes and {seen['rows']} rows")
        if min(times) <= MOST_SECONDS:
            break
    size = len(text.encode())
    bad += [f"expected {MOST_SECONDS} s, got {min(times)}"] * (min(times) > MOST_SECONDS) + [f"expected {MOST_BYTES} bytes, got {size}"] * (size > MOST_BYTES)
    print("\n".join(bad))
    print(f"{NODES} nodes: opened in {min(times):.2f} s, {size / 1e6:.2f} MB, {len(bad)} differences")
    return 1 if bad else 0


def main() -> int:
    mode, tool, bundle = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as name:
        return {"page": check_page, "large": check_large}[mode](tool, bundle, pathlib.Path(name))


if __name__ == "__main__":
    sys.exit(main())
