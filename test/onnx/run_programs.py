#!/usr/bin/env python3
"""Extents that are data, loops, branches and recurrences: each graph of programs.txt is compiled once and run at several sizes.

    run_programs.py [--build=build] [--filter=GLOB,...] [--target=sm_80] [--device=emu:sm_80] [--json=FILE]

Results are compared with onnxruntime's, without its optimisations, or with a formula of formulas.py: shapes exactly, floats within 1e-4 relative L2 or what the program says, the rest equal.
What onnxruntime refuses at a size, Weft must refuse too.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import re
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402

import formulas  # noqa: E402
from harness import limits  # noqa: E402

MEMORY_LIMIT = 1 << 30  # An emulated GPU has the memory of a GPU, which the machine that emulates it may not have.
DTYPES = {"float": np.float32, "int64": np.int64, "bool": np.bool_, "int32": np.int32}
# Bytes from all of their bits, but not so large that onnxruntime's products of 8 bits saturate on old processors.
RANGES = {"bool": (0, 2), "uint8": (0, 128), "int8": (-60, 60)}


@dataclasses.dataclass
class Program:
    name: str
    signature: str  # ONNX text: inputs => outputs
    runs: list[str]  # One a size: values, `x=random[2 3]; y=1 2 3; z=5` (a scalar); w=5 [] (one element)
    body: str
    within: float = 1e-4  # Relative L2 error of floats; more where onnxruntime rounds what Weft does not.
    opset: int = 18
    refused: tuple[str, ...] = ()  # Sizes that must be an error, whatever onnxruntime makes of them: it may ask for all memory.
    formula: str = ""  # Of formulas.py, where onnxruntime cannot tell.
    buffers: tuple[tuple[str, str], ...] = ()  # Outputs that onnxruntime's kernel writes into an input.

    def model(self) -> onnx.ModelProto:
        imports = f'"" : {self.opset}, "com.microsoft" : 1, "ai.onnx.ml" : 3'
        text = f'<ir_version: 8, opset_import: [{imports}]> {self.name} {self.signature} {{ {self.body} }}'
        return onnx.parser.parse_model(text)

    def inputs(self, run: str, model: onnx.ModelProto) -> dict:
        rng = np.random.default_rng(zlib.crc32((self.name + run).encode()))
        given = dict(part.lstrip().split("=", 1) for part in re.split("[;,]", run))
        result = {}
        for info in model.graph.input:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
            result[info.name] = make(given[info.name], dtype, rng)
        return result


def make(text: str, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    is_vector = text.endswith("[]")
    text = text.removesuffix("[]").strip()
    found = re.fullmatch(r"random\[([\d ]*)\]", text)
    if found:
        shape = [int(extent) for extent in found.group(1).split()]
        low, high = RANGES.get(dtype.name, (0, 4))
        values = rng.standard_normal(shape) if dtype.kind in "fV" else rng.integers(low, high, shape)
        return np.asarray(values).astype(dtype)
    numbers = [float(word) if dtype.kind == "f" else int(word) for word in text.split()]
    return np.array(numbers if is_vector or len(numbers) != 1 else numbers[0], dtype=dtype)


def read(path: pathlib.Path) -> list[Program]:
    """Blocks, separated by empty lines: a line `NAME (inputs) => (outputs)`, lines `run: ...` and `refused: ...`, perhaps one
    `within: ERROR`, `opset: N`, `formula: NAME` or `buffers: OUTPUT=INPUT ...`, the nodes."""
    programs = []
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            continue
        name, signature = lines[0].split(" ", 1)
        runs = [line[4:].lstrip() for line in lines[1:] if line.startswith("run:")]
        within = [float(line[7:]) for line in lines[1:] if line.startswith("within:")]
        opset = [int(line[6:]) for line in lines[1:] if line.startswith("opset:")]
        buffers = [tuple(pair.split("=")) for line in lines[1:] if line.startswith("buffers:") for pair in line[8:].split()]
        body = "\n".join(line for line in lines[1:] if not line.startswith(("run:", "within:", "opset:", "buffers:", "refused:", "formula:")))
        formula = "".join(line[8:].strip() for line in lines[1:] if line.startswith("formula:"))
        refused = tuple(line[8:].lstrip() for line in lines[1:] if line.startswith("refused:"))
        programs.append(Program(name, signature, runs, body, *within or [1e-4], *opset or [18], refused, formula, tuple(buffers)))
    return programs


def difference(want: np.ndarray, got: np.ndarray, within: float) -> str:
    if want.shape != got.shape:
        return f"expected shape {want.shape}, got {got.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(want, got) else f"expected {want.ravel()[:8]}, got {got.ravel()[:8]}"
    want, got = want.astype(np.float64), got.astype(np.float64)
    error = np.linalg.norm((want - got).ravel()) / max(np.linalg.norm(want.ravel()), 1e-30) if want.size else 0.0
    return "" if error <= within else f"relative error {error:.1e}"


def make_reference(program: Program, path: pathlib.Path) -> ort.InferenceSession | None:
    if program.formula:
        return None
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def expected(program: Program, reference: ort.InferenceSession | None, inputs: dict) -> list[np.ndarray]:
    if program.formula:
        return getattr(formulas, program.formula)(**inputs)
    if not program.buffers:
        return reference.run(None, inputs)
    binding, copies = reference.io_binding(), {name: value.copy() for name, value in inputs.items()}  # Its values may share this memory.
    given = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in copies.items()}
    for name, value in given.items():
        binding.bind_ortvalue_input(name, value)
    for output in reference.get_outputs():
        shared = dict(program.buffers).get(output.name)
        binding.bind_ortvalue_output(output.name, given[shared]) if shared else binding.bind_output(output.name)
    reference.run_with_iobinding(binding)
    return [value.numpy().copy() for value in binding.get_outputs()]


def check(program: Program, arguments: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    import weft

    model = program.model()
    path, bundle = folder / f"{program.name}.onnx", folder / f"{program.name}.weft"
    onnx.save(model, path)
    command = [str(ROOT / arguments.build / "bin" / "weft-compile"), str(path), "-o", str(bundle), "--quiet"]
    command += [f"--target={arguments.target}"] if arguments.target else []
    outcome = limits.run(command, timeout=120, memory_mb=4096)
    if outcome.code != 0:
        return [f"{program.name}: refused: {outcome.stderr.strip()[:300]}"]
    reference = make_reference(program, path)
    session = weft.Session(str(bundle), device=arguments.device or "cpu", memory_limit=MEMORY_LIMIT)
    failures = []
    for run in program.refused:
        try:
            session.run(program.inputs(run, model))
            failures.append(f"{program.name} ({run}): expected an error")
        except weft.Error:
            pass
    for run in program.runs:
        inputs = program.inputs(run, model)
        try:
            want = expected(program, reference, inputs)
        except Exception:  # onnxruntime's own classes of exceptions are not public
            want = None
        try:
            taken = {port.name for port in session.inputs}
            got = session.run({name: value for name, value in inputs.items() if name in taken})
        except weft.Error as error:
            if want is not None:
                failures.append(f"{program.name} ({run}): {error}")
            continue
        if want is None:
            failures.append(f"{program.name} ({run}): expected an error, as of onnxruntime")
            continue
        for info, value in zip(model.graph.output, want):
            if text := difference(value, np.asarray(got[info.name]), program.within):
                failures.append(f"{program.name} ({run}): output `{info.name}`: {text}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--filter", default="*")
    parser.add_argument("--target", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    arguments = parser.parse_args()
    if arguments.target and not arguments.device:
        arguments.device = f"emu:{arguments.target}"
    import weft

    weft.load_library(str(ROOT / arguments.build / "lib"))
    patterns = arguments.filter.split(",")
    programs = [p for p in read(HERE / "programs.txt") if any(fnmatch.fnmatch(p.name, pattern) for pattern in patterns)]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            failures += check(program, arguments, pathlib.Path(folder))
    print("\n".join(failures + [f"{len(programs)} programs, {sum(len(p.runs) for p in programs)} runs, {len(failures)} failures"]))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        runs = sum(len(program.runs) for program in programs)
        arguments.json.write_text(json.dumps({"schema": "weft.programs/1", "passed": runs - len(failures), "failed": len(failures), "skipped": 0}))
    return 1 if failures or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
