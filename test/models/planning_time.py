#!/usr/bin/env python3
"""How long planning takes: groups, layouts, outlining and schedules of BERT-base, ResNet-50, 32 Llama layers and a recurrent network.

    planning_time.py [--build=build] [--target=sm_90a] [--planner=weft] [--most=SECONDS]

A model is normalized, with weights that are holes in a file; then weft-opt runs --weft-plan, --weft-outline and --weft-plan-gpu under MLIR's timers, and the
wall time of these passes is what counts, parsing and printing apart. The 32 layers are 16 copies of the exported two, end to end, each with weights of its own
(and the norm after the last layer 16 times). The recurrent network has 800 steps, tanh(h W), that read one weight. A model that takes more than --most
fails. Without the exported models the recurrent network alone is timed.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import catalogue  # noqa: E402
from count_kernels import finish, hollow  # noqa: E402
from harness import limits  # noqa: E402

SECONDS = 120
LLAMA, COPIES = "llama3_8b_2layer_prefill_s512_f16", 16
MODELS = (("bert_base_b1_s128", "BERT-base", 1), ("resnet50_b1", "ResNet-50", 1), (LLAMA, "32 Llama layers", COPIES))
STEPS, WIDTH = 800, 64


def recurrent(path: pathlib.Path) -> pathlib.Path:
    """STEPS times tanh(h W), h of 16 x WIDTH."""
    make = onnx.helper
    nodes, state = [], "x"
    for step in range(STEPS):
        nodes += [make.make_node("MatMul", [state, "w"], [f"m{step}"]), make.make_node("Tanh", [f"m{step}"], [f"h{step}"])]
        state = f"h{step}"
    values = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [16, WIDTH]) for name in ("x", state)]
    weight = onnx.numpy_helper.from_array(np.full((WIDTH, WIDTH), 1 / WIDTH, np.float32), "w")
    graph = make.make_graph(nodes, "recurrent", values[:1], values[1:], [weight])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), path)
    return path


def chain(path: pathlib.Path, copies: int) -> None:
    """Makes the model at `path`, of one input and one output of the same shape, `copies` of itself end to end."""
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    first, last = graph.input[0].name, graph.output[0].name
    nodes, weights = list(graph.node), list(graph.initializer)
    del graph.node[:], graph.initializer[:], graph.value_info[:]

    def rename(name: str, copy: int) -> str:
        if name == first:
            return first if copy == 0 else rename(last, copy - 1)
        return name if not name or (name == last and copy == copies - 1) else f"{name}.{copy}"

    for copy in range(copies):
        for weight in weights:
            graph.initializer.add().CopyFrom(weight)
            graph.initializer[-1].name = rename(weight.name, copy)
        for node in nodes:
            made = graph.node.add()
            made.CopyFrom(node)
            made.name = f"{node.name}.{copy}"
            made.input[:] = [rename(name, copy) for name in node.input]
            made.output[:] = [rename(name, copy) for name in node.output]
    onnx.save(model, path)


def passes_of(report: str) -> dict[str, float]:
    """Seconds of the passes in a report of --mlir-timing-display=list; parser and printer are not among them."""
    seconds: dict[str, float] = {}
    for found in re.finditer(r"^\s*([0-9.]+) \([^)]*\)\s+(\w+)", report, re.MULTILINE):
        if found[2] not in ("Parser", "Output", "Pipeline", "Rest", "Total", "root"):
            seconds[found[2]] = seconds.get(found[2], 0) + float(found[1])
    return seconds


def plan(build: pathlib.Path, model: pathlib.Path, target: str, planner: str) -> dict[str, float]:
    module = model.with_suffix(".mlir")
    steps = [[build / "bin/weft-compile", model, "--emit=mlir:normalize", "-o", module],
             [build / "bin/weft-opt", module, f"--weft-plan=gpu=true target={target} planner={planner}", "--weft-outline", f"--weft-plan-gpu=target={target}",
              "--mlir-disable-threading", "--mlir-timing", "--mlir-timing-display=list", "-o", "/dev/null"]]
    for command in steps:
        outcome = limits.run(command, timeout=SECONDS)
        if outcome.code:
            raise SystemExit(f"{model.stem}: {(outcome.stdout + outcome.stderr).strip()[:300]}")
    return passes_of(outcome.stderr)


def is_fast(args: argparse.Namespace, model: pathlib.Path, title: str) -> bool:
    seconds = plan(args.build, model, args.target, args.planner)
    total, slowest = sum(seconds.values()), max(seconds, key=lambda key: seconds[key])
    print(f"{title} for {args.target}: {total:.2f} s, of them {slowest} {seconds[slowest]:.2f} s")
    return total <= args.most


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--planner", default="weft")
    parser.add_argument("--most", type=float, default=3.0, help="seconds that a model may take (default 3)")
    parser.add_argument("--json", type=pathlib.Path, help="write passed, failed, skipped")
    args = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as folder:
        for name, title, copies in MODELS:
            if name not in catalogue.shared_names():
                counts["skipped"] += 1
                continue
            model = hollow(name, pathlib.Path(folder))
            if copies > 1:
                chain(model, copies)
            counts["passed" if is_fast(args, model, title) else "failed"] += 1
        counts["passed" if is_fast(args, recurrent(pathlib.Path(folder) / "recurrent.onnx"), f"{STEPS} recurrent steps") else "failed"] += 1
    return finish(args, counts)


if __name__ == "__main__":
    sys.exit(main())
