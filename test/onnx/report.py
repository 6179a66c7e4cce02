"""Writes the conformance page: the ONNX node suite by operator, and why cases are refused."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import collections
import pathlib

import onnx

from runner import DRAWING

COLUMNS = ("pass", "pass-sized", "pass-bound", "refused", "nearer")
GPU_COLUMNS = ("pass", "pass-sized", "pass-bound", "refused", "bug")


def _by_operator(results, columns=COLUMNS, heads=("passed as is", "with counted elements", "with bound operands", "refused", "nearer")) -> list[str]:
    table: dict = collections.defaultdict(collections.Counter)
    reasons: dict = collections.defaultdict(collections.Counter)
    for r in results:
        table[r.operator][r.verdict if r.verdict in columns else "bug"] += 1
        if r.verdict == "refused":
            reasons[r.operator][r.reason] += 1
    lines = ["| " + " | ".join(["operator", "cases", *heads, "why"]) + " |", "|---|---:" + "|---:" * len(heads) + "|---|"]
    for operator in sorted(table, key=str.lower):
        counts = table[operator]
        why = ", ".join(f"{name} ({n})" for name, n in sorted(reasons[operator].items()))
        cells = [operator, sum(counts.values())] + [counts[c] or "" for c in columns] + [why]
        lines.append("| " + " | ".join(str(c) for c in cells) + " |")
    return lines


def write(path: pathlib.Path, results) -> None:
    counts = collections.Counter(r.verdict for r in results)
    passed = counts["pass"] + counts["pass-sized"] + counts["pass-bound"]
    reasons = collections.Counter(r.reason for r in results if r.verdict == "refused")
    drawn = sum(r.operator in DRAWING and r.verdict == "pass" for r in results)
    bugs = {v: n for v, n in sorted(counts.items()) if v not in COLUMNS}
    lines = [
        "# ONNX conformance", "",
        "Written by `test/onnx/run_node_suite.py --report`; do not edit.", "",
        f"The backend node cases of onnx {onnx.__version__} on the CPU, at ONNX's own tolerances (relative 1e-3, absolute 1e-7):",
        f"**{passed} of {len(results)} pass**: {counts['pass']} as they are, {counts['pass-sized']} once told how many elements a sequence or an",
        f"optional among the inputs or results has (`weft compile --elements=NAME=COUNT`; a model file does not say), and {counts['pass-bound']} with operands bound to",
        "constants (`--bind=NAME=NUMBERS`).",
        f"{counts['refused']} are refused at compile time by an error that names the node.",
        f"Of {drawn} that pass types, shapes and that numbers are 0 or 1 are compared, no more: they draw random numbers, and the data hold what numpy drew.",
        f"{counts['nearer']} differ from the data but are *nearer* to the exact value wherever they do: the data hold roundings of their",
        "own. The run proves that against an f64 evaluation of the graph (`test/onnx/exact.py`); the reasons, with figures, are under",
        "`deviations` in `test/onnx/expected-failures.json`.",
        f"Crashes, hangs and wrong values: {', '.join(f'{n} {v}' for v, n in bugs.items()) or 'none'}.", "",
        "## Why cases are refused", "", "| reason | cases |", "|---|---:|"]
    lines += [f"| {name} | {n} |" for name, n in reasons.most_common()]
    lines += ["", "The list, case by case with the compiler's message, is `test/onnx/expected-failures.json`; CI fails when a listed case",
              "passes and when any other does not.", "", "## By operator", ""]
    lines += _by_operator(results)
    path.write_text("\n".join(lines) + "\n")


def write_gpu(path: pathlib.Path, results, target: str, device: str) -> None:
    """The same for a GPU target: what passes there, what is refused, and the bugs that are known."""
    counts = collections.Counter(r.verdict for r in results)
    passed = counts["pass"] + counts["pass-sized"] + counts["pass-bound"]
    reasons = collections.Counter(r.reason for r in results if r.verdict == "refused")
    bugs = [r for r in results if r.verdict not in COLUMNS]
    lines = [
        "# ONNX conformance on the GPU path", "",
        "Written by `test/onnx/run_node_suite.py --target=... --report`; do not edit.", "",
        f"The backend node cases of onnx {onnx.__version__}, compiled for {target} and run on `{device}`, at ONNX's own tolerances or a relative L2",
        "error of 1e-4 (f32 and f64), 5e-3 (f16), 2e-2 (bf16):",
        f"**{passed} of {len(results)} pass**, {counts['pass-bound']} of them with shape operands bound, {counts['pass-sized']} with counted elements; {counts['refused']} are refused at compile",
        f"time by an error that names the node and operator; {len(bugs)} show a bug that is known and listed.", "",
        "The list, both ways, is `test/onnx/expected-gpu.json` (beyond the CPU's, `expected-failures.json`). CI runs the small cases of every",
        "operator (`--subset`) through the PTX emulator.", "",
        "## Why cases are refused", "", "| reason | cases |", "|---|---:|"]
    lines += [f"| {name} | {n} |" for name, n in reasons.most_common()]
    if bugs:
        lines += ["", "## Known bugs", ""] + [f"* {r.name} ({r.operator}): {r.verdict}: {r.message[:160]}" for r in bugs]
    lines += ["", "## By operator", ""]
    lines += _by_operator(results, GPU_COLUMNS, ("passed as is", "with counted elements", "with bound operands", "refused", "known bugs"))
    path.write_text("\n".join(lines) + "\n")
