#!/usr/bin/env python3
"""The benchmark's cases at a small size, and the graphs of its random shapes: one definition, three evaluations that must agree.

    bench/check_cases.py [--build=build] [--case=GLOB,...] [--dtype=f16,bf16] [--device=cpu] [--target=cpu] [--json=FILE]

Every case is computed by numpy in f64 (the reference), by onnxruntime on the ONNX graph in f32, and by Weft in each 16-bit type on
--device; the reference takes the inputs and weights as rounded to that type. So a table of times compares equal things, and a graph
that Weft gets wrong is found before a GPU is asked. Weights are initializers, or inputs where the case says so, as in bench/gpu.py.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import cases  # noqa: E402
from cases import random_shapes  # noqa: E402
from cases.case import TOLERANCE  # noqa: E402
from harness import backends, compare, expected, limits  # noqa: E402


# What a GPU target does not do yet; see test/harness/expected.py.
EXPECTED = HERE / "expected-gpu.json"


@dataclasses.dataclass
class Check:
    """`error` is the worst relative L2 error over the outputs; `status` is "ok" or what went wrong."""

    name: str
    error: float | None = None
    seconds: float = 0
    status: str = "ok"


def distinct(wanted: list[cases.Case]) -> list[cases.Case]:
    """The small variants, each graph once: sizes of one family often shrink to the same."""
    seen, found = set(), []
    for case in wanted:
        key = (case.build, tuple(sorted(case.small_sizes.items())), case.opset)
        if key not in seen:
            seen.add(key)
            found.append(case.small)
    return found


def _worst(got: dict, want: dict) -> float:
    return max(compare.relative_l2(np.asarray(got[name]), value) for name, value in want.items())


def _judged(check: Check, got: dict, want: dict, tolerance: float) -> Check:
    check.error = _worst(got, want)
    if not check.error <= tolerance:
        check.status = f"error {check.error:.1e}, at most {tolerance:.0e} allowed"
    return check


def _stored_as(case: cases.Case) -> str:
    return "inputs" if case.weights == "inputs" else "embedded"


def check_graph(case: cases.Case, folder: pathlib.Path) -> Check:
    """The ONNX graph in f32, by onnxruntime, against the definition."""
    path, tensors, ort = folder / "graph.onnx", case.draw("f32"), backends.OrtBackend()
    onnx.save(case.model("f32", "inputs"), path)

    def run() -> dict:
        session = ort.session(path)
        return dict(zip([o.name for o in session.get_outputs()], ort.outputs(session, tensors)))

    result = limits.isolated(run, timeout=60)
    check = Check(f"{case.name} onnxruntime", seconds=result.seconds)
    if result.value is None:
        check.status = f"onnxruntime: {result.error or 'crash or hang'}"
        return check
    return _judged(check, result.value, case.reference(tensors), TOLERANCE["f32"])


def check_weft(case: cases.Case, dtype: str, weft: backends.WeftBackend, folder: pathlib.Path, timeout: float) -> Check:
    """Weft in `dtype` against the definition."""
    path, bundle, stored, tensors = folder / "model.onnx", folder / "model.weft", _stored_as(case), case.draw(dtype)
    onnx.save(case.model(dtype, stored, tensors), path)
    outcome = weft.compile(path, bundle, timeout=timeout)
    check = Check(f"{case.name} {dtype}", seconds=outcome.seconds)
    if outcome.code != 0:
        check.status = f"compile exit {outcome.code}: {' | '.join(outcome.stderr.strip().splitlines()[:2])[:300]}"
        return check
    if weft.device == "none":  # It only compiles.
        return check
    feeds = tensors if stored == "inputs" else {name: tensors[name] for name in case.inputs}

    def run() -> dict:
        return weft.session(bundle).run(feeds)

    result = limits.isolated(run, timeout=timeout)
    check.seconds += result.seconds
    if result.value is None:
        check.status = f"run: {result.error}" if result.error else "run: hang" if result.timed_out else f"run: signal {result.signal}"
        return check
    return _judged(check, result.value, case.reference(tensors), TOLERANCE[dtype])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--case", help="comma-separated globs of case names")
    parser.add_argument("--dtype", default="f16,bf16", help="comma-separated element types (default f16,bf16)")
    backends.add_target_options(parser)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each process (default 60)")
    expected.add_option(parser)
    parser.add_argument("--json", type=pathlib.Path, help="write all results here")
    args = parser.parse_args()

    weft = backends.from_options(args)
    if weft.missing():
        print(f"check_cases: {weft.missing()}", file=sys.stderr)
        return 2
    wanted = distinct(cases.find(args.case) + cases.find(args.case, random_shapes.examples()))
    if not wanted:
        print(f"check_cases: expected a case that matches '{args.case}', got none", file=sys.stderr)
        return 2
    checks: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="weft-cases-") as name:
        folder = pathlib.Path(name)
        for case in wanted:
            found = [check_graph(case, folder)] + [check_weft(case, dtype, weft, folder, args.timeout) for dtype in args.dtype.split(",")]
            for check in found:
                error = f"{check.error:9.1e}" if check.error is not None else " " * 9
                print(f"{check.name:58} {error} {check.seconds:6.1f} s  {check.status}", flush=True)
            checks += found
    if args.prepare:
        print(weft.close())
        return 0
    counts, text = expected.summary(checks, EXPECTED, args)
    print(text)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"schema": "weft.cases/1", **counts,
                                         "results": [dataclasses.asdict(c) for c in checks]}, indent=1) + "\n")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
