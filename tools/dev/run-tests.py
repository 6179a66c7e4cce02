#!/usr/bin/env python3
"""What must pass, step by step; called by `./dev test` after the build.

Three tiers. Plain: what protects against most mistakes; suites of many cases take a covering set and a slice of the others that moves on with
every commit (test/harness/selection.py; WEFT_ROTATION=N takes slice N). --sanitize, what CI runs: the sanitizer builds' steps too, without the plain
steps that these do as well. --all: every case of every step.

Each step prints one line with its counts and time; a failing step also prints the end of its log. Steps that use one core run two at a time. The
slowest ten and the sum come before the last line, `N passed, N failed, N skipped` over all steps. Logs and results are in BUILD/test-results, the
times of builds and steps in BUILD/logs/times.tsv.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import base64
import concurrent.futures
import dataclasses
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
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
    """Folders and flags of this run, and the log of a step."""

    def __init__(self, args: argparse.Namespace, step: str):
        self.args = args
        self.build = args.build.resolve()
        self.results = self.build / "test-results"
        self.results.mkdir(parents=True, exist_ok=True)
        self.processor_seconds = 0.0
        self.log = self.results / f"{step}.log"
        self.log.unlink(missing_ok=True)

    @property
    def chosen(self) -> list[str]:
        """The flag of suites that can take a part of their cases."""
        return [] if self.args.all else ["--chosen"]

    def run(self, command: list, env: dict | None = None, log_path: pathlib.Path | None = None) -> int:
        with open(log_path or self.log, "a") as log:
            log.write("$ " + " ".join(map(str, command)) + "\n")
            log.flush()
            process = subprocess.Popen([str(c) for c in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                       env={**os.environ, **(env or {})})
            timer = threading.Timer(COMMAND_SECONDS, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if timer.finished.is_set():
                log.write(f"stopped after {COMMAND_SECONDS} s\n")
            timer.cancel()
            self.processor_seconds += usage.ru_utime + usage.ru_stime
            return process.returncode

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
    folder = context.log.with_suffix(".gtest")
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
    report = context.log.with_suffix(".json")
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


def lit_unsanitized(context: Context) -> Counts:
    """The lit tests that a sanitizer build does not support, on the plain build."""
    marked = subprocess.run(["git", "grep", "-l", "UNSUPPORTED: asan", "--", "test"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    names = "|".join(re.escape(name.removeprefix("test/")) for name in marked)
    return lit(context, context.build, [f"--filter={names}$"]) if names else Counts(failed=1)


def python_tests(context: Context) -> Counts:
    """unittest over the tools' own tests and the Python package's."""
    counts = Counts()
    for name, folder in (("tools", ROOT / "tools" / "dev" / "tests"), ("harness", ROOT / "test" / "harness" / "tests"),
                         ("random", ROOT / "test" / "random_graphs" / "tests"),
                         ("package", ROOT / "kernels-runtime" / "python" / "tests"), ("onnxruntime", ROOT / "integrations" / "onnxruntime" / "tests"),
                         ("triton", ROOT / "integrations" / "triton" / "tests"), ("bench", ROOT / "bench" / "tests")):
        if folder.is_dir():
            step = context.suite([ROOT / "tools" / "dev" / "run-unittests.py", folder, "--build", context.build], f"python-{name}")
            counts = Counts(*(a + b for a, b in zip(dataclasses.astuple(counts), dataclasses.astuple(step))))
    return counts


def models(context: Context) -> Counts:
    extra = ["--all"] if context.args.all_models else []
    return context.suite([ROOT / "test/models/run_models.py", "--build", context.build, *extra], "models")


def random_graphs(context: Context) -> Counts:
    which = [f"--fresh={context.args.fresh_graphs}"] if context.args.fresh_graphs else context.chosen
    return context.suite([ROOT / "test/random_graphs/run_random.py", "--build", context.build, *which], "random-graphs")


def kernel_counts(context: Context) -> Counts:
    """What is planned: launches of models, and plans that are the same for all extents."""
    total = Counts()
    for name, script in (("models", "test/models/count_kernels.py"), ("extents", "test/random_graphs/run_extents.py")):
        counts = context.suite([ROOT / script, "--build", context.build], f"kernel-counts-{name}")
        total = Counts(*(a + b for a, b in zip(dataclasses.astuple(total), dataclasses.astuple(counts))))
    return total


def emulated(context: Context, step: str) -> Counts:
    """The GPU path through the PTX emulator: several suites, one step."""
    total = Counts()
    for name, command in EMULATED[step].items():
        choice = context.chosen if step in CHOSEN else []
        counts = context.suite([*command, *choice, "--build", context.build], f"{step}-{name}")
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
    """The node suite through the sanitized compiler; the runtime is the plain one, which Python can load."""
    command = [ROOT / "test/onnx/run_node_suite.py", "--build", context.build, "--compiler", ROOT / "build-asan", "--memory", "0", *context.chosen]
    return context.suite(command, "onnx-nodes-sanitized", SANITIZER_ENV)


def budgets(context: Context) -> Counts:
    """What the text of the tree must be like, a test each."""
    counts = [context.check([sys.executable, ROOT / "tools/dev" / name]) for name in ("check-sizes.py", "check-rooms.py")]
    return Counts(passed=sum(each.passed for each in counts), failed=sum(each.failed for each in counts))


# Inputs that a target tries at most, some 45 s on two cores. With the seed they make a run of CI one that can be had again:
# a change is not refused for an input that another minute would have found. Search with `--fuzz-seed=0 --fuzz-seconds=600`.
FUZZ_RUNS = {"weft-fuzz-import": 40_000, "weft-fuzz-bundle": 800_000, "weft-fuzz-ptx": 250_000}


def fuzz_target(context: Context, binary: pathlib.Path) -> tuple[int, pathlib.Path]:
    """The exit status of one target, and its log."""
    log = context.log.with_name(f"{binary.name}.log")
    log.unlink(missing_ok=True)
    folders = [context.results / "corpus" / binary.name]
    shutil.rmtree(folders[0], ignore_errors=True)
    folders[0].mkdir(parents=True)
    if binary.name == "weft-fuzz-import":
        folders.append(context.results / "seeds")
        context.run([sys.executable, ROOT / "test/fuzz/make_seeds.py", folders[1]])
    if binary.name == "weft-fuzz-ptx":
        folders += [ROOT / "kernels-runtime/fuzz/ptx", ROOT / "kernels-runtime/test/Emulator/Kernels"]
    args = context.args
    runs = [f"-runs={FUZZ_RUNS[binary.name]}"] if args.fuzz_seed else []
    code = context.run([binary, f"-seed={args.fuzz_seed}", f"-max_total_time={args.fuzz_seconds}", *runs, "-rss_limit_mb=2048", "-timeout=20",
                        "-print_final_stats=1", f"-artifact_prefix={context.results}/{binary.name}-", *folders], SANITIZER_ENV, log)
    return code, log


def found_input(log: str) -> pathlib.Path | None:
    """The file that libFuzzer wrote for a finding."""
    place = re.search(r"Test unit written to (.*)", log)
    return pathlib.Path(place[1]) if place and os.path.exists(place[1]) else None


def is_seen_again(context: Context, binary: pathlib.Path, log: pathlib.Path) -> bool:
    """Whether the input of a finding fails by itself too. One that does not is a stall of the machine: libFuzzer's time limit is wall-clock time."""
    place = found_input(log.read_text(errors="replace"))
    return place is None or any(context.run([binary, "-rss_limit_mb=2048", "-timeout=20", place], SANITIZER_ENV, log) for _ in range(3))


def fuzz_finding(log: str, lines: int) -> list[str]:
    """What libFuzzer and the sanitizers say of a finding, without the progress before it and the dictionary behind; the input in base64 of xz."""
    text = log.splitlines()
    first = next((i for i, line in enumerate(text) if re.search(r"==\d+==|runtime error:|ALARM:|^broken:", line)), len(text))
    said = [line for line in text[first:] if not line.startswith(("#", '"'))]
    place = found_input(log)
    if not place:
        return said[:lines]
    data = base64.b64encode(lzma.compress(place.read_bytes())).decode()
    rows = [data[i:i + 800] for i in range(0, len(data), 800)]
    return said[:max(lines - len(rows) - 1, lines // 2)] + ([f"{place}, base64 of xz:", *rows] if len(rows) < lines // 2 else [])


def fuzz(context: Context) -> Counts:
    """Every libFuzzer target of the sanitizer build, for the same time, together; a finding is a failure."""
    binaries = sorted((ROOT / "build-asan" / "bin").glob("weft-fuzz-*"))
    with concurrent.futures.ThreadPoolExecutor(max(1, len(binaries))) as pool:
        outcomes = list(pool.map(lambda binary: fuzz_target(context, binary), binaries))
    findings = {log: is_seen_again(context, binary, log) for binary, (code, log) in zip(binaries, outcomes) if code}
    with open(context.log, "a") as step_log:
        for log, again in sorted(findings.items(), key=lambda item: item[1]):
            lines = fuzz_finding(log.read_text(errors="replace"), context.args.tail // len(findings) - 1)
            step_log.write("\n".join([f"{log.stem}: a finding{'' if again else ', not seen again'}; whole log: {log}", *lines, ""]))
    failed = sum(findings.values())
    return Counts(passed=len(outcomes) - failed, failed=failed) if outcomes else Counts(failed=1)


@dataclasses.dataclass
class Step:
    """`cores`: 1 where it leaves one idle most of the time. `only`: what no other step would catch."""

    only: str
    run: Callable[[Context], Counts]
    cores: int = 2


def script(path: str, name: str, *flags: str, chosen: bool = False) -> Callable[[Context], Counts]:
    """A suite of ours on the plain build."""
    return lambda c: c.suite([ROOT / path, *flags, *(c.chosen if chosen else []), "--build", c.build], name)


ROUNDTRIP = ["--param", "roundtrip=1"]  # Every module is printed and parsed again.
NODES, EDGES, CASES, MODELS = "test/onnx/run_node_suite.py", "test/onnx/run_edges.py", "bench/check_cases.py", "test/models/run_models.py"
PROGRAMS = "test/onnx/run_programs.py"
DECODERS = "test/models/run_decoders.py"
EXPERTS = "test/models/run_experts.py"

# The longest first among those that use one core, so that pairs end together.
STEPS: dict[str, Step] = {
    "budgets": Step("a file, function or test beyond its size; an op without example, a pass without test; a room that decides",
                    budgets, 1),
    "format": Step("source that clang-format would change", lambda c: c.check([ROOT / "dev", "format", "--check"]), 1),
    "unit": Step("plain C++: bundles, memory planner, sessions, the fake CUDA driver; every instruction form of the emulator",
                 lambda c: unit(c, c.build)),
    "lit": Step("each pass, op, message and tool by itself; the pages in a browser; the commands of the docs", lambda c: lit(c, c.build, [])),
    "lit-roundtrip": Step("IR that does not parse as it was printed", lambda c: lit(c, c.build, ROUNDTRIP)),
    "bench-cases": Step("a benchmark's graph that is not what it is called", script(CASES, "bench-cases"), 1),
    "kernel-counts": Step("a plan with more kernels, a planner beside that moved, dimensions told apart by their extents", kernel_counts, 1),
    "models": Step("whole models: weights, cuts, symbolic extents, memory, equal bytes of two compiles", models, 1),
    "planner-gap": Step("a greedy plan that search beats by more than it did", script("test/models/planner_gap.py", "planner-gap", "--ci"), 1),
    "python": Step("the Python package; the harness itself: suites that would pass what is wrong", python_tests, 1),
    "reference": Step("generated pages that are out of date",
                      lambda c: c.check([sys.executable, ROOT / "tools/dev/gen-docs.py", "--build", c.build, "--check"]), 1),
    "site": Step("a page that does not render, or is not in the book; a link to nothing", lambda c: c.check([ROOT / "dev", "site"]), 1),
    "hostile": Step("broken input: another message, more than a second or 256 MB", hostile),
    "onnx-nodes": Step("an operator's semantics as ONNX has them", script(NODES, "onnx-nodes", chosen=True)),
    "edges": Step("ends of tiles on the CPU: extents that divide nothing", script(EDGES, "edges", chosen=True)),
    "programs": Step("extents that are data, loops, branches, recurrences", script(PROGRAMS, "programs")),
    "sharded": Step("a program of ranks that differs from the whole one; a rank that waits for one that has died", script("test/models/run_sharded.py", "sharded"), 1),
    "random-graphs": Step("combinations of ops that no one wrote down: fusion, rules, folds, planners against f64", random_graphs),
    "rules": Step("a rewrite rule that changes values; a guard that nothing needs", script("test/rules/run_rules.py", "rules")),
    "folds": Step("a derived fold's guard switched off", script("test/rules/run_folds.py", "folds")),
    "planning-time": Step("planning that is no longer linear", script("test/models/planning_time.py", "planning-time")),
    "cpu-fusion": Step("fused code that is slower than unfused, or of other bits", script("bench/cpu_fusion.py", "cpu-fusion", "--check", chosen=True)),
    "includes": Step("a source that compiles only with the precompiled headers", script("tools/dev/check-includes.py", "includes", chosen=True)),
    "gpu-code": Step("spills, serialised wgmma, bank conflicts at full size", script("test/gpu/check_code.py", "gpu-code", chosen=True)),
}

# The GPU path without a GPU: every program runs on the emulator of its target, whose sanitizer watches. Most cases are the same code for all
# targets: the full subset runs for one, and others have what differs: products, copies, accesses of other widths.
EMULATED = {
    "emulated-nodes": {
        "sm_80": [ROOT / NODES, "--subset", "--target=sm_80"],
        "sm_86": [ROOT / NODES, "--subset=1", "--target=sm_86"],
        "sm_90a": [ROOT / NODES, "--subset=2", "--target=sm_90a"],
    },
    "emulated-edges": {target: [ROOT / EDGES, f"--target={target}", "--quiet"] for target in ("sm_80", "sm_90a")},
    "emulated-programs": {target: [ROOT / PROGRAMS, f"--target={target}"] for target in ("sm_80", "sm_90a")},
    "decoders": {"cpu": [ROOT / DECODERS], **{target: [ROOT / DECODERS, f"--target={target}"] for target in ("sm_80", "sm_90a")},
                 "masks": [ROOT / "test/models/run_masks.py"], "experts": [ROOT / EXPERTS],
                 **{f"experts-{target}": [ROOT / EXPERTS, f"--target={target}"] for target in ("sm_80", "sm_90a")}},
    "emulated-models": {target: [ROOT / MODELS, "--emulated", f"--target={target}"] for target in ("sm_80", "sm_90a")},
    "emulated-cases": {
        "sm_80": [ROOT / CASES, "--target=sm_80", "--dtype=f16"],
        "sm_90a": [ROOT / CASES, "--target=sm_90a", "--dtype=bf16"],
        "larger": [ROOT / "bench/sanitize.py", "--emulated"],
    },
}
CHOSEN = ("emulated-nodes", "emulated-edges", "emulated-models")  # Those of them that can take a part of their cases.
STEPS.update({
    "decoders": Step("caches in place, at any length from one bundle; the examples that generate; masks as exporters spell them; experts that nobody chose", lambda c: emulated(c, "decoders")),
    "emulated-models": Step("whole models on a GPU: launches, buffers, dynamic extents", lambda c: emulated(c, "emulated-models"), 1),
    "emulated-cases": Step("the kernels that are measured: wgmma, TMA, clusters, roles, races between them", lambda c: emulated(c, "emulated-cases"), 1),
    "emulated-nodes": Step("an operator's code for a GPU", lambda c: emulated(c, "emulated-nodes")),
    "emulated-edges": Step("ends of tiles on a GPU: masks, copies that run over", lambda c: emulated(c, "emulated-edges")),
    "emulated-programs": Step("loops and bound extents on a GPU", lambda c: emulated(c, "emulated-programs")),
    "emulated-windows": Step("windows on a GPU that no one wrote down: strides, dilations, paddings, what is fused behind them",
                             script("test/random_graphs/run_random.py", "emulated-windows", "--draw=windows", "--count=48")),
    "emulated-attention": Step("attention of shapes that no one wrote down: widths, lengths, folds in parts, masks",
                               script("test/random_graphs/run_random.py", "emulated-attention", "--draw=attention", "--count=24")),
    "emulated-products": Step("products and rows that no one wrote down: operands, what is fused before and behind them, chains",
                              script("test/random_graphs/run_random.py", "emulated-products", "--draw=products", "--count=4")),
    "emulated-indices": Step("places that ops choose, on the CPU and on a GPU: scatters, gathers, running sums, Resize, axes apart",
                             script("test/random_graphs/run_random.py", "emulated-indices", "--draw=indices", "--count=4")),
    "symbolic": Step("graphs that no one wrote down from one bundle at many extents, on the CPU and both GPUs",
                     script("test/random_graphs/run_symbolic.py", "symbolic", "--count=3")),
    "emulated-quantised": Step("products by weights of 2, 4 and 8 bits of any size, as they are stored",
                               script("test/random_graphs/run_random.py", "emulated-quantised", "--draw=quantised", "--count=12")),
})

# After `./dev build asan` and `./dev build tsan`.
SANITIZER_STEPS: dict[str, Step] = {
    "lit-unsanitized": Step("what `UNSUPPORTED: asan` keeps from the sanitized suite: the commands of the docs, the installed tree", lit_unsanitized),
    "unit-sanitized": Step("what unit catches; leaks, use after free, undefined behaviour in the runtime",
                           lambda c: unit(c, ROOT / "build-asan", SANITIZER_ENV)),
    "lit-sanitized": Step("what lit and lit-roundtrip catch; memory errors in the compiler", lambda c: lit(c, ROOT / "build-asan", ROUNDTRIP, SANITIZER_ENV)),
    "unit-tsan": Step("races in the runtime", lambda c: unit(c, ROOT / "build-tsan", SANITIZER_ENV)),
    "hostile-sanitized": Step("broken input that reads or writes out of bounds", hostile_sanitized),
    "onnx-nodes-sanitized": Step("what onnx-nodes catches; memory errors in the operators' import", nodes_sanitized),
    "fuzz": Step("broken input that nobody wrote down", fuzz),
}

# What the sanitizer steps do as well (lit-unsanitized does what lit-sanitized leaves out), and what the plain tier has in parts elsewhere.
DONE_SANITIZED = ("unit", "lit", "onnx-nodes", "lit-roundtrip")
ALL_ONLY = ("lit-roundtrip",)


def steps_of(args: argparse.Namespace) -> list[str]:
    """The steps of the tier, or those that are asked for."""
    if args.only:
        return args.only.split(",")
    names = [*STEPS, *(SANITIZER_STEPS if args.sanitize else ())]
    if not args.all:
        names = [name for name in names if name not in (DONE_SANITIZED if args.sanitize else ALL_ONLY)]
    return [name for name in names if name not in args.skip.split(",")]


def run_step(args: argparse.Namespace, name: str) -> tuple[Counts, float]:
    context, start = Context(args, name), time.monotonic()
    counts = {**STEPS, **SANITIZER_STEPS}[name].run(context)
    seconds = time.monotonic() - start
    lines = [f"{name:22}{counts.passed:5} passed {counts.failed:5} failed {counts.skipped:5} skipped {seconds:7.1f} s, {context.processor_seconds:7.1f} of a processor"]
    if counts.failed:
        log = context.log.read_text(errors="replace").splitlines() if context.log.exists() else []
        lines += ["    " + text for text in log[-args.tail:]] + [f"    all of it: {context.log}"]
    print("\n".join(lines), flush=True)
    return counts, seconds


def run_steps(args: argparse.Namespace, names: list[str]) -> Counts:
    """All steps, those that use one core two at a time; the times join those of the builds."""
    everything, total = {**STEPS, **SANITIZER_STEPS}, Counts()
    times = args.build.resolve() / "logs" / "times.tsv"
    times.parent.mkdir(parents=True, exist_ok=True)

    def run(name: str) -> None:
        counts, seconds = run_step(args, name)
        with lock:
            for field in dataclasses.fields(Counts):
                setattr(total, field.name, getattr(total, field.name) + getattr(counts, field.name))
            with open(times, "a") as file:
                print(name, round(seconds), sep="\t", file=file)

    lock = threading.Lock()
    for cores, workers in ((1, 2), (2, 1)):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, [name for name in names if everything[name].cores == cores]))
    return total


def print_times(build: pathlib.Path, seconds: float) -> None:
    """The slowest ten builds and steps of this run, and the sums."""
    rows = [line.split("\t") for line in (build.resolve() / "logs" / "times.tsv").read_text().splitlines()]
    slowest = sorted(((int(time), name) for name, time in rows), reverse=True)
    print("slowest: " + ", ".join(f"{name} {time} s" for time, name in slowest[:10]))
    print(f"{len(rows)} builds and steps, {sum(time for time, _ in slowest)} s one by one; the steps took {seconds:.0f} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--only", help="comma-separated names of steps")
    parser.add_argument("--skip", default="", help="comma-separated names of steps to leave out")
    parser.add_argument("--list", action="store_true", help="name the steps and what only they would catch, and stop")
    parser.add_argument("--all", action="store_true", help="every case of every step")
    parser.add_argument("--sanitize", action="store_true", help="the steps of the sanitizer builds (build-asan, build-tsan) and the plain ones that "
                        "they do not do as well")
    parser.add_argument("--all-models", action="store_true", help="the large models too")
    parser.add_argument("--fresh-graphs", type=int, default=0, help="random-graphs: this many new graphs instead of the usual 2,000")
    parser.add_argument("--fuzz-seconds", type=int, default=60, help="time for each fuzz target (default 60)")
    parser.add_argument("--fuzz-seed", type=int, default=1, help="seed of the fuzz targets (default 1; 0: another one each time, and no bound but the time)")
    parser.add_argument("--tail", type=int, default=40, help="log lines to print for a failing step (default 40)")
    args = parser.parse_args()

    known = {**STEPS, **SANITIZER_STEPS}
    if args.list:
        print("\n".join(f"{name:22} {step.only}" for name, step in known.items()))
        return 0
    wanted = steps_of(args)
    if unknown := [name for name in [*wanted, *filter(None, args.skip.split(","))] if name not in known]:
        print(f"run-tests: unknown step '{unknown[0]}'; --list names them", file=sys.stderr)
        return 2
    start = time.monotonic()
    total = run_steps(args, wanted)
    print_times(args.build, time.monotonic() - start)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
