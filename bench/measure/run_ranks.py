"""Decoders by tensor parallel where the GPUs are: a process for each rank, and before that one for all on one GPU.

On the CPU the same, with numpy and the host's transport; PyTorch takes part where it is installed. Times of the CPU mean nothing.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

import numpy as np

from . import prepare_ranks, ranks
from .bundles import LIBRARY, ROOT

sys.path.insert(0, str(ROOT / "kernels-runtime" / "python"))
import weft  # noqa: E402

WITHIN = {"cpu": 2e-5, "cuda": 2e-2}  # Relative L2 of logits against those of one rank: f16 rounds each rank's part of a sum.


def read_manifest(folder: pathlib.Path) -> dict:
    return json.loads((folder / ranks.MANIFEST).read_text())


def fill(folder: pathlib.Path, model: str, entry: dict, dtype) -> None:
    """Weights drawn as their rows ask for, a name each its own; tables of angles as they are. Once."""
    path = folder / entry["data"]
    if path.exists():
        return
    draft = path.with_suffix(".draft")
    draft.touch()
    if entry["tensors"]:
        data = np.memmap(draft, np.uint8, "w+", shape=(entry["size"],))

        def write(tensor: dict) -> None:
            data[tensor["offset"]:tensor["offset"] + tensor["bytes"]] = values_of(tensor, dtype).reshape(-1).view(np.uint8)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(write, entry["tensors"]))
    draft.rename(path)


def values_of(tensor: dict, dtype) -> np.ndarray:
    shape, name = tensor["shape"], tensor["name"]
    if name in ("cos_table", "sin_table"):
        half = shape[1]
        angle = np.arange(shape[0])[:, None] / 10000 ** (np.arange(half)[None] / half)
        return (np.cos if name.startswith("cos") else np.sin)(angle).astype(dtype)
    seed = int.from_bytes(name.encode()[-8:], "little")
    std = 1.0 if name == "embedding" else shape[0] ** -0.5
    block = np.random.default_rng(seed).standard_normal(min(int(np.prod(shape)), 1 << 22), np.float32) * std
    return np.resize(block.astype(dtype), shape)  # Again and again: drawing billions takes minutes.


class Tensors:
    """Of one device: PyTorch's on a GPU, numpy's on the CPU."""

    def __init__(self, device: str):
        self.device, self.torch = device, None
        if device.startswith("cuda"):
            import torch
            torch.cuda.set_device(int(device.partition(":")[2] or 0))
            self.torch = torch

    def put(self, array: np.ndarray):
        if self.torch:
            return self.torch.from_numpy(array).cuda()
        room = weft.zeros(array.shape, str(array.dtype).replace("float", "f").replace("int", "i"))
        room[...] = array
        return room

    def get(self, tensor) -> np.ndarray:
        return tensor.cpu().numpy() if self.torch else np.array(tensor)

    def sync(self) -> None:
        if self.torch:
            self.torch.cuda.synchronize()


def bind(tensors: Tensors, session, feeds: dict, logits):
    """A call of the session on these caches, in place."""
    outs = {"logits": logits} | {name.replace("past_key_values", "present"): value for name, value in feeds.items() if name.startswith("past")}
    if tensors.torch:
        return session.bind(feeds, stream=tensors.torch.cuda.current_stream(), out=outs)
    return lambda: session.run(feeds, out=outs)


def time_once(tensors: Tensors, clock, align, call) -> float:
    """Microseconds. Ranks begin together: a small sum of PyTorch's in front of the first event."""
    if tensors.torch is None:
        begin = time.perf_counter()
        call()
        return (time.perf_counter() - begin) * 1e6
    torch = tensors.torch
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    clock.round += 1
    clock.scratch.fill_(clock.round)
    torch.cuda._sleep(2_000_000)
    align()
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def run_case(case: ranks.Case, kinds: list[str], tensors: Tensors, communicator, clock, align, args: argparse.Namespace, peer) -> dict:
    net, (rank, count) = args.nets[case.net], (args.worker, args.world)
    dtype = np.float32 if tensors.torch is None else np.float16
    feeds = {name: tensors.put(value) for name, value in case.feeds(net, rank, count, dtype).items()}
    line, calls, logits = {"name": case.name, "bytes": ranks.count_bytes(case, net, count)}, {}, {}
    sessions = []
    for kind in kinds:
        if kind == "torch":
            try:
                calls[kind], logits[kind] = peer(case, feeds)
            except RuntimeError as error:  # The table says so; Weft's times are worth having without it.
                line["failures"] = [f"PyTorch: {str(error).splitlines()[0]}"]
            continue
        bundle = weft.Bundle(str(args.bundles / prepare_ranks.bundle_name(case, kind)), weights_folder=args.bundles)
        sessions.append(weft.Session(bundle, device=tensors.device, threads=1, communicator=communicator))
        logits[kind] = tensors.put(np.full((case.batch, case.tokens, net.vocab), np.nan, dtype))
        calls[kind] = bind(tensors, sessions[-1], feeds, logits[kind])
    for kind, call in calls.items():
        for _ in range(3):  # The second is recorded, the third replayed.
            call()
        tensors.sync()
        if rank == 0:
            np.save(args.out / f"{case.name}.{kind}.npy", tensors.get(logits[kind]))
    times: dict[str, list[float]] = {kind: [] for kind in calls}
    for _ in range(args.rounds):
        for kind, call in calls.items():
            times[kind].append(time_once(tensors, clock, align, call))
    line.update({f"{kind}_us": statistics.median(each) for kind, each in times.items()})
    for session in sessions:
        session.close()
    return line


def work(args: argparse.Namespace) -> int:
    """One rank, or the only one."""
    weft.load_library(args.bundles / LIBRARY)
    tensors = Tensors(f"cuda:{args.worker}" if args.device == "cuda" else args.device)
    manifest, communicator, clock, peer, align = read_manifest(args.bundles), None, None, None, lambda: None
    kinds = ["one"] if args.world == 1 else ["off", "on"]
    if tensors.torch:
        from .timing import Clock
        clock = Clock()
    if args.world > 1:
        communicator = weft.Communicator(args.worker, args.world, args.address, timeout=60)
    has_peer = args.world > 1 and not args.no_torch and importlib.util.find_spec("torch") is not None
    if args.world > 1 and (has_peer or tensors.torch):
        from . import tensor_parallel
        align = tensor_parallel.join(args.worker, args.world, args.address, args.device)
    lines, of_net = open(args.out / f"rank{args.worker}of{args.world}.jsonl", "w"), None
    for case in args.cases:
        own = list(kinds)
        if has_peer:
            own.append("torch")
            if of_net != case.net:
                peer = None  # Its weights make room for the next one's.
                peer = tensor_parallel.Peer(args.nets[case.net], args.bundles, manifest["cases"][case.name]["model"], manifest, args.world, args.device)
                of_net = case.net
        lines.write(json.dumps(run_case(case, own, tensors, communicator, clock, align, args, peer)) + "\n")
        lines.flush()
    return 0


def find_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def start(args: argparse.Namespace, script: str, world: int, seconds: float) -> list[str]:
    """All ranks of a world; what went wrong. Whoever is left at the end of the time is ended."""
    environment = dict(os.environ, NCCL_NVLS_ENABLE="0")
    flags = ["--bundles", str(args.bundles), "--out", str(args.out), "--rounds", str(args.rounds), "--device", args.device, "--only", args.only,
             "--address", find_address(), "--world", str(world), *(["--small"] if args.small else []), *(["--no-torch"] if args.no_torch else [])]
    processes = [subprocess.Popen([sys.executable, script, "--worker", str(rank), *flags], env=environment) for rank in range(world)]
    deadline, failures = time.monotonic() + seconds, []
    for rank, process in enumerate(processes):
        try:
            if code := process.wait(max(deadline - time.monotonic(), 0.1)):
                failures.append(f"rank {rank} of {world} ended with {code}")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            failures.append(f"rank {rank} of {world} was not done within {seconds:.0f} s")
    return failures


def read_lines(args: argparse.Namespace, rank: int, world: int) -> dict[str, dict]:
    path = args.out / f"rank{rank}of{world}.jsonl"
    return {line["name"]: line for line in map(json.loads, path.read_text().splitlines() if path.exists() else [])}


def collect(args: argparse.Namespace, failures: list[str]) -> dict:
    manifest = read_manifest(args.bundles)
    one, everyone, lines = read_lines(args, 0, 1), [read_lines(args, rank, args.ranks) for rank in range(args.ranks)], []
    for case in args.cases:
        line = {"name": case.name, "failures": [], "bytes": ranks.count_bytes(case, args.nets[case.net], args.ranks)}
        line |= {"one_us": one[case.name]["one_us"]} if case.name in one else {}
        if all(case.name in each for each in everyone):
            line["failures"] += everyone[0][case.name].get("failures", [])
            for key in everyone[0][case.name]:
                if key.endswith("_us"):
                    line[key] = max(each[case.name][key] for each in everyone)
        for kind in ("off", "on", "torch"):
            paths = [args.out / f"{case.name}.{each}.npy" for each in ("one", kind)]
            if not all(path.exists() for path in paths):
                continue
            want, got = (np.load(path).astype(np.float32) for path in paths)
            error = float(np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30))
            line["error"] = max(line.get("error", 0), error)
            if not error <= WITHIN[args.device.partition(":")[0]]:
                line["failures"].append(f"{kind} is off by {error:.1e}")
        lines.append(line)
    device = args.device
    if args.device == "cuda":
        import torch
        device = torch.cuda.get_device_name()
    return {"ranks": args.ranks, "device": device, "commit": manifest["commit"], "rounds": args.rounds, "failures": failures, "cases": lines}


def run(args: argparse.Namespace, script: str) -> dict:
    args.out.mkdir(parents=True, exist_ok=True)
    for old in [*args.out.glob("*.npy"), *args.out.glob("*.jsonl")]:
        old.unlink()
    manifest = read_manifest(args.bundles)
    for name, entry in manifest["models"].items():
        if any(manifest["cases"].get(case.name, {}).get("model") == name for case in args.cases):
            fill(args.bundles, name, entry, np.float32 if args.device == "cpu" else np.float16)
    failures = start(args, script, 1, args.seconds / 3)
    failures += start(args, script, args.ranks, args.seconds * 2 / 3)
    return collect(args, failures)
