"""A convolution alone."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math


def convolution(f, batch: int, channels: int, out: int, size: tuple, kernel: int, stride: int = 1, dilation: int = 1, groups: int = 1,
                relu: bool = False) -> None:
    """With a bias; padded so that stride 1 keeps the places, of which there are two or three dimensions"""
    fan_in = channels // groups * kernel ** len(size)
    w = f.weight("w", (out, channels // groups, *[kernel] * len(size)), std=1 / math.sqrt(fan_in))
    y = f.conv(f.input("x", (batch, channels, *size)), w, f.weight("b", (out,)), stride, dilation * (kernel // 2), groups, dilation)
    f.output("y", f.relu(y) if relu else y)
