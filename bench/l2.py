#!/usr/bin/env python3
"""The L2 model beside a GPU's counters: launches whose order of tiles is known, each under ncu, and what the model says of them.

    bench/l2.py --prepare [--bundles=build/l2]                  where the compiler is: bundles of Weft's kernels, each in several orders
    bench/l2.py --run --bundles=DIR --out=DIR [--samples=DIR]   where the GPU is: counters.csv, and launches.json with the measured values
    bench/l2.py --report=DIR/launches.json --out=STEM           STEM.json, which `weft compare-counters` reads, and STEM.md with its table

Products of bf16 matrices by Weft in every order of ORDERS, attention by Weft, products and attention by PyTorch's libraries (tiles and
clusters as their names say; cuBLAS's order is not known: VENDOR_ORDER for all of them), and the kernels of a folder of samples, if there
is one. Each kernel runs cold, alone, its result checked against PyTorch's first.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import ctypes
import dataclasses
import datetime
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import cases  # noqa: E402
import counters as profile  # noqa: E402
from cases import attention, matrix  # noqa: E402

ORDERS = ("row", "column", "serpentine", "grouped<4>", "grouped<8>", "grouped<16>", "grouped-snake<8>", "morton", "hilbert")
SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (2048, 14336, 4096), (2048, 4096, 14336), (4096, 6144, 4096))
SINGLE = ((512, 4096, 14336), (2048, 1024, 4096), (16, 28672, 4096))
# Heads of the batch, heads of keys, tokens, width, causal.
ATTENTION = ((4, 16, 16, 1024, 64, False), (2, 32, 8, 4096, 128, True), (1, 24, 24, 4352, 128, False), (1, 32, 8, 16384, 128, True),
             (16, 12, 12, 384, 64, False), (1, 32, 32, 8192, 128, False))
SAMPLES = {"gemm_sm80": ("row", 128, 128, 32), "gemm_sm90_c1": ("grouped<8>", 128, 256, 64), "gemm_sm90_c2": ("grouped<8>", 256, 256, 64)}
SAMPLE_SIZES = (4096, 8192)

# Fits the five products of cuBLAS best of some thirty orders; by clusters of two tiles.
VENDOR_ORDER = "grouped-snake<12,columns>"

# What the file of results keeps.
KEPT = ("dram__sectors_read.sum", "dram__sectors_write.sum", "lts__t_sectors.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
        "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_ltcfabric.sum", "lts__t_sectors_lookup_miss.sum", "lts__t_sector_hit_rate.pct",
        "sm__inst_executed_pipe_tensor.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "gpu__time_duration.sum", "launch__grid_size",
        "launch__waves_per_multiprocessor")

# Asked of ncu where it knows them.
METRICS = (
    "dram__sectors_read.sum", "dram__sectors_write.sum", "lts__t_sectors.sum", "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
    "lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum", "lts__t_sectors_op_read_lookup_hit.sum",
    "lts__t_sectors_op_read_lookup_miss.sum", "lts__t_sectors_op_write_lookup_hit.sum", "lts__t_sectors_op_write_lookup_miss.sum",
    "lts__t_sectors_srcunit_tex.sum", "lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum", "lts__t_sectors_srcunit_ltcfabric_lookup_hit.sum",
    "lts__t_sectors_srcunit_ltcfabric_lookup_miss.sum", "lts__t_sectors_srcnode_gpc.sum", "lts__t_sector_hit_rate.pct",
    "lts__t_sector_op_read_hit_rate.pct", "lts__t_tag_requests.sum", "lts__t_tag_requests_hit.sum", "lts__t_tag_requests_miss.sum",
    "lts__d_sectors_fill_device.sum", "lts__d_sectors_fill_sysmem.sum", "sm__inst_executed_pipe_tensor.sum",
    "sm__inst_executed_pipe_tensor_op_hmma.sum", "sm__inst_executed_pipe_tensor_op_gmma.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "gpu__time_duration.sum",
    "launch__grid_size", "launch__block_size", "launch__registers_per_thread", "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_registers", "launch__occupancy_limit_shared_mem",
)


@dataclasses.dataclass
class Launch:
    """A kernel to run: what `weft counters` reads (`model`), and what starts it: "weft", "sample" or a peer of PyTorch."""

    name: str
    by: str
    model: dict
    causal: bool = False

    @property
    def case(self) -> cases.Case:
        p = self.model["problem"]
        if p["kind"] == "gemm":
            return matrix._gemm(p["m"], p["n"], p["k"])
        batch, groups = p["heads"] // self.model["heads"], self.model["heads"] // p["group"]
        return attention._prompt(batch, self.model["heads"], groups, p["queries"], p["headDim"], p["causal"])


def _gemm_problem(m: int, n: int, k: int) -> dict:
    return {"kind": "gemm", "m": m, "n": n, "k": k}


def _attention_problem(batch: int, heads: int, groups: int, tokens: int, width: int, causal: bool) -> dict:
    return {"kind": "attention", "heads": batch * heads, "group": heads // groups, "queries": tokens, "keys": tokens, "headDim": width,
            "causal": causal}


def _schedule(text: str) -> dict:
    """Tile and blocks of an SM, from the planner's remark."""
    tile = re.search(r"tile = \[([\d, ]+)\](?:, stream = \[([\d, ]+)\])?", text)
    sides = [int(x) for x in tile[1].split(",")]
    depth = max((int(x) for x in tile[2].split(",")), default=1) if tile[2] else 1
    ctas = re.search(r"(\d+) CTAs an SM", text)
    return {"sides": sides, "depth": depth, "ctas": int(ctas[1]) if ctas else 1}


def prepare(args: argparse.Namespace) -> int:
    """Bundles and launches.json in the folder of bundles."""
    args.bundles.mkdir(parents=True, exist_ok=True)
    wanted = [(_gemm_problem(*s), order, None) for s in SHAPES for order in ORDERS]
    wanted += [(_gemm_problem(*s), "", None) for s in SINGLE] + [(_attention_problem(*a), "", a[1]) for a in ATTENTION]
    launches = []
    for problem, order, heads in wanted:
        launch = Launch("", "weft", {"problem": problem, **({"heads": heads} if heads else {})})
        launch.name = f"{launch.case.name} {order}".strip()
        bundle, model = args.bundles / f"{launch.name.replace(' ', '.')}.weft", args.bundles / "model.onnx"
        import onnx
        onnx.save(launch.case.model("bf16"), model)
        done = subprocess.run([args.build / "bin" / "weft", "compile", model, "-o", bundle, f"--target={args.target}", "--ptxas=off", "--quiet",
                               "--remarks=plan"] + ([f"--traversal={order}"] if order else []), capture_output=True, text=True)
        if done.returncode:
            print(f"{launch.name}: {done.stderr[:300]}", file=sys.stderr)
            return 1
        plan = _schedule(done.stderr)
        tile = {"m": plan["sides"][-2], "n": plan["sides"][-1], "k": plan["depth"]}
        if heads:  # Queries and keys; the columns of a fold are whole.
            tile = {"m": plan["sides"][-2], "n": plan["depth"], "k": problem["headDim"]}
        chosen = re.search(r'order = "([^"]+)"', done.stderr)
        launch.model |= {"tile": tile, "order": chosen[1] if chosen else "row", "machine": {"device": args.device, "blocksPerSm": plan["ctas"]},
                         "bundle": bundle.name}
        launches.append(dataclasses.asdict(launch))
        model.unlink()
        print(f"{launch.name}: tile {tile}, {plan['ctas']} CTAs an SM, {launch.model['order']}", flush=True)
    (args.bundles / "launches.json").write_text(json.dumps(launches, indent=1))
    shutil.copy((args.build / "lib" / "libweft_runtime.so").resolve(), args.bundles / "libweft_runtime.so")
    return 0


# Where the GPU is.


def _vendor() -> list[Launch]:
    found = [Launch(f"torch {m}x{n}x{k}", "eager", {"problem": _gemm_problem(m, n, k)}) for m, n, k in (*SHAPES, *SINGLE)]
    for a in ATTENTION:
        for peer in ("flash", "cudnn"):
            found.append(Launch(f"{peer} B{a[0]} H{a[1]}_{a[2]} S{a[3]} D{a[4]}{' causal' if a[5] else ''}", peer,
                                {"problem": _attention_problem(*a), "heads": a[1]}))
    return found


def _samples(folder: pathlib.Path | None) -> list[Launch]:
    found = []
    for name, (order, m, n, k) in SAMPLES.items() if folder else ():
        for size in SAMPLE_SIZES:
            found.append(Launch(f"{name} {size}", "sample", {"problem": _gemm_problem(size, size, size), "tile": {"m": m, "n": n, "k": k}, "order": order,
                                                             "machine": {"device": "H100", "blocksPerSm": 2 if name == "gemm_sm80" else 1}}))
    return found


class Sample:
    """A kernel of the samples' folder on f16 matrices, by the driver: interfaces as its README says."""

    def __init__(self, folder: pathlib.Path, name: str, size: int):
        import torch
        self.cuda, self.torch, self.size = ctypes.CDLL("libcuda.so.1"), torch, size
        self.lhs, self.rhs, self.result = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in range(3))
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(module), (folder / f"{name}.ptx").read_bytes() + b"\0"))
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), module, name.encode()))
        self.isAmpere, self.cluster = name == "gemm_sm80", 2 if name.endswith("c2") else 1
        if not self.isAmpere:
            self._check(self.cuda.cuFuncSetAttribute(self.function, 8, 229440))
        self.arguments = self._arguments()

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise RuntimeError(f"the driver says {code}")

    def _map(self, tensor, box: tuple[int, int]) -> ctypes.c_void_p:
        raw = ctypes.create_string_buffer(192)
        self.kept.append(raw)
        place = ctypes.addressof(raw) + -ctypes.addressof(raw) % 64
        dims, strides = (ctypes.c_uint64 * 2)(self.size, self.size), (ctypes.c_uint64 * 1)(2 * self.size)
        self._check(self.cuda.cuTensorMapEncodeTiled(ctypes.c_void_p(place), 6, 2, ctypes.c_void_p(tensor.data_ptr()), dims, strides,
                                                     (ctypes.c_uint32 * 2)(*box), (ctypes.c_uint32 * 2)(1, 1), 0, 3, 2, 0))
        return ctypes.c_void_p(place)

    def _arguments(self):
        self.kept = []
        if self.isAmpere:
            values = [ctypes.c_uint64(t.data_ptr()) for t in (self.lhs, self.rhs, self.result)] + [ctypes.c_int64(self.size)] * 3
        else:
            values = [ctypes.c_int32(self.size)] * 3
        self.kept += values
        places = [] if self.isAmpere else [self._map(self.lhs, (64, 128)), self._map(self.rhs, (64, 256 // self.cluster)), self._map(self.result, (64, 64))]
        places += [ctypes.c_void_p(ctypes.addressof(v)) for v in values]
        return (ctypes.c_void_p * len(places))(*places)

    def run(self) -> None:
        size, stream = self.size, ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        sms = self.torch.cuda.get_device_properties(0).multi_processor_count
        grid = (size // 128, size // 128) if self.isAmpere else (min(sms, size // 128 * size // 256) // self.cluster * self.cluster, 1)
        self._check(self.cuda.cuLaunchKernel(self.function, *grid, 1, 128 if self.isAmpere else 384, 1, 1, 0 if self.isAmpere else 229440, stream,
                                             self.arguments, None))

    def outputs(self):
        return {"y": self.result}, {"y": self.lhs @ (self.rhs if self.isAmpere else self.rhs.t())}


@functools.lru_cache(maxsize=1)
def _tensors(problem: str) -> dict:
    from measure import run_case
    return run_case.tensors(Launch("", "", json.loads(problem)).case, "bf16")


def _start(launch: Launch, args: argparse.Namespace):
    """(run, check): a function that starts the launch once, and one that returns its relative error."""
    from measure import peers, run_case
    from measure.weft_runner import WeftRunner
    if launch.by == "sample":
        sample = Sample(args.samples, launch.name.split()[0], launch.model["problem"]["m"])
        return sample.run, lambda: run_case.worst(*sample.outputs())
    case = launch.case
    tensors = _tensors(json.dumps({key: launch.model[key] for key in ("problem", "heads") if key in launch.model}))
    if launch.by != "weft":
        return peers.make(case, launch.by, tensors), lambda: 0.0
    runner = WeftRunner(args.bundles / "libweft_runtime.so", args.bundles / launch.model["bundle"], tensors, case.output_shapes, None)
    return runner.run, lambda: run_case.worst(runner.outputs, peers.make(case, "eager", tensors)())


def worker(args: argparse.Namespace) -> int:
    """Starts each launch once under the profiler, behind a marker; those that ran go to the file `--worker`, one line of JSON each."""
    import torch
    prepared = [Launch(**entry) for entry in json.loads((args.bundles / "launches.json").read_text())]
    start = time.monotonic()
    for launch in prepared + _samples(args.samples) + _vendor():
        if time.monotonic() - start > args.seconds:
            print(f"l2: {launch.name} and what follows left out after {args.seconds} s", file=sys.stderr)
            break
        try:
            run, check = _start(launch, args)
            run()
            torch.cuda.synchronize()
            error = check()
            if not error < 2e-2:
                raise ValueError(f"relative error {error}")
            run()
            torch.cuda.synchronize()
        except Exception as problem:  # The others are still worth counting.
            print(f"{launch.name}: {type(problem).__name__}: {str(problem)[:300]}", file=sys.stderr, flush=True)
            continue
        torch.cuda.cudart().cudaProfilerStart()
        torch.cuda._sleep(1)
        run()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
        with open(args.worker, "a") as done:
            done.write(json.dumps(dataclasses.asdict(launch)) + "\n")
        del run, check
        torch.cuda.empty_cache()
    return 0


def _known(ncu: str) -> list[str]:
    """The metrics that this ncu has; launch__* are always there."""
    text = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True).stdout
    names = {line.split()[0] for line in text.splitlines() if line.split()}
    return [metric for metric in METRICS if metric.startswith("launch__") or metric.rsplit(".", 1)[0] in names]


def parse(text: str, launches: list[dict]) -> list[dict]:
    """The launches with `measured`: of each range the sum over its kernels; rates and limits of the kernel that takes longest."""
    import csv
    import io
    kernels: dict[str, dict] = {}
    for row in csv.DictReader(io.StringIO("\n".join(line for line in text.splitlines() if line.startswith('"')))):
        kernel = kernels.setdefault(row["ID"], {"name": row["Kernel Name"], "values": {}})
        value = profile._number(row["Metric Value"], row["Metric Unit"])
        if value is not None:
            kernel["values"][row["Metric Name"]] = value
    ranges: list[list[dict]] = []
    for kernel in kernels.values():
        if profile.MARKER in kernel["name"]:
            ranges.append([])
        elif ranges:
            ranges[-1].append(kernel)
    if len(ranges) != len(launches):
        raise SystemExit(f"l2: expected {len(launches)} ranges, got {len(ranges)}")
    for launch, group in zip(launches, ranges):
        longest = max(group, key=lambda k: k["values"].get("gpu__time_duration.sum", 0))
        measured = {}
        for metric, value in longest["values"].items():
            isSum = metric.endswith(".sum")
            measured[metric] = sum(k["values"].get(metric, 0) for k in group) if isSum else value
        launch["model"] |= {"measured": measured, "kernel": longest["name"][:80], "kernels": len(group)}
    return launches


def run(args: argparse.Namespace) -> int:
    """ncu over the worker."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        ran = pathlib.Path(folder) / "ran"
        metrics = _known(ncu)
        print(f"{len(metrics)} of {len(METRICS)} metrics; not here: {sorted(set(METRICS) - set(metrics))}", flush=True)
        command = [ncu, "--csv", "--profile-from-start", "off", "--clock-control", "none", "--graph-profiling", "node", "--target-processes", "all",
                   "--metrics", ",".join(metrics), sys.executable, __file__, "--worker", str(ran), "--bundles", str(args.bundles),
                   "--seconds", str(args.seconds)]
        done = subprocess.run(command + (["--samples", str(args.samples)] if args.samples else []), stdout=subprocess.PIPE, text=True)
        text, launches = done.stdout, [json.loads(line) for line in ran.read_text().splitlines()] if ran.exists() else []
    (args.out / "counters.csv").write_text(text)
    (args.out / "ran.json").write_text(json.dumps(launches))
    launches = parse(text, launches)
    (args.out / "launches.json").write_text(json.dumps({"date": datetime.date.today().isoformat(), "launches": launches}, indent=1))
    print(f"{len(launches)} launches")
    return 0 if launches else 1


# Where the compiler is again.


def _vendor_model(launch: dict) -> dict:
    """Tile, order and machine of a library's kernel: of products by its name, e.g. 256x128_64x4_1x2 in column-major terms."""
    problem, kernel = launch["model"]["problem"], launch["model"]["kernel"]
    if problem["kind"] == "attention":
        keys = 64 if launch["by"] == "flash" and problem["headDim"] == 128 else 128
        return {"tile": {"m": 128, "n": keys, "k": problem["headDim"]}, "order": "row",
                "machine": {"device": "H100", "blocksPerSm": 2 if launch["by"] == "flash" else 1}}
    cols, rows, depth, cluster_cols, cluster_rows = map(int, re.search(r"_(\d+)x(\d+)_(\d+)x\d+_(\d)x(\d)_", kernel).groups())
    several = launch["model"]["measured"]["launch__grid_size"] > 128
    return {"tile": {"m": rows * cluster_rows, "n": cols * cluster_cols, "k": depth}, "order": VENDOR_ORDER if several and problem["m"] > rows else "row",
            "machine": {"device": "H100", "sms": 132 // (cluster_rows * cluster_cols), "smsPerPort": 1}}


def _entry(launch: dict) -> dict:
    """What `weft compare-counters` reads."""
    model = launch["model"] | (_vendor_model(launch) if "tile" not in launch["model"] else {})
    if launch["name"].startswith("gemm_sm90_c2"):  # Two CTAs share a tile.
        model["machine"] = {"device": "H100", "sms": 66, "smsPerPort": 1}
    seen = model["measured"]
    isWgmma = seen.get("sm__inst_executed_pipe_tensor_op_gmma.sum", 0) > 0
    # Beside wgmma's warpgroups one copies; blocks that are fewer than the tiles take several.
    model |= {"engine": "wgmma" if isWgmma else "mma", "warps": int(seen["launch__block_size"]) // 32 - (4 if isWgmma else 0)}
    model["persistent"] = seen["launch__grid_size"] == 132 and not launch["name"].startswith("gemm_sm80")
    measured = {metric: value for metric, value in model["measured"].items() if metric in KEPT}
    return {"name": launch["name"], **{key: model[key] for key in ("problem", "tile", "order", "machine", "engine", "warps", "persistent")}, "measured": measured}


def report(args: argparse.Namespace) -> int:
    raw = json.loads(args.report.read_text())
    lines = ",\n".join(json.dumps(_entry(launch)) for launch in raw["launches"])
    path = args.out.with_suffix(".json")
    path.write_text(f'{{"launches": [\n{lines}\n]}}\n')
    table = subprocess.run([args.build / "bin" / "weft", "compare-counters", path], capture_output=True, text=True, check=True).stdout
    body, summary = table.split("\n\n")
    summary = "\n".join(f"* {line}" for line in summary.strip().splitlines())
    args.out.with_suffix(".md").write_text(
        f"# The L2 model beside an H100's counters: orders of tiles\n\n{len(raw['launches'])} kernels, {raw['date']}, one H100 80GB HBM3: "
        "`bench/l2.py --prepare`, there `bench/l2.py --run --samples=DIR`, `bench/l2.py --report`. One launch each behind a\n"
        "flushed L2, under ncu; this table: `weft compare-counters` of the JSON beside it, which keeps more metrics.\n\n"
        f"{summary}\n\n{body}\n")
    print(summary)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--bundles", type=pathlib.Path, default=ROOT / "build" / "l2")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--device", default="H100", help="of the device table, for the model (default H100)")
    parser.add_argument("--samples", type=pathlib.Path, help="a folder of sample kernels (gemm_sm80.ptx, ...)")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=600, help="no launch starts later than this (default 600)")
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args)
    if args.prepare:
        return prepare(args)
    if args.report:
        return report(args)
    return run(args) if args.run else parser.error("expected --prepare, --run or --report")


if __name__ == "__main__":
    sys.exit(main())
