#!/usr/bin/env python3
"""The ONNX backend node suite, case by case, on the CPU, at ONNX's own tolerances; or on a GPU or its emulator.

    run_node_suite.py [--build=build] [--filter='softmax*,conv*'] [--jobs=2] [--update] [--report]
    run_node_suite.py --target=sm_80 [--device=emu:sm_80] [--subset] ...
    run_node_suite.py --target=sm_90a --prepare=nodes.zip         compile here, and where the GPU is, without the compiler:
    run_node_suite.py --target=sm_90a --prepared=nodes.zip --device=cuda --jobs=12 [--resume=results.jsonl]

Every case is compiled by its own process and run in another, both under a time and a memory limit. What is not supported must
be refused with a message that names the operator; those refusals are listed in expected-failures.json, and the run fails when a
listed case passes, when an unlisted one is refused, when the reason changed, and for every crash, hang or wrong value. The one
exception is a deviation, listed by hand with its reason: it must differ from the case's data only where it is nearer to the exact
value, which the run computes in f64 (exact.py). It does not count as a pass.
--update writes the list of refusals anew, --report the page docs/conformance.md.

With --target the suite compiles for a GPU and runs on --device, the target's emulator by default. A case passes at ONNX's tolerance or
within the relative L2 errors of gpu.py. Refusals beyond the CPU's are in expected-gpu.json, and so are known bugs, both ways.
--subset takes the small cases of every operator (gpu.py has the rule): what CI runs through the emulator. --chosen takes of what is asked for
the covering cases and a slice of the others (harness/selection.py).
--resume=FILE appends each result to FILE as it comes, a line of JSON each, and takes the results that FILE has instead of running their
cases: a run that was cut off goes on where it stopped. The caller sees to it that the bundles are the same ones.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import onnx  # noqa: E402

import gpu  # noqa: E402
import report  # noqa: E402
from node_cases import load  # noqa: E402
from harness import backends, coverage, limits, selection  # noqa: E402
from runner import BUGS, Result, Runner  # noqa: E402

EXPECTED = HERE / "expected-failures.json"
SLICES = 8  # Of the cases that do not cover.
RIGHT = ("pass", "pass-bound", "pass-sized", "nearer")


def read_expected(path: pathlib.Path) -> dict:
    return {"refused": {}, "bound": [], "sized": [], "deviations": {}, **(json.loads(path.read_text()) if path.exists() else {})}


def write_expected(path: pathlib.Path, results: list[Result], kept: dict) -> None:
    """`kept` holds the entries of cases that this run did not touch (--filter)."""
    refused = dict(kept["refused"])
    refused.update({r.name: {"reason": r.reason, "message": r.message} for r in results if r.verdict == "refused"})
    bound = sorted(set(kept["bound"]) | {r.name for r in results if r.bound and r.verdict in RIGHT})
    sized = sorted(set(kept["sized"]) | {r.name for r in results if r.verdict == "pass-sized"})
    text = {"schema": "weft.expected-failures/1", "onnx": onnx.__version__, "deviations": kept["deviations"],
            "refused": dict(sorted(refused.items())), "bound": bound, "sized": sized}
    path.write_text(json.dumps(text, indent=1) + "\n")


def disagreements(results: list[Result], expected: dict) -> list[str]:
    """One line for each case that did not end as the list says."""
    lines, bound, sized, bugs = [], set(expected["bound"]), set(expected["sized"]), expected.get("bugs", {})
    for r in results:
        if r.name in bugs:
            if r.verdict != bugs[r.name]["verdict"]:
                lines.append(f"changed    {r.name}: {r.verdict}, but is listed as {bugs[r.name]['verdict']}")
            continue
        listed = expected["refused"].get(r.name)
        deviation = expected["deviations"].get(r.name)
        if r.verdict in RIGHT and listed is None and r.bound != (r.name in bound):
            lines.append(f"regressed  {r.name}: now needs bound operands" if r.bound
                         else f"mended     {r.name}: right without bound operands, but is listed as bound")
        elif r.verdict in RIGHT and listed is None and (r.verdict == "pass-sized") != (r.name in sized):
            lines.append(f"changed    {r.name}: {r.verdict}, but is {'' if r.name in sized else 'not '}listed as sized")
        if r.verdict == "nearer":  # Only for listed cases.
            continue
        if deviation is not None and r.verdict not in BUGS and "bugs" not in expected:
            lines.append(f"mended     {r.name}: {r.verdict}, but is listed as deviating")
        elif r.verdict in BUGS:
            lines.append(f"{r.verdict:10} {r.name}: {r.message}")
        elif r.verdict == "refused" and listed is None:
            lines.append(f"regressed  {r.name}: refused, but not listed: {r.message}")
        elif r.verdict == "refused" and listed["reason"] != r.reason:
            lines.append(f"reason     {r.name}: expected {listed['reason']}, got {r.reason}: {r.message}")
        elif r.verdict != "refused" and listed is not None:
            lines.append(f"mended     {r.name}: passes, but is listed as {listed['reason']}")
    return lines


_state: dict = {}


def _work(index: int) -> Result:
    case = _state["cases"][index]
    with coverage.recording(_state["suite"], case.name):
        return _state["runner"](case)


def read_results(path: pathlib.Path | None, cases: list) -> list[Result]:
    """The results in `path` of cases that are asked for; a line that was cut off by the end of its run does not count."""
    names, results = {case.name for case in cases}, {}
    for line in path.read_text().splitlines() if path and path.exists() else []:
        try:
            result = Result(**json.loads(line))
        except (json.JSONDecodeError, TypeError):
            continue
        if result.name in names:
            results[result.name] = result
    return list(results.values())


def run_all(cases: list, runner: Runner, jobs: int, resume: pathlib.Path | None = None, suite: str = "onnx-nodes") -> list[Result]:
    """All cases over `jobs` forked workers, which inherit the cases; progress on a terminal, and in `resume`."""
    results = read_results(resume, cases)
    known = {r.name for r in results}
    cases = [case for case in cases if case.name not in known]
    _state.update(suite=suite, cases=cases, runner=runner)
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(resume.open("a")) if resume else None
        if log and log.tell():
            log.write("\n")  # Ends a line that was cut off.
        pool = stack.enter_context(multiprocessing.get_context("fork").Pool(jobs))
        for done, result in enumerate(pool.imap_unordered(_work, range(len(cases)), chunksize=4), 1):
            results.append(result)
            if log:
                print(json.dumps(dataclasses.asdict(result)), file=log, flush=True)
            if sys.stderr.isatty():
                print(f"\r{done}/{len(cases)} ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return sorted(results, key=lambda r: r.name)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--backend", choices=sorted(backends.BACKENDS), default="weft")
    backends.add_target_options(parser)
    parser.add_argument("--subset", type=int, nargs="?", const=gpu.PLAIN_EACH, metavar="N",
                        help=f"the N (default {gpu.PLAIN_EACH}) smallest cases of every operator only")
    selection.add_options(parser)
    parser.add_argument("--compiler", type=pathlib.Path, help="build folder of weft-compile, when not --build (sanitizers)")
    parser.add_argument("--filter", help="comma-separated globs of case names")
    parser.add_argument("--jobs", type=int, default=2, help="workers (default 2)")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each process (default 60)")
    parser.add_argument("--memory", type=int, default=4096, help="address space of each process in MiB, 0: no limit (default 4096)")
    parser.add_argument("--in-workers", action="store_true", help="run bundles in the workers, one device context each, instead of a process each")
    parser.add_argument("--expected", type=pathlib.Path, default=EXPECTED)
    parser.add_argument("--json", type=pathlib.Path, help="write all results here")
    parser.add_argument("--resume", type=pathlib.Path, metavar="FILE", help="append results to FILE, and do not repeat those that it has")
    parser.add_argument("--update", action="store_true", help="write the list of expected failures anew")
    parser.add_argument("--report", action="store_true", help="write docs/conformance.md, or conformance-gpu.md with --target")
    parser.add_argument("--show", type=int, default=60, help="disagreements to print (default 60)")
    return parser.parse_args()


def make_backend(args: argparse.Namespace):
    if args.backend != "weft":
        return backends.BACKENDS[args.backend](args.build)
    backend = backends.from_options(args)
    if args.compiler:
        backend.compiler = args.compiler.resolve() / "bin" / "weft-compile"
    return backend


def expectations(args: argparse.Namespace) -> dict:
    cpu = read_expected(args.expected)
    return gpu.expected(args.target, cpu) if args.target else cpu


def update(args: argparse.Namespace, results: list[Result], expected: dict) -> None:
    if args.target:
        gpu.write(args.target, results, read_expected(args.expected))
        return
    touched, partial = {r.name for r in results}, args.filter or args.subset or args.chosen
    write_expected(args.expected, results, {
        "refused": {k: v for k, v in expected["refused"].items() if partial and k not in touched},
        "bound": [n for n in expected["bound"] if partial and n not in touched],
        "sized": [n for n in expected["sized"] if partial and n not in touched], "deviations": expected["deviations"]})


def summary(results: list[Result], seconds: float) -> str:
    counts = collections.Counter(r.verdict for r in results)
    text = (f"{len(results)} cases in {seconds:.0f} s: {sum(counts[v] for v in RIGHT[:-1])} pass ({counts['pass-bound']} of them with bound "
            f"operands, {counts['pass-sized']} with counted elements), {counts['refused']} refused, {counts['nearer']} nearer to the exact value than the data, "
            + ", ".join(f"{counts[v]} {v}" for v in BUGS))
    reasons = collections.Counter(r.reason for r in results if r.verdict == "refused")
    bugs = collections.Counter((r.verdict, r.operator) for r in results if r.verdict in BUGS)
    if reasons:
        text += "\nrefused: " + ", ".join(f"{n} {reason}" for reason, n in reasons.most_common())
    if bugs:
        text += "\nbugs by operator: " + ", ".join(f"{n} {verdict} {operator}" for (verdict, operator), n in bugs.most_common())
    return text


def write_json(path: pathlib.Path, results: list[Result], disagreeing: int, bugs: dict) -> None:
    """Listed bugs count as skipped: they are neither right nor news."""
    listed = sum(r.name in bugs and r.verdict == bugs[r.name]["verdict"] for r in results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "schema": "weft.node-suite/1", "passed": len(results) - disagreeing - listed, "failed": disagreeing, "skipped": listed,
        "counts": collections.Counter(r.verdict for r in results), "results": [dataclasses.asdict(r) for r in results]}, indent=1) + "\n")


def main() -> int:
    args = arguments()
    backend = make_backend(args)
    if backend.missing():
        print(f"run_node_suite: {backend.missing()}", file=sys.stderr)
        return 2
    expected = expectations(args)
    start = time.monotonic()
    cases = load(args.filter)
    cases = gpu.subset(cases, args.subset) if args.subset else cases
    suite = f"emulated-nodes-{args.target}" if args.target else "onnx-nodes"
    chosen = selection.choose(args, suite, [case.name for case in cases], SLICES)
    cases = [case for case in cases if case.name in chosen]
    if args.device and args.device.startswith("cuda"):
        args.memory = 0  # The driver maps more addresses than any limit that means something.
    with tempfile.TemporaryDirectory(prefix="weft-node-") as folder:
        runner = Runner(backend, pathlib.Path(folder), args.timeout, args.memory, expected["deviations"], gpu.L2 if args.target else None,
                        limits.direct if args.in_workers else limits.isolated)
        results = run_all(cases, runner, args.jobs, args.resume, suite)
    if args.prepare:
        print(backend.close())
        return 0
    print(summary(results, time.monotonic() - start))

    if args.update:
        update(args, results, expected)
        expected = expectations(args)
    lines = disagreements(results, expected)
    if not (args.filter or args.subset or args.chosen):
        touched = {r.name for r in results}
        lines += [f"unknown    {n}: listed, but not a case" for n in list(expected["refused"]) + expected["bound"] + expected["sized"] if n not in touched]
    print("\n".join(lines[:args.show]) + ("\n" if lines else "")
          + (f"... and {len(lines) - args.show} more\n" if len(lines) > args.show else ""), end="")
    if args.report and args.target:
        report.write_gpu(ROOT / "docs" / "conformance-gpu.md", results, args.target, backend.device)
    elif args.report:
        report.write(ROOT / "docs" / "conformance.md", results)
    if args.json:
        write_json(args.json, results, len(lines), expected.get("bugs", {}))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
