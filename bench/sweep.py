#!/usr/bin/env python3
"""Random shapes of every kind of kernel: Weft beside PyTorch, and what the planner expected beside what was measured.

    bench/sweep.py --prepare --seed=N --count=M [--kinds=K,...] [--bundles=build/sweep] [--target=sm_90a]     where the compiler is
    bench/sweep.py --seed=N --count=M [--kinds=K,...] [--bundles=build/sweep] [--out=FOLDER] [--seconds=S]    where the GPU is
    bench/sweep.py --list --seed=N --count=M [--kinds=K,...]                                                  anywhere

Shapes are drawn as bench/cases/random_shapes.py says; the same seed gives the same cases. A call on the GPU ends after --seconds and the
next one goes on (results.jsonl in --out has what is done; --afresh begins again); the bundles must be the same. Cases are checked and
timed as by bench/gpu.py. sweep.md and sweep.json have a summary by kind: geometric mean, 10th percentile and worst of the best peer's time
over ours; median and 90th percentile of the model's error.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import cases  # noqa: E402
from cases import random_shapes  # noqa: E402
from measure import bundles, children, prepare, run_case, sweep_table  # noqa: E402

QUICK_PEERS = "eager,eager channels-last,flash,cudnn,efficient"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True, help="cases")
    parser.add_argument("--kinds", default=",".join(random_shapes.KINDS), help="comma-separated (default: all of %(default)s)")
    parser.add_argument("--list", action="store_true", help="print names and floors of the cases")
    parser.add_argument("--afresh", action="store_true", help="do not go on with the results of an earlier call")
    bundles.add_arguments(parser, "sweep", target=True)
    children.add_arguments(parser, "bench-sweep", rounds=15, case_seconds=40)
    parser.add_argument("--only-peers", default=QUICK_PEERS, help="comma-separated globs of peers (default all but torch.compile, which takes the better "
                        "part of a minute for each case)")
    args = parser.parse_args()
    if unknown := set(args.kinds.split(",")).difference(random_shapes.KINDS):
        parser.error(f"expected kinds of {', '.join(random_shapes.KINDS)}, got {', '.join(sorted(unknown))}")
    if args.count < 1:
        parser.error(f"expected at least one case, got --count={args.count}")
    return args


def chosen(args: argparse.Namespace) -> list:
    found = cases.find(args.case, random_shapes.sweep(args.seed, args.count, tuple(args.kinds.split(","))))
    return [random_shapes.START, *found] if found and (not args.case or "start" in args.case.split(",")) else found


def main() -> int:
    args = parse()
    found = chosen(args)
    if not found:
        print(f"sweep: expected a case that matches '{args.case}', got none", file=sys.stderr)
        return 2
    if args.list:
        for case in found:
            print(f"{case.name} {case.floor_ms * 1e3:.2f} us")
        return 0
    if args.prepare:
        return prepare.prepare(found, args)
    if args.worker:
        return run_case.worker(found, args)
    args.out.mkdir(parents=True, exist_ok=True)
    flags = [f"--seed={args.seed}", f"--count={args.count}", f"--kinds={args.kinds}"]
    facts, results = children.about(args), children.run_all(found, args, __file__, flags, resume=not args.afresh)
    (args.out / "sweep.json").write_text(sweep_table.to_json(results, facts))
    (args.out / "sweep.md").write_text(sweep_table.markdown(results, facts))
    print(sweep_table.markdown(results, facts))
    if len(results) < len(found):
        print(f"sweep: {len(results)} of {len(found)} cases are done; call it again to go on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
