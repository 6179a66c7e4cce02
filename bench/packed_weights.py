#!/usr/bin/env python3
"""Products by weights of 2, 4 and 8 bits on the CPU (MatMulNBits) beside onnxruntime's, in one process and in turns.

    bench/packed_weights.py [--build=build] [--threads=1,2] [--rounds=12] [--case=GLOB,...] [--save]

A round is Weft, onnxruntime at accuracy_level 0 (floats), onnxruntime at accuracy_level 4 (it rounds the activations to 8 bits, which Weft never
does), and the same backwards, some 20 ms each. Of each the table has the median and the least: processor time with one thread, which other work on the
machine hardly stretches, and wall-clock time with more. Results are compared with a product in f64. --save writes bench/results/HOST-packed-weights.*.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import platform
import statistics
import sys
import tempfile

import run as beside  # Puts the suites on the path.

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cpu_fusion import Series, _letter, _runs_of_letter
from harness import backends

ROOT = pathlib.Path(__file__).resolve().parents[1]
SERIES = ("weft", "ort", "ort8")


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    depth: int
    columns: int
    bits: int = 4
    block: int = 32
    zeros: bool = False
    kind: str = "float32"
    symbolic: bool = False  # One bundle for any number of rows.

    @property
    def name(self) -> str:
        extras = [self.kind] * (self.kind != "float32") + ["zero points"] * self.zeros + ["symbolic rows"] * self.symbolic
        return f"{self.rows}x{self.depth}x{self.columns}, {', '.join([f'{self.bits} bits', f'blocks of {self.block}', *extras])}"


SHAPES = [Shape(1, 2048, 2048), Shape(1, 2048, 2049), Shape(1, 4095, 4096), Shape(1, 4096, 4096, zeros=True), Shape(1, 2048, 8191, block=128),
          Shape(1, 2048, 2048, block=16), Shape(1, 2048, 2048, bits=8), Shape(1, 2048, 2048, bits=2), Shape(1, 2048, 2048, kind="float16"),
          Shape(1, 2048, 2048, symbolic=True), Shape(3, 2048, 2048, symbolic=True), Shape(2, 2048, 2048), Shape(5, 2047, 2048), Shape(7, 1023, 1031),
          Shape(7, 2048, 2048), Shape(16, 2048, 2048, zeros=True), Shape(33, 1023, 1031, zeros=True), Shape(33, 2048, 2048), Shape(129, 2048, 2048)]


def model(shape: Shape, level: int, draw: np.random.Generator) -> tuple[onnx.ModelProto, dict, np.ndarray]:
    """The model, its operand and the result in f64."""
    blocks, element = -(-shape.depth // shape.block), np.dtype(shape.kind)
    packed = draw.integers(0, 256, (shape.columns, blocks, shape.block * shape.bits // 8)).astype(np.uint8)
    scales = draw.uniform(0.001, 0.01, (shape.columns, blocks)).astype(element)
    x = draw.standard_normal((shape.rows, shape.depth)).astype(element)
    constants, names = [packed, scales], ["x", "c0", "c1"]
    unpack = lambda array: (array[..., None] >> np.arange(0, 8, shape.bits, dtype=np.uint8) & np.uint8(2**shape.bits - 1)).reshape(shape.columns, -1)
    zero = np.full((shape.columns, blocks), 2.0 ** (shape.bits - 1))
    if shape.zeros:
        constants.append(draw.integers(0, 256, (shape.columns, -(-blocks * shape.bits // 8))).astype(np.uint8))
        names.append("c2")
        zero = unpack(constants[2])[:, :blocks].astype(np.float64)
    weight = ((unpack(packed).astype(np.float64) - np.repeat(zero, shape.block, 1)) * np.repeat(scales.astype(np.float64), shape.block, 1))[:, :shape.depth]
    node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=shape.depth, N=shape.columns, bits=shape.bits,
                            block_size=shape.block, accuracy_level=level)
    kind = helper.np_dtype_to_tensor_dtype(element)
    x_type, y_type = (helper.make_tensor_value_info(name, kind, ["m" if shape.symbolic else shape.rows, extent])
                      for name, extent in (("x", shape.depth), ("y", shape.columns)))
    graph = helper.make_graph([node], "product", [x_type], [y_type], [numpy_helper.from_array(c, f"c{i}") for i, c in enumerate(constants)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), {"x": x}, x.astype(np.float64) @ weight.T


def measure(shape: Shape, weft, threads: int, rounds: int, folder: pathlib.Path) -> dict:
    paths = [folder / "float.onnx", folder / "bytes.onnx"]
    for path, level in zip(paths, (0, 4)):
        proto, feeds, want = model(shape, level, np.random.default_rng(5))
        onnx.save(proto, path)
    outcome = weft.compile(paths[0], folder / "m.weft")
    if outcome.code != 0:
        raise RuntimeError(f"{shape.name}: compile exit {outcome.code}: {outcome.stderr.strip()}")
    ort = backends.OrtBackend()
    sessions = [ort.session(path, threads=threads) for path in paths]
    bound = weft.session(folder / "m.weft", threads=threads).bind(feeds)
    runs = [bound, *(lambda session=session: ort.outputs(session, feeds) for session in sessions)]
    results = [next(iter(runs[0]().values())), *(run()[0] for run in runs[1:])]
    series, counts = [Series() for _ in runs], [_runs_of_letter(run) for run in runs]
    for done in range(rounds):
        order = [*range(len(runs))][::1 if done % 2 else -1]
        for i in order + order[::-1]:
            _letter(series[i], runs[i], counts[i])
    clock = "cpu" if threads == 1 else "wall"
    errors = [float(np.linalg.norm(np.asarray(r, np.float64) - want) / np.linalg.norm(want)) for r in results]
    return {"case": shape.name, "threads": threads, "errors": errors, **{n: [round(v, 4) for v in getattr(s, clock)] for n, s in zip(SERIES, series)}}


def table(rows: list[dict]) -> list[str]:
    lines = ["| rows x K x N | threads | weft, median (least) | onnxruntime | its bytes (level 4) | **onnxruntime : weft** | of the least | level 4 : weft | rel. L2 error of the three |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    for row in rows:
        middle, least = ({n: f(row[n]) for n in SERIES} for f in (statistics.median, min))
        times = " | ".join(f"{middle[n]:.3f} ms ({least[n]:.3f})" for n in SERIES)
        lines.append(f"| {row['case']} | {row['threads']} | {times} | **{middle['ort'] / middle['weft']:.2f}** | {least['ort'] / least['weft']:.2f} "
                     f"| {middle['ort8'] / middle['weft']:.2f} | {', '.join(f'{e:.0e}' for e in row['errors'])} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--case", default="*", help="comma-separated globs of the names in the table (default: all)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--rounds", type=int, default=12, help="rounds of each case (default 12)")
    parser.add_argument("--save", action="store_true", help="write bench/results/HOST-packed-weights.*")
    args = parser.parse_args()
    weft = backends.WeftBackend(args.build)
    if weft.missing():
        print(f"packed_weights: {weft.missing()}", file=sys.stderr)
        return 2
    rows, about = [], beside.machine()
    for shape in SHAPES:
        if not any(fnmatch.fnmatchcase(shape.name, glob) for glob in args.case.split(",")):
            continue
        for threads in map(int, args.threads.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measure(shape, weft, threads, args.rounds, pathlib.Path(folder)))
            print("\n".join(table(rows[-1:])[2:]), file=sys.stderr, flush=True)
    print("\n".join(table(rows)))
    if args.save and rows:
        stem = ROOT / "bench" / "results" / f"{platform.node()}-packed-weights"
        stem.with_suffix(".json").write_text(json.dumps({"schema": "weft.bench/1", "about": about, "cases": rows}) + "\n")
        facts = "\n".join(f"* {key}: {value}" for key, value in about.items())
        title = "# Products by weights of few bits on the CPU, beside onnxruntime"
        stem.with_suffix(".md").write_text(f"{title}\n\n{facts}\n\nProcessor time with one thread, wall-clock time with two.\n\n" + "\n".join(table(rows)) + "\n")
        print(f"wrote {stem.with_suffix('.md').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
