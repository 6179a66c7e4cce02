"""What the memory bounds: normalisations, softmax and gates over the rows of a matrix."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from .case import Case


def rmsnorm(f, rows: int, width: int) -> None:
    f.output("y", f.rms_norm(f.input("x", (rows, width)), f.weight("w", (width,), mean=1.0), 1e-6))


def residual_rmsnorm(f, rows: int, width: int) -> None:
    """The sum is an output too: the next layer's residual"""
    total = f.input("x", (rows, width)) + f.input("residual", (rows, width))
    y = f.rms_norm(total, f.weight("w", (width,), mean=1.0), 1e-6)
    f.output("sum", total)
    f.output("y", y)


def layernorm_gelu(f, rows: int, width: int) -> None:
    w, bias = f.weight("w", (width,), mean=1.0), f.weight("b", (width,))
    f.output("y", f.gelu(f.layer_norm(f.input("x", (rows, width)), w, bias, 1e-5)))


def softmax(f, rows: int, width: int) -> None:
    f.output("y", f.softmax(f.input("x", (rows, width))))


def groupnorm_silu(f, batch: int, channels: int, size: int, groups: int = 32) -> None:
    w, bias = f.weight("w", (channels,), mean=1.0), f.weight("b", (channels,))
    f.output("y", f.silu(f.group_norm(f.input("x", (batch, channels, size, size)), groups, w, bias, 1e-5)))


def geglu(f, rows: int, width: int) -> None:
    """The first half of a row, times gelu of the second"""
    value, gate = f.split(f.input("x", (rows, width)), [width // 2] * 2, -1)
    f.output("y", value * f.gelu(gate))


CASES = [
    Case("rmsnorm_8192x4096", rmsnorm, dict(rows=8192, width=4096), dict(rows=24, width=520), opset=23),
    Case("residual_rmsnorm_8192x4096", residual_rmsnorm, dict(rows=8192, width=4096), dict(rows=24, width=520), opset=23),
    Case("layernorm_gelu_16384x1024", layernorm_gelu, dict(rows=16384, width=1024), dict(rows=40, width=384)),
    Case("softmax_16384x4096", softmax, dict(rows=16384, width=4096), dict(rows=24, width=648)),
    Case("groupnorm_silu_2x320x64x64", groupnorm_silu, dict(batch=2, channels=320, size=64),
         dict(batch=2, channels=24, size=12, groups=8), opset=22),
    Case("geglu_4096x10240", geglu, dict(rows=4096, width=10240), dict(rows=24, width=640)),
]
