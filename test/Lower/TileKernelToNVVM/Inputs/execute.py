"""Lowers each kernel module of a file (separated by `// -----`), runs it on the PTX emulator, and compares with numpy.

A module's comment lines `// input NAME SHAPExTYPE`, `// output NAME SHAPExTYPE` give its buffers in order, and
`// expect NAME = EXPRESSION` what it computes, over numpy as np and the inputs; `// symbols N...` its symbols,
`// tolerance X` the largest absolute difference (default 0).
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import subprocess
import sys

import numpy as np

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64}


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def parse_type(text):
    *extents, element = text.split("x")
    return [int(extent) for extent in extents], element


def attribute(lowered, name, default):
    found = re.search(re.escape(name) + r" = (\d+)", lowered)
    return int(found[1]) if found else default


def read_grid(lowered, symbols):
    for name, value in re.findall(r"^(#\w+) = (affine_map<.*>)$", lowered, re.M):
        lowered = re.sub(re.escape(name) + r"\b", value, lowered)
    found = re.search(r"tg\.grid = affine_map<\(\)(?:\[([^\]]*)\])? -> \(([^>]*)\)>", lowered)
    names = [name.strip() for name in (found[1] or "").split(",") if name.strip()]
    text = re.sub(r"(\S+|\([^()]*\)) ceildiv (\d+)", r"(-(-(\1) // \2))", found[2])
    value = eval(f"({text},)", dict(zip(names, symbols)))
    return min(value)


def make_input(rng, shape, element):
    if element.startswith("i"):
        return rng.integers(0, 100, shape).astype(TYPES[element])
    return rng.standard_normal(shape).astype(TYPES[element])


def check(number, module, work, passes, arch):
    buffers = re.findall(r"// (input|output) (\w+) (\S+)", module)
    symbols = [int(s) for s in " ".join(re.findall(r"// symbols (.*)", module)).split()]
    lowered = run(["weft-opt", "-", *passes], module)
    llvm = run(["mlir-translate", "--mlir-to-llvmir"], lowered)
    prefix = f"{work}.{number}"
    ptx = run(["llc", "-mtriple=nvptx64-nvidia-cuda", f"-mcpu={arch}", "-mattr=+ptx80", "-O3", "-o", "-"], llvm)
    with open(prefix + ".ptx", "w") as file:
        file.write(ptx)
    if ".local" in ptx:
        sys.exit(f"module {number}: local memory")
    command = ["weft-emu", prefix + ".ptx", f"--device={arch}", f"--grid={read_grid(lowered, symbols)}"]
    command += [f"--block={32 * attribute(lowered, 'tk.warps', 1)}", f"--shared={attribute(lowered, 'tk.shared_bytes', 0)}"]
    rng, values = np.random.default_rng(number), {"np": np}
    for kind, name, text in buffers:
        shape, element = parse_type(text)
        if kind == "input":
            values[name] = make_input(rng, shape, element)
        start = values[name] if kind == "input" else np.full(shape, 7, TYPES[element])
        np.save(f"{prefix}.{name}.npy", start)
        command += [f"--buffer={name}={text}=@{prefix}.{name}.npy", f"--arg={name}"]
    command += [f"--arg=i64={symbol}" for symbol in symbols]
    command += [f"--output={name}=@{prefix}.{name}.out.npy" for kind, name, _ in buffers if kind == "output"]
    run(command)
    tolerance = float((re.findall(r"// tolerance (\S+)", module) or ["0"])[0])
    for name, expression in re.findall(r"// expect (\w+) = (.*)", module):
        got = np.load(f"{prefix}.{name}.out.npy").astype(np.float64)
        want = np.asarray(eval(expression, values)).astype(np.float64)
        if got.shape != want.shape or not np.all(np.abs(got - want) <= tolerance):
            at = np.unravel_index(np.argmax(np.abs(got - want)), got.shape)
            sys.exit(f"module {number}: {name}{list(map(int, at))} is {got[at]}, expected {want[at]}")
    print(f"module {number}: right")


def main():
    source, work, arch, *passes = sys.argv[1:]
    with open(source) as file:
        for number, module in enumerate(file.read().split("// -----\n")):
            check(number, module, work, passes, arch)


main()
