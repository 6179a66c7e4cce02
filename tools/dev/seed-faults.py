#!/usr/bin/env python3
"""Proof that the tests catch what they are there for: the faults of test/faults/faults.toml, one at a time.

A fault is a change of one place that a developer could make. It is put into a copy of the tree (its last commit and what is changed since, in
WORK/tree, with build folders of its own, which are kept), what the test needs is built, and the step of `./dev test` that must catch it runs,
narrowed to the test that does. Without the faults the same commands must pass, or nothing is proved. `--whole` also runs the steps of CI as they
are, the expected one first, until one fails.

    tools/dev/seed-faults.py --check            every fault's text is there, once (a test of the step `python`)
    tools/dev/seed-faults.py --only='runtime-*' some of them
    tools/dev/seed-faults.py --report           all of them, and writes docs/reference/seeded-faults.md
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTS = ROOT / "test" / "faults" / "faults.toml"
REPORT = ROOT / "docs" / "reference" / "seeded-faults.md"
SEEDED = "WEFT_SEEDED_FAULT"  # Names the fault that is in the tree to the test that all of them fit it.
LIMIT_SECONDS = 900  # For one narrowed step: a test that hangs has noticed as well.
RESULTS = ("caught", "missed", "not proved", "does not build")

# Suites of ours, as tools/dev/run-tests.py calls them; a fault's `select` narrows them.
SUITES = {
    "onnx-nodes": "test/onnx/run_node_suite.py", "edges": "test/onnx/run_edges.py", "rules": "test/rules/run_rules.py",
    "folds": "test/rules/run_folds.py", "hostile": "test/hostile/run_hostile.py", "models": "test/models/run_models.py",
    "random-graphs": "test/random_graphs/run_random.py", "bench-cases": "bench/check_cases.py", "gpu-code": "test/gpu/check_code.py",
    "emulated-nodes": "test/onnx/run_node_suite.py", "emulated-edges": "test/onnx/run_edges.py", "emulated-cases": "bench/check_cases.py",
    "python": "tools/dev/run-unittests.py",
}


def load_script(path: pathlib.Path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@dataclasses.dataclass
class Fault:
    name: str
    room: str
    what: str
    file: str
    old: str
    new: str
    step: str
    select: str
    targets: list[str] = dataclasses.field(default_factory=lambda: ["all"])

    def problem(self, root: pathlib.Path) -> str:
        """Why the fault cannot be put into the tree `root`; empty if it can."""
        path = root / self.file
        if not path.is_file():
            return f"{self.name}: {self.file} does not exist"
        count = path.read_text().count(self.old)
        if count != 1:
            return f"{self.name}: expected its text once in {self.file}, got it {count} times; put the fault where the code is now"
        return f"{self.name}: changes nothing" if self.old == self.new else ""

    def apply(self, root: pathlib.Path) -> None:
        path = root / self.file
        path.write_text(path.read_text().replace(self.old, self.new))


def read_faults() -> list[Fault]:
    faults = [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text())["fault"]]
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{FAULTS.name}: two faults are called {name}")
    return faults


class Copy:
    """The copy of the tree, and what is built and run in it."""

    def __init__(self, work: pathlib.Path, jobs: int):
        self.tests = load_script(ROOT / "tools" / "dev" / "run-tests.py")
        self.work, self.tree, self.jobs = work, work / "tree", jobs
        self.logs = work / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1",
                            "CCACHE_PCH_EXTSUM": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros"}  # As ./dev has them.

    def git(self, *arguments: str, cwd: pathlib.Path | None = None) -> str:
        return subprocess.run(["git", *arguments], cwd=cwd or self.tree, check=True, capture_output=True, text=True).stdout.strip()

    def synchronise(self) -> str:
        """Makes the copy equal to the tree, without what git does not track; returns the commit. Files that are equal keep their times."""
        changed = self.git("status", "--porcelain", "--untracked-files=no", cwd=ROOT)
        commit = self.git("stash", "create", cwd=ROOT) if changed else self.git("rev-parse", "HEAD", cwd=ROOT)
        if not self.tree.exists():
            self.git("clone", "--shared", "--no-checkout", str(ROOT), str(self.tree), cwd=ROOT)
        self.git("checkout", "--force", "--detach", commit)
        for link, target in ((self.tree / ".venv", ROOT / ".venv"), (self.work / "shared", ROOT.parent / "shared")):
            if target.exists() and not link.exists():
                link.symlink_to(target.resolve())
        return commit

    def revert(self, fault: Fault) -> None:
        self.git("checkout", "--force", "--", fault.file)

    def build_folder(self, fault: Fault) -> tuple[str, pathlib.Path]:
        preset = "tsan" if fault.step.endswith("-tsan") else "asan" if fault.step.endswith("-sanitized") else "dev"
        return preset, self.tree / ("build" if preset == "dev" else f"build-{preset}")

    def run(self, command: list, log: pathlib.Path, limit: float, environment: dict | None = None) -> int:
        with open(log, "a") as out:
            out.write("$ " + shlex.join(map(str, command)) + "\n")
            out.flush()
            process = subprocess.Popen([str(c) for c in command], cwd=self.tree, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       env={**self.environment, **(environment or {})}, start_new_session=True)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                out.write(f"stopped after {limit:.0f} s\n")
                return 124

    def build(self, fault: Fault, targets: list[str], log: pathlib.Path) -> bool:
        preset, folder = self.build_folder(fault)
        if not (folder / "build.ninja").exists():
            python = self.tree / ".venv" / "bin" / "python"
            if self.run(["cmake", "--preset", preset, "-B", folder, f"-DWEFT_PYTHON={python}"], log, 600):
                return False
        return self.run(["ninja", "-C", folder, f"-j{self.jobs}", *targets], log, 7200) == 0

    def narrowed(self, fault: Fault) -> tuple[list, dict]:
        """The command and environment of the fault's step, narrowed to its selection."""
        preset, folder = self.build_folder(fault)
        sanitizers = self.tests.SANITIZER_ENV if preset != "dev" else {}
        if fault.step in ("lit", "lit-roundtrip", "lit-sanitized"):
            params = [] if fault.step == "lit" else self.tests.ROUNDTRIP
            return [sys.executable, self.tests.LLVM / "lit", "-v", f"-j{self.jobs}", *params, f"--filter={fault.select}", folder / "test"], sanitizers
        if fault.step.startswith("unit"):
            binary, _, names = fault.select.partition(":")
            return (["ctest", "--test-dir", folder, "-L", "unit", "-R", f"^{binary}$", "--output-on-failure", "--no-tests=error"],
                    {**sanitizers, "GTEST_FILTER": names or "*"})
        return [sys.executable, self.tree / SUITES[fault.step], "--build", folder, *shlex.split(fault.select)], sanitizers

    def run_narrowed(self, fault: Fault, log: pathlib.Path) -> int:
        command, environment = self.narrowed(fault)
        return self.run(command, log, LIMIT_SECONDS, environment)

    def run_whole(self, fault: Fault, log: pathlib.Path) -> str:
        """The first step that fails: the expected one as `./dev test` runs it, then those of CI; empty if none does."""
        script = self.tree / "tools" / "dev" / "run-tests.py"
        steps = [*self.tests.STEPS, *self.tests.SANITIZER_STEPS]
        for step in [fault.step, *(s for s in steps if s != fault.step and s not in self.tests.DONE_SANITIZED)]:
            if not self.build(dataclasses.replace(fault, step=step), ["all"], log):
                return "build"
            if self.run([sys.executable, script, f"--only={step}"], log, 7200):
                return step
        return ""


def find_evidence(log: pathlib.Path) -> str:
    """The line of a log that says best what was wrong."""
    text = log.read_text(errors="replace")
    for pattern in (r"ERROR: AddressSanitizer: [\w-]+", r"ERROR: LeakSanitizer: .*", r"WARNING: ThreadSanitizer: [\w ]+", r".*: runtime error: .*",
                    r"^FAIL: Weft :: \S+", r"^\[  FAILED  \] [\w/.]+", r"^(FAIL|ERROR): test_\w+", r"^regressed .*", r"(reads|writes) shared memory .*", r"^.*near miss fired$",
                    r"\d+ wavefronts instead of \d+", r"^.*expected .*, got .*$", r"stopped after .*"):
        if found := re.search(pattern, text, re.M):
            return found.group(0).strip()[:110]
    return ""


@dataclasses.dataclass
class Row:
    fault: Fault
    result: str = "missed"
    evidence: str = ""
    build_seconds: float = 0
    seconds: float = 0
    whole: str | None = None  # The step of CI that caught it, where all were run.


def prove(copy: Copy, fault: Fault, whole: bool) -> Row:
    log, row = copy.logs / f"{fault.name}.log", Row(fault)
    log.unlink(missing_ok=True)
    fault.apply(copy.tree)
    copy.environment[SEEDED] = fault.name
    try:
        start = time.monotonic()
        built = copy.build(fault, fault.targets, log)
        row.build_seconds = time.monotonic() - start
        if not built:
            row.result, row.evidence = "does not build", next(iter(re.findall(r"error: .*", log.read_text(errors="replace"))), "")
            return row
        start = time.monotonic()
        if copy.run_narrowed(fault, log):
            row.result, row.evidence = "caught", find_evidence(log)
        row.seconds = time.monotonic() - start
        if whole:
            row.whole = copy.run_whole(fault, log)
    finally:
        del copy.environment[SEEDED]
        copy.revert(fault)
    return row


def check_baselines(copy: Copy, faults: list[Fault], commit: str) -> dict[tuple[str, str], bool]:
    """Whether each narrowed step passes without a fault. What passed with this commit is not run again."""
    path = copy.work / "baselines.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    tree = copy.git("rev-parse", f"{commit}^{{tree}}")
    passed = set(known.get("passed", [])) if known.get("tree") == tree else set()
    for preset in ("dev", "asan", "tsan"):
        targets = sorted({target for fault in faults if copy.build_folder(fault)[0] == preset for target in fault.targets})
        some = next((fault for fault in faults if copy.build_folder(fault)[0] == preset), None)
        missing = [fault for fault in faults if copy.build_folder(fault)[0] == preset and f"{fault.step} {fault.select}" not in passed]
        if missing and not copy.build(some, targets, copy.logs / f"build-{preset}.log"):
            raise RuntimeError(f"the tree does not build: {copy.logs / f'build-{preset}.log'}")
        for fault in missing:
            key, log = f"{fault.step} {fault.select}", copy.logs / f"{fault.name}-baseline.log"
            log.unlink(missing_ok=True)
            if key not in passed and copy.run_narrowed(fault, log) == 0:
                passed.add(key)
            path.write_text(json.dumps({"tree": tree, "passed": sorted(passed)}))
    return {(fault.step, fault.select): f"{fault.step} {fault.select}" in passed for fault in faults}


def print_row(row: Row) -> None:
    whole = "" if row.whole is None else f"  CI: {row.whole or 'nothing'}"
    print(f"{row.fault.name:28} {row.fault.room:18} {row.result:14} {row.fault.step:16} {row.build_seconds:6.0f} {row.seconds:6.0f}  {row.evidence}{whole}",
          flush=True)


def write_report(rows: list[Row], commit: str) -> None:
    caught = sum(row.result == "caught" for row in rows)
    lines = ["# Seeded faults", "",
             "What `tools/dev/seed-faults.py --report` wrote; do not edit. A fault is put into the tree alone; the step is the one of `./dev test`",
             "(`--sanitize`) that fails then, narrowed to the test in the next column, which passes without the fault. Seconds are of that test.", "",
             f"{caught} of {len(rows)} are caught.", "",
             "| fault | room | what is wrong | step | by | s |", "|---|---|---|---|---|---|"]
    for row in rows:
        select = row.fault.select.replace("|", "\\|")
        step = row.fault.step if row.result == "caught" else f"{row.fault.step}: {row.result}"
        lines.append(f"| {row.fault.name} | {row.fault.room} | {row.fault.what.replace('|', chr(92) + '|')} | {step} | `{select}` | {row.seconds:.0f} |")
    REPORT.write_text("\n".join(lines) + "\n")


def run(args: argparse.Namespace, faults: list[Fault]) -> int:
    copy = Copy(args.work.resolve(), args.jobs)
    commit = copy.synchronise()
    baselines = check_baselines(copy, faults, commit)
    print(f"{'fault':28} {'room':18} {'result':14} {'step':16} {'build':>6} {'test':>6}  s", flush=True)
    rows = []
    for fault in faults:
        if baselines[(fault.step, fault.select)]:
            rows.append(prove(copy, fault, args.whole))
        else:
            rows.append(Row(fault, "not proved", f"fails without the fault: {copy.logs / f'{fault.name}-baseline.log'}"))
        print_row(rows[-1])
    if args.json:
        args.json.write_text(json.dumps([{"name": row.fault.name, "room": row.fault.room, "step": row.fault.step, "result": row.result,
                                          "evidence": row.evidence, "build_seconds": row.build_seconds, "seconds": row.seconds,
                                          "whole": row.whole} for row in rows], indent=1) + "\n")
    if args.report:
        write_report(rows, commit)
    print(", ".join(f"{sum(row.result == result for row in rows)} {result}" for result in RESULTS))
    return 0 if all(row.result == "caught" for row in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="comma-separated globs of names of faults")
    parser.add_argument("--list", action="store_true", help="name the faults and stop")
    parser.add_argument("--check", action="store_true", help="see that every fault fits the tree, and stop")
    parser.add_argument("--whole", action="store_true", help="also run CI's steps as they are until one fails")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/weft-faults"), help="folder of the copy (default /tmp/weft-faults)")
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time (default 2)")
    parser.add_argument("--json", type=pathlib.Path, help="write the results here")
    parser.add_argument("--report", action="store_true", help=f"write {REPORT.relative_to(ROOT)}: of all faults only")
    args = parser.parse_args()
    faults = [fault for fault in read_faults() if any(fnmatch.fnmatch(fault.name, glob) for glob in args.only.split(","))]
    if not faults or (args.report and args.only != "*"):
        print("seed-faults: expected names of faults (--list), and all of them for --report", file=sys.stderr)
        return 2
    if args.list:
        for fault in faults:
            print(f"{fault.name:28} {fault.room:18} {fault.step:16} {fault.what}")
        return 0
    if problems := [problem for fault in faults if (problem := fault.problem(ROOT))]:
        print("\n".join(problems), file=sys.stderr)
        return 1
    return 0 if args.check else run(args, faults)


if __name__ == "__main__":
    sys.exit(main())
