#!/usr/bin/env python3
"""weft.torch beside eager PyTorch and torch.compile on one GPU: results, times of compilation and of calls, for models of torchvision and
transformers (pytorch_models.py).

    bench/pytorch.py [--library=build] [--model=GLOB,...] [--mode=default|max-autotune|none] [--seconds=100] [--out=FILE.json]
    bench/pytorch.py --dry=sm_90a [--small]          where there is no GPU: export and compile only

Compilations run in several processes, each on its own cores (--slots, --cores), ours and torch.compile's under the same conditions; then
models are timed one at a time while the others wait. Errors are relative L2 errors beside an f64 run of the same weights, `tells` how far results for
another input are from these: where it is small, agreement says nothing. Times: `call` is a call and a wait for its end (warm, median), `graph`
the GPU's time with a cold L2: replays of a captured graph for PyTorch, for Weft the session's own graph, and `module` the call of the
compiled module on the GPU in the same way, its Python hidden behind the start.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import copy
import datetime
import fnmatch
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import time
import traceback
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "kernels-runtime" / "python")]

import torch  # noqa: E402

import pytorch_models as models  # noqa: E402
import weft  # noqa: E402
import weft.torch  # noqa: E402
from measure import timing  # noqa: E402
from weft import _compiler  # noqa: E402

ROUNDS = 20
CONTEXT = multiprocessing.get_context("spawn")  # CUDA does not live through a fork
# Of --seconds: torch.compile begins nothing later, and timing does not wait longer for those that still compile.
COMPILING_ENDS, TIMING_BEGINS = 0.62, 0.84


def relative_error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return ((found.double() - wanted).norm() / wanted.norm()).item()


def wall_of_call(function, rounds: int = ROUNDS) -> float:
    """Microseconds of a call and the wait for its end; median."""
    times = []
    for _ in range(rounds + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[3:]) * 1e6


class Bench:
    """One model: what was compiled for it, and what came of it (`facts`)."""

    def __init__(self, model: models.Model, args: argparse.Namespace):
        self.model, self.mode = model, args.mode
        torch.set_float32_matmul_precision("high" if model.tf32 else "highest")
        torch.manual_seed(7)
        self.module, self.args = models.make(model, "cuda", args.small)
        self.facts: dict[str, object] = {"model": model.name, "tf32": model.tf32}
        self.candidates: dict[str, object] = {"eager": lambda: self.module(*self.args)}
        self._refer()

    def _refer(self) -> None:
        exact = copy.deepcopy(self.module).double()
        inputs = [each.double() if each.is_floating_point() else each for each in self.args]
        self.wanted = exact(*inputs)
        others = [torch.randn_like(each) if each.is_floating_point() else each.flip(-1) for each in inputs]
        self.facts["tells"] = relative_error(exact(*others), self.wanted)
        self._judge("eager", self.candidates["eager"]())

    def _judge(self, name: str, found: torch.Tensor) -> None:
        self.facts[f"{name} error"] = relative_error(found, self.wanted)
        self.facts[f"{name} worst"] = ((found.double() - self.wanted).abs().max() / self.wanted.abs().max()).item()

    def compile_ours(self) -> None:
        """Wall time until the first results are there, and its parts."""
        begin = time.perf_counter()
        program = torch.export.export(self.module, self.args)
        exported, inside = time.perf_counter(), []
        with mock.patch.object(_compiler, "compile", timed(_compiler.compile, inside)):
            fast = weft.torch.compile(program)
        opened = time.perf_counter()
        found = fast(*self.args)
        torch.cuda.synchronize()
        self.facts |= {"weft compile s": time.perf_counter() - begin, "torch.export s": exported - begin, "weft.compile s": inside[0],
                       "kernels": len(fast.session.dispatches()), "graphs refused": fast.session.statistics()["graphs_refused"]}
        self._judge("weft", found)
        session = fast.session
        feeds = {port.name: arg for port, arg in zip(session.inputs, self.args)}
        out = {session.outputs[0].name: torch.empty_like(found)}
        self.candidates |= {"weft": lambda: fast(*self.args), "session": BoundRuns(session, feeds, out)}

    def compile_peer(self) -> None:
        torch._dynamo.reset()
        begin = time.perf_counter()
        options = {} if self.mode == "default" else {"mode": f"{self.mode}-no-cudagraphs"}
        fast = torch.compile(self.module, dynamic=False, **options)
        found = fast(*self.args)
        torch.cuda.synchronize()
        self.facts["inductor compile s"] = time.perf_counter() - begin
        self._judge("inductor", found)
        self.candidates["inductor"] = lambda: fast(*self.args)

    def time(self, clock: timing.Clock) -> None:
        """Calls with the host's work, then the GPU's time alone: without the host's, by graphs."""
        self.facts |= {f"{name} call us": wall_of_call(start) for name, start in self.candidates.items() if name != "session"}
        starts = {"session graph": self.candidates["session"], "weft module": self.candidates["weft"]} if "session" in self.candidates else {}
        peers = {name: self.candidates[name] for name in ("eager", "inductor") if name in self.candidates}
        if self.model.is_convolutional:
            module = copy.deepcopy(self.module).to(memory_format=torch.channels_last)
            args = tuple(arg.contiguous(memory_format=torch.channels_last) for arg in self.args)
            peers["channels-last"] = lambda: module(*args)
        for name, start in peers.items():
            try:
                starts[f"{name} graph"] = timing.capture(start)
            except Exception as error:  # What waits for the GPU cannot be captured; the others can.
                self.facts[f"{name} capture failure"] = str(error).strip()[:200]
        self.facts |= {f"{name} us": statistics.median(times) * 1e3 for name, times in clock.all(starts, ROUNDS).items()}
        if "session" in self.candidates:
            self.facts["graphs run"] = self.candidates["session"].session.statistics()["graphs_run"]


class BoundRuns:
    """The session alone, on whichever stream is current."""

    def __init__(self, session: weft.Session, feeds: dict, out: dict):
        self.session, self.feeds, self.out, self.bound = session, feeds, out, {}

    def __call__(self) -> None:
        stream = torch.cuda.current_stream()
        if stream.cuda_stream not in self.bound:
            self.bound[stream.cuda_stream] = self.session.bind(self.feeds, stream=stream, out=self.out)
        self.bound[stream.cuda_stream]()


def timed(function, seconds: list[float]):
    def call(*args, **kwargs):
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds.append(time.perf_counter() - begin)
    return call


def load(args: argparse.Namespace) -> None:
    weft.load_library(args.library)
    weft.load_compiler(args.library)


def warm_up(args: argparse.Namespace) -> None:
    """What a process pays once for either way: imports, the exporter's registry, Inductor's workers."""
    import torchvision.models  # noqa: F401
    import transformers.models.auto.modeling_auto  # noqa: F401
    module, x = torch.nn.Linear(64, 64).cuda().half().eval(), torch.ones(8, 64, device="cuda", dtype=torch.float16)
    weft.torch.compile(module, (x,))(x)
    try:
        if args.mode != "none":
            torch.compile(torch.nn.functional.gelu)(x)
    except Exception:  # Each model will say so.
        traceback.print_exc(limit=-2)
    torch.cuda.synchronize()


def worker(cores: list[int], queue, pipe, args: argparse.Namespace, deadline: float) -> None:
    """Takes models while there are any, compiles our program of each, then the peers' while there is time; then waits to be told to time one."""
    os.sched_setaffinity(0, cores)
    torch.set_num_threads(len(cores))
    load(args)
    benches: dict[str, Bench] = {}

    def attempt(name: str, what: str, action) -> None:
        try:
            action()
        except Exception as error:  # Of one model; the others go on.
            traceback.print_exc(limit=-4)
            benches[name].facts[f"{what} failure"] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}" if str(error).strip() else repr(error)
        pipe.send(("facts", name, benches[name].facts))

    with torch.no_grad():
        warm_up(args)
        while (index := queue.get()) is not None:
            model = models.MODELS[index]
            pipe.send(("begin", model.name, {}))
            benches[model.name] = Bench(model, args)
            attempt(model.name, "weft", benches[model.name].compile_ours)
        for name, bench in benches.items():
            if args.mode != "none" and time.monotonic() < deadline:
                torch.set_float32_matmul_precision("high" if bench.model.tf32 else "highest")
                attempt(name, "inductor", bench.compile_peer)
        pipe.send(("ready", "", {}))
        clock = timing.Clock()
        while (name := pipe.recv()) is not None:
            torch.set_float32_matmul_precision("high" if benches[name].model.tf32 else "highest")
            attempt(name, "timing", lambda: benches[name].time(clock))


class Slot:
    """A worker and what it is at."""

    def __init__(self, number: int, queue, args: argparse.Namespace, deadline: float):
        available = sorted(os.sched_getaffinity(0))
        cores = [available[i % len(available)] for i in range(number * args.cores, (number + 1) * args.cores)]
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=worker, args=(cores, queue, theirs, args, deadline), daemon=True)
        self.process.start()
        theirs.close()
        self.current, self.names, self.is_ready, self.is_dead = "", [], False, False

    def read(self, seconds: float) -> tuple | None:
        """The next message, if one comes in time; a worker that is gone is dead from then on."""
        try:
            if self.is_dead or not self.pipe.poll(seconds):
                return None
            kind, name, facts = self.pipe.recv()
        except (EOFError, OSError):
            self.is_dead = True
            return ("facts", self.current, {"worker": f"ended at {self.current or 'its start'}"}) if self.current else None
        self.is_ready |= kind == "ready"
        if kind == "begin":
            self.current = name
            self.names.append(name)
        return kind, name, facts


def run(found: list[int], args: argparse.Namespace) -> dict[str, dict]:
    begin = time.monotonic()
    queue, results = CONTEXT.Queue(), {}
    for index in [*found, *[None] * args.slots]:
        queue.put(index)
    slots = [Slot(number, queue, args, begin + COMPILING_ENDS * args.seconds) for number in range(args.slots)]

    def take(slot: Slot, seconds: float) -> str | None:
        """Reads a message, and says what is new in it. Returns its kind."""
        if not (message := slot.read(seconds)):
            return None
        kind, name, facts = message
        if kind == "facts":
            known = results.setdefault(name, {})
            print(f"{time.monotonic() - begin:5.1f} s", name, json.dumps(rounded({key: value for key, value in facts.items() if key not in known})), flush=True)
            known.update(facts)
        return kind

    while not all(slot.is_ready or slot.is_dead for slot in slots) and time.monotonic() - begin < TIMING_BEGINS * args.seconds:
        for slot in slots:
            take(slot, 0.05)
    for slot in sorted(slots, key=lambda slot: not slot.is_ready):
        while not (slot.is_ready or slot.is_dead) and time.monotonic() - begin < args.seconds:
            take(slot, 0.5)
        for name in slot.names if slot.is_ready else []:
            if time.monotonic() - begin > args.seconds - 2:
                break
            slot.pipe.send(name)
            while not slot.is_dead and time.monotonic() - begin < args.seconds and take(slot, 1) != "facts":
                pass
    for slot in slots:
        slot.process.kill()
    return results


def rounded(facts: dict) -> dict:
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in facts.items()}


def dry(found: list[int], args: argparse.Namespace) -> int:
    """What can be told without a GPU: does it compile, to how many kernels, in which time."""
    failures = 0
    for index in found:
        model = models.MODELS[index]
        try:
            module, inputs = models.make(model, "cpu", args.small)
            begin = time.perf_counter()
            with torch.no_grad():
                graph = weft.torch._graph.convert(torch.export.export(module, inputs))
            exported = time.perf_counter()
            bundle = weft.compile(graph.model, external_data=graph.on_host(), target=args.dry, weights="external", allow_tf32=model.tf32)
            print(f"{model.name:36s} export {exported - begin:5.1f} s, compile {time.perf_counter() - exported:5.1f} s, {len(bundle.data)} bytes", flush=True)
            if args.out:
                args.out.mkdir(exist_ok=True)
                bundle.save(args.out / f"{model.name}.weft")
        except Exception as error:
            failures += 1
            print(f"{model.name:36s} {type(error).__name__}: {str(error)[:1500]}", flush=True)
    return 1 if failures else 0


COLUMNS = ("tells", "weft error", "eager error", "inductor error", "weft compile s", "torch.export s", "weft.compile s", "inductor compile s", "kernels", "session graph us",
           "weft module us", "eager graph us", "channels-last graph us", "inductor graph us", "weft call us", "eager call us", "inductor call us")


def table(results: dict[str, dict]) -> str:
    lines = ["| model | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name, facts in results.items():
        cells = ["" if facts.get(column) is None else f"{facts[column]:.3g}" if facts[column] < 100 else f"{facts[column]:.0f}" for column in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{name}: {key}: {value}" for name, facts in results.items() for key, value in facts.items() if key.endswith("failure") or key == "worker")])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, default=HERE.parent / "build", help="build folder, or one with both libraries (default: build)")
    parser.add_argument("--model", default="*", help="comma-separated globs of names (default: all)")
    parser.add_argument("--mode", choices=("default", "max-autotune", "none"), default="default", help="torch.compile's; both without its own CUDA graphs")
    parser.add_argument("--slots", type=int, default=4, help="processes that compile (default 4)")
    parser.add_argument("--cores", type=int, default=4, help="cores of each (default 4)")
    parser.add_argument("--seconds", type=float, default=540, help="for all (default 540); the last sixth is for times")
    parser.add_argument("--small", action="store_true", help="small configurations")
    parser.add_argument("--dry", metavar="TARGET", help="export and compile only, for this target")
    parser.add_argument("--out", type=pathlib.Path, help="results as JSON; with --dry a folder for bundles")
    args = parser.parse_args()
    found = [i for i, model in enumerate(models.MODELS) if any(fnmatch.fnmatch(model.name, glob) for glob in args.model.split(","))]
    if not found:
        parser.error(f"expected a model that matches '{args.model}', got none of {', '.join(model.name for model in models.MODELS)}")
    if args.dry:
        load(args)
        return dry(found, args)
    results = run(found, args)
    if args.out:
        args.out.write_text(json.dumps({"date": datetime.datetime.now().isoformat(timespec="minutes"), "torch": torch.__version__,
                                        "command": " ".join(sys.argv), "results": results}, indent=1))
    print(table(results))
    return 1 if any("weft failure" in facts for facts in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
