#!/usr/bin/env python3
"""Masks as exporters spell them, of symbolic extents: right at odd lengths, and what they mask as a whole is left out.

    run_masks.py [--build=build] [--target=sm_80] [--spelling=NAME,...] [--number=inf,least,wide,fast] [--json=FILE]

Each spelling with each number that masks is compiled once and run by the emulator at several lengths of past and prompt, against onnxruntime. So is
GroupQueryAttention over batches of sequences that have lengths of their own, and a static cache of which rows are written at positions that are data.
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
# Spellings whose masked steps are left out, or not; others depend on data. Finite numbers are taken as -inf where products that are numbers are
# small beside them; a run looks whether they are where that pays, for long prompts, or the licence takes it for granted.
SKIPPED = {"range_less", "greater", "trilu_bool", "trilu_full", "cumsum", "buffer_slice", "buffer_bytes", "window", "window_or", "causal_padding", "causal_plus_padding", "vmap"}
PRODUCTS = {"full_times", "padding_filled", "padding"}  # 0 * -inf is NaN.
FINITE = SKIPPED | {"full_times"}
LEFT_OUT = {"inf": SKIPPED | {"positions"}, "least": FINITE, "wide": FINITE, "early": FINITE, "fast": FINITE | {"padding_filled"}}
FLAGS = {"fast": ["--fp=fast"], "early": ["--dim=batch=1..8:4,sequence=1..4096:2048,past=0..4096:512"]}
EARLY = {"range_less", "window", "causal_padding", "causal_plus_padding"}  # Spellings that are tried with scores that a run looks at.


def feeds(session: ort.InferenceSession, past: int, prompt: int, rng: np.random.Generator, number: str) -> dict[str, np.ndarray]:
    """The first places of sequence 1 are padding. Rows that are padding as a whole have equal weights in f32 (a sum of f16 tells them apart, or
    not, by how it is rounded)."""
    made, padding = {}, 3 if number == "wide" else min(past, 3)
    for value in session.get_inputs():
        if value.name == "attention_mask":
            made[value.name] = np.ones((BATCH, past + prompt), np.int64)
            made[value.name][1, :padding] = 0
        elif value.name == "cache_position":
            made[value.name] = np.arange(past, past + prompt)
        else:
            made[value.name] = rng.standard_normal((BATCH, HEADS, past if "past" in value.name else prompt, WIDTH)).astype(np.float16)
    return made


def move_apart(given: dict[str, np.ndarray], least: float) -> dict[str, np.ndarray]:
    """Scores of which half are as far below 0 as the others are above: masked ones of these are more than kept ones of those."""
    far = (0.55 * abs(least) / WIDTH * WIDTH ** 0.5) ** 0.5
    query = np.full_like(given["query"], far)
    past, prompt = given["past_key"].shape[2], given["key"].shape[2]
    sign = np.where(np.arange(past + prompt) < past + prompt // 2, -1, 1)[None, None, :, None].astype(query.dtype)
    keys = np.broadcast_to(sign, (BATCH, HEADS, past + prompt, WIDTH)) * far
    return given | {"query": query, "past_key": keys[:, :, :past].astype(query.dtype), "key": keys[:, :, past:].astype(query.dtype)}


def compile_model(path: pathlib.Path, arguments: argparse.Namespace, flags: list[str]) -> tuple[str, bool]:
    """Why it was refused, and whether steps are left out."""
    command = [str(ROOT / arguments.build / "bin" / "weft-compile"), str(path), "-o", str(path.with_suffix(".weft")), "--quiet", f"--target={arguments.target}",
               "--variants=1", "--ptxas=off", "--remarks=plan", *flags]
    outcome = limits.run(command, timeout=120, memory_mb=2048)
    return outcome.stderr.strip()[:300] if outcome.code else "", "masked-steps" in outcome.stdout + outcome.stderr


def open_both(path: pathlib.Path, arguments: argparse.Namespace) -> tuple:
    import weft

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    subject = weft.Session(str(path.with_suffix(".weft")), device=f"emu:{arguments.target}", memory_limit=1 << 30)
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]), subject


def relative(want: np.ndarray, got: np.ndarray) -> float:
    want, got = want.astype(np.float32), got.astype(np.float32)
    return float(np.linalg.norm(want - got) / np.linalg.norm(want))


def compare(reference: ort.InferenceSession, subject, given: dict[str, np.ndarray]) -> float:
    return relative(reference.run(["y"], given)[0], subject.run(given)["y"])


def check_ragged(arguments: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    capacity, heads, key_heads = 150, 4, 2
    path = masks.group_query(folder / "ragged.onnx", capacity, np.float16, heads, key_heads, WIDTH)
    refused, is_skipped = compile_model(path, arguments, [])
    if refused or not is_skipped:
        return [f"refused: {refused}" if refused else "no steps are left out"]
    (reference, subject), rng, failures = open_both(path, arguments), np.random.default_rng(8), []
    for prompt, lengths in ((1, (1,)), (1, (150, 3, 64, 65, 129)), (1, (17, 128)), (70, (70, 70)), (33, (33, 33, 33))):
        batch = len(lengths)
        given = {name: rng.standard_normal((batch, prompt, count * WIDTH)).astype(np.float16) for name, count in (("query", heads), ("key", key_heads), ("value", key_heads))}
        given |= {f"past_{name}": rng.standard_normal((batch, key_heads, capacity, WIDTH)).astype(np.float16) for name in ("key", "value")}
        given |= {"seqlens_k": np.array(lengths, np.int32) - 1, "total": np.array([max(lengths)], np.int32)}
        if not (error := compare(reference, subject, given)) <= WITHIN:
            failures.append(f"{prompt} places of sequences of {lengths}: off by {error:.1e}")
    return failures


def check_static(arguments: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    capacity, failures = 1100, []  # Of which few places are ever used.
    path = masks.static_cache(folder / "static.onnx", capacity, np.float16, HEADS, WIDTH)
    refused, is_skipped = compile_model(path, arguments, ["--alias=caches"])
    if refused or not is_skipped:
        return [f"refused: {refused}" if refused else "no steps are left out"]
    (reference, subject), rng, length = open_both(path, arguments), np.random.default_rng(9), 0
    caches = {f"past_{name}": rng.standard_normal((BATCH, HEADS, capacity, WIDTH)).astype(np.float16) for name in ("key", "value")}
    memory = {name: rows.copy() for name, rows in caches.items()}
    if sorted(subject.aliases.values()) != sorted(caches):
        return [f"expected {list(caches)} in place, got {subject.aliases}"]
    for prompt in (70, 1, 3, 65, 1):
        given = {name: rng.standard_normal((BATCH, HEADS, prompt, WIDTH)).astype(np.float16) for name in ("query", "key", "value")}
        given["cache_position"] = np.arange(length, length + prompt)
        want = dict(zip((output.name for output in reference.get_outputs()), reference.run(None, given | caches)))
        got = subject.run(given | memory, out={output: memory[name] for output, name in subject.aliases.items()})
        caches = {name: want[name.replace("past", "present")] for name in caches}
        if not relative(want["y"], got["y"]) <= WITHIN or any((caches[name] != memory[name]).any() for name in caches):
            failures.append(f"{prompt} places behind {length}: y is off by {relative(want['y'], got['y']):.1e}, or rows of the caches")
        length += prompt
    return failures


def check(name: str, number: str, arguments: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    lowest = float("-inf") if number == "inf" else None
    path = masks.attention(folder / f"{name}.onnx", name, np.float16, lowest, HEADS, WIDTH, wide=number == "wide", early=number == "early")
    refused, is_skipped = compile_model(path, arguments, FLAGS.get(number, []))
    if refused:
        return [f"refused: {refused}"]
    failures = []
    if is_skipped != (name in LEFT_OUT[number]):
        failures.append(f"steps left out: expected {not is_skipped}, got {is_skipped}")
    (reference, subject), rng = open_both(path, arguments), np.random.default_rng(7)
    for past, prompt in LENGTHS:
        given = feeds(reference, past, prompt, rng, number)
        cases = {"": given} | ({", far apart": move_apart(given, -65504)} if number == "early" else {})
        for text, values in cases.items():
            if not (error := compare(reference, subject, values)) <= WITHIN:
                failures.append(f"{prompt} places behind {past}{text}: off by {error:.1e}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--spelling", default=",".join(masks.SPELLINGS))
    parser.add_argument("--number", help="inf, least (of the type), wide (f32 beside f16), fast (least, with --fp=fast), early (scaled before)",
                        default="inf,least,wide,early")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    arguments = parser.parse_args()
    import weft

    weft.load_library(str(ROOT / arguments.build / "lib"))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as text:
        cases = [(name, number) for number in arguments.number.split(",") for name in arguments.spelling.split(",")
                 if not (number == "inf" and name in PRODUCTS) and not (number == "early" and name not in EARLY)]
        others = {"ragged": check_ragged, "static": check_static}
        for name, number in [*cases, *((other, "") for other in others)]:
            folder = pathlib.Path(text)
            failures = check(name, number, arguments, folder) if number else others[name](arguments, folder)
            counts["failed" if failures else "passed"] += 1
            print("\n".join(f"{name} {number}: {failure}" for failure in failures) or f"{name} {number}: right", flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"schema": "weft.decoders/1", **counts}))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
