#!/usr/bin/env python3
"""Schedules of kernels of random shapes, for `weft tune` to time: what the file of records that ships with Weft is made from.

    bench/make_records.py --seed=N --count=M [--kinds=K,...] [--near] [--named=GLOBS] [--candidates=8] -o FOLDER      where the compiler is
    weft tune FOLDER --device=cuda -o share/records-h100.jsonl --budget=45s                           where the GPU is

Shapes are drawn as bench/cases/random_shapes.py says. With --near, each case is followed by one whose sizes differ from its own by up to 6 %: what
is recorded of one of the two says how well records hold for extents like theirs (bench/hold_out.py). --named adds cases of bench/cases. FOLDER has a folder for each case, as
`weft compile --emit=candidates` writes it; those that are there are kept.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import cases  # noqa: E402
from cases import Case, random_shapes  # noqa: E402

FREE = ("m", "tokens", "rows")  # Extents that users choose; others stay whole multiples of what they were.


def near(case: Case, seed: int) -> Case:
    """The same graph with sizes a few per cent off; multiples of 64 or 8 stay such."""
    draw = random.Random(f"{seed}/near/{case.name}")

    def moved(key: str, value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        unit = 1 if key in FREE else next(unit for unit in (64, 8, 1) if value % unit == 0)
        return max(round(value * draw.uniform(0.94, 1.06) / unit), 1) * unit

    sizes = {key: moved(key, value) for key, value in case.sizes.items()}
    return dataclasses.replace(case, name=f"{case.name}_near", sizes=sizes)


def cases_of(args: argparse.Namespace) -> list[Case]:
    found = random_shapes.sweep(args.seed, args.count, tuple(args.kinds.split(",")))
    return [each for case in found for each in ([case, near(case, args.seed)] if args.near else [case])] + (cases.find(args.named) if args.named else [])


def write(case: Case, args: argparse.Namespace) -> str:
    """What the compiler said of it, or nothing."""
    import onnx
    folder, model = args.out / case.name, args.out / f"{case.name}.onnx"
    if folder.exists():
        return ""
    onnx.save(case.model(args.dtype), model)
    if case.weights != "inputs":
        case.write_weights(args.dtype, args.out)
    partial = folder.with_suffix(".partial")
    command = [args.build / "bin" / "weft-compile", model, f"--target={args.target}", "--emit=candidates", f"--candidates={args.candidates}", "-o", partial,
               *args.flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=args.case_seconds)
        problem = " ".join(done.stderr.split())[:200] if done.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"more than {args.case_seconds} s"
    model.unlink()
    if not problem:
        partial.rename(folder)
    return problem


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True, help="cases")
    parser.add_argument("--kinds", default="product,epilogue,swiglu,chain", help="comma-separated (default: %(default)s)")
    parser.add_argument("--near", action="store_true", help="each case twice, the second time with sizes like the first's")
    parser.add_argument("--named", help="also cases of bench/cases, comma-separated globs")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--target", default="H100")
    parser.add_argument("--candidates", type=int, default=8, help="schedules of a kernel")
    parser.add_argument("--case-seconds", type=int, default=300)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    args, args.flags = parser.parse_known_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for case in cases_of(args):
        problem = write(case, args)
        print(f"{case.name}: {problem or 'ok'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
