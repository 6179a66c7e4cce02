#!/usr/bin/env python3
"""How far Weft's greedy planner is from the best plan: regions of up to 25 ops of models and random graphs, each searched exactly.

    planner_gap.py [--build=build] [--target=sm_90a,cpu] [--model=GLOB,...] [--seeds=0:60] [--report=FILE.md] [--most=PER_CENT] [--ci]

`--planner=exact` cuts a graph into regions of whole groups of the greedy plan, tries every legal plan of each (lib/Plan/Groups/ExactSearch.h), and says in
remarks what the plan cost before and after, by the model of groups. Here these are collected: equal regions (layers) of one source count once. The run
fails where an exact plan is dearer than the greedy one, or a region's gap is above --most, the largest that was found when the table was written.
Without the exported models the random graphs alone are counted.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import re
import sys
import tempfile
import time
from typing import Iterable, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "test/random_graphs"), str(HERE), str(ROOT / "test")]

import onnx  # noqa: E402

import catalogue  # noqa: E402
from case import model_of  # noqa: E402
from count_kernels import hollow  # noqa: E402
from generate import generate  # noqa: E402
from harness import limits  # noqa: E402

SECONDS = 240
LEAST = 30  # Regions that make a report.
HEAD = """<!-- Written by test/models/planner_gap.py --report; do not edit. -->
# The greedy planner beside exact search

Regions of up to 25 ops, made of groups of Weft's plan that are next to each other, and the cheapest legal plan of each, found by trying all
([`--planner=exact`](../explain.md#planners)). Equal regions of one source count once. Microseconds are those of the model of groups
(`lib/Plan/Groups/GroupCost.h`), summed over regions, which overlap.
""".splitlines()


@dataclasses.dataclass(frozen=True)
class Region:
    """`us`: of the greedy plan's groups, and of the cheapest ones."""

    source: str
    target: str
    ops: int
    groups: int
    exact_groups: int
    us: float
    exact_us: float

    @property
    def gap(self) -> float:
        """Per cent that the greedy plan costs more."""
        return 100 * (self.us / self.exact_us - 1) if self.exact_us else 0.0


@dataclasses.dataclass
class Found:
    regions: list[Region]
    abandoned: int  # Regions with too many sets for the search.
    seconds: float


def regions_of(text: str, source: str, target: str) -> tuple[list[Region], int]:
    """What the remarks of one compile say; each region once."""
    regions: dict[Region, None] = {}
    abandoned = 0
    for line in text.splitlines():
        if "] exact |" not in line:
            continue
        values = dict(re.findall(r"([a-z-]+)=([0-9.]+)", line))
        if "exact-us" not in values:
            abandoned += 1
            continue
        regions[Region(source, target, int(values["ops"]), int(values["groups"]), int(values["exact-groups"]), float(values["us"]),
                       float(values["exact-us"]))] = None
    return list(regions), abandoned


def search(compiler: pathlib.Path, model: pathlib.Path, source: str, target: str) -> Found:
    start = time.monotonic()
    outcome = limits.run([compiler, model, f"--target={target}", "--planner=exact", "--remarks=^plan", "--emit=mlir:group", "-o", "/dev/null"], timeout=SECONDS)
    if outcome.code:
        raise SystemExit(f"{source} for {target}: {(outcome.stdout + outcome.stderr).strip()[-300:]}")
    regions, abandoned = regions_of(outcome.stdout + outcome.stderr, source, target)
    return Found(regions, abandoned, time.monotonic() - start)


def sources(args: argparse.Namespace, folder: pathlib.Path) -> Iterable[tuple[str, pathlib.Path]]:
    for name in catalogue.shared_names():
        if any(fnmatch.fnmatchcase(name, glob) for glob in args.model.split(",")):
            yield name, hollow(name, folder)
    first, _, end = args.seeds.partition(":")
    for seed in range(int(first), int(end)):
        case = generate(seed)
        if case.nodes:
            path = folder / f"seed-{seed}.onnx"
            onnx.save(model_of([case], lambda _, name: name), path)
            yield "random graphs", path


def report(found: Sequence[Found]) -> Iterable[str]:
    """A row for each source and target, then the regions with a gap."""
    regions = [region for each in found for region in each.regions]
    yield "| source | target | regions | ops, largest | plans that were best | mean gap % | largest gap % | us greedy | us exact |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for source, target in dict.fromkeys((r.source, r.target) for r in regions):
        own = [r for r in regions if (r.source, r.target) == (source, target)]
        best = sum(r.gap <= 0 for r in own)
        yield (f"| {source} | {target} | {len(own)} | {max(r.ops for r in own)} | {best} | {sum(r.gap for r in own) / len(own):.2f} | "
               f"{max(r.gap for r in own):.2f} | {sum(r.us for r in own):.1f} | {sum(r.exact_us for r in own):.1f} |")
    worse = sorted((r for r in regions if r.gap > 0), key=lambda r: -r.gap)
    yield ""
    if not worse:
        yield "No region has a cheaper plan than the greedy one."
        return
    yield "| source | target | ops | groups greedy | groups exact | us greedy | us exact | gap % |"
    yield "|---|---|---|---|---|---|---|---|"
    for r in worse:
        yield f"| {r.source} | {r.target} | {r.ops} | {r.groups} | {r.exact_groups} | {r.us:.2f} | {r.exact_us:.2f} | {r.gap:.2f} |"


def judge(regions: Sequence[Region], most: float) -> list[str]:
    """What is wrong."""
    problems = [f"{r.source} for {r.target}: the exact plan of {r.ops} ops costs {r.exact_us} us, the greedy one {r.us} us" for r in regions if r.exact_us > r.us]
    problems += [f"{r.source} for {r.target}: a gap of {r.gap:.2f} % in a region of {r.ops} ops, at most {most} % is expected" for r in regions if r.gap > most]
    if len(regions) < LEAST:
        problems.append(f"expected at least {LEAST} regions, got {len(regions)}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_90a,cpu")
    parser.add_argument("--model", default="*", help="comma-separated globs")
    parser.add_argument("--ci", action="store_true", help="a few models and graphs, for ./dev test")
    parser.add_argument("--seeds", default="0:60", help="FIRST:END of the random graphs")
    parser.add_argument("--most", type=float, default=30.0, help="the largest gap of a region, in per cent")
    parser.add_argument("--report", type=pathlib.Path, help="write the table there")
    parser.add_argument("--json", type=pathlib.Path, help="write passed, failed, skipped")
    args = parser.parse_args()
    if args.ci:
        args.model, args.seeds = "llama_tiny_prefill_s32,bert_1layer_dynamic,resnet18_b1,sd_unet*", "0:40"
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for source, model in sources(args, pathlib.Path(folder)):
            for target in args.target.split(","):
                found.append(search(args.build / "bin" / "weft-compile", model, source, target))
    regions = [region for each in found for region in each.regions]
    lines = list(report(found))
    print("\n".join(lines))
    print(f"{len(regions)} regions, {sum(each.abandoned for each in found)} given up, slowest compile {max(each.seconds for each in found):.1f} s")
    if args.report:
        args.report.write_text("\n".join([*HEAD, "", *lines]) + "\n")
    problems = judge(regions, args.most)
    print("\n".join(problems))
    counts = {"passed": len(regions) - len(problems), "failed": len(problems), "skipped": 0}
    if args.json:
        args.json.write_text(json.dumps(counts) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
