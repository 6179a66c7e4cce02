"""Draws attention of every shape: widths that are multiples of 16 from 16 to 256, any numbers of queries and keys (primes, one more than a tile,
caches long enough to be folded in parts), heads that share keys (by broadcasting, or repeated by Expand), causal masks, biases, masked keys. Each op
by itself, as exporters decompose it, and sometimes a scale behind it. The same seed gives the same graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math

import numpy as np

from case import BF16, F16, I64, Case
from generate import Builder

# A case takes some tenths of a second in the emulator: multiplications of one product.
MOST_PRODUCTS = 6_000_000
LENGTHS = (1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 77, 96, 127, 128, 129, 130, 191, 193, 257, 300)
CACHES = (61, 64, 127, 251, 256, 509, 640, 777, 1021, 1031, 1500, 2053)


class AttentionBuilder(Builder):
    most_elements = 1 << 20

    def __init__(self, seed: int):
        super().__init__(seed)
        self.case.ordinary = True
        self.dtype = self.rng.choice([F16, BF16])

    def step(self, *arguments, **options) -> str | None:
        names = self.add(*arguments, **options)
        return names and names[0]


def absolute(function):
    return lambda *operands: function(*map(np.abs, operands))


def softmax(p: np.ndarray) -> np.ndarray:
    weights = np.exp(p - p.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def draw_sizes(b: AttentionBuilder) -> tuple[int, int, int, int]:
    """Heads, queries, keys, width."""
    width = 16 * b.rng.randint(1, 16)
    heads = b.rng.choice([1, 1, 2, 3, 4, 6])
    if b.rng.random() < 0.4:
        queries, keys = b.rng.choice([1, 1, 2, 4, 7, 16, 17]), b.rng.choice(CACHES)
    else:
        queries = b.rng.choice(LENGTHS)
        keys = queries if b.rng.random() < 0.6 else b.rng.choice(LENGTHS)
    while heads * queries * keys * width > MOST_PRODUCTS or heads * (queries + keys) * width > b.most_elements:  # A step of more has no result.
        if heads > 1:
            heads -= 1
        elif queries > 64:
            queries = max(queries * 2 // 3, 1)
        else:
            keys = max(keys * 2 // 3, 1)
    return heads, queries, keys, width


def repeat(b: AttentionBuilder, x: str, heads: int, before: bool) -> str | None:
    """Each head of keys for the queries' heads of its group, or all of them again and again (`before`): Reshape, Expand, Reshape."""
    few, *places = b.values[x].shape
    one, all_of = ((1, few), (heads // few, few)) if before else ((few, 1), (few, heads // few))

    def shaped(kind: str, x: str, shape: tuple[int, ...], evaluate) -> str | None:
        return b.step(kind, [x, b.constant(np.asarray(shape, I64))], lambda value, _: evaluate(value, shape), roundings=0)

    x = shaped("Reshape", x, (*one, *places), np.reshape)
    x = shaped("Expand", x, (*all_of, *places), np.broadcast_to)
    return shaped("Reshape", x, (heads, *places), np.reshape)


def mask(b: AttentionBuilder, scores: str, queries: int, keys: int) -> str | None:
    """Causal, a bias, or keys that are left out; or none."""
    kind = b.rng.choice(["none", "none", "causal", "bias", "keys"])
    if kind == "none":
        return scores
    if kind == "bias":
        return b.step("Add", [scores, b.input((queries, keys), b.dtype)], np.add)
    keep = np.ones((queries, keys), bool)
    if kind == "causal":
        keep = np.tril(keep, keys - queries if queries <= keys and b.rng.random() < 0.5 else 0)
    else:
        keep[:, b.rng.randint(1, keys):] = False
    low = b.constant(np.asarray(-1000.0, b.dtype))
    return b.step("Where", [b.constant(keep), scores, low], np.where, b.dtype, roundings=0)


def generate(seed: int) -> Case:
    """The graph of this seed."""
    b = AttentionBuilder(seed)
    heads, queries, keys, width = draw_sizes(b)
    kept = b.rng.choice([few for few in range(1, heads + 1) if heads % few == 0])  # Heads of keys and values.
    is_broadcast, before, turns_first = kept == 1 and b.rng.random() < 0.5, b.rng.random() < 0.2, b.rng.random() < 0.5
    q = b.input((heads, queries, width), b.dtype)
    k, v = (b.input((kept, keys, width), b.dtype) for _ in range(2))

    def shared(x: str) -> str | None:
        return x if kept == heads or is_broadcast else repeat(b, x, heads, before)

    def turned(x: str) -> str | None:
        return b.step("Transpose", [x], lambda x: x.transpose(0, 2, 1), roundings=0, perm=[0, 2, 1])

    factor = b.constant(np.asarray(1 / math.sqrt(width), b.dtype))
    k = shared(turned(k)) if turns_first else turned(shared(k))
    if b.rng.random() < 0.5:
        q = b.step("Mul", [q, factor], np.multiply)
    else:
        k = b.step("Mul", [k, factor], np.multiply)
    scores = b.step("MatMul", [q, k], np.matmul, sums=absolute(np.matmul))
    masked = mask(b, scores, queries, keys)
    weights = b.step("Softmax", [masked], softmax, roundings=6, axis=-1)
    result = b.step("MatMul", [weights, shared(v)], np.matmul, sums=absolute(np.matmul))
    if b.rng.random() < 0.3:
        result = b.step("Mul", [result, b.input((heads, 1, width), b.dtype)], np.multiply)
    return b.case.pruned([result])
