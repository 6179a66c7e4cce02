#!/usr/bin/env python3
"""Programs of several ranks against the same models on one: ranks are processes, over the transport of the host.

    run_sharded.py [--build=build] [--model=decoder,bert,mlp] [--ranks=2,3,4] [--target=sm_80 --device=emu:sm_80] [--json=FILE]

Each model is compiled once whole and once for each mesh. All ranks must give what the whole program gives (outputs that are split, their
part of it), and have no more of the weights' bytes than their part. Then a rank that dies in the middle of a sequence: the others must end
soon, with an error that names it.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from typing import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "kernels-runtime" / "python")]

import numpy as np  # noqa: E402

WITHIN = 2e-5
TIMEOUT = 20.0


@dataclasses.dataclass
class Case:
    model: pathlib.Path
    feeds: list[dict[str, np.ndarray]]  # One a run.
    shards: Callable[[int], list[str]]  # By ranks.
    split: dict[str, int]  # Inputs and outputs by name, with their dimension.


def make_decoder(folder: pathlib.Path) -> Case:
    """Heads shared by ranks where there are more ranks than key heads can be dealt to; a prefill, then tokens one by one."""
    import decoder

    shape = decoder.Shape(layers=2, hidden=48, heads=12, key_heads=4, ffn=60, vocab=72)
    path = decoder.concat(folder / "decoder.onnx", shape)
    rng = np.random.default_rng(3)
    feeds, length = [], 0
    for tokens in (5, 1, 3):
        total = length + tokens
        feed = {"input_ids": rng.integers(0, shape.vocab, (2, tokens)), "attention_mask": np.ones((2, total), np.int64),
                "position_ids": np.broadcast_to(np.arange(length, total), (2, tokens)).copy()}
        feed |= {f"past_key_values.{layer}.{part}": rng.standard_normal((2, shape.key_heads, length, shape.width), np.float32)
                 for layer in range(shape.layers) for part in ("key", "value")}
        feeds.append(feed)
        length = total
    caches = {f"{kind}.{layer}.{part}": 1 for kind in ("past_key_values", "present") for layer in range(shape.layers) for part in ("key", "value")}

    def shards(ranks: int) -> list[str]:
        columns = ["*.query:-1", "*.gate:-1", "*.up:-1", "logits.weight:1"]
        return (["past_key_values.*:1", "present.*:1", "*.key:-1", "*.value:-1"] if shape.key_heads % ranks == 0 else []) + columns
    return Case(path, feeds, shards, caches)


def make_bert(folder: pathlib.Path) -> Case:
    import generate

    path = generate.bert(folder, "bert", layers=2, hidden=48, heads=12, vocab=64, seq=7)
    rng = np.random.default_rng(4)
    feed = {"input_ids": rng.integers(0, 64, (1, 7)), "attention_mask": (np.arange(7) < 5).astype(np.int64)[None]}
    columns = [f"*.{part}.matmul:-1" for part in ("query", "key", "value", "intermediate")]
    return Case(path, [feed], lambda ranks: columns, {})


def make_mlp(folder: pathlib.Path) -> Case:
    """Split in the middle, by a weight's name; its input comes in parts, too."""
    import generate
    import onnx

    b = generate.Builder(folder, "mlp", seed=7)
    b.op("MatMul", ["x", b.weight("w1", (12, 24), 0.25)], "sum")
    b.op("Relu", ["sum"], "hidden")
    b.op("MatMul", ["hidden", b.weight("w2", (24, 12), 0.25)], "logits")
    b.op("Softmax", ["logits"], "y", axis=-1)
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", [5, 12]), ("y", [5, 12])))
    path = b.save([x], [y])
    feed = {"x": np.random.default_rng(5).standard_normal((5, 12), np.float32)}
    return Case(path, [feed], lambda ranks: ["w1:1", "y:1"], {"y": 1})


MAKERS = {"decoder": make_decoder, "bert": make_bert, "mlp": make_mlp}


def part(array: np.ndarray, dim: int, rank: int, ranks: int) -> np.ndarray:
    return np.ascontiguousarray(np.split(array, ranks, dim)[rank])


def run_rank(rank: int, ranks: int, address: str, build: str, bundle: str, device: str, feeds: list, split: dict, dies: int, queue) -> None:
    """`dies`: the run before which rank 1 ends without a word; -1: none."""
    import weft

    weft.load_library(build)
    try:
        with weft.Communicator(rank, ranks, address, timeout=TIMEOUT) as communicator:
            session = weft.Session(bundle, device=device, threads=1, communicator=communicator)
            results = []
            for number, feed in enumerate(feeds):
                if number == dies and rank == 1:
                    os._exit(9)
                own = {name: part(value, split[name], rank, ranks) if name in split else value for name, value in feed.items()}
                results.append({name: np.array(value) for name, value in session.run(own).items()})
        queue.put((rank, results))
    except weft.Error as error:
        queue.put((rank, str(error)))


def find_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def run_ranks(ranks: int, *arguments, dies: int = -1) -> dict:
    context = multiprocessing.get_context("fork")  # No threads are alive: sessions here are closed.
    queue, address = context.Queue(), find_address()
    processes = [context.Process(target=run_rank, args=(rank, ranks, address, *arguments, dies, queue)) for rank in range(ranks)]
    for process in processes:
        process.start()
    answers = dict(queue.get(timeout=4 * TIMEOUT) for _ in range(ranks - (dies >= 0)))
    for process in processes:
        process.join()
    return answers


def compile_model(build: pathlib.Path, case: Case, target: str, output: pathlib.Path, options: list[str]) -> None:
    command = [str(build / "bin" / "weft-compile"), str(case.model), f"--target={target}", "-o", str(output), *options]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr}")


def compare(want: list[dict], got: list[dict], split: dict, rank: int, ranks: int) -> list[str]:
    failures = []
    for number, (whole, own) in enumerate(zip(want, got)):
        for name, value in whole.items():
            expected = part(value, split[name], rank, ranks) if name in split else value
            error = np.linalg.norm(expected - own[name]) / max(np.linalg.norm(expected), 1e-30) if expected.shape == own[name].shape else np.inf
            if not error <= WITHIN:
                failures.append(f"run {number}, rank {rank}: `{name}` {own[name].shape} is off by {error:.1e}")
    return failures


def check(name: str, case: Case, meshes: list[int], args: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    import weft

    whole, failures = folder / f"{name}.weft", []
    compile_model(args.build, case, args.target, whole, [])
    with weft.Session(str(whole), device=args.device, threads=1) as session:
        want = [{key: np.array(value) for key, value in session.run(feed).items()} for feed in case.feeds]
    for ranks in meshes:
        shards = case.shards(ranks)
        split = {key: dim for key, dim in case.split.items() if any(key.startswith(s.partition(":")[0].rstrip("*")) for s in shards)}
        bundle = folder / f"{name}.{ranks}.weft"
        compile_model(args.build, case, args.target, bundle, [f"--mesh=tp:{ranks}", f"--shard={','.join(shards)}"])
        arguments = (str(args.build), str(bundle), args.device, case.feeds, split)
        for rank, answer in sorted(run_ranks(ranks, *arguments).items()):
            failures += [f"{name}, {ranks} ranks: rank {rank}: {answer}"] if isinstance(answer, str) else [
                f"{name}, {ranks} ranks: {text}" for text in compare(want, answer, split, rank, ranks)]
        if len(case.feeds) > 1 and ranks == meshes[-1]:
            begin = time.monotonic()
            for rank, answer in run_ranks(ranks, *arguments, dies=1).items():
                if not isinstance(answer, str) or "rank 1 has ended" not in answer:
                    failures.append(f"{name}, {ranks} ranks, of which 1 dies: rank {rank}: expected an error that names it, got {str(answer)[:200]}")
            if time.monotonic() - begin > TIMEOUT:
                failures.append(f"{name}, {ranks} ranks, of which 1 dies: the others took {time.monotonic() - begin:.0f} s to end")
        print(f"{name}, {ranks} ranks: {'FAILED' if failures else 'ok'}", flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--model", default=",".join(MAKERS))
    parser.add_argument("--ranks", default="2,3,4")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    args = parser.parse_args()
    import weft

    weft.load_library(args.build)
    failures, bad, names = [], 0, args.model.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in names:
            found = check(model, MAKERS[model](folder), [int(r) for r in args.ranks.split(",")], args, folder)
            failures, bad = failures + found, bad + bool(found)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"schema": "weft.sharded/1", "passed": len(names) - bad, "failed": bad, "skipped": 0}))
    print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
