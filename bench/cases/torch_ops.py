"""The operations of the cases in PyTorch: what somebody who writes for speed writes there, and the same in f32 as a reference."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Mapping, Sequence

import torch
from torch.nn import functional


class TorchOps:
    """Computes on the device and in the type of `tensors`. OnnxOps documents the operations."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]):
        self.tensors, self.outputs = tensors, {}

    def input(self, name: str, shape, **_) -> torch.Tensor:
        del shape
        return self.tensors[name]

    weight = input

    def output(self, name: str, value: torch.Tensor) -> None:
        self.outputs[name] = value

    def linear(self, x, w, bias=None):
        return functional.linear(x, w, bias)

    def reshape(self, x, shape: Sequence[int]):
        return x.reshape(shape)

    def swap(self, x, a: int, b: int):
        return x.transpose(a, b)

    def cat(self, values, axis: int):
        return torch.cat(values, axis)

    def split(self, x, sizes: Sequence[int], axis: int):
        return x.split(list(sizes), axis)

    def sigmoid(self, x):
        return torch.sigmoid(x)

    def silu(self, x):
        return functional.silu(x)

    def relu(self, x):
        return functional.relu(x)

    def relu6(self, x):
        return functional.relu6(x)

    def gelu(self, x, approximate: str = "none"):
        return functional.gelu(x, approximate=approximate)

    def softmax(self, x):
        return torch.softmax(x, -1)

    def rms_norm(self, x, w, eps: float):
        return functional.rms_norm(x, w.shape, w, eps)

    def layer_norm(self, x, w, bias, eps: float):
        return functional.layer_norm(x, x.shape[-1:], w, bias, eps)

    def group_norm(self, x, groups: int, w, bias, eps: float):
        return functional.group_norm(x, groups, w, bias, eps)

    def attention(self, q, k, v, causal: bool = False, bias=None):
        return functional.scaled_dot_product_attention(q, k, v, bias, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])

    def conv(self, x, w, bias=None, stride: int = 1, padding: int = 0, groups: int = 1, dilation: int = 1):
        return (functional.conv3d if x.ndim == 5 else functional.conv2d)(x, w, bias, stride, padding, dilation, groups)

    def max_pool2d(self, x, kernel: int, stride: int, padding: int):
        return functional.max_pool2d(x, kernel, stride, padding)

    def spatial_mean(self, x):
        return x.mean((2, 3), keepdim=True)


class ReferenceOps(TorchOps):
    """For f32 tensors: attention head by head, so that the scores of a long sequence fit."""

    def attention(self, q, k, v, causal: bool = False, bias=None):
        out, repeat = torch.empty_like(q), q.shape[1] // k.shape[1]
        for batch in range(q.shape[0]):
            for head in range(q.shape[1]):
                scores = q[batch, head] @ k[batch, head // repeat].T / q.shape[-1] ** 0.5
                if bias is not None:
                    scores += bias.expand(*q.shape[:2], -1, -1)[batch, head]
                if causal:
                    rows, columns = (torch.arange(n, device=q.device) for n in scores.shape)
                    scores.masked_fill_(columns[None] > rows[:, None], float("-inf"))
                out[batch, head] = torch.softmax(scores, -1) @ v[batch, head // repeat]
        return out
