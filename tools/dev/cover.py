#!/usr/bin/env python3
"""Chooses the cases of a suite that CI always runs: a covering set by what code they reach.

    tools/dev/cover.py [--suite=NAME,...] [--build=build-coverage] [--folder=build-coverage/covered] [--keep]

Runs every case of the suites on a build of the preset `coverage` (which it makes), each with its own counters (test/harness/coverage.py), then takes
greedily the case that reaches the most regions that no case before it reached, for each second that it takes, until all regions that the suite
reaches are reached; cases that the later ones made superfluous are dropped. Writes test/covering/SUITE.txt. --keep chooses anew from the counters
that FOLDER has. Run it when a suite has grown, or when cases of a list are gone; a list that is a little old covers a little less, and the
rotating slices see the rest.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import heapq
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

import numpy as np  # noqa: E402

from harness import selection  # noqa: E402

NODES, EDGES = "test/onnx/run_node_suite.py", "test/onnx/run_edges.py"
SUITES = {
    "onnx-nodes": [NODES],
    "edges": [EDGES],
    "random-graphs": ["test/random_graphs/run_random.py"],
    "gpu-code": ["test/gpu/check_code.py", "--ptxas=/bin/true"],
    "emulated-nodes-sm_80": [NODES, "--subset", "--target=sm_80"],
    "emulated-nodes-sm_86": [NODES, "--subset=1", "--target=sm_86"],
    "emulated-nodes-sm_90a": [NODES, "--subset=2", "--target=sm_90a"],
    "emulated-edges-sm_80": [EDGES, "--target=sm_80", "--quiet"],
    "emulated-edges-sm_90a": [EDGES, "--target=sm_90a", "--quiet"],
}
BINARIES = ("weft-compile", "weft-opt", "weft-reference", "weft_runtime")


@dataclasses.dataclass
class Reached:
    """A case, the seconds it took, and the regions it reached, numbered over all binaries."""

    name: str
    seconds: float
    regions: np.ndarray


def read(folder: pathlib.Path) -> tuple[list[Reached], int]:
    """The cases of a suite, and how many regions they reach together."""
    raw = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as data:
            raw.append((str(data["case"]), float(data["seconds"]), {k: data[k] for k in data.files if k not in ("case", "seconds")}))
    binaries = sorted({name for _, _, found in raw for name in found})
    first, total = {}, 0
    for name in binaries:
        first[name] = total
        total += 1 + max(int(found[name][-1]) for _, _, found in raw if name in found and len(found[name]))
    numbers = np.zeros(total, np.int64)
    cases = []
    for name, seconds, found in raw:
        regions = np.concatenate([first[b] + v for b, v in found.items()] or [np.zeros(0, np.int64)])
        numbers[regions] = 1
        cases.append(Reached(name, seconds, regions))
    numbers = np.cumsum(numbers) - 1  # Only what any case reaches.
    for case in cases:
        case.regions = numbers[case.regions]
    return cases, int(numbers[-1]) + 1 if total else 0


def cover(cases: list[Reached], regions: int) -> list[Reached]:
    """Greedy set cover by new regions a second, the first by name among equals; then, from the dearest down, without those that the rest covers."""
    missing, chosen = np.ones(regions, bool), []
    gain = {case.name: lambda case=case: int(missing[case.regions].sum()) / (0.05 + case.seconds) for case in cases}
    bounds = [(-gain[case.name](), case.name, i) for i, case in enumerate(cases)]  # A gain only ever falls, so an old one is a bound.
    heapq.heapify(bounds)
    while missing.any():
        _, name, i = heapq.heappop(bounds)
        entry = (-gain[name](), name, i)
        if bounds and entry > bounds[0]:
            heapq.heappush(bounds, entry)
            continue
        chosen.append(cases[i])
        missing[cases[i].regions] = False
    counts = np.zeros(regions, np.int32)
    for case in chosen:
        counts[case.regions] += 1
    for case in sorted(chosen, key=lambda c: (-c.seconds, c.name)):
        if (counts[case.regions] > 1).all():
            counts[case.regions] -= 1
            chosen.remove(case)
    return sorted(chosen, key=lambda c: c.name)


def collect(suite: str, build: pathlib.Path, folder: pathlib.Path) -> None:
    """Runs the suite whole. Its verdicts are no matter here; that it ran is."""
    shutil.rmtree(folder / suite, ignore_errors=True)
    script, *flags = SUITES[suite]
    subprocess.run([sys.executable, ROOT / script, *flags, f"--build={build}"], cwd=ROOT, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, env={**os.environ, "WEFT_COVERAGE": str(folder)})
    if not any((folder / suite).glob("*.npz")):
        raise SystemExit(f"cover: {suite}: no case left counters in {folder / suite}")


def write(suite: str, chosen: list[Reached], cases: list[Reached], regions: int) -> str:
    seconds = [sum(case.seconds for case in part) for part in (chosen, cases)]
    line = f"{len(chosen)} of {len(cases)} cases reach all {regions} regions that the suite reaches, in {seconds[0] / seconds[1]:.0%} of its time"
    selection.FOLDER.mkdir(exist_ok=True)
    text = [f"# {line}. Made by tools/dev/cover.py --suite={suite}", *(case.name for case in chosen)]
    (selection.FOLDER / f"{suite}.txt").write_text("\n".join(text) + "\n")
    return f"{suite}: {line}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default=",".join(SUITES), help=f"comma-separated (default: {','.join(SUITES)})")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-coverage", help="build folder (default build-coverage)")
    parser.add_argument("--folder", type=pathlib.Path, help="where the counters of the cases are kept (default: BUILD/covered)")
    parser.add_argument("--keep", action="store_true", help="choose from the counters that are there, run nothing")
    args = parser.parse_args()
    build = args.build.resolve()
    folder = (args.folder or build / "covered").resolve()
    if unknown := [suite for suite in args.suite.split(",") if suite not in SUITES]:
        print(f"cover: expected a suite of {', '.join(SUITES)}, got '{unknown[0]}'", file=sys.stderr)
        return 2
    if not args.keep:
        subprocess.run([ROOT / "dev", "build", "coverage", *BINARIES], check=True)
    for suite in args.suite.split(","):
        if not args.keep:
            collect(suite, build, folder)
        cases, regions = read(folder / suite)
        print(write(suite, cover(cases, regions), cases, regions), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
