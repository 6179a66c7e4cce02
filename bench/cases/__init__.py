"""The benchmark's cases: each one function over an `Ops`, which writes the ONNX graph, computes with numpy, or computes with PyTorch.

    case = cases.find("gemm_*")[0]
    case.model("bf16")                      # the ONNX graph, as an exporter writes it
    case.reference(case.draw("bf16"))       # its value in f64
    case.forward(torch_ops.TorchOps(...))   # what PyTorch runs beside it

Names, sizes and floors are those of the table of times to beat (one H100, bf16); `case.small` is the same graph at a size that a CPU or
the PTX emulator computes in a moment.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import fnmatch
from typing import Iterable

from . import attention, blocks, matrix, networks, rows
from .case import DTYPES, Case

CASES: dict[str, Case] = {case.name: case for module in (matrix, attention, rows, blocks, networks) for case in module.CASES}


def find(patterns: str | None = None, among: Iterable[Case] = CASES.values()) -> list[Case]:
    """The cases that match one of the comma-separated globs; all of them without any."""
    globs = patterns.split(",") if patterns else ["*"]
    return [case for case in among if any(fnmatch.fnmatchcase(case.name, g) for g in globs)]


__all__ = ["CASES", "Case", "DTYPES", "find"]
