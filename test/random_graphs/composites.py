"""The ops that random graphs are made of: products, convolutions, pooling, norms, softmax, and small groups as exporters write them."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math

import numpy as np

from case import BOOL, EPSILON, F16, F32, F64, FLOATS, I64, is_float
from generate import Builder, op
from sliding import Window, add_average_pooling, add_convolution, add_max_pooling


def _absolute(function, dtype=F32):
    """The sum of absolute values; `dtype`: of a product that rounds before a bias is added."""
    inner = max(EPSILON[dtype] / EPSILON[F32], 1)
    return lambda *operands: inner * function(*[np.abs(x) for x in operands])


@op(8)
def matmul(b: Builder):
    if not is_float(b.dtype) or not (x := b.pick(rank=2)):
        return
    shape = b.shape_of(x)
    wide = b.pick([b.dtype], rank=2, where=lambda v: v.ndim <= len(shape) and v.shape[-2] == shape[-1]
                  and all(n in (1, m) for n, m in zip(v.shape[:-2][::-1], shape[:-2][::-1])))
    batch = [1 if b.rng.random() < 0.3 else n for n in shape[:-2]] if b.rng.random() < 0.4 else []
    y = wide if wide and b.rng.random() < 0.6 else b.operand([*batch, shape[-1], b.rng.choice([1, 4, 7, 16, 33])], b.dtype)
    b.add("MatMul", [x, y], np.matmul, sums=_absolute(np.matmul))


@op(2)
def gemm(b: Builder):
    if b.dtype in (F32, F16, F64) and (x := b.pick(where=lambda v: v.ndim == 2)):
        left, right = b.rng.random() < 0.4, b.rng.random() < 0.5
        depth, columns = b.shape_of(x)[0 if left else 1], b.rng.choice([1, 5, 16, 24])
        rows = b.shape_of(x)[1 if left else 0]
        y = b.operand((columns, depth) if right else (depth, columns), b.dtype)
        c = b.operand(b.rng.choice([(columns,), (1, columns), (rows, 1), ()]), b.dtype)

        def product(p, q, r):
            return 0.5 * ((p.T if left else p) @ (q.T if right else q)) + 2 * r

        b.add("Gemm", [x, y, c], product, roundings=2, sums=_absolute(product, b.dtype), alpha=0.5, beta=2.0, transA=int(left), transB=int(right))


@op(1)
def einsum(b: Builder):
    if b.dtype in (F32, F64) and (x := b.pick(where=lambda v: v.ndim == 3)):
        i, j, k = b.shape_of(x)
        text, shape = b.rng.choice([("ijk,kl->ijl", (k, 6)), ("ijk,ilk->ijl", (i, 5, k)), ("ijk,j->ik", (j,)), ("ijk,ijk->i", (i, j, k))])
        y = b.operand(shape, b.dtype)
        b.add("Einsum", [x, y], lambda p, q: np.einsum(text, p, q), sums=lambda p, q: np.einsum(text, np.abs(p), np.abs(q)), equation=text)


def image(b: Builder, channels: int | None = None) -> str:
    found = b.pick([b.dtype], where=lambda v: v.ndim == 4 and min(v.shape[2:]) >= 3 and v.shape[1] % (channels or 1) == 0)
    return found or b.input((b.rng.choice([1, 2]), b.rng.choice([4, 8]), b.rng.choice([5, 8]), b.rng.choice([6, 9])), b.dtype)


@op(3)
def convolution(b: Builder):
    if b.dtype not in (F32, F16):
        return
    x = image(b)
    _, channels, height, width = b.shape_of(x)
    groups = b.rng.choice([1, 1, 2 if channels % 2 == 0 else 1, channels])
    size, stride = [b.rng.choice([1, 2, 3]) for _ in range(2)], [b.rng.choice([1, 1, 2]) for _ in range(2)]
    window = Window(size, stride, [b.rng.choice([0, 1]) for _ in range(4)])
    if min(window.places((height, width))) < 1 or channels > 32:
        return
    outputs = groups * b.rng.choice([1, 2, 3])
    w = b.operand((outputs, channels // groups, *size), b.dtype)
    bias = [b.operand((outputs,), b.dtype)] if b.rng.random() < 0.5 else []
    add_convolution(b, [x, w, *bias], window, groups)


@op(2)
def pooling(b: Builder):
    if b.dtype not in (F32, F16):
        return
    x = image(b)
    size, stride = [b.rng.choice([2, 3]) for _ in range(2)], [b.rng.choice([1, 2]) for _ in range(2)]
    window = Window(size, stride, [b.rng.choice([0, 1]) for _ in range(4)])
    if b.rng.choice(["MaxPool", "AveragePool"]) == "MaxPool":
        add_max_pooling(b, x, window)
    else:
        add_average_pooling(b, x, window, counts_padding=True)


@op(1)
def global_pooling(b: Builder):
    if b.dtype in (F32, F16):
        x = image(b)
        kind, function, roundings = b.rng.choice([("GlobalAveragePool", np.mean, 2), ("GlobalMaxPool", np.max, 0)])
        b.add(kind, [x], lambda p: function(p, axis=(2, 3), keepdims=True), roundings=roundings,
              sums=(lambda p: np.mean(np.abs(p), axis=(2, 3), keepdims=True)) if roundings else None)


def _softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@op(5)
def softmax(b: Builder):
    if is_float(b.dtype) and (x := b.pick(rank=1)):
        axis = b.rng.choice([len(b.shape_of(x)) - 1, b.axis(x)])
        if b.rng.random() < 0.8:
            b.add("Softmax", [x], lambda p: _softmax(p, axis), roundings=6, axis=b.signed(axis, x))
        else:
            def function(p):
                top = p - np.max(p, axis=axis, keepdims=True)
                return top - np.log(np.sum(np.exp(top), axis=axis, keepdims=True))

            b.add("LogSoftmax", [x], function, roundings=6, sums=lambda p: np.ones_like(p), axis=b.signed(axis, x))


def _normal(x, axes, epsilon):
    mean = np.mean(x, axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(np.mean((x - mean) ** 2, axis=axes, keepdims=True) + epsilon)


def _normal_room(x, axes, epsilon):
    """What the rounding of the mean does to a normalised row."""
    mean = np.mean(x, axis=axes, keepdims=True)
    size = np.mean(np.abs(x), axis=axes, keepdims=True) / np.sqrt(np.mean((x - mean) ** 2, axis=axes, keepdims=True) + epsilon)
    return 8 * size * (1 + np.abs(_normal(x, axes, epsilon)))


@op(4)
def layer_norm(b: Builder):
    if b.dtype in (F32, F16) and (x := b.pick(rank=1)):
        rank = len(b.shape_of(x))
        axis = b.rng.choice([rank - 1, b.axis(x)])
        axes, shape = tuple(range(axis, rank)), b.shape_of(x)[axis:]
        names = [x, b.operand(shape, b.dtype)] + ([b.operand(shape, b.dtype)] if b.rng.random() < 0.6 else [])

        inner = EPSILON[b.dtype] / EPSILON[F32]  # The normalised row, and its product, round to the element type.

        def function(p, q, r=0):
            return _normal(p, axes, 1e-3) * q + r

        b.add("LayerNormalization", names, function, roundings=6, axis=b.signed(axis, x), epsilon=1e-3,
              sums=lambda p, q, r=0: _normal_room(p, axes, 1e-3) * np.abs(q) + inner * (np.abs(_normal(p, axes, 1e-3) * q) + np.abs(r)))


@op(2)
def rms_norm(b: Builder):
    """As exporters decompose it, or as one op."""
    if not is_float(b.dtype) or not (x := b.pick(rank=1)):
        return
    w = b.operand(b.shape_of(x)[-1:], b.dtype)
    if b.rng.random() < 0.4:
        if b.dtype == F64:  # Its statistics are f32.
            return
        b.add("RMSNormalization", [x, w], lambda p, q: p / np.sqrt(np.mean(p * p, axis=-1, keepdims=True) + 1e-3) * q, roundings=8, epsilon=1e-3,
              axis=-1)
        return
    axes, epsilon = b.constant(np.asarray([-1], I64)), b.constant(np.asarray(1e-3, b.dtype))
    square = b.add("Mul", [x, x], np.multiply)
    mean = square and b.add("ReduceMean", [square[0], axes], lambda p, _: np.mean(p, -1, keepdims=True), sums=lambda p, _: np.mean(p, -1, keepdims=True))
    moved = mean and b.add("Add", [mean[0], epsilon], np.add)
    root = moved and b.add("Sqrt", moved, np.sqrt)
    scaled = root and b.add("Div", [x, root[0]], np.divide)
    if scaled:
        b.add("Mul", [scaled[0], w], np.multiply)


@op(1)
def group_norm(b: Builder):
    if b.dtype == F32:
        x = image(b, channels=2)
        channels = b.shape_of(x)[1]
        scale, bias = b.operand((channels,), F32), b.operand((channels,), F32)
        groups = 2 if channels % 2 == 0 else 1

        def function(p, q, r, room=False):
            split = p.reshape(p.shape[0], groups, -1)
            found = (_normal_room if room else _normal)(split, (2,), 1e-3).reshape(p.shape)
            return found * (np.abs(q) if room else q)[:, None, None] + (np.abs(r) if room else r)[:, None, None]

        b.add("GroupNormalization", [x, scale, bias], function, roundings=6, sums=lambda p, q, r: function(p, q, r, True), num_groups=groups, epsilon=1e-3)


@op(1)
def batch_norm(b: Builder):
    if b.dtype == F32:
        x = image(b)
        channels = b.shape_of(x)[1]
        scale, bias, mean = (b.constant(b.array((channels,), F32)) for _ in range(3))
        variance = b.constant((np.abs(b.draw.standard_normal(channels)) + 0.5).astype(F32))

        def function(p, *q):
            s, o, m, v = (k[:, None, None] for k in q)
            return (p - m) / np.sqrt(v + 1e-3) * s + o

        b.add("BatchNormalization", [x, scale, bias, mean, variance], function, roundings=4, epsilon=1e-3,
              sums=lambda p, s, o, m, v: 4 * ((np.abs(p) + np.abs(m)[:, None, None]) / np.sqrt(v + 1e-3)[:, None, None] * np.abs(s)[:, None, None]
                                              + np.abs(o)[:, None, None]))


@op(3)
def attention(b: Builder):
    """Scores, scale, mask, softmax, values: one op at a time, as exporters decompose it."""
    if b.dtype not in (F32, F16, F64):
        return
    dtype = b.dtype
    heads, rows, keys, depth = b.rng.choice([1, 2]), b.rng.choice([1, 4, 9]), b.rng.choice([5, 16, 24]), b.rng.choice([4, 8])
    q = b.pick([dtype], where=lambda v: v.ndim == 3 and v.shape[-1] >= 4) or b.input((heads, rows, depth), dtype)
    heads, rows, depth = b.shape_of(q)
    k, v = b.input((heads, depth, keys), dtype), b.input((heads, keys, b.rng.choice([4, 8])), dtype)
    scores = b.add("MatMul", [q, k], np.matmul, sums=_absolute(np.matmul))
    if scores and b.rng.random() < 0.7:
        scores = b.add("Mul", [scores[0], b.constant(np.asarray(1 / math.sqrt(depth), dtype))], np.multiply)
    kind = b.rng.choice(["none", "add", "where", "causal", "cap"])
    if scores and kind == "add":
        mask = np.where(b.draw.random((rows, keys)) < 0.3, -np.inf if b.rng.random() < 0.3 else -1000.0, 0)
        mask[:, 0] = 0
        scores = b.add("Add", [scores[0], b.constant(mask.astype(dtype))], np.add) or (scores if b.case.ordinary else None)
    elif scores and kind in ("where", "causal"):
        keep = np.tril(np.ones((rows, keys), bool)) if kind == "causal" else b.draw.random((rows, keys)) < 0.7
        keep[:, 0] = True
        low = b.constant(np.asarray(-1000.0, dtype))
        scores = b.add("Where", [b.constant(keep), scores[0], low], np.where, dtype, roundings=0)
    elif scores and kind == "cap":
        cap = b.constant(np.asarray(4, dtype))
        scores = b.add("Div", [scores[0], cap], np.divide)
        scores = scores and b.add("Tanh", scores, np.tanh, roundings=2)
        scores = scores and b.add("Mul", [scores[0], cap], np.multiply)
    weights = scores and b.add("Softmax", scores, lambda p: _softmax(p, -1), roundings=6, axis=-1)
    if weights:
        b.add("MatMul", [weights[0], v], np.matmul, sums=_absolute(np.matmul))


@op(1)
def gated(b: Builder):
    """Two products of one operand, one of them through a sigmoid: the feed-forward part of Llama."""
    if b.dtype in (F32, F16) and (x := b.pick(rank=2)):
        depth, wide = b.shape_of(x)[-1], b.rng.choice([8, 24])
        names = [b.operand((depth, wide), b.dtype) for _ in range(2)]
        gate = b.add("MatMul", [x, names[0]], np.matmul, sums=_absolute(np.matmul))
        up = gate and b.add("MatMul", [x, names[1]], np.matmul, sums=_absolute(np.matmul))
        open_ = up and b.add("Sigmoid", gate, lambda p: 1 / (1 + np.exp(-p)), roundings=2)
        silu = open_ and b.add("Mul", [gate[0], open_[0]], np.multiply)
        if silu:
            b.add("Mul", [silu[0], up[0]], np.multiply)


@op(1)
def rotary(b: Builder):
    """Halves turned by angles, as Llama's exporters write it."""
    if b.dtype in (F32, F16) and (x := b.pick(where=lambda v: v.ndim >= 2 and v.shape[-1] % 2 == 0)):
        extent = b.shape_of(x)[-1]
        half = extent // 2
        angles = b.draw.standard_normal((b.shape_of(x)[-2], extent))
        cosine, sine = b.constant(np.cos(angles).astype(b.dtype)), b.constant(np.sin(angles).astype(b.dtype))
        sizes = b.constant(np.asarray([half, half], I64))
        parts = b.add("Split", [x, sizes], lambda p, _: np.split(p, 2, axis=-1), [b.dtype] * 2, roundings=0, axis=-1)
        turned = parts and b.add("Neg", [parts[1]], np.negative, roundings=0)
        turned = turned and b.add("Concat", [turned[0], parts[0]], lambda p, q: np.concatenate([p, q], -1), roundings=0, axis=-1)
        left = turned and b.add("Mul", [x, cosine], np.multiply)
        right = left and b.add("Mul", [turned[0], sine], np.multiply)
        if right:
            b.add("Add", [left[0], right[0]], np.add)


__all__ = ["BOOL", "FLOATS", "attention", "matmul"]
