"""The ops that random graphs are made of: what moves elements."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import numpy as np

from case import BOOL, F32, FLOATS, I32, I64
from generate import Builder, op


@op(6)
def transpose(b: Builder):
    if x := b.pick(rank=2):
        order = b.rng.sample(range(len(b.shape_of(x))), len(b.shape_of(x)))
        b.add("Transpose", [x], lambda p: np.transpose(p, order), roundings=0, perm=order)


def _factors(b: Builder, size: int) -> list[int]:
    found = []
    while size > 1 and len(found) < 3:
        divisors = [d for d in range(2, size + 1) if size % d == 0]
        found.append(b.rng.choice(divisors))
        size //= found[-1]
    if size > 1:
        found.append(size)
    if b.rng.random() < 0.3:
        found.insert(b.rng.randint(0, len(found)), 1)
    return found[:4] if np.prod(found[:4], dtype=int) == np.prod(found, dtype=int) else [int(np.prod(found))]


@op(6)
def reshape(b: Builder):
    if x := b.pick():
        shape = _factors(b, b.values[x].size)
        asked = [n if i != 0 or b.rng.random() < 0.7 else -1 for i, n in enumerate(shape)]
        b.add("Reshape", [x, b.constant(np.asarray(asked, I64))], lambda p, _: p.reshape(shape), roundings=0)


@op(2)
def unsqueeze(b: Builder):
    if (x := b.pick()) and len(b.shape_of(x)) < 4:
        axis = b.rng.randint(0, len(b.shape_of(x)))
        b.add("Unsqueeze", [x, b.constant(np.asarray([axis], I64))], lambda p, _: np.expand_dims(p, axis), roundings=0)


@op(1)
def squeeze(b: Builder):
    if x := b.pick(where=lambda v: 1 in v.shape):
        axis = b.rng.choice([i for i, n in enumerate(b.shape_of(x)) if n == 1])
        b.add("Squeeze", [x, b.constant(np.asarray([axis], I64))], lambda p, _: np.squeeze(p, axis), roundings=0)


@op(3)
def slicing(b: Builder):
    if x := b.pick(rank=1):
        axis = b.axis(x)
        extent = b.shape_of(x)[axis]
        step = b.rng.choice([1, 1, 1, 2, -1])
        low = b.rng.randrange(extent)
        high = b.rng.randint(low + 1, extent)
        start, stop = (high - 1, low - 1 - extent if low == 0 else low - 1) if step < 0 else (low, high)
        index = [slice(None)] * len(b.shape_of(x))
        index[axis] = slice(high - 1, low - 1 if low else None, step) if step < 0 else slice(low, high, step)
        at = tuple(index)
        if step < 0 and low == 0:
            stop = -(2**31)
        names = [b.constant(np.asarray([v], I64)) for v in (start, stop, b.signed(axis, x), step)]
        b.add("Slice", [x, *names], lambda p, *_: p[at], roundings=0)


@op(3)
def concat(b: Builder):
    if x := b.pick(rank=1):
        axis = b.axis(x)
        shape = list(b.shape_of(x))

        def fits(v):
            return v.ndim == len(shape) and all(n == m for i, (n, m) in enumerate(zip(v.shape, shape)) if i != axis)

        y = b.pick([b.dtype_of(x)], where=fits) if b.rng.random() < 0.7 else None
        if not y:
            y = b.operand([b.rng.choice([1, 3]) if i == axis else n for i, n in enumerate(shape)], b.dtype_of(x))
        parts = [x, y] if b.rng.random() < 0.7 else [y, x, y]
        b.add("Concat", parts, lambda *p: np.concatenate(p, axis=axis), roundings=0, axis=b.signed(axis, x))


@op(2)
def pad(b: Builder):
    if b.dtype in (*FLOATS, I32, I64) and (x := b.pick(rank=1)):
        mode = b.rng.choice(["constant", "constant", "edge", "reflect"])
        shape = b.shape_of(x)
        amounts = [[b.rng.choice([0, 0, 1, 2]) for _ in shape] for _ in range(2)]
        if mode == "reflect" and any(max(a, c) >= n for a, c, n in zip(*amounts, shape)):
            return
        widths = list(zip(*amounts))
        names = [x, b.constant(np.asarray(amounts[0] + amounts[1], I64))]
        if mode == "constant" and b.rng.random() < 0.5:
            names.append(b.constant(np.asarray(2, b.dtype_of(x))))
        value = 2 if len(names) == 3 else 0
        extra = {"constant_values": value} if mode == "constant" else {}
        b.add("Pad", names, lambda p, *_: np.pad(p, widths, mode=mode, **extra), roundings=0, mode=mode)


@op(3)
def expand(b: Builder):
    if x := b.pick(where=lambda v: 1 in v.shape or v.ndim < 3):
        shape = [b.rng.choice([2, 3, 8]) if n == 1 and b.rng.random() < 0.7 else n for n in b.shape_of(x)]
        if len(shape) < 4 and b.rng.random() < 0.5:
            shape.insert(0, b.rng.choice([1, 2, 4]))
        b.add("Expand", [x, b.constant(np.asarray(shape, I64))], lambda p, _: np.broadcast_to(p, shape), roundings=0)


@op(1)
def tile(b: Builder):
    if x := b.pick(rank=1):
        times = [b.rng.choice([1, 1, 2]) for _ in b.shape_of(x)]
        b.add("Tile", [x, b.constant(np.asarray(times, I64))], lambda p, _: np.tile(p, times), roundings=0)


@op(2)
def split(b: Builder):
    if x := b.pick(rank=1, where=lambda v: max(v.shape) > 1):
        axis = b.rng.choice([i for i, n in enumerate(b.shape_of(x)) if n > 1])
        first = b.rng.randint(1, b.shape_of(x)[axis] - 1)
        sizes = b.constant(np.asarray([first, b.shape_of(x)[axis] - first], I64))
        b.add("Split", [x, sizes], lambda p, _: np.split(p, [first], axis=axis), [b.dtype_of(x)] * 2, roundings=0, axis=axis)


@op(2)
def gather(b: Builder):
    if x := b.pick(rank=1):
        axis = b.axis(x)
        extent = b.shape_of(x)[axis]
        indices = np.asarray(b.draw.integers(-extent, extent, b.rng.choice([(), (3,), (2, 4)])), b.rng.choice([I32, I64]))
        if b.rng.random() < 0.5:
            name = b.constant(indices)
        else:
            name = b.name("i")
            b.values[name] = b.case.inputs[name] = indices
        b.add("Gather", [x, name], lambda p, i: np.take(p, i, axis=axis), roundings=0, axis=b.signed(axis, x))


@op(1)
def gather_elements(b: Builder):
    if x := b.pick(rank=1):
        axis = b.axis(x)
        name = b.name("i")
        indices = np.asarray(b.draw.integers(0, b.shape_of(x)[axis], b.shape_of(x)), I64)
        b.values[name] = b.case.inputs[name] = indices
        b.add("GatherElements", [x, name], lambda p, i: np.take_along_axis(p, i, axis), roundings=0, axis=axis)


@op(1)
def scatter_elements(b: Builder):
    if b.dtype in (*FLOATS, I32, I64) and (x := b.pick(rank=1)):
        axis, shape = b.axis(x), b.shape_of(x)
        order = np.argsort(b.draw.random(shape), axis=axis)  # A permutation: no place is written twice.
        indices = b.constant(np.asarray(order, I64))
        updates = b.pick([b.dtype_of(x)], where=lambda v: v.shape == shape)

        def write(p, i, u):
            found = p.copy()
            np.put_along_axis(found, i, u, axis)
            return found

        b.add("ScatterElements", [x, indices, updates], write, roundings=0, axis=axis)


@op(1)
def trilu(b: Builder):
    if b.dtype in (*FLOATS, I64, BOOL) and (x := b.pick(rank=2)):
        upper, k = b.rng.random() < 0.5, b.rng.choice([-1, 0, 1])
        names = [x] + ([b.constant(np.asarray(k, I64))] if k else [])
        b.add("Trilu", names, lambda p, *_: (np.triu if upper else np.tril)(p, k), roundings=0, upper=int(upper))


@op(0.5)
def one_hot(b: Builder):
    if x := b.pick([I64], rank=1, where=lambda v: v.ndim < 4 and v.size <= 64 and (np.abs(v) < 6).all()):
        depth, values = b.constant(np.asarray(6, I64)), b.constant(np.asarray([0, 1], F32))

        def encode(i, _, v):
            return np.where(np.expand_dims(i % 6, -1) == np.arange(6), v[1], v[0])

        if b.add("OneHot", [x, depth, values], encode, F32, roundings=0, axis=-1):
            b.dtype = F32


@op(0.5)
def depth_to_space(b: Builder):
    if b.dtype == F32 and (x := b.pick(where=lambda v: v.ndim == 4 and v.shape[1] % 4 == 0)):
        def move(p):
            n, c, h, w = p.shape
            return p.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, h * 2, w * 2)

        b.add("DepthToSpace", [x], move, roundings=0, blocksize=2)
