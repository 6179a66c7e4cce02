"""Scalar ops of `arith` and `math` on numpy arrays: what the bodies of `tk.map`, `tk.reduce`, `tk.scan` and `tk.sort` hold."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math
import re

import ml_dtypes
import numpy as np

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8,
          "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64}


def unsigned(x: np.ndarray) -> np.ndarray:
    """The bits of a signless integer, read as an unsigned one."""
    return x.astype(np.uint8) if x.dtype == np.bool_ else x.view(np.dtype("u" + x.dtype.name))


def signless(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    return x.astype(np.bool_) if like.dtype == np.bool_ else x.view(like.dtype)


def parse_number(text: str):
    """An attribute such as `1.0 : f32`, `0xFC00 : f16`, `true`, `7 : i64`."""
    if text in ("true", "false"):
        return np.bool_(text == "true")
    value, kind = (part.strip() for part in text.rsplit(":", 1))
    if kind == "i1":
        return np.bool_(value not in ("0", "false"))
    if kind[0] == "i":
        return DTYPES[kind](int(value))
    if value.startswith("0x"):
        bits = np.dtype(DTYPES[kind]).itemsize * 8
        return np.array(int(value, 16), f"uint{bits}").view(DTYPES[kind])[()]
    return DTYPES[kind](float(value))


def _compare_integers(op, x, y):
    predicate = int(op.attributes["predicate"].split(":")[0])
    if predicate >= 6:
        x, y, predicate = unsigned(x), unsigned(y), predicate - 4
    return [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal][predicate](x, y)


def _compare_floats(op, x, y):
    predicate = int(op.attributes["predicate"].split(":")[0])
    unordered = np.isnan(x) | np.isnan(y)
    relations = [np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal]
    if predicate in (0, 15):
        return np.full(np.shape(unordered), predicate == 15)
    if predicate in (7, 14):
        return ~unordered if predicate == 7 else unordered
    if predicate < 7:
        return relations[predicate - 1](x, y) & ~unordered
    return relations[predicate - 8](x, y) | unordered


def _divide(op, x, y):
    """Division and remainder that round toward zero."""
    a, b = (unsigned(x), unsigned(y)) if op.name.endswith("ui") else (x, y)

    def one(p, q):
        quotient = abs(int(p)) // abs(int(q)) if q else 0
        quotient = -quotient if (p < 0) != (q < 0) else quotient
        return quotient if "div" in op.name else int(p) - quotient * int(q)

    return signless(np.vectorize(one, otypes=[object])(a, b).astype(a.dtype), x)


def _extend_unsigned(op, x, result):
    return x.astype(result) if x.dtype == np.bool_ else unsigned(x).astype("u" + np.dtype(result).name).view(result)


def _extend_signed(op, x, result):
    return -x.astype(result) if x.dtype == np.bool_ else x.astype(result)


def _truncate(op, x, result):
    return (x & 1).astype(np.bool_) if result is np.bool_ else x.astype(result)


def _by_bits(fn):
    return lambda op, x, y: signless(fn(unsigned(x), unsigned(y)), x)


def _plain(fn):
    return lambda op, *operands: fn(*operands)


def _convert(op, x, result):
    return x.astype(result)


OPERATIONS = {
    "addf": _plain(np.add), "addi": _plain(np.add), "subf": _plain(np.subtract), "subi": _plain(np.subtract), "mulf": _plain(np.multiply),
    "muli": _plain(np.multiply), "divf": _plain(np.divide), "negf": _plain(np.negative), "remf": _plain(np.fmod),
    "maximumf": _plain(np.maximum), "minimumf": _plain(np.minimum), "maxnumf": _plain(np.fmax), "minnumf": _plain(np.fmin),
    "maxsi": _plain(np.maximum), "minsi": _plain(np.minimum), "maxui": _by_bits(np.maximum), "minui": _by_bits(np.minimum),
    "andi": _plain(np.bitwise_and), "ori": _plain(np.bitwise_or), "xori": _plain(np.bitwise_xor), "shli": _plain(np.left_shift),
    "shrsi": _plain(np.right_shift), "shrui": _by_bits(np.right_shift), "cmpi": _compare_integers, "cmpf": _compare_floats,
    "divsi": _divide, "divui": _divide, "remsi": _divide, "remui": _divide, "ceildivui": _plain(lambda x, y: -(-x // y)),
    "select": _plain(lambda c, x, y: np.where(c, x, y).astype(x.dtype)),
}
CONVERSIONS = {
    "extf": _convert, "truncf": _convert, "sitofp": _convert, "fptosi": _convert, "index_cast": _convert, "trunci": _truncate,
    "extsi": _extend_signed, "extui": _extend_unsigned, "uitofp": lambda op, x, result: unsigned(x).astype(result),
    "fptoui": lambda op, x, result: x.astype("u" + np.dtype(result).name).view(result),
    "bitcast": lambda op, x, result: x.view(result),
}
FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype), "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "absf": np.abs, "absi": np.abs, "floor": np.floor, "ceil": np.ceil, "roundeven": np.rint, "trunc": np.trunc,
    "copysign": np.copysign, "powf": np.power, "isnan": np.isnan,
    "erf": lambda x: np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64)).astype(x.dtype),
    "fma": lambda x, y, z: (x.astype(np.float64) * y + z).astype(x.dtype),
}


def evaluate(op, operands: list, result_type: str):
    """The result of one scalar op, place by place. `op` has `name` and `attributes`."""
    dialect, _, name = op.name.partition(".")
    arrays = [np.asarray(x) for x in operands]
    with np.errstate(all="ignore"):
        if name == "constant":
            value = op.attributes["value"]
            return int(re.match(r"-?\d+", value)[0]) if result_type == "index" else parse_number(value)
        if dialect == "math" and name in FUNCTIONS:
            return FUNCTIONS[name](*arrays)
        if name in CONVERSIONS:
            return CONVERSIONS[name](op, arrays[0], DTYPES[result_type])
        if name in OPERATIONS:
            return OPERATIONS[name](op, *arrays)
    raise NotImplementedError(op.name)
