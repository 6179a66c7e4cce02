#!/usr/bin/env python3
"""Whether plans tell dimensions apart by what ops do with them, not by how long they are.

    run_extents.py [--build=build] [--target=cpu,sm_90a] [--seed=N] [--count=M] [--only=SEED] [--show]

A random graph has named dimensions (attention, norms, products with epilogues, reductions, chains, windows, views between them). It is planned with all names of
one extent, and with each name of another: kernels, their ops, their domains and the maps into them must be the same up to the numbers. Each is planned with three choices
of numbers, since costs depend on them: that one of the plans is both a plan of equal extents and one of different ones is what is asked for. The extents are
multiples of 8 and no powers of two.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import math
import pathlib
import random
import re
import sys
import tempfile
from typing import Callable, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "test")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

from harness import limits  # noqa: E402

SECONDS = 60
EQUAL = (96, 104, 120)
DIFFERENT = [n for n in range(72, 1024, 8) if n not in EQUAL and n.bit_count() > 1]


@dataclasses.dataclass(frozen=True)
class Dim:
    """A product of names and a number, or a sum of such."""

    names: tuple[str, ...]
    times: int = 1
    plus: "Dim | None" = None

    def extent(self, extents: dict[str, int]) -> int:
        return self.times * math.prod(extents[name] for name in self.names) + (self.plus.extent(extents) if self.plus else 0)

    @property
    def is_name(self) -> bool:
        return len(self.names) == 1 and self.times == 1 and not self.plus


Dims = tuple[Dim, ...]
Extents = dict[str, int]


class Graph:
    """Nodes whose shapes are functions of the extents."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dtype = self.rng.choice([onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT])
        self.names: list[str] = []
        self.inputs: dict[str, Dims] = {}
        self.values: dict[str, Dims] = {}
        self.closed: set[str] = set()  # Values that no further op reads.
        self.factors: set[str] = set()  # Values that products by weights read.
        self.constants: dict[str, Callable[[Extents], np.ndarray]] = {}
        self.nodes: list[tuple[str, list[str], str, Callable[[Extents], dict]]] = []

    def dim(self, times: int = 1) -> Dim:
        self.names.append(f"n{len(self.names)}")
        return Dim((self.names[-1],), times)

    def input(self, *dims: Dim) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values[name] = dims
        return name

    def constant(self, value: Callable[[Extents], np.ndarray]) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def scalar(self, value: float) -> str:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(self.dtype)
        return self.constant(lambda _: np.array(value, dtype))

    def add(self, op: str, inputs: Sequence[str], dims: Dims, make: Callable[[Extents], dict] | None = None, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append((op, list(inputs), name, make or (lambda _: attributes)))
        self.values[name] = tuple(dims)
        return name

    def reshape(self, value: str, *dims: Dim) -> str:
        return self.add("Reshape", [value, self.constant(lambda e: np.array([d.extent(e) for d in dims], np.int64))], dims)

    def transpose(self, value: str, *permutation: int) -> str:
        return self.add("Transpose", [value], tuple(self.values[value][d] for d in permutation), perm=list(permutation))

    def slice(self, value: str, axis: int, begin: Dim | None, dim: Dim) -> str:
        def start(extents: Extents) -> int:
            return begin.extent(extents) if begin else 0

        bounds = [self.constant(lambda e: np.array([start(e)], np.int64)), self.constant(lambda e: np.array([start(e) + dim.extent(e)], np.int64)),
                  self.constant(lambda _: np.array([axis], np.int64))]
        dims = list(self.values[value])
        dims[axis] = dim
        return self.add("Slice", [value, *bounds], tuple(dims))

    def pick(self, least: int = 1, most: int = 4) -> str:
        """One of the later values, or a new input."""
        found = [name for name, dims in self.values.items() if least <= len(dims) <= most and name not in self.closed]
        if not found or self.rng.random() < 0.1:
            return self.input(*(self.dim() for _ in range(self.rng.randint(max(least, 2), max(least, min(most, 3))))))
        return self.rng.choice(found[-4:])

    def model(self, extents: Extents) -> onnx.ModelProto:
        make = onnx.helper
        used = {name for _, inputs, _, _ in self.nodes for name in inputs}

        def info(name: str) -> onnx.ValueInfoProto:
            return make.make_tensor_value_info(name, self.dtype, [dim.extent(extents) for dim in self.values[name]])

        nodes = [make.make_node(op, inputs, [name], **attributes(extents)) for op, inputs, name, attributes in self.nodes]
        graph = make.make_graph(nodes, "extents", [info(name) for name in self.inputs if name in used],
                                [info(name) for _, _, name, _ in self.nodes if name not in used],
                                [onnx.numpy_helper.from_array(value(extents), name) for name, value in self.constants.items()])
        return make.make_model(graph, opset_imports=[make.make_opsetid("", 23)], ir_version=10)


OPS: list[tuple[int, Callable[[Graph], object]]] = []


def op(weight: int):
    def register(function):
        OPS.append((weight, function))
        return function

    return register


@op(3)
def unary(g: Graph):
    x = g.pick()
    return g.add(g.rng.choice(["Tanh", "Sigmoid", "Exp", "Relu", "Sqrt"]), [x], g.values[x])


@op(4)
def binary(g: Graph):
    """With a value of the same dimensions in any order, or with an input that lacks some of them."""
    x = g.pick()
    dims = g.values[x]
    kind = g.rng.choice(["Add", "Mul", "Sub", "Max"])
    others = [(name, order) for name, theirs in g.values.items() if name != x and name not in g.closed and (order := order_of(theirs, dims))]
    if others and g.rng.random() < 0.6:
        y, order = g.rng.choice(others)
        y = y if list(order) == sorted(order) else g.transpose(y, *order)
    elif g.rng.random() < 0.4:
        y = g.input(dims[-1])
    else:
        one = Dim((), 1)
        y = g.input(*(dim if g.rng.random() < 0.7 else one for dim in dims))
    return g.add(kind, [x, y], dims)


def order_of(theirs: Dims, dims: Dims) -> list[int]:
    """How to transpose `theirs` to `dims`; empty if they are others."""
    if len(theirs) != len(dims) or len(set(dims)) != len(dims) or set(theirs) != set(dims):
        return []
    return [theirs.index(dim) for dim in dims]


def pick_factor(g: Graph) -> str:
    """A value that no product has read: whether products of one operand go in step is a question of how many tiles they have, so of extents."""
    x = g.pick(least=2, most=3)
    if x in g.factors:
        x = g.input(*(g.dim() for _ in range(2)))
    g.factors.add(x)
    return x


@op(4)
def product(g: Graph):
    x = pick_factor(g)
    out = g.add("MatMul", [x, g.input(g.values[x][-1], n := g.dim())], (*g.values[x][:-1], n))
    if g.rng.random() < 0.5:
        out = g.add("Add", [out, g.input(n)], g.values[out])
    return out


@op(2)
def side_by_side(g: Graph):
    """Products of one operand and as many columns: they meet, or each has a result."""
    x, n = pick_factor(g), g.dim()
    gate, up = (g.add("MatMul", [x, g.input(g.values[x][-1], n)], (*g.values[x][:-1], n)) for _ in range(2))
    if g.rng.random() < 0.7:
        g.add("Mul", [g.add("Sigmoid", [gate], g.values[gate]), up], g.values[up])


@op(2)
def between_values(g: Graph):
    """x y or x y^T, of two values that share a dimension, or with an input."""
    x = g.pick(least=2, most=3)
    *batch, m, k = g.values[x]
    others = [name for name, dims in g.values.items() if name != x and len(dims) == len(g.values[x]) and list(dims[:-2]) == batch and dims[-1] == k]
    y = g.rng.choice(others) if others else g.input(*batch, g.dim(), k)
    rank = len(batch) + 2
    turned = g.transpose(y, *range(rank - 2), rank - 1, rank - 2)
    return g.add("MatMul", [x, turned], (*batch, m, g.values[y][-2]))


@op(2)
def softmax(g: Graph):
    x = g.pick()
    return g.add("Softmax", [x], g.values[x], axis=g.rng.choice([-1, -1, g.rng.randrange(len(g.values[x]))]))


@op(3)
def reduction(g: Graph):
    x = g.pick(least=2)
    dims = list(g.values[x])
    axis, keeps = g.rng.randrange(len(dims)), g.rng.random() < 0.5
    kind = g.rng.choice(["ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2"])
    left = [*dims[:axis], *([Dim((), 1)] if keeps else []), *dims[axis + 1:]]
    r = g.add(kind, [x, g.constant(lambda _: np.array([axis], np.int64))], tuple(left), keepdims=int(keeps))
    if keeps and g.rng.random() < 0.7:
        g.add(g.rng.choice(["Div", "Sub", "Mul"]), [x, r], tuple(dims))
        g.closed.add(r)
    elif keeps:
        g.closed.add(r)


@op(3)
def norm(g: Graph):
    x = g.pick(least=2)
    *_, last = dims = g.values[x]
    if g.rng.random() < 0.5:
        y = g.add("LayerNormalization", [x, g.input(last), g.input(last)], dims, axis=-1)
    else:
        y = g.add("RMSNormalization", [x, g.input(last)], dims, axis=-1)
    if g.rng.random() < 0.5:
        g.add("Add", [y, x], dims)


@op(2)
def view(g: Graph):
    x = g.pick(least=2)
    permutation = list(range(len(g.values[x])))
    g.rng.shuffle(permutation)
    return g.transpose(x, *permutation)


@op(2)
def merge_or_split(g: Graph):
    x = g.pick(least=2)
    dims = g.values[x]
    for d, dim in enumerate(dims):
        if len(dim.names) > 1 and dim.times == 1 and not dim.plus and len(dims) < 4:
            return g.reshape(x, *dims[:d], Dim(dim.names[:1]), Dim(dim.names[1:]), *dims[d + 1:])
    d = g.rng.randrange(len(dims) - 1)
    if all(dim.is_name for dim in dims[d:d + 2]):
        return g.reshape(x, *dims[:d], Dim((*dims[d].names, *dims[d + 1].names)), *dims[d + 2:])


@op(2)
def halves(g: Graph):
    """A product of twice as many columns, of which one half gates the other."""
    x, n = pick_factor(g), g.dim()
    both = g.add("MatMul", [x, g.input(g.values[x][-1], dataclasses.replace(n, times=2))], (*g.values[x][:-1], dataclasses.replace(n, times=2)))
    axis = len(g.values[x]) - 1
    left, right = g.slice(both, axis, None, n), g.slice(both, axis, n, n)
    g.closed.add(both)
    g.add("Mul", [g.add("Sigmoid", [left], g.values[left]), right], g.values[left])


@op(1)
def concat(g: Graph):
    x = g.pick(least=2, most=3)
    dims = list(g.values[x])
    axis = g.rng.randrange(len(dims))
    if dims[axis].plus:
        return
    fresh = g.dim()
    y = g.input(*dims[:axis], fresh, *dims[axis + 1:])
    dims[axis] = dataclasses.replace(dims[axis], plus=fresh)
    g.add("Concat", [x, y] if g.rng.random() < 0.5 else [y, x], tuple(dims), axis=axis)


@op(2)
def attention(g: Graph):
    """Of projected tokens: to themselves or to others, heads in one product or in as many dimensions."""
    x = g.pick(least=3, most=3)
    if x in g.factors:
        x = g.input(*(g.dim() for _ in range(3)))
    b, s, e = g.values[x]
    other = x if g.rng.random() < 0.5 else g.input(b, g.dim(), g.dim())
    g.factors.update([x, other])
    t = g.values[other][1]
    h, d = g.dim(), g.dim()
    width = Dim((*h.names, *d.names))

    def heads(value: str, length: Dim, *order: int) -> str:
        wide = g.add("MatMul", [value, g.input(g.values[value][-1], width)], (b, length, width))
        return g.transpose(g.reshape(wide, b, length, h, d), *order)

    q, k, v = heads(x, s, 0, 2, 1, 3), heads(other, t, 0, 2, 3, 1), heads(other, t, 0, 2, 1, 3)
    scores = g.add("Mul", [g.add("MatMul", [q, k], (b, h, s, t)), g.scalar(0.125)], (b, h, s, t))
    if g.rng.random() < 0.4:
        scores = g.add("Add", [scores, g.input(*(g.rng.choice([(h, s, t), (s, t), (b, Dim((), 1), s, t)])))], (b, h, s, t))
    read = g.add("MatMul", [g.add("Softmax", [scores], (b, h, s, t), axis=-1), v], (b, h, s, d))
    joined = g.reshape(g.transpose(read, 0, 2, 1, 3), b, s, width)
    g.closed.update(name for name, dims in g.values.items() if len(dims) == 4)
    g.add("MatMul", [joined, g.input(width, e)], (b, s, e))


@op(2)
def convolution(g: Graph):
    x = g.pick(least=4)
    n, c, height, width = g.values[x]
    size, out = g.rng.choice([1, 3]), g.dim()
    kernel = g.input(out, c, Dim((), size), Dim((), size))
    g.closed.add(kernel)
    y = g.add("Conv", [x, kernel], (n, out, height, width), pads=[size // 2] * 4)
    if g.rng.random() < 0.5:
        g.add("Relu", [y], g.values[y])


def draw(seed: int, kind: type[Graph] = Graph) -> Graph:
    graph = kind(seed)
    graph.input(*(graph.dim() for _ in range(graph.rng.choice([2, 3, 3, 4]))))
    count = graph.rng.randint(1, 6)
    while len(graph.nodes) < count:
        graph.rng.choices([function for _, function in OPS], [weight for weight, _ in OPS])[0](graph)
    return graph


def choices_of(graph: Graph, seed: int) -> tuple[list[Extents], list[Extents]]:
    """Extents by name: of equal ones and of different ones."""
    rng = random.Random(seed)
    different = []
    for _ in EQUAL:
        some = DIFFERENT[:len(graph.names)]
        rng.shuffle(some)
        different.append(dict(zip(graph.names, some)))
    return [dict.fromkeys(graph.names, n) for n in EQUAL], different


def plan_of(compiler: pathlib.Path, model: onnx.ModelProto, target: str, folder: pathlib.Path) -> str:
    onnx.save(model, folder / "model.onnx")
    outcome = limits.run([compiler, folder / "model.onnx", f"--target={target}", "--emit=mlir:group", "-o", folder / "plan.mlir"], timeout=SECONDS)
    if outcome.code:
        raise SystemExit(f"{target}: {(outcome.stdout + outcome.stderr).strip()[:600]}")
    return without_extents((folder / "plan.mlir").read_text())


def without_extents(text: str) -> str:
    """The plan without its numbers: maps in place of their names, constants and ramps where they are used (equal ones are one value), values numbered anew."""
    maps = dict(re.findall(r"^(#\w+) = affine_map<(.*)>$", text, re.MULTILINE))
    lines, names, outer, inner = [], {}, 0, 0
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        line = re.sub(r"#\w+\b", lambda m: f"<{maps[m[0]]}>" if m[0] in maps else m[0], line)
        line = re.sub(r"tensor<((?:\d+x)*)([a-z]\w*)>", lambda m: "tensor<" + re.sub(r"\d{2,}", "N", m[1]) + m[2] + ">", line)
        line = re.sub(r"(?<![%\w])\d{2,}\b", "N", line)
        made, equals, rest = line.partition(" = ") if re.match(r"\s*%", line) else ("", "", "")
        rest = re.sub(r"%\w+", lambda m: names.get(m[0], m[0]), rest if equals else line)
        if found := re.match(r"tg\.(constant|iota)\b", rest):
            names[made.strip()] = found[1]
            continue
        if equals:
            value, colon, count = made.strip().partition(":")
            is_outer = made.startswith("    %")
            outer, inner = (outer + 1, 0) if is_outer else (outer, inner + 1)
            names[value] = f"%v{outer}" if is_outer else f"%k{inner}"
            rest = f"{made[:len(made) - len(made.lstrip())]}{names[value]}{colon}{count} = {rest}"
        lines.append(rest)
    return "\n".join(lines)


def check(compiler: pathlib.Path, seed: int, target: str, folder: pathlib.Path) -> str:
    """How the plans differ: empty where they do not."""
    graph = draw(seed)
    equal, different = ([plan_of(compiler, graph.model(extents), target, folder) for extents in some] for some in choices_of(graph, seed))
    if set(equal) & set(different):
        return ""
    return "\n".join(difflib.unified_diff(equal[0].splitlines(), different[0].splitlines(), "equal", "different", lineterm="", n=2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="cpu,sm_90a")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--only", type=int)
    parser.add_argument("--save", type=pathlib.Path, help="write the graphs of --only there")
    parser.add_argument("--json", type=pathlib.Path, help="write passed, failed, skipped")
    args = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    seeds = [args.only] if args.only is not None else range(args.seed, args.seed + args.count)
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            for target in args.target.split(","):
                difference = check(args.build / "bin" / "weft-compile", seed, target, pathlib.Path(folder))
                counts["failed" if difference else "passed"] += 1
                if difference:
                    print(f"--only={seed} --target={target}: plans of equal and of different extents differ\n{difference}\n")
    if args.save and args.only is not None:
        graph = draw(args.only)
        for name, some in zip(("equal", "different"), choices_of(graph, args.only)):
            onnx.save(graph.model(some[0]), args.save / f"{name}.onnx")
    if args.json:
        args.json.write_text(json.dumps(counts) + "\n")
    print(", ".join(f"{number} {word}" for word, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
