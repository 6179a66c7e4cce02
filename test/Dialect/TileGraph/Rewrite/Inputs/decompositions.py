"""Composites evaluated directly (f64) against their decompositions, primitive by primitive, on random inputs."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes  # noqa: F401  (registers dtypes that np.load's views need)
import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
# Relative to the largest result: a few roundings of the element type, or of the f32 inside.
TOLERANCE = {"f64": 1e-13, "f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}
ATTENTION = "tensor<2x4x5x8xT>, tensor<2x{g}x7x8xT>, tensor<2x{g}x7x6xT>"
CASES = {
    "gelu": ("%r = tg.gelu %0 : tensor<7x9xT>", ["tensor<7x9xT>"], ["tensor<7x9xT>"]),
    "gelu tanh": ("%r = tg.gelu %0 {tanh} : tensor<7x9xT>", ["tensor<7x9xT>"], ["tensor<7x9xT>"]),
    "softmax": ("%r = tg.softmax %0 axis = 1 : tensor<3x9x2xT>", ["tensor<3x9x2xT>"], ["tensor<3x9x2xT>"]),
    "log_softmax": ("%r = tg.softmax %0 axis = 0 {log} : tensor<3x9x2xT>", ["tensor<3x9x2xT>"], ["tensor<3x9x2xT>"]),
    "layer_norm": ("%r, %r1, %r2 = tg.layer_norm %0, %1, %2 axis = 1 epsilon = 1.0e-3 stash = S : tensor<3x5x4xT>, tensor<5x4xT>, tensor<4xT>",
                   ["tensor<3x5x4xT>", "tensor<5x4xT>", "tensor<4xT>"], ["tensor<3x5x4xT>", "tensor<3x1x1xS>", "tensor<3x1x1xS>"]),
    "layer_norm without bias": ("%r, %r1, %r2 = tg.layer_norm %0, %1 axis = 2 epsilon = 1.0e-3 stash = S : tensor<3x5x4xT>, tensor<4xT>",
                                ["tensor<3x5x4xT>", "tensor<4xT>"], ["tensor<3x5x4xT>"]),
    "rms_norm": ("%r = tg.rms_norm %0, %1 axis = 1 epsilon = 1.0e-3 stash = S : tensor<3x5x4xT>, tensor<5x4xT>",
                 ["tensor<3x5x4xT>", "tensor<5x4xT>"], ["tensor<3x5x4xT>"]),
}
for groups in (1, 2, 6):
    CASES[f"group_norm {groups}"] = (
        f"%r = tg.group_norm %0, %1, %2 groups = {groups} epsilon = 1.0e-3 stash = S : tensor<2x6x5x3xT>, tensor<6xT>, tensor<6xT>",
        ["tensor<2x6x5x3xT>", "tensor<6xT>", "tensor<6xT>"], ["tensor<2x6x5x3xT>"])
VARIANTS = {
    "": ("", None), "causal": ("{causal_offset = 2 : i64}", None), "softcap": ("{softcap = 2.0}", None),
    "boolean mask": ("{zero_masked_rows}", "tensor<5x7xi1>"), "mask per head": ("", "tensor<4x5x7xT>"),
    "mask per batch": ("", "tensor<2x1x1x7xT>"), "scores 1": ("{softcap = 2.0, scores_stage = 1 : i64}", None),
    "scores 3": ("{causal_offset = 0 : i64, scores_stage = 3 : i64}", None),
}
for variant, (attributes, mask) in VARIANTS.items():
    for g in (1, 2, 4):
        operands = ATTENTION.format(g=g)
        text = f"%r, %r1 = tg.attention %0, %1, %2 {'mask %3' if mask else ''} scale = 0.25 softmax = S {attributes} : {operands}"
        CASES[f"attention {variant} {g}"] = (text + (f", {mask}" if mask else ""),
                                             operands.split(", ") + ([mask] if mask else []),
                                             ["tensor<2x4x5x6xT>", "tensor<2x4x5x7xT>"])


def module(element):
    """All cases for one element type as one function, and its inputs."""
    rng = np.random.default_rng(3)
    stash = "f64" if element == "f64" else "f32"
    lines, arguments, results, types, arrays = [], [], [], [], []
    for i, (text, operands, outputs) in enumerate(CASES.values()):
        for j in reversed(range(len(operands))):
            text = text.replace(f"%{j}", f"%arg{len(arguments) + j}")
        for kind in operands:
            kind = kind.replace("T>", element + ">").replace("xT", "x" + element)
            shape = [int(n) for n in kind[len("tensor<"):-1].split("x")[:-1]]
            array = rng.standard_normal(shape)
            arrays.append(array > 0.3 if kind.endswith("i1>") else array.astype(DTYPES[element]))
            if kind.endswith("i1>"):
                arrays[-1][1] = False
            arguments.append(f"%arg{len(arguments)}: {kind}")
        text = text.replace("xT>", f"x{element}>").replace(" S ", f" {stash} ")
        for j in reversed(range(3)):
            text = text.replace(f"%r{j}" if j else "%r ", f"%v{i}_{j}" + ("" if j else " "))
        text = text.replace("%r,", f"%v{i}_0,")
        lines.append(text)
        for j, kind in enumerate(outputs):
            results.append(f"%v{i}_{j}")
            types.append(kind.replace("xT>", f"x{element}>").replace("xS>", f"x{stash}>"))
    return (f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n" + "\n".join(lines) +
            f"\nreturn {', '.join(results)} : {', '.join(types)}\n}}\n"), arrays, types


def evaluate(text, arrays, types, folder):
    paths = []
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        paths += ["--input", str(folder / f"in{i}.npy")]
    subprocess.run(["weft-reference", "-", "--output", str(folder), *paths], input=text, text=True, check=True, timeout=300)
    loaded = []
    for i, kind in enumerate(types):
        array = np.load(folder / f"output_{i}.npy")
        loaded.append((array.view(ml_dtypes.bfloat16) if array.dtype.kind == "V" else array).astype(np.float64))
    return loaded


failures = 0
for element in DTYPES:
    text, arrays, types = module(element)
    done = subprocess.run(["weft-opt", "-", "--weft-normalize"], input=text, text=True, capture_output=True, timeout=300)
    if done.returncode:
        raise SystemExit(done.stderr)
    names = [f"{name}[{j}]" for name, (_, _, outputs) in CASES.items() for j in range(len(outputs))]
    with tempfile.TemporaryDirectory() as folder:
        direct = evaluate(text, arrays, types, Path(folder))
        decomposed = evaluate(done.stdout, arrays, types, Path(folder))
    for name, want, got in zip(names, direct, decomposed):
        finite = np.isfinite(want)
        scale = np.abs(want[finite]).max(initial=1.0)
        # Masked scores are -inf, and NaN rows are NaN, in both.
        same = np.array_equal(want[~finite], got[~finite], equal_nan=True)
        error = np.abs(want - got)[finite].max(initial=0.0) / scale
        if not same or not error <= TOLERANCE[element]:
            failures += 1
            print(f"FAIL {name} {element}: relative error {error}, special values {'agree' if same else 'differ'}")
if failures:
    raise SystemExit(f"{failures} failures")
print("decompositions: all agree")
