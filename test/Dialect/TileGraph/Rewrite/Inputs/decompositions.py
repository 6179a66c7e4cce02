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


# Symbolic extents: a = 2, b = 5, c = 7. Value, its dimensions, its op.
DIMS = {"a": "s0", "b": "s1", "c": "s2"}
SIZES = {"a": 2, "b": 5, "c": 7}
SYMBOLIC = {
    "layer_norm symbolic": ("%r, %r1, %r2 = tg.layer_norm {0}, {1} axis = 1 epsilon = 1.0e-3 stash = f32 : {0t}, {1t}",
                            ["a b 4", "b 4"], ["a b 4", "a 1 1", "a 1 1"]),
    "rms_norm symbolic": ("%r = tg.rms_norm {0}, {1} axis = 1 epsilon = 1.0e-3 stash = f32 : {0t}, {1t}", ["a b c", "c"], ["a b c"]),
    "softmax symbolic": ("%r = tg.softmax {0} axis = 1 : {0t}", ["a c b"], ["a c b"]),
    "group_norm symbolic": ("%r = tg.group_norm {0}, {1}, {2} groups = 2 epsilon = 1.0e-3 stash = f32 : {0t}, {1t}, {2t}",
                            ["a 6 b c", "6", "6"], ["a 6 b c"]),
    "attention symbolic": ("%r, %r1 = tg.attention {0}, {1}, {2} mask {3} scale = 0.5 softmax = f32 {{causal_offset = 1 : i64}} : {0t}, {1t}, {2t}, {3t}",
                           ["a 4 b 8", "a 2 c 8", "a 2 c 6", "a 1 b c"], ["a 4 b 6", "a 4 b c"]),
}


def symbolic_type(dims):
    names = dims.split()
    shape = "".join(f"{'?' if n in DIMS else n}x" for n in names)
    symbols = sorted(DIMS.values())[:max((int(DIMS[n][1:]) + 1 for n in names if n in DIMS), default=0)]
    encoding = f", #tg.dims<()[{', '.join(symbols)}] -> ({', '.join(DIMS.get(n, n) for n in names)})>" if symbols else ""
    return f"tensor<{shape}f32{encoding}>"


def symbolic_modules():
    """One module a case, with its inputs and result types."""
    rng = np.random.default_rng(5)
    for name, (op, operands, outputs) in SYMBOLIC.items():
        types = [symbolic_type(d) for d in operands]
        places = {f"{i}t": t for i, t in enumerate(types)}
        line = op
        for key, value in places.items():
            line = line.replace("{" + key + "}", value)
        line = line.format(*[f"%arg{i}" for i in range(len(operands))])
        results = ", ".join(["%r", "%r1", "%r2"][:len(outputs)])
        result_types = ", ".join(symbolic_type(d) for d in outputs)
        arguments = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(types))
        text = (f'module attributes {{tg.symbols = ["a", "b", "c"]}} {{\nfunc.func @main({arguments}) -> ({result_types}) {{\n'
                f"{line}\nreturn {results} : {result_types}\n}}\n}}\n")
        arrays = [rng.standard_normal([SIZES.get(n) or int(n) for n in d.split()]).astype(np.float32) for d in operands]
        yield text, arrays, ["f32"] * len(outputs), [f"{name}[{j}]" for j in range(len(outputs))], "f32"


def all_modules():
    names = [f"{name}[{j}]" for name, (_, _, outputs) in CASES.items() for j in range(len(outputs))]
    for element in DTYPES:
        yield (*module(element), names, element)
    yield from symbolic_modules()


failures = 0
for text, arrays, types, names, element in all_modules():
    done = subprocess.run(["weft-opt", "-", "--weft-normalize"], input=text, text=True, capture_output=True, timeout=300)
    if done.returncode:
        raise SystemExit(done.stderr)
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
