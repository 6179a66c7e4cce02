"""Draws graphs of what models do with places rather than numbers, in up to six dimensions: GatherND, ScatterND and ScatterElements with sums, indices
that are computed, running sums, Resize in every mode, reductions over several axes apart, windows of tokens, rolls, sequences turned round, sums
by einsum; between them the ops of table.py. The same seed gives the same graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Callable

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

import table  # noqa: F401  (fills OPS)
from case import F16, F32, F64, FLOATS, I32, I64, OPSET, Case, is_float
from generate import OPS, Builder
from table import REDUCE

TYPES = (F32, F16, F64, I32, I64)
# What chooses places, and its weight.
STEPS: list[tuple[Callable[[Builder], object], float]] = []


def step(weight: float):
    def register(function):
        STEPS.append((function, weight))
        return function
    return register


class IndexBuilder(Builder):
    most_elements = 8192

    def __init__(self, seed: int):
        super().__init__(seed)
        self.case.ordinary = True
        self.base = [self.rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17]) for _ in range(6)]
        self.dtype = self.rng.choices([F32, F16, F64, I32, I64], [8, 4, 1, 2, 2])[0]

    def shape(self) -> tuple[int, ...]:
        dims = self.base[6 - self.rng.choice([1, 2, 3, 3, 4, 4, 5, 6]):]
        while np.prod(dims, dtype=int) > self.most_elements // 4:
            dims[self.rng.randrange(len(dims))] = self.rng.choice([1, 2])
        return tuple(dims)

    def indices(self, value: np.ndarray) -> str:
        """As a constant, or as an input."""
        if self.rng.random() < 0.4:
            return self.constant(value)
        name = self.name("i")
        self.values[name] = self.case.inputs[name] = value
        return name

    def to_index(self, x: str, extent: int, count: int) -> str | None:
        """Places within `extent`, computed of the first numbers of `x`: flattened, in whole numbers, modulo the extent."""
        flat = self.add("Reshape", [x, self.constant(np.asarray([-1], I64))], lambda p, _: p.reshape(-1), roundings=0)
        ends = [self.constant(np.asarray([n], I64)) for n in (0, count)]
        some = flat and self.add("Slice", [flat[0], *ends], lambda p, *_: p[:count], roundings=0)
        whole = some and self.add("Cast", some, lambda p: np.trunc(p) if is_float(self.dtype_of(x)) else p, I64, roundings=0, to=onnx.TensorProto.INT64)
        inside = whole and self.add("Mod", [whole[0], self.constant(np.asarray(extent, I64))], np.mod, I64)
        return inside and inside[0]


@step(3)
def gather_nd(b: IndexBuilder):
    if x := b.pick(rank=1):
        shape = b.shape_of(x)
        batch = b.rng.randint(0, min(len(shape) - 1, 2)) if b.rng.random() < 0.4 else 0
        depth = b.rng.randint(1, len(shape) - batch)
        outer = [*shape[:batch], *b.rng.choice([[], [3], [2, 5]])] or [4]
        extents = shape[batch:batch + depth]
        places = np.stack([b.draw.integers(-n, n, outer) for n in extents], -1).astype(I64)

        def collect(p, i):
            rows = np.ogrid[tuple(slice(n) for n in shape[:batch])] if batch else []
            rows = [np.broadcast_to(r.reshape(r.shape + (1,) * (i.ndim - 1 - batch)), i.shape[:-1]) for r in rows]
            return p[(*rows, *(i[..., d] for d in range(depth)))]

        b.add("GatherND", [x, b.indices(places)], collect, roundings=0, batch_dims=batch)


def distinct(b: IndexBuilder, extents: tuple[int, ...], count: int) -> np.ndarray:
    """[count, dims]: no place twice."""
    chosen = b.draw.permutation(int(np.prod(extents)))[:count]
    return np.stack(np.unravel_index(chosen, extents), -1).astype(I64)


REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@step(3)
def scatter_nd(b: IndexBuilder):
    if x := b.pick(rank=1):
        shape = b.shape_of(x)
        depth, kind = b.rng.randint(1, len(shape)), b.rng.choice(["none", "none", "add", "max", "min"])
        count = b.rng.randint(1, 9)
        places = distinct(b, shape[:depth], count) if kind == "none" else np.stack([b.draw.integers(-n, n, count) for n in shape[:depth]], -1).astype(I64)
        updates = b.operand((len(places), *shape[depth:]), b.dtype)

        def write(p, i, u):
            found, at = p.copy(), tuple(i[..., d] for d in range(depth))
            if kind == "none":
                found[at] = u
            else:
                REDUCTIONS[kind].at(found, at, u)
            return found

        def size(p, i, u):
            found = np.abs(p)
            np.add.at(found, tuple(i[..., d] for d in range(depth)), np.abs(u))
            return found

        few = count if kind == "add" and b.dtype == F16 else 0  # It may round after each.
        b.add("ScatterND", [x, b.indices(places), updates], write, roundings=few, sums=size if kind == "add" and is_float(b.dtype) else None, reduction=kind)


@step(2)
def scatter_elements(b: IndexBuilder):
    if b.dtype != F16 and (x := b.pick(rank=1)):
        axis, shape, kind = b.axis(x), b.shape_of(x), b.rng.choice(list(REDUCTIONS))
        part = [b.rng.randint(1, n) for n in shape]
        places = np.asarray(b.draw.integers(-shape[axis], shape[axis], part), I64)

        def write(p, i, u, function=REDUCTIONS[kind]):
            found, grid = p.copy(), list(np.indices(i.shape))
            grid[axis] = i
            function.at(found, tuple(grid), u)
            return found

        def size(p, i, u):
            return write(np.abs(p), i, np.abs(u))

        b.add("ScatterElements", [x, b.indices(places), b.operand(part, b.dtype)], write, roundings=0 if kind in ("max", "min") else 1,
              sums=size if kind in ("add", "mul") and is_float(b.dtype) else None, axis=b.signed(axis, x), reduction=kind)


@step(3)
def computed_gather(b: IndexBuilder):
    """Rows that other values name."""
    source, x = b.pick([F32, F16, I32, I64]), b.pick(rank=1)
    if not source or not x:
        return
    axis, count = b.axis(x), b.rng.randint(1, min(b.values[source].size, 12))
    if name := b.to_index(source, b.shape_of(x)[axis], count):
        b.add("Gather", [x, name], lambda p, i: np.take(p, i, axis=axis), roundings=0, axis=axis)


@step(3)
def running_sum(b: IndexBuilder):
    if b.dtype in (F32, F64, I32, I64) and (x := b.pick(rank=1)):
        axis, exclusive, reverse = b.axis(x), b.rng.random() < 0.4, b.rng.random() < 0.4

        def run(p):
            p = np.flip(p, axis) if reverse else p
            found = np.cumsum(p, axis=axis, dtype=p.dtype)
            if exclusive:
                found = np.roll(found, 1, axis)
                found[(*[slice(None)] * axis, 0)] = 0
            return np.flip(found, axis) if reverse else found

        b.add("CumSum", [x, b.constant(np.asarray(b.signed(axis, x), b.rng.choice([I32, I64])))], lambda p, _: run(p),
              sums=(lambda p, _: run(np.abs(p))) if is_float(b.dtype) else None, exclusive=int(exclusive), reverse=int(reverse))


@step(4)
def reduction_apart(b: IndexBuilder):
    """Over several axes, some of them apart."""
    if b.dtype != F16 and (x := b.pick(rank=3)):
        rank = len(b.shape_of(x))
        axes = sorted(b.rng.sample(range(rank), b.rng.randint(2, rank)))
        kind = b.rng.choice(list(REDUCE) if is_float(b.dtype) else ["ReduceSum", "ReduceMax", "ReduceMin"])
        function, sums = REDUCE[kind]
        keep, at = b.rng.random() < 0.6, tuple(axes)
        found = b.add(kind, [x, b.constant(np.asarray([b.signed(a, x) for a in axes], I64))], lambda p, _: function(p, at, keep),
                      roundings=2 if sums else 0, sums=sums and (lambda p, _: sums(p, at, keep)), keepdims=int(keep))
        if found and keep and b.rng.random() < 0.6:
            b.add("Sub", [x, found[0]], np.subtract)


@step(3)
def middle(b: IndexBuilder):
    """A value without some of the inner dimensions, stretched."""
    if x := b.pick(rank=2):
        shape = [1 if b.rng.random() < 0.5 else n for n in b.shape_of(x)]
        kind, function = b.rng.choice([("Add", np.add), ("Mul", np.multiply), ("Sub", np.subtract)])
        pair = [x, b.operand(shape, b.dtype)]
        b.add(kind, pair if b.rng.random() < 0.5 else pair[::-1], function)


@step(2)
def roll(b: IndexBuilder):
    """Two slices, the other way round."""
    if x := b.pick(rank=1, where=lambda v: max(v.shape) > 1):
        axis = b.rng.choice([i for i, n in enumerate(b.shape_of(x)) if n > 1])
        cut = b.rng.randrange(1, b.shape_of(x)[axis])
        at = b.constant(np.asarray([axis], I64))

        def part(low: int, high: int) -> str | None:
            ends = [b.constant(np.asarray([n], I64)) for n in (low, high)]
            index = (*[slice(None)] * axis, slice(low, high if high < 2**31 else None))
            found = b.add("Slice", [x, *ends, at], lambda p, *_: p[index], roundings=0)
            return found and found[0]

        parts = [part(cut, 2**62), part(0, cut)]
        if all(parts):
            b.add("Concat", parts, lambda *p: np.concatenate(p, axis), roundings=0, axis=axis)


@step(2)
def blocks(b: IndexBuilder):
    """Each of two dimensions cut in blocks, which become an outer dimension."""
    if x := b.pick(where=lambda v: 2 <= v.ndim <= 4):
        *outer, h, w = b.shape_of(x)
        i, j = (b.rng.choice([d for d in range(1, n + 1) if n % d == 0]) for n in (h, w))
        r = len(outer)
        split, order = (*outer, h // i, i, w // j, j), (*range(r), r, r + 2, r + 1, r + 3)
        shape = (*outer, h // i * (w // j), i * j) if b.rng.random() < 0.5 else (*outer, h // i * (w // j), i, j)
        first = b.add("Reshape", [x, b.constant(np.asarray(split, I64))], lambda p, _: p.reshape(split), roundings=0)
        turned = first and b.add("Transpose", first, lambda p: p.transpose(order), roundings=0, perm=list(order))
        if turned:
            b.add("Reshape", [turned[0], b.constant(np.asarray(shape, I64))], lambda p, _: p.reshape(shape), roundings=0)


@step(1)
def reverse_sequence(b: IndexBuilder):
    if x := b.pick(rank=2):
        time = b.rng.choice([0, 1])
        shape = b.shape_of(x)
        lengths = np.asarray(b.draw.integers(0, shape[time] + 1, shape[1 - time]), I64)

        def turn(p, counts):
            found = p.copy()
            for i, n in enumerate(counts):
                at = (slice(0, n), i) if time == 0 else (i, slice(0, n))
                found[at] = np.flip(p[at], 0)
            return found

        b.add("ReverseSequence", [x, b.indices(lengths)], turn, roundings=0, time_axis=time, batch_axis=1 - time)


@step(2)
def einsum(b: IndexBuilder):
    """Letters of one value, some of them summed, with those of another."""
    if b.dtype not in (F32, F64) or not (x := b.pick(where=lambda v: 2 <= v.ndim <= 4)):
        return
    names = "abcd"[:len(b.shape_of(x))]
    extents = dict(zip(names, b.shape_of(x))) | {"e": b.rng.choice([1, 3, 8])}
    other = "".join(n for n in b.rng.sample(names + "e", b.rng.randint(1, len(names) + 1)))
    result = "".join(b.rng.sample((seen := sorted(set(names + other))), b.rng.randint(1, len(seen))))
    text = f"{names},{other}->{result}"
    y = b.operand([extents[n] for n in other], b.dtype)
    b.add("Einsum", [x, y], lambda p, q: np.einsum(text, p, q), sums=lambda p, q: np.einsum(text, np.abs(p), np.abs(q)), equation=text)


def by_onnx(kind: str, attributes: dict, count: int) -> Callable:
    """What ONNX's reference makes of the node."""
    names = [f"x{i}" if i not in attributes.get("_left_out", ()) else "" for i in range(count)]
    shown = {key: value for key, value in attributes.items() if not key.startswith("_")}
    node = onnx.helper.make_node(kind, names, ["y"], **shown)
    graph = onnx.helper.make_graph([node], "one", [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, None) for n in names if n],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)])
    evaluator = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10))
    given = [name for name in names if name]
    return lambda *operands: evaluator.run(None, dict(zip(given, operands)))[0]


COORDINATES = ("half_pixel", "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")


@step(4)
def resize(b: IndexBuilder):
    """Every mode; by factors that f32 has, as the places of f32 and f64 are the same then."""
    if b.dtype not in (F32, F16) or not (x := b.pick(where=lambda v: 1 <= v.ndim <= 5 and v.size <= 1500)):
        return
    shape = b.shape_of(x)
    mode, coordinates = b.rng.choice(["nearest", "nearest", "linear", "linear", "cubic"]), b.rng.choice(COORDINATES)
    axes = sorted(b.rng.sample(range(len(shape)), b.rng.randint(1, min(2, len(shape)))))
    factors = [b.rng.choice([0.5, 1, 2, 2, 3, 4, 1.5]) for _ in axes]
    sizes = [int(shape[a] * f) for a, f in zip(axes, factors)]
    if min(sizes) < 1 or (mode == "nearest" and coordinates in ("align_corners",) and any((n - 1) % max(m - 1, 1) for n, m in zip((shape[a] for a in axes), sizes))):
        return
    attributes = dict(mode=mode, coordinate_transformation_mode=coordinates, axes=axes)
    if mode == "nearest":
        attributes["nearest_mode"] = b.rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    elif b.rng.random() < 0.25:
        attributes["antialias"] = 1
    if mode == "cubic":
        attributes |= dict(cubic_coeff_a=b.rng.choice([-0.75, -0.5]), exclude_outside=b.rng.choice([0, 0, 1]))
    if b.rng.random() < 0.5 and all(shape[a] * f == n for a, f, n in zip(axes, factors, sizes)):
        operands, left_out = [x, "", b.constant(np.asarray(factors, F32))], (1,)
    else:
        operands, left_out = [x, "", "", b.constant(np.asarray(sizes, I64))], (1, 2)
    evaluate = by_onnx("Resize", attributes | {"_left_out": left_out}, len(operands))
    try:
        evaluate(np.ones(shape), *(b.values[n] for n in operands[1:] if n))
    except Exception:  # ONNX's reference has not all combinations.
        return
    b.add("Resize", operands, evaluate, roundings=0 if mode == "nearest" else 4,
          sums=None if mode == "nearest" else (lambda p, *_: np.full(evaluate(p, *_).shape, 16 * np.abs(p).max())), **attributes)


@step(1)
def space_to_depth(b: IndexBuilder):
    if x := b.pick(where=lambda v: v.ndim == 4):
        n, c, h, w = b.shape_of(x)
        kind, attributes = b.rng.choice([("SpaceToDepth", {}), ("DepthToSpace", {"mode": "CRD"}), ("DepthToSpace", {"mode": "DCR"})])
        if (kind == "SpaceToDepth" and (h % 2 or w % 2)) or (kind == "DepthToSpace" and c % 4):
            return

        def move(p):
            if kind == "SpaceToDepth":
                return p.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(n, c * 4, h // 2, w // 2)
            if attributes["mode"] == "CRD":
                return p.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, h * 2, w * 2)
            return p.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, h * 2, w * 2)

        b.add(kind, [x], move, roundings=0, blocksize=2, **attributes)


def generate(seed: int) -> Case:
    """The graph of this seed, of some 3 to 10 ops."""
    b = IndexBuilder(seed)
    for _ in range(b.rng.randint(1, 2)):
        b.input(b.shape(), b.dtype)
    wanted = b.rng.randint(3, 8)
    for _ in range(20 * wanted):
        if len(b.case.nodes) >= wanted:
            break
        functions, weights = zip(*(STEPS if b.rng.random() < 0.6 and b.dtype in TYPES else OPS))
        b.rng.choices(functions, weights)[0](b)
    return b.finish()
