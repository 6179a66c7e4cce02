# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quotients by one number that are rounded to bf16 (--weft-gpu-math shares the reciprocal), by the emulator, against f64.

    quotients.py WORKDIR

A quotient within 2 units of f32 may round to the other neighbour where the exact one lies close to the middle of two numbers of bf16: results
may be off by one there, and nowhere else; infinities, zeros and NaN must be those of the division.
"""
import itertools
import pathlib
import subprocess
import sys

import numpy as np

PASSES = "weft-gpu-math,convert-scf-to-cf,convert-math-to-llvm,convert-arith-to-llvm,convert-cf-to-llvm,convert-vector-to-llvm"
TEXT = """
module {{
  module @quotients attributes {{tk.target = "sm_80", tk.warps = 4 : i64, tg.grid = affine_map<() -> ({ctas})>}} {{
    llvm.func @kernel(%x: !llvm.ptr<1>, %d: !llvm.ptr<1>, %y: !llvm.ptr<1>, %z: !llvm.ptr<1>) attributes {{nvvm.kernel}} {{
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %size = llvm.mlir.constant(128 : i32) : i32
      %first = llvm.mul %cta, %size : i32
      %index = llvm.add %first, %tid : i32
      %px = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %pd = llvm.getelementptr %d[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      %py = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
      %pz = llvm.getelementptr %z[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
      %a = llvm.load %px : !llvm.ptr<1> -> f32
      %b = llvm.load %pd : !llvm.ptr<1> -> f32
      %n = arith.negf %a : f32
      %q = arith.divf %a, %b : f32
      %r = arith.divf %n, %b : f32
      %s = arith.truncf %q : f32 to bf16
      %t = arith.truncf %r : f32 to bf16
      llvm.store %s, %py : bf16, !llvm.ptr<1>
      llvm.store %t, %pz : bf16, !llvm.ptr<1>
      llvm.return
    }}
  }}
  func.func @main(%x: tensor<{count}xf32> {{tg.name = "x"}}, %d: tensor<{count}xf32> {{tg.name = "d"}}) -> (tensor<{count}xbf16> {{tg.name = "y"}}, tensor<{count}xbf16> {{tg.name = "z"}}) {{
    %y:2 = tg.dispatch @quotients::@kernel(%x, %d) symbols = affine_map<() -> ()> : (tensor<{count}xf32>, tensor<{count}xf32>) -> (tensor<{count}xbf16>, tensor<{count}xbf16>)
    return %y#0, %y#1 : tensor<{count}xbf16>, tensor<{count}xbf16>
  }}
}}
"""


def numbers() -> np.ndarray:
    """Powers of two and what lies beside them, the ends of the ranges and of the scales, special values."""
    with np.errstate(over="ignore"):
        powers = np.ldexp(np.float32(1), [-149, -148, -140, -130, -128, -127, -126, -125, -86, -65, -64, -63, -30, -1, 0, 1, 30, 62, 63, 64, 65, 85, 125, 126, 127])
    beside = [np.nextafter(p, np.float32(to)) for p in powers for to in (0, np.inf)]
    return np.array([*powers, *beside, *(powers * np.float32(1.7)), 0, np.inf, np.nan, np.finfo(np.float32).max, 3], np.float32)


def ordered(bits: np.ndarray) -> np.ndarray:
    """Numbers of bf16 in order: neighbours differ by one, both zeros are 0."""
    size = (bits & 0x7FFF).astype(np.int64)
    return np.where(bits & 0x8000, -size, size)


def rounded(values: np.ndarray) -> np.ndarray:
    """The bits of the nearest numbers of bf16 (ties to even); `values` are exact enough in f64."""
    size = np.abs(values)
    exponent = np.clip(np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1))), -126, 127)
    unit = np.exp2(exponent - 7)
    whole = np.where(np.isfinite(size), np.rint(size / unit) * unit, size)
    whole = np.where(whole > (2 - 2.0**-7) * 2.0**127, np.inf, whole)
    bits = whole.astype(np.float32).view(np.uint32) >> 16
    return np.where(np.isnan(values), 0x7FC0, bits | np.where(np.signbit(values), 0x8000, 0)).astype(np.uint16)


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    pairs = np.array(list(itertools.product(numbers(), numbers())), np.float32)
    some = np.exp(rng.uniform(-60, 60, (8192, 2))).astype(np.float32) * rng.choice(np.float32([-1, 1]), (8192, 2))
    pairs = np.concatenate([pairs, some])
    pairs = np.concatenate([pairs, np.ones((-len(pairs) % 128, 2), np.float32)])
    (folder / "quotients.mlir").write_text(TEXT.format(count=len(pairs), ctas=len(pairs) // 128))
    subprocess.run(["weft-opt", folder / "quotients.mlir", f"--pass-pipeline=builtin.module(builtin.module({PASSES}))", "-o", folder / "low.mlir"], check=True)
    assert (folder / "low.mlir").read_text().count("llvm.fdiv") == 1, "expected one division, that of the reciprocal"
    subprocess.run(["weft-compile", folder / "low.mlir", "--compile-from=lower", "--target=sm_80", "--quiet", "-o", folder / "q.weft"], check=True)
    command = ["weft-run", folder / "q.weft", "--device=emu:sm_80"]
    for name, values in (("x", pairs[:, 0]), ("d", pairs[:, 1])):
        np.save(folder / f"{name}.npy", np.ascontiguousarray(values))
        command.append(f"--input={name}=@{folder}/{name}.npy")
    subprocess.run([*command, f"--output=y=@{folder}/y.npy", f"--output=z=@{folder}/z.npy"], check=True, stdout=subprocess.DEVNULL)
    failures = off = 0
    with np.errstate(all="ignore"):
        exact = pairs[:, 0].astype(np.float64) / pairs[:, 1].astype(np.float64)
    for name, want in (("y", exact), ("z", -exact)):
        got, right = np.load(folder / f"{name}.npy").view(np.uint16), rounded(want)
        is_nan = (got & 0x7FFF) > 0x7F80
        distance = np.where(np.isnan(want) | is_nan, np.where(np.isnan(want) == is_nan, 0, 9), np.abs(ordered(got) - ordered(right)))
        # The middle of two neighbours, in units of bf16: farther from it than 2 units of f32 nothing may be off.
        unit = np.exp2(np.clip(np.floor(np.log2(np.where(np.isfinite(want) & (want != 0), np.abs(want), 1))), -126, 127) - 7)
        near = np.abs(np.abs(np.abs(want) / unit % 1 - 0.5)) <= 2.0**-14
        bad = (distance > 1) | ((distance == 1) & ~near)
        off += int((distance == 1).sum())
        failures += int(bad.sum())
        for i in np.flatnonzero(bad)[:5]:
            print(f"{pairs[i, 0]:g} / {pairs[i, 1]:g}: expected {right[i]:04x}, got {got[i]:04x}")
    print(f"{2 * len(pairs)} quotients, {failures} failures ({off} rounded to the other neighbour)")
    return failures != 0


sys.exit(main())
