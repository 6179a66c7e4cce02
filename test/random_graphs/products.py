"""Draws products and what models put before and behind them: extents around tiles, primes, long sums of few rows, batches, operands that are transposed,
cut out of others or side by side; biases, activations, residuals, gates, norms before and behind, softmax and sums of rows, chains of two. And rows
by themselves: norms, softmax, reductions along any axis, of lengths around a block's and many times that. The same seed gives the same graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math
from typing import Callable

import numpy as np

from attention import absolute, softmax
from case import BF16, EPSILON, F16, F32, I64, Case
from composites import _normal, _normal_room
from generate import Builder
from table import REDUCE, unary_node

# A case takes some tenths of a second in the emulator.
MOST_PRODUCTS, MOST_ROWS = 5_000_000, 60_000
EDGES = (1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 40, 48, 63, 64, 65, 96, 100, 127, 128, 129, 136, 192, 193, 250, 256, 257, 264)
DEEP = (512, 777, 1000, 1024, 1031, 2048, 2056, 4096, 5000)
LONG = (1, 3, 8, 31, 32, 33, 100, 255, 256, 257, 511, 1000, 1023, 1024, 1025, 1031, 2048, 2049, 4093, 4096, 5000, 8192, 8193, 16384, 20011, 32768, 40007)
ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "Gelu", "HardSwish", "LeakyRelu", "Erf", "Softplus")


class ProductBuilder(Builder):
    most_elements = 1 << 18

    def __init__(self, seed: int):
        super().__init__(seed)
        self.case.ordinary = True
        self.dtype = self.rng.choices([F16, BF16, F32], [4, 4, 2])[0]
        if self.dtype != F32:
            self.case.runs = 32
        self.further: list[str] = []

    def step(self, *arguments, **options) -> str | None:
        names = self.add(*arguments, **options)
        return names and names[0]

    def weights(self, shape: tuple[int, ...], terms: int = 1) -> str:
        value = (self.draw.standard_normal(shape) / math.sqrt(terms)).astype(self.dtype)
        if self.rng.random() < 0.5:
            return self.constant(value)
        name = self.name("x")
        self.values[name] = self.case.inputs[name] = value
        return name


def draw_sizes(b: ProductBuilder) -> tuple[int, int, int]:
    """Rows, columns, places of the sum."""
    rows, columns = b.rng.choice(EDGES), b.rng.choice(EDGES)
    depth = b.rng.choice(DEEP if b.rng.random() < 0.3 else EDGES)
    while rows * columns * depth > MOST_PRODUCTS:
        if b.rng.random() < 0.5:
            rows = max(1, rows * 2 // 3)
        else:
            columns = max(1, columns * 2 // 3)
    return rows, columns, depth


def turned(b: ProductBuilder, x: str) -> str | None:
    order = [*range(len(b.shape_of(x)) - 2), len(b.shape_of(x)) - 1, len(b.shape_of(x)) - 2]
    return b.step("Transpose", [x], lambda p: p.transpose(order), roundings=0, perm=order)


def cut(b: ProductBuilder, shape: tuple[int, ...]) -> str | None:
    """A part of a larger input, along the last axis or another."""
    axis = b.rng.choice([len(shape) - 1, len(shape) - 1, b.rng.randrange(len(shape))])
    low = b.rng.choice([0, 1, 8, 64])
    wide = [n + low + b.rng.choice([0, 0, 1, 8]) if i == axis else n for i, n in enumerate(shape)]
    ends = [b.constant(np.asarray([n], I64)) for n in (low, low + shape[axis], axis)]
    index = (*[slice(None)] * axis, slice(low, low + shape[axis]))
    return b.step("Slice", [b.input(wide, b.dtype), *ends], lambda p, *_: p[index], roundings=0)


def first_operand(b: ProductBuilder, shape: tuple[int, ...]) -> str | None:
    kind = b.rng.choice(["plain", "plain", "plain", "turned", "cut", "active", "norm"])
    if kind == "turned":
        return turned(b, b.input((*shape[:-2], shape[-1], shape[-2]), b.dtype))
    if kind == "cut":
        return cut(b, shape)
    x = b.input(shape, b.dtype)
    if kind == "active":
        return (unary_node(b, x, b.rng.choice(ACTIVATIONS)) or [x])[0]
    return norm(b, x) or x if kind == "norm" else x


def multiply(b: ProductBuilder, x: str, columns: int) -> str | None:
    """x by a matrix of so many columns: MatMul with a weight as it is, transposed, for each of the batch; Gemm."""
    *batch, _, depth = b.shape_of(x)
    kind = b.rng.choice(["plain", "plain", "turned", "batch", "cut", "gemm"])
    if kind == "gemm" and not batch:
        right, names = b.rng.random() < 0.6, [x]
        names.append(b.weights((columns, depth) if right else (depth, columns), depth))
        if b.rng.random() < 0.7:
            names.append(b.weights(b.rng.choice([(columns,), (1, columns), (b.shape_of(x)[0], 1), (b.shape_of(x)[0], columns), ()])))

        def product(p, q, r=0):
            return p @ (q.T if right else q) + r

        inner = EPSILON[b.dtype] / EPSILON[F32]  # The product may round before the bias is added.
        return b.step("Gemm", names, product, sums=lambda *v: max(inner, 1) * product(*map(np.abs, v)), transB=int(right))
    shape = (*(batch if kind == "batch" else ()), depth, columns)
    if kind == "turned":
        y = turned(b, b.weights((columns, depth), depth))
    else:
        y = cut(b, shape) if kind == "cut" else b.weights(shape, depth)
    return y and b.step("MatMul", [x, y], np.matmul, sums=absolute(np.matmul))


def norm(b: ProductBuilder, x: str) -> str | None:
    """Over the last dimension."""
    extent = b.shape_of(x)[-1:]
    if b.rng.random() < 0.5:
        return b.step("RMSNormalization", [x, b.weights(extent)], lambda p, q: p / np.sqrt(np.mean(p * p, axis=-1, keepdims=True) + 1e-3) * q,
                      roundings=8, epsilon=1e-3, axis=-1)
    inner, axes = EPSILON[b.dtype] / EPSILON[F32], (len(b.shape_of(x)) - 1,)

    def size(p, q, r):
        return _normal_room(p, axes, 1e-3) * np.abs(q) + inner * (np.abs(_normal(p, axes, 1e-3) * q) + np.abs(r))

    return b.step("LayerNormalization", [x, b.weights(extent), b.weights(extent)], lambda p, q, r: _normal(p, axes, 1e-3) * q + r, roundings=6, axis=-1,
                  epsilon=1e-3, sums=size)


def active(b: ProductBuilder, x: str) -> str | None:
    return (unary_node(b, x, b.rng.choice(ACTIVATIONS)) or [None])[0]


def with_vector(b: ProductBuilder, x: str) -> str | None:
    """A bias, a residual, a factor for each row: a value that lacks some dimensions."""
    shape = b.shape_of(x)
    small = b.rng.choice([shape[-1:], shape, (shape[-2], 1) if len(shape) > 1 else shape, tuple(n if b.rng.random() < 0.5 else 1 for n in shape)])
    kind, function = b.rng.choice([("Add", np.add), ("Add", np.add), ("Mul", np.multiply), ("Sub", np.subtract), ("Max", np.maximum)])
    return b.step(kind, [x, b.weights(small)], function, roundings=0 if kind == "Max" else 1)


def reduced(b: ProductBuilder, x: str) -> str | None:
    """A sum, mean or maximum along some axes: a result beside `x`, or taken from it."""
    rank = len(b.shape_of(x))
    axes = tuple(sorted(b.rng.sample(range(rank), b.rng.choice([1, 1, 1, min(2, rank), rank]))))
    kind = b.rng.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"])
    function, sums = REDUCE[kind]
    found = b.step(kind, [x, b.constant(np.asarray(axes, I64))], lambda p, _: function(p, axes, True), roundings=2 if sums else 0,
                   sums=sums and (lambda p, _: sums(p, axes, True)), keepdims=1)
    if found and b.rng.random() < 0.5:
        return b.step("Sub", [x, found], np.subtract)
    if found:
        b.further.append(found)
    return x


def weighted(b: ProductBuilder, x: str) -> str | None:
    """Softmax along some axis."""
    axis = b.rng.choice([-1, -1, -1, b.rng.randrange(len(b.shape_of(x)))])
    return b.step("Softmax", [x], lambda p: softmax(p.swapaxes(axis, -1)).swapaxes(axis, -1), roundings=6, axis=axis)


def halves(b: ProductBuilder, x: str) -> str | None:
    """One half of the columns gates the other."""
    columns = b.shape_of(x)[-1]
    if columns % 2:
        return None
    sizes = b.constant(np.asarray([columns // 2] * 2, I64))
    parts = b.add("Split", [x, sizes], lambda p, _: np.split(p, 2, axis=-1), [b.dtype] * 2, roundings=0, axis=-1)
    gate = parts and b.step(*b.rng.choice([("Sigmoid", parts[:1], lambda p: 1 / (1 + np.exp(-p))), ("Relu", parts[:1], lambda p: np.maximum(p, 0))]), roundings=2)
    return gate and b.step("Mul", [parts[1], gate] if b.rng.random() < 0.5 else [gate, parts[1]], np.multiply)


def view(b: ProductBuilder, x: str) -> str | None:
    """Transposed, or its last dimension as heads of their own."""
    shape = b.shape_of(x)
    if b.rng.random() < 0.5 and len(shape) >= 2:
        return turned(b, x)
    heads = b.rng.choice([d for d in (1, 2, 3, 4, 8) if shape[-1] % d == 0])
    split = (*shape[:-1], heads, shape[-1] // heads)
    order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2, len(shape)) if len(shape) > 1 else (0, 1)
    cutout = b.step("Reshape", [x, b.constant(np.asarray(split, I64))], lambda p, _: p.reshape(split), roundings=0)
    return cutout and b.step("Transpose", [cutout], lambda p: p.transpose(order), roundings=0, perm=list(order))


STEPS: dict[Callable[[ProductBuilder, str], str | None], float] = {active: 4, with_vector: 5, reduced: 3, norm: 2, weighted: 1.5, halves: 1.5, view: 1}


def gated(b: ProductBuilder, x: str, columns: int) -> str | None:
    """Two products of the same rows."""
    gate, up = multiply(b, x, columns), multiply(b, x, columns)
    open_ = gate and active(b, gate)
    return open_ and up and b.step("Mul", [open_, up], np.multiply)


def product_graph(b: ProductBuilder) -> str | None:
    rows, columns, depth = draw_sizes(b)
    batch = b.rng.choice([(), (), (), (1,), (2,), (3,), (2, 2)])
    x = first_operand(b, (*((n if rows * columns * depth * n <= MOST_PRODUCTS else 1) for n in batch), rows, depth))
    value = x and b.rng.choices([multiply, gated], [5, 1])[0](b, x, columns)
    return value


def row_graph(b: ProductBuilder) -> str | None:
    """Long rows, or many."""
    shape = [b.rng.choice(LONG), b.rng.choice(EDGES[:12])] + ([b.rng.choice([2, 3, 5])] if b.rng.random() < 0.4 else [])
    b.rng.shuffle(shape)
    if b.rng.random() < 0.3:
        shape[-1] = b.rng.choice(LONG)
    while math.prod(shape) > MOST_ROWS:
        i = b.rng.randrange(len(shape))
        shape[i] = max(1, shape[i] // 2)
    x = b.input(tuple(shape), b.dtype)
    return b.rng.choice([norm, weighted, reduced, active, with_vector])(b, x)


def generate(seed: int) -> Case:
    """The graph of this seed: a product or rows, up to four steps behind it, now and then a second product."""
    b = ProductBuilder(seed)
    value = None
    for _ in range(20):
        value = value or (product_graph if b.rng.random() < 0.7 else row_graph)(b)
    if value is None:
        return b.case.pruned([])
    steps = b.rng.choices(list(STEPS), list(STEPS.values()), k=b.rng.randint(0, 4))
    if b.rng.random() < 0.25:
        steps.insert(b.rng.randint(0, len(steps)), lambda b, x: multiply(b, x, b.rng.choice(EDGES)) if len(b.shape_of(x)) > 1 and b.values[x].size * 264 < MOST_PRODUCTS else None)
    for step in steps:
        before, value = value, step(b, value) or value
        if value != before and b.rng.random() < 0.12:
            b.further.append(before)
    return b.case.pruned([name for name in dict.fromkeys([value, *b.further]) if name not in b.case.inputs])
