"""The rounding model of kernels-runtime/src/Emulator/Numerics/MatrixModel.h in numpy, written from its text, with every parameter
open; and inputs that tell parameters apart."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy

import probe_kernels
from probe_kernels import Form

MANTISSA = {"f16": 10, "bf16": 7, "tf32": 10, "e4m3": 3, "e5m2": 2, "f32": 23}
SMALLEST = {"f16": -14, "bf16": -126, "tf32": -126, "e4m3": -6, "e5m2": -14, "f32": -126}
NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}
ZERO_EXPONENT = -1000


def decode(kind: str, bits: numpy.ndarray) -> numpy.ndarray:
    """Bits to f64, exactly."""
    if kind == "f32":
        return bits.astype("<u4").view("<f4").astype("f8")
    if kind == "tf32":
        return (bits.astype("<u4") & numpy.uint32(0xFFFFE000)).view("<f4").astype("f8")
    if kind == "bf16":
        return (bits.astype("<u4") << numpy.uint32(16)).view("<f4").astype("f8")
    if kind == "f16":
        return bits.astype("<u2").view("<f2").astype("f8")
    if kind == "e5m2":
        return (bits.astype("<u2") << numpy.uint16(8)).view("<f2").astype("f8")
    if kind in ("s8", "u8"):
        return bits.astype("u1").view("i1" if kind == "s8" else "u1").astype("f8")
    code = bits.astype("i4")
    exponent, mantissa = code >> 3 & 15, code & 7
    value = numpy.where(exponent == 0, numpy.ldexp(mantissa, -9), numpy.ldexp(8 + mantissa, exponent - 10))
    value = numpy.where(code & 127 == 127, numpy.nan, value)
    return numpy.where(code & 128, -value, value)


def encode(kind: str, values: numpy.ndarray) -> numpy.ndarray:
    """Bits of a value near by (it only makes inputs); too large values become the largest, or infinite."""
    with numpy.errstate(over="ignore"):
        return _encode(kind, values)


def _encode(kind: str, values: numpy.ndarray) -> numpy.ndarray:
    if kind in ("f32", "tf32"):
        bits = values.astype("f4").view("<u4")
        return bits if kind == "f32" else bits & numpy.uint32(0xFFFFE000)
    if kind == "bf16":
        return values.astype("f4").view("<u4") >> numpy.uint32(16)
    if kind == "f16":
        return numpy.clip(values, -65504, 65504).astype("f2").view("<u2").astype("<u4")
    if kind == "e5m2":
        return numpy.clip(values, -57344, 57344).astype("f2").view("<u2").astype("<u4") >> numpy.uint32(8)
    table = decode("e4m3", numpy.arange(127))
    code = numpy.clip(numpy.searchsorted(table, numpy.abs(values), side="right") - 1, 0, 126)
    return (code | numpy.where(numpy.signbit(values), 128, 0)).astype("<u4")


@dataclasses.dataclass(frozen=True)
class Model:
    block: int
    bits: int  # fraction bits of aligned terms
    minimum: int  # of the largest exponent
    result: int  # fraction bits of the result
    order: str  # "consecutive", "pairs"
    late: bool  # the accumulator is added afterwards, to nearest
    nearest: bool = False  # the result is rounded to nearest even, not truncated
    zeros_count: bool = False  # zero operands have the exponent of subnormals

    def __str__(self) -> str:
        text = f"block {self.block}, {self.bits} bits, minimum {self.minimum}, result {self.result} bits "
        text += ("nearest" if self.nearest else "truncated") + f", {self.order}"
        return text + (", added afterwards" if self.late else "") + (", zeros count" if self.zeros_count else "")


def _split(values: numpy.ndarray, kind: str, zeros_count: bool) -> numpy.ndarray:
    """Exponents, with that of the smallest normal number for subnormals."""
    exponent = numpy.maximum(numpy.frexp(numpy.where(numpy.isfinite(values), values, 1))[1] - 1, SMALLEST[kind])
    return exponent if zeros_count else numpy.where(values == 0, ZERO_EXPONENT, exponent)


def _truncate(values: numpy.ndarray, place: numpy.ndarray) -> numpy.ndarray:
    return numpy.ldexp(numpy.trunc(numpy.ldexp(values, -place)), place)


def _round(model: Model, total: numpy.ndarray, accumulator: str) -> numpy.ndarray:
    """f64 to the accumulator's bits."""
    if accumulator == "f16":
        bits = total.astype("f2").view("<u2").astype("<u4")
        return numpy.where(bits == 0x8000, 0, bits)  # what becomes zero is a positive one
    place = numpy.maximum(numpy.frexp(total)[1] - 1, -126) - model.result
    if model.nearest:
        total = numpy.ldexp(numpy.rint(numpy.ldexp(total, -place)), place)
    else:
        total = _truncate(total, place)
    return total.astype("f4").view("<u4")


def _step(model: Model, form: Form, a: numpy.ndarray, b: numpy.ndarray, c: numpy.ndarray) -> numpy.ndarray:
    """One block: a[..., row, 1, k], b[..., 1, column, k], and accumulator bits c[..., row, column]."""
    accumulator = form.accumulator
    start = decode(accumulator, c)
    products = a * b
    plain = products.sum(-1) + start
    products = numpy.where(numpy.isfinite(products), products, 0)
    exponents = _split(a, form.a, model.zeros_count) + _split(b, form.b, model.zeros_count)
    own = _split(start, accumulator, False)
    largest = numpy.maximum(numpy.maximum(exponents.max(-1), own), model.minimum)
    place = largest - model.bits
    total = _truncate(numpy.where(numpy.isfinite(start), start, 0), place) + _truncate(products, place[..., None]).sum(-1)
    bits = numpy.where(total == 0, 0, _round(model, total, accumulator))
    infinity = 0x7C00 if accumulator == "f16" else 0x7F800000
    sign = 0x8000 if accumulator == "f16" else 0x80000000
    bits = numpy.where(numpy.isinf(plain), infinity | numpy.where(plain < 0, sign, 0), bits)
    return numpy.where(numpy.isnan(plain), NAN[accumulator], bits).astype("<u4")


def blocks_of(model: Model, depth: int) -> list[list[int]]:
    if model.order == "pairs":
        return [[k for k in range(depth) if k % 4 // 2 == half] for half in range(2)]
    size = min(model.block, depth)
    return [list(range(first, first + size)) for first in range(0, depth, size)]


def multiply(model: Model, form: Form, a: numpy.ndarray, b: numpy.ndarray, c: numpy.ndarray) -> numpy.ndarray:
    """Bits of D for bits a[tile, row, k], b[tile, column, k], c[tile, row, column]."""
    with numpy.errstate(all="ignore"):
        left, right = decode(form.a, a)[:, :, None, :], decode(form.b, b)[:, None, :, :]
        value = numpy.zeros_like(c, dtype="<u4") if model.late else c.astype("<u4")
        for block in blocks_of(model, form.depth):
            value = _step(model, form, left[..., block], right[..., block], value)
        if model.late:
            kind = "<f2" if form.accumulator == "f16" else "<f4"
            narrow = "<u2" if form.accumulator == "f16" else "<u4"
            total = c.astype(narrow).view(kind) + value.astype(narrow).view(kind)
            value = numpy.where(numpy.isnan(total), NAN[form.accumulator], total.view(narrow)).astype("<u4")
        return value


def exact(form: Form, a: numpy.ndarray, b: numpy.ndarray, c: numpy.ndarray) -> numpy.ndarray:
    """Integer and f64 forms."""
    left, right = a[:, :, None, :], b[:, None, :, :]
    if form.accumulator == "s32":
        total = (decode(form.a, left) * decode(form.b, right)).sum(-1).astype("i8") + c.astype("<u4").view("<i4")
        if form.suffix:
            total = numpy.clip(total, -(2**31), 2**31 - 1)
        return (total & 0xFFFFFFFF).astype("<u4")
    fma = numpy.vectorize(lambda x, y, z: float(Fraction(x) * Fraction(y) + Fraction(z)), otypes=["f8"])
    left, right, total = left.view("<f8"), right.view("<f8"), c.view("<f8")
    for k in range(form.depth):
        total = fma(left[..., k], right[..., k], total)
    return total.view("<u8")


STYLES = ("normal", "wide", "powers", "cancel", "subnormal", "zeros", "overflow", "special", "floor")


def _values(random: numpy.random.Generator, style: str, kind: str, shape: tuple[int, ...]) -> numpy.ndarray:
    low = SMALLEST[kind]
    high = {"f16": 15, "bf16": 127, "tf32": 127, "e4m3": 8, "e5m2": 15}[kind]
    normal = random.standard_normal(shape)
    sign = random.choice([-1.0, 1.0], shape)
    middle = min(high, 14)
    if style in ("normal", "cancel"):
        return normal
    if style == "wide":
        return numpy.ldexp(normal, random.integers(max(low, -14), middle, shape))
    if style == "powers":
        return numpy.ldexp(sign, random.integers(max(low - MANTISSA[kind], -12), min(high, 12), shape))
    if style == "subnormal":
        # Products of bf16 and tf32 that meet the end of f32; f16 and fp8 that are subnormal themselves.
        return numpy.ldexp(normal, random.integers(-75, -55, shape) if low < -100 else random.integers(low - 4, low + 3, shape))
    if style == "zeros":
        value = numpy.ldexp(normal, random.integers(max(low, -60), min(high, 60) - 2, shape))
        return numpy.where(random.random(shape) < 0.6, sign * 0.0, value)
    return numpy.ldexp(normal, random.integers(high // 2 - 3, high // 2 + 3, shape))  # overflow, special


def _floor(random: numpy.random.Generator, form: Form, shape: tuple[int, ...]) -> tuple[numpy.ndarray, float]:
    """Rows of A and the constant of B for sums that decide at the accumulator's last place: one product is an odd number of
    half subnormal places (of whole places where results are truncated), the others lie far below and pull to one side."""
    is_half = form.accumulator == "f16"
    constant = -74 if SMALLEST[form.b] < -100 else SMALLEST[form.b] - MANTISSA[form.b]
    place = max(-25 if is_half else -149, constant + SMALLEST[form.a] - MANTISSA[form.a] + 4)
    depth = random.integers(10, 28, shape) + (-place)
    a = numpy.ldexp(1.0, numpy.maximum(-depth - constant, SMALLEST[form.a] - MANTISSA[form.a]))
    a = numpy.where(random.random(shape) < 0.3, a, 0.0) * random.choice([-1.0, 1.0], (*shape[:-1], 1))
    position = random.integers(0, shape[-1], shape[:-1])[..., None]
    odd = 2.0 * random.integers(0, 4, (*shape[:-1], 1)) + 1
    numpy.put_along_axis(a, position, numpy.ldexp(odd * random.choice([-1.0, 1.0], odd.shape), place - constant), -1)
    return a, 2.0**constant


def _accumulators(random: numpy.random.Generator, style: str, kind: str, shape: tuple[int, ...]) -> numpy.ndarray:
    normal = random.standard_normal(shape)
    if style == "subnormal":
        return numpy.ldexp(normal, random.integers(-150, -118, shape) if kind == "f32" else random.integers(-24, -12, shape))
    if style == "zeros":
        return numpy.where(random.random(shape) < 0.7, random.choice([0.0, -0.0], shape), normal * 1e-9)
    if style in ("overflow", "special"):
        return numpy.ldexp(normal, 126 if kind == "f32" else 15)
    if style == "normal":
        return normal
    return numpy.ldexp(normal, random.integers(-20, 20, shape) if kind == "f32" else random.integers(-12, 12, shape))


def inputs(form: Form, style: str, tiles: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Bits of A [tile, row, k], B [tile, column, k] and C [tile, row, column], the same at every call."""
    random = numpy.random.default_rng([sum(form.name.encode()), STYLES.index(style), tiles])
    shape_a, shape_b, shape_c = (tiles, form.rows, form.depth), (tiles, 8, form.depth), (tiles, form.rows, 8)
    if form.accumulator == "s32":
        a, b = random.integers(0, 256, shape_a), random.integers(0, 256, shape_b)
        c = random.choice([0, 0x7FFFFF00, 0x80000100, 0xFFFFFFFF, 12345], shape_c)
        return a.astype("<u4"), b.astype("<u4"), c.astype("<u4")
    if form.accumulator == "f64":
        def short(shape):  # 26 bits: products are exact
            return numpy.ldexp(numpy.rint(random.standard_normal(shape) * 2**24), random.integers(-40, -8, shape)).view("<u8")
        return short(shape_a), short(shape_b), random.standard_normal(shape_c).view("<u8")
    if style == "floor":
        a, constant = _floor(random, form, shape_a)
        return (encode(form.a, a), encode(form.b, numpy.full(shape_b, constant)),
                encode(form.accumulator, numpy.zeros(shape_c)).astype("<u4"))
    a, b = _values(random, style, form.a, shape_a), _values(random, style, form.b, shape_b)
    c = _accumulators(random, style, form.accumulator, shape_c)
    if style == "cancel":
        # Two elements of a row hold opposite large values, the columns of B are constant: what is left was under their bits.
        b = numpy.broadcast_to(b[:, :, :1], shape_b).copy()
        for tile, row in itertools.product(range(tiles), range(form.rows)):
            first, second = random.choice(form.depth, 2, replace=False)
            large = numpy.ldexp(1.0, int(random.integers(2, 8)))
            a[tile, row, first], a[tile, row, second] = large, -large
    a, b, c = encode(form.a, a), encode(form.b, b), encode(form.accumulator, c)
    if style == "special":
        infinity = {"f16": 0x7C00, "bf16": 0x7F80, "tf32": 0x7F800000, "e4m3": 0x7F, "e5m2": 0x7C, "f32": 0x7F800000}
        for bits, kind in ((a, form.a), (b, form.b), (c, form.accumulator)):
            chosen = random.random(bits.shape) < 0.01
            odd = infinity[kind] | random.choice([0, 0, 1 << max(0, MANTISSA[kind] - 1) << (13 if kind == "tf32" else 0)], bits.shape)
            sign = random.choice([0, 1], bits.shape) << {"f16": 15, "bf16": 15, "e4m3": 7, "e5m2": 7}.get(kind, 31)
            bits[chosen] = (odd | sign)[chosen]
    return a, b, c


def tiles_of(form: Form) -> int:
    return 8 if form.unit == "mma" else 3


def expected(form: Form, model: Model | None, a: numpy.ndarray, b: numpy.ndarray, c: numpy.ndarray) -> numpy.ndarray:
    return exact(form, a, b, c) if model is None else multiply(model, form, a, b, c)


def is_float(form: Form) -> bool:
    return form.a in probe_kernels.BITS and form.accumulator in ("f32", "f16")
