#!/usr/bin/env python3
"""Graphs at the edges of tiles (edge-graphs.txt) through Weft, against onnxruntime in f32.

    run_edges.py [--build=build] [--filter=GLOB,...] [--chosen] [--target=sm_80] [--device=emu:sm_80] [--prepare=ZIP | --prepared=ZIP] [--json=FILE]

The node suite's tensors are tiny: most of them fit into one tile. These are not, and their extents divide nothing. Each graph is compiled and
run in each of its element types; the reference gets the same rounded inputs as f32, so that it does not share the roundings under
test. Relative L2 error at most 1e-4 (f32), 5e-3 (f16), 2e-2 (bf16); integers must be equal.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import multiprocessing
import pathlib
import re
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402

from harness import backends, compare, coverage, expected, limits, selection  # noqa: E402

GRAPHS = HERE / "edge-graphs.txt"
EXPECTED = HERE / "expected-edges.json"  # See harness/expected.py.
OPSET = 22
SLICES = 3  # Of the checks that do not cover.
TYPES = {"f32": ("float", np.float32), "f16": ("float16", np.float16), "bf16": ("bfloat16", ml_dtypes.bfloat16)}
TOLERANCE = {"f32": 1e-4, "f16": 5e-3, "bf16": 2e-2}


@dataclasses.dataclass
class Graph:
    name: str
    dtypes: list[str]
    inputs: dict[str, tuple[int, ...]]
    nodes: str

    @property
    def outputs(self) -> list[str]:
        """Results of nodes that no node reads, and those called y, z or w."""
        made = [name for left in re.findall(r"([\w, ]+?) = \w+", self.nodes) for name in left.split(",")]
        made = [name.strip() for name in made]
        read = {name.strip() for operands in re.findall(r"\(([^()]*)\)", self.nodes) for name in operands.split(",")}
        return [name for name in made if name not in read or name in ("y", "z")]

    def model(self, dtype: str) -> onnx.ModelProto:
        word = TYPES[dtype][0]
        inputs = ", ".join(word + (f"[{','.join(map(str, shape))}]" if shape else "") + f" {name}" for name, shape in self.inputs.items())
        text = f'<ir_version: 10, opset_import: ["" : {OPSET}]> {self.name} ({inputs}) => ({", ".join(f"{word} {o}" for o in self.outputs)}) '
        model = onnx.parser.parse_model(text + "{ " + self.nodes + " }")
        for value in model.graph.output:
            value.ClearField("type")
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        return inferred

    def feeds(self, dtype: str) -> dict[str, np.ndarray]:
        found = {}
        for name, shape in self.inputs.items():
            rng = np.random.Generator(np.random.Philox(key=zlib.crc32(f"{self.name}.{name}".encode())))
            found[name] = np.asarray(rng.standard_normal(shape), TYPES[dtype][1])
        return found


def read(path: pathlib.Path = GRAPHS) -> list[Graph]:
    graphs = []
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, dtypes, inputs, nodes = (part.strip() for part in line.split(" | "))
        shapes = {n: tuple(int(d) for d in dims.split(",") if d) for n, dims in re.findall(r"(\w+)\[([\d,]*)\]", inputs)}
        graphs.append(Graph(name, dtypes.split(), shapes, nodes))
    return graphs


@dataclasses.dataclass
class Check:
    name: str
    status: str = "ok"
    error: float = 0.0
    seconds: float = 0.0


def _wrong(got: list, want: list, tolerance: float) -> tuple[float, str]:
    """(worst relative L2 error, "ok" or what is wrong)"""
    worst = 0.0
    for index, (a, b) in enumerate(zip(map(np.asarray, got), want)):
        if a.shape != b.shape:
            return float("inf"), f"output {index}: expected shape {b.shape}, got {a.shape}"
        if b.dtype.kind == "f":
            worst = max(worst, compare.relative_l2(a, b))
            if not worst <= tolerance:
                return worst, f"wrong: error {worst:.1e}, at most {tolerance:.0e} allowed; {_where(a, b)}"
        elif not np.array_equal(a, b):
            return float("inf"), f"wrong: {int((a != b).sum())} of {b.size} integers differ"
    return worst, "ok"


def _where(a: np.ndarray, b: np.ndarray) -> str:
    """Which part of a result is far off: whole tiles that are wrong show at once."""
    far = ~np.isclose(a.astype(np.float64), b, rtol=0.05, atol=0.05)
    if not far.any():
        return "everywhere a little"
    where = np.argwhere(far)
    return f"{int(far.sum())} of {far.size} far off, within {where.min(0).tolist()}..{where.max(0).tolist()} of {list(b.shape)}"


def check(graph: Graph, dtype: str, weft: backends.WeftBackend, timeout: float) -> Check:
    """Compiles, runs and compares one graph in one type."""
    result = Check(f"{graph.name} {dtype}")
    with tempfile.TemporaryDirectory(prefix="weft-edge-") as name:
        folder = pathlib.Path(name)
        feeds = graph.feeds(dtype)
        onnx.save(graph.model(dtype), folder / "model.onnx")
        onnx.save(graph.model("f32"), folder / "reference.onnx")
        want = backends.OrtBackend().run(folder / "reference.onnx", {n: v.astype(np.float32) for n, v in feeds.items()})
        outcome = weft.compile(folder / "model.onnx", folder / "model.weft", timeout=timeout)
        result.seconds = outcome.seconds
        if outcome.code:
            kind = "refused" if outcome.code in (3, 5, 6) else "compile hang" if outcome.timed_out else f"compile exit {outcome.code}"
            result.status = f"{kind}: {' | '.join(outcome.stderr.replace(name, '').strip().splitlines()[:2])[:300]}"
            return result
        if weft.device == "none":  # It only compiles.
            return result
        run = limits.isolated(lambda: weft.run(folder / "model.weft", feeds), timeout=timeout)
        result.seconds += run.seconds
        if run.value is None:
            result.status = f"run: {run.error.splitlines()[0][:300] if run.error else 'hang' if run.timed_out else f'signal {run.signal}'}"
        else:
            result.error, result.status = _wrong(run.value, want, TOLERANCE[dtype])
    return result


_state: dict = {}


def _work(item: tuple[Graph, str]) -> Check:
    with coverage.recording(_state["suite"], f"{item[0].name} {item[1]}"):
        return check(*item, _state["weft"], _state["timeout"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--filter", default="*", help="comma-separated globs of names; NAME or 'NAME TYPE'")
    selection.add_options(parser)
    backends.add_target_options(parser)
    parser.add_argument("--jobs", type=int, default=2, help="workers (default 2)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each process (default 60)")
    parser.add_argument("--quiet", action="store_true", help="print what is not right only")
    expected.add_option(parser)
    parser.add_argument("--json", type=pathlib.Path, help="write all results here")
    args = parser.parse_args()
    weft = backends.from_options(args)
    if weft.missing():
        print(f"run_edges: {weft.missing()}", file=sys.stderr)
        return 2
    globs = args.filter.split(",")
    items = [(g, d) for g in read() for d in g.dtypes if any(fnmatch.fnmatchcase(n, p) for p in globs for n in (g.name, f"{g.name} {d}"))]
    suite = f"emulated-edges-{args.target}" if args.target else "edges"
    chosen = selection.choose(args, suite, [f"{g.name} {d}" for g, d in items], SLICES)
    items = [(g, d) for g, d in items if f"{g.name} {d}" in chosen]
    _state.update(weft=weft, timeout=args.timeout, suite=suite)
    checks = []
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        for result in pool.imap(_work, items):
            checks.append(result)
            if result.status != "ok" or not args.quiet:
                print(f"{result.name:32} {result.error:9.1e} {result.seconds:6.1f} s  {result.status}", flush=True)
    if args.prepare:
        print(weft.close())
        return 0
    counts, text = expected.summary(checks, EXPECTED, args)
    print(text)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"schema": "weft.edges/1", **counts,
                                         "results": [dataclasses.asdict(c) for c in checks]}, indent=1) + "\n")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
