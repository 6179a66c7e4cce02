#!/usr/bin/env python3
"""Where greedy rewriting and equality saturation differ on models: writes docs/reference/saturation.md.

    saturate_models.py FOLDER [--build=build] [--licence=reassociating] [--prices=gpu] [--models=GLOB,...] [--output=FILE]

FOLDER holds models with their weights (shared/models/make_weights.py --out FOLDER). Each is imported, normalized without rewrites, and
saturated; a line of the table is the remark of --weft-saturate.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
REMARK = re.compile(r'Remark="flops (\d+), greedy (\d+) \((\d+) rewrites\), saturated (\d+); modelled ([\d.]+) us, ([\d.]+) us, ([\d.]+) us; '
                    r'(\d+) nodes, (\d+) iterations, (\w+), extraction (\w+)"')
NOTE = """<!-- Written by test/rules/saturate_models.py; do not edit. -->
# Greedy rewriting and equality saturation

Of each model after `--weft-normalize` without rewrites: FLOPs and modelled time (price list `{prices}`) before, by `--weft-rewrite` and by
`--weft-saturate`, licence `{licence}`. Saturation stops at {nodes} nodes or 8 iterations, whichever comes first. Of the graph
the cheapest program is taken, in which what several expressions share counts once: by local search and branch and bound, *proved* where no
program of the graph has less by the prices of single ops, *bounded* where the search ended before. Where saturation is the dearer of the two, single
ops' prices did not see what fusion keeps; `--weft-saturate` keeps the greedy program then.

| model | MFLOPs | greedy | saturated | us | greedy | saturated | rewrites | nodes | stopped by | extraction | seconds |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def row(tools: pathlib.Path, model: pathlib.Path, args: argparse.Namespace) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(folder) / "m.mlir"
        done = subprocess.run([tools / "weft-translate", "--import-onnx", model, "-o", module], capture_output=True, text=True, timeout=120)
        if done.returncode:
            print(f"{model.name}: {done.stderr.strip()[:200]}", file=sys.stderr)
            return None
        start = time.monotonic()
        options = f"licence={args.licence} prices={args.prices} max-nodes={args.nodes}"
        done = subprocess.run([tools / "weft-opt", module, "--weft-normalize=licence=", f"--weft-saturate={options}", "--remarks-filter=rewrite",
                               "--remark-format=emitRemark", "-o", "/dev/null"], capture_output=True, text=True, timeout=600, cwd=model.parent)
    match = REMARK.search(done.stderr)
    if not match:
        print(f"{model.name}: no remark: {done.stderr.strip()[:200]}", file=sys.stderr)
        return None
    before, greedy, rewrites, saturated, *times, nodes, _, stop, proof = match.groups()
    flops = " | ".join(f"{int(value) / 1e6:.2f}" for value in (before, greedy, saturated))
    return f"| {model.stem} | {flops} | {' | '.join(times)} | {rewrites} | {nodes} | {stop} | {proof} | {time.monotonic() - start:.1f} |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--licence", default="reassociating")
    parser.add_argument("--prices", default="gpu")
    parser.add_argument("--models", default="*", help="only models whose names match one of these patterns (comma-separated)")
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/reference/saturation.md")
    args = parser.parse_args()
    rows = [row(args.build.resolve() / "bin", path.absolute(), args) for path in sorted(args.folder.glob("*.onnx"))
            if any(fnmatch.fnmatch(path.stem, pattern) for pattern in args.models.split(","))]
    args.output.write_text(NOTE.format(licence=args.licence, prices=args.prices, nodes=args.nodes) + "".join(filter(None, rows)))
    return 0 if all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
