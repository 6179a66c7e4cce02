"""A model compiled at once, and by way of its printed plan: the explanations of both must be equal.

    by_plan.py MODEL FLAG...

Names of subgraphs, by which records know kernels, are no part of a plan; the model's name is that of the file.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import pathlib
import subprocess
import sys
import tempfile

OTHER = {"model", "subgraph", "shapes", "kernel_subgraph", "kernel_shapes"}


def explain(bundle: pathlib.Path) -> dict:
    text = subprocess.run(["weft-explain", bundle, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(text, object_hook=lambda fields: {name: value for name, value in fields.items() if name not in OTHER})


def find_difference(a, b, path: str = "") -> str:
    """The first one, as a path into the document; empty: there is none."""
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = [(key, a.get(key), b.get(key)) for key in sorted({*a, *b})]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(number, *each) for number, each in enumerate(zip(a, b))]
    else:
        return "" if a == b else f"{path}: {a!r} at once, {b!r} by its plan"
    return next(filter(None, (find_difference(x, y, f"{path}/{key}") for key, x, y in pairs)), "")


with tempfile.TemporaryDirectory() as folder:
    once, plan, later = (pathlib.Path(folder, name) for name in ("once.weft", "plan.mlir", "later.weft"))
    model, *flags = sys.argv[1:]
    rest = [flag for flag in flags if not flag.startswith(("--compile-from", "--merge-launches"))]
    for command in ([model, *flags, "-o", once], [model, *flags, "--compile-to=plan", "-o", plan], [plan, *rest, "--compile-from=plan", "-o", later]):
        subprocess.run(["weft-compile", *command, "--ptxas=off", "--quiet"], check=True)
    found = explain(once)
    if problem := find_difference(found, explain(later)):
        raise SystemExit(f"{model}: {problem}")
    if not all(program["edges"] and program["remarks"] for program in found["programs"]):
        raise SystemExit(f"{model}: expected edges and remarks")
