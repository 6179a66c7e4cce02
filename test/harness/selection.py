"""Which cases of a suite a run takes: a covering set, and a slice of the rest that moves on from run to run.

test/covering/SUITE.txt names the covering cases, made by tools/dev/cover.py: together they reach every region of the compiler and the runtime that
the whole suite reaches. All others are dealt to a number of slices; rotation R takes slice R, so as many runs as there are slices take all of it.
A suite without `--chosen` runs whole.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import zlib
from typing import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test" / "covering"
VARIABLE = "WEFT_ROTATION"


def rotation() -> int:
    """WEFT_ROTATION, or else the number of commits: the same tree takes the same slice, the next landing most likely another one."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        if not given.isdigit():
            raise SystemExit(f"{VARIABLE}: expected a number of at least 0, got '{given}'")
        return int(given)
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(counted.stdout) if counted.returncode == 0 else 0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chosen", action="store_true", help="the covering cases and this rotation's slice of the others only")
    parser.add_argument("--rotation", type=int, help=f"number of the slice (default: {VARIABLE}, or the number of commits)")


def read(suite: str, folder: pathlib.Path | None = None) -> list[str]:
    path = (folder or FOLDER) / f"{suite}.txt"
    if not path.exists():
        return []  # A suite of slices alone.
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line]


def slice_of(name: str, slices: int) -> int:
    return zlib.crc32(name.encode()) % slices


def choose(args: argparse.Namespace, suite: str, names: Sequence[str], slices: int, folder: pathlib.Path | None = None) -> set[str]:
    """The names to run, all of them without --chosen. Says which slice it took. A covering case that is gone ends the run: the list is out of date."""
    if not args.chosen:
        return set(names)
    covering = set(read(suite, folder))
    if gone := sorted(covering - set(names)):
        raise SystemExit(f"{suite}: test/covering/{suite}.txt names '{gone[0]}', which is not a case; make the list again with tools/dev/cover.py")
    number = rotation() if args.rotation is None else args.rotation
    chosen = covering | {name for name in names if slice_of(name, slices) == number % slices}
    print(f"{suite}: {len(covering)} covering cases and slice {number % slices} of {slices}: {len(chosen)} of {len(names)}; "
          f"again with {VARIABLE}={number}", flush=True)
    return chosen
