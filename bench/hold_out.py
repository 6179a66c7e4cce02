#!/usr/bin/env python3
"""What records are worth on kernels that were not recorded: hold_out.py TIMES.jsonl... (as `weft tune` leaves them in its folder).

Each kernel is held out in turn: of the records of all others, the one that the planner would take for it (docs/records.md: the same ops, extents like
its own, as many tiles, a gain of 3 %) gives a schedule, whose time on this kernel was measured, too. Printed: what it takes beside what the planner's own
choice takes, and the same for each kernel's own record. Kernels whose held-out schedule was not among those that were timed are counted apart.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
import re
import sys

LEAST_GAIN, MOST_APART, RESOLVED = 1.03, 1.125, 0.98


@dataclasses.dataclass
class Kernel:
    subgraph: str
    shapes: tuple[str, ...]
    name: str
    times: dict[str, float]  # By schedule; the planner's first.

    @property
    def planned(self) -> float:
        return next(iter(self.times.values()))

    def record(self) -> tuple[str, float]:
        """As `weft tune` chooses it."""
        schedule, best = min(self.times.items(), key=lambda item: item[1])
        return (schedule, best) if best <= RESOLVED * self.planned else next(iter(self.times.items()))


def extents(shape: str) -> list[int]:
    return [int(word) for word in shape.split("x")[:-1]]


def distance(one: Kernel, other: Kernel) -> float | None:
    total = 0.0
    for a, b in zip(one.shapes, other.shapes):
        for m, n in zip(extents(a), extents(b), strict=True):
            if m != n and (max(m, n) > MOST_APART * min(m, n) or (m % 8 == 0) != (n % 8 == 0)):
                return None
            total += abs(math.log(m / n))
    return total


def cuts_alike(schedule: str, one: Kernel, other: Kernel) -> bool:
    tile = [int(word) for word in re.search(r"tile = \[([^\]]*)\]", schedule)[1].split(",")]
    return all(-(-a // t) == -(-b // t) for t, a, b in zip(tile, extents(one.shapes[-1]), extents(other.shapes[-1]), strict=True))


def choose(kernel: Kernel, among: list[Kernel]) -> str | None:
    """The schedule that records of the others give this kernel."""
    found = []
    for other in among:
        if other is kernel or other.subgraph != kernel.subgraph:
            continue
        schedule, seconds = other.record()
        apart = distance(kernel, other)
        if apart is not None and other.planned >= LEAST_GAIN * seconds and cuts_alike(schedule, kernel, other):
            found.append((apart, schedule))
    return min(found)[1] if found else None


def read(paths: list[pathlib.Path]) -> list[Kernel]:
    kernels: dict[tuple, Kernel] = {}
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    for line in lines:
        if line.get("status") == "ok":
            key = (line["subgraph"], tuple(line["shapes"]))
            kernel = kernels.setdefault(key, Kernel(*key, line["kernel"], {}))
            kernel.times.setdefault(line["schedule"], line["seconds"])
    return list(kernels.values())


def geomean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def summary(what: str, gains: list[float]) -> str:
    low = min(gains, default=1.0)
    return f"{what}: {len(gains)} kernels, geometric mean {geomean(gains):.3f}, worst {low:.3f}, best {max(gains, default=1.0):.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    kernels = read(args.times)
    held, unknown = [], 0
    for kernel in kernels:
        schedule = choose(kernel, kernels)
        if schedule and schedule in kernel.times:
            gain = kernel.planned / kernel.times[schedule]
            held.append(gain)
            print(f"{gain:6.3f} {kernel.planned * 1e6:8.1f} us {kernel.name} {' '.join(kernel.shapes)} {schedule}")
        elif schedule:
            unknown += 1
            print(f"     ? {kernel.planned * 1e6:8.1f} us {kernel.name} {' '.join(kernel.shapes)} {schedule}")
    print(summary("own records", [kernel.planned / kernel.record()[1] for kernel in kernels]))
    print(summary("held out, a record of another taken", held), f"({unknown} more: its schedule was not timed)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
