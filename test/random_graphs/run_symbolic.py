#!/usr/bin/env python3
"""Random graphs whose extents are symbols: one bundle each, run at 1, around tiles and at primes, beside onnxruntime.

    run_symbolic.py [--build=build] [--target=cpu,sm_80,sm_90a] [--seed=N] [--count=M] [--only=SEED] [--keep=FOLDER] [--json=FILE]

The graphs are those of run_extents.py. Each named dimension is a symbol or a number; shapes of Reshape and bounds of Slice are computed from
the inputs' extents, as exporters write them. A GPU's bundle runs in its emulator. onnxruntime computes in f32; a result may be off by some times
what it changes by when each node's result is changed by a rounding of the graph's type. What is infinite is not compared.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import math
import pathlib
import random
import sys
import tempfile
from typing import Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import run_extents  # noqa: E402
from harness import backends, limits, selection  # noqa: E402
from run_extents import Dim, Extents  # noqa: E402

STATIC = (1, 2, 3, 7, 8, 16, 24, 33, 40, 64)
SIZES = (1, 2, 5, 7, 8, 15, 16, 17, 31, 32, 33, 61, 63, 64, 65, 96, 127, 128, 129, 131)
FIRST_OF_ROTATION = 1 << 20  # Seeds of rotations lie behind those that are given by hand.
RUNS = 5  # Sizes of each graph; the first has 1 for all symbols.
MOST_ELEMENTS, MOST_PRODUCTS = 60_000, 3_000_000  # A run takes some tenths of a second in the emulator.
ROUNDING = {onnx.TensorProto.FLOAT: 2.0**-22, onnx.TensorProto.FLOAT16: 2.0**-11}
WITHIN = {onnx.TensorProto.FLOAT: 1e-4, onnx.TensorProto.FLOAT16: 5e-3}
MOST, NEAR = 3e4, 4  # Numbers that f16 holds, with their sums; runs with changed results.
SECONDS = 120
I64 = onnx.TensorProto.INT64
make = onnx.helper


class SymbolicGraph(run_extents.Graph):
    """`sizes`: the constants that are lists of extents."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.sizes: dict[str, Sequence[Dim]] = {}

    def extents(self, *dims: Dim) -> str:
        name = self.constant(lambda e: np.array([d.extent(e) for d in dims], np.int64))
        self.sizes[name] = dims
        return name

    def reshape(self, value: str, *dims: Dim) -> str:
        return self.add("Reshape", [value, self.extents(*dims)], dims)

    def slice(self, value: str, axis: int, begin: Dim | None, dim: Dim) -> str:
        dims = list(self.values[value])
        dims[axis] = dim
        first = begin or Dim((), 0)
        bounds = [self.extents(first), self.extents(dim if not begin else Dim(dim.names, dim.times, begin))]
        return self.add("Slice", [value, *bounds, self.constant(lambda _: np.array([axis], np.int64))], tuple(dims))

    def places(self) -> dict[str, tuple[str, int]]:
        """Where an input says how long a name is; not of those that are numbers in every model: channels."""
        used, channels = self.used(), {name for op, inputs, _, _ in self.nodes if op == "Conv" for dim in self.values[inputs[1]] for name in dim.names}
        return {dim.names[0]: (name, axis) for name, dims in self.inputs.items() if name in used for axis, dim in enumerate(dims)
                if dim.is_name and dim.names[0] not in channels}

    def used(self) -> set[str]:
        return {name for _, inputs, _, _ in self.nodes for name in inputs}


class Model:
    """The graph with some names as symbols; the others are `static`."""

    def __init__(self, graph: SymbolicGraph, seed: int) -> None:
        self.graph, self.rng = graph, random.Random(seed)
        able = graph.places()
        chosen = [name for name in able if self.rng.random() < 0.5] or list(able)[:1]
        self.symbols = {name: able[name] for name in chosen}
        self.static = {name: self.rng.choice(STATIC) for name in graph.names if name not in self.symbols}

    def runs(self) -> list[Extents]:
        """Extents of every name for each run: as large as the emulator likes it."""
        found = [self.static | dict.fromkeys(self.symbols, 1)]
        for _ in range(50 * RUNS):
            extents = self.static | {name: self.rng.choice(SIZES) for name in self.symbols}
            if len(found) < RUNS and extents not in found and self.is_small(extents):
                found.append(extents)
        return found

    def is_small(self, extents: Extents) -> bool:
        def size(name: str) -> int:
            return math.prod(dim.extent(extents) for dim in self.graph.values[name])

        products = [size(out) * math.prod(d.extent(extents) for d in self.graph.values[inputs[1]][1 if op == "Conv" else -2:][:3 if op == "Conv" else 1])
                    for op, inputs, out, _ in self.graph.nodes if op in ("MatMul", "Conv")]
        return max(map(size, self.graph.values)) <= MOST_ELEMENTS and max(products, default=0) <= MOST_PRODUCTS

    def computed(self, dim: Dim, out: str) -> list[onnx.NodeProto]:
        """`out` = [the extent of dim], of the inputs' shapes."""
        nodes, factors = [], []
        for i, name in enumerate(n for n in dim.names if n in self.symbols):
            source, axis = self.symbols[name]
            factors.append(f"{out}_{i}")
            nodes.append(make.make_node("Shape", [source], factors[-1:], start=axis, end=axis + 1))
        number = dim.times * math.prod(self.static[n] for n in dim.names if n in self.static)
        nodes.append(make.make_node("Constant", [], [f"{out}_n"], value_ints=[number]))
        for i, factor in enumerate(factors):
            nodes.append(make.make_node("Mul", [f"{out}_n" if i == 0 else f"{out}_p{i - 1}", factor], [f"{out}_p{i}"]))
        made = nodes[-1].output[0]
        if dim.plus:
            nodes += self.computed(dim.plus, f"{out}_q")
            nodes.append(make.make_node("Add", [made, f"{out}_q"], [out]))
        else:
            nodes.append(make.make_node("Identity", [made], [out]))
        return nodes

    def sizes(self, name: str) -> list[onnx.NodeProto]:
        dims, nodes = self.graph.sizes[name], []
        for i, dim in enumerate(dims):
            nodes += self.computed(dim, f"{name}_{i}")
        return [*nodes, make.make_node("Concat", [f"{name}_{i}" for i in range(len(dims))], [name], axis=0)]

    def shape(self, name: str) -> list[int | str | None]:
        """A symbol's name, a number, or whatever comes."""
        def has_symbol(dim: Dim | None) -> bool:
            return dim is not None and (any(n in self.symbols for n in dim.names) or has_symbol(dim.plus))
        return [(dim.names[0] if dim.is_name else None) if has_symbol(dim) else dim.extent(self.static) for dim in self.graph.values[name]]

    def model(self, dtype: int, noise: random.Random | None = None) -> onnx.ModelProto:
        """`noise`: each result is off by one rounding of the graph's type, up or down."""
        g, used = self.graph, self.graph.used()
        nodes = [node for name in g.sizes for node in self.sizes(name)]
        constants = {name: value({}) for name, value in g.constants.items() if name not in g.sizes}
        for op, inputs, name, attributes in g.nodes:
            exact = f"{name}_exact" if noise else name
            nodes.append(make.make_node(op, inputs, [exact], **attributes(self.static)))
            if noise:
                constants[f"{name}_noise"] = np.array(1 + noise.choice([-1, 1]) * ROUNDING[g.dtype], np.float32)
                nodes.append(make.make_node("Mul", [exact, f"{name}_noise"], [name]))
        kind = make.tensor_dtype_to_np_dtype(dtype)
        constants = {name: value.astype(kind) if value.dtype != np.int64 else value for name, value in constants.items()}
        ports = [[make.make_tensor_value_info(name, dtype, self.shape(name)) for name in names]
                 for names in ([n for n in g.inputs if n in used], [name for _, _, name, _ in g.nodes if name not in used])]
        graph = make.make_graph(nodes, "symbolic", *ports, [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()])
        return make.make_model(graph, opset_imports=[make.make_opsetid("", 23)], ir_version=10)

    def feeds(self, extents: Extents, seed: int) -> dict[str, np.ndarray]:
        """Between 0 and 1 in size, as roots and products of many want it."""
        draw, kind, used = np.random.default_rng(seed), make.tensor_dtype_to_np_dtype(self.graph.dtype), self.graph.used()
        return {name: draw.uniform(-0.2, 1, [dim.extent(extents) for dim in dims]).astype(kind) for name, dims in self.graph.inputs.items() if name in used}


def by_onnxruntime(model: onnx.ModelProto, feeds: list[dict]) -> list[list[np.ndarray]]:
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [session.run(None, each) for each in feeds]


def distance(got: np.ndarray, want: np.ndarray) -> float:
    """Relative L2; of differences that are near 0, relative to their operands, which are near 1."""
    got, want = got.astype(np.float64), want.astype(np.float64)
    return float(np.linalg.norm((got - want).ravel()) / max(np.linalg.norm(want.ravel()), 0.1 * math.sqrt(want.size), 1e-6))


def difference(got: np.ndarray, want: np.ndarray, near: Sequence[np.ndarray], least: float) -> str:
    if got.shape != want.shape:
        return f"expected shape {want.shape}, got {got.shape}"
    if not np.isfinite([want, *near]).all() or np.abs(want).max(initial=0) > MOST:
        return ""
    error, room = distance(got, want), max(least, 4 * max(distance(each, want) for each in near))
    return "" if error <= room else f"error {error:.1e}, at most {room:.1e} allowed"


def run(backend: backends.WeftBackend, bundle: pathlib.Path, feeds: list[dict]) -> list[list[np.ndarray]]:
    session = backend.session(bundle)
    return [backend.outputs(session, each) for each in feeds]


def check(seed: int, build: pathlib.Path, targets: Sequence[str], keep: pathlib.Path | None, folder: pathlib.Path) -> list[str]:
    """What is wrong, a line each."""
    graph = run_extents.draw(seed, SymbolicGraph)
    made = Model(graph, seed)
    runs, model = made.runs(), made.model(graph.dtype)
    onnx.save(model, folder / "model.onnx")
    feeds = [made.feeds(extents, seed) for extents in runs]
    wide = [{name: value.astype(np.float32) for name, value in each.items()} for each in feeds]
    want, *near = (by_onnxruntime(made.model(onnx.TensorProto.FLOAT, noise), wide) for noise in (None, *map(random.Random, range(1, 1 + NEAR))))
    found = []
    for target in targets:
        backend = backends.WeftBackend(build, target, "cpu" if target == "cpu" else f"emu:{target}")
        compiled = backend.compile(folder / "model.onnx", folder / f"{target}.weft", extra=["--quiet"], timeout=SECONDS)
        if compiled.code:
            found.append(f"{target}: compile {compiled.code}: {compiled.stderr.strip()[:400]}")
            continue
        done = limits.isolated(lambda: run(backend, folder / f"{target}.weft", feeds), timeout=SECONDS)
        if done.value is None:
            found.append(f"{target}: {done.error or ('hang' if done.timed_out else f'signal {done.signal}')}"[:400])
            continue
        for extents, got, right, *beside in zip(runs, done.value, want, *near):
            found += [f"{target} {extents}: {port.name}: {text}" for port, value, exact, *changed in zip(model.graph.output, got, right, *beside)
                      if (text := difference(value, exact, changed, WITHIN[graph.dtype]))]
    if found and keep:
        keep.mkdir(parents=True, exist_ok=True)
        onnx.save(model, keep / f"symbolic-{seed}.onnx")
    return [f"--only={seed}: {text}" for text in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="cpu,sm_80,sm_90a")
    parser.add_argument("--seed", type=int, help="the first (default: those that only this rotation has)")
    parser.add_argument("--rotation", type=int, help=f"default: {selection.VARIABLE}, or the number of commits")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the models of what is wrong")
    parser.add_argument("--json", type=pathlib.Path, help="write passed, failed, skipped")
    args = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    if args.seed is None:
        args.seed = FIRST_OF_ROTATION + (selection.rotation() if args.rotation is None else args.rotation) * args.count
        print(f"seeds {args.seed}:{args.seed + args.count}", flush=True)
    with tempfile.TemporaryDirectory(prefix="weft-symbolic-") as folder:
        for seed in [args.only] if args.only is not None else range(args.seed, args.seed + args.count):
            found = check(seed, args.build, args.target.split(","), args.keep, pathlib.Path(folder))
            counts["failed" if found else "passed"] += 1
            print("\n".join(found), end="\n" if found else "", flush=True)
    if args.json:
        args.json.write_text(json.dumps(counts) + "\n")
    print(", ".join(f"{number} {word}" for word, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
