"""One case where the GPU is: its tensors, the reference, Weft and the peers, each checked before it is timed."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import functools
import json
import math
import pathlib
import tempfile
import time
import zlib
from typing import Sequence

import cases
from cases.case import DTYPES, TOLERANCE, draw, normals

from . import bundles, prepare, table


@functools.cache
def _normals_on_card():
    import torch
    return torch.from_numpy(normals()).cuda()


def _draw(name: str, spec, dtype: str):
    """cases.case.draw, on the GPU: the same bytes, without the copy of a large tensor."""
    import numpy as np
    import torch
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[dtype]
    if spec.kind != "normal":
        raw = np.ascontiguousarray(draw(name, spec, DTYPES[dtype]))
        return torch.from_numpy(raw.view(np.uint8 if dtype == "f32" else np.int16)).cuda().view(kind).reshape(spec.shape)
    table_, count = _normals_on_card(), math.prod(spec.shape)
    values = torch.roll((table_ * spec.std + spec.mean).to(kind), -(zlib.crc32(name.encode()) % len(table_)))
    return values.repeat(-(-count // len(table_)))[:count].clone().reshape(spec.shape)


def tensors(case: cases.Case, dtype: str) -> dict:
    """Inputs and weights by name."""
    return {name: _draw(name, spec, dtype) for name, spec in (*case.inputs.items(), *case.weight_specs.items())}


def worst(got: dict, want: dict) -> float:
    """Relative L2 error of the worst output; NaN if anything is NaN."""
    errors = []
    for name, value in want.items():
        a, b = got[name].double(), value.double()
        errors.append(float((a - b).norm() / b.norm()))
    return max(errors, key=lambda e: float("inf") if e != e else e)


def _attempt(timing: table.Timing, function):
    """The function's value; a failure becomes the timing's, unless the context is gone."""
    import torch
    try:
        value = function()
        torch.cuda.synchronize()
        return value
    except Exception as error:
        timing.failure = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}" if str(error) else type(error).__name__
        return None


def _ours(case: cases.Case, args: argparse.Namespace, values: dict, want: dict, folder: pathlib.Path, result: table.Result):
    """Our timing, and the session if its first run is right."""
    from .weft_runner import WeftRunner
    timing, name = table.Timing(table.OURS), f"{case.name}.{args.dtype}"
    bundle, entry = args.bundles / f"{name}.weft", prepare.read_manifest(args.bundles)["cases"].get(name, {})
    if not bundle.exists():
        timing.failure = f"no bundle: {entry.get('message', 'not prepared')}"
        return timing, None
    result.planned_ms = entry["planned_us"] / 1e3 if "planned_us" in entry else None
    if case.weights != "inputs":
        case.write_weights(args.dtype, folder)

    def first():
        runner = WeftRunner(args.bundles / bundles.LIBRARY, bundle, values, case.output_shapes, folder)
        runner.run()
        return runner

    runner = _attempt(timing, first)
    if runner is None:
        return timing, None
    result.kernels = runner.kernels
    if runner.on_host:
        timing.failure = f"runs on the host: {', '.join(runner.on_host[:3])}"
        return timing, None
    if not table.accept(timing, worst(runner.outputs, want), TOLERANCE[args.dtype]):
        return timing, None
    return timing, runner


def _peer(case: cases.Case, name: str, values: dict, want: dict, dtype: str):
    from . import peers, timing as clock
    timing = table.Timing(name)
    run = peers.make(case, name, values)
    got = _attempt(timing, run)
    if got is None or not table.accept(timing, worst(got, want), TOLERANCE[dtype]):
        return timing, None
    return timing, _attempt(timing, lambda: clock.capture(run))


def peer_names(names: list[str], args: argparse.Namespace) -> list[str]:
    """Of the peers of a case, those that are asked for."""
    if args.peers == "none":
        return []
    return [n for n in names if any(fnmatch.fnmatchcase(n, g) for g in args.only_peers.split(","))]


def measure(case: cases.Case, args: argparse.Namespace, cache: table.PeerCache) -> table.Result:
    """Everything about one case: reference, ours, peers, times."""
    import torch
    from . import peers, timing as clock
    result = table.Result(case.name, args.dtype, case.floor_ms, case.flops, case.bytes, written=case.written)
    values = tensors(case, args.dtype)
    want = peers.reference(case, values)
    starts = {}
    with tempfile.TemporaryDirectory() as folder:
        timing, runner = _ours(case, args, values, want, pathlib.Path(folder), result)
        result.timings.append(timing)
        if runner:
            starts[table.OURS] = runner.run
        for name in peer_names(peers.names(case), args):
            known = cache.get(case.name, args.dtype, name) if args.peers == "cached" else None
            timing, start = (known, None) if known else _peer(case, name, values, want, args.dtype)
            result.timings.append(timing)
            if start:
                starts[name] = start
        del want
        torch.cuda.empty_cache()
        for name, times in clock.Clock().all(starts, args.rounds).items():
            result.of(name).ms = times
        result.replayed = runner.replayed if runner else None
    today = datetime.date.today().isoformat()
    for timing in result.timings:
        if timing.candidate != table.OURS and timing.ms:
            cache.put(case.name, args.dtype, timing, today)
    return result


def device_key() -> str:
    import torch
    return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"


def worker(found: Sequence[cases.Case], args: argparse.Namespace) -> int:
    """Measures the cases; one JSON line for each goes to the file `--worker`, preceded by its name when it begins."""
    import torch
    cache = table.PeerCache(args.cache, device_key())
    with open(args.worker, "a") as out:
        for case in found:
            out.write(json.dumps({"begin": case.name, "at": time.time()}) + "\n")
            out.flush()
            result = measure(case, args, cache)
            out.write(json.dumps({"result": dataclasses.asdict(result)}) + "\n")
            out.flush()
            ours = result.ours
            if ours.failure and ("CUDA" in ours.failure or "driver" in ours.failure):
                torch.cuda.synchronize()  # Raises when the context is gone: the parent starts the next case afresh.
            torch.cuda.empty_cache()
    return 0
