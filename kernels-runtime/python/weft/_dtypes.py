"""Element types of the runtime and of numpy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import numpy as np

from ._library import Error

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# code: (name, numpy or ml_dtypes type name, bits in memory)
_TABLE = {
    1: ("f64", "float64", 64), 2: ("f32", "float32", 32), 3: ("f16", "float16", 16), 4: ("bf16", "bfloat16", 16),
    5: ("f8e4m3fn", "float8_e4m3fn", 8), 6: ("f8e4m3fnuz", "float8_e4m3fnuz", 8), 7: ("f8e5m2", "float8_e5m2", 8),
    8: ("f8e5m2fnuz", "float8_e5m2fnuz", 8), 9: ("f8e8m0fnu", "float8_e8m0fnu", 8), 10: ("f4e2m1fn", "float4_e2m1fn", 4),
    16: ("i64", "int64", 64), 17: ("i32", "int32", 32), 18: ("i16", "int16", 16), 19: ("i8", "int8", 8), 20: ("i4", "int4", 4),
    21: ("i2", "int2", 2), 32: ("ui64", "uint64", 64), 33: ("ui32", "uint32", 32), 34: ("ui16", "uint16", 16),
    35: ("ui8", "uint8", 8), 36: ("ui4", "uint4", 4), 37: ("ui2", "uint2", 2), 48: ("i1", "bool", 8),
}


def _find(name: str) -> np.dtype | None:
    try:
        return np.dtype(name)
    except TypeError:
        found = getattr(ml_dtypes, name, None)
        return None if found is None else np.dtype(found)


_NUMPY = {code: _find(name) for code, (_, name, _) in _TABLE.items()}
_CODES = {dtype: code for code, dtype in _NUMPY.items() if dtype is not None}


def name_of(code: int) -> str:
    return _TABLE[code][0]


def numpy_of(code: int) -> np.dtype:
    """The numpy type of a code; an Error if that takes an ml_dtypes which is not installed."""
    dtype = _NUMPY[code]
    if dtype is None:
        raise Error(3, f"element type {name_of(code)} needs the package ml_dtypes")
    return dtype


def code_of(dtype: np.dtype) -> int:
    try:
        return _CODES[np.dtype(dtype)]
    except KeyError:
        raise Error(2, f"element type {dtype} is not supported") from None


def code_of_name(name: str) -> int:
    for code, (known, _, _) in _TABLE.items():
        if known == name:
            return code
    raise Error(2, f"unknown element type {name}")


def is_packed(code: int) -> bool:
    """True for types below 8 bits, several of which share a byte of the runtime."""
    return _TABLE[code][2] < 8


def pack(array: np.ndarray, code: int) -> np.ndarray:
    """The array's memory as the runtime wants it: contiguous, and types below 8 bits packed, low bits first."""
    bits = _TABLE[code][2]
    if bits >= 8:
        return np.ascontiguousarray(array)
    fields = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    per_byte = 8 // bits
    fields = np.concatenate([fields, np.zeros(-len(fields) % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(fields << shifts, axis=1).astype(np.uint8)


def unpack(data: np.ndarray, code: int, dims: tuple[int, ...]) -> np.ndarray:
    """The inverse of `pack`: an array of shape `dims` from bytes; a copy."""
    bits = _TABLE[code][2]
    if bits >= 8:
        return data.view(numpy_of(code)).reshape(dims).copy()
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    fields = ((data[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:int(np.prod(dims, dtype=np.int64))].astype(np.uint8)
    if name_of(code).startswith("i"):  # ml_dtypes keeps signed fields sign-extended in their byte
        fields = ((fields.astype(np.int16) ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(np.int8).view(np.uint8)
    return fields.view(numpy_of(code)).reshape(dims).copy()
