#!/usr/bin/env python3
"""Generated kernels under NVIDIA's compute-sanitizer: memcheck (with leaks), racecheck and synccheck over a named set, results checked.

    bench/sanitize.py --prepare [--bundles=build/sanitize] [--build=build]            where the compiler is
    bench/sanitize.py --emulated [--json=FILE]                                         there, through the PTX emulator and its own sanitizer
    bench/sanitize.py [--bundles=build/sanitize] [--tools=memcheck,racecheck,synccheck] [--out=FOLDER]      where the GPU is

The set has a case of every kind of kernel: products by wgmma with TMA and by mma.sync with cp.async, a fold over keys, normalisations in rows,
convolutions, reductions, gathers and scatters, and a whole BERT layer. Sizes are such that every kernel has several tiles and several
iterations of its loops. --prepare puts bundles, what onnxruntime makes of the edge graphs, and the runtime library into one folder. On the GPU
every tool watches a process of its own that runs the whole set and checks the results; what the tools say goes to sanitize.md.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import numpy as np  # noqa: E402

import cases  # noqa: E402
from cases.case import TOLERANCE  # noqa: E402
from measure import bundles  # noqa: E402

TOOLS = {"memcheck": ["--leak-check=full"], "racecheck": [], "synccheck": []}
DTYPE = "bf16"

# (name, target, case of the benchmark, its sizes)
CASES = (
    ("gemm wgmma", "sm_90a", "gemm_4096x4096x4096", dict(m=512, n=768, k=640)),
    ("gemm wgmma, ragged", "sm_90a", "gemm_4096x4096x4096", dict(m=360, n=520, k=328)),
    ("gemm mma.sync", "sm_80", "gemm_4096x4096x4096", dict(m=512, n=768, k=640)),
    ("gemm 16 rows", "sm_90a", "gemm_16x28672x4096", dict(m=16, n=1024, k=1024)),
    ("vector by matrix", "sm_90a", "gemm_1x28672x4096", dict(m=1, n=1024, k=1024)),
    ("gemm and gelu", "sm_90a", "bert_ffn_up_gelu_4096x3072x768", dict(m=384, n=768, k=256, epilogue="gelu")),
    ("swiglu", "sm_90a", "ffn_swiglu_llama8b_T512", dict(tokens=256, width=256, hidden=768)),
    ("attention", "sm_90a", "attn_B4_H16_16_S1024_D64_full", dict(batch=1, heads=4, groups=4, queries=384, keys=384, width=64, causal=False)),
    ("attention, causal", "sm_90a", "attn_B2_H32_8_S4096_D128_causal",
     dict(batch=1, heads=4, groups=2, queries=320, keys=320, width=128, causal=True)),
    ("attention, mma.sync", "sm_80", "attn_B2_H32_8_S4096_D128_causal",
     dict(batch=1, heads=4, groups=2, queries=320, keys=320, width=128, causal=True)),
    ("attention, one query", "sm_90a", "decode_B16_H32_8_S4096_D128", dict(batch=2, heads=8, groups=2, queries=1, keys=1024, width=128)),
    ("rmsnorm", "sm_90a", "rmsnorm_8192x4096", dict(rows=96, width=4096)),
    ("layernorm and gelu", "sm_90a", "layernorm_gelu_16384x1024", dict(rows=96, width=1024)),
    ("softmax", "sm_90a", "softmax_16384x4096", dict(rows=96, width=4096)),
    ("groupnorm", "sm_90a", "groupnorm_silu_2x320x64x64", dict(batch=2, channels=64, size=24)),
    ("geglu", "sm_90a", "geglu_4096x10240", dict(rows=96, width=1280)),
    ("unet block", "sm_90a", "sd_unet_resblock_2x320x64x64", dict(batch=2, channels=64, size=20, embedding=128, groups=8)),
    ("unet block, mma.sync", "sm_80", "sd_unet_resblock_2x320x64x64", dict(batch=2, channels=64, size=20, embedding=128, groups=8)),
    ("mobilenet", "sm_90a", "mobilenet_v2_B1", dict(batch=1, size=64, stages=((1, 16, 1, 1), (6, 24, 2, 2)), head=64, classes=24)),
    ("bert layer", "sm_90a", "bert_base_layer_B8_T512", dict(batch=2, tokens=128, width=256, heads=4)),
    ("bert layer, mma.sync", "sm_80", "bert_base_layer_B8_T512", dict(batch=2, tokens=128, width=256, heads=4)),
    ("llama layer, decoding", "sm_90a", "llama8b_layer_decode_B16_ctx2047", None),
)
# Graphs at the edges of tiles, in f32 (test/onnx/edge-graphs.txt).
EDGES = ("sum_*", "reduce_columns*", "argmax*", "gather*", "scatter*", "cumsum", "transpose_*", "conv_3x3", "conv_stride")


@dataclasses.dataclass
class Entry:
    """A member of the set. Its bundle is NUMBER.weft; `kind` says where its data come from: "case" (drawn and computed from the case of that
    name on both machines) or "edge" (NUMBER.npz has in_NAME and out_NAME, made by onnxruntime)."""

    name: str
    target: str
    dtype: str
    kind: str


def _case(name: str) -> cases.Case:
    """The benchmark's case at the size of the set."""
    _, _, base, sizes = next(row for row in CASES if row[0] == name)
    case = cases.CASES[base]
    return dataclasses.replace(case, sizes=case.small_sizes if sizes is None else sizes)


def _fed(case: cases.Case, tensors: dict) -> dict:
    """Those of its tensors that are inputs of its bundle."""
    return tensors if case.weights == "inputs" else {name: tensors[name] for name in case.inputs}


# Where the compiler is.

def _cases():
    """(entry, model, no data) of the benchmark's cases."""
    for name, target, _, _ in CASES:
        case = _case(name)
        tensors = case.draw(DTYPE)
        yield Entry(name, target, DTYPE, "case"), case.model(DTYPE, "inputs" if case.weights == "inputs" else "embedded", tensors), {}


def _edges():
    """(entry, model, data) of the edge graphs."""
    sys.path.insert(0, str(ROOT / "test" / "onnx"))
    import onnx
    import run_edges
    from harness import backends
    for graph in run_edges.read():
        if "f32" in graph.dtypes and any(fnmatch.fnmatchcase(graph.name, g) for g in EDGES):
            model, feeds = graph.model("f32"), graph.feeds("f32")
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(model, pathlib.Path(folder) / "m.onnx")
                want = backends.OrtBackend().run(pathlib.Path(folder) / "m.onnx", feeds)
            data = {f"in_{k}": v for k, v in feeds.items()} | {f"out_{o.name}": v for o, v in zip(model.graph.output, want)}
            yield Entry(graph.name, "sm_90a", "f32", "edge"), model, data


def prepare(args: argparse.Namespace) -> int:
    import onnx
    from harness import backends
    shutil.rmtree(args.bundles, ignore_errors=True)
    args.bundles.mkdir(parents=True)
    entries = []
    for number, (entry, model, data) in enumerate([*_cases(), *_edges()]):
        weft = backends.WeftBackend(args.build, target=entry.target)
        path = args.bundles / "model.onnx"
        onnx.save(model, path)
        outcome = weft.compile(path, args.bundles / f"{number}.weft")
        path.unlink()
        if outcome.code:
            print(f"sanitize: {entry.name}: {outcome.stderr.strip()[:400]}", file=sys.stderr)
            return 1
        if data:
            np.savez_compressed(args.bundles / f"{number}.npz", **data)
        entries.append(dataclasses.asdict(entry))
    (args.bundles / "manifest.json").write_text(json.dumps({"commit": bundles.commit(), "entries": entries}, indent=1) + "\n")
    print(f"{args.bundles}: {len(entries)} cases, {bundles.finish(args)}")
    return 0


# Where the GPU is.

def _data(entry: Entry, path: pathlib.Path) -> tuple[dict, dict]:
    """Inputs and expected outputs."""
    if entry.kind == "case":
        case = _case(entry.name)
        tensors = case.draw(entry.dtype)
        return _fed(case, tensors), case.reference(tensors)
    with np.load(path) as arrays:
        return ({k[3:]: arrays[k] for k in arrays.files if k.startswith("in_")}, {k[4:]: arrays[k] for k in arrays.files if k.startswith("out_")})


def run_set(args: argparse.Namespace) -> int:
    """All cases in this process: what a tool watches. One line each."""
    sys.path.insert(0, str(ROOT / "kernels-runtime" / "python"))
    import weft
    from harness import compare
    weft.load_library(args.bundles / bundles.LIBRARY)
    failed, entries = 0, [Entry(**data) for data in json.loads((args.bundles / "manifest.json").read_text())["entries"]]
    for number, entry in enumerate(entries):
        feeds, want = _data(entry, args.bundles / f"{number}.npz")
        # Closed here: the tools keep the frames of Python's functions, and with them what these have.
        with weft.Session(str(args.bundles / f"{number}.weft"), device=args.device or f"emu:{entry.target}") as session:
            got = session.run(feeds)
        error = max(compare.relative_l2(np.asarray(got[name]), value) for name, value in want.items())
        good = error <= TOLERANCE[entry.dtype]
        failed += not good
        print(f"case {entry.name} ({entry.target}): error {error:.1e}{'' if good else ', too large'}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"schema": "weft.sanitize/1", "passed": len(entries) - failed, "failed": failed, "skipped": 0}) + "\n")
    return 1 if failed else 0


def watch(args: argparse.Namespace, tool: str) -> tuple[str, str]:
    """Runs the set under a tool; (one line about it, its report)."""
    program = shutil.which("compute-sanitizer") or next(
        (str(p) for p in sorted(pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer"), reverse=True)), None)
    if program is None:
        return "not run: there is no compute-sanitizer", ""
    command = [program, "--tool", tool, *TOOLS[tool], "--error-exitcode=9", "--print-limit=20", sys.executable, __file__, "--run",
               f"--bundles={args.bundles}", f"--device={args.device}"]
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.seconds)
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        code, said = None, (late.stdout or b"").decode(errors="replace")
    cases, summary = said.count("\ncase ") + said.startswith("case "), re.findall(r"(?:ERROR|RACECHECK|LEAK) SUMMARY: [^\n]*", said)
    ending = "out of time" if code is None else "clean" if code == 0 else f"exit {code}"
    return f"{ending}; {cases} cases in {time.monotonic() - start:.0f} s; {'; '.join(summary) or 'no summary'}", said


def report(args: argparse.Namespace) -> int:
    args.out.mkdir(parents=True, exist_ok=True)
    card = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    manifest = json.loads((args.bundles / "manifest.json").read_text())
    lines = ["# Generated kernels under compute-sanitizer", "", f"* device: {card.splitlines()[0] if card else 'unknown'}",
             f"* date: {datetime.datetime.now().isoformat(timespec='minutes')}", f"* commit of the bundles: {manifest['commit']}",
             f"* command: {' '.join(sys.argv)}", "", "| tool | result |", "|---|---|"]
    clean = True
    for tool in args.tools.split(","):
        line, said = watch(args, tool)
        clean &= line.startswith("clean")
        (args.out / f"{tool}.txt").write_text(said[-200_000:])
        lines.append(f"| {tool} {' '.join(TOOLS[tool])} | {line} |")
        print(lines[-1], flush=True)
    lines += ["", "Cases (target): " + "; ".join(f"{e['name']} ({e['target']}, {e['dtype']})" for e in manifest["entries"]) + "."]
    (args.out / "sanitize.md").write_text("\n".join(lines) + "\n")
    return 0 if clean else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bundles.add_arguments(parser, "sanitize", target=False)
    parser.add_argument("--tools", default=",".join(TOOLS), help="comma-separated tools (default: all)")
    parser.add_argument("--device", default="cuda", help="default cuda")
    parser.add_argument("--emulated", action="store_true", help="prepare the set and run it on the emulators of its targets")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    parser.add_argument("--seconds", type=float, default=120, help="limit for each tool (default 120)")
    parser.add_argument("--run", action="store_true", help="run the set in this process, without a tool")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("sanitize"), help="folder for sanitize.md and the tools' reports")
    args = parser.parse_args()
    if args.emulated:
        args.device = None
        return prepare(args) or run_set(args)
    return prepare(args) if args.prepare else run_set(args) if args.run else report(args)


if __name__ == "__main__":
    sys.exit(main())
