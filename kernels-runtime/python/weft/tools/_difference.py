"""How far two tensors are from each other."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses

import numpy as np

# Relative L2 errors that the order of a sum and the rounding of f32 accumulators explain, by element type; others must be the same.
BOUNDS = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2, "float8_e4m3fn": 0.2, "float8_e5m2": 0.4}


@dataclasses.dataclass(frozen=True)
class Difference:
    """`relative` is |a - b| / |b| in the Euclidean norm. Of what is not comparable `problem` says why."""
    relative: float
    bound: float
    worst: tuple[int, ...] = ()
    got: object = None
    want: object = None
    problem: str = ""

    @property
    def is_over(self) -> bool:
        return bool(self.problem) or self.relative > self.bound

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        text = f"relative L2 {self.relative:.3g} (bound {self.bound:.3g})"
        if self.relative:
            text += f", most at {list(self.worst)}: {self.got}, expected {self.want}"
        return text


def measure(got: np.ndarray, want: np.ndarray, bound: float | None) -> Difference:
    limit = BOUNDS.get(want.dtype.name, 0.0) if bound is None else bound
    if got.shape != want.shape or got.dtype != want.dtype:
        return Difference(np.inf, limit, problem=f"{describe(got)}, expected {describe(want)}")
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    delta = np.where(same, 0.0, np.where(finite, np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)), np.inf))
    if not delta.size or not delta.max():
        return Difference(0.0, limit)
    norm = np.sqrt(np.square(np.where(np.isfinite(b), b, 0.0)).sum())
    total = np.sqrt(np.square(delta).sum())
    worst = tuple(int(i) for i in np.unravel_index(int(delta.argmax()), delta.shape))
    return Difference(float(total / norm) if norm else np.inf, limit, worst, got[worst], want[worst])


def describe(array: np.ndarray) -> str:
    return "x".join(map(str, (*array.shape, array.dtype.name)))
