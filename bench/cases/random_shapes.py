"""Random cases: shapes that nobody tuned for, of distributions that are written down here and in docs/bench.md.

A case is a function of (seed, kind, index): the same wherever and beside whatever else it is drawn. Extents are log-uniform. Those that
networks choose (widths, channels) are multiples of 64 in three fifths of the cases, of 8 in three tenths, and any number in the rest;
those that their users choose (rows, places of a sequence) are powers of two or multiples of 64 in a quarter each, primes in an eighth,
any number else. What takes more than 0.6 TFLOP or 0.6 GB is drawn again, and three quarters of what memory and the matrix unit allow to
take less than a microsecond: there, only launches count.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import itertools
import math
import random
from typing import Callable, Iterator

from . import attention, matrix, rows, windows
from .case import Case

MOST_FLOPS, MOST_BYTES = int(6e11), int(6e8)
LITTLE_MS, KEPT_OF_LITTLE = 1e-3, 0.25

# One round of a sweep: products and attention, where networks spend their time, come more often.
ROUND = ("product", "attention", "conv", "norm", "decode", "epilogue", "groupnorm", "product", "softmax", "swiglu", "attention", "depthwise", "chain",
         "biased", "product", "geglu", "decode", "conv", "norm", "epilogue", "attention", "groupnorm", "conv3d")
KINDS = tuple(dict.fromkeys(ROUND))

Draw = random.Random
Sizes = dict[str, object]


def log_uniform(draw: Draw, low: int, high: int) -> int:
    return min(int(math.exp(draw.uniform(math.log(low), math.log(high + 1)))), high)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def _multiple(n: int, of: int) -> int:
    return max(round(n / of), 1) * of


def width(draw: Draw, low: int, high: int) -> int:
    """An extent that a network chooses."""
    n, at = log_uniform(draw, low, high), draw.random()
    return _multiple(n, 64) if at < 0.6 else _multiple(n, 8) if at < 0.9 else n


def length(draw: Draw, low: int, high: int) -> int:
    """An extent that the network's user chooses."""
    n, at = log_uniform(draw, low, high), draw.random()
    if at < 0.25:
        return 1 << round(math.log2(n))
    if at < 0.5:
        return _multiple(n, 64)
    if at < 0.625:
        return next(p for p in itertools.count(max(n, 2)) if _is_prime(p))
    return n


def _product(draw: Draw) -> Sizes:
    return dict(m=log_uniform(draw, 1, 8192) if draw.random() < 0.5 else length(draw, 1, 8192), n=width(draw, 256, 32768), k=width(draw, 256, 16384))


def _epilogue(draw: Draw) -> Sizes:
    return dict(**_product(draw), epilogue=draw.choice(("bias", "gelu", "silu", "residual")))


def _swiglu(draw: Draw) -> Sizes:
    tokens, wide = length(draw, 1, 4096), width(draw, 512, 8192)
    return dict(tokens=tokens, width=wide, hidden=_multiple(round(wide * draw.uniform(2, 4)), 64 if draw.random() < 0.8 else 8))


def _chain(draw: Draw) -> Sizes:
    return dict(m=length(draw, 16, 8192), k=width(draw, 64, 4096), hidden=width(draw, 64, 4096), n=width(draw, 64, 4096))


def _heads(draw: Draw, most: int) -> tuple[int, int]:
    """Heads, and those of keys and values: half of the cases have as many."""
    groups = log_uniform(draw, 1, most)
    return groups * draw.choice((1, 1, 1, 1, 2, 4, 6, 8)), groups


def _attention(draw: Draw) -> Sizes:
    """One case in four attends to another sequence; of the others half are causal."""
    heads, groups = _heads(draw, 24)
    queries = length(draw, 48, 8192)
    is_cross = draw.random() < 0.25
    return dict(batch=log_uniform(draw, 1, 16), heads=heads, groups=groups, queries=queries, keys=length(draw, 16, 8192) if is_cross else queries,
                width=draw.randrange(32, 257, 16), causal=not is_cross and draw.random() < 0.5)


def _biased(draw: Draw) -> Sizes:
    """A bias of positions for each head, or one of a batch's padding and pairs for all heads."""
    heads, queries, batch = log_uniform(draw, 1, 24), length(draw, 32, 2048), log_uniform(draw, 1, 16)
    bias = (1, heads, queries, queries) if draw.random() < 0.5 else (batch, 1, queries, queries)
    return dict(batch=batch, heads=heads, groups=heads, queries=queries, keys=queries, width=draw.randrange(32, 257, 16), bias=bias)


def _decode(draw: Draw) -> Sizes:
    heads, groups = _heads(draw, 16)
    return dict(batch=log_uniform(draw, 1, 64), heads=heads, groups=groups, queries=1, keys=length(draw, 16, 32768), width=draw.randrange(32, 257, 16))


def _rows(draw: Draw, low: int, high: int) -> Sizes:
    return dict(rows=length(draw, 1, 32768), width=width(draw, low, high))


def _groupnorm(draw: Draw) -> Sizes:
    groups = draw.choice((8, 16, 32, 32, 32))
    return dict(batch=log_uniform(draw, 1, 16), channels=groups * log_uniform(draw, 2, 60), size=log_uniform(draw, 4, 128), groups=groups)


def _geglu(draw: Draw) -> Sizes:
    return dict(rows=length(draw, 1, 32768), width=2 * width(draw, 64, 10240))


def _conv(draw: Draw) -> Sizes:
    """1x1 in a third of the cases, else 3x3; strides of 2 in a quarter, dilations of 2 in an eighth of the latter."""
    kernel = draw.choice((1, 3, 3))
    is_strided, is_dilated = draw.random() < 0.25, kernel > 1 and draw.random() < 0.125
    channels = 3 if draw.random() < 0.05 else width(draw, 16, 1280)
    return dict(batch=log_uniform(draw, 1, 32), channels=channels, out=width(draw, 16, 1280), size=(log_uniform(draw, 7, 128),) * 2, kernel=kernel,
                stride=2 if is_strided else 1, dilation=2 if is_dilated else 1, relu=draw.random() < 0.5)


def _depthwise(draw: Draw) -> Sizes:
    channels = width(draw, 16, 1280)
    return dict(batch=log_uniform(draw, 1, 32), channels=channels, out=channels, size=(log_uniform(draw, 7, 128),) * 2, kernel=draw.choice((3, 5, 7, 7)),
                stride=2 if draw.random() < 0.25 else 1, groups=channels, relu=draw.random() < 0.5)


def _conv3d(draw: Draw) -> Sizes:
    places = log_uniform(draw, 7, 64)
    return dict(batch=log_uniform(draw, 1, 4), channels=width(draw, 8, 512), out=width(draw, 8, 512), size=(log_uniform(draw, 3, 17), places, places), kernel=3)


_SMALL_CONV = dict(batch=2, channels=16, out=24, kernel=3)
_GRAPHS: dict[str, tuple[Callable, Callable[[Draw], Sizes], Sizes]] = {
    "product": (matrix.gemm, _product, dict(m=37, n=96, k=72)),
    "epilogue": (matrix.linear, _epilogue, dict(m=40, n=104, k=96, epilogue="residual")),
    "swiglu": (matrix.ffn_swiglu, _swiglu, dict(tokens=24, width=64, hidden=136)),
    "chain": (matrix.two_products, _chain, dict(m=40, k=48, hidden=72, n=64)),
    "attention": (attention.attention, _attention, dict(batch=1, heads=4, groups=2, queries=37, keys=53, width=48)),
    "biased": (attention.attention, _biased, dict(batch=2, heads=2, groups=2, queries=37, keys=37, width=48, bias=(2, 1, 37, 37))),
    "decode": (attention.attention, _decode, dict(batch=2, heads=4, groups=2, queries=1, keys=131, width=80)),
    "softmax": (rows.softmax, lambda draw: _rows(draw, 16, 32768), dict(rows=13, width=331)),
    "groupnorm": (rows.groupnorm_silu, _groupnorm, dict(batch=2, channels=40, size=7, groups=8)),
    "geglu": (rows.geglu, _geglu, dict(rows=13, width=336)),
    "conv": (windows.convolution, _conv, dict(_SMALL_CONV, size=(11, 11), stride=2, dilation=2, relu=True)),
    "depthwise": (windows.convolution, _depthwise, dict(_SMALL_CONV, out=16, size=(11, 11), kernel=7, groups=16)),
    "conv3d": (windows.convolution, _conv3d, dict(_SMALL_CONV, size=(3, 6, 7))),
}
_NORMS = (rows.rmsnorm, rows.residual_rmsnorm, rows.layernorm_gelu)


def _name(kind: str, sizes: Sizes) -> str:
    """norm_rmsnorm... for the graph, then every size: `attention_batch2_heads8_groups8_queries77_keys77_width80_causal`"""
    def text(key: str, value) -> str:
        if isinstance(value, bool):
            return key if value else ""
        return value if isinstance(value, str) else key + ("x".join(map(str, value)) if isinstance(value, tuple) else str(value or 0))
    return "_".join([kind, *filter(None, (text(key, value) for key, value in sizes.items()))])


def _make(kind: str, draw: Draw) -> Case:
    if kind == "norm":
        build, sizes, small = draw.choice(_NORMS), _rows(draw, 64, 16384), dict(rows=13, width=328)
        name = _name(f"norm_{build.__name__}", sizes)
    else:
        build, generate, small = _GRAPHS[kind]
        sizes = generate(draw)
        name = _name(kind, sizes)
    weights = "initializers" if build is windows.convolution else "inputs"
    return Case(name, build, sizes, small, opset=23, weights=weights)


def make(seed: int, kind: str, index: int) -> Case:
    """The case of that number: within bounds of work and memory."""
    for attempt in itertools.count():
        draw = random.Random(f"{seed}/{kind}/{index}/{attempt}")
        case = _make(kind, draw)
        is_kept = case.floor_ms >= LITTLE_MS or draw.random() < KEPT_OF_LITTLE
        if is_kept and case.flops <= MOST_FLOPS and case.bytes <= MOST_BYTES:
            return case
    raise AssertionError("endless")


# A kernel of next to no work: what the way of measuring takes beside the kernels.
START = Case("start", rows.rmsnorm, dict(rows=1, width=64), dict(rows=1, width=64), opset=23)


def kind_of(case: str) -> str:
    """By the name."""
    return case.split("_")[0]


def _numbers(kinds: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Kinds in rounds, with the number of each one's case."""
    numbers = {kind: itertools.count() for kind in kinds}
    for kind in itertools.cycle(ROUND):
        if kind in numbers:
            yield kind, next(numbers[kind])


def sweep(seed: int, count: int, kinds: tuple[str, ...] = KINDS) -> list[Case]:
    """`count` different cases; fewer where a kind is drawn the same ten times in a row."""
    found: dict[str, Case] = {}
    for kind, index in itertools.islice(_numbers(kinds), 10 * count):
        if len(found) < count:
            case = make(seed, kind, index)
            found.setdefault(case.name, case)
    return list(found.values())


def examples() -> list[Case]:
    """One of each graph that no named case has, for checks at a small size; by its kind's name."""
    return [dataclasses.replace(make(0, kind, 0), name=kind) for kind in ("epilogue", "chain", "biased", "conv", "depthwise", "conv3d")]
