"""Symbolic bundles beside static ones on a GPU: the same tensors, compared, timed in turn."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import statistics

import torch

from . import prepare_symbolic, symbolic
from .bundles import LIBRARY
from .timing import Clock
from .weft_runner import weft

TOLERANCE = {"f16": 5e-3, "bf16": 2e-2, "f32": 1e-4}  # Relative L2 between the two: both round at other points.
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Runner:
    """One session; a call for each extent, over tensors of its own."""

    def __init__(self, bundle: pathlib.Path):
        self.session, self.calls = weft.Session(str(bundle), device=f"cuda:{torch.cuda.current_device()}"), {}

    def bind(self, rows: int, feeds: dict, out: dict) -> None:
        stream = torch.cuda.current_stream()
        self.calls[rows] = self.session.bind({port.name: feeds[port.name] for port in self.session.inputs}, stream=stream, out=out)

    def run(self, rows: int) -> None:
        self.calls[rows]()


def _tensors(case: symbolic.SymbolicCase, dtype: str, rows: int, shared: dict) -> dict:
    """Matrices scaled by their rows; the same ones for all numbers of rows."""
    feeds = {}
    for port in case.model(dtype).graph.input:
        shape = [d.dim_value if d.HasField("dim_value") else rows for d in port.type.tensor_type.shape.dim]
        isShared = all(d.HasField("dim_value") for d in port.type.tensor_type.shape.dim)
        if not isShared or port.name not in shared:
            value = torch.randn(shape, device="cuda", dtype=torch.float32) * (shape[0] ** -0.5 if isShared and len(shape) > 1 else 1)
            feeds[port.name] = value.to(TORCH[dtype])
            if isShared:
                shared[port.name] = feeds[port.name]
        else:
            feeds[port.name] = shared[port.name]
    return feeds


def _measure(case: symbolic.SymbolicCase, args: argparse.Namespace, clock: Clock) -> tuple[list[dict], dict]:
    torch.manual_seed(1)
    shared: dict = {}
    folder = args.bundles
    moving = Runner(folder / prepare_symbolic.bundle_name(case, args.dtype, None))
    width = case.model(args.dtype).graph.output[0].type.tensor_type.shape.dim[1].dim_value
    lines, kept = [], []
    for rows in args.rows:
        fixed = Runner(folder / prepare_symbolic.bundle_name(case, args.dtype, rows))
        feeds = _tensors(case, args.dtype, rows, shared)
        outs = [torch.full((rows, width), float("nan"), dtype=TORCH[args.dtype], device="cuda") for _ in range(2)]
        kept.append((feeds, outs))
        name = moving.session.outputs[0].name
        for runner, out in zip((moving, fixed), outs):
            runner.bind(rows, feeds, {name: out})
            for _ in range(3):  # The second is recorded, the third replayed.
                runner.run(rows)
        torch.cuda.synchronize()
        line = {"rows": rows}
        a, b = (out.float() for out in outs)
        error = float((a - b).norm() / b.norm().clamp_min(1e-30))
        if not error <= TOLERANCE[args.dtype]:
            line["failure"] = f"relative L2 {error:.2e}"
        times = {"symbolic_us": [], "static_us": []}
        for _ in range(args.rounds):
            for key, runner in (("symbolic_us", moving), ("static_us", fixed)):
                times[key].append(clock.once(lambda: runner.run(rows)) * 1e3)
        line.update({key: statistics.median(values) for key, values in times.items()})
        lines.append(line)
    for rows in args.rows:  # All extents again, from the graphs that were kept.
        moving.run(rows)
    torch.cuda.synchronize()
    return lines, moving.session.statistics()


def run(args: argparse.Namespace) -> list[dict]:
    weft.load_library(args.bundles / LIBRARY)
    manifest = json.loads((args.bundles / prepare_symbolic.MANIFEST).read_text())
    clock, results = Clock(), []
    for case in args.cases:
        entry = manifest["cases"][case.name]
        lines, counts = _measure(case, args, clock)
        results.append({"name": case.name, "commit": manifest["commit"], "card": torch.cuda.get_device_name(), "intervals": entry["intervals"],
                        "bytes": entry["bytes"], "static_bytes": max(each["bytes"] for each in entry["static"].values()), "seconds": entry["seconds"],
                        "static_seconds": max(each["seconds"] for each in entry["static"].values()), "graphs_made": counts["graphs_made"],
                        "graphs_refused": counts["graphs_refused"], "rows": lines})
    return results
