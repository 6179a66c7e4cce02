#!/usr/bin/env python3
"""./dev demo: one real model through the whole of Weft, checked against onnxruntime.

Takes bert_base_b1_s128 of ../shared/models where that folder is, else builds a BERT-base encoder with random weights. Then:
`weft-inspect` on the model, `weft-compile` to one bundle, a run through the Python package with two threads, the same inputs through
onnxruntime, and a verdict.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import numpy as np  # noqa: E402

import catalogue  # noqa: E402
import generate  # noqa: E402
from execute import execute  # noqa: E402
from harness import backends, compare, limits  # noqa: E402


def the_model(cache: pathlib.Path) -> catalogue.Model:
    if catalogue.shared_models():
        return catalogue.prepare_shared("bert_base_b1_s128", cache)
    path = cache / "bert_base.onnx"
    if not path.exists():
        generate.bert(cache)
    return catalogue.Model("bert_base", path)


def say(text: str = "") -> None:
    print(text, flush=True)


def show(tool: pathlib.Path, arguments: list[str], folder: pathlib.Path) -> None:
    """Run a tool of the build in `folder` as the user would, its own words included."""
    say("$ " + " ".join([tool.name, *arguments]))
    subprocess.run([str(tool), *arguments], cwd=folder, check=True, stderr=subprocess.STDOUT)
    say()


def placement(weft: backends.WeftBackend, bundle: pathlib.Path) -> str:
    """One line from the runtime: which device runs how many kernels, and how many of those are distinct."""
    def ask() -> list[tuple[str, str]]:
        return [(d.device, d.kernel) for d in weft.session(bundle, threads=2).dispatches()]

    result = limits.isolated(ask, timeout=120)
    if not result.value:
        return f"placement {result.error or 'not known'}"
    counts = collections.Counter(device for device, _ in result.value)
    places = ", ".join(f"{n} kernel starts on {device}" for device, n in sorted(counts.items()))
    return f"placement {places}; {len(set(result.value))} distinct kernels; bundle {bundle.stat().st_size / 1e6:.1f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder (default build)")
    args = parser.parse_args()
    cache = args.build.resolve() / "models"
    cache.mkdir(parents=True, exist_ok=True)
    weft, ort = backends.WeftBackend(args.build), backends.OrtBackend()

    model = the_model(cache)
    proto = model.proto()
    size = sum(p.stat().st_size for p in cache.glob(model.path.stem + ".*")) / 1e6
    say(f"model     {model.path.name}: {len(proto.graph.node)} nodes, {len(proto.graph.initializer)} initializers, {size:.0f} MB with weights")
    say()
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        bundle = pathlib.Path(folder) / f"{model.name}.weft"
        show(weft.build / "bin" / "weft-inspect", [model.path.name], cache)
        show(weft.compiler, [model.path.name, "-o", str(bundle.relative_to(cache))], cache)

        say(placement(weft, bundle))
        feeds = [catalogue.inputs(proto)]
        times, problem = execute(weft, bundle, feeds, 5, pathlib.Path(folder) / "got.npz")
        if problem:
            say(f"weft      {problem}")
            return 1
        ort_times, problem = execute(ort, model.path, feeds, 5, pathlib.Path(folder) / "want.npz")
        if problem:
            say(f"onnxruntime {problem}")
            return 1
        with np.load(pathlib.Path(folder) / "got.npz") as got, np.load(pathlib.Path(folder) / "want.npz") as want:
            error = max(compare.relative_l2(got[k], want[k]) for k in want.files)
            worst = max(float(np.abs(got[k].astype(np.float64) - want[k]).max()) for k in want.files)
    bound = catalogue.TOLERANCE[model.precision]
    say(f"run       {times[0]:.1f} ms with weft, {ort_times[0]:.1f} ms with onnxruntime (best of 5, two threads): {times[0] / ort_times[0]:.2f} x")
    say(f"accuracy  relative L2 error {error:.1e} (at most {bound:.0e} allowed), largest difference {worst:.1e}")
    good = error <= bound
    say("verdict   the bundle agrees with onnxruntime" if good else "verdict   the bundle DISAGREES with onnxruntime")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
