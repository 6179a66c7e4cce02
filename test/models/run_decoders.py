#!/usr/bin/env python3
"""Decoders with their caches in place, one of them with weights of 4 bits, from one bundle at any length, against onnxruntime with caches that grow.

    run_decoders.py [--build=build] [--target=sm_80] [--device=emu:sm_80] [--model=concat,static_cache,group_query] [--capacity=70] [--json=FILE]

A sequence is fed in pieces of several lengths, then token by token up to the capacity, on the same memory. All logits and all rows of
the caches are compared, rows behind them must be as they were, a second sequence in one piece must give what the pieces gave, and a run
with two buffers what a run with one gives. On the CPU the examples (examples/generate, Python and C) must make onnxruntime's tokens.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402

import decoder  # noqa: E402
from harness import limits  # noqa: E402

SHAPE = decoder.Shape(layers=2, hidden=64, heads=4, key_heads=2, ffn=96, vocab=96)
EMULATED = dataclasses.replace(SHAPE, layers=1, hidden=32, heads=2, key_heads=1, ffn=48)
PIECES = (7, 1, 1, 3, 13, 1, 5)  # Then one by one.
UNUSED = 7.0  # What places that no token has hold.
WITHIN = 2e-3
MEMORY_LIMIT = 1 << 30


def relative(want: np.ndarray, got: np.ndarray) -> float:
    return float(np.linalg.norm(want - got) / max(np.linalg.norm(want), 1e-30)) if want.shape == got.shape else float("inf")


class Reference:
    """onnxruntime on the model with concatenations, whose caches grow."""

    def __init__(self, path: pathlib.Path):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]
        self.caches = {value.name: np.zeros((1, value.shape[1], 0, value.shape[3]), np.float32)
                       for value in self.session.get_inputs() if value.name.startswith("past")}

    def step(self, tokens: np.ndarray, length: int) -> np.ndarray:
        total = length + tokens.shape[1]
        feeds = {"input_ids": tokens, "attention_mask": np.ones((1, total), np.int64), "position_ids": np.arange(length, total)[None], **self.caches}
        results = dict(zip(self.names, self.session.run(None, feeds)))
        self.caches = {name: results[name.replace("past_key_values", "present")] for name in self.caches}
        return results["logits"]


class Subject:
    """A bundle on memory of a fixed number of places."""

    def __init__(self, bundle: pathlib.Path, device: str, capacity: int):
        import weft

        self.session = weft.Session(str(bundle), device=device, memory_limit=MEMORY_LIMIT)
        self.caches = {}
        for port in self.session.inputs:
            if port.name in self.session.aliases.values():
                self.caches[port.name] = weft.zeros((1, port.dims[1], capacity, port.dims[3]), "f32")
                self.caches[port.name][:] = UNUSED

    def step(self, tokens: np.ndarray, length: int, in_place: bool = True) -> np.ndarray:
        total = length + tokens.shape[1]
        places = np.arange(length, total)
        feeds = {"input_ids": tokens, "attention_mask": np.ones((1, total), np.int64), "position_ids": places[None], "cache_position": places, **self.caches}
        names = {port.name for port in self.session.inputs}
        out = {output: self.caches[name] for output, name in self.session.aliases.items()} if in_place else {}
        results = self.session.run({name: value for name, value in feeds.items() if name in names}, out=out)
        for output, name in self.session.aliases.items():
            if not in_place:
                self.caches[name][:] = results[output]
        return results["logits"]


def check_sequence(reference: Reference, bundle: pathlib.Path, device: str, capacity: int) -> list[str]:
    rng = np.random.default_rng(20260119)
    tokens = rng.integers(0, SHAPE.vocab, (1, capacity))
    pieces = list(PIECES) + [1] * (capacity - sum(PIECES))
    subject, copied, failures, length, logits = Subject(bundle, device, capacity), Subject(bundle, device, capacity), [], 0, []
    if sorted(subject.session.aliases.values()) != sorted(reference.caches):
        return [f"expected {list(reference.caches)} in place, got {subject.session.aliases}"]
    for number, piece in enumerate(pieces):
        part = tokens[:, length:length + piece]
        want, got = reference.step(part, length), subject.step(part, length)
        logits.append(want)
        if (error := relative(want, got)) > WITHIN:
            failures.append(f"{piece} tokens behind {length}: logits are off by {error:.1e}")
        if number < 3 and (error := relative(want, copied.step(part, length, in_place=False))) > WITHIN:
            failures.append(f"{piece} tokens behind {length}, two buffers: logits are off by {error:.1e}")
        length += piece
        for name, rows in reference.caches.items():
            memory = subject.caches[name]
            if (error := relative(rows, memory[:, :, :length])) > WITHIN or not (memory[:, :, length:] == UNUSED).all():
                failures.append(f"{piece} tokens, {length} in all: {name} is off by {error:.1e}, or rows behind are written")
    whole = Subject(bundle, device, capacity)
    if (error := relative(np.concatenate(logits, 1), whole.step(tokens, 0))) > WITHIN:
        failures.append(f"{capacity} tokens in one piece: logits are off by {error:.1e}")
    for name, memory in whole.caches.items():
        if (error := relative(memory, subject.caches[name])) > WITHIN:
            failures.append(f"{name}: a cache of one piece and one of {len(pieces)} differ by {error:.1e}")
    return failures


def make_models(folder: pathlib.Path, capacity: int, shape: decoder.Shape) -> dict[str, tuple[pathlib.Path, pathlib.Path, list[str]]]:
    """By name: the model, one with concatenations to compare it with, and flags of the compiler."""
    plain = decoder.concat(folder / "concat.onnx", shape)
    packed = dataclasses.replace(shape, bits=4, block=16, zeros=True)
    return {"concat": (plain, plain, ["--alias=past_key_values.*=present.*"]),
            "static_cache": (decoder.static_cache(folder / "static_cache.onnx", capacity, shape), plain, ["--alias=caches"]),
            "group_query": (decoder.group_query(folder / "group_query.onnx", capacity, packed), decoder.concat(folder / "packed.onnx", packed), [])}


def greedy(reference: Reference, prompt: list[int], count: int) -> list[int]:
    made, tokens, length = [], prompt, 0
    for _ in range(count):
        made.append(int(reference.step(np.array([tokens]), length)[0, -1].argmax()))
        tokens, length = made[-1:], length + len(tokens)
    return made


def check_examples(reference: Reference, bundle: pathlib.Path, build: pathlib.Path, capacity: int) -> list[str]:
    prompt, count, folder = [5, 1, 44, 7, 90], 12, ROOT / "examples" / "generate"
    want = greedy(reference, prompt, count)
    program = bundle.with_suffix(".exe")
    subprocess.run(["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'kernels-runtime/include'}",
                    str(folder / "generate.c"), "-o", str(program), f"-L{build / 'lib'}", "-lweft_runtime", "-lm"], check=True)
    words = [str(token) for token in prompt]
    python = [sys.executable, str(folder / "generate.py"), str(bundle), f"--prompt={','.join(words)}", f"--tokens={count}", f"--capacity={capacity}"]
    commands = {"generate.py": python, "generate.c": [str(program), str(bundle), str(capacity), str(count), "0", *words],
                "generate.py of the likeliest share": [*python, "--top-p=1e-9"],
                "generate.c of the likeliest share": [str(program), str(bundle), str(capacity), str(count), "1e-9", *words]}
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "lib"), "WEFT_RUNTIME_LIBRARY": str(build / "lib" / "libweft_runtime.so")}
    failures = []
    for name, command in commands.items():
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        made = [int(word) for word in outcome.stdout.splitlines()[0].split()] if outcome.returncode == 0 else outcome.stderr
        if made != want or "tokens/s" not in outcome.stdout:
            failures.append(f"{name}: expected {want}, got {made}")
    outcome = subprocess.run([str(build / "bin" / "weft-bench"), str(bundle), f"--generate=prompt:{capacity - 9},tokens:9", "--json"], capture_output=True, text=True)
    measured = json.loads(outcome.stdout) if outcome.returncode == 0 else {}
    if measured.get("tokens") != 9 or not measured["tokens_per_second"] > 0 or not measured["prefill_ms"] > 0:
        failures.append(f"weft-bench --generate: got {measured or outcome.stderr}")
    return failures


def check(name: str, models: dict, arguments: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    path, concat, flags = models[name]
    bundle = folder / f"{name}.weft"
    command = [str(ROOT / arguments.build / "bin" / "weft-compile"), str(path), "-o", str(bundle), "--quiet", *flags]
    command += [f"--target={arguments.target}"] if arguments.target else []
    outcome = limits.run(command, timeout=300, memory_mb=4096)
    if outcome.code != 0:
        return [f"{name}: refused: {outcome.stderr.strip()[:300]}"]
    device = arguments.device or (f"emu:{arguments.target}" if arguments.target else "cpu")
    failures = check_sequence(Reference(concat), bundle, device, arguments.capacity)
    if device == "cpu":
        failures += check_examples(Reference(concat), bundle, ROOT / arguments.build, arguments.capacity)
    return [f"{name}: {text}" for text in failures]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--model", default="", help="default: all on the CPU, concat and group_query on GPUs (run_masks.py has static caches)")
    parser.add_argument("--target", default="")
    parser.add_argument("--device", default="")
    parser.add_argument("--capacity", type=int, default=70)
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    arguments = parser.parse_args()
    import weft

    weft.load_library(str(ROOT / arguments.build / "lib"))
    names = (arguments.model or ("concat,group_query" if arguments.target else "concat,static_cache,group_query")).split(",")
    bad = 0
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        models = make_models(folder, arguments.capacity, EMULATED if arguments.target else SHAPE)
        for name in names:
            failures = check(name, models, arguments, folder)
            bad += bool(failures)
            print("\n".join(failures or [f"{name}: right"]), flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"schema": "weft.decoders/1", "passed": len(names) - bad, "failed": bad, "skipped": 0}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
