"""Attention alone: over a prompt, and of one new token over a cache."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from .case import Case


def attention(f, batch: int, heads: int, groups: int, queries: int, keys: int, width: int, causal: bool = False, bias: tuple | None = None) -> None:
    """softmax(q k^T / sqrt(width) + bias) v; `groups` is the number of key and value heads, `bias` the shape of what is added"""
    q = f.input("q", (batch, heads, queries, width))
    k, v = (f.input(name, (batch, groups, keys, width)) for name in "kv")
    f.output("y", f.attention(q, k, v, causal=causal, bias=f.input("bias", bias) if bias else None))


def _prompt(batch: int, heads: int, groups: int, tokens: int, width: int, causal: bool) -> Case:
    name = f"attn_B{batch}_H{heads}_{groups}_S{tokens}_D{width}_{'causal' if causal else 'full'}"
    ratio = heads // groups
    return Case(name, attention, dict(batch=batch, heads=heads, groups=groups, queries=tokens, keys=tokens, width=width, causal=causal),
                dict(batch=1, heads=2 * ratio, groups=2, queries=tokens // 64, keys=tokens // 64, width=width, causal=causal)
                if tokens < 8192 else
                dict(batch=1, heads=ratio, groups=1, queries=144, keys=144, width=width, causal=causal), opset=23)


def _decode(batch: int, heads: int, groups: int, tokens: int, width: int) -> Case:
    ratio = heads // groups
    return Case(f"decode_B{batch}_H{heads}_{groups}_S{tokens}_D{width}", attention,
                dict(batch=batch, heads=heads, groups=groups, queries=1, keys=tokens, width=width),
                dict(batch=min(batch, 3), heads=2 * ratio, groups=2, queries=1, keys=tokens // 64, width=width), opset=23)


CASES = [
    _prompt(4, 16, 16, 1024, 64, False), _prompt(2, 32, 8, 4096, 128, True), _prompt(1, 24, 24, 4352, 128, False),
    _prompt(1, 32, 8, 16384, 128, True), _prompt(16, 12, 12, 384, 64, False),
    _decode(1, 32, 8, 2048, 128), _decode(1, 32, 8, 32768, 128), _decode(16, 32, 8, 4096, 128), _decode(64, 32, 8, 2048, 128),
    _decode(8, 32, 32, 256, 128),
]
