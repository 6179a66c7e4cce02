#!/usr/bin/env python3
"""Whole models through Weft and through onnxruntime: accuracy, compile time and memory, bundle size, run time.

    run_models.py [--build=build] [--all | --model=GLOB,...] [--json=FILE]
    run_models.py --target=sm_80 [--device=emu:sm_80] [--emulated | --all | --model=GLOB,...]
    run_models.py --target=sm_90a --all --prepare=models.zip      compile here, and where the GPU is, without the compiler:
    run_models.py --target=sm_90a --all --prepared=models.zip --device=cuda      (it draws the weights from ../shared/models or shared/models)

Every model is compiled by its own process, run in another on seeded inputs, and compared with onnxruntime: the relative L2 error
must be at most 1e-4 for f32 models, and 5e-3 for f16 models against the same graph in f32, for the CPU with --fp=fast, too. Models with dynamic
extents are compiled once and run at several. Two models are also cut at tensors (--from/--to). A second compile must give the same bytes.
Without the exported models (../shared/models) two generated networks take their place.

With --target everything is compiled for a GPU and runs on --device, the target's emulator by default; --emulated takes the models
that are small enough for it, and beginnings of large ones in their own sizes. What does not work there yet is listed in
expected-gpu.json, and a listed model that does better, or otherwise, fails the run.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import hashlib
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import catalogue  # noqa: E402
import transform  # noqa: E402
from execute import execute  # noqa: E402
from harness import backends, compare, coverage, expected, limits, selection  # noqa: E402

# Limits of one compile: seconds (generous, the machine may be shared) and MiB.
COMPILE_SECONDS, COMPILE_MB = 120, 2048

# See harness/expected.py.
EXPECTED = HERE / "expected-gpu.json"
SLICES = 2  # Of the models that do not cover.


@dataclasses.dataclass
class Row:
    """One compared run. `error` is the worst relative L2 error over the outputs."""

    name: str
    status: str = "ok"  # ok, or what went wrong
    error: float | None = None
    compile_s: float | None = None
    compile_mb: float | None = None
    bundle_mb: float | None = None
    run_ms: float | None = None
    ort_ms: float | None = None

    @property
    def passed(self) -> bool:
        return self.status == "ok"


def _digest(path: pathlib.Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tool_message(outcome: limits.Outcome) -> str:
    lines = [line for line in outcome.stderr.splitlines() if line.strip()]
    return " | ".join(lines[:3])[:400]


class Suite:
    def __init__(self, weft: backends.WeftBackend, cache: pathlib.Path, repeats: int, keep: bool, fast_math: bool):
        self.weft, self.ort = weft, backends.OrtBackend()
        self.cache, self.repeats, self.keep, self.fast_math = cache, repeats, keep, fast_math
        self.rows: list[Row] = []

    @property
    def emulated(self) -> bool:
        return self.weft.device.startswith("emu:")

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        cells = [f"{row.name:44}", f"{row.error:9.1e}" if row.error is not None else " " * 9]
        for value, unit in ((row.compile_s, "s"), (row.compile_mb, "MB"), (row.bundle_mb, "MB"), (row.run_ms, "ms"), (row.ort_ms, "ms ort")):
            cells.append(f"{value:8.1f} {unit}" if value is not None else " " * (9 + len(unit)))
        print(" ".join(cells), row.status, flush=True)

    def _compile(self, row: Row, model: pathlib.Path, bundle: pathlib.Path, extra: list[str]) -> bool:
        outcome = self.weft.compile(model, bundle, extra=extra, timeout=COMPILE_SECONDS)
        row.compile_s, row.compile_mb = outcome.seconds, outcome.peak_mb
        if outcome.timed_out:
            row.status = f"compile hang: over {COMPILE_SECONDS} s"
        elif outcome.code != 0:
            row.status = f"compile exit {outcome.code}: {_tool_message(outcome)}"
        elif outcome.peak_mb > COMPILE_MB:
            row.status = f"compile took {outcome.peak_mb:.0f} MB, at most {COMPILE_MB} allowed"
        else:
            row.bundle_mb = bundle.stat().st_size / 1e6
        return row.passed

    def check(self, name: str, model: pathlib.Path, reference: pathlib.Path, feeds: list[dict], labels: list[str],
              tolerance: float, extra: list[str] = (), twice: bool = False, repeats: int | None = None) -> None:
        """Compile `model` once, run it and the reference on every set of inputs, compare; one row for each."""
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            bundle = pathlib.Path(folder) / "model.weft"
            head = Row(name)
            if not self._compile(head, model, bundle, list(extra)):
                self._add(head)
                return
            if twice:
                again = pathlib.Path(folder) / "again.weft"
                outcome = self.weft.compile(model, again, extra=list(extra), timeout=COMPILE_SECONDS)
                if outcome.code != 0 or _digest(bundle) != _digest(again):
                    head.status = "a second compile gave other bytes"
                again.unlink(missing_ok=True)
            if repeats is None:  # Several inputs run one session again; the emulator's times say nothing.
                repeats = 0 if self.emulated and len(feeds) > 1 else self.repeats
            self._compare(head, bundle, reference, feeds, labels, tolerance, pathlib.Path(folder), repeats)

    def _compare(self, head: Row, bundle, reference, feeds, labels, tolerance, folder: pathlib.Path, repeats: int) -> None:
        if self.weft.device == "none":  # It only compiles.
            self._add(head)
            return
        got, want = folder / "got.npz", folder / "want.npz"
        ort_times, problem = execute(self.ort, reference, _widened(feeds, reference), repeats, want)
        if problem:
            raise RuntimeError(f"{head.name}: onnxruntime: {problem}")
        times, problem = execute(self.weft, bundle, feeds, repeats, got)
        if problem:
            head.status = problem
            self._add(head)
            return
        with np.load(got) as a, np.load(want) as b:
            for index, label in enumerate(labels):
                row = dataclasses.replace(head, name=head.name + label, run_ms=times[index], ort_ms=ort_times[index])
                keys = [k for k in b.files if k.split(".")[0] == str(index)]
                row.error = max(compare.relative_l2(a[k], b[k]) if k in a.files else float("inf") for k in keys)
                if not row.error <= tolerance:
                    row.status = f"error {row.error:.1e}, at most {tolerance:.0e} allowed"
                self._add(row)

    def run(self, name: str, fast: bool) -> None:
        model = catalogue.prepare(name, self.cache)
        proto = model.proto()
        reference, extra_files = self._reference(model)
        try:
            shapes = (catalogue.EMULATED_SHAPES if self.emulated else catalogue.SHAPES).get(name, ({},))
            feeds = [catalogue.inputs(proto, symbols) for symbols in shapes]
            labels = [" " + ",".join(str(v) for v in s.values()) if s else "" for s in shapes]
            self.check(name, model.path, reference, feeds, labels, catalogue.TOLERANCE[model.precision], twice=fast)
            if self.fast_math and fast:
                self.check(f"{name} --fp=fast", model.path, reference, feeds, labels, catalogue.TOLERANCE[model.precision], ["--fp=fast"])
            if name in catalogue.CUTS and self.weft.device == "cpu":
                self.run_cuts(model, proto)
        finally:
            for path in extra_files:
                path.unlink(missing_ok=True)
            if not fast and not self.keep:
                model.discard()

    def _reference(self, model: catalogue.Model) -> tuple[pathlib.Path, list[pathlib.Path]]:
        """The model that onnxruntime runs, which is f32, and the files that were written for it."""
        if model.precision != "f16":
            return model.path, []
        widened = model.path.with_name(f"{model.path.stem}.f32.onnx")
        return widened, transform.widen(model.path, widened)

    def run_part(self, name: str, targets: tuple[str, ...]) -> None:
        """The beginning of a model, up to `targets`; one run, without a warm-up: the emulator takes its time."""
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            model = catalogue.prepare_part(name, targets, pathlib.Path(folder))
            reference, _ = self._reference(model)
            self.check(f"{name}..{'+'.join(targets)}", model.path, reference, [catalogue.inputs(model.proto())], [""],
                       catalogue.TOLERANCE[model.precision], repeats=0)

    def run_cuts(self, model: catalogue.Model, proto: onnx.ModelProto) -> None:
        for index, (sources, targets) in enumerate(transform.cuts(proto)):
            part = transform.extract(proto, sources, targets)
            reference = self.cache / f"{model.name}.cut{index}.onnx"
            onnx.save(part, reference)
            flags = [f"--from={','.join(sources)}", f"--to={','.join(targets)}"]
            self.check(f"{model.name} {'+'.join(sources)}..{'+'.join(targets)}", model.path, reference,
                       [catalogue.inputs(part)], [""], catalogue.TOLERANCE[model.precision], flags)
            reference.unlink()


def _widened(feeds: list[dict], reference: pathlib.Path) -> list[dict]:
    """Inputs in the types of the reference, which has f32 where an f16 model has f16."""
    graph = onnx.load(reference, load_external_data=False).graph
    types = {v.name: onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type) for v in graph.input}
    return [{name: value.astype(types[name]) for name, value in feed.items()} for feed in feeds]


def wanted_models(args: argparse.Namespace) -> list[str]:
    names = catalogue.shared_names() or list(catalogue.GENERATED)
    if args.emulated:
        return [n for n in catalogue.EMULATED if n in names or n in catalogue.GENERATED_SMALL]
    if args.model:
        names = sorted(set(names) | set(catalogue.GENERATED) | set(catalogue.GENERATED_SMALL))
        return [n for n in names if any(fnmatch.fnmatchcase(n, g) for g in args.model.split(","))]
    return [n for n in names if args.all or n in catalogue.FAST or n in catalogue.GENERATED] + list(catalogue.ALWAYS)


def parts(args: argparse.Namespace) -> list[tuple[str, tuple[str, ...]]]:
    """Beginnings of exported models for the target's emulator; none without those models."""
    wanted = catalogue.EMULATED_PARTS.get(args.target, ()) if args.emulated else ()
    return [(name, targets) for name, targets in wanted if name in catalogue.shared_names()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--all", action="store_true", help="every model, the large ones too (their weights are deleted again)")
    parser.add_argument("--model", help="comma-separated globs of model names")
    parser.add_argument("--emulated", action="store_true", help="the models that are small enough for the PTX emulator")
    selection.add_options(parser)
    backends.add_target_options(parser)
    parser.add_argument("--repeats", type=int, help="timed runs after the warm-up (default 3; with --emulated 1)")
    parser.add_argument("--keep", action="store_true", help="keep the weights of the large models")
    expected.add_option(parser)
    parser.add_argument("--json", type=pathlib.Path, help="write all rows here")
    args = parser.parse_args()

    cache = args.build.resolve() / "models"
    cache.mkdir(parents=True, exist_ok=True)
    suite = Suite(backends.from_options(args, ["--weights=external"], cache), cache, args.repeats if args.repeats is not None else 1 if args.emulated else 3, args.keep,
                  fast_math=args.target in (None, "cpu"))
    if suite.weft.missing():
        print(f"run_models: {suite.weft.missing()}", file=sys.stderr)
        return 2
    names, beginnings = wanted_models(args), parts(args)
    if not names:
        print(f"run_models: expected a model that matches '{args.model}', got none", file=sys.stderr)
        return 2
    step = f"emulated-models-{args.target}" if args.emulated else "models"
    chosen = selection.choose(args, step, [*names, *(name for name, _ in beginnings)], SLICES)
    for name in names:
        if name in chosen:
            with coverage.recording(step, name):
                suite.run(name, fast=name in catalogue.FAST or name in catalogue.GENERATED or name in catalogue.ALWAYS)
    for name, targets in beginnings:
        if name in chosen:
            with coverage.recording(step, name):
                suite.run_part(name, targets)
    if args.prepare:
        print(suite.weft.close())
        return 0
    counts, text = expected.summary(suite.rows, EXPECTED, args)
    print(text)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({
            "schema": "weft.models/1", **counts,
            "results": [dataclasses.asdict(row) for row in suite.rows]}, indent=1) + "\n")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
