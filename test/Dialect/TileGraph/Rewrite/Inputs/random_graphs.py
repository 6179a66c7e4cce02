"""Random graphs of elementwise ops and views: --weft-simplify and --weft-normalize must not change one bit of their results.

    random_graphs.py [first seed] [number of graphs]
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes  # noqa: F401
import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8, "ui8": np.uint8, "i1": np.bool_}
FLOATS, INTS = ["f64", "f32", "f16"], ["i32", "i8", "ui8"]
SHAPES = [(), (4,), (1, 4), (3, 4), (2, 1, 4), (2, 3, 4)]
FLOAT_CONSTANTS = ["0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "-4.0", "3.0"]
UNARY = {"float": ["neg", "abs", "sign", "exp", "sqrt", "reciprocal", "floor", "tanh"], "int": ["neg", "abs", "sign", "not"], "i1": ["not"]}
BINARY = {"float": ["add", "sub", "mul", "div", "max", "min", "pow", "mod"],
          "int": ["add", "sub", "mul", "div", "max", "min", "pow", "and", "or", "xor", "shl", "shr"], "i1": ["and", "or", "xor"]}


def text(shape, element):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


def family(element):
    return "float" if element in FLOATS else "i1" if element == "i1" else "int"


class Graph:
    """Values are (name, shape, element)."""

    def __init__(self, rng):
        self.rng, self.lines, self.values = rng, [], []

    def add(self, op, shape, element):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {op}")
        self.values.append((name, shape, element))
        return self.values[-1]

    def constant(self, element):
        shape = self.rng.choice(SHAPES[:4])
        if element in FLOATS:
            value = self.rng.choice(FLOAT_CONSTANTS)
        else:
            value = self.rng.choice(["true", "false"] if element == "i1" else ["0", "1", "2", "3", "7"])
        return self.add(f"tg.constant dense<{value}> : {text(shape, element)}", shape, element)

    def pick(self, element=None):
        wanted = [v for v in self.values if element is None or v[2] == element]
        if element is not None and (not wanted or self.rng.random() < 0.4):
            return self.constant(element)
        return self.rng.choice(wanted[-12:])

    def unary(self):
        x, shape, element = self.pick()
        self.add(f"tg.{self.rng.choice(UNARY[family(element)])} {x} : {text(shape, element)}", shape, element)

    def binary(self):
        x = self.pick()
        y = self.pick(x[2]) if self.rng.random() < 0.9 else x
        if self.rng.random() < 0.5:
            x, y = y, x
        shape = np.broadcast_shapes(x[1], y[1])
        self.add(f"tg.{self.rng.choice(BINARY[family(x[2])])} {x[0]}, {y[0]} : {text(*x[1:])}, {text(*y[1:])}", shape, x[2])

    def compare(self):
        x = self.pick()
        y = self.pick(x[2])
        predicate = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        self.add(f"tg.cmp {predicate} {x[0]}, {y[0]} : {text(*x[1:])}, {text(*y[1:])}", np.broadcast_shapes(x[1], y[1]), "i1")

    def select(self):
        c, x = self.pick("i1"), self.pick()
        y = self.pick(x[2]) if self.rng.random() < 0.8 else x
        self.add(f"tg.select {c[0]}, {x[0]}, {y[0]} : {text(*c[1:])}, {text(*x[1:])}, {text(*y[1:])}",
                 np.broadcast_shapes(c[1], x[1], y[1]), x[2])

    def cast(self):
        x, shape, element = self.pick()
        for _ in range(self.rng.randint(1, 3)):
            target = self.rng.choice(FLOATS + INTS + ["i1", "bf16", "i64"])
            name = f"%v{len(self.lines)}"
            self.lines.append(f"{name} = tg.cast {x} : {text(shape, element)} to {text(shape, target)}")
            x, element = name, target
        if element in DTYPES:
            self.values.append((x, shape, element))

    def view(self):
        x, shape, element = self.pick()
        kind = self.rng.choice(["transpose", "reshape", "broadcast", "slice", "concat", "reduce"])
        if kind == "transpose":
            permutation = self.rng.sample(range(len(shape)), len(shape))
            self.add(f"tg.transpose {x} {permutation} : {text(shape, element)}", tuple(shape[p] for p in permutation), element)
        elif kind == "reshape":
            to = self.rng.choice([(1, *shape), (int(np.prod(shape, dtype=int)),), tuple(n for n in shape if n != 1)])
            self.add(f"tg.reshape {x} : {text(shape, element)} to {text(to, element)}", to, element)
        elif kind == "broadcast":
            to = tuple(3 if n == 1 and self.rng.random() < 0.5 else n for n in shape)
            to = (self.rng.choice([1, 2]), *to) if len(to) < 3 else to
            self.add(f"tg.broadcast {x} : {text(shape, element)} to {text(to, element)}", to, element)
        elif kind == "slice" and all(shape):
            strides = [self.rng.choice([1, 1, 2, -1]) for _ in shape]
            offsets = [n - 1 if s < 0 else self.rng.randrange(n) for n, s in zip(shape, strides)]
            to = tuple(n if s < 0 else (n - o - 1) // s + 1 for n, s, o in zip(shape, strides, offsets))
            self.add(f"tg.slice {x} offsets = {offsets} strides = {strides} : {text(shape, element)} to {text(to, element)}", to, element)
        elif kind == "concat" and shape:
            axis = self.rng.randrange(len(shape))
            to = tuple(2 * n if d == axis else n for d, n in enumerate(shape))
            if np.prod(to) < 200:
                self.add(f"tg.concat {x}, {x} axis = {axis} : {text(shape, element)}, {text(shape, element)}", to, element)
        elif kind == "reduce" and shape and family(element) != "i1":
            axis = self.rng.randrange(len(shape))
            to = tuple(n for d, n in enumerate(shape) if d != axis)
            self.add(f"tg.reduce {self.rng.choice(['add', 'mul', 'max', 'min'])} {x} axes = [{axis}] : {text(shape, element)}", to, element)


def build(seed):
    rng = random.Random(seed)
    graph = Graph(rng)
    inputs = []
    for i in range(4):
        shape, element = rng.choice(SHAPES), rng.choice(list(DTYPES))
        inputs.append((f"%x{i}", shape, element))
    graph.values = list(inputs)
    for _ in range(40):
        try:
            rng.choice([graph.unary, graph.binary, graph.binary, graph.cast, graph.select, graph.compare, graph.view, graph.view])()
        except ValueError:
            continue  # The shapes that were drawn do not broadcast.
    results = rng.sample(graph.values, min(8, len(graph.values))) + graph.values[-2:]
    types = ", ".join(text(*v[1:]) for v in results)
    body = "\n".join(graph.lines)
    arguments = ", ".join(f"{v[0]}: {text(*v[1:])}" for v in inputs)
    module = f"func.func @main({arguments}) -> ({types}) {{\n{body}\nreturn {', '.join(v[0] for v in results)} : {types}\n}}\n"
    draw = np.random.default_rng(seed)
    arrays = []
    for _, shape, element in inputs:
        if element in FLOATS:
            array = np.asarray(draw.choice([0.0, -0.0, 1.0, -1.5, 0.3, 7.0, np.inf, -np.inf, np.nan, 1e-3, -300.0], shape))
        else:
            array = np.asarray(draw.integers(0, 2 if element == "i1" else 256, shape))
        arrays.append(array.astype(DTYPES[element]))
    return module, arrays, len(results)


def evaluate(module, arrays, count, folder):
    paths = []
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        paths += ["--input", str(folder / f"in{i}.npy")]
    done = subprocess.run(["weft-reference", "-", "--output", str(folder), *paths], input=module, text=True, capture_output=True, timeout=120)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\n{module}")
    return [np.load(folder / f"output_{i}.npy") for i in range(count)]


def same(a, b):
    """Equal bits, but for which NaN a NaN is."""
    if a.dtype.kind == "f":
        nan = np.isnan(a)
        return np.array_equal(nan, np.isnan(b)) and a[~nan].tobytes() == b[~nan].tobytes()
    return a.tobytes() == b.tobytes()


first, number = int(sys.argv[1]) if len(sys.argv) > 1 else 0, int(sys.argv[2]) if len(sys.argv) > 2 else 25
for seed in range(first, first + number):
    module, arrays, count = build(seed)
    with tempfile.TemporaryDirectory() as name:
        want = evaluate(module, arrays, count, Path(name))
        for flag in ("--weft-simplify", "--weft-normalize"):
            done = subprocess.run(["weft-opt", "-", flag], input=module, text=True, capture_output=True, timeout=120)
            if done.returncode:
                raise SystemExit(f"seed {seed} {flag}: {done.stderr}\n{module}")
            got = evaluate(done.stdout, arrays, count, Path(name))
            for i, (a, b) in enumerate(zip(want, got)):
                if not same(a, b):
                    raise SystemExit(f"seed {seed} {flag}: result {i} is {b}, expected {a}\n{module}\n{done.stdout}")
print(f"{number} graphs: results unchanged")
