#!/usr/bin/env python3
"""What fusion gains on the CPU: each model compiled as planned and with --no-fuse (one kernel an op), run in turns.

    bench/cpu_fusion.py [--build=build] [--model=GLOB,...] [--threads=1,2] [--seconds=6] [--ceiling] [--save]
    bench/cpu_fusion.py --check [--chosen] [--at-most=1.05]

Both bundles come from the same code generator with the same options; --no-fuse changes which ops share a kernel and nothing else,
so that products are packed and tiled alike. They run in one process, in rounds A B B A and B A A B of some 20 ms a letter, and
onnxruntime once a round. --ceiling adds the products of the model alone (products.py), compiled like the unfused bundle, as a third
letter: what no fusion takes away, so that unfused : products bounds unfused : fused.
Each round gives one ratio unfused : fused of processor time (getrusage: all threads of the process, which other work on the machine
hardly stretches) and one of wall-clock time; the table has the medians and, for the ratios, the quartiles over the rounds.
Outputs are compared: fused with unfused bit by bit (the numerics contract says that fusion changes none), and with onnxruntime by the
tolerance of the models' suite.

--check runs the models whose runs are short and fails where the fused code takes more than --at-most times the unfused code's processor time in
three quarters of the rounds: noise of the machine falls on both. --save adds the cases to bench/results/HOST-cpu-fusion.*.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import platform
import resource
import statistics
import sys
import tempfile
import time

import run as beside  # Puts the suites on the path.

import numpy as np
import onnx

import catalogue
import products
from harness import backends, compare, limits, selection

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHECKED = ("bert_1layer_dynamic", "bert_base_b1_s128", "efficientnet_b0_b1", "llama_tiny_decode_past31", "llama_tiny_prefill_s32",
           "llama_tiny_prefill_s32_opset23", "mobilenet_v2_b1", "qwen_image_block_tiny", "resnet18_b1", "sd_unet_resblock_b2_f16",
           "squeezenet1_1_b1", "generated_bert_2layer", "generated_mobilenet_v2")
SLICES = 3  # Of --chosen: these models take their time to compile and run.
MAX_ROUNDS = 400
LETTER_S = 0.02
SERIES = ("fused", "unfused", "ort", "products")


def processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@dataclasses.dataclass
class Series:
    """Times of one program in ms, in the order they were taken; two entries a round (onnxruntime: one)."""

    cpu: list[float] = dataclasses.field(default_factory=list)
    wall: list[float] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    """One model at one number of threads. `exact`: fused and unfused outputs are the same bytes; `error`: relative L2 against onnxruntime."""

    name: str
    threads: int
    fused: Series
    unfused: Series
    ort: Series
    products: Series  # Empty without --ceiling.
    gflop: float  # Of the products.
    kernels: tuple[int, int]
    exact: bool
    error: float
    tolerance: float

    def ratios(self, clock: str = "cpu", below: Series | None = None) -> list[float]:
        """Unfused over fused (or what else is `below`), one for each round, sorted."""
        a, b = getattr(below or self.fused, clock), getattr(self.unfused, clock)
        return sorted(sum(b[i:i + 2]) / sum(a[i:i + 2]) for i in range(0, len(a), 2))

    @property
    def agrees(self) -> bool:
        return self.error <= self.tolerance


@dataclasses.dataclass
class Effort:
    """What to measure of each case: for so long, so many rounds at least; `ceiling`: the products alone, too; `beside`: onnxruntime, too."""

    seconds: float
    rounds: int
    ceiling: bool
    beside: bool


def quartiles(values: list[float]) -> tuple[float, float, float]:
    return tuple(float(q) for q in np.quantile(values, (0.25, 0.5, 0.75)))


def _letter(series: Series | None, run, count: int) -> None:
    """`count` runs; what one takes goes to `series`."""
    cpu, wall = processor_time(), time.perf_counter()
    for _ in range(count):
        run()
    if series is not None:
        series.wall.append((time.perf_counter() - wall) * 1e3 / count)
        series.cpu.append((processor_time() - cpu) * 1e3 / count)


def _same(a: list, b: list) -> bool:
    return all(np.array_equal(np.ascontiguousarray(x).view(np.uint8), np.ascontiguousarray(y).view(np.uint8)) for x, y in zip(a, b))


def _runs_of_letter(run) -> int:
    """By the processor time of the shortest of three runs: one that waits for the processor must not make letters shorter."""
    least = LETTER_S
    for _ in range(3):
        start = processor_time()
        run()
        least = min(least, max(processor_time() - start, 1e-6))
    return max(1, round(LETTER_S / least))


def _measure(weft, bundles: list[pathlib.Path], feeds: list[dict], model: pathlib.Path, threads: int, effort: Effort) -> tuple:
    """Runs the bundles (fused, unfused, maybe the products alone) and onnxruntime in rounds. Their series, onnxruntime's last; whether fused and
    unfused outputs are the same bits; relative L2 error against onnxruntime."""
    ort = backends.OrtBackend()
    session = ort.session(model, threads=threads)
    bound = [weft.session(bundle, threads=threads).bind(values) for bundle, values in zip(bundles, feeds)]
    runs = [*bound, lambda: ort.outputs(session, feeds[0])]
    last = len(bound)
    series, counts = [Series() for _ in runs], []
    for run in runs:
        run()
        counts.append(_runs_of_letter(run))
    outputs, plain, want = list(bound[0]().values()), list(bound[1]().values()), runs[last]()
    error = max(compare.relative_l2(np.asarray(x), np.asarray(y)) for x, y in zip(outputs, want))
    start = time.perf_counter()
    for done in range(MAX_ROUNDS):
        if done >= effort.rounds and time.perf_counter() - start > effort.seconds:
            break
        order = [*range(last)][::1 if done % 2 else -1]
        for i in order + order[::-1]:
            _letter(series[i], runs[i], counts[i])
        if effort.beside:
            _letter(series[last], runs[last], counts[last])
        time.sleep(0.002)  # Spinning threads of onnxruntime go to sleep.
        _letter(None, runs[done % 2], 1)
    return series, _same(outputs, plain), error


def _kernels(summary: str) -> int:
    """Dispatches, from the summary of weft-compile."""
    line = next(line for line in summary.splitlines() if line.startswith("kernels "))
    return int(line.split()[1])


def bench(name: str, weft, cache: pathlib.Path, threads: list[int], effort: Effort) -> list[Case] | str:
    """The measured cases, or why there are none."""
    model = catalogue.prepare(name, cache)
    feeds = catalogue.inputs(model.proto(), catalogue.SHAPES.get(name, ({},))[-1])
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        programs, gflop = [("fused", model.path, feeds, ()), ("unfused", model.path, feeds, ("--no-fuse",))], 0.0
        alone = cache / f"{name}.products.onnx"  # Beside the weights.
        if effort.ceiling and (gflop := products.write(model.path, alone)):
            programs.append(("products", alone, catalogue.inputs(onnx.load(alone, load_external_data=False)), ("--no-fuse",)))
        bundles, kernels = [], []
        for kind, source, _, flags in programs:
            bundles.append(pathlib.Path(folder) / f"{kind}.weft")
            outcome = weft.compile(source, bundles[-1], extra=flags, timeout=600)
            if outcome.code != 0:
                return f"compile exit {outcome.code}: {outcome.stderr.strip().splitlines()[:1]}"
            kernels.append(_kernels(outcome.stdout + outcome.stderr))
        alone.unlink(missing_ok=True)
        cases = []
        for count in threads:
            values = [program[2] for program in programs]
            result = limits.isolated(lambda: _measure(weft, bundles, values, model.path, count, effort), timeout=900)
            if result.value is None:
                return result.error or (f"signal {result.signal}" if not result.timed_out else "hang")
            series, exact, error = result.value
            alone_series = series[2] if gflop else Series()
            cases.append(Case(name, count, *series[:2], series[-1], alone_series, gflop, tuple(kernels[:2]), exact, error,
                              catalogue.TOLERANCE[model.precision]))
        return cases


def table(cases: list[Case]) -> list[str]:
    lines = ["| model | threads | kernels fused / unfused | fused, processor | unfused | **unfused : fused** (quartiles) | of the least | wall-clock "
             "| products alone, processor | unfused : products | onnxruntime, processor | fused : onnxruntime | same bits | rel. L2 to onnxruntime |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|"]
    median = statistics.median
    for c in cases:
        low, middle, high = quartiles(c.ratios())
        alone = [f"{median(c.products.cpu):.2f} ms ({c.gflop:.1f} GFLOP)", f"{median(c.ratios(below=c.products)):.2f}"] if c.gflop else ["", ""]
        other = [f"{median(c.ort.cpu):.2f} ms", f"{median(c.fused.cpu) / median(c.ort.cpu):.2f}"] if c.ort.cpu else ["", ""]
        lines.append(
            f"| {c.name} | {c.threads} | {c.kernels[0]} / {c.kernels[1]} | {median(c.fused.cpu):.2f} ms | {median(c.unfused.cpu):.2f} ms "
            f"| **{middle:.2f}** ({low:.2f} to {high:.2f}) | {min(c.unfused.cpu) / min(c.fused.cpu):.2f} "
            f"| {median(c.ratios('wall')):.2f} | {' | '.join(alone + other)} "
            f"| {'yes' if c.exact else 'no'} | {c.error:.1e}{'' if c.agrees else ' **differs**'} |")
    return lines


def _saved(path: pathlib.Path) -> tuple[list[Case], list[dict]]:
    """The cases of an earlier part of the results, and how they were measured."""
    if not path.exists():
        return [], []
    document = json.loads(path.read_text())
    cases = []
    for row in document["cases"]:
        row.pop("ratio_quartiles")
        series = {kind: Series(**row[kind]) for kind in SERIES}
        cases.append(Case(**{**row, **series, "kernels": tuple(row["kernels"])}))
    return cases, document["parts"]


def save(cases: list[Case], about: dict) -> pathlib.Path:
    """Adds the cases to this machine's results; those that were measured before are replaced."""
    stem = ROOT / "bench" / "results" / f"{platform.node()}-cpu-fusion"
    old, parts = _saved(stem.with_suffix(".json"))
    measured = {(c.name, c.threads) for c in cases}
    cases = sorted([*cases, *(c for c in old if (c.name, c.threads) not in measured)], key=lambda c: (c.threads, c.name))
    parts.append(about)
    rows = [{**dataclasses.asdict(c), "ratio_quartiles": quartiles(c.ratios())} for c in cases]
    for row in rows:
        for kind in SERIES:
            row[kind] = {clock: [round(v, 3) for v in values] for clock, values in row[kind].items()}
    stem.with_suffix(".json").write_text(json.dumps({"schema": "weft.bench/1", "parts": parts, "cases": rows}) + "\n")
    facts = "\n".join("* " + "; ".join(f"{key}: {value}" for key, value in part.items()) for part in parts)
    stem.with_suffix(".md").write_text(f"# Fused and unfused on the CPU\n\n{facts}\n\n" + "\n".join(table(cases)) + "\n")
    return stem.with_suffix(".md")


def check(cases: list[Case], at_most: float | None) -> list[str]:
    """What is wrong with the measured cases; `at_most`: fused over unfused processor time that passes (None: any)."""
    problems = []
    for c in cases:
        _, middle, high = quartiles(c.ratios())
        if at_most and high * at_most < 1:
            problems.append(f"{c.name}, {c.threads} threads: fused takes {1 / middle:.2f} times the unfused processor time, allowed {at_most}")
        if not c.exact:
            problems.append(f"{c.name}, {c.threads} threads: fused and unfused outputs differ")
        if not c.agrees:
            problems.append(f"{c.name}, {c.threads} threads: relative L2 error {c.error:.1e} against onnxruntime, allowed {c.tolerance:.0e}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--model", help="comma-separated globs of model names (default: all)")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    parser.add_argument("--seconds", type=float, help="time of each case (default 6; 1 with --check)")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of each case at least (default 6)")
    parser.add_argument("--ceiling", action="store_true", help="measure the products of each model alone, too")
    selection.add_options(parser)
    parser.add_argument("--check", action="store_true", help="models of short runs, one thread; fail where fused is slower")
    parser.add_argument("--at-most", type=float, default=1.05, help="fused over unfused processor time that --check allows (default 1.05)")
    parser.add_argument("--save", action="store_true", help="add the cases to bench/results/")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts of what passed and failed here")
    args = parser.parse_args()

    weft = backends.WeftBackend(args.build)
    if weft.missing():
        print(f"cpu_fusion: {weft.missing()}", file=sys.stderr)
        return 2
    cache = args.build.resolve() / "models"
    cache.mkdir(parents=True, exist_ok=True)
    known = catalogue.shared_names() + list(catalogue.GENERATED)
    globs = args.model.split(",") if args.model else CHECKED if args.check else ["*"]
    names = [n for n in known if any(fnmatch.fnmatchcase(n, g) for g in globs)]
    if not names:
        print(f"cpu_fusion: no model matches {','.join(globs)}", file=sys.stderr)
        return 2
    chosen = selection.choose(args, "cpu-fusion", names, SLICES)
    names = [n for n in names if n in chosen]
    threads = [1] if args.check else [int(t) for t in args.threads.split(",")]
    effort = Effort(args.seconds or (1 if args.check else 6), args.rounds, args.ceiling, not args.check)
    cases, failures, about = [], [], beside.machine()
    for name in names:
        result = bench(name, weft, cache, threads, effort)
        if isinstance(result, str):
            failures.append(f"{name}: {result}")
            continue
        cases += result
        print("\n".join(table(result)[2:]), file=sys.stderr, flush=True)
    failures += check(cases, args.at_most if args.check else None)
    print("\n".join(table(cases)))
    for failure in failures:
        print(f"cpu_fusion: {failure}", file=sys.stderr)
    if args.json:
        wrong = {failure.split(",")[0].split(":")[0] for failure in failures}
        args.json.write_text(json.dumps({"passed": len(set(names) - wrong), "failed": len(wrong), "skipped": 0}) + "\n")
    if args.save and cases:
        print(f"wrote {save(cases, about).relative_to(ROOT)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
