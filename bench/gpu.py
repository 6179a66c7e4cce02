#!/usr/bin/env python3
"""Weft beside PyTorch on one GPU, in one process: every case checked against f32, then timed by CUDA graph replays with a cold L2.

    bench/gpu.py --prepare [--bundles=build/bench] [--target=sm_90a] [--case=GLOB,...] [--dtype=bf16]      where the compiler is
    bench/gpu.py [--bundles=build/bench] [--case=GLOB,...] [--peers=all|cached|none] [--out=FOLDER]        where the card is

--prepare compiles the bundles and puts them, the runtime library and a manifest into one folder, which goes to the machine with the
card. There each case's data are drawn (the same bytes everywhere), and Weft and the peers (PyTorch eager, torch.compile with
max-autotune-no-cudagraphs and default, SDPA's back ends, channels-last convolutions) run on the same tensors. Who is beyond the
tolerance is not timed. Times are medians of 30, candidates in turn, 256 MiB written before each.

Cases run in a child process, which is started again if a kernel takes the CUDA context down. --cache=FILE keeps the peers' times
by card, driver and PyTorch version; --peers=cached uses them, and marks them in the table.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import cases  # noqa: E402
from cases.case import TOLERANCE  # noqa: E402
from measure import bundles, table  # noqa: E402

ROUNDS = 30
CASE_SECONDS = 240
MANIFEST = "manifest.json"


# Where the compiler is.

def prepare(args: argparse.Namespace) -> int:
    """Bundles of all cases. A case that does not compile is in the manifest with the compiler's message."""
    import onnx
    from harness import backends

    weft = backends.WeftBackend(args.build, target=args.target)
    args.bundles.mkdir(parents=True, exist_ok=True)
    manifest_path = args.bundles / MANIFEST
    manifest = json.loads(manifest_path.read_text()) if manifest_path.exists() else {}
    manifest.update(commit=bundles.commit(), target=args.target)
    entries = manifest.setdefault("cases", {})
    for case in cases.find(args.case):
        name = f"{case.name}.{args.dtype}"
        bundle = args.bundles / f"{name}.weft"
        bundle.unlink(missing_ok=True)
        # The bundle refers to external weights by their place below its own folder, so the model lies beside it for now.
        model, external = args.bundles / f"{case.name}.onnx", case.weights != "inputs"
        onnx.save(case.model(args.dtype), model)
        weights = case.write_weights(args.dtype, args.bundles) if external else model
        outcome = weft.compile(model, bundle, extra=["--weights=external"] if external else [], timeout=args.compile_seconds)
        for path in {model, weights}:
            path.unlink()
        entries[name] = {"seconds": round(outcome.seconds, 2), "code": outcome.code}
        if outcome.code:
            bundle.unlink(missing_ok=True)
            entries[name]["message"] = "timeout" if outcome.timed_out else " | ".join(outcome.stderr.strip().splitlines()[:3])[:400]
        size = f"{bundle.stat().st_size / 1e6:.2f} MB" if bundle.exists() else entries[name]["message"]
        print(f"{name:50} {outcome.seconds:6.1f} s  {size}", flush=True)
        manifest_path.write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{args.bundles}: {bundles.finish(args)}")
    return 0


# Where the card is: one case.

def _tensors(case: cases.Case, dtype: str) -> dict:
    import numpy as np
    import torch
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[dtype]
    found = {}
    for name, value in case.draw(dtype).items():
        raw = torch.from_numpy(np.ascontiguousarray(value).view(np.uint8 if dtype == "f32" else np.int16))
        found[name] = raw.cuda().view(kind).reshape(value.shape)
    return found


def _worst(got: dict, want: dict) -> float:
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


def _ours(case: cases.Case, args: argparse.Namespace, tensors: dict, want: dict, folder: pathlib.Path, result: table.Result):
    """Our timing, and the session if its first run is right."""
    from measure.weft_runner import WeftRunner
    timing, name = table.Timing(table.OURS), f"{case.name}.{args.dtype}"
    bundle, manifest = args.bundles / f"{name}.weft", json.loads((args.bundles / MANIFEST).read_text())
    if not bundle.exists():
        timing.failure = f"no bundle: {manifest['cases'].get(name, {}).get('message', 'not prepared')}"
        return timing, None
    if case.weights != "inputs":
        case.write_weights(args.dtype, folder)

    def first():
        runner = WeftRunner(args.bundles / bundles.LIBRARY, bundle, tensors, case.output_shapes, folder)
        runner.run()
        return runner

    runner = _attempt(timing, first)
    if runner is None:
        return timing, None
    result.kernels = runner.kernels
    if runner.on_host:
        timing.failure = f"runs on the host: {', '.join(runner.on_host[:3])}"
        return timing, None
    if not table.accept(timing, _worst(runner.outputs, want), TOLERANCE[args.dtype]):
        return timing, None
    return timing, runner


def _peer(case: cases.Case, name: str, tensors: dict, want: dict, dtype: str):
    from measure import peers, timing as clock
    timing = table.Timing(name)
    run = peers.make(case, name, tensors)
    got = _attempt(timing, run)
    if got is None or not table.accept(timing, _worst(got, want), TOLERANCE[dtype]):
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
    from measure import peers, timing as clock
    result = table.Result(case.name, args.dtype, case.floor_ms, case.flops, case.bytes)
    tensors = _tensors(case, args.dtype)
    want = peers.reference(case, tensors)
    starts = {}
    with tempfile.TemporaryDirectory() as folder:
        timing, runner = _ours(case, args, tensors, want, pathlib.Path(folder), result)
        result.timings.append(timing)
        if runner:
            starts[table.OURS] = runner.run
        for name in peer_names(peers.names(case), args):
            known = cache.get(case.name, args.dtype, name) if args.peers == "cached" else None
            timing, start = (known, None) if known else _peer(case, name, tensors, want, args.dtype)
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


def worker(args: argparse.Namespace) -> int:
    """Measures the named cases; one JSON line for each goes to the file `--worker`, preceded by its name when it begins."""
    import torch
    cache = table.PeerCache(args.cache, device_key())
    with open(args.worker, "a") as out:
        for case in cases.find(args.case):
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


# Where the card is: all cases.

def device_key() -> str:
    import torch
    return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"


def about(args: argparse.Namespace) -> dict:
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout
    manifest = json.loads((args.bundles / MANIFEST).read_text()) if (args.bundles / MANIFEST).exists() else {}
    return {"device": device_key(), "driver": driver.strip().splitlines()[0] if driver.strip() else "unknown",
            "date": datetime.datetime.now().isoformat(timespec="minutes"), "commit of the bundles": manifest.get("commit", "unknown"),
            "target": manifest.get("target", "unknown"), "element type": args.dtype, "command": " ".join(sys.argv)}


def _read(path: pathlib.Path) -> tuple[list[table.Result], str | None]:
    """Results so far, and the case that had begun and not ended."""
    results, open_case = [], None
    for line in path.read_text().splitlines() if path.exists() else []:
        data = json.loads(line)
        open_case = data.get("begin")
        if "result" in data:
            results.append(table.from_dict(data["result"]))
    return results, open_case


def _child(args: argparse.Namespace, names: list[str], lines: pathlib.Path, deadline: float) -> str:
    """Runs a worker over the named cases until its end, or until one case takes too long. Returns how it ended."""
    command = [sys.executable, __file__, "--worker", str(lines), "--case", ",".join(names), "--bundles", str(args.bundles), "--dtype", args.dtype,
               "--peers", args.peers, "--only-peers", args.only_peers, "--rounds", str(args.rounds)] + (["--cache", str(args.cache)] if args.cache else [])
    process = subprocess.Popen(command)
    progress, since = None, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        size = lines.stat().st_size if lines.exists() else 0
        if size != progress:
            progress, since = size, time.monotonic()
        now = time.monotonic()
        if now - since > CASE_SECONDS or now > deadline:
            process.kill()
            process.wait()
            return "out of time" if now > deadline else f"no result within {CASE_SECONDS} s"
    return f"the process ended with {process.returncode}"


def run_all(args: argparse.Namespace) -> list[table.Result]:
    """Results of all wanted cases; a case that took the process down has a failure instead of times."""
    wanted = {case.name: case for case in cases.find(args.case)}
    lines = args.out / "results.jsonl"
    lines.unlink(missing_ok=True)
    deadline = time.monotonic() + args.seconds
    while True:
        results, _ = _read(lines)
        left = [name for name in wanted if name not in {r.case for r in results}]
        if not left or time.monotonic() > deadline:
            return results
        ending = _child(args, left, lines, deadline)
        results, broken = _read(lines)
        broken = broken or next((name for name in left if name not in {r.case for r in results}), None)
        if broken:
            case = wanted[broken]
            failed = table.Result(broken, args.dtype, case.floor_ms, case.flops, case.bytes, [table.Timing(table.OURS, failure=ending)])
            with open(lines, "a") as out:
                out.write(json.dumps({"result": dataclasses.asdict(failed)}) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundles.add_arguments(parser, "bench", target=True)
    parser.add_argument("--compile-seconds", type=float, default=120, help="limit of one compile (default 120)")
    parser.add_argument("--case", help="comma-separated globs of case names (default: all)")
    parser.add_argument("--dtype", default="bf16", choices=("bf16", "f16", "f32"))
    parser.add_argument("--peers", choices=("all", "cached", "none"), default="all", help="time the peers, take known times first, or leave them out")
    parser.add_argument("--only-peers", default="*", help="comma-separated globs of peers (eager, compile, 'compile default', flash, cudnn, ...): "
                        "torch.compile takes the better part of a minute for each case")
    parser.add_argument("--cache", type=pathlib.Path, help="JSON file of the peers' times, by card and versions")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"timed runs of each candidate (default {ROUNDS})")
    parser.add_argument("--seconds", type=float, default=540, help="begin no case after this long (default 540)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("bench-gpu"), help="folder for gpu.md and gpu.json")
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not cases.find(args.case):
        print(f"gpu: expected a case that matches '{args.case}', got none", file=sys.stderr)
        return 2
    if args.prepare:
        return prepare(args)
    if args.worker:
        return worker(args)
    args.out.mkdir(parents=True, exist_ok=True)
    facts, results = about(args), run_all(args)
    (args.out / "gpu.json").write_text(table.to_json(results, facts))
    (args.out / "gpu.md").write_text(table.markdown(results, facts))
    print(table.markdown(results, facts))
    return 1 if any(r.ours.failure for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
