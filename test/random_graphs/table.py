"""The ops that random graphs are made of: elementwise ones, casts, reductions and orders."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math

import numpy as np

import composites  # noqa: F401  (registers more)
import views  # noqa: F401
from case import BF16, BOOL, F16, F32, F64, FLOATS, I8, I32, I64, INTEGERS, U8, is_float
from generate import Builder, op

_ERF = np.vectorize(math.erf, otypes=[np.float64])


def _gelu(x):
    return 0.5 * x * (1 + _ERF(x / math.sqrt(2)))


def _gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softplus(x):
    return np.logaddexp(0, x)


# Factors of these are computed as 1 + something, or as differences: their error is one of the operand's size.
CANCELLING = ("Gelu", "Mish", "HardSwish", "Softplus", "Elu")

# What it computes, its roundings (0: exact), attributes.
UNARY = {
    "Neg": (np.negative, 0, {}), "Abs": (np.abs, 0, {}), "Relu": (lambda x: np.maximum(x, 0), 0, {}), "Exp": (np.exp, 2, {}),
    "Sigmoid": (_sigmoid, 2, {}), "Tanh": (np.tanh, 2, {}), "Erf": (_ERF, 4, {}), "Floor": (np.floor, 0, {}), "Ceil": (np.ceil, 0, {}),
    "Round": (np.rint, 0, {}), "Sign": (np.sign, 0, {}), "Sqrt": (np.sqrt, 1, {}), "Log": (np.log, 2, {}), "Reciprocal": (lambda x: 1 / x, 1, {}),
    "Sin": (np.sin, 2, {}), "Cos": (np.cos, 2, {}), "Atan": (np.arctan, 2, {}), "Softplus": (_softplus, 4, {}),
    "Softsign": (lambda x: x / (1 + np.abs(x)), 2, {}), "Gelu": (_gelu, 8, {}), "Mish": (lambda x: x * np.tanh(_softplus(x)), 8, {}),
    "HardSigmoid": (lambda x: np.clip(0.25 * x + 0.5, 0, 1), 2, {"alpha": 0.25, "beta": 0.5}),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), 3, {}),
    "Elu": (lambda x: np.where(x < 0, 0.5 * np.expm1(x), x), 4, {"alpha": 0.5}),
    "LeakyRelu": (lambda x: np.where(x < 0, 0.125 * x, x), 1, {"alpha": 0.125}),
    "ThresholdedRelu": (lambda x: np.where(x > 0.5, x, 0), 0, {"alpha": 0.5}),
}


def unary_node(b: Builder, x: str, kind: str) -> list[str] | None:
    function, roundings, attributes = UNARY[kind]
    return b.add(kind, [x], function, roundings=roundings, sums=np.abs if kind in CANCELLING else None, **attributes)


@op(10)
def unary(b: Builder):
    x = b.pick(FLOATS) if is_float(b.dtype) else None
    if x:
        unary_node(b, x, b.rng.choice(list(UNARY)))


@op(1)
def gelu_tanh(b: Builder):
    if x := b.pick(FLOATS) if is_float(b.dtype) else None:
        b.add("Gelu", [x], _gelu_tanh, roundings=8, sums=np.abs, approximate="tanh")


@op(1)
def unary_integer(b: Builder):
    if x := b.pick((I32, I64)):
        kind, function = b.rng.choice([("Neg", np.negative), ("Abs", np.abs), ("Sign", np.sign)])
        b.add(kind, [x], function)


def partner(b: Builder, x: str) -> str:
    """A second operand of the same type that broadcasts with `x`: another value, or a new one."""
    shape, dtype = b.shape_of(x), b.dtype_of(x)

    def fits(value):
        try:
            return np.prod(np.broadcast_shapes(value.shape, shape), dtype=int) <= 4096
        except ValueError:
            return False

    if b.rng.random() < 0.6 and (y := b.pick([dtype], where=fits)):
        return y
    to = [1 if b.rng.random() < 0.3 else n for n in shape][b.rng.choice([0, 0, 0, len(shape) // 2]):]
    return b.operand(to, dtype)


def _fmod(x, y):
    return np.fmod(x, y)


BINARY = {"Add": (np.add, 1), "Sub": (np.subtract, 1), "Mul": (np.multiply, 1), "Max": (np.maximum, 0), "Min": (np.minimum, 0), "Div": (np.divide, 1)}


@op(14)
def binary(b: Builder):
    if not (x := b.pick()) or b.dtype == BOOL:
        return
    y = partner(b, x)
    kind = b.rng.choice(list(BINARY))
    if b.rng.random() < 0.3:
        x, y = y, x
    if is_float(b.dtype):
        function, roundings = BINARY[kind]
        b.add(kind, [x, y], function, roundings=roundings)
    elif kind == "Div":  # ONNX rounds towards 0; 0 as a divisor is undefined.
        if (b.values[y] != 0).all():
            b.add(kind, [x, y], lambda p, q: (np.sign(p) * np.sign(q) * (np.abs(p) // np.abs(q))).astype(p.dtype) if p.dtype != U8 else p // q)
    else:
        b.add(kind, [x, y], BINARY[kind][0])


@op(1)
def power(b: Builder):
    if is_float(b.dtype) and (x := b.pick()):
        exponent = b.rng.choice([2.0, 3.0, 0.5, -1.0, -0.5, 1.0])
        k = b.constant(np.asarray(exponent, b.dtype))
        b.add("Pow", [x, k], np.power, roundings=4)


@op(1)
def modulo(b: Builder):
    if is_float(b.dtype) and (x := b.pick()):
        k = b.constant(np.asarray(b.rng.choice([0.75, 2.0, -1.5]), b.dtype))
        b.add("Mod", [x, k], _fmod, roundings=1, fmod=1)
    elif b.dtype in (I32, I64) and (x := b.pick()):
        k = b.constant(np.asarray(b.rng.choice([3, 5, -4]), b.dtype))
        b.add("Mod", [x, k], np.mod)


@op(2)
def variadic(b: Builder):
    if is_float(b.dtype) and (x := b.pick()):
        y, z = partner(b, x), partner(b, x)
        kind, function = b.rng.choice([("Sum", lambda p, q, r: p + q + r), ("Mean", lambda p, q, r: (p + q + r) / 3),
                                       ("Max", lambda p, q, r: np.maximum(np.maximum(p, q), r))])
        try:
            np.broadcast_shapes(*(b.shape_of(n) for n in (x, y, z)))
        except ValueError:
            return
        b.add(kind, [x, y, z], function, roundings=0 if kind == "Max" else 2, sums=lambda p, q, r: np.abs(p) + np.abs(q) + np.abs(r))


@op(2)
def clip(b: Builder):
    if b.dtype in (F32, F16, BF16, F64, I32, I64) and (x := b.pick()):
        low, high = b.constant(np.asarray(-1, b.dtype)), b.constant(np.asarray(2, b.dtype))
        b.add("Clip", [x, low, high], lambda p, q, r: np.minimum(np.maximum(p, q), r), roundings=0)


COMPARE = {"Equal": np.equal, "Greater": np.greater, "Less": np.less, "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal}


@op(3)
def compare(b: Builder):
    if b.dtype != BOOL and (x := b.pick()):
        kind = b.rng.choice(list(COMPARE))
        b.add(kind, [x, partner(b, x)], COMPARE[kind], BOOL)


@op(2)
def logic(b: Builder):
    if x := b.pick([BOOL]):
        kind, function = b.rng.choice([("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)])
        if b.rng.random() < 0.3:
            b.add("Not", [x], np.logical_not)
        else:
            b.add(kind, [x, partner(b, x)], function)


@op(1)
def bits(b: Builder):
    if b.dtype in INTEGERS and (x := b.pick()):
        kind, function = b.rng.choice([("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)])
        b.add(kind, [x, partner(b, x)], function)


@op(3)
def where(b: Builder):
    if (x := b.pick()) and (c := b.pick([BOOL])):
        y = partner(b, x)
        try:
            np.broadcast_shapes(*(b.shape_of(n) for n in (c, x, y)))
        except ValueError:
            c = b.operand(b.shape_of(x), BOOL)
        b.add("Where", [c, x, y], np.where, b.dtype_of(x), roundings=0)


@op(1)
def is_special(b: Builder):
    if b.dtype in (F32, F16, F64) and (x := b.pick()):
        kind, function = b.rng.choice([("IsNaN", np.isnan), ("IsInf", np.isinf)])
        b.add(kind, [x], function, BOOL)


@op(4)
def cast(b: Builder):
    if not (x := b.pick(list(FLOATS) + list(INTEGERS) + [BOOL])):
        return
    source, target = b.dtype_of(x), b.rng.choice([F32, F32, F32, F16, BF16, F64, I32, I64, BOOL])
    value = b.values[x].astype(np.float64)
    if target == source or (is_float(source) and target in (I32, I64) and not (np.abs(value) < 1e6).all()):
        return  # Out of the integer's range, nothing is defined.
    import onnx

    def convert(v):
        if target == BOOL:
            return v != 0
        return np.trunc(v) if is_float(source) and target in (I32, I64) else v

    if b.add("Cast", [x], convert, target, roundings=0, to=onnx.helper.np_dtype_to_tensor_dtype(target)):
        b.dtype = target


def axes_of(b: Builder, x: str) -> list[int]:
    rank = len(b.shape_of(x))
    count = b.rng.choice([1, 1, 1, min(2, rank), rank])
    return sorted(b.rng.sample(range(rank), count))


def _log_sum_exp(x, axes, keep):
    top = np.max(x, axis=axes, keepdims=True)
    found = np.log(np.sum(np.exp(x - np.where(np.isfinite(top), top, 0)), axis=axes, keepdims=True)) + np.where(np.isfinite(top), top, 0)
    found = np.where(np.isposinf(top), np.inf, found)
    return found if keep else np.squeeze(found, axis=axes)


REDUCE = {
    "ReduceSum": (lambda x, a, k: np.sum(x, axis=a, keepdims=k), lambda x, a, k: np.sum(np.abs(x), axis=a, keepdims=k)),
    "ReduceMean": (lambda x, a, k: np.mean(x, axis=a, keepdims=k), lambda x, a, k: np.mean(np.abs(x), axis=a, keepdims=k)),
    "ReduceMax": (lambda x, a, k: np.max(x, axis=a, keepdims=k), None),
    "ReduceMin": (lambda x, a, k: np.min(x, axis=a, keepdims=k), None),
    "ReduceL1": (lambda x, a, k: np.sum(np.abs(x), axis=a, keepdims=k), lambda x, a, k: np.sum(np.abs(x), axis=a, keepdims=k)),
    "ReduceL2": (lambda x, a, k: np.sqrt(np.sum(x * x, axis=a, keepdims=k)), lambda x, a, k: np.sqrt(np.sum(x * x, axis=a, keepdims=k))),
    "ReduceSumSquare": (lambda x, a, k: np.sum(x * x, axis=a, keepdims=k), lambda x, a, k: np.sum(x * x, axis=a, keepdims=k)),
    "ReduceLogSumExp": (_log_sum_exp, lambda x, a, k: np.abs(_log_sum_exp(x, a, k)) + 4),
    "ReduceProd": (lambda x, a, k: np.prod(x, axis=a, keepdims=k), lambda x, a, k: 8 * np.abs(np.prod(x, axis=a, keepdims=k))),
}


@op(8)
def reduction(b: Builder):
    if b.dtype in (F32, F16, BF16, F64, I32, I64) and (x := b.pick(rank=1)):
        kinds = list(REDUCE) if is_float(b.dtype) else ["ReduceSum", "ReduceMax", "ReduceMin"]
        kind, axes, keep = b.rng.choice(kinds), axes_of(b, x), b.rng.random() < 0.6
        if kind == "ReduceProd" and not b.case.ordinary:
            return  # Whether 0 meets an infinity depends on the order.
        function, sums = REDUCE[kind]
        where_to = b.constant(np.asarray([b.signed(a, x) for a in axes], I64))
        at = tuple(axes)
        b.add(kind, [x, where_to], lambda p, _: function(p, at, keep), roundings=2 if sums else 0,
              sums=sums and (lambda p, _: sums(p, at, keep)), keepdims=int(keep))


@op(2)
def arg_reduction(b: Builder):
    if b.dtype in (F32, F16, F64, I32, I64) and b.case.ordinary and (x := b.pick(rank=1)):
        axis, keep = b.axis(x), b.rng.random() < 0.5
        kind, function = b.rng.choice([("ArgMax", np.argmax), ("ArgMin", np.argmin)])
        b.add(kind, [x], lambda p: function(p, axis=axis, keepdims=keep), I64, axis=b.signed(axis, x), keepdims=int(keep))


@op(1)
def top_k(b: Builder):
    if b.dtype in (F32, F16, F64, I32, I64) and b.case.ordinary and (x := b.pick(rank=1)):
        axis = b.axis(x)
        count = b.rng.randint(1, b.shape_of(x)[axis])
        largest = b.rng.random() < 0.6

        def select(p, _):
            order = np.argsort(-p if largest else p, axis=axis, kind="stable")
            order = np.take(order, range(count), axis=axis)
            return np.take_along_axis(p, order, axis=axis), order

        b.add("TopK", [x, b.constant(np.asarray([count], I64))], select, [b.dtype_of(x), I64], roundings=0, axis=axis, largest=int(largest))


@op(1)
def cumulative_sum(b: Builder):
    if b.dtype in (F32, F64, I32, I64) and b.case.ordinary and (x := b.pick(rank=1)):
        axis = b.axis(x)
        b.add("CumSum", [x, b.constant(np.asarray(axis, I64))], lambda p, _: np.cumsum(p, axis=axis, dtype=p.dtype),
              sums=(lambda p, _: np.cumsum(np.abs(p), axis=axis)) if is_float(b.dtype) else None)


@op(0.5)
def quantize(b: Builder):
    """Round trip through int8: a scale that is a power of 2 keeps the divisions exact."""
    if b.dtype == F32 and (x := b.pick()):
        scale, zero = b.constant(np.asarray(0.125, F32)), b.constant(np.asarray(3, I8))
        made = b.add("QuantizeLinear", [x, scale, zero], lambda p, s, z: np.clip(np.rint(p / s) + z, -128, 127), I8)
        if made and b.rng.random() < 0.8:
            b.add("DequantizeLinear", [made[0], scale, zero], lambda p, s, z: (p.astype(np.float64) - z) * s, F32)
