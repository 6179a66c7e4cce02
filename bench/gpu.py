#!/usr/bin/env python3
"""Weft beside PyTorch on one GPU, in one process: every case checked against f32, then timed by CUDA graph replays with a cold L2.

    bench/gpu.py --prepare [--bundles=build/bench] [--target=sm_90a] [--case=GLOB,...] [--dtype=bf16]      where the compiler is
    bench/gpu.py [--bundles=build/bench] [--case=GLOB,...] [--peers=all|cached|none] [--out=FOLDER]        where the GPU is

--prepare compiles the bundles and puts them, the runtime library and a manifest into one folder, which goes to the machine with the
GPU. There each case's data are drawn (the same bytes everywhere), and Weft and the peers (PyTorch eager, torch.compile with
max-autotune-no-cudagraphs and default, SDPA's back ends, channels-last convolutions) run on the same tensors. Who is beyond the
tolerance is not timed. Times are medians of 30, candidates in turn, 256 MiB written before each.

Cases run in a child process, which is started again if a kernel takes the CUDA context down. --cache=FILE keeps the peers' times
by GPU, driver and PyTorch version; --peers=cached uses them, and marks them in the table.
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
from measure import bundles, children, prepare, run_case, table  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundles.add_arguments(parser, "bench", target=True)
    children.add_arguments(parser, "bench-gpu")
    parser.add_argument("--only-peers", default="*", help="comma-separated globs of peers (eager, compile, 'compile default', flash, cudnn, ...): "
                        "torch.compile takes the better part of a minute for each case")
    args = parser.parse_args()
    found = cases.find(args.case)
    if not found:
        print(f"gpu: expected a case that matches '{args.case}', got none", file=sys.stderr)
        return 2
    if args.prepare:
        return prepare.prepare(found, args)
    if args.worker:
        return run_case.worker(found, args)
    args.out.mkdir(parents=True, exist_ok=True)
    facts, results = children.about(args), children.run_all(found, args, __file__)
    (args.out / "gpu.json").write_text(table.to_json(results, facts))
    (args.out / "gpu.md").write_text(table.markdown(results, facts))
    print(table.markdown(results, facts))
    return 1 if any(r.ours.failure for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
