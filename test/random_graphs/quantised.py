"""Draws products by weights of 2, 4 and 8 bits: MatMulNBits, and DequantizeLinear in front of MatMul and Gemm, blocks of 16 to 128 places, with and
without zero points, 1 to 70 rows, rows and columns that divide nothing, a bias or an activation behind some. The same seed gives the same graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from attention import absolute
from case import BF16, EPSILON, F16, F32, U8, Case
from generate import Builder

U4, I4 = np.dtype(ml_dtypes.uint4), np.dtype(ml_dtypes.int4)
MOST_PLACES = 200_000  # Of a weight: a case takes some tenths of a second in the emulator.


class QuantisedBuilder(Builder):
    most_elements = 1 << 20

    def __init__(self, seed: int):
        super().__init__(seed)
        self.case.ordinary = True
        self.dtype = self.rng.choice([F16, F16, BF16])

    def step(self, *arguments, **options) -> str:
        names = self.add(*arguments, **options)
        assert names, "numbers beyond the type's"
        return names[0]

    def scales(self, shape: tuple[int, ...], bits: int, depth: int) -> np.ndarray:
        return (self.draw.uniform(0.5, 1.5, shape) / 2 ** (bits - 1) / math.sqrt(depth)).astype(self.dtype)


def fields(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """The numbers of each row of bytes, the lowest bits first."""
    places = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = packed[..., None] >> places & np.uint8(2**bits - 1)
    return numbers.reshape(packed.shape[0], -1)[:, :count].astype(np.float64)


def by_blocks(b: QuantisedBuilder, a: str, depth: int, columns: int, block: int, bits: int) -> str:
    """MatMulNBits: one op, of which a rounding of each weight is known."""
    blocks = -(-depth // block)
    weights = b.draw.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    operands = [a, b.constant(weights), b.constant(b.scales((columns, blocks), bits, depth))]
    if b.rng.random() < 0.4:
        operands.append(b.constant(b.draw.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8)))

    def dense(packed: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None = None) -> np.ndarray:
        numbers = fields(packed.reshape(columns, -1), bits, depth)
        zero = fields(zeros, bits, blocks) if zeros is not None else np.full((columns, blocks), 2.0 ** (bits - 1))
        return ((numbers - np.repeat(zero, block, 1)[:, :depth]) * np.repeat(scales, block, 1)[:, :depth]).T

    def spread(x: np.ndarray, *weight: np.ndarray) -> np.ndarray:
        return np.sqrt(x**2 @ dense(*weight) ** 2) * (EPSILON[b.dtype] / EPSILON[F32])

    return b.step("MatMulNBits", operands, lambda x, *weight: x @ dense(*weight), b.dtype, sums=spread, domain="com.microsoft", K=depth,
                  N=columns, bits=bits, block_size=block)


def spelled(b: QuantisedBuilder, a: str, depth: int, columns: int, block: int, bits: int) -> str:
    """DequantizeLinear of a weight [out, in] or [in, out], and the product."""
    kind = {4: b.rng.choice([U4, I4]), 8: b.rng.choice([U8, np.dtype(np.int8)])}[bits]
    blocks, is_turned = -(-depth // block), b.rng.random() < 0.6
    least = -(2 ** (bits - 1)) if kind in (I4, np.int8) else 0

    def numbers(extent: int) -> np.ndarray:
        drawn = b.draw.integers(least, least + 2**bits, (columns, extent))
        return (drawn if is_turned else drawn.T).astype(kind)

    shape = (columns, blocks) if is_turned else (blocks, columns)
    operands = [b.constant(numbers(depth)), b.constant(b.scales(shape, bits, depth))]
    if b.rng.random() < 0.4:
        operands.append(b.constant(numbers(blocks)))
    axis = 1 if is_turned else 0

    def widen(x: np.ndarray) -> np.ndarray:
        return np.repeat(x.astype(np.float64), block, axis).take(range(depth), axis)

    def dense(x: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None = None) -> np.ndarray:
        return (x.astype(np.float64) - (widen(zeros) if zeros is not None else 0)) * widen(scales)

    weight = b.step("DequantizeLinear", operands, dense, b.dtype, axis=axis, block_size=block)
    if is_turned:
        return b.step("Gemm", [a, weight], lambda x, w: x @ w.T, b.dtype, sums=absolute(lambda x, w: x @ w.T), transB=1)
    return b.step("MatMul", [a, weight], np.matmul, b.dtype, sums=absolute(np.matmul))


def generate(seed: int) -> Case:
    """The graph of this seed."""
    b = QuantisedBuilder(seed)
    block, bits = b.rng.choice([16, 32, 32, 64, 128]), b.rng.choice([4, 4, 4, 2, 8])
    depth = block * b.rng.randint(1, max(2048 // block, 1))
    columns = min(b.rng.choice([b.rng.randint(1, 300), 16 * b.rng.randint(1, 20), 64]), MOST_PLACES // depth)
    rows = b.rng.choice([1, 1, 1, 2, 5, 8, 16, 17, 31, 33, 48, 63, 64, 65, 70])
    a = b.input((rows, depth), b.dtype)
    product = spelled if bits in (4, 8) and b.rng.random() < 0.4 else by_blocks
    result = product(b, a, depth, columns, block, bits)
    kind = b.rng.choice(["none", "none", "bias", "relu", "both"])
    if kind == "both":  # Gate and up: two products of the same rows.
        result = b.step("Mul", [result, product(b, a, depth, columns, block, bits)], np.multiply)
    if kind == "bias":
        result = b.step("Add", [result, b.constant(b.array((columns,), b.dtype))], np.add)
    if kind == "relu":
        result = b.step("Relu", [result], lambda x: np.maximum(x, 0))
    return b.case.pruned([result])
