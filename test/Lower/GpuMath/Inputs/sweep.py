# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accuracy of --weft-gpu-math: every function on a sweep of inputs, by the emulator, against f64 and wider arithmetic.

    sweep.py WORKDIR f32|f64|fast

Writes a program with one kernel a function, lowers, compiles and runs it, and prints the largest error of each function: in units in the
last place for f32, relative for f64, absolute for fast. Fails if one is above its limit, or if a special value (infinity, NaN) differs.
"""
import math
import pathlib
import subprocess
import sys

import numpy as np

INF, NAN = np.inf, np.nan
wide = np.longdouble


def erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.astype(np.float64)])


# Name: (reference, magnitudes of the sweep, sign of the domain, limits of the errors on f32 in ulp, on f64 relative, fast absolute).
FUNCTIONS = {
    "exp": (np.exp, (1e-8, 120), 0, 2.0, 1e-15, 1e-5),
    "expm1": (np.expm1, (1e-8, 120), 0, 2.0, 1e-15, None),
    "log": (np.log, (1e-38, 1e38), 1, 1.0, 1e-15, 1e-5),
    "log1p": (np.log1p, (1e-10, 1e30), 0, 1.0, 1e-15, None),
    "log2": (np.log2, (1e-38, 1e38), 1, 4.0, 1e-15, 1e-5),
    "log10": (np.log10, (1e-38, 1e38), 1, 4.0, 1e-15, None),
    "tanh": (np.tanh, (1e-6, 100), 0, 3.0, 1e-15, 1e-3),
    "sinh": (np.sinh, (1e-6, 89), 0, 4.0, 2e-15, None),
    "cosh": (np.cosh, (1e-6, 89), 0, 4.0, 2e-15, None),
    "sin": (np.sin, (1e-6, 1e12), 0, 2.0, 1e-15, 1e-3),
    "cos": (np.cos, (1e-6, 1e12), 0, 2.0, 1e-15, 1e-3),
    "tan": (np.tan, (1e-6, 1e12), 0, 4.0, 2e-15, None),
    "asin": (np.arcsin, (1e-6, 1.2), 0, 4.0, 2e-15, None),
    "acos": (np.arccos, (1e-6, 1.2), 0, 4.0, 2e-15, None),
    "atan": (np.arctan, (1e-6, 1e10), 0, 4.0, 1e-15, None),
    "asinh": (np.arcsinh, (1e-6, 1e30), 0, 4.0, 2e-15, None),
    "acosh": (np.arccosh, (0.5, 1e30), 1, 4.0, 2e-15, None),
    "atanh": (np.arctanh, (1e-6, 1.2), 0, 4.0, 2e-15, None),
    "erf": (erf, (1e-6, 10), 0, 6.0, 4e-15, None),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-37, 1e38), 1, 2.0, 1e-15, 1e-5),
}
SPECIAL = [0.0, 1.0, -1.0, INF, -INF, NAN]
COUNT = 992

KERNEL = """
  module @{name} attributes {{tk.target = "sm_80", tk.warps = 4 : i64, tg.grid = affine_map<() -> ({ctas})>}} {{
    llvm.func @kernel(%x: !llvm.ptr<1>, %b: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {{nvvm.kernel}} {{
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %size = llvm.mlir.constant(128 : i32) : i32
      %first = llvm.mul %cta, %size : i32
      %index = llvm.add %first, %tid : i32
      %n = llvm.mlir.constant({count} : i32) : i32
      %inside = llvm.icmp "slt" %index, %n : i32
      llvm.cond_br %inside, ^body, ^end
    ^body:
      %px = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
      %pb = llvm.getelementptr %b[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
      %py = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {type}
      %v = llvm.load %px : !llvm.ptr<1> -> {type}
      %w = llvm.load %pb : !llvm.ptr<1> -> {type}
      %r = {op} %v{second} : {type}
      llvm.store %r, %py : {type}, !llvm.ptr<1>
      llvm.br ^end
    ^end:
      llvm.return
    }}
  }}"""

PASSES = "weft-gpu-math{{fast={fast}}},convert-scf-to-cf,convert-math-to-llvm,convert-arith-to-llvm,convert-cf-to-llvm,convert-vector-to-llvm"


def sweep(low: float, high: float, sign: int, dtype: np.dtype) -> np.ndarray:
    """Magnitudes spread over the range by their logarithm, and the special values."""
    rng = np.random.default_rng(7)
    values = np.exp(rng.uniform(np.log(low), np.log(high), COUNT - len(SPECIAL)))
    if sign == 0:
        values *= np.where(rng.random(values.size) < 0.5, -1, 1)
    return np.concatenate([values, SPECIAL]).astype(dtype)


def program(kind: str) -> tuple[str, list[str]]:
    """The text, and the names of the results in order."""
    element = "f64" if kind == "f64" else "f32"
    names = [name for name, entry in FUNCTIONS.items() if kind != "fast" or entry[5] is not None]
    ops = {name: (f"math.{name}", "") for name in names}
    if kind != "fast":
        ops["powf"], ops["remf"] = ("math.powf", ", %w"), ("arith.remf", ", %w")
    text = ["module {"]
    for name, (op, second) in ops.items():
        text.append(KERNEL.format(name=name, op=op, second=second, type=element, count=COUNT, ctas=(COUNT + 127) // 128))
    tensor = f"tensor<{COUNT}x{element}>"
    arguments = ", ".join(f'%x{i}: {tensor} {{tg.name = "x_{n}"}}, %b{i}: {tensor} {{tg.name = "b_{n}"}}' for i, n in enumerate(ops))
    results = ", ".join(f'{tensor} {{tg.name = "y_{n}"}}' for n in ops)
    text.append(f"  func.func @main({arguments}) -> ({results}) {{")
    for i, name in enumerate(ops):
        text.append(f"    %y{i} = tg.dispatch @{name}::@kernel(%x{i}, %b{i}) symbols = affine_map<() -> ()> : ({tensor}, {tensor}) -> {tensor}")
    text.append("    return " + ", ".join(f"%y{i}" for i in range(len(ops))) + " : " + ", ".join([tensor] * len(ops)))
    return "\n".join(text + ["  }", "}"]), list(ops)


def inputs(name: str, kind: str, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    if name == "powf":
        x = np.concatenate([np.exp(rng.uniform(-5, 5, COUNT - 16)), -np.arange(1.0, 9), [0, 0, 1, INF, -INF, 2, NAN, -0.5]])
        y = np.concatenate([rng.uniform(-17, 17, COUNT - 16), np.arange(-4.0, 4), [2, -1, INF, 2, 3, NAN, 0, 0.5]])
        return x.astype(dtype), y.astype(dtype)
    if name == "remf":
        x = np.exp(rng.uniform(-80, 80, COUNT - 8)) * np.where(rng.random(COUNT - 8) < 0.5, -1, 1)
        y = np.exp(rng.uniform(-80, 80, COUNT - 8))
        return np.concatenate([x, [5, -5, 5.5, 1, INF, 1, NAN, 0]]).astype(dtype), np.concatenate([y, [3, 3, -2, 0, 2, INF, 1, 3]]).astype(dtype)
    _, (low, high), sign, *_ = FUNCTIONS[name]
    if kind == "fast" and name in ("sin", "cos"):
        high = 3.0  # The instructions' error grows with the argument.
    return sweep(low, high, sign, dtype), np.ones(COUNT, dtype)


def reference(name: str, x: np.ndarray, b: np.ndarray) -> np.ndarray:
    if name == "remf":
        return np.fmod(x, b)
    x = x.astype(wide)
    return np.power(x, b.astype(wide)) if name == "powf" else FUNCTIONS[name][0](x)


def worst(name: str, kind: str, got: np.ndarray, want: np.ndarray) -> tuple[float, float]:
    """The largest error and its limit. Values that the reference has infinite or undefined must be so; NaN errors are infinite."""
    dtype = got.dtype
    rounded = want.astype(dtype)
    finite = np.isfinite(rounded)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    if not same[~finite].all():
        bad = np.flatnonzero(~finite & ~same)[0]
        print(f"{name}: element {bad}: expected {rounded[bad]}, got {got[bad]}")
        return INF, 0.0
    got, want, rounded = got[finite].astype(wide), want[finite].astype(wide), rounded[finite]
    error = np.abs(got - want)
    if name == "remf":
        return float(error.max()), 0.0
    if kind == "fast":
        limit = FUNCTIONS[name][5]
        return float((error / np.maximum(1, np.abs(want))).max()), limit
    limits = FUNCTIONS[name][3:5] if name in FUNCTIONS else (1.0, 1e-13)
    if kind == "f32":
        return float((error / np.spacing(np.abs(rounded)).astype(wide)).max()), limits[0]
    return float((error / np.maximum(np.abs(want), np.finfo(dtype).tiny)).max()), limits[1]


def main() -> int:
    folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    dtype = np.dtype(np.float64 if kind == "f64" else np.float32)
    text, names = program(kind)
    (folder / "math.mlir").write_text(text)
    passes = PASSES.format(fast=str(kind == "fast").lower())
    subprocess.run(["weft-opt", folder / "math.mlir", f"--pass-pipeline=builtin.module(builtin.module({passes}))", "-o", folder / "low.mlir"], check=True)
    subprocess.run(["weft-compile", folder / "low.mlir", "--compile-from=lower", "--target=sm_80", "--quiet", "-o", folder / "math.weft"], check=True)
    command = ["weft-run", folder / "math.weft", "--device=emu:sm_80"]
    data = {name: inputs(name, kind, dtype) for name in names}
    for name, (x, b) in data.items():
        for label, values in (("x", x), ("b", b)):
            np.save(folder / f"{label}_{name}.npy", values)
            command.append(f"--input={label}_{name}=@{folder}/{label}_{name}.npy")
        command.append(f"--output=y_{name}=@{folder}/y_{name}.npy")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    failures = 0
    for name, (x, b) in data.items():
        with np.errstate(all="ignore"):
            error, limit = worst(name, kind, np.load(folder / f"y_{name}.npy"), reference(name, x, b))
        bad = not error <= limit
        failures += bad
        print(f"{name:6} {kind}: error {error:.3g}, limit {limit:g}{'  FAILED' if bad else ''}")
    print(f"{len(names)} functions, {failures} failures")
    return failures != 0


sys.exit(main())
