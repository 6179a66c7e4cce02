"""weft reduce: a smaller ONNX model that still fails, or differs.

Nodes are left out by delta debugging as long as the check holds: first half of them, then quarters, down to single ones, until none can go. Each
check is a process of its own: a compiler that crashes or hangs is an outcome.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from typing import Callable, Sequence

import numpy as np
import onnx

from .. import Error, version
from ._cut import Cutter
from ._programs import Failed, Model, OnnxruntimeProgram, WeftProgram, evaluate_each, make_feeds, read_flags
from .compare import Comparison, add_program_flags, make_program, read_dims, read_inputs

AGREES = ("agrees",)
DIFFERS = ("differs",)


def normalize(kind: Sequence) -> tuple:
    """The kind of a failure without what is this model's: names and numbers."""
    return tuple(re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+", "_", part) if isinstance(part, str) else part for part in kind)


def in_process(function: Callable, seconds: float):
    """What a function returns that runs in a process of its own; a tuple for one that does not end well."""
    context = multiprocessing.get_context("fork")  # Nothing has started threads in this one.
    receiver, sender = context.Pipe(duplex=False)

    def work() -> None:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)  # A crash's stack dump is not for here.
        sender.send(function())

    process = context.Process(target=work)
    process.start()
    sender.close()
    try:
        result = receiver.recv() if receiver.poll(seconds) else ("timeout",)
    except EOFError:
        process.join()
        return ("crash", signal.Signals(-process.exitcode).name) if process.exitcode < 0 else ("exit", process.exitcode)
    if process.is_alive() and result == ("timeout",):
        process.kill()
    process.join()
    return result


class Check:
    """What becomes of a model: AGREES, DIFFERS, or the kind of a failure, as a tuple. Inputs that `values` has are given."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.dims = read_dims(args)
        self.given = read_inputs(args)

    def __call__(self, path: str, values: dict[str, np.ndarray]) -> tuple:
        if self.args.check:
            return self.run_command(path)
        return tuple(in_process(lambda: self.try_model(path, values), self.args.timeout))

    def run_command(self, path: str) -> tuple:
        command = self.args.check.replace("{}", shlex.quote(path)) if "{}" in self.args.check else f"{self.args.check} {shlex.quote(path)}"
        try:
            code = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=self.args.timeout).returncode
        except subprocess.TimeoutExpired:
            return ("timeout",)
        return ("holds",) if code == 0 else ("does not hold",)

    def try_model(self, path: str, values: dict[str, np.ndarray]) -> tuple:
        try:
            model = Model(path)
            mine = WeftProgram(model, self.args.device, read_flags(self.args.compile_flag))
            names = {value.name for value in model.inputs}
            feeds = make_feeds(model, {name: value for name, value in {**values, **self.given}.items() if name in names}, self.dims, self.args.seed)
        except Failed:
            return ("no model",)
        try:
            mine.evaluate(model.outputs, feeds)
        except Failed as failure:
            return normalize(failure.kind)
        try:
            other = make_program(path, model, self.args.other or "onnxruntime", self.args.other_compile_flag)
            outcome = Comparison(None, mine, other, feeds, self.args.tolerance).run(model.outputs, [])
        except Failed as failure:  # The other one refuses it: nothing is known.
            return ("other", *normalize(failure.kind))
        return DIFFERS if outcome.differs else AGREES


class Reducer:
    def __init__(self, cutter: Cutter, check: Check, wanted: tuple, folder: str):
        self.cutter, self.check, self.wanted = cutter, check, wanted
        self.path = os.path.join(folder, "candidate.onnx")
        self.checks, self.began, self.told = 0, time.monotonic(), time.monotonic()

    def holds(self, kept: set[int], outputs: Sequence[str] | None = None) -> bool:
        proto = self.cutter.cut(kept, outputs)
        if proto is None:
            return False
        self.checks += 1
        self.tell(len(kept))
        onnx.save(proto, self.path, save_as_external_data=True, location="weights", size_threshold=1 << 20)
        try:
            return self.check(self.path, dict(self.cutter.values)) == self.wanted
        finally:
            if os.path.exists(weights := os.path.join(os.path.dirname(self.path), "weights")):
                os.remove(weights)  # onnx would append to it.

    def tell(self, nodes: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self.told > 2:
            self.told = time.monotonic()
            print(f"weft-reduce: {self.told - self.began:.0f} s: {nodes} of {len(self.cutter.nodes)} nodes tried, check {self.checks}", file=sys.stderr)

    def reduce(self) -> tuple[set[int], list[str]]:
        kept = sorted(range(len(self.cutter.nodes)))
        size = max(1, len(kept) // 2)
        while True:
            before = len(kept)
            for begin in reversed(range(0, len(kept), size)):  # From the results on: what comes behind is in nobody's way.
                rest = kept[:begin] + kept[begin + size:]
                if rest and self.holds(set(rest)):
                    kept = rest
            if size == 1 and len(kept) == before:
                break
            size = max(1, min(size // 2, len(kept) // 2))
        outputs = [value.name for value in self.cutter.cut(kept).graph.output]
        for name in list(outputs):
            rest = [each for each in outputs if each != name]
            if rest and self.holds(set(kept), rest):
                outputs = rest
        return set(kept), outputs


def record_values(args: argparse.Namespace, path: str, check: Check, file: str) -> dict[str, np.ndarray]:
    """What onnxruntime makes of the whole model, as far as it runs it: inputs of parts, and their extents."""
    def work() -> bool:
        try:
            model = Model(path)
            feeds = make_feeds(model, check.given, check.dims, args.seed)
            values = {**feeds, **evaluate_each(OnnxruntimeProgram(model), model.tensors, feeds)}
            np.savez(file, **{name: value for name, value in values.items() if value.dtype.kind in "biuf"})  # What numpy can read again.
            return True
        except Failed:
            return False
    return dict(np.load(file, allow_pickle=False)) if in_process(work, 10 * args.timeout) is True else {}


def write_result(args: argparse.Namespace, reducer: Reducer, kept: set[int], outputs: Sequence[str]) -> None:
    proto = reducer.cutter.cut(kept, outputs)
    onnx.save(proto, args.output)
    inputs = {value.name: reducer.cutter.values[value.name] for value in proto.graph.input if value.name in reducer.cutter.values}
    print(f"wrote     {args.output}: {len(kept)} of {len(reducer.cutter.nodes)} nodes ({', '.join(node.op_type for node in proto.graph.node[:8])}"
          f"{', ...' if len(kept) > 8 else ''}), {reducer.checks} checks in {time.monotonic() - reducer.began:.0f} s")
    if reducer.wanted == DIFFERS and inputs:
        place = os.path.splitext(args.output)[0] + ".npz"
        np.savez(place, **inputs)
        print(f"wrote     {place}: its inputs, for --inputs-npz of weft compare and weft run")


def reduce(args: argparse.Namespace) -> int:
    model = Model(args.model)
    check = Check(args)
    with contextlib.suppress(ImportError):
        importlib.import_module("onnxruntime")  # Here, once, rather than in each check.
    with tempfile.TemporaryDirectory(prefix="weft-reduce-") as folder:
        wanted = check(args.model, {})
        if wanted in (AGREES, ("does not hold",)) or wanted[0] in ("other", "no model"):
            reason = {AGREES: "it compiles, and its results agree", ("does not hold",): "the check does not hold for it"}.get(wanted, " ".join(map(str, wanted)))
            raise Failed(f"expected a model that fails or differs, got {args.model}: {reason}")
        print(f"reducing  {args.model}: {len(model.proto.graph.node)} nodes, {' '.join(map(str, wanted))}")
        reducer = Reducer(Cutter(model, record_values(args, args.model, check, os.path.join(folder, "values.npz"))), check, wanted, folder)
        if not reducer.holds(set(range(len(reducer.cutter.nodes)))):
            raise Failed(f"{args.model}: written again as a model, it does not do so any more")
        write_result(args, reducer, *reducer.reduce())
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="weft-reduce", description=__doc__.split("\n\n")[0] + " (docs/debugging.md)",
                                     epilog="What is to stay is found out: that it does not compile or run, with this message, crashes, hangs, or "
                                            "has other results than onnxruntime.")
    parser.add_argument("--version", action="version", version=version())
    parser.add_argument("model", help="an ONNX model")
    parser.add_argument("-o", "--output", default="reduced.onnx", metavar="FILE", help="the smaller model (default: reduced.onnx)")
    parser.add_argument("--check", metavar="COMMAND", help="what must stay true instead: a command of bash, {} is the model; exit code 0: it is true")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="of one check (default: 60)")
    add_program_flags(parser)
    try:
        return reduce(parser.parse_args(arguments))
    except (Failed, Error, OSError, ValueError) as error:
        print(f"weft-reduce: error: {error}", file=sys.stderr)
        return error.code if isinstance(error, Error) else 2


if __name__ == "__main__":
    sys.exit(main())
