#!/usr/bin/env python3
"""Proof of the rewrite rules: every rule fires and keeps values, every guard refuses, and switching a guard off is noticed.

    run_rules.py [--build=build] [--seed=N] [--rules=GLOB] [--json=FILE] [--mutants]

For each rule (`weft-opt --weft-print-rules=json` lists them) its positive cases are rewritten, and the FLOPs that the driver counts are compared
with the rule's formula. They are evaluated before and after by weft-reference, on random numbers and edges: exact rules, and all rules on integers, must keep every value; reassociating ones agree to 1e-9
in f64 (where the old value is finite) and stay NaN where they were. Each near miss violates one guard and must not fire. Then the guard
is switched off (`disable-guard`): the near miss now fires, so the suite would notice the loss of the guard; the table says whether the values
(or the verifier) would show it too. At least 90 % of the guards must be caught.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import concurrent.futures
import fnmatch
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402

import canonical_cases  # noqa: E402
import cases  # noqa: E402
import emit  # noqa: E402
import mutation  # noqa: E402

TOLERANCE = {"f64": 1e-9, "f32": 1e-4, "f16": 5e-2}
SECONDS = 60


class Tools:
    def __init__(self, build: pathlib.Path):
        self.bin = build.resolve() / "bin"

    def call(self, *command: str, text: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([str(self.bin / command[0]), *command[1:]], input=text, capture_output=True, text=True, timeout=SECONDS)

    def rules(self) -> list[dict]:
        done = self.call("weft-opt", "--weft-print-rules=json", "-o", "/dev/null", text="module {}")
        if done.returncode:
            raise SystemExit(f"run_rules: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def rewrite(self, module: str, rule: str, licence: str, disabled: str | None = None) -> tuple[str | None, int]:
        """The rewritten module (None if a verifier refused it) and how often the rule fired."""
        options = f"rules={rule} licence={licence} prices=none" + (f" disable-guard={rule}:{disabled}" if disabled else "")
        done = self.call("weft-opt", f"--weft-rewrite={options}", "--remarks-filter=rewrite", "--remark-format=emitRemark", text=module)
        fired = done.stderr.count("[Passed] rewrite")
        return (None if done.returncode else done.stdout), fired

    def evaluate(self, module: str, inputs: list[np.ndarray], weights: bytes | None = None) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "m.mlir").write_text(module)
            command = ["weft-reference", str(folder / "m.mlir"), "--output", name]
            if weights is not None:
                (folder / canonical_cases.WEIGHTS).write_bytes(weights)
                command += ["--weights-dir", name]
            for i, values in enumerate(inputs):
                np.save(folder / f"in_{i}.npy", values)
                command += ["--input", str(folder / f"in_{i}.npy")]
            done = self.call(*command)
            if done.returncode:
                raise RuntimeError(done.stderr.strip())
            paths = sorted(folder.glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))
            return [np.load(path) for path in paths]


def difference(before: np.ndarray, after: np.ndarray, case: cases.Case) -> str | None:
    """Why the two differ by more than the contract allows, or None."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"{before.dtype}{before.shape} became {after.dtype}{after.shape}"
    if before.dtype.kind != "f" or case.licence == "exact":
        same = np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
        return None if same else f"expected {before.ravel()[:4]}, got {after.ravel()[:4]}"
    if not np.array_equal(np.isnan(before), np.isnan(after)):
        return "NaN in other places"
    shown = np.isfinite(before)
    error = np.abs(before[shown].astype(float) - after[shown].astype(float)) / np.maximum(1, np.abs(before[shown].astype(float)))
    worst = float(error.max()) if error.size else 0.0
    return None if worst <= TOLERANCE[case.element] else f"relative error {worst:.3g}"


def check_positive(tools: Tools, rule: dict, seed: int) -> list[str]:
    """Problems of the rule's positive cases, one module for those of one licence."""
    problems = []
    found = cases.positives(rule, random.Random(f"{seed} {rule['name']}"))
    for licence in sorted({case.licence for case in found}):
        emitter = emit.Emitter(np.random.default_rng([seed, len(rule["name"])]))
        chosen = [case for case in found if case.licence == licence]
        for case in chosen:
            emitter.add(case)
        module, inputs = emitter.module(), [values for _, values, _ in emitter.arguments]
        rewritten, fired = tools.rewrite(module, rule["name"], licence)
        if rewritten is None or fired < len(chosen):
            problems.append(f"fired {fired} times in {len(chosen)} cases ({licence})" if rewritten else "made invalid IR")
            continue
        for case, before, after in zip(chosen, tools.evaluate(module, inputs), tools.evaluate(rewritten, inputs)):
            if text := difference(before, after, case):
                problems.append(f"{case.element} {case.shapes}: {text}")
    return problems


def check_flops(tools: Tools, rule: dict, seed: int) -> list[str]:
    """The change of the FLOPs that the driver counts against the rule's formula."""
    case, before, after = cases.counted(rule)
    emitter = emit.Emitter(np.random.default_rng([seed, 2]))
    emitter.add(case)
    return check_change(tools, rule, emitter.module(), case.licence, before, after)


def check_change(tools: Tools, rule: dict, module: str, licence: str, before: int, after: int) -> list[str]:
    done = tools.call("weft-opt", f"--weft-rewrite=rules={rule['name']} licence={licence} prices=none", "--remarks-filter=rewrite",
                      "--remark-format=emitRemark", "-o", "/dev/null", text=module)
    found = re.search(r"1 rewrites: flops (\d+) -> (\d+),", done.stderr)
    if not found:
        return ["the case of its formula did not fire once"]
    change = int(found[2]) - int(found[1])
    return [] if change == after - before else [f"FLOPs change by {change}, `{rule['gain']}` says {after - before}"]


def check_near_miss(tools: Tools, rule: dict, case: cases.Case, seed: int) -> tuple[list[str], dict]:
    """Problems of a near miss, and what its mutant showed."""
    emitter = emit.Emitter(np.random.default_rng([seed, 1]))
    emitter.add(case)
    module, inputs = emitter.module(), [values for _, values, _ in emitter.arguments]
    rewritten, fired = tools.rewrite(module, rule["name"], case.licence)
    mutant = {"guard": f"{rule['name']}:{case.what}", "caught": False, "shown": ""}
    problems = [f"{case.what}: the near miss fired"] if fired else []
    if rewritten is None:
        problems.append(f"{case.what}: the near miss is no valid module")
    if problems:
        return problems, mutant
    rewritten, fired = tools.rewrite(module, rule["name"], case.licence, disabled=case.what)
    mutant["caught"] = bool(fired) or rewritten is None
    if rewritten is None:
        mutant["shown"] = "invalid IR"
    elif fired:
        before, after = tools.evaluate(module, inputs), tools.evaluate(rewritten, inputs)
        mutant["shown"] = "values differ" if any(difference(a, b, case) for a, b in zip(before, after)) else ""
    return problems, mutant


def bits_differ(before: np.ndarray, after: np.ndarray) -> bool:
    """But for which NaN a NaN is."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return True
    if before.dtype.kind != "f":
        return not np.array_equal(before, after)
    numbers = ~np.isnan(before)
    return not np.array_equal(before, after, equal_nan=True) or not np.array_equal(np.signbit(before)[numbers], np.signbit(after)[numbers])


def rewrite_function(tools: Tools, rule: str, function: canonical_cases.Function, seed: int, disabled: str | None = None) -> tuple[int, str]:
    """How often the rule fired at the function, and what shows in its results."""
    module = function.module()
    rewritten, fired = tools.rewrite(module, rule, "exact", disabled)
    if rewritten is None:
        return fired, "invalid IR"
    inputs, weights = function.inputs(np.random.default_rng([seed, 3])), canonical_cases.weights()
    before = tools.evaluate(module, inputs, weights)
    after = tools.evaluate(rewritten, inputs, weights) if fired else before
    return fired, "values differ" if any(map(bits_differ, before, after)) else ""


def check_canonical(tools: Tools, rule: dict, seed: int) -> tuple[str, list[str], list[dict]]:
    """Of a canonical rule that is code: the same proofs, on the functions of canonical_cases.py."""
    name, problems, mutants = rule["name"], [], []
    try:
        found = canonical_cases.CASES[name]
        for guard in set(rule["guards"]).symmetric_difference(found.near_misses):
            problems.append(f"{guard}: expected a guard and a near miss, got one of them")
        for i, function in enumerate(found.positives):
            fired, shown = rewrite_function(tools, name, function, seed)
            if not fired or shown:
                problems.append(f"case {i}: fired {fired} times {shown}")
        problems += check_change(tools, rule, found.positives[0].module(), "exact", *cases.formula(rule))
        for guard, function in found.near_misses.items():
            fired, shown = rewrite_function(tools, name, function, seed)
            if fired or shown:
                problems.append(f"{guard}: the near miss fired {fired} times {shown}")
                continue
            fired, shown = rewrite_function(tools, name, function, seed, guard)
            mutants.append({"guard": f"{name}:{guard}", "caught": bool(fired or shown), "shown": shown})
    except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        problems.append(f"{type(error).__name__}: {error}")
    return name, problems, mutants


def check_rule(tools: Tools, rule: dict, seed: int) -> tuple[str, list[str], list[dict]]:
    try:
        problems, mutants = check_positive(tools, rule, seed) + check_flops(tools, rule, seed), []
        for case in cases.near_misses(rule):
            found, mutant = check_near_miss(tools, rule, case, seed)
            problems += found
            mutants.append(mutant)
        return rule["name"], problems, mutants
    except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return rule["name"], [f"{type(error).__name__}: {error}"], []


def main() -> int:
    args = mutation.arguments(__doc__, "rules")
    tools = Tools(args.build)
    rules = [rule for rule in tools.rules() if fnmatch.fnmatch(rule["name"], args.chosen)]
    # Canonical rules that are code are about views, casts and choices, which the pattern language cannot make cases of.
    checks = [check_canonical if rule["isCanonical"] and rule["isCode"] else check_rule for rule in rules]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda check, rule: check(tools, rule, args.seed), checks, rules))
    for name, problems, _ in outcomes:
        for problem in problems:
            print(f"{name}: {problem}")
    mutants = [mutant for _, _, found in outcomes for mutant in found]
    return mutation.finish(args, "rules", len(rules), sum(bool(problems) for _, problems, _ in outcomes), mutants)


if __name__ == "__main__":
    sys.exit(main())
