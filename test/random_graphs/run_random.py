#!/usr/bin/env python3
"""Random ONNX graphs through Weft fused, unfused, in the Reference, planned for a GPU, and through onnxruntime.

    run_random.py [--build=build] [--seeds=0:2000] [--chosen] [--fresh=N] [--target=sm_80] [--variants=fused,unfused,...] [--keep=FOLDER] [--json=FILE]
    run_random.py --draw=windows|attention|quantised|products|indices [--seeds=0:16] [--rotation=N --count=M] [--variants=sm_80,sm_90a] [...]

Every graph is drawn from its seed (generate.py) and evaluated in f64 with the room that its own rounding leaves (case.py); each variant
(variants.py) must agree. A graph that does not is made small and printed with its seed; `--seeds=SEED` runs it again. `--fresh=N` draws N seeds
that no run before had. What is known to be wrong is listed in expected-random.json; a listed graph that is right fails the run, too.

--draw=windows: graphs of sliding windows (windows.py) through the emulators of GPUs, whose sanitizer watches. Without --seeds 16 fixed ones, and
--count that only this rotation has (test/harness/selection.py); known: expected-windows.json. --draw=attention: the same for attention of every
shape (attention.py), of products and rows with what is fused to them (products.py), of products by weights of few bits (quantised.py) and of ops
that choose places (indices.py); the last two run on the CPU, too.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import multiprocessing
import pathlib
import secrets
import sys
import tempfile
import time
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import onnx  # noqa: E402

import attention  # noqa: E402
import generate  # noqa: E402
import indices  # noqa: E402
import products  # noqa: E402
import quantised  # noqa: E402
import windows  # noqa: E402
from case import Case, model_of  # noqa: E402
from check import Finding, check, shrink  # noqa: E402
from harness import backends, coverage, expected, selection  # noqa: E402
from variants import Variant, all_variants, emulated_variants, index_variants, quantised_variants  # noqa: E402

SLICES = 12  # Of the groups of graphs that do not cover.
_state: dict = {}


@dataclasses.dataclass
class Draw:
    """A kind of graphs. `together`: in one model, as the start of a compile costs as much as two graphs."""

    generate: Callable[[int], Case]
    variants: Callable[[argparse.Namespace], list[Variant]]
    expected: pathlib.Path
    seeds: str
    together: int
    rotates: bool = False  # Each rotation has seeds of its own.


DRAWS = {
    "graphs": Draw(generate.generate, lambda args: all_variants(args.build, **backends.target_options(args)), HERE / "expected-random.json", "0:2000", 12),
    "windows": Draw(windows.generate, lambda args: emulated_variants(args.build), HERE / "expected-windows.json", "0:16", 6, rotates=True),
    "attention": Draw(attention.generate, lambda args: emulated_variants(args.build), HERE / "expected-attention.json", "0:16", 6, rotates=True),
    "indices": Draw(indices.generate, lambda args: index_variants(args.build), HERE / "expected-indices.json", "0:4", 6, rotates=True),
    "products": Draw(products.generate, lambda args: emulated_variants(args.build), HERE / "expected-products.json", "0:4", 6, rotates=True),
    "quantised": Draw(quantised.generate, lambda args: quantised_variants(args.build), HERE / "expected-quantised.json", "0:6", 6, rotates=True),
}
FIRST_OF_ROTATION = 1 << 20  # Seeds of rotations lie behind those that are given by hand.


@dataclasses.dataclass
class Row:
    """A graph of the run, or what is wrong with one; harness/expected.py judges these."""

    name: str
    status: str = "ok"


def seeds_of(args: argparse.Namespace) -> list[int]:
    if args.fresh:
        start = secrets.randbelow(2**40) + 2**20
        print(f"fresh seeds: --seeds={start}:{start + args.fresh}", flush=True)
        return list(range(start, start + args.fresh))
    found: list[int] = []
    for part in (args.seeds or _state["draw"].seeds).split(","):
        first, _, end = part.partition(":")
        found += range(int(first), int(end)) if end else [int(first)]
    if _state["draw"].rotates and not args.seeds:
        number = selection.rotation() if args.rotation is None else args.rotation
        start = FIRST_OF_ROTATION + number * args.count
        print(f"rotation {number}: --seeds={start}:{start + args.count} beside {_state['draw'].seeds}", flush=True)
        found += range(start, start + args.count)
    return found


def groups_of(args: argparse.Namespace, seeds: list[int]) -> list[list[int]]:
    """The seeds that go into one model each, of those the chosen ones."""
    together = _state["draw"].together
    groups = {f"{part[0]}:{part[-1] + 1}": part for i in range(0, len(seeds), together) if (part := seeds[i:i + together])}
    if _state["draw"].rotates:
        return list(groups.values())
    chosen = selection.choose(args, "random-graphs", list(groups), SLICES)
    return [group for name, group in groups.items() if name in chosen]


def work(seeds: list[int]) -> tuple[list[Finding], dict[str, int], int, dict[str, int]]:
    """Findings, graphs that each variant ran, number of graphs, how often each op is in them."""
    with coverage.recording("random-graphs", f"{seeds[0]}:{seeds[-1] + 1}"):
        return _work(seeds)


def _work(seeds: list[int]) -> tuple[list[Finding], dict[str, int], int, dict[str, int]]:
    cases = [case for case in map(_state["draw"].generate, seeds) if case.nodes]
    ops = collections.Counter(node.op for case in cases for node in case.nodes)
    with tempfile.TemporaryDirectory(prefix="weft-random-") as folder:
        findings, ran = check(cases, _state["variants"], pathlib.Path(folder))
    return findings, ran, len(cases), ops


def again(finding: Finding) -> str:
    """The flags that run it again."""
    kind = next(name for name, draw in DRAWS.items() if draw is _state["draw"])
    return ("" if kind == "graphs" else f"--draw={kind} ") + f"--seeds={finding.seed}"


def report(finding: Finding, keep: pathlib.Path | None) -> str:
    """The graph made small, as text."""
    with tempfile.TemporaryDirectory(prefix="weft-random-") as folder:
        case, small = shrink(_state["draw"].generate(finding.seed), finding, _state["variants"], pathlib.Path(folder))
    model = model_of([case], lambda _, name: name)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        onnx.save(model, keep / f"{finding.name}.onnx")
    types = ", ".join(f"{name}: {value.dtype}{list(value.shape)}" for name, value in {**case.inputs, **case.constants}.items())
    lines = [f"{n.op}({', '.join(n.inputs)}){n.attributes or ''} -> {', '.join(n.outputs)}: {', '.join(map(str, n.dtypes))}" for n in case.nodes]
    body = "\n".join("    " + line for line in [types, *lines])
    return f"{finding.variant}, {again(finding)}: {small.text}\n  of {len(case.nodes)} ops after shrinking\n{body}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    parser.add_argument("--draw", choices=DRAWS, default="graphs", help="graphs (default): of all ops; windows: of convolutions and pooling; attention; ...")
    parser.add_argument("--seeds", help="FIRST:END or single seeds, comma-separated (default 0:2000; windows, attention: 0:16 and the rotation's)")
    parser.add_argument("--count", type=int, default=80, help="how many seeds a rotation has (default 80)")
    parser.add_argument("--fresh", type=int, default=0, help="draw this many new seeds instead")
    parser.add_argument("--variants", help="comma-separated names of those to run (default: all)")
    selection.add_options(parser)
    backends.add_target_options(parser)
    parser.add_argument("--jobs", type=int, default=2, help="workers (default 2)")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the small models of what is wrong")
    parser.add_argument("--most", type=int, default=10, help="findings to make small and print (default 10)")
    expected.add_option(parser)
    parser.add_argument("--json", type=pathlib.Path, help="write all results here")
    args = parser.parse_args()
    draw = _state["draw"] = DRAWS[args.draw]
    variants = draw.variants(args)
    if args.variants:
        variants = [variant for variant in variants if variant.name in args.variants.split(",")]
    if missing := variants[0].weft.missing():
        print(f"run_random: {missing}", file=sys.stderr)
        return 2
    _state["variants"] = variants
    groups, start = groups_of(args, seeds_of(args)), time.monotonic()
    seeds = [seed for group in groups for seed in group]
    findings: list[Finding] = []
    ran, ops, count = collections.Counter(), collections.Counter(), 0
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        for found, counts, graphs, used in pool.imap(work, groups):
            findings += found
            ran.update(counts)
            ops.update(used)
            count += graphs
    args.target = args.target or ("cpu" if args.draw == "graphs" else args.draw)
    listed = expected.read(draw.expected, args.target)
    wrong = {finding.seed for finding in findings}
    rows = [*findings, *(Row(f"seed-{seed}") for seed in seeds if seed not in wrong)]
    rows += [Row(name) for name in listed if int(name.split("-")[1]) in seeds and name not in {f.name for f in findings}]
    counts, text = expected.summary(rows, draw.expected, args)
    unexpected = [finding for finding in findings if finding.name not in listed]
    for finding in unexpected[:args.most]:
        print(report(finding, args.keep), flush=True)
    for finding in unexpected[args.most:]:
        print(f"{finding.variant}, {again(finding)}: {finding.text}")
    print(f"{count} graphs of {sum(ops.values())} ops of {len(ops)} kinds in {time.monotonic() - start:.0f} s; ran: "
          + ", ".join(f"{name} {number}" for name, number in ran.items()))
    print(text)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"schema": "weft.random/1", **counts, "graphs": count, "ops": dict(ops), "ran": dict(ran),
                                         "results": [dataclasses.asdict(f) for f in findings]}, indent=1) + "\n")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
