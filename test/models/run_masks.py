#!/usr/bin/env python3
"""Masks as exporters spell them, of symbolic extents: right at odd lengths, and what they mask as a whole is left out.

    run_masks.py [--build=build] [--target=sm_80] [--spelling=NAME,...] [--number=inf,least,wide,fast] [--json=FILE]

Each spelling with each number that masks is compiled once and run by the emulator at several lengths of past and prompt, against onnxruntime.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402

import masks  # noqa: E402
from harness import limits  # noqa: E402

HEADS, WIDTH, BATCH = 2, 32, 2
LENGTHS = ((0, 1), (0, 37), (5, 70), (83, 1), (29, 50))  # Past and prompt.
WITHIN = 3e-3
# Spellings whose masked steps are left out with -inf; others depend on data. Finite numbers are taken as -inf with the licence alone, since
# nothing bounds these scores.
SKIPPED = {"range_less", "greater", "trilu_bool", "trilu_full", "cumsum", "window", "window_or", "causal_padding", "causal_plus_padding", "vmap"}
PRODUCTS = {"full_times", "padding_filled", "padding"}  # 0 * -inf is NaN.
CASES = {"inf": [], "least": [], "wide": [], "fast": ["--fp=fast"]}


def feeds(session: ort.InferenceSession, past: int, prompt: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    made = {}
    for value in session.get_inputs():
        if value.name == "attention_mask":
            made[value.name] = np.ones((BATCH, past + prompt), np.int64)
            made[value.name][1, :min(past, 3)] = 0  # The first places are padding; every row keeps one.
        elif value.name == "cache_position":
            made[value.name] = np.arange(past, past + prompt)
        else:
            made[value.name] = rng.standard_normal((BATCH, HEADS, past if "past" in value.name else prompt, WIDTH)).astype(np.float16)
    return made


def check(name: str, number: str, arguments: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    import weft

    lowest = float("-inf") if number == "inf" else None
    path, bundle = folder / f"{name}.onnx", folder / f"{name}.weft"
    masks.attention(path, name, np.float16, lowest, HEADS, WIDTH, wide=number == "wide")
    command = [str(ROOT / arguments.build / "bin" / "weft-compile"), str(path), "-o", str(bundle), "--quiet", f"--target={arguments.target}", "--variants=1",
               "--ptxas=off", "--remarks=plan", *CASES[number]]
    outcome = limits.run(command, timeout=120, memory_mb=2048)
    if outcome.code != 0:
        return [f"refused: {outcome.stderr.strip()[:300]}"]
    failures = []
    is_skipped = "masked-steps" in outcome.stdout + outcome.stderr
    if is_skipped != (number == "inf" and name in SKIPPED or number == "fast" and name in SKIPPED | PRODUCTS - {"padding"}):
        failures.append(f"steps left out: expected {not is_skipped}, got {is_skipped}")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    reference = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    subject, rng = weft.Session(str(bundle), device=f"emu:{arguments.target}", memory_limit=1 << 30), np.random.default_rng(7)
    for past, prompt in LENGTHS:
        given = feeds(reference, past, prompt, rng)
        want = reference.run(None, given)[0].astype(np.float32)
        got = subject.run(given)["y"].astype(np.float32)
        error = np.linalg.norm(want - got) / np.linalg.norm(want)
        if not error <= WITHIN:
            failures.append(f"{prompt} places behind {past}: off by {error:.1e}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--spelling", default=",".join(masks.SPELLINGS))
    parser.add_argument("--number", help="inf, least (of the type), wide (f32 beside f16), fast (least, with --fp=fast)", default="inf,fast")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    arguments = parser.parse_args()
    import weft

    weft.load_library(str(ROOT / arguments.build / "lib"))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as text:
        for number in arguments.number.split(","):
            for name in arguments.spelling.split(","):
                if number == "inf" and name in PRODUCTS:
                    continue
                failures = check(name, number, arguments, pathlib.Path(text))
                counts["failed" if failures else "passed"] += 1
                print("\n".join(f"{name}, {number}: {failure}" for failure in failures) or f"{name}, {number}: right", flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"schema": "weft.decoders/1", **counts}))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
