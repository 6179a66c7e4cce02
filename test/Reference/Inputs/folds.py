"""Attention graphs before and after --weft-derive-folds, evaluated by weft-reference."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

GRAPH = """
func.func @main(%q: tensor<2x4x8xT>, %k: tensor<2x16x8xT>, %v: tensor<2x16x8xT>, %mask: tensor<4x16xT>) -> tensor<4x2x8xT> {
  %zero = tg.constant dense<0.0> : tensor<T>
  %s = tg.contract %q, %k [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>,
       affine_map<(h, i, j, d) -> (h, i, j)>] : tensor<2x4x8xT>, tensor<2x16x8xT> -> tensor<2x4x16xT>
  %u = tg.add %s, %mask : tensor<2x4x16xT>, tensor<4x16xT>
  %m = tg.reduce max %u axes = [2] keep_dims : tensor<2x4x16xT>
  %c = tg.sub %u, %m : tensor<2x4x16xT>, tensor<2x4x1xT>
  %e = tg.exp %c : tensor<2x4x16xT>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<2x4x16xT>
  %p = tg.div %e, %l : tensor<2x4x16xT>, tensor<2x4x1xT>
  %n = tg.is_nan %p : tensor<2x4x16xT>
  %g = tg.select %n, %zero, %p : tensor<2x4x16xi1>, tensor<T>, tensor<2x4x16xT>
  %o = tg.contract %USED, %v [affine_map<(h, i, n, j) -> (h, i, j)>, affine_map<(h, i, n, j) -> (h, j, n)>,
       affine_map<(h, i, n, j) -> (i, h, n)>] : tensor<2x4x16xT>, tensor<2x16x8xT> -> tensor<4x2x8xT>
  return %o : tensor<4x2x8xT>
}
"""


def run(module: str, inputs: list[np.ndarray]) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        command = ["weft-reference", "-", "--output", folder]
        for i, array in enumerate(inputs):
            np.save(Path(folder) / f"input_{i}.npy", array)
            command += ["--input", str(Path(folder) / f"input_{i}.npy")]
        subprocess.run(command, input=module, text=True, check=True, timeout=120)
        return np.load(Path(folder) / "output_0.npy")


def check_split(rng: np.random.Generator, places: int) -> None:
    """A fold in parts against the same fold whole; some parts, and one row, are masked."""
    graph = (GRAPH.replace("16x", f"{places}x").replace("x16", f"x{places}").replace("xT>", "xf32>")
             .replace("tensor<T>", "tensor<f32>").replace("%USED", "%g"))
    passes = ["--weft-derive-folds", "--weft-split-folds=target=sm_90a"]
    split = subprocess.run(["weft-opt", *passes], input=graph, text=True, check=True, capture_output=True).stdout
    assert split.count("tg.fold over") == 2 and split.count("parts of 64") == 1
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 4, 8), (2, places, 8), (2, places, 8), (4, places))]
    inputs[3][1, 300:] = -np.inf
    inputs[3][2, :] = -np.inf
    want = run(graph, inputs).astype(np.float64)
    # As chosen, more parts than units (some are empty), and one part.
    chosen = re.search(r" in (\d+) parts of 64 ", split)[1]
    for parts in (chosen, "97", "1"):
        text = split.replace(f"in {chosen} parts", f"in {parts} parts").replace(f"tensor<{chosen}x", f"tensor<{parts}x")
        text = text.replace(f"() -> ({chosen})>", f"() -> ({parts})>")
        got = run(text, inputs).astype(np.float64)
        assert np.isfinite(got).all() and np.abs(want - got).max() < 2e-6, (parts, np.abs(want - got).max())


def main() -> None:
    rng = np.random.default_rng(0)
    for element, dtype, tolerance in (("f32", np.float32, 2e-6), ("f16", np.float16, 4e-3)):
        for used in ("p", "g"):
            graph = GRAPH.replace("xT>", f"x{element}>").replace("tensor<T>", f"tensor<{element}>").replace("%USED", "%" + used)
            folded = subprocess.run(["weft-opt", "--weft-derive-folds"], input=graph, text=True, check=True,
                                    capture_output=True).stdout
            assert "tg.fold over" in folded
            inputs = [rng.standard_normal(shape).astype(dtype) for shape in ((2, 4, 8), (2, 16, 8), (2, 16, 8), (4, 16))]
            inputs[3][1, 3:] = -np.inf
            inputs[3][2, :] = -np.inf  # A row that is masked as a whole.
            want, got = run(graph, inputs).astype(np.float64), run(folded, inputs).astype(np.float64)
            assert np.array_equal(np.isnan(want), np.isnan(got)), (element, used)
            assert np.isnan(want).any() == (used == "p")
            difference = np.nanmax(np.abs(want - got))
            assert difference < tolerance, (element, used, difference)
    for places in (4096, 4099, 2053):
        check_split(rng, places)
    print("folds: all equal")


main()
