"""Windows that slide over images of one, two or three dimensions, in numpy: convolutions and pooling as nodes of a random graph."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses

import numpy as np

from case import EPSILON, F32
from generate import Builder


@dataclasses.dataclass
class Window:
    """`pads` as ONNX has them: in front of each dimension, then behind each."""

    size: list[int]
    stride: list[int]
    pads: list[int]
    dilation: list[int] | None = None
    ceil: bool = False  # A last window that begins within the image counts, too.

    @property
    def reach(self) -> list[int]:
        """From a window's first place to the one past its last."""
        return [(size - 1) * step + 1 for size, step in zip(self.size, self.dilation or [1] * len(self.size))]

    @property
    def sides(self) -> list[tuple[int, int]]:
        rank = len(self.size)
        return list(zip(self.pads[:rank], self.pads[rank:]))

    def places(self, image: tuple[int, ...]) -> list[int]:
        """How many there are along each dimension; none or fewer where the image is too small."""
        found = []
        for extent, reach, stride, (low, high) in zip(image, self.reach, self.stride, self.sides):
            room = extent + low + high - reach
            count = (-(-room // stride) if self.ceil else room // stride) + 1
            found.append(count - 1 if self.ceil and (count - 1) * stride >= extent + low else count)
        return found

    def attributes(self) -> dict:
        found = {"kernel_shape": self.size, "strides": self.stride, "pads": self.pads}
        return found | ({"dilations": self.dilation} if self.dilation else {}) | ({"ceil_mode": 1} if self.ceil else {})

    def over(self, x: np.ndarray, padding: float, beyond: float | None = None) -> np.ndarray:
        """[batch, channels, place..., place of the window...]; `beyond`: what lies behind the padding, for `ceil` (default: as the padding)."""
        rank, places = len(self.size), self.places(x.shape[2:])
        x = np.pad(x, [(0, 0), (0, 0), *self.sides], constant_values=padding)
        more = [max(0, (count - 1) * stride + reach - extent) for count, stride, reach, extent in zip(places, self.stride, self.reach, x.shape[2:])]
        x = np.pad(x, [(0, 0), (0, 0), *((0, n) for n in more)], constant_values=padding if beyond is None else beyond)
        found = np.lib.stride_tricks.sliding_window_view(x, self.reach, axis=tuple(range(2, 2 + rank)))
        starts = [slice(0, (count - 1) * stride + 1, stride) for count, stride in zip(places, self.stride)]
        return found[(slice(None), slice(None), *starts, *(slice(None, None, step) for step in self.dilation or [1] * rank))]


def convolve(x: np.ndarray, weights: np.ndarray, window: Window, groups: int) -> np.ndarray:
    rank, outputs = len(window.size), len(weights)
    tiles = window.over(x, 0)
    batch, channels, *places = tiles.shape[:2 + rank]
    # [group, batch, place..., channel of the group, place of the window...]
    tiles = tiles.reshape(batch, groups, channels // groups, *tiles.shape[2:])
    tiles = tiles.transpose(1, 0, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank)).reshape(groups, batch * int(np.prod(places)), -1)
    sums = tiles @ weights.reshape(groups, outputs // groups, -1).transpose(0, 2, 1)
    sums = sums.reshape(groups, batch, *places, outputs // groups)
    return sums.transpose(1, 0, 2 + rank, *range(2, 2 + rank)).reshape(batch, outputs, *places)


def add_convolution(b: Builder, operands: list[str], window: Window, groups: int, transposed: bool = False) -> list[str] | None:
    """`operands`: image, weights, and a bias or none."""
    dtype = b.dtype_of(operands[0])

    def function(x, weights, bias=None):
        found = (spread if transposed else convolve)(x, weights, window, groups)
        return found if bias is None else found + bias.reshape(-1, *[1] * len(window.size))

    inner = max(EPSILON[dtype] / EPSILON[F32], 1)  # The product rounds before a bias is added.
    return b.add("ConvTranspose" if transposed else "Conv", operands, function, sums=lambda *values: inner * function(*map(np.abs, values)), group=groups, **window.attributes())


def spread(x: np.ndarray, weights: np.ndarray, window: Window, groups: int) -> np.ndarray:
    """The transposed convolution: that of the image with holes, by the weights turned round. The window's padding is what is cut off."""
    rank, channels = len(window.size), x.shape[1]
    holed = np.zeros([*x.shape[:2], *((extent - 1) * step + 1 for extent, step in zip(x.shape[2:], window.stride))])
    holed[(slice(None), slice(None), *(slice(None, None, step) for step in window.stride))] = x
    turned = weights.reshape(groups, channels // groups, *weights.shape[1:]).swapaxes(1, 2)
    turned = np.flip(turned, tuple(range(-rank, 0))).reshape(-1, channels // groups, *weights.shape[2:])
    pads = [reach - 1 - cut for reach, cut in zip(window.reach * 2, window.pads)]
    return convolve(holed, turned, Window(window.size, [1] * rank, pads, window.dilation), groups)


def add_max_pooling(b: Builder, x: str, window: Window) -> list[str] | None:
    inside = tuple(range(-len(window.size), 0))
    return b.add("MaxPool", [x], lambda p: window.over(p, -np.inf).max(inside), roundings=0, **window.attributes())


def add_average_pooling(b: Builder, x: str, window: Window, counts_padding: bool) -> list[str] | None:
    inside = tuple(range(-len(window.size), 0))

    def function(p):
        return window.over(p, 0).sum(inside) / window.over(np.ones_like(p), float(counts_padding), 0).sum(inside)

    return b.add("AveragePool", [x], function, roundings=2, sums=lambda p: function(np.abs(p)), count_include_pad=int(counts_padding),
                 **window.attributes())
