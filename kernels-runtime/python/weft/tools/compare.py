"""weft compare: the first tensor at which two programs differ.

The programs are a model in Weft and the same model in onnxruntime, or another model, device, or set of flags. Their results are compared; where
they differ, the tensors between, in the order of the nodes, all of them made results of one program. If these agree, the error comes of what
is computed together: then each candidate is made the only result, whose kernels are fused as ever, and the first that differs is searched for.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Callable, Sequence

import numpy as np

from .. import Error, version
from ._difference import Difference, describe, measure
from ._programs import BundleProgram, Failed, Model, OnnxruntimeProgram, WeftProgram, evaluate_each, make_feeds, read_flags

# Tensors that are results of one program: what they take is held at once.
CHUNK = 256


@dataclasses.dataclass
class Finding:
    """The first tensor that differs, and what its node reads. `is_alone`: it differs only as the one result."""
    tensor: str
    difference: Difference
    operands: dict[str, Difference | None]
    shape: str
    is_alone: bool = False
    agrees: str | None = None  # of `is_alone`: the last that does not differ


@dataclasses.dataclass
class Outcome:
    results: dict[str, Difference]
    first: Finding | None = None
    compared: int = 0
    left_out: tuple[str, ...] = ()  # tensors that a program refuses to tell

    @property
    def differs(self) -> bool:
        return self.first is not None or any(each.is_over for each in self.results.values())


class Comparison:
    """Of two programs on the same inputs. Tensors of both are those of the same name."""

    def __init__(self, model: Model | None, mine, other, feeds, bound: float | None = None, say: Callable[[str], None] = lambda text: None):
        self.model, self.mine, self.other, self.feeds, self.bound, self.say = model, mine, other, feeds, bound, say
        self.shapes: dict[str, str] = {}  # of what was compared

    def measure(self, names: Sequence[str]) -> dict[str, Difference]:
        mine, other = (evaluate_each(program, list(names), self.feeds) for program in (self.mine, self.other))
        self.shapes.update((name, describe(value)) for name, value in other.items())
        return {name: measure(mine[name], other[name], self.bound) for name in names if name in mine and name in other}

    def run(self, outputs: Sequence[str], tensors: Sequence[str], all_tensors: bool = False) -> Outcome:
        self.say("results")
        mine, other = self.mine.evaluate(outputs, self.feeds), self.other.evaluate(outputs, self.feeds)
        outcome = Outcome({name: measure(mine[name], other[name], self.bound) for name in outputs if name in other})
        wrong = [name for name, each in outcome.results.items() if each.is_over]
        if self.model is None or (not wrong and not all_tensors):
            return outcome
        candidates = [name for name in tensors if name in self.mine.known and name in self.other.known and name not in self.model.constants]
        known: dict[str, Difference] = {}
        for begin in range(0, len(candidates), CHUNK):
            chunk = candidates[begin:begin + CHUNK]
            self.say(f"tensors {begin + 1} to {begin + len(chunk)} of {len(candidates)}")
            found = self.measure(chunk)
            known.update(found)
            outcome.compared += len(found)
            outcome.left_out += tuple(name for name in chunk if name not in found)
            if first := next((name for name in chunk if name in found and found[name].is_over), None):
                outcome.first = self.describe(first, known)
                return outcome
        if wrong:
            outcome.first = self.search(candidates[:candidates.index(wrong[0]) + 1] if wrong[0] in candidates else [wrong[0]])
        return outcome

    def describe(self, name: str, known: dict[str, Difference]) -> Finding:
        operands = {each: known.get(each) for each in self.model.maker[name].input if each}
        return Finding(name, known[name], operands, self.shapes[name])

    def search(self, candidates: list[str]) -> Finding:
        """Between one that agrees and one that differs there are two neighbours of which one does. The last of `candidates` differs."""
        low, high, found = -1, len(candidates) - 1, self.measure(candidates[-1:])
        while high - low > 1:
            middle = (low + high) // 2
            self.say(f"{candidates[middle]} by itself, {high - low} candidates left")
            one = self.measure([candidates[middle]])
            if one and next(iter(one.values())).is_over:
                high, found = middle, one
            else:
                low = middle
        name = candidates[high]
        if name not in found:
            raise Failed(f"{name!r} differs among the results and cannot be computed alone")
        finding = self.describe(name, found) if name in self.model.maker else Finding(name, found[name], {}, "")
        finding.is_alone, finding.agrees = True, candidates[low] if low >= 0 else None
        return finding


def print_outcome(outcome: Outcome, model: Model | None, mine, other) -> None:
    print(f"compared  {mine.name} with {other.name}")
    for name, each in outcome.results.items():
        print(f"{'differs' if each.is_over else 'agrees':9} result {name!r}: {each}")
    if outcome.compared:
        refused = f", {len(outcome.left_out)} refused" if outcome.left_out else ""
        print(f"between   {outcome.compared} tensors as results of one program{refused}: "
              + ("all agree" if outcome.first is None or outcome.first.is_alone else "the first that differs:"))
    if first := outcome.first:
        print(f"first     {first.tensor!r} {first.shape}, of {model.describe(first.tensor)}: {first.difference}")
        for name, each in first.operands.items():
            kind = "constant" if name in model.constants else "input" if name not in model.maker else "not compared" if each is None else str(each)
            print(f"          operand {name!r}: {kind}")
        if first.is_alone:
            print(f"          by itself: weft compile --to={first.tensor}" + (f"; --to={first.agrees} agrees" if first.agrees else ""))


def to_json(outcome: Outcome, mine, other) -> str:
    def plain(each: Difference | None):
        return each and {"relative_l2": each.relative, "bound": each.bound, "differs": each.is_over, "at": list(each.worst), "problem": each.problem}
    first = outcome.first and {"tensor": outcome.first.tensor, "difference": plain(outcome.first.difference), "by_itself": outcome.first.is_alone,
                               "operands": {name: plain(each) for name, each in outcome.first.operands.items()}}
    return json.dumps({"schema": "weft.compare/1", "program": mine.name, "other": other.name, "compared": outcome.compared, "refused": outcome.left_out,
                       "results": {name: plain(each) for name, each in outcome.results.items()}, "first": first}, indent=1)


def add_program_flags(parser: argparse.ArgumentParser) -> None:
    """What `compare` and `reduce` have in common."""
    parser.add_argument("--device", default="cpu", metavar="DEVICE", help="device of Weft: cpu (default), cuda[:N], emu:GPU")
    parser.add_argument("--other", metavar="WHAT", help="what it is compared with: onnxruntime (default), or a device of Weft")
    parser.add_argument("--compile-flag", action="append", default=[], metavar="FLAG", help="flag of `weft compile` for Weft; may repeat")
    parser.add_argument("--other-compile-flag", action="append", default=[], metavar="FLAG", help="the same for --other, where it is Weft's")
    parser.add_argument("--inputs-npz", metavar="FILE", help="inputs by name from an .npz file")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=@FILE.npy", help="an input; those that are not given are random")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a symbolic extent of random inputs (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of random inputs (default: 0)")
    parser.add_argument("--tolerance", type=float, metavar="X", help="largest relative L2 error (default: f32 1e-4, f16 1e-2, bf16 5e-2, f64 1e-10, integers 0)")


def read_inputs(args: argparse.Namespace) -> dict[str, np.ndarray]:
    given = dict(np.load(args.inputs_npz)) if args.inputs_npz else {}
    for text in args.input:
        name, mark, path = text.rpartition("=@")
        if not mark:
            raise Failed(f"--input: expected NAME=@FILE.npy, got {text!r}")
        given[name] = np.load(path)
    return given


def read_dims(args: argparse.Namespace) -> dict[str, int]:
    dims = {}
    for text in args.dim:
        name, mark, number = text.rpartition("=")
        if not mark or not number.isdigit():
            raise Failed(f"--dim: expected NAME=NUMBER, got {text!r}")
        dims[name] = int(number)
    return dims


def make_program(path: str, model: Model | None, what: str, flags: Sequence[str]):
    if model is None:
        if flags or what == "onnxruntime":
            raise Failed(f"expected a model, which can be compiled, got the bundle {path!r}")
        return BundleProgram(path, what)
    return OnnxruntimeProgram(model) if what == "onnxruntime" else WeftProgram(model, what, read_flags(flags))


def compare(args: argparse.Namespace) -> int:
    paths = [args.model, args.baseline or args.model]
    models = [None if path.endswith(".weft") else Model(path) for path in paths]
    model = models[0] or models[1]
    mine = make_program(paths[0], models[0], args.device, args.compile_flag)
    other = make_program(paths[1], models[1], args.other or ("cpu" if models[1] is None or args.other_compile_flag else "onnxruntime"), args.other_compile_flag)
    outputs = [name for name in (model.outputs if model else sorted(mine.known)) if name in mine.known and name in other.known]
    if not outputs:
        raise Failed("expected programs that have a result in common, by its name")
    if model is None:
        feeds = read_inputs(args)
        if missing := [port.name for port in mine.session.inputs if port.name not in feeds]:
            raise Failed(f"expected inputs of two bundles by --input or --inputs-npz, got none for {missing[0]!r}")
    else:
        feeds = make_feeds(model, read_inputs(args), read_dims(args), args.seed)
    is_watched = sys.stderr.isatty()
    comparison = Comparison(model, mine, other, feeds, args.tolerance, lambda text: is_watched and print(f"weft-compare: {text}", file=sys.stderr))
    # Where one of the two is a bundle there is nothing in between.
    outcome = comparison.run(outputs, model.tensors if model and all(models) else [], args.all)
    print(to_json(outcome, mine, other)) if args.json else print_outcome(outcome, model, mine, other)
    return 1 if outcome.differs else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="weft-compare", description=__doc__.split("\n\n")[0] + " (docs/debugging.md)",
                                     epilog="Exit code 1: they differ.")
    parser.add_argument("--version", action="version", version=version())
    parser.add_argument("model", help="an ONNX model, or a bundle, of which the results alone are compared")
    parser.add_argument("baseline", nargs="?", help="another model or bundle (default: the same model)")
    add_program_flags(parser)
    parser.add_argument("--all", action="store_true", help="compare the tensors between, too, where the results agree")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout (schema weft.compare/1)")
    try:
        return compare(parser.parse_args(arguments))
    except (Failed, Error, OSError, ValueError) as error:
        print(f"weft-compare: error: {error}", file=sys.stderr)
        return error.code if isinstance(error, Error) else 2


if __name__ == "__main__":
    sys.exit(main())
