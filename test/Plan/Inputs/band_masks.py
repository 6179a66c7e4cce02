"""Attention with a constant causal mask: run by the emulator, compared with the Reference, and its matrix instructions counted.

For each number that masks, -inf and the least f32: both become comparisons, of which kernels leave out masked steps. The same attention
with a mask that keeps all but one scattered place has every step.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HEADS, ROWS, DEPTH = 2, 256, 64
MAPS = {letters: ", ".join(f"affine_map<(b, m, n, k) -> ({', '.join(side)})>" for side in letters.split()) for letters in ("bmk bnk bmn", "bmk bkn bmn")}


def program(mask: np.ndarray) -> str:
    q, s, p = f"{HEADS}x{ROWS}x{DEPTH}xf16", f"{HEADS}x{ROWS}x{ROWS}xf32", f"{HEADS}x{ROWS}x{ROWS}xf16"
    row, out = f"{HEADS}x{ROWS}x1xf32", f"{HEADS}x{ROWS}x{DEPTH}xf32"
    return f"""func.func @main(%q: tensor<{q}>, %k: tensor<{q}>, %v: tensor<{q}>) -> tensor<{out}> {{
  %mask = tg.constant dense<"0x{mask.astype(np.float32).tobytes().hex().upper()}"> : tensor<1x{ROWS}x{ROWS}xf32>
  %s = tg.contract %q, %k [{MAPS["bmk bnk bmn"]}] : tensor<{q}>, tensor<{q}> -> tensor<{s}>
  %x = tg.add %s, %mask : tensor<{s}>, tensor<1x{ROWS}x{ROWS}xf32>
  %m = tg.reduce max %x axes = [2] keep_dims : tensor<{s}>
  %d = tg.sub %x, %m : tensor<{s}>, tensor<{row}>
  %e = tg.exp %d : tensor<{s}>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<{s}>
  %w = tg.div %e, %l : tensor<{s}>, tensor<{row}>
  %p = tg.cast %w : tensor<{s}> to tensor<{p}>
  %o = tg.contract %p, %v [{MAPS["bmk bkn bmn"]}] : tensor<{p}>, tensor<{q}> -> tensor<{out}>
  return %o : tensor<{out}>
}}
"""


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout + done.stderr


def count(folder: pathlib.Path, mask: np.ndarray, inputs: list[str]) -> tuple[int, bool]:
    """Matrix instructions, and whether steps were left out; fails where results differ."""
    (folder / "m.mlir").write_text(program(mask))
    run("weft-reference", str(folder / "m.mlir"), *(f"--input={path}" for path in inputs), "--output", str(folder))
    remarks = run("weft-compile", str(folder / "m.mlir"), "--target=sm_90a", "--ptxas=off", "--quiet", "--remarks=plan", "-o", str(folder / "m.weft"))
    counters = run("weft-run", str(folder / "m.weft"), "--device=emu:sm_90a", *(f"--input=@{path}" for path in inputs), f"--output=@{folder / 'got.npy'}",
                   f"--expected-output=@{folder / 'output_0.npy'}", "--rtol=2e-3", "--atol=2e-3", "--counters")
    return int(re.search(r"sm__inst_executed_pipe_tensor.sum +(\d+)", counters)[1]), "masked-steps" in remarks


def main() -> int:
    i, j = np.mgrid[:ROWS, :ROWS]
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        inputs = [str(folder / f"{operand}.npy") for operand in "qkv"]
        for path in inputs:
            np.save(path, (rng.standard_normal((HEADS, ROWS, DEPTH)) / 2).astype(np.float16))
        scattered, _ = count(folder, np.where((i == 3) & (j == 5), -np.inf, 0), inputs)
        for masked in (-np.inf, float(np.finfo(np.float32).min)):
            found, leaves_out = count(folder, np.where(j <= i, 0, masked), inputs)
            print(f"{masked:.3g}: {'at most 4 of 5' if 5 * found <= 4 * scattered else 'all'} matrix instructions, steps left out: {leaves_out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
