#!/usr/bin/env python3
"""Where does the order of tiles across kernels pay? Writes docs/study-order.md from the models of `weft counters`.

    bench/study.py [--build=build] [--out=docs/study-order.md]
    bench/study.py --check --model=8B --device=H100      writes nothing; fails where the page has other rows of these

Llama-3 8B and 70B: the up and down projections of a feed-forward block as a chain of two products, and attention, prefill and decode, on
the devices of the table. No GPU is asked.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEVICES = ("A100-40", "A40", "RTX4090", "RTX3050", "H100")
MODELS = {"8B": {"width": 4096, "inner": 14336, "heads": 32}, "70B": {"width": 8192, "inner": 28672, "heads": 64}}
KV_HEADS, HEAD = 8, 128
PREFILL, DECODE, CONTEXT = 4096, 16, 4096
STRIPS = (1, 2, 4, 8, 16)


def feed_forward(model: dict, rows: int, device: str, order: str) -> dict:
    tile = {"m": 128, "n": 128, "k": 64} if rows >= 128 else {"m": 16, "n": 256, "k": 64}
    problem = {"kind": "chain", "m": rows, "k": model["width"], "l": model["inner"], "n": model["width"]}
    return {"problem": problem, "tile": tile, "order": order, "machine": {"device": device, "blocksPerSm": 1}}


def attention(model: dict, queries: int, batch: int, device: str) -> dict:
    """Prefill: causal. Decode: one query a head, `batch` sequences."""
    problem = {"kind": "attention", "heads": model["heads"] * batch, "group": model["heads"] // KV_HEADS, "queries": queries, "keys": CONTEXT, "headDim": HEAD,
               "causal": queries > 1}
    return {"problem": problem, "tile": {"m": min(queries, 128), "n": 64, "k": 64}, "order": "row", "machine": {"device": device, "blocksPerSm": 2}}


def orders(rows: int) -> tuple[list[str], list[str]]:
    """Kernel after kernel; interleaved strips."""
    tall = -(-rows // 128) if rows >= 128 else 1
    return ([f"chain<{tall},{inner}>" for inner in ("grouped<4>", "grouped<8>", "grouped<16>", "column")] if tall > 1 else ["chain<1>"],
            [f"chain<{strip}>" for strip in STRIPS if strip < tall])


def predict(launches: list[dict], build: pathlib.Path) -> list[dict]:
    done = subprocess.run([build / "bin" / "weft-counters", "-"], input=json.dumps(launches), capture_output=True, text=True, check=True)
    return [launch["predicted"] for launch in json.loads(done.stdout)["launches"]]


def moved(counters: dict) -> float:
    """What is still in the L2 at the end is written later."""
    return counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"] + counters["weft.l2_dirty_bytes_at_end"]


def best(launches: list[dict], build: pathlib.Path) -> tuple[str, dict] | None:
    """The order with the fewest bytes, and its counters."""
    pairs = list(zip((launch["order"] for launch in launches), predict(launches, build), strict=True)) if launches else []
    return min(pairs, key=lambda pair: moved(pair[1]), default=None)


def limit(counters: dict) -> str:
    return "memory" if counters["weft.dram_seconds"] > counters["weft.matrix_seconds"] else "compute"


def feed_forward_row(name: str, model: dict, rows: int, device: str, build: pathlib.Path) -> str:
    apart, strips = orders(rows)
    order, before = best([feed_forward(model, rows, device, text) for text in apart], build)
    found = best([feed_forward(model, rows, device, text) for text in strips], build)
    cells = [f"{name}, {rows} rows", device, f"{before['weft.dram_bytes_bound'] / 1e6:.0f}", f"{moved(before) / 1e6:.0f}", f"{before['lts__t_sector_hit_rate.pct']:.0f} %",
             limit(before)]
    if not found:
        return "| " + " | ".join([*cells, "-", "-", "-", "-"]) + " |"
    text, after = found
    roof = lambda counters: max(counters["weft.dram_seconds"], counters["weft.matrix_seconds"])  # noqa: E731
    cells += [f"`{text}`", f"{moved(after) / 1e6:.0f}", f"{100 * (1 - moved(after) / moved(before)):+.0f} %",
              f"{roof(before) / roof(after):.2f}x / {before['weft.steps'] / after['weft.steps']:.2f}x"]
    return "| " + " | ".join(cells) + " |"


def attention_row(name: str, model: dict, queries: int, batch: int, device: str, build: pathlib.Path) -> str:
    counters = predict([attention(model, queries, batch, device)], build)[0]
    # The scores, written and read in 16 bits, are what a fold does not move.
    scores = 4 * model["heads"] * batch * queries * CONTEXT
    phase = f"{name}, prefill of {queries}" if queries > 1 else f"{name}, decode of {batch} x {CONTEXT}"
    return "| " + " | ".join([phase, device, f"{counters['weft.dram_bytes_bound'] / 1e6:.0f}", f"{moved(counters) / 1e6:.0f}", f"{counters['lts__t_sector_hit_rate.pct']:.0f} %",
                              limit(counters), f"{(moved(counters) + scores) / 1e6:.0f}"]) + " |"


HEADER = """# Where the order across kernels pays

Written by `bench/study.py` from `weft counters`; no GPU was asked. Tiles of 128 x 128 x 64 (16 x 256 x 64 for decode), one block on an SM, 16-bit
elements, peak rates of `lib/Target/Device.cpp`. What the model gets wrong on a GPU: [traversal orders](traversal.md).

## Feed-forward: two products, one after the other or strip by strip

*Apart*: all tiles of the first product, then all of the second, in the best of strips of 4, 8, 16 rows and columns. *Strips*: g rows of
the first, then the same rows of the second (`chain<g>`), the best of g = 1 to 16. *Bound*: no schedule of the pair moves less. Megabytes from and to
DRAM. Time: by the roofline (peak DRAM and matrix rates), then by steps of the simulation, in which a block of the second product waits
for its row of the first.

| block | device | bound | apart | L2 hits | limited by | best strips | strips | saved | time by roofline / by steps |
|---|---|---:|---:|---:|---|---|---:|---:|---:|
"""

ATTENTION = """
## Attention: folded, and with its scores in memory

Causal prefill and decode of one token. *Unfolded* adds the scores, written and read once.

| layer | device | bound | folded | L2 hits | limited by | unfolded |
|---|---|---:|---:|---:|---|---:|
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "study-order.md")
    parser.add_argument("--findings", type=pathlib.Path, default=ROOT / "bench" / "study-findings.md", help="text that ends the page")
    parser.add_argument("--model", default=",".join(MODELS), help="comma-separated (default: all)")
    parser.add_argument("--device", default=",".join(DEVICES), help="comma-separated (default: all)")
    parser.add_argument("--check", action="store_true", help="compare with --out instead of writing it")
    args = parser.parse_args()
    models, devices = args.model.split(","), args.device.split(",")
    if unknown := set(models + devices).difference(MODELS, DEVICES):
        parser.error(f"expected models of {', '.join(MODELS)} and devices of {', '.join(DEVICES)}, got {', '.join(sorted(unknown))}")
    blocks = [feed_forward_row(name, MODELS[name], rows, device, args.build) for name in models for rows in (PREFILL, DECODE) for device in devices]
    layers = [attention_row(name, MODELS[name], queries, batch, device, args.build) for name in models for queries, batch in ((PREFILL, 1), (1, DECODE))
              for device in devices]
    if args.check:
        page = args.out.read_text().splitlines()
        missing = [row for row in blocks + layers if row not in page]
        print("\n".join([f"not in {args.out}: {row}" for row in missing] + [f"{len(blocks + layers)} rows, {len(missing)} not in the page"]))
        return 1 if missing else 0
    args.out.write_text(HEADER + "".join(row + "\n" for row in blocks) + ATTENTION + "".join(row + "\n" for row in layers) + "\n" + args.findings.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
