"""Operators that onnxruntime has no CPU kernel for, or a wrong one, as their documentation gives them: name -> function of the inputs by name."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def nibbles(packed: np.ndarray) -> np.ndarray:
    """Two numbers a byte along the last dimension, the low one first."""
    return np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1)


def product(a: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """a times the transposed weights, which are rounded to a's type before."""
    return (a.astype(np.float64) @ weights.astype(a.dtype).astype(np.float64).T).astype(a.dtype)


def fp8_product(a, b, s, q, block=16) -> list:
    fp8 = ml_dtypes.float8_e4m3fn
    rounded = ((a.astype(np.float32) / q).astype(fp8).astype(np.float32) * q).astype(a.dtype)
    return [product(rounded, b.astype(np.float32) * np.repeat(s, block, 1)[:, :b.shape[1]])]


def fp4_product(a, b, s, g, block=16) -> list:
    scales = s.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    numbers = E2M1[nibbles(b)]
    return [product(a, numbers * np.repeat(scales, block, 1)[:, :numbers.shape[1]] * g)]


def grouped_product(a, b, s, z, g) -> list:
    """4-bit weights; onnxruntime reads the zero points of another row where g_idx is given."""
    numbers, zeros = nibbles(b.reshape(len(b), -1)).astype(np.float32), nibbles(z).astype(np.float32)
    return [product(a, (numbers - zeros[:, g]) * s[:, g])]


def nhwc_conv(x, w, b, z) -> list:
    """Padding of 1 on every side, strides 2 and 1, 2 groups; then the same with a sum and Relu."""
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    high, wide = padded.shape[1] - w.shape[2], padded.shape[2] - w.shape[3]
    half, outputs = w.shape[1], w.shape[0] // 2
    y = np.zeros((len(x), high // 2 + 1, wide + 1, len(w)), np.float64)
    for i in range(y.shape[1]):
        for j in range(y.shape[2]):
            window = padded[:, 2 * i:2 * i + w.shape[2], j:j + w.shape[3]]
            for group in range(2):
                own = slice(group * outputs, (group + 1) * outputs)
                y[:, i, j, own] = np.einsum("nhwc,ochw->no", window[..., group * half:(group + 1) * half], w[own])
    y += b
    return [y.astype(x.dtype), np.maximum(y + z, 0).astype(x.dtype)]


def routed(x, r, a, s, b, t) -> list:
    """QMoE of 8 bits and one expert a token, whose gate is a softmax over all; onnxruntime's CPU kernel always normalises over the chosen."""
    first, second = ((w.astype(np.float64) - 128) * scale[..., None] for w, scale in ((a, s), (b, t)))
    gates = np.exp(r - r.max(1, keepdims=True))
    gates /= gates.sum(1, keepdims=True)
    rows = []
    for token, gate in zip(x.astype(np.float64), gates):
        expert = int(np.argmax(gate))
        rows.append(gate[expert] * (second[expert] @ np.maximum(first[expert] @ token, 0)))
    return [np.array(rows, np.float32)]
