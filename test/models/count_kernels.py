#!/usr/bin/env python3
"""How many kernels are started for each exported model and GPU.

    count_kernels.py [--build=build] [--target=sm_80,sm_90a] [--planner=weft,chains,few,tvm-rules,dnnfusion] [--model=GLOB,...] [--report=FILE.md] [--update]

A model is lowered (by one plan, where it has a symbol), with weights that are holes in a file: a plan does not depend on their values. Its launches are the GPU kernels that a run
starts; "chains" is the same plan with the fewest launches (--merge-launches=chains), which is not the fastest; "few" is the plan where a launch costs
10 us (--launch-cost=10). The planners of other compilers are counted beside ours, on the same graph of primitives, without what comes after a plan: each group is a
kernel. What is counted of a model (a layer, or all of it) and the most it may be are in expected-kernels.json beside
the counts of this commit: a model whose counts differ from the list fails the run, in both directions; --update writes the list anew.
Without the exported models there is nothing to count, and the script says so.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import pathlib
import re
import sys
import tempfile
import time
from typing import Iterable, Sequence

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import onnx  # noqa: E402

import catalogue  # noqa: E402
from harness import limits  # noqa: E402

EXPECTED = HERE / "expected-kernels.json"
TARGETS = ("sm_80", "sm_90a")
PLANNERS = ("weft", "chains", "few", "tvm-rules", "dnnfusion")
FLAGS = {"weft": [], "chains": ["--merge-launches=chains"], "few": ["--launch-cost=10"]}  # Of weft's own plans.
SECONDS = 60

# Model, what is counted, the most kernels of it, how many such parts the model has, kernels around them (embeddings, masks, the last norm).
GOALS = (
    ("bert_base_b1_s128", "BERT layer", 7, 12),
    ("llama3_8b_2layer_prefill_s512_f16", "Llama layer, prefill", 6, 2, 2),
    ("llama3_8b_2layer_decode_past511_f16", "Llama layer, decode with the cache's update", 6, 2),
    ("qwen_image_block_i1024_t64_f16", "Qwen-Image block", 16, 1),
    ("resnet50_b1", "ResNet-50", 55, 1),
    ("mobilenet_v2_b1", "MobileNetV2", 36, 1),
    ("efficientnet_b0_b1", "EfficientNet-B0", 70, 1),
    ("sd_unet_resblock_b2_f16", "UNet block", 5, 1),
)


@dataclasses.dataclass
class Count:
    """Launches of a whole model; `parts` equal parts of it start and end with the same kernels."""

    model: str
    target: str
    launches: int
    part: int  # Launches of one of the model's equal parts (its layers); all where it has none.
    seconds: float
    planner: str = "weft"

    @property
    def column(self) -> str:
        """Of the list and the table."""
        return self.target if self.planner == "weft" else f"{self.target} {self.planner}"


def labels_of(program: str) -> list[str]:
    """The kernel of each launch of an outlined or lowered program, in order. Equal kernels have one name."""
    return re.findall(r"tg\.dispatch @([^:]+)::", program)


def period_of(labels: Sequence[str], parts: int, around: int = 0) -> int:
    """The length of the part that stands `parts` times in a row, or once less (the first or last may differ); else the mean of what is not `around` them."""
    for times in (parts, parts - 1):
        for length in range(1, len(labels) // times + 1 if times > 1 else 0):
            for start in range(len(labels) - times * length + 1):
                if all(labels[i] == labels[i + length] for i in range(start, start + (times - 1) * length)) and length * times * 2 > len(labels):
                    return length
    return -(-(len(labels) - around) // parts)


def hollow(name: str, folder: pathlib.Path) -> pathlib.Path:
    """The model in `folder`, its weights a file of holes."""
    source = catalogue.shared_models() / f"{name}.onnx"
    ends: dict[str, int] = {}
    for tensor in onnx.load(source, load_external_data=False).graph.initializer:
        place = {entry.key: entry.value for entry in tensor.external_data}
        if place:
            ends[place["location"]] = max(ends.get(place["location"], 0), int(place.get("offset", 0)) + int(place["length"]))
    for file, end in ends.items():
        with open(folder / file, "wb") as stream:
            stream.truncate(end)
    target = folder / source.name
    target.write_bytes(source.read_bytes())
    return target


def compile_to(phase: str, compiler: pathlib.Path, model: pathlib.Path, target: str, *flags: str) -> tuple[float, str]:
    """Seconds, the compiler's start and the printing included, and the module's text."""
    command = [compiler, model, f"--target={target}", f"--emit=mlir:{phase}", "--ptxas=off", "--variants=1", "--quiet", "-o", "-", *flags]
    start = time.monotonic()
    outcome = limits.run(command, timeout=SECONDS)
    if outcome.code:
        raise SystemExit(f"{model.stem} for {target}: {(outcome.stdout + outcome.stderr).strip()[:300]}")
    return time.monotonic() - start, outcome.stdout


def count(compiler: pathlib.Path, name: str, target: str, planner: str) -> Count:
    parts, around = next(((*goal[3:], 0)[:2] for goal in GOALS if goal[0] == name), (1, 0))
    with tempfile.TemporaryDirectory() as folder:
        model = hollow(name, pathlib.Path(folder))
        if planner in FLAGS:
            seconds, _ = compile_to("group", compiler, model, target)
            _, program = compile_to("lower", compiler, model, target, *FLAGS[planner])
        else:
            seconds, program = compile_to("outline", compiler, model, target, f"--planner={planner}")
    labels = labels_of(program)
    return Count(name, target, len(labels), period_of(labels, parts, around), seconds, planner)


def report(counts: Sequence[Count]) -> Iterable[str]:
    """A table in Markdown: a row for each model, a column for each target."""
    columns = sorted({c.column for c in counts})
    yield "| what | goal | " + " | ".join(columns) + " |"
    yield "|---|---|" + "---|" * len(columns)
    found = {(c.model, c.column): c for c in counts}
    for model in dict.fromkeys(c.model for c in counts):
        goal = next(((goal[1], str(goal[2])) for goal in GOALS if goal[0] == model), (model, ""))
        yield f"| {goal[0]} | {goal[1]} | " + " | ".join(str(found[model, column].part) for column in columns) + " |"


def judge(counts: Sequence[Count], listed: dict[str, dict[str, int]]) -> list[str]:
    """What is otherwise than listed."""
    return [f"{c.model} for {c.column}: {c.part} launches, but {listed.get(c.column, {}).get(c.model, 'none')} are listed"
            for c in counts if listed.get(c.column, {}).get(c.model) != c.part]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default=",".join(TARGETS))
    parser.add_argument("--planner", default=",".join(PLANNERS))
    parser.add_argument("--model", default="*", help="comma-separated globs")
    parser.add_argument("--report", type=pathlib.Path, help="write the table there")
    parser.add_argument("--update", action="store_true", help="write expected-kernels.json")
    parser.add_argument("--json", type=pathlib.Path, help="write passed, failed, skipped")
    args = parser.parse_args()
    names = [name for name in catalogue.shared_names() if any(fnmatch.fnmatchcase(name, glob) for glob in args.model.split(","))]
    if not names:
        print("no exported models here: nothing to count")
        return finish(args, {"passed": 0, "failed": 0, "skipped": 1})
    compiler = args.build / "bin" / "weft-compile"
    counts = [count(compiler, name, target, planner)
              for name in names for target in args.target.split(",") for planner in args.planner.split(",")]
    lines = list(report(counts))
    print("\n".join(lines))
    slowest = max(counts, key=lambda c: c.seconds)
    print(f"slowest: {slowest.model} for {slowest.target}, {slowest.seconds:.2f} s from the ONNX file to the printed groups")
    if args.report:
        args.report.write_text("\n".join(lines) + "\n")
    data = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    if args.update:
        for c in counts:
            data.setdefault(c.column, {})[c.model] = c.part
        EXPECTED.write_text(json.dumps({key: dict(sorted(value.items())) for key, value in sorted(data.items())}, indent=1) + "\n")
    problems = judge(counts, data)
    print("\n".join(problems))
    return finish(args, {"passed": len(counts) - len(problems), "failed": len(problems), "skipped": 0})


def finish(args: argparse.Namespace, counts: dict[str, int]) -> int:
    """Writes and prints the counts; the exit status."""
    if args.json:
        args.json.write_text(json.dumps(counts) + "\n")
    print(", ".join(f"{number} {word}" for word, number in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
