"""The importer and the Reference evaluator in place of the compiler and the runtime: checks operators without code generation.

"Compiling" imports and normalizes a model (so decompositions are checked too); running is `weft-reference`.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
from typing import Callable, Mapping, Sequence

import numpy as np

from . import limits

# numpy's (or ml_dtypes') name of an MLIR element type.
DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i1": "bool", "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2": "float8_e5m2", "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn", **{f"i{n}": f"int{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"ui{n}": f"uint{n}" for n in (2, 4, 8, 16, 32, 64)},
}
_VALUE = re.compile(r'tensor<(?:[0-9?]+x)*([A-Za-z0-9]+)(?:, #tg\.dims<(?:[^<>]|->)*>)?>'
                    r'(?: \{[^}]*tg\.name = "((?:[^"\\]|\\.)*)"[^}]*\})?')


def dtype_of(element: str) -> np.dtype:
    import ml_dtypes
    name = DTYPES[element]
    return np.dtype(getattr(ml_dtypes, name, name))


def signature(module: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Element type and name of every argument and result of @main."""
    line = next(line for line in module.splitlines() if "func.func @main(" in line)
    arguments, _, results = line.partition(") -> ")
    return _VALUE.findall(arguments), _VALUE.findall(results)


class ReferenceBackend:
    """`weft-translate`, `weft-opt --weft-normalize` and `weft-reference` of a build folder."""

    name = "reference"

    def __init__(self, build: pathlib.Path, binding: Callable[[np.ndarray], str]):
        self.bin, self.binding = pathlib.Path(build).resolve() / "bin", binding
        self.weights = pathlib.Path(".")  # The folder of the last compiled model.

    def missing(self) -> str | None:
        """Why this backend cannot work, or None."""
        for tool in ("weft-translate", "weft-opt", "weft-reference"):
            if not (self.bin / tool).exists():
                return f"{self.bin / tool} is not built"
        return None

    def compile(self, model: pathlib.Path, bundle: pathlib.Path, binds: Mapping[str, np.ndarray] | None = None,
                extra: Sequence[str] = (), timeout: float = 60, memory_mb: int | None = None) -> limits.Outcome:
        imported = pathlib.Path(f"{bundle}.mlir")
        command = [str(self.bin / "weft-translate"), "--import-onnx", str(model), "-o", str(imported), *extra]
        command += [f"--bind={name}={self.binding(value)}" for name, value in (binds or {}).items()]
        outcome = limits.run(command, timeout=timeout, memory_mb=memory_mb)
        if outcome.code:
            return outcome
        self.weights = pathlib.Path(model).parent
        normalize = [str(self.bin / "weft-opt"), str(imported), "--weft-normalize", "-o", str(bundle)]
        return limits.run(normalize, timeout=timeout, memory_mb=memory_mb)

    def run(self, bundle: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        arguments, results = signature(bundle.read_text())
        with tempfile.TemporaryDirectory() as folder:
            command = [str(self.bin / "weft-reference"), str(bundle), "--output", folder, "--weights-dir", str(self.weights)]
            for element, name in arguments:
                path = pathlib.Path(folder) / f"input_{len(command)}.npy"
                np.save(path, np.asarray(feeds[name], order="C"))
                command += ["--input", str(path)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip())
            outputs = [np.load(pathlib.Path(folder) / f"output_{i}.npy") for i in range(len(results))]
        return [array.view(dtype_of(element)) if array.dtype.kind == "V" else array
                for array, (element, _) in zip(outputs, results)]
