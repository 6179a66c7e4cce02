#!/usr/bin/env python3
"""Bundles whose rows are a symbol against static ones, at the rows of issue 18: at most 8 % slower, at most 3 times as large.

    bench/symbolic.py --prepare [--bundles=build/symbolic] [--target=sm_90a] [--rows=1,7,...] [--only=GLOB]     where the compiler is
    bench/symbolic.py [--bundles=build/symbolic] [--out=FOLDER] [--rows=1,7,...] [--only=GLOB]                  where the GPU is

SwiGLU of 4096 x 14336, a BERT layer and a Llama layer, f16. --prepare compiles each once with its rows as a symbol and once for each number of
rows, and writes what the models predict and what the bundles take. On the GPU both run on the same tensors, are compared, and are timed in
turn: medians of 30 with a cold L2. One session runs the symbolic bundle at all rows; its CUDA graphs are counted. symbolic.md and symbolic.json
have the table. Exit code 1 where the limit is passed, results differ or a run was not replayed.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import fnmatch
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

from measure import bundles, prepare_symbolic, symbolic, symbolic_table  # noqa: E402


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundles.add_arguments(parser, "symbolic", target=True)
    parser.add_argument("--rows", default=",".join(map(str, symbolic.ROWS)), help="comma-separated (default %(default)s)")
    parser.add_argument("--only", default="*", help="glob of cases")
    parser.add_argument("--dtype", choices=sorted(symbolic.TYPES), default="f16")
    parser.add_argument("--rounds", type=int, default=30, help="timed runs of each (default 30)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench-symbolic", help="folder of the results")
    args = parser.parse_args(argv)
    try:
        args.rows = [int(each) for each in args.rows.split(",")]
    except ValueError:
        parser.error(f"--rows: expected numbers, got {args.rows}")
    if min(args.rows) < 1:
        parser.error(f"--rows: expected numbers of at least 1, got {min(args.rows)}")
    args.cases = [case for case in symbolic.CASES if fnmatch.fnmatch(case.name, args.only)]
    if not args.cases:
        parser.error(f"--only: expected a case that matches '{args.only}', got none")
    return args


def main() -> int:
    args = parse()
    if args.prepare:
        return prepare_symbolic.prepare(args)
    from measure import run_symbolic  # Needs PyTorch and a GPU.
    results = run_symbolic.run(args)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "symbolic.json").write_text(json.dumps(results, indent=1) + "\n")
    (args.out / "symbolic.md").write_text(symbolic_table.markdown(results))
    print(symbolic_table.markdown(results))
    return 0 if symbolic_table.is_good(results) else 1


if __name__ == "__main__":
    sys.exit(main())
