#!/usr/bin/env python3
"""Everything that must pass, step by step; called by `./dev test` after the build.

Each step prints one line with its counts and time; a failing step also prints the end of its log. The last line is
`N passed, N failed, N skipped` over all steps. Logs and results are in BUILD/test-results.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-22/bin")

# No command of a step may run longer.
COMMAND_SECONDS = 1500

# Allocations inside libMLIR, which is not instrumented, must not be poisoned by the inline halves of LLVM's allocators and containers
# in its headers.
SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:allow_user_poisoning=0:detect_container_overflow=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "ASAN_SYMBOLIZER_PATH": str(LLVM / "llvm-symbolizer"),
    "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:external_symbolizer_path={LLVM / 'llvm-symbolizer'}",
}


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0


class Context:
    """Folders and flags of this run, and the log of the step that is running."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.build = args.build.resolve()
        self.results = self.build / "test-results"
        self.results.mkdir(parents=True, exist_ok=True)
        self.log = self.results / "log"

    def run(self, command: list, env: dict | None = None) -> int:
        with open(self.log, "a") as log:
            log.write("$ " + " ".join(map(str, command)) + "\n")
            log.flush()
            try:
                return subprocess.run([str(c) for c in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                      timeout=COMMAND_SECONDS, env={**os.environ, **(env or {})}).returncode
            except subprocess.TimeoutExpired:
                log.write(f"stopped after {COMMAND_SECONDS} s\n")
                return 124

    def check(self, command: list) -> Counts:
        """A command that is one test."""
        return Counts(failed=1) if self.run(command) else Counts(passed=1)

    def suite(self, command: list, name: str, env: dict | None = None) -> Counts:
        """A Python suite of ours that writes its counts as JSON."""
        path = self.results / f"{name}.json"
        path.unlink(missing_ok=True)
        code = self.run([sys.executable, *command, "--json", path], env)
        if not path.exists():
            return Counts(failed=1)
        data = json.loads(path.read_text())
        counts = Counts(data["passed"], data["failed"], data["skipped"])
        if code and not counts.failed:
            counts.failed = 1
        return counts


def unit(context: Context, build: pathlib.Path, env: dict | None = None) -> Counts:
    """Every gtest binary under CTest; counts are gtest's own."""
    folder = context.results / "gtest"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    samples = ROOT.parent / "shared" / "samples"  # PTX of others, which a user does not have
    code = context.run(["ctest", "--test-dir", build, "-L", "unit", "--output-on-failure", "-j2"],
                       {**(env or {}), "GTEST_OUTPUT": f"json:{folder}/", **({"WEFT_SAMPLES": samples} if samples.is_dir() else {})})
    counts = Counts()
    for path in folder.glob("*.json"):
        data = json.loads(path.read_text())
        bad = data["failures"] + data.get("errors", 0)
        counts.failed += bad
        counts.skipped += data.get("disabled", 0)
        counts.passed += data["tests"] - bad - data.get("disabled", 0)
    if code and not counts.failed:  # A binary that crashed writes nothing.
        counts.failed = 1
    return counts


def lit(context: Context, build: pathlib.Path, params: list, env: dict | None = None) -> Counts:
    """The lit suite; counts from lit's own report."""
    report = context.results / "lit.json"
    report.unlink(missing_ok=True)
    code = context.run([sys.executable, LLVM / "lit", "-v", "-j2", *params, "-o", report, build / "test"], env)
    if not report.exists():
        return Counts(failed=1)
    counts = Counts()
    for test in json.loads(report.read_text())["tests"]:
        if test["code"] in ("PASS", "XFAIL", "FLAKYPASS"):
            counts.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            counts.skipped += 1
        else:
            counts.failed += 1
    if code and not counts.failed:
        counts.failed = 1
    return counts


def python_tests(context: Context) -> Counts:
    """unittest over the tools' own tests and the Python package's."""
    counts = Counts()
    for name, folder in (("tools", ROOT / "tools" / "dev" / "tests"), ("harness", ROOT / "test" / "harness" / "tests"),
                         ("random", ROOT / "test" / "random_graphs" / "tests"),
                         ("package", ROOT / "kernels-runtime" / "python" / "tests"), ("bench", ROOT / "bench" / "tests")):
        if folder.is_dir():
            step = context.suite([ROOT / "tools" / "dev" / "run-unittests.py", folder, "--build", context.build], f"python-{name}")
            counts = Counts(*(a + b for a, b in zip(dataclasses.astuple(counts), dataclasses.astuple(step))))
    return counts


def models(context: Context) -> Counts:
    extra = ["--all"] if context.args.all_models else []
    return context.suite([ROOT / "test/models/run_models.py", "--build", context.build, *extra], "models")


def fresh(context: Context) -> list[str]:
    return [f"--fresh={context.args.fresh_graphs}"] if context.args.fresh_graphs else []


def emulated(context: Context, step: str) -> Counts:
    """The GPU path through the PTX emulator: several suites, one step."""
    total = Counts()
    for name, command in EMULATED[step].items():
        counts = context.suite([*command, "--build", context.build], f"{step}-{name}")
        total = Counts(*(a + b for a, b in zip(dataclasses.astuple(total), dataclasses.astuple(counts))))
    return total


def hostile(context: Context) -> Counts:
    total = Counts()
    for target in ("cpu", "sm_90a"):
        counts = context.suite([ROOT / "test/hostile/run_hostile.py", "--build", context.build, "--target", target], f"hostile-{target}")
        total = Counts(*(a + b for a, b in zip(dataclasses.astuple(total), dataclasses.astuple(counts))))
    return total


def hostile_sanitized(context: Context) -> Counts:
    """The same messages; sanitizers take several times the time and the memory."""
    command = [ROOT / "test/hostile/run_hostile.py", "--build", ROOT / "build-asan", "--slack", "8"]
    return context.suite(command, "hostile-sanitized", SANITIZER_ENV)


def nodes_sanitized(context: Context) -> Counts:
    """Every model of the node suite through the sanitized compiler; the runtime is the plain one, which Python can load."""
    command = [ROOT / "test/onnx/run_node_suite.py", "--build", context.build, "--compiler", ROOT / "build-asan", "--memory", "0"]
    return context.suite(command, "onnx-nodes-sanitized", SANITIZER_ENV)


def fuzz_target(context: Context, binary: pathlib.Path) -> int:
    folders = [context.results / "corpus" / binary.name]
    folders[0].mkdir(parents=True, exist_ok=True)
    if binary.name == "weft-fuzz-import":
        folders.append(context.results / "seeds")
        context.run([sys.executable, ROOT / "test/fuzz/make_seeds.py", folders[1]])
    if binary.name == "weft-fuzz-ptx":
        folders += [ROOT / "kernels-runtime/fuzz/ptx", ROOT / "kernels-runtime/test/Emulator/Kernels"]
    return context.run([binary, f"-max_total_time={context.args.fuzz_seconds}", "-rss_limit_mb=2048", "-timeout=20", "-print_final_stats=1",
                        f"-artifact_prefix={context.results}/", *folders], SANITIZER_ENV)


def fuzz(context: Context) -> Counts:
    """Every libFuzzer target of the sanitizer build, for the same time each, two at a time; a finding is a failure."""
    binaries = sorted((ROOT / "build-asan" / "bin").glob("weft-fuzz-*"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(lambda binary: fuzz_target(context, binary), binaries))
    return Counts(passed=codes.count(0), failed=len(codes) - codes.count(0)) if codes else Counts(failed=1)


Step = Callable[[Context], Counts]
ROUNDTRIP = ["--param", "roundtrip=1"]  # Every module is printed and parsed again.

STEPS: dict[str, Step] = {
    "budgets": lambda c: c.check([sys.executable, ROOT / "tools/dev/check-sizes.py"]),
    "format": lambda c: c.check([ROOT / "dev", "format", "--check"]),
    "unit": lambda c: unit(c, c.build),
    "lit": lambda c: lit(c, c.build, []),
    "lit-roundtrip": lambda c: lit(c, c.build, ROUNDTRIP),
    "reference": lambda c: c.check([sys.executable, ROOT / "tools/dev/gen-docs.py", "--build", c.build, "--check"]),
    "python": python_tests,
    "hostile": hostile,
    "onnx-nodes": lambda c: c.suite([ROOT / "test/onnx/run_node_suite.py", "--build", c.build], "onnx-nodes"),
    "edges": lambda c: c.suite([ROOT / "test/onnx/run_edges.py", "--build", c.build], "edges"),
    "random-graphs": lambda c: c.suite([ROOT / "test/random_graphs/run_random.py", "--build", c.build, *fresh(c)], "random-graphs"),
    "rules": lambda c: c.suite([ROOT / "test/rules/run_rules.py", "--build", c.build], "rules"),
    "folds": lambda c: c.suite([ROOT / "test/rules/run_folds.py", "--build", c.build], "folds"),
    "models": models,
    "kernel-counts": lambda c: c.suite([ROOT / "test/models/count_kernels.py", "--build", c.build], "kernel-counts"),
    "planner-gap": lambda c: c.suite([ROOT / "test/models/planner_gap.py", "--ci", "--build", c.build], "planner-gap"),
    "planning-time": lambda c: c.suite([ROOT / "test/models/planning_time.py", "--build", c.build], "planning-time"),
    "cpu-fusion": lambda c: c.suite([ROOT / "bench/cpu_fusion.py", "--check", "--build", c.build], "cpu-fusion"),
    "bench-cases": lambda c: c.suite([ROOT / "bench/check_cases.py", "--build", c.build], "bench-cases"),
}

STEPS["gpu-code"] = lambda c: c.suite([ROOT / "test/gpu/check_code.py", "--build", c.build], "gpu-code")

# The GPU path without a GPU: every program runs on the emulator of its target, whose sanitizer watches. Most cases are the same code for all
# targets: the full subset runs for one, and others have what differs: products, copies, accesses of other widths.
NODES, EDGES, CASES = ROOT / "test/onnx/run_node_suite.py", ROOT / "test/onnx/run_edges.py", ROOT / "bench/check_cases.py"
EMULATED = {
    "emulated-nodes": {
        "sm_80": [NODES, "--subset", "--target=sm_80"],
        "sm_86": [NODES, "--subset=1", "--target=sm_86"],
        "sm_90a": [NODES, "--subset=2", "--target=sm_90a"],
    },
    "emulated-edges": {target: [EDGES, f"--target={target}", "--quiet"] for target in ("sm_80", "sm_90a")},
    "emulated-models": {target: [ROOT / "test/models/run_models.py", "--emulated", f"--target={target}"] for target in ("sm_80", "sm_90a")},
    "emulated-cases": {
        "sm_80": [CASES, "--target=sm_80", "--dtype=f16"],
        "sm_90a": [CASES, "--target=sm_90a", "--dtype=bf16"],
        "larger": [ROOT / "bench/sanitize.py", "--emulated"],
    },
}
STEPS.update({name: lambda c, name=name: emulated(c, name) for name in EMULATED})

# After `./dev build asan` and `./dev build tsan`.
SANITIZER_STEPS: dict[str, Step] = {
    "unit-sanitized": lambda c: unit(c, ROOT / "build-asan", SANITIZER_ENV),
    "lit-sanitized": lambda c: lit(c, ROOT / "build-asan", ROUNDTRIP, SANITIZER_ENV),
    "unit-tsan": lambda c: unit(c, ROOT / "build-tsan", SANITIZER_ENV),
    "hostile-sanitized": hostile_sanitized,
    "onnx-nodes-sanitized": nodes_sanitized,
    "fuzz": fuzz,
}


# What the sanitizer steps do as well: the sanitized lit suite makes the round trips, the sanitized compiler compiles all node cases.
DONE_SANITIZED = ("lit-roundtrip", "onnx-nodes")


def run_step(context: Context, name: str, step: Step) -> Counts:
    context.log = context.results / f"{name}.log"
    context.log.unlink(missing_ok=True)
    print(f"{name:22}", end="", flush=True)
    start = time.monotonic()
    counts = step(context)
    line = f"{counts.passed:5} passed {counts.failed:5} failed {counts.skipped:5} skipped {time.monotonic() - start:7.1f} s"
    print(line, flush=True)
    if counts.failed:
        log = context.log.read_text(errors="replace").splitlines() if context.log.exists() else []
        print("\n".join("    " + text for text in log[-context.args.tail:]), flush=True)
        print(f"    all of it: {context.log}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--only", help="comma-separated names of steps")
    parser.add_argument("--skip", default="", help="comma-separated names of steps to leave out")
    parser.add_argument("--list", action="store_true", help="name the steps and stop")
    parser.add_argument("--sanitize", action="store_true", help="also the steps of the sanitizer build (build-asan, build-tsan)")
    parser.add_argument("--all-models", action="store_true", help="the large models too")
    parser.add_argument("--fresh-graphs", type=int, default=0, help="random-graphs: this many new graphs instead of the usual 2,000")
    parser.add_argument("--fuzz-seconds", type=int, default=60, help="time for each fuzz target (default 60)")
    parser.add_argument("--tail", type=int, default=40, help="log lines to print for a failing step (default 40)")
    args = parser.parse_args()

    steps = {**STEPS, **(SANITIZER_STEPS if args.sanitize or args.only else {})}
    if args.sanitize and not args.only:
        steps = {name: step for name, step in steps.items() if name not in DONE_SANITIZED}
    if args.list:
        print("\n".join({**STEPS, **SANITIZER_STEPS}))
        return 0
    wanted = args.only.split(",") if args.only else list(steps)
    unknown = [name for name in wanted + [s for s in args.skip.split(",") if s] if name not in {**STEPS, **SANITIZER_STEPS}]
    if unknown:
        print(f"run-tests: unknown step '{unknown[0]}'; --list names them", file=sys.stderr)
        return 2
    context, total = Context(args), Counts()
    for name in wanted:
        if name not in args.skip.split(","):
            counts = run_step(context, name, steps[name])
            total = Counts(*(a + b for a, b in zip(dataclasses.astuple(total), dataclasses.astuple(counts))))
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
