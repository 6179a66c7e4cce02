"""What the derivation of folds must accept and refuse (fold_graphs.py), and the law of the folds that it makes.

An accepted graph is derived, and its fold unrolled into 1 and 5 steps, and into 3 parts that are merged: each must give what the graph gives,
to 1e-11 in f64, where nothing but the algebra can be wrong; in f32 within its own rounding; and on edge inputs (masked rows, zeros, infinities, large
numbers) the same NaNs and infinities.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import subprocess
import sys
import tempfile
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

from fold_graphs import ACCEPTED, REFUSED, Accepted, Graph

DTYPES = {"f64": np.float64, "f32": np.float32, "i1": np.bool_}
UNROLLED = ("steps=1", "steps=5", "steps=3 merge")


def call(command: list[str], module: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, input=module, text=True, capture_output=True, timeout=120)


def optimise(module: str, *passes: str) -> str:
    done = call(["weft-opt", *passes], module)
    if done.returncode:
        raise AssertionError(f"weft-opt {' '.join(passes)}: {done.stderr}\n{module}")
    return done.stdout


def evaluate(module: str, inputs: list[np.ndarray]) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        command = ["weft-reference", "-", "--output", folder]
        for i, array in enumerate(inputs):
            np.save(Path(folder) / f"input_{i}.npy", array)
            command += ["--input", str(Path(folder) / f"input_{i}.npy")]
        done = call(command, module)
        if done.returncode:
            raise AssertionError(f"weft-reference: {done.stderr}\n{module}")
        return np.load(Path(folder) / "output_0.npy").astype(np.float64)


def draw(graph: Graph, rng: np.random.Generator) -> list[np.ndarray]:
    return [np.asarray(rng.random(v.shape) < 0.7 if v.element == "i1" else rng.standard_normal(v.shape)).astype(DTYPES[v.element])
            for v in graph.inputs]


def edges(graph: Graph, rng: np.random.Generator) -> list[list[np.ndarray]]:
    """Inputs with rows of one kind each; the mask of a row may leave nothing."""
    found = []
    for kinds in ([0.0, -0.0, 1e-30, 3.0], [np.inf, -np.inf, np.nan, 1.0], [-np.inf] * 4):
        inputs = draw(graph, rng)
        for array in inputs[:1] + [a for a in inputs[1:] if a.ndim == 2 and a.shape == (6, 24)]:
            if array.dtype == np.bool_:
                array[1, :] = False
                array[2, :16] = False
            elif array.ndim == 2:
                array[1, :], array[2, 3], array[3, 20:], array[4, :5] = kinds
                array[5, :] *= 1e15  # Squares stay finite, exponentials do not.
        found.append(inputs)
    return found


def same(name: str, want: np.ndarray, got: np.ndarray, tolerance: float, scale: float | None = None) -> None:
    finite = np.isfinite(want)
    if not np.array_equal(np.where(finite, 0, want), np.where(finite, 0, got), equal_nan=True):
        raise AssertionError(f"{name}: expected\n{want}\ngot\n{got}")
    if scale is None:
        scale = np.abs(want[finite]).max(initial=1e-30)
    error = np.abs(want[finite] - got[finite]).max(initial=0) / scale
    if not error <= tolerance:
        raise AssertionError(f"{name}: relative error {error:.1e}, expected at most {tolerance:.0e}\n{want}\n{got}")


def accept(name: str, case: Accepted, rng: np.random.Generator) -> None:
    options = f"--weft-derive-folds=when=proved numerics={'approximating' if case.numerics == 'approximating' else 'reassociating'}"
    for element, tolerance in (("f64", case.tolerance), ("f32", max(case.tolerance, 2e-5))):
        graph = Graph(element)
        module = graph.module(*case.build(graph))
        derived = optimise(module, options)
        if derived.count("tg.fold over") != case.folds or f'tg.numerics = "{case.numerics}"' not in derived:
            raise AssertionError(f"{name}: expected {case.folds} {case.numerics} fold, got\n{derived}")
        if left := [line for line in derived.splitlines() if "tg.reduce " in line and "tg.streamed" not in line]:
            raise AssertionError(f"{name}: expected no reduction beside the fold, got {left}")
        inputs = draw(graph, rng)
        wanted = [(inputs, evaluate(module, inputs), tolerance)]
        if element == "f32" and case.numerics != "approximating":
            wanted += [(edge, evaluate(module, edge), 1e-3) for edge in edges(graph, rng)]
        for unrolled in UNROLLED:
            plain = optimise(derived, f"--weft-unroll-folds={unrolled}")
            if "tg.fold" in plain:
                raise AssertionError(f"{name}: expected no fold after unrolling with {unrolled}")
            for number, (arrays, want, most) in enumerate(wanted if unrolled != "steps=1" else wanted[:1]):
                same(f"{name} {element} {unrolled} inputs {number}", want, evaluate(plain, arrays), most)


def refuse(name: str, build, reason: str) -> None:
    graph = Graph("f32")
    module = graph.module(*build(graph))
    done = call(["weft-opt", "--weft-derive-folds=when=proved", "--remarks-filter=fold", "--remark-format=emitRemark"], module)
    if done.returncode or reason not in done.stderr or "tg.fold over" in done.stdout:
        raise AssertionError(f"{name}: expected a refusal with \"{reason}\", got\n{done.stderr}\n{done.stdout}")


def cancelling() -> None:
    """Rows far from 0 and close together: sums of squares would cancel, sums of deviations from the mean so far do not."""
    for name in ("variance", "LayerNorm + matmul"):
        results = {}
        for element in ("f64", "f32"):
            graph = Graph(element)
            module = graph.module(*ACCEPTED[name].build(graph))
            inputs = draw(graph, np.random.default_rng(5))
            inputs[0] = (inputs[0] + 4096).astype(np.float32).astype(DTYPES[element])
            if element == "f64":
                results[element] = evaluate(module, inputs)
                continue
            plain = optimise(module, "--weft-derive-folds=when=proved", "--weft-unroll-folds=steps=6")
            same(f"{name} far from 0", results["f64"], evaluate(plain, inputs), 2e-3)


def check(name: str) -> str:
    if name in ACCEPTED:
        accept(name, ACCEPTED[name], np.random.default_rng(0))
        return f"accepted: {name}"
    refuse(name, *REFUSED[name])
    return f"refused: {name}"


def main() -> None:
    names = [name for name in [*ACCEPTED, *REFUSED] if name in (sys.argv[1:] or [*ACCEPTED, *REFUSED])]
    with ThreadPool(4) as pool:
        for line in pool.imap(check, names):
            print(line, flush=True)
    cancelling()
    print("derived folds: all hold")


main()
