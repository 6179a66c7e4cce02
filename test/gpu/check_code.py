#!/usr/bin/env python3
"""Every kernel that Weft makes for a set of graphs: no bank conflicts in loops, no spilled registers, no C75xx warnings of ptxas.

    check_code.py [--build=build] [--target=sm_80,sm_86,sm_89,sm_90a] [--graph=GLOB,...] [--chosen] [--random=FIRST:COUNT] [--sweep=SEED:COUNT]
                  [--model=FILE,...] [--ptxas=PATH] [--update] [--json=FILE]

The graphs are the benchmark's cases in their full sizes (bf16), the graphs at the edges of tiles, and a hundred that are drawn, at the sizes of real
models (full_size.py) and as bench/sweep.py has them, each compiled to PTX for all targets. Instead of them: with --random COUNT graphs of
full_size.py, with --sweep COUNT cases of bench/sweep.py, with --model ONNX files.

  banks      an access to shared memory in a loop has conflicts or is not proved to have none (remarks of --weft-tk-banks)
  spills     registers of a kernel spill to memory (ptxas), more than two of them, and the compiler finds no way around it: where nothing bounds
             the registers, ptxas aims at a step of occupancy and now and then keeps a value or two in memory for it; these are counted
  loss       ptxas warns of a loss of performance, C75xx: wgmma made serial and the like
  slow       the compiler took more than 5 s of processor time for a target, without ptxas
  assembly   ptxas took more than 2 s of processor time for a kernel (3 s on a slow processor, the least of three)
  refused    the graph does not compile, or ptxas refuses the code

Each kernel is assembled on its own; what ptxas said of a text is kept in BUILD/ptxas-cache under the hash of the text and of ptxas's version.
A graph with problems fails the run unless expected-code.json lists them with the reason; a listed graph that has others or none fails it, too.
Without ptxas only banks are checked, and the script says so.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import hashlib
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, Iterator, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "bench"), str(ROOT / "test"), str(ROOT / "test" / "onnx")]

import onnx  # noqa: E402

import cases  # noqa: E402
from cases import random_shapes  # noqa: E402
import full_size  # noqa: E402
import run_edges  # noqa: E402
from harness import coverage, limits, selection  # noqa: E402

EXPECTED = HERE / "expected-code.json"
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90a")
DTYPE = "bf16"
SLICES, DRAWN_SLICES = 4, 12  # Of the graphs that do not cover, and of those that are drawn.
DRAWN = ("1000:60", "18:40")  # As --random and --sweep have them.
CHOSEN_SPILL = 8  # Bytes that ptxas may keep in memory of its own choice, see above.
COMPILE_SECONDS = 5  # Of processor time, for each target.
ASSEMBLE_SECONDS = 2  # The same of ptxas, for each kernel, on the processors that the limit was set on; ASSEMBLE_SLACK times that on slower ones.
ASSEMBLE_SLACK, ASSEMBLE_TRIES = 1.5, 3  # A busy machine takes more: the least of so many tries counts.
NOT_PTXAS = ("banks", "slow", "refused")
KINDS = (*NOT_PTXAS, "spills", "loss", "assembly")


@dataclasses.dataclass
class Graph:
    name: str
    write: Callable[[pathlib.Path], pathlib.Path]  # Writes it, and what it refers to, into a folder; returns the model's path.


@dataclasses.dataclass
class Problem:
    """`kind` is one of those above."""

    graph: str
    target: str
    kernel: str
    kind: str
    text: str


def _write_case(case: cases.Case) -> Callable[[pathlib.Path], pathlib.Path]:
    def write(folder: pathlib.Path) -> pathlib.Path:
        model = case.model(DTYPE)
        onnx.save(model, folder / "model.onnx")
        for tensor in model.graph.initializer:  # The code does not depend on the weights' values: a file of holes will do.
            place = {entry.key: entry.value for entry in tensor.external_data}
            if place:
                with open(folder / place["location"], "ab") as file:
                    file.truncate(max(file.tell(), int(place["offset"]) + int(place["length"])))
        return folder / "model.onnx"
    return write


def _write_edge(graph: run_edges.Graph, dtype: str) -> Callable[[pathlib.Path], pathlib.Path]:
    def write(folder: pathlib.Path) -> pathlib.Path:
        onnx.save(graph.model(dtype), folder / "model.onnx")
        return folder / "model.onnx"
    return write


def _write_random(seed: int) -> Callable[[pathlib.Path], pathlib.Path]:
    def write(folder: pathlib.Path) -> pathlib.Path:
        onnx.save(full_size.draw(seed)[1], folder / "model.onnx")
        return folder / "model.onnx"
    return write


def _write_link(path: pathlib.Path) -> Callable[[pathlib.Path], pathlib.Path]:
    return lambda folder: path.resolve()  # Where it lies: its weights may lie beside it.


def drawn_graphs(random: str | None, sweep: str | None) -> list[Graph]:
    found = []
    if random:
        first, count = map(int, random.split(":"))
        found += [Graph(full_size.name_of(seed), _write_random(seed)) for seed in range(first, first + count)]
    if sweep:
        found += [Graph(case.name, _write_case(case)) for case in random_shapes.sweep(*map(int, sweep.split(":")))]
    return found


def _matching(found: list[Graph], patterns: str | None) -> list[Graph]:
    """Those whose names match one of the comma-separated globs."""
    globs = patterns.split(",") if patterns else ["*"]
    return [graph for graph in found if any(fnmatch.fnmatchcase(graph.name, g) for g in globs)]


def chosen_graphs(args: argparse.Namespace) -> list[Graph]:
    """What the arguments ask for."""
    wanted = drawn_graphs(args.random, args.sweep)
    wanted += [Graph(path, _write_link(pathlib.Path(path))) for path in (args.model.split(",") if args.model else ())]
    if wanted:
        return wanted
    for suite, found, slices in (("gpu-code", graphs(args.graph), SLICES), ("gpu-code-drawn", _matching(drawn_graphs(*DRAWN), args.graph), DRAWN_SLICES)):
        chosen = selection.choose(args, suite, [graph.name for graph in found], slices)
        wanted += [graph for graph in found if graph.name in chosen]
    return wanted


def graphs(patterns: str | None) -> list[Graph]:
    """Those that someone wrote down."""
    found = [Graph(case.name, _write_case(case)) for case in cases.find()]
    found += [Graph(f"{graph.name} {dtype}", _write_edge(graph, dtype)) for graph in run_edges.read() for dtype in graph.dtypes]
    return _matching(found, patterns)


def kernels(text: str) -> Iterator[tuple[str, str, str]]:
    """(target, name, text) of each kernel of the modules that `weft-compile --emit=ptx` printed; a kernel's text does not depend on its number."""
    for module in re.split(r"(?m)^(?=\.version )", text):
        target = re.search(r"(?m)^\.target (\w+)", module)
        if not target:
            continue
        header = module[:module.index(".address_size 64\n") + len(".address_size 64\n")]
        parts = re.split(r"(?m)^(?=\t// \.globl\tk\d+)", module[len(header):])
        for part in parts[1:]:
            name = re.match(r"\t// \.globl\t(k\d+)", part)[1]
            yield target[1], name, header + re.sub(rf"\b{name}(?=\b|_)", "k0", part)


class Assembler:
    """ptxas with a memory: `report(target, text)` is what it prints with -v and how long it took, or its error with "error:" before it."""

    def __init__(self, ptxas: str, cache: pathlib.Path):
        self.ptxas, self.cache = ptxas, cache
        self.version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
        cache.mkdir(parents=True, exist_ok=True)

    def report(self, target: str, text: str) -> str:
        path = self.cache / hashlib.sha256(f"{self.version}{target}{text}".encode()).hexdigest()
        if path.exists():
            return path.read_text()
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            seconds = float("inf")
            for _ in range(ASSEMBLE_TRIES):
                outcome = limits.run([self.ptxas, "-v", f"-arch={target}", file.name, "-o", os.devnull], timeout=120)
                seconds = min(seconds, outcome.cpu_seconds)
                if outcome.code or seconds <= ASSEMBLE_SLACK * ASSEMBLE_SECONDS:
                    break
        said = (outcome.stdout + outcome.stderr).replace(file.name, "kernel.ptx") + f"took {seconds:.2f} s of processor time\n"
        if outcome.code:
            return f"error: {'no answer within two minutes' if outcome.timed_out else said.strip()[:300]}"
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(said)
        partial.rename(path)
        return said


def problems_of(report: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of what ptxas complains about."""
    if report.startswith("error:"):
        yield "refused", report
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    if spills and max(int(spills[1]), int(spills[2])) > CHOSEN_SPILL:
        registers = re.search(r"Used (\d+) registers", report)
        yield "spills", f"{spills[1]} bytes of stores, {spills[2]} of loads, {registers[1] if registers else '?'} registers"
    took = re.search(r"(?m)^took ([0-9.]+) s", report)
    if took and float(took[1]) > ASSEMBLE_SLACK * ASSEMBLE_SECONDS:
        yield "assembly", f"{took[1]} s of ptxas"
    for loss in re.findall(r"\((C75\d\d)\)([^\n]*)", report):
        yield "loss", f"{loss[0]}:{loss[1]}"


def bank_problems(graph: str, remarks: str) -> Iterator[Problem]:
    """Accesses that conflict or are not proved, from what --remarks=layout printed; one of each text and kernel."""
    found = re.findall(r"remark: (\w+): .*\[(Missed|Failure)\] banks \|.*?Function=(\S+) \| Remark=\"([^\"]*)\"", remarks)
    for target, _, kernel, text in dict.fromkeys(found):
        yield Problem(graph, target, kernel, "banks", text)


def has_chosen_spill(report: str) -> bool:
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    return bool(spills) and 0 < max(int(spills[1]), int(spills[2])) <= CHOSEN_SPILL


@dataclasses.dataclass
class Outcome:
    graph: str
    kernels: int
    proofs: int  # Accesses in loops that are proved free of conflicts.
    problems: list[Problem]
    seconds: float = 0  # Of processor time of the compiler, for each target.
    chosen: int = 0  # Kernels with a spill of ptxas's choice.


_state: dict = {}


def _compile(model: pathlib.Path, ptxas: str) -> tuple[limits.Outcome, str]:
    """PTX for all targets, with what the compiler does where `ptxas` tells it of spills."""
    with tempfile.NamedTemporaryFile("r", suffix=".ptx") as file:
        outcome = limits.run([str(_state["compiler"]), str(model), f"--target={','.join(_state['targets'])}", "--emit=ptx", f"--ptxas={ptxas}",
                              "--remarks=layout", "-o", file.name], timeout=120)
        return outcome, file.read()


def _assemble(graph: Graph, text: str) -> tuple[int, int, list[Problem]]:
    """(kernels, those with a spill of ptxas's choice, problems)."""
    assembler, count, chosen, found = _state["assembler"], 0, 0, []
    for target, kernel, code in kernels(text):
        count += 1
        report = assembler.report(target, code) if assembler else ""
        found += [Problem(graph.name, target, kernel, kind, said) for kind, said in problems_of(report)]
        chosen += has_chosen_spill(report)
    return count, chosen, found


def check(graph: Graph) -> Outcome:
    """Without ptxas at first, whose answers are in the cache; where one of them is a spill, as users have it: with ptxas."""
    with tempfile.TemporaryDirectory(prefix="weft-code-") as name:
        model = graph.write(pathlib.Path(name))
        compiled, text = _compile(model, "off")
        if compiled.code:
            message = next((line for line in compiled.stderr.replace(name, "").splitlines() if "error:" in line), "no message")[:300]
            return Outcome(graph.name, 0, 0, [Problem(graph.name, "all", "", "refused", message)])
        seconds = compiled.cpu_seconds / len(_state["targets"])
        count, chosen, found = _assemble(graph, text)
        if any(problem.kind == "spills" for problem in found):
            compiled, text = _compile(model, _state["assembler"].ptxas)
            count, chosen, found = _assemble(graph, text)
        found = [*bank_problems(graph.name, compiled.stderr), *found]
        if seconds > COMPILE_SECONDS:
            found.append(Problem(graph.name, "all", "", "slow", f"{seconds:.1f} s for each target"))
        return Outcome(graph.name, count, compiled.stderr.count("[Passed] banks |"), found, seconds, chosen)


def find_ptxas(given: str | None) -> str | None:
    places = [os.environ.get(v, "") + "/bin" for v in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda/bin"]
    return given or shutil.which("ptxas") or next((p for place in places if (p := shutil.which("ptxas", path=place))), None)


def kinds_of(outcome: Outcome) -> dict[str, list[str]]:
    """The kinds of an outcome's problems by target."""
    kinds: dict[str, set] = {}
    for problem in outcome.problems:
        kinds.setdefault(problem.target, set()).add(problem.kind)
    return {target: sorted(found) for target, found in sorted(kinds.items())}


def judge(outcomes: list[Outcome], listed: dict[str, dict], targets: Sequence[str], kinds: Sequence[str]) -> tuple[list[str], list[str]]:
    """(graphs that fail the run, one line each; graphs with problems as listed). `listed`: {graph: {reason, problems: {target: kinds}}}; of it counts
    what is about `targets` and `kinds`."""
    failed, known = [], []
    for outcome in outcomes:
        shown, entry = kinds_of(outcome), listed.get(outcome.graph, {"reason": "", "problems": {}})
        wanted = {t: [k for k in found if k in kinds] for t, found in entry["problems"].items() if t in targets or t == "all"}
        wanted = {target: found for target, found in wanted.items() if found}
        if shown != wanted:
            failed.append(f"{outcome.graph}: got {shown or 'no problems'}, expected {wanted or 'none'}")
        elif shown and not entry["reason"]:
            failed.append(f"{outcome.graph}: listed without a reason")
        elif shown:
            known.append(outcome.graph)
    return failed, known


def update(outcomes: list[Outcome], listed: dict[str, dict], targets: Sequence[str]) -> dict[str, dict]:
    """The list as these outcomes want it; reasons stay."""
    listed = dict(listed)
    for outcome in outcomes:
        before = listed.pop(outcome.graph, {"reason": "", "problems": {}})
        problems = {t: k for t, k in before["problems"].items() if t not in targets and t != "all"} | kinds_of(outcome)
        if problems:
            listed[outcome.graph] = {"reason": before["reason"], "problems": dict(sorted(problems.items()))}
    return dict(sorted(listed.items()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--target", default=",".join(TARGETS), help="comma-separated targets (default: all four)")
    parser.add_argument("--graph", help="comma-separated globs of names of graphs")
    selection.add_options(parser)
    parser.add_argument("--random", metavar="FIRST:COUNT", help="random graphs of these seeds, in place of the others")
    parser.add_argument("--sweep", metavar="SEED:COUNT", help="cases of bench/sweep.py, in place of the others")
    parser.add_argument("--model", help="comma-separated ONNX files, in place of the others")
    parser.add_argument("--ptxas", help="the assembler (default: on the PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda)")
    parser.add_argument("--jobs", type=int, default=2, help="workers (default 2)")
    parser.add_argument("--update", action="store_true", help="write the list of problems anew; reasons are for people to fill in")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts and problems here")
    return parser.parse_args()


def _indexed(index: int) -> Outcome:
    graph = _state["graphs"][index]
    with coverage.recording("gpu-code", graph.name):
        return check(graph)


def main() -> int:
    args = arguments()
    targets, ptxas = args.target.split(","), find_ptxas(args.ptxas)
    wanted = chosen_graphs(args)
    _state.update(graphs=wanted, targets=targets, compiler=args.build.resolve() / "bin" / "weft-compile",
                  assembler=Assembler(ptxas, args.build.resolve() / "ptxas-cache") if ptxas else None)
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        outcomes = pool.map(_indexed, range(len(wanted)), chunksize=1)
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    for p in problems:
        print(f"{p.graph:36} {p.target:6} {p.kernel:20} {p.kind:8} {p.text}")
    listed = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    if args.update:
        listed = update(outcomes, listed, targets)
        EXPECTED.write_text(json.dumps(listed, indent=1) + "\n")
    failed, known = judge(outcomes, listed, targets, KINDS if ptxas else NOT_PTXAS)
    print("\n".join(failed), end="\n" if failed else "")
    if not ptxas:
        print("check_code: there is no ptxas on the PATH, in CUDA_HOME, CUDA_PATH or /usr/local/cuda: spills and losses were not checked")
    slowest = max(outcomes, key=lambda o: o.seconds)
    print(f"slowest compile: {slowest.graph}, {slowest.seconds:.2f} s of processor time for each target")
    print(f"{sum(o.kernels for o in outcomes)} kernels of {len(wanted)} graphs for {args.target}, {sum(o.proofs for o in outcomes)} accesses in loops proved "
          f"free of bank conflicts, {sum(o.chosen for o in outcomes)} with at most {CHOSEN_SPILL} bytes spilled by ptxas's choice; {len(failed)} graphs fail, {len(known)} have problems as listed")
    # A graph that could be checked in part only is no pass.
    good = len(wanted) - len(failed) - len(known)
    counts = {"passed": good if ptxas else 0, "failed": len(failed), "skipped": len(known) + (0 if ptxas else good)}
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"schema": "weft.code/1", **counts, "problems": [dataclasses.asdict(p) for p in problems],
                                         "seconds": {o.graph: round(o.seconds, 2) for o in outcomes}}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
