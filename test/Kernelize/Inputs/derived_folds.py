"""Every fold that the derivation accepts (fold_graphs.py), as one kernel: through --weft-kernelize with ragged steps, run by the tile interpreter,
against weft-reference on the graph as it was."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np

TEST = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TEST), str(TEST / "Dialect/TileGraph/Rewrite/Inputs")]
from fold_graphs import ACCEPTED, KEYS, Accepted, Graph  # noqa: E402
from harness.tile_interpreter import Kernel  # noqa: E402

# Orders are kernels of their own.
LEFT_OUT = ("softmax + top-k",)
STEP = 16


def call(command: list[str], module: str) -> str:
    done = subprocess.run(command, input=module, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}\n{module}"
    return done.stdout


def check(name: str, case: Accepted) -> None:
    graph = Graph("f32")
    results = case.build(graph)
    module = graph.module(*results)
    assert KEYS % STEP
    rng = np.random.default_rng(0)
    inputs = [np.asarray(rng.random(v.shape) < 0.7 if v.element == "i1" else rng.standard_normal(v.shape).astype(np.float32)) for v in graph.inputs]
    licence = "approximating" if case.numerics == "approximating" else "reassociating"
    derived = call(["weft-opt", f"--weft-derive-folds=when=proved numerics={licence}"], module)
    assert "tg.fold over" in derived, derived
    tile = [2] * (len(results[0].shape) - 1) + [8]
    schedule = (f'#tg.schedule<tile = {tile}, stream = [{STEP}], engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>')
    kernel = derived.replace("module {", f"module attributes {{tg.schedule = {schedule}}} {{").replace("@main", "@kernel")
    made = Kernel(call(["weft-opt", "-", "--weft-kernelize", "--mlir-print-op-generic"], kernel))
    got = [np.zeros(value.shape, np.float32) for value in results]
    made.run(inputs, got, [])
    folder = pathlib.Path(sys.argv[1])
    command = ["weft-reference", "-", "--output", str(folder)]
    for i, array in enumerate(inputs):
        np.save(folder / f"input_{i}.npy", array)
        command += ["--input", str(folder / f"input_{i}.npy")]
    call(command, module)
    for i, value in enumerate(got):
        want = np.load(folder / f"output_{i}.npy")
        error = np.abs(value - want).max() / np.abs(want).max()
        assert error < max(2e-5, case.tolerance), (name, error, value, want)


def main() -> None:
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    names = [name for name in ACCEPTED if name not in LEFT_OUT]
    for name in names:
        check(name, ACCEPTED[name])
        print(f"kernel: {name}")
    print(f"{len(names)} kernels: all equal")


main()
