#!/usr/bin/env python3
"""Proof of the guards of derived folds: each has a near miss that keeps its values, and loses them when the guard is switched off.

    run_folds.py [--build=build] [--seed=N] [--guards=GLOB] [--json=FILE] [--mutants]

Every guard of `--weft-derive-folds` (the pass lists them) has a graph that violates it alone (fold_cases.py). With all guards on, the pass makes
as many folds as the case says, and they, unrolled and merged, give what weft-reference gives for the graph. Then the guard is switched off
(`disable-guard`): values must differ, NaN included, or the result be refused by a verifier; of a licence, one fold more must be made. At least
90 % of the guards must be caught.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import concurrent.futures
import fnmatch
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402

import fold_cases  # noqa: E402
import mutation  # noqa: E402
from run_rules import Tools  # noqa: E402

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i1": np.bool_}
UNROLLED = ("steps=5", "steps=3 merge")


def guards(tools: Tools) -> list[str]:
    """From the message about a guard that there is not."""
    done = tools.call("weft-opt", "--weft-derive-folds=disable-guard=?", text="module {}")
    found = re.search(r"expected a guard of (.*), got '\?'", done.stderr)
    if not done.returncode or not found:
        raise SystemExit(f"run_folds: expected a list of guards, got {done.stderr.strip()}")
    return found[1].split(", ")


def draw(graph: fold_cases.Graph, case: fold_cases.NearMiss, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, len(case.guard)])
    inputs = [(rng.standard_normal(v.shape) * (3 if v.element == "i64" else 1)).astype(DTYPES[v.element]) for v in graph.inputs]
    case.prepare(inputs)
    return inputs


def derived(tools: Tools, module: str, case: fold_cases.NearMiss, disabled: str | None) -> tuple[int, list[str]] | None:
    """How many folds there are, and the module with them unrolled in several ways; None if it is invalid."""
    options = f"when=proved numerics={case.numerics}" + (f" disable-guard={disabled}" if disabled else "")
    done = tools.call("weft-opt", f"--weft-derive-folds={options}", text=module)
    if done.returncode:
        return None
    plain = [tools.call("weft-opt", f"--weft-unroll-folds={way}", text=done.stdout) for way in UNROLLED]
    return None if any(one.returncode for one in plain) else (done.stdout.count("tg.fold over"), [one.stdout for one in plain])


def difference(wanted: list[np.ndarray], got: list[np.ndarray], tolerance: float) -> str | None:
    for want, have in zip(wanted, got, strict=True):
        want, have = want.astype(float), have.astype(float)
        finite = np.isfinite(want)
        if np.any(finite != np.isfinite(have)) or not np.array_equal(np.where(finite, 0, want), np.where(finite, 0, have), equal_nan=True):
            return "NaN or infinities in other places"
        worst = np.abs(want[finite] - have[finite]).max(initial=0) / max(1, np.abs(want[finite]).max(initial=0))
        if not worst <= tolerance:
            return f"relative error {worst:.3g}"
    return None


def check(tools: Tools, case: fold_cases.NearMiss, seed: int) -> tuple[list[str], str]:
    """Problems with all guards on, and what the mutant showed; "" if nothing."""
    graph = fold_cases.Graph(case.element)
    module = graph.module(*case.build(graph))
    inputs = draw(graph, case, seed)
    whole, found = tools.evaluate(module, inputs), derived(tools, module, case, None)
    if found is None:
        return ["made invalid IR"], ""
    problems = [] if found[0] == case.folds else [f"expected {case.folds} folds, got {found[0]}"]
    for way, plain in zip(UNROLLED, found[1]):
        if text := difference(whole, tools.evaluate(plain, inputs), case.tolerance):
            problems.append(f"{way}: {text}")
    mutant = derived(tools, module, case, case.guard)
    if mutant is None:
        return problems, "invalid IR"
    if not case.by_values:
        return problems, "derived" if mutant[0] > found[0] else ""
    try:
        shown = filter(None, (difference(whole, tools.evaluate(plain, inputs), case.tolerance) for plain in mutant[1]))
        return problems, next(shown, "")
    except RuntimeError as error:
        return problems, f"invalid IR: {error}"


def main() -> int:
    args = mutation.arguments(__doc__, "guards")
    tools = Tools(args.build)
    names = [name for name in guards(tools) if fnmatch.fnmatch(name, args.chosen)]
    chosen = [case for case in fold_cases.CASES if fnmatch.fnmatch(case.guard, args.chosen)]
    lacking = set(names).symmetric_difference(case.guard for case in chosen)
    for name in sorted(lacking):
        print(f"{name}: expected a guard and a near miss, got one of them")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda case: check(tools, case, args.seed), chosen))
    wrong, shown = len(lacking), {name: "" for name in names}
    for case, (problems, text) in zip(chosen, outcomes):
        wrong += bool(problems)
        shown[case.guard] = shown.get(case.guard) or text
        for problem in problems:
            print(f"{case.guard}: {problem}")
    mutants = [{"guard": name, "caught": bool(text), "shown": text} for name, text in shown.items()]
    return mutation.finish(args, "graphs", len(chosen) + len(lacking), wrong, mutants)


if __name__ == "__main__":
    sys.exit(main())
