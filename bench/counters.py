#!/usr/bin/env python3
"""What the GPU's counters say of each case: bytes to and from DRAM beside the compulsory ones, L2 hits, tensor pipe, bank conflicts.

    bench/counters.py [--bundles=build/bench] [--case=GLOB,...] [--dtype=bf16] [--candidates=weft,eager] [--out=FOLDER]
    bench/counters.py --csv=FILE                             a table of a file that is there already (the ranges beside it: FILE.ranges)

Runs Nsight Compute (ncu) over a child that starts each candidate once, cold, and prints one line for each kernel and one for the sum of a
candidate. Only these runs are profiled, each behind a kernel that marks its beginning. Times under the profiler mean little: bench/gpu.py
measures times.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import cases  # noqa: E402
from measure import bundles  # noqa: E402

SECTOR = 32

# Column of the table: metric of ncu.
METRICS = {
    "us": "gpu__time_duration.sum",
    "read": "dram__sectors_read.sum",
    "write": "dram__sectors_write.sum",
    "l2": "lts__t_sector_hit_rate.pct",
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "spills": "smsp__inst_executed_op_local.sum",
}

# The kernel of torch.cuda._sleep, which marks the beginning of a range.
MARKER = "spin_kernel"


@dataclasses.dataclass
class Kernel:
    """One launch: its name, the range it ran in ("case/candidate"), and values by the names of METRICS; None: not measured."""

    range: str
    name: str
    values: dict[str, float | None]


def _number(text: str, unit: str) -> float | None:
    """A value in ncu's base units; times in microseconds."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value * {"ns": 1e-3, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}.get(unit, 1)


def parse(text: str, ranges: list[str]) -> list[Kernel]:
    """Kernels of ncu's CSV (one row a metric), in order of launch. `ranges` names what follows each marker."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    columns = {metric: column for column, metric in METRICS.items()}
    launches: dict[str, Kernel] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        kernel = launches.setdefault(row["ID"], Kernel("", row["Kernel Name"], dict.fromkeys(METRICS)))
        if row["Metric Name"] in columns:
            kernel.values[columns[row["Metric Name"]]] = _number(row["Metric Value"], row["Metric Unit"])
    kernels, left, current = [], list(ranges), ""
    for kernel in launches.values():
        if MARKER in kernel.name:
            current = left.pop(0) if left else "?"
        else:
            kernels.append(dataclasses.replace(kernel, range=current))
    return kernels


def _sum(kernels: list[Kernel], column: str) -> float | None:
    values = [k.values[column] for k in kernels]
    return None if None in values else sum(values)


def _mean(kernels: list[Kernel], column: str) -> float | None:
    """Weighted by time."""
    pairs = [(k.values[column], k.values["us"]) for k in kernels]
    if any(None in pair for pair in pairs):
        return None
    return sum(a * b for a, b in pairs) / (sum(b for _, b in pairs) or 1)


def _cell(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _megabytes(sectors: float | None) -> float | None:
    return None if sectors is None else sectors * SECTOR / 1e6


def table(kernels: list[Kernel]) -> str:
    """A line for each range, with its kernels below it."""
    lines = ["| case, candidate, kernel | us | DRAM read MB | write MB | compulsory MB | L2 hit % | tensor pipe % | bank conflicts | local accesses |",
             "|---|" + "---:|" * 8]
    for place in dict.fromkeys(k.range for k in kernels):
        group = [k for k in kernels if k.range == place]
        case = cases.CASES.get(place.split("/")[0])
        floor = f"{case.bytes / 1e6:.1f}" if case else "-"
        rows = [(f"**{place or 'no range'}** ({len(group)} kernels)", group, floor)]
        rows += [(f"&nbsp; {k.name[:60]}", [k], "") for k in group] if len(group) > 1 else []
        for label, members, compulsory in rows:
            cells = [label, _cell(_sum(members, "us")), _cell(_megabytes(_sum(members, "read"))), _cell(_megabytes(_sum(members, "write"))), compulsory,
                     _cell(_mean(members, "l2")), _cell(_mean(members, "tensor")), _cell(_sum(members, "conflicts"), 0),
                     _cell(_sum(members, "spills"), 0)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _start(case: cases.Case, candidate: str, args: argparse.Namespace, tensors: dict, folder: pathlib.Path):
    """What runs the candidate once."""
    from measure import peers
    from measure.weft_runner import WeftRunner
    if candidate != "weft":
        return peers.make(case, candidate, tensors)
    if case.weights != "inputs":
        case.write_weights(args.dtype, folder)
    bundle = args.bundles / f"{case.name}.{args.dtype}.weft"
    return WeftRunner(args.bundles / bundles.LIBRARY, bundle, tensors, case.output_shapes, folder).run


def worker(args: argparse.Namespace) -> int:
    """Starts each candidate once under the profiler, after two runs that warm it up; the ranges go to the file `--worker`."""
    import torch
    from measure import run_case, timing
    scratch = torch.empty(timing.FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
    for case in cases.find(args.case):
        tensors = run_case.tensors(case, args.dtype)
        for candidate in args.candidates.split(","):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    run = _start(case, candidate, args, tensors, pathlib.Path(folder))
                    run()
                    run()
                    torch.cuda.synchronize()
                except Exception as error:  # The others are still worth counting.
                    print(f"{case.name} {candidate}: {error}", file=sys.stderr)
                    continue
                scratch.fill_(1)
                torch.cuda.synchronize()
                with open(args.worker, "a") as ranges:
                    ranges.write(f"{case.name}/{candidate}\n")
                torch.cuda.cudart().cudaProfilerStart()
                torch.cuda._sleep(1)
                run()
                torch.cuda.synchronize()
                torch.cuda.cudart().cudaProfilerStop()
    return 0


def collect(args: argparse.Namespace, ranges: pathlib.Path) -> str:
    """ncu's CSV of a child that runs the candidates."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    command = [ncu, "--csv", "--profile-from-start", "off", "--clock-control", "none", "--graph-profiling", "node", "--target-processes", "all",
               "--metrics", ",".join(METRICS.values()), sys.executable, __file__, "--worker", str(ranges), "--bundles", str(args.bundles),
               "--dtype", args.dtype, "--candidates", args.candidates] + (["--case", args.case] if args.case else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"counters: ncu ended with {done.returncode}: {done.stdout[-1000:]}", file=sys.stderr)
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=pathlib.Path, default=ROOT / "build" / "bench", help="folder of gpu.py --prepare (default build/bench)")
    parser.add_argument("--case", help="comma-separated globs of case names (default: all)")
    parser.add_argument("--dtype", default="bf16", choices=("bf16", "f16", "f32"))
    parser.add_argument("--candidates", default="weft,eager", help="weft, and peers of bench/gpu.py (default weft,eager)")
    parser.add_argument("--csv", type=pathlib.Path, help="a CSV of ncu instead of a run")
    parser.add_argument("--out", type=pathlib.Path, help="folder for counters.csv and counters.md")
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args)
    with tempfile.TemporaryDirectory() as folder:
        ranges = pathlib.Path(f"{args.csv}.ranges") if args.csv else pathlib.Path(folder) / "ranges"
        text = args.csv.read_text() if args.csv else collect(args, ranges)
        names = ranges.read_text().splitlines() if ranges.exists() else []
    kernels = parse(text, names)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "counters.csv").write_text(text)
        (args.out / "counters.csv.ranges").write_text("".join(f"{name}\n" for name in names))
        (args.out / "counters.md").write_text(table(kernels))
    print(table(kernels))
    return 0 if kernels else 1


if __name__ == "__main__":
    sys.exit(main())
