#!/usr/bin/env python3
"""Decoders by tensor parallel on several GPUs of one host, beside one GPU and PyTorch's parallelize_module (issue 22).

    bench/ranks.py --prepare [--bundles=build/ranks] [--target=sm_90a] [--ranks=2] [--only=GLOB]     where the compiler is
    bench/ranks.py [--bundles=build/ranks] [--out=FOLDER] [--ranks=2] [--only=GLOB]                  where the GPUs are

Llama-3-8B, and 8 layers of a 70B: decode at batch 1, 4 and 16 with 1024 tokens in the cache, prefill of 512 and 2048. --prepare compiles each for
one rank, and for all with collectives in turn and beside kernels; weights are drawn where they run. There one process runs the programs of one
rank, then one for each GPU the others, in turn with PyTorch's in a CUDA graph: medians with a cold L2, the slowest rank's. Logits are compared
with those of one rank. ranks.md and ranks.json have the table, with the bytes of DRAM and links. Exit code 1 where the issue's limits are not met
or results differ. NCCL_NVLS_ENABLE=0 is set for all ranks.

    bench/ranks.py --small --target=cpu --prepare && bench/ranks.py --small --device=cpu             a dry run on CPU ranks
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

from measure import bundles, ranks  # noqa: E402


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundles.add_arguments(parser, "ranks", target=True)
    parser.add_argument("--ranks", type=int, default=2, help="GPUs, or processes of the CPU (default 2)")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--overlap", default="on", help="--prepare: as weft compile has it, for the program that is overlapped (default on)")
    parser.add_argument("--only", default="*", help="glob of cases")
    parser.add_argument("--small", action="store_true", help="decoders of a size for dry runs")
    parser.add_argument("--no-torch", action="store_true", help="without PyTorch's times")
    parser.add_argument("--rounds", type=int, default=30, help="timed runs of each (default 30)")
    parser.add_argument("--seconds", type=float, default=540, help="limit of all runs together (default 540)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench-ranks", help="folder of the results")
    for name, kind in (("--worker", int), ("--world", int), ("--address", str)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.ranks < 2:
        parser.error(f"--ranks: expected at least 2, got {args.ranks}")
    args.nets = ranks.SMALL_NETS if args.small else ranks.NETS
    args.cases = [case for case in (ranks.SMALL_CASES if args.small else ranks.CASES) if fnmatch.fnmatch(case.name, args.only)]
    if not args.cases:
        parser.error(f"--only: expected a case that matches '{args.only}', got none")
    return args


def main() -> int:
    args = parse()
    if args.prepare:
        from measure import prepare_ranks
        return prepare_ranks.prepare(args)
    from measure import run_ranks
    if args.worker is not None:
        return run_ranks.work(args)
    results = run_ranks.run(args, str(pathlib.Path(__file__).resolve()))
    (args.out / "ranks.json").write_text(json.dumps(results, indent=1) + "\n")
    (args.out / "ranks.md").write_text(ranks.markdown(results))
    print(ranks.markdown(results), *results["failures"], sep="\n")
    # Times of CPUs say nothing of GPUs: there the results count.
    bad = results["failures"] or any(line["failures"] or (args.device == "cuda" and ranks.judge(line, args.ranks)) for line in results["cases"])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
