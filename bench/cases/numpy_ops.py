"""The operations of the cases in numpy: the reference."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math
from typing import Mapping, Sequence

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


class NumpyOps:
    """Computes in the type of `tensors` (f64 for a reference). OnnxOps documents the operations."""

    def __init__(self, tensors: Mapping[str, np.ndarray]):
        self.tensors, self.outputs = tensors, {}

    def input(self, name: str, shape, **_) -> np.ndarray:
        assert self.tensors[name].shape == tuple(shape), name
        return self.tensors[name]

    weight = input

    def output(self, name: str, value: np.ndarray) -> None:
        self.outputs[name] = value

    def linear(self, x, w, bias=None):
        y = x @ w.swapaxes(0, 1)
        return y if bias is None else y + bias

    def reshape(self, x, shape: Sequence[int]):
        return x.reshape(shape)

    def swap(self, x, a: int, b: int):
        return x.swapaxes(a, b)

    def cat(self, values, axis: int):
        return np.concatenate(values, axis)

    def split(self, x, sizes: Sequence[int], axis: int):
        return np.split(x, np.cumsum(sizes)[:-1], axis)

    def sigmoid(self, x):
        return 1 / (1 + np.exp(-x))

    def silu(self, x):
        return x * self.sigmoid(x)

    def relu(self, x):
        return np.maximum(x, 0)

    def relu6(self, x):
        return np.clip(x, 0, 6)

    def gelu(self, x, approximate: str = "none"):
        if approximate == "tanh":
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        return 0.5 * x * (1 + _erf(x / math.sqrt(2)))

    def softmax(self, x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def rms_norm(self, x, w, eps: float):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w

    def layer_norm(self, x, w, bias, eps: float):
        centred = x - x.mean(-1, keepdims=True)
        y = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps)
        return y if w is None else y * w + bias

    def group_norm(self, x, groups: int, w, bias, eps: float):
        y = self.layer_norm(x.reshape(x.shape[0], groups, -1), None, None, eps).reshape(x.shape)
        return y * w[:, None, None] + bias[:, None, None]

    def attention(self, q, k, v, causal: bool = False, bias=None):
        repeat = q.shape[1] // k.shape[1]
        k, v = k.repeat(repeat, 1), v.repeat(repeat, 1)
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        if causal:
            scores = np.where(np.tri(q.shape[2], k.shape[2], dtype=bool), scores, -np.inf)
        return self.softmax(scores) @ v

    def conv(self, x, w, bias=None, stride: int = 1, padding: int = 0, groups: int = 1, dilation: int = 1):
        dims = tuple(range(2, x.ndim))
        x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * len(dims))
        spans = [dilation * (r - 1) + 1 for r in w.shape[2:]]
        windows = np.lib.stride_tricks.sliding_window_view(x, spans, dims)  # [N, C, elements, window]
        windows = windows[(slice(None),) * 2 + (slice(None, None, stride),) * len(dims) + (slice(None, None, dilation),) * len(dims)]
        n, c, *places = windows.shape[: 2 + len(dims)]
        windows = windows.reshape(n, groups, c // groups, *places, *w.shape[2:])
        parts = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
        at, window = "xyz"[: len(dims)], "ijk"[: len(dims)]
        y = np.einsum(f"ngc{at}{window},goc{window}->ngo{at}", windows, parts, optimize=True).reshape(n, w.shape[0], *places)
        return y if bias is None else y + bias.reshape(-1, *[1] * len(dims))

    def max_pool2d(self, x, kernel: int, stride: int, padding: int):
        x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)], constant_values=-np.inf)
        return np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride].max((-1, -2))

    def spatial_mean(self, x):
        return x.mean((2, 3), keepdims=True)
