#!/usr/bin/env python3
"""Chooses the cases that CI always runs, of suites of many cases: a covering set by what code they reach.

    tools/dev/cover.py [--suite=NAME,...] [--build=build-coverage] [--folder=build-coverage/covered] [--keep]

Runs every case of the suites on a build of the preset `coverage` (which it makes), each with its own counters (test/harness/coverage.py). Then, for each
group of suites that reach the same code, takes greedily the case that reaches the most regions that no case before it reached, for each second that it
takes, until the set reaches all that the group reaches; cases that later ones made superfluous are dropped. Writes test/covering/SUITE.txt. --keep
chooses anew from the counters that FOLDER has. Run it when a suite has grown, or when cases of a list are gone; a list that is a little old covers a
little less, and the rotating slices see the rest.
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
GROUPS = {
    "cpu": {
        "onnx-nodes": [NODES],
        "edges": [EDGES],
        "random-graphs": ["test/random_graphs/run_random.py", "--seeds=0:576"],  # The others in slices: they are all of one make.
    },
    "gpu": {
        "emulated-nodes-sm_80": [NODES, "--subset", "--target=sm_80"],
        "emulated-nodes-sm_86": [NODES, "--subset=1", "--target=sm_86"],
        "emulated-nodes-sm_90a": [NODES, "--subset=2", "--target=sm_90a"],
        "emulated-edges-sm_80": [EDGES, "--target=sm_80", "--quiet"],
        "emulated-edges-sm_90a": [EDGES, "--target=sm_90a", "--quiet"],
    },
}
SUITES = {name: command for group in GROUPS.values() for name, command in group.items()}
BINARIES = ("weft-compile", "weft-opt", "weft-reference", "weft_runtime")


@dataclasses.dataclass
class Reached:
    """A case, the seconds it took, and the regions it reached, numbered over all binaries."""

    suite: str
    name: str
    seconds: float
    regions: np.ndarray


def read(folders: list[pathlib.Path]) -> tuple[list[Reached], int]:
    """The cases of these suites, and how many regions they reach together."""
    raw = []
    for path in (path for folder in folders for path in sorted(folder.glob("*.npz"))):
        with np.load(path) as data:
            found = {k: data[k] for k in data.files if k not in ("case", "seconds")}
            raw.append((path.parent.name, str(data["case"]), float(data["seconds"]), found))
    binaries = sorted({name for *_, found in raw for name in found})
    first, total = {}, 0
    for name in binaries:
        first[name] = total
        total += 1 + max((int(found[name][-1]) for *_, found in raw if name in found and len(found[name])), default=0)
    numbers = np.zeros(total, np.int64)
    cases = []
    for suite, name, seconds, found in raw:
        regions = np.concatenate([first[b] + v for b, v in found.items()] or [np.zeros(0, np.int64)])
        numbers[regions] = 1
        cases.append(Reached(suite, name, seconds, regions))
    numbers = np.cumsum(numbers) - 1  # Only what any case reaches.
    for case in cases:
        case.regions = numbers[case.regions]
    return cases, int(numbers[-1]) + 1 if total else 0


def cover(cases: list[Reached], regions: int) -> list[Reached]:
    """Greedy set cover by new regions a second, the first by name among equals; then, from the dearest down, without those that the rest covers."""
    missing, chosen = np.ones(regions, bool), []

    def loss(case: Reached) -> float:
        return -int(missing[case.regions].sum()) / (0.05 + case.seconds)

    bounds = [(loss(case), case.name, i) for i, case in enumerate(cases)]  # A gain only ever falls, so an old one is a bound.
    heapq.heapify(bounds)
    while missing.any():
        _, name, i = heapq.heappop(bounds)
        entry = (loss(cases[i]), name, i)
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
    return sorted(chosen, key=lambda c: (c.suite, c.name))


def collect(suite: str, build: pathlib.Path, folder: pathlib.Path) -> None:
    """Runs the suite whole. Its verdicts are no matter here; that it ran is."""
    shutil.rmtree(folder / suite, ignore_errors=True)
    script, *flags = SUITES[suite]
    subprocess.run([sys.executable, ROOT / script, *flags, f"--build={build}"], cwd=ROOT, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, env={**os.environ, "WEFT_COVERAGE": str(folder)})
    if not any((folder / suite).glob("*.npz")):
        raise SystemExit(f"cover: {suite}: no case left counters in {folder / suite}")


def choose(group: str, folder: pathlib.Path) -> None:
    """Writes the lists of a group's suites."""
    if lacking := [suite for suite in GROUPS[group] if not (folder / suite).is_dir()]:
        raise SystemExit(f"cover: expected counters of all suites of the group {group}, got none in {folder / lacking[0]}; run --suite={lacking[0]}")
    cases, regions = read([folder / suite for suite in GROUPS[group]])
    chosen = cover(cases, regions)
    selection.FOLDER.mkdir(exist_ok=True)
    for suite in GROUPS[group]:
        mine, all_mine = ([case for case in part if case.suite == suite] for part in (chosen, cases))
        share = sum(case.seconds for case in mine) / sum(case.seconds for case in all_mine)
        lines = [f"# {len(mine)} of {len(all_mine)} cases, {share:.0%} of the time. Those of {', '.join(GROUPS[group])} together reach all",
                 f"# {regions} regions that these suites reach. Made by tools/dev/cover.py", *(case.name for case in mine)]
        (selection.FOLDER / f"{suite}.txt").write_text("\n".join(lines) + "\n")
        print(f"{suite}: {len(mine)} of {len(all_mine)} cases, {share:.0%} of the time", flush=True)


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
    wanted = args.suite.split(",")
    for suite in [] if args.keep else wanted:
        collect(suite, build, folder)
    for group, suites in GROUPS.items():
        if not set(wanted).isdisjoint(suites):
            choose(group, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
