#!/usr/bin/env python3
"""Speed of Weft beside onnxruntime, in one process, two threads each.

    bench/run.py [--build=build] [--model=GLOB,...] [--rounds=8] [--processor-time] [--save]

Each round runs Weft, onnxruntime, onnxruntime, Weft (ABBA), so that drift of the machine falls on both. A short pause before each
run lets the other's spinning threads go to sleep. The table gives median and best times and the ratio of the medians with its range
over rounds. --processor-time runs one thread each and takes the processor's time instead of the wall's, which other work on the
machine hardly stretches. --save writes bench/results/HOST-models.json and .md (HOST-processor-time).
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / "models"), str(ROOT / "test")]

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

import catalogue  # noqa: E402
from harness import backends, compare, limits  # noqa: E402

DEFAULT = ("bert_base_b1_s128", "resnet50_b1", "bert_1layer_dynamic", "gpt2_b1_s128", "vit_b16_b1", "mobilenet_v2_b1", "resnet18_b1",
           "squeezenet1_1_b1", "efficientnet_b0_b1", "llama_tiny_prefill_s32", "qwen_image_block_tiny")
THREADS, PAUSE_S = 2, 0.01


@dataclasses.dataclass
class Case:
    """Times in ms, in the order they were taken; `error` is the relative L2 error between the two."""

    name: str
    weft_ms: list[float]
    ort_ms: list[float]
    error: float
    compile_s: float

    def ratios(self) -> list[float]:
        """Weft over onnxruntime, one ratio for each round of two runs."""
        pairs = range(0, len(self.weft_ms), 2)
        return sorted(sum(self.weft_ms[i:i + 2]) / sum(self.ort_ms[i:i + 2]) for i in pairs)


@dataclasses.dataclass
class Method:
    threads: int = THREADS
    clock: object = time.perf_counter

    def once(self, backend, session, feeds) -> tuple[float, list[np.ndarray]]:
        time.sleep(PAUSE_S)
        start = self.clock()
        outputs = backend.outputs(session, feeds)
        return (self.clock() - start) * 1e3, outputs


def _measure(weft, ort, bundle: pathlib.Path, model: pathlib.Path, feeds: dict, rounds: int, method: Method) -> tuple[list, list, float]:
    ours, theirs = weft.session(bundle, threads=method.threads), ort.session(model, threads=method.threads)
    for _ in range(2):  # Warm-up.
        _, got = method.once(weft, ours, feeds)
        _, want = method.once(ort, theirs, feeds)
    error = max(compare.relative_l2(np.asarray(a), np.asarray(b)) for a, b in zip(got, want))
    a, b = [], []
    for _ in range(rounds):
        a.append(method.once(weft, ours, feeds)[0])
        b.append(method.once(ort, theirs, feeds)[0])
        b.append(method.once(ort, theirs, feeds)[0])
        a.append(method.once(weft, ours, feeds)[0])
    return a, b, error


def bench(name: str, weft, ort, cache: pathlib.Path, rounds: int, method: Method) -> Case | str:
    """The measured case, or why there is none."""
    model = catalogue.prepare(name, cache)
    feeds = catalogue.inputs(model.proto(), catalogue.SHAPES.get(name, ({},))[-1])
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        bundle = pathlib.Path(folder) / "model.weft"
        outcome = weft.compile(model.path, bundle, timeout=600)
        if outcome.code != 0:
            return f"compile exit {outcome.code}: {outcome.stderr.strip().splitlines()[:1]}"
        result = limits.isolated(lambda: _measure(weft, ort, bundle, model.path, feeds, rounds, method), timeout=900)
        if result.value is None:
            return result.error or f"signal {result.signal}" if not result.timed_out else "hang"
        return Case(name, *result.value, outcome.seconds)


def table(cases: list[Case]) -> list[str]:
    lines = ["| model | weft median | weft best | onnxruntime median | best | ratio (range over rounds) | rel. L2 error | compile |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for c in cases:
        r = c.ratios()
        lines.append(
            f"| {c.name} | {statistics.median(c.weft_ms):.2f} ms | {min(c.weft_ms):.2f} | {statistics.median(c.ort_ms):.2f} ms "
            f"| {min(c.ort_ms):.2f} | **{statistics.median(r):.2f}** ({r[0]:.2f} to {r[-1]:.2f}) | {c.error:.1e} | {c.compile_s:.1f} s |")
    return lines


def machine() -> dict:
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(), "onnxruntime": onnxruntime.__version__, "commit": commit,
            "date": datetime.datetime.now().isoformat(timespec="minutes"), "load": os.getloadavg()[0], "command": " ".join(sys.argv)}


def save(cases: list[Case], about: dict, method: Method) -> pathlib.Path:
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    is_wall = method.clock is time.perf_counter
    title = f"{method.threads} threads" if is_wall else "processor time of one thread"
    stem = folder / (f"{platform.node()}-" + ("models" if is_wall else "processor-time"))
    stem.with_suffix(".json").write_text(json.dumps(
        {"schema": "weft.bench/1", "machine": about, "cases": [dataclasses.asdict(c) for c in cases]}, indent=1) + "\n")
    facts = "\n".join(f"* {key}: {value}" for key, value in about.items())
    stem.with_suffix(".md").write_text(f"# Weft beside onnxruntime, {title}\n\n{facts}\n\n" + "\n".join(table(cases)) + "\n")
    return stem.with_suffix(".md")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--model", help="comma-separated globs of model names (default: the f32 models)")
    parser.add_argument("--rounds", type=int, default=8, help="ABBA rounds (default 8)")
    parser.add_argument("--processor-time", action="store_true", help="processor time of one thread each")
    parser.add_argument("--save", action="store_true", help="write bench/results/")
    args = parser.parse_args()

    method = Method(1, time.process_time) if args.processor_time else Method()
    weft, ort = backends.WeftBackend(args.build), backends.OrtBackend()
    if weft.missing():
        print(f"bench: {weft.missing()}", file=sys.stderr)
        return 2
    cache = args.build.resolve() / "models"
    cache.mkdir(parents=True, exist_ok=True)
    known = catalogue.shared_names() or list(catalogue.GENERATED)
    if args.model:
        names = [n for n in known if any(fnmatch.fnmatchcase(n, g) for g in args.model.split(","))]
    else:
        names = [n for n in DEFAULT if n in known] or known
    cases, failures = [], 0
    about = machine()
    for name in names:
        result = bench(name, weft, ort, cache, args.rounds, method)
        if isinstance(result, str):
            failures += 1
            print(f"{name}: {result}", file=sys.stderr)
        else:
            cases.append(result)
            print(f"{name}: {statistics.median(result.ratios()):.2f} x onnxruntime", file=sys.stderr, flush=True)
    print("\n".join(table(cases)))
    if args.save and cases:
        print(f"wrote {save(cases, about, method).relative_to(ROOT)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
