"""Elementwise ops of every element type against numpy, special values and edge cases included."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import itertools
import math

import ml_dtypes
import numpy as np

from oracle import MLIR_NAMES, check, evaluate, finish, tensor_type

np.seterr(all="ignore")
INF, NAN = np.inf, np.nan
FLOATS = ["float64", "float32", "float16", "bfloat16"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, -7.75, 0.1, 1e-3, 88.0, -88.0, 100.0, -100.0, INF, -INF, NAN]


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


FLOAT_UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "reciprocal": lambda x: 1 / x, "ceil": np.ceil, "floor": np.floor,
    "round": np.rint, "trunc": np.trunc, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "erf": erf, "sigmoid": sigmoid, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}


def float_mod(x, y):
    return np.mod(x, y)


FLOAT_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": float_mod, "fmod": np.fmod,
    "max": np.maximum, "min": np.minimum, "pow": np.power,
}
CMP = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def ulps(name):
    """Two units in the last place of the type: numpy's own functions are not correctly rounded."""
    return {"float64": 1e-15, "float32": 2.4e-7, "float16": 2e-3, "bfloat16": 1.6e-2}[name]


def floats(name):
    x = np.array(SPECIAL).astype(dtype(name))
    one = tensor_type(x)
    wide = x.astype(np.float64)
    ops = list(FLOAT_UNARY) + ["is_nan", "is_inf"]
    body = "\n".join(f"%r{i} = tg.{op} %0 : {one}" for i, op in enumerate(ops))
    boolean = f"tensor<{x.size}xi1>"
    got = evaluate(body, [(f"%r{i}", one if op in FLOAT_UNARY else boolean) for i, op in enumerate(ops)], [x])
    for op, result in zip(ops, got):
        want = FLOAT_UNARY[op](wide).astype(x.dtype) if op in FLOAT_UNARY else {"is_nan": np.isnan, "is_inf": np.isinf}[op](wide)
        check(f"{op} {name}", result, want, rtol=ulps(name))
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL))).astype(dtype(name))
    x, y = pairs[:, 0].copy(), pairs[:, 1].copy()
    one, boolean = tensor_type(x), f"tensor<{x.size}xi1>"
    body = [f"%r{i} = tg.{op} %0, %1 : {one}, {one}" for i, op in enumerate(FLOAT_BINARY)]
    body += [f"%c{i} = tg.cmp {op} %0, %1 : {one}, {one}" for i, op in enumerate(CMP)]
    got = evaluate("\n".join(body), [(f"%r{i}", one) for i in range(len(FLOAT_BINARY))] +
                   [(f"%c{i}", boolean) for i in range(len(CMP))], [x, y])
    for (op, f), result in zip(FLOAT_BINARY.items(), got):
        check(f"{op} {name}", result, f(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype), rtol=ulps(name))
    for (op, f), result in zip(CMP.items(), got[len(FLOAT_BINARY):]):
        check(f"cmp {op} {name}", result, f(x, y))


def wrap(value, kind):
    info = np.iinfo(kind)
    return (value - info.min) % (1 << info.bits) + info.min


def trunc_div(x, y):
    return 0 if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


def int_pow(x, y, kind):
    if y >= 0:
        return pow(x, y, 1 << np.iinfo(kind).bits)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def shift_left(x, y, kind):
    bits = np.iinfo(kind).bits
    y %= 1 << bits
    return x << y if y < bits else 0


def shift_right(x, y, kind):
    bits = np.iinfo(kind).bits
    y %= 1 << bits
    return x >> min(y, bits) if np.iinfo(kind).min < 0 or y < bits else 0


INT_BINARY = {
    "add": lambda x, y, k: x + y, "sub": lambda x, y, k: x - y, "mul": lambda x, y, k: x * y,
    "div": lambda x, y, k: trunc_div(x, y), "mod": lambda x, y, k: x % y if y else 0,
    "fmod": lambda x, y, k: x - trunc_div(x, y) * y if y else 0, "max": lambda x, y, k: max(x, y),
    "min": lambda x, y, k: min(x, y), "pow": int_pow, "and": lambda x, y, k: x & y, "or": lambda x, y, k: x | y,
    "xor": lambda x, y, k: x ^ y, "shl": shift_left, "shr": shift_right,
}
INT_UNARY = {"neg": lambda x: -x, "abs": abs, "sign": lambda x: (x > 0) - (x < 0), "not": lambda x: ~x}


def integers(name):
    kind = np.dtype(name)
    info = np.iinfo(kind)
    values = sorted({v for v in (0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, -1, -2, -3, -7, -64, info.min, info.min + 1, info.max,
                                 info.max - 1) if info.min <= v <= info.max})
    pairs = list(itertools.product(values, values))
    x, y = (np.array([p[i] for p in pairs], dtype=kind) for i in range(2))
    one, boolean = tensor_type(x), f"tensor<{x.size}xi1>"
    body = [f"%r{i} = tg.{op} %0, %1 : {one}, {one}" for i, op in enumerate(INT_BINARY)]
    body += [f"%u{i} = tg.{op} %0 : {one}" for i, op in enumerate(INT_UNARY)]
    body += [f"%c{i} = tg.cmp {op} %0, %1 : {one}, {one}" for i, op in enumerate(CMP)]
    got = evaluate("\n".join(body), [(f"%r{i}", one) for i in range(len(INT_BINARY))] +
                   [(f"%u{i}", one) for i in range(len(INT_UNARY))] + [(f"%c{i}", boolean) for i in range(len(CMP))], [x, y])
    for (op, f), result in zip(INT_BINARY.items(), got):
        check(f"{op} {name}", result, np.array([wrap(f(a, b, kind), kind) for a, b in pairs], dtype=kind))
    for (op, f), result in zip(INT_UNARY.items(), got[len(INT_BINARY):]):
        check(f"{op} {name}", result, np.array([wrap(f(a), kind) for a, _ in pairs], dtype=kind))
    for (op, f), result in zip(CMP.items(), got[len(INT_BINARY) + len(INT_UNARY):]):
        check(f"cmp {op} {name}", result, f(x, y))


def booleans_and_broadcast():
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    ops = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
    body = [f"%r{i} = tg.{op} %0, %1 : tensor<4xi1>, tensor<4xi1>" for i, op in enumerate(ops)]
    body += [f"%c{i} = tg.cmp {op} %0, %1 : tensor<4xi1>, tensor<4xi1>" for i, op in enumerate(CMP)]
    body += ["%n = tg.not %0 : tensor<4xi1>"]
    got = evaluate("\n".join(body), [(f"%r{i}", "tensor<4xi1>") for i in range(3)] +
                   [(f"%c{i}", "tensor<4xi1>") for i in range(6)] + [("%n", "tensor<4xi1>")], [x, y])
    for (op, f), result in zip(list(ops.items()) + [("cmp " + k, v) for k, v in CMP.items()], got):
        check(f"{op} bool", result, f(x, y))
    check("not bool", got[-1], ~x)
    a = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    c = np.array([True, False, True])
    body = """%r = tg.sub %0, %1 : tensor<2x1x3xf32>, tensor<4x1x1x1xf32>
              %s = tg.select %2, %0, %1 : tensor<3xi1>, tensor<2x1x3xf32>, tensor<4x1x1x1xf32>
              %p = tg.is_inf %3 {negative = false} : tensor<4xf32>
              %n = tg.is_inf %3 {positive = false} : tensor<4xf32>
              %z = tg.is_inf %3 {positive = false, negative = false} : tensor<4xf32>"""
    e = np.array([INF, -INF, NAN, 3], dtype=np.float32)
    shape = "tensor<4x2x1x3xf32>"
    b = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1)
    got = evaluate(body, [("%r", shape), ("%s", shape), ("%p", "tensor<4xi1>"), ("%n", "tensor<4xi1>"), ("%z", "tensor<4xi1>")],
                   [a, b, c, e])
    check("broadcast sub", got[0], a - b)
    check("broadcast select", got[1], np.where(c, a, b))
    check("is_inf +", got[2], np.isposinf(e))
    check("is_inf -", got[3], np.isneginf(e))
    check("is_inf none", got[4], np.zeros(4, bool))
    check("empty", *evaluate("%r = tg.exp %0 : tensor<0x3xf32>", [("%r", "tensor<0x3xf32>")], [np.zeros((0, 3), np.float32)]),
          np.zeros((0, 3), np.float32))


for float_name in FLOATS:
    floats(float_name)
for int_name in INTS:
    integers(int_name)
booleans_and_broadcast()
assert set(MLIR_NAMES) >= set(FLOATS + INTS)
finish("elementwise")
