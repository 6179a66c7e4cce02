"""Comparison of results: ONNX's own element-wise rule, and the relative L2 error used for whole models."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

from typing import Sequence

import numpy as np

# numpy's own kinds; what remains comes from ml_dtypes (bf16, f8, i4, ...) and is compared as f32, which holds it exactly.
_NUMPY_KINDS = "biufcSUO"


def mismatch(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> str | None:
    """None when `got` matches as onnx.backend.test.runner demands (shape, dtype, |got - want| <= atol + rtol * |want|)."""
    if got.shape != want.shape:
        return f"expected shape {want.shape}, got {got.shape}"
    if got.dtype != want.dtype:
        return f"expected dtype {want.dtype}, got {got.dtype}"
    if want.dtype == object or want.dtype.kind in "SU":
        return None if np.array_equal(got, want) else "strings differ"
    if want.dtype.name == "bfloat16":
        rtol = max(rtol, 2**-6)  # As ONNX's runner: two bf16 ulps.
    if want.dtype.name in ("bfloat16",) or want.dtype.kind not in _NUMPY_KINDS:
        got, want = got.astype(np.float32), want.astype(np.float32)
    with np.errstate(all="ignore"):
        close = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    where = tuple(int(i) for i in np.argwhere(~close)[0])
    text = f"{int((~close).sum())} of {want.size} values differ; first at {list(where)}: expected {want[where]}, got {got[where]}"
    if want.dtype.kind == "f" and np.array_equal(np.isfinite(got), np.isfinite(want)):
        far = ~close & np.isfinite(want)
        text += f"; largest difference {np.abs(got[far].astype(np.float64) - want[far].astype(np.float64)).max(initial=0):.3e}"
    return text


def mismatches(got: Sequence[np.ndarray], want: Sequence[np.ndarray], rtol: float, atol: float) -> str | None:
    """The first mismatch of two result lists, or None."""
    if len(got) != len(want):
        return f"expected {len(want)} outputs, got {len(got)}"
    for index, (a, b) in enumerate(zip(got, want)):
        if isinstance(b, (list, tuple)):
            if not isinstance(a, (list, tuple)):
                return f"output {index}: expected a sequence, got {type(a).__name__}"
            problem = mismatches(a, b, rtol, atol)
        else:
            problem = mismatch(np.asarray(a), np.asarray(b), rtol, atol)
        if problem:
            return f"output {index}: {problem}"
    return None


def relative_l2(got: np.ndarray, want: np.ndarray) -> float:
    """||got - want|| / ||want|| in f64; infinite when shapes differ or exactly one of the two holds a NaN or infinity somewhere."""
    if got.shape != want.shape:
        return float("inf")
    a, b = got.astype(np.float64).ravel(), want.astype(np.float64).ravel()
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)):
        return float("inf")
    a, b = a[finite], b[finite]
    norm = float(np.linalg.norm(b))
    error = float(np.linalg.norm(a - b))
    return error / norm if norm else (0.0 if error == 0 else float("inf"))
