"""Runs `tg` ops in weft-reference and compares with numpy. A case is MLIR text in which %0, %1, ... are the inputs."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

# MLIR's name of an element type, by numpy's.
MLIR_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "int4": "i4", "int2": "i2",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64", "uint4": "ui4", "uint2": "ui2",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU", "float4_e2m1fn": "f4E2M1FN",
}
DTYPES = {mlir: np.dtype(getattr(ml_dtypes, name, None) or name) for name, mlir in MLIR_NAMES.items()}


def tensor_type(array: np.ndarray) -> str:
    return "tensor<" + "".join(f"{n}x" for n in array.shape) + MLIR_NAMES[array.dtype.name] + ">"


def evaluate(body: str, results: list[tuple[str, str]], inputs: list[np.ndarray], prologue: str = "",
             argument_types: list[str] | None = None, options: list[str] = [], inner: str = "") -> list[np.ndarray]:
    """Runs `body`; `results` are pairs of value and type, `argument_types` replace the inputs' own. `prologue` heads the
    module, `inner` stands before @main."""
    types = argument_types or [tensor_type(a) for a in inputs]
    arguments = ", ".join(f"%{i}: {t}" for i, t in enumerate(types))
    names = ", ".join(name for name, _ in results)
    result_types = ", ".join(t for _, t in results)
    function = f"func.func @main({arguments}) -> ({result_types}) {{\n{body}\nreturn {names} : {result_types}\n}}\n"
    module = f"{prologue or 'module'} {{\n{inner}{function}}}\n"
    with tempfile.TemporaryDirectory() as folder:
        command = ["weft-reference", "-", "--output", folder, *options]
        for i, array in enumerate(inputs):
            path = Path(folder) / f"input_{i}.npy"
            np.save(path, np.asarray(array, order="C"))
            command += ["--input", str(path)]
        done = subprocess.run(command, input=module, text=True, capture_output=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr}\n{module}")
        arrays = []
        for i, (_, t) in enumerate(results):
            array = np.load(Path(folder) / f"output_{i}.npy")
            dtype = DTYPES[t[len("tensor<"):].split(",")[0].split(">")[0].split("x")[-1]]
            if array.dtype.kind == "V":
                array = array.view(dtype)
            assert array.dtype == dtype, (array.dtype, dtype)
            arrays.append(array)
        return arrays


_failures = 0


def check(what: str, got: np.ndarray, want: np.ndarray, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Compares; NaN equals NaN. Without tolerances the values must be equal."""
    global _failures
    want = np.asarray(want)
    problem = None
    if got.shape != want.shape or got.dtype != want.dtype:
        problem = f"expected {want.dtype}{want.shape}, got {got.dtype}{got.shape}"
    else:
        exact = got.dtype.kind in "biu" or got.dtype.name in ("int4", "uint4", "int2", "uint2")
        a, b = (got, want) if exact and got.dtype.kind in "biu" else (got.astype(np.float64), want.astype(np.float64))
        with np.errstate(all="ignore"):
            close = (a == b) if exact else np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if not close.all():
            where = tuple(np.argwhere(~close)[0])
            problem = f"{(~close).sum()} of {want.size} differ; first at {where}: expected {want[where]}, got {got[where]}"
    if problem:
        _failures += 1
        print(f"FAIL {what}: {problem}")


def finish(what: str) -> None:
    if _failures:
        raise SystemExit(f"{_failures} failures")
    print(f"{what}: all equal")
