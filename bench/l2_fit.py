#!/usr/bin/env python3
"""How well the two fitted parameters of the L2 model (`drift`, `smsPerPort` of lib/Plan/Cost) do on kernels that they were not fitted to.

    bench/l2_fit.py [--build=build] [--folds=5] [bench/results/h100-l2-orders.json]

All launches are predicted with every pair of parameters. The launches are then dealt into folds, those of one shape and maker together
(orders of one launch are no independent measurements); for each fold the pair with the smallest median error on the others is taken
and judged on the fold. Printed: which pair each fold took, and the errors of all launches, each predicted by the pair of the others.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIFTS, PORTS = (0, 2, 4, 8, 16, 32), (1, 2, 3, 4)
FITTED = (8, 2)
READ, HITS = "dram__sectors_read.sum", "lts__t_sector_hit_rate.pct"


def predict(launches: list[dict], pair: tuple[int, int], build: pathlib.Path) -> list[tuple[float, float]]:
    """(bytes read, hit rate) of every launch; clusters keep their own ports."""
    drift, ports = pair
    changed = [launch | {"machine": {"drift": drift, "smsPerPort": ports} | launch["machine"]} for launch in launches]
    done = subprocess.run([build / "bin" / "weft", "counters", "-"], input=json.dumps(changed), capture_output=True, text=True, check=True)
    return [(entry["predicted"]["dram__bytes_read.sum"], entry["predicted"][HITS]) for entry in json.loads(done.stdout)["launches"]]


def family(launch: dict) -> str:
    """What is measured together: a maker's launches of one shape, in whatever order."""
    order = launch["order"]
    return launch["name"].removesuffix(order).strip()


def judge(launches: list[dict], values: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Errors of the bytes read (parts of one) and of the hit rate (points)."""
    errors = [abs(value[0] / (32 * launch["measured"][READ]) - 1) for launch, value in zip(launches, values)]
    return errors, [abs(value[1] - launch["measured"][HITS]) for launch, value in zip(launches, values)]


def loss(launches: list[dict], values: list[tuple[float, float]], chosen: list[int]) -> float:
    """The mean error of the bytes and a hundredth of that of the hit rate, of the chosen launches."""
    errors, points = judge([launches[i] for i in chosen], [values[i] for i in chosen])
    return statistics.mean(errors) + statistics.mean(points) / 100


def say(name: str, launches: list[dict], values: list[tuple[float, float]]) -> None:
    errors, points = judge(launches, values)
    print(f"{name}: bytes read {100 * statistics.median(errors):.1f} % at the median, {100 * max(errors):.0f} % at worst; "
          f"hit rate {statistics.median(points):.1f} points, {max(points):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=ROOT / "bench/results/h100-l2-orders.json")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--folds", type=int, default=5, help="2: half and half (default 5)")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    launches = [launch for launch in json.loads(args.results.read_text())["launches"] if READ in launch.get("measured", {})]
    pairs = list(itertools.product(DRIFTS, PORTS))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        table = dict(zip(pairs, pool.map(lambda pair: predict(launches, pair, args.build), pairs)))
    families = sorted({family(launch) for launch in launches})
    held: list[tuple[float, float] | None] = [None] * len(launches)
    for fold in range(args.folds):
        out = {name for i, name in enumerate(families) if i % args.folds == fold}
        inside = [i for i, launch in enumerate(launches) if family(launch) not in out]
        best = min(pairs, key=lambda pair: loss(launches, table[pair], inside))
        for i, launch in enumerate(launches):
            if family(launch) in out:
                held[i] = table[best][i]
        print(f"fold {fold}: {len(launches) - len(inside)} launches of {len(out)} shapes held out; the others take drift {best[0]}, {best[1]} SMs a port")
    say("held out", launches, held)
    say("fitted to all", launches, table[FITTED])
    best = min(pairs, key=lambda pair: loss(launches, table[pair], list(range(len(launches)))))
    say(f"best of all launches (drift {best[0]}, {best[1]} SMs a port)", launches, table[best])
    for pair in ((0, 1), (0, 2), (8, 1)):
        say(f"drift {pair[0]}, {pair[1]} SMs a port", launches, table[pair])


if __name__ == "__main__":
    main()
