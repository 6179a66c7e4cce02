#!/usr/bin/env python3
"""Programs of several ranks against the same models on one: ranks are processes, over the transport of the host.

    run_sharded.py [--build=build] [--model=decoder,bert,mlp] [--ranks=2,3,4] [--target=sm_80 --device=emu:sm_80] [--json=FILE]

Each model is compiled once whole, and for each mesh with the splits that its case names, its collectives in turn and, all of them, beside kernels and
in parts of rows; with the splits that the compiler finds where the links cost nothing; and, `annotated`, with those that the model itself says. The
same splits give the same bits, whether collectives overlap or not, where the GEMM of some rows sums in the order of that of all. All ranks must give what the whole program gives (outputs that are split, their
part of it), and have no more of the weights' bytes than their part. Then a rank that dies in the middle of a sequence: the others must end
soon, with an error that names it.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
import json
import multiprocessing
import os
import pathlib
import re
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
    whole: pathlib.Path | None = None  # The same model without annotations.
    isFound: bool = False  # Nothing is named: the layout that is found, which may be none.
    within: float = WITHIN


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


def make_experts(folder: pathlib.Path) -> Case:
    """12 experts, all of them done, weighed by a softmax: by rank, the weighted sum is one over the ranks."""
    import generate
    import onnx

    b = generate.Builder(folder, "experts", seed=8)
    b.op("MatMul", ["x", b.weight("router", (10, 12), 0.5)], "scores")
    b.op("Softmax", ["scores"], "gates", axis=-1)
    b.op("Transpose", ["gates"], "by_expert", perm=[1, 0])
    b.constant("first", np.array([0], np.int64))
    b.constant("last", np.array([2], np.int64))
    b.op("Unsqueeze", ["by_expert", "last"], "weights")
    b.op("MatMul", ["x", b.weight("up", (12, 10, 14), 0.3)], "ups")
    b.op("Relu", ["ups"], "hidden")
    b.op("MatMul", ["hidden", b.weight("down", (12, 14, 10), 0.3)], "downs")
    b.op("Mul", ["downs", "weights"], "weighed")
    b.op("ReduceSum", ["weighed", "first"], "y", keepdims=0)
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", [7, 10]), ("y", [7, 10])))
    path = b.save([x], [y])
    feed = {"x": np.random.default_rng(6).standard_normal((7, 10), np.float32)}
    return Case(path, [feed], lambda ranks: ["up:0"], {})


def make_uneven(folder: pathlib.Path) -> Case:
    """10 heads, of which 2 ranks have 5 each, and 3 or 4 ranks none: attention is whole there, the MLP is not."""
    import generate

    path = generate.bert(folder, "uneven", layers=1, hidden=60, heads=10, vocab=36, seq=5)
    rng = np.random.default_rng(9)
    feed = {"input_ids": rng.integers(-36, 36, (1, 5)), "attention_mask": (np.arange(5) < 4).astype(np.int64)[None]}
    return Case(path, [feed], lambda ranks: ["*.intermediate.matmul:-1", "word_embeddings:0"], {})


def make_annotated(folder: pathlib.Path) -> Case:
    """As IR version 11 says it, by three nodes of an MLP: nothing is named to the compiler."""
    import onnx

    case = make_mlp(folder)
    model = onnx.load(case.model)
    model.ir_version = 11
    for ranks in (2, 3, 4):
        model.configuration.add(name=f"tp{ranks}", num_devices=ranks)
        for node, tensor, axis in ((0, "w1", 1), (2, "w2", -2), (3, "y", 1)):
            of = model.graph.node[node].device_configurations.add(configuration_id=f"tp{ranks}")
            spec = of.sharding_spec.add(tensor_name=tensor, device=range(ranks))
            spec.sharded_dim.add(axis=axis).simple_sharding.add(num_shards=ranks)
            of.sharding_spec.add(tensor_name=model.graph.node[node].input[0], device=range(ranks))
    onnx.save(model, folder / "annotated.onnx")
    return Case(folder / "annotated.onnx", case.feeds, lambda ranks: [], {"y": 1}, case.model)


def make_catalogued(name: str, folder: pathlib.Path) -> Case:
    """Of run_models.py: whatever is found for it."""
    import catalogue

    model = catalogue.prepare(name, folder)
    feeds = [catalogue.inputs(model.proto(), symbols) for symbols in catalogue.SHAPES.get(name, ({},))]
    return Case(model.path, feeds, lambda ranks: [], {}, isFound=True, within=WITHIN if model.precision == "f32" else catalogue.TOLERANCE["f16"])


MAKERS = {"decoder": make_decoder, "bert": make_bert, "mlp": make_mlp, "experts": make_experts, "uneven": make_uneven, "annotated": make_annotated}


def part(array: np.ndarray, dim: int, rank: int, ranks: int) -> np.ndarray:
    return np.ascontiguousarray(np.split(array, ranks, dim)[rank])


def find_split(whole: tuple, own: tuple, ranks: int) -> int | None:
    """Along which dimension the one is a part of the other."""
    found = [d for d, (a, b) in enumerate(zip(whole, own)) if a != b and isinstance(b, int) and a == b * ranks]
    return found[0] if found else None


def run_rank(rank: int, ranks: int, address: str, build: str, bundle: str, device: str, feeds: list, dies: int, queue) -> None:
    """`dies`: the run before which rank 1 ends without a word; -1: none."""
    import weft

    weft.load_library(build)
    try:
        with weft.Communicator(rank, ranks, address, timeout=TIMEOUT) as communicator:
            session = weft.Session(bundle, device=device, threads=1, communicator=communicator)
            results, ports = [], {port.name: port.dims for port in session.inputs}
            split = {name: find_split(value.shape, ports[name], ranks) for name, value in feeds[0].items()}
            for number, feed in enumerate(feeds):
                if number == dies and rank == 1:
                    os._exit(9)
                own = {name: part(value, split[name], rank, ranks) if split[name] is not None else value for name, value in feed.items()}
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


def compile_model(build: pathlib.Path, case: Case, target: str, output: pathlib.Path, options: list[str]) -> str:
    command = [str(build / "bin" / "weft-compile"), str(case.model), f"--target={target}", "-o", str(output), *options]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr}")
    return result.stderr


def compare(want: list[dict], got: list[dict], split: dict | None, rank: int, ranks: int, within: float) -> list[str]:
    """`split`: which outputs are parts; None: those that have the extents of one."""
    failures = []
    for number, (whole, own) in enumerate(zip(want, got)):
        for name, value in whole.items():
            dim = split.get(name) if split is not None else find_split(value.shape, own[name].shape, ranks)
            expected = value if dim is None else part(value, dim, rank, ranks)
            error = np.linalg.norm(expected - own[name]) / max(np.linalg.norm(expected), 1e-30) if expected.shape == own[name].shape else np.inf
            if not error <= within:
                failures.append(f"run {number}, rank {rank}: `{name}` {own[name].shape} is off by {error:.1e}")
    return failures


def check_death(ranks: int, arguments: tuple) -> list[str]:
    """Rank 1 ends between two runs."""
    failures, begin = [], time.monotonic()
    for rank, answer in run_ranks(ranks, *arguments, dies=1).items():
        if not isinstance(answer, str) or "rank 1 has ended" not in answer:
            failures.append(f"of which 1 dies: rank {rank}: expected an error that names it, got {str(answer)[:200]}")
    if time.monotonic() - begin > TIMEOUT:
        failures.append(f"of which 1 dies: the others took {time.monotonic() - begin:.0f} s to end")
    return failures


def check_overlap(bundle: pathlib.Path, case: Case, ranks: int, parts: int, options: list[str], want: dict, args: argparse.Namespace) -> list[str]:
    """All collectives beside kernels, those behind GEMMs in `parts`: in one, the bits are those of collectives in turn."""
    compile_model(args.build, case, args.target, bundle, [*options, f"--overlap={parts}"])
    failures = []
    for rank, answer in sorted(run_ranks(ranks, str(args.build), str(bundle), args.device, case.feeds).items()):
        if isinstance(answer, str) or isinstance(want[rank], str):
            failures.append(f"overlapped in {parts}, rank {rank}: {answer if isinstance(answer, str) else want[rank]}")
            continue
        for number, (own, turn) in enumerate(zip(answer, want[rank])):
            for name, value in turn.items():
                error = np.linalg.norm(own[name] - value) / max(np.linalg.norm(value), 1e-30)
                if own[name].tobytes() != value.tobytes() if parts == 1 else not error <= case.within:
                    failures.append(f"overlapped in {parts}, run {number}, rank {rank}: `{name}` is off by {error:.1e} from collectives in turn")
    return failures


def check_mesh(name: str, case: Case, ranks: int, isFound: bool, want: list[dict], args: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    shards = case.shards(ranks)
    split = {key: dim for key, dim in case.split.items() if not shards or any(key.startswith(s.partition(":")[0].rstrip("*")) for s in shards)}
    bundle, options = folder / f"{name}.{ranks}.weft", [f"--shard={','.join(shards)}"] if shards else []
    if isFound:
        options = ["--link=1e6:0", "--remarks=shard"]
    options.insert(0, f"--mesh=tp{'' if shards or isFound else ranks}:{ranks}")
    said = compile_model(args.build, case, args.target, bundle, [*options, "--overlap=off"])
    failures = []
    if isFound and not case.isFound and not re.search(r"a layout for \d+ ranks: [1-9]\d* of", said):
        failures.append(f"expected GEMMs in parts, got {said[:300]}")
    arguments = (str(args.build), str(bundle), args.device, case.feeds)
    answers = run_ranks(ranks, *arguments)
    for rank, answer in sorted(answers.items()):
        failures += [f"rank {rank}: {answer}"] if isinstance(answer, str) else compare(want, answer, None if isFound else split, rank, ranks, case.within)
    for parts in (3,) if isFound else (1, 2):
        failures += check_overlap(bundle, case, ranks, parts, options, answers, args)
    if len(case.feeds) > 1 and not isFound and ranks == 4:
        failures += check_death(ranks, arguments)  # Collectives are under way beside kernels.
    return [f"{name}, {ranks} ranks, {'found' if isFound else 'named'}: {text}" for text in failures]


def check(name: str, case: Case, meshes: list[int], args: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    import weft

    whole, failures = folder / f"{name}.weft", []
    compile_model(args.build, dataclasses.replace(case, model=case.whole or case.model), args.target, whole, [])
    with weft.Session(str(whole), device=args.device, threads=1) as session:
        want = [{key: np.array(value) for key, value in session.run(feed).items()} for feed in case.feeds]
    for ranks in meshes:
        for isFound in (False,) if case.whole else (True,) if case.isFound else (False, True):
            found = check_mesh(name, case, ranks, isFound, want, args, folder)
            print(f"{name}, {ranks} ranks, {'found' if isFound else 'named'}: {'FAILED' if found else 'ok'}", flush=True)
            failures += found
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--model", default=",".join(MAKERS))
    parser.add_argument("--catalogue", default="", help="globs of models of run_models.py, instead of those of --model")
    parser.add_argument("--ranks", default="2,3,4")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts here")
    args = parser.parse_args()
    import weft

    weft.load_library(args.build)
    failures, bad, makers = [], 0, {name: MAKERS[name] for name in args.model.split(",") if not args.catalogue}
    if args.catalogue:
        import catalogue
        known = sorted({*catalogue.shared_names(), *catalogue.GENERATED, *catalogue.GENERATED_SMALL})
        found = [name for name in known if any(fnmatch.fnmatch(name, glob) for glob in args.catalogue.split(","))]
        makers = {name: functools.partial(make_catalogued, name) for name in found}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, make in makers.items():
            found = check(model, make(folder), [int(r) for r in args.ranks.split(",")], args, folder)
            failures, bad = failures + found, bad + bool(found)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({"schema": "weft.sharded/1", "passed": len(makers) - bad, "failed": bad, "skipped": 0}))
    print("\n".join(failures), end="\n" if failures else "", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
