"""The ways in which a random graph is run, each of which must agree with the graph's own meaning (case.py).

fused      compiled as a user does, on the CPU (or the device that is asked for)
unfused    the same, one kernel an op
printed    compiled on from the printed plan, for a third of the graphs
reference  imported, normalized, in the Reference
planned    the same after planning for a GPU: derived folds, splits, groups, layouts
dnnfusion, tvm-rules, exact    the same by other planners, each for a third of the graphs
folded     the same with every fold that can be derived, each unrolled into 3 steps
ort        onnxruntime
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
from typing import Callable, Mapping, Sequence

import numpy as np
import onnx

from case import BF16, Case, feeds_of, model_of
from harness import backends, limits

TIMEOUT = 120
Arrays = list[np.ndarray]


class Failure(Exception):
    """What went wrong; the text begins with its kind."""


class Variant:
    """A way to run models. `wrong` says why it cannot run this case at all; those are skipped."""

    def __init__(self, name: str, build: pathlib.Path, flags: Sequence[str] = (), target: str = "cpu", device: str = "cpu", loose: bool = False):
        self.name, self.build, self.flags, self.loose = name, build, list(flags), loose
        self.distributes = False  # Sums products apart: operands that are infinite may give NaN for infinity.
        self.weft = backends.WeftBackend(build, target, device)

    def skips(self, case: Case) -> bool:
        return False

    def run(self, model: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> Arrays:
        bundle = model.with_suffix(f".{self.name}.weft")
        outcome = self.weft.compile(model, bundle, extra=[*self.flags, "--quiet"], timeout=TIMEOUT)
        _check(outcome, "compile", model)
        return _isolated(lambda: self.weft.run(bundle, feeds))


class InReference(Variant):
    def __init__(self, name: str, build: pathlib.Path, flags: Sequence[str], passes: Sequence[str] = ()):
        super().__init__(name, build, flags)
        self.passes = list(passes)
        self.distributes = bool(passes)

    def run(self, model: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> Arrays:
        module = model.with_suffix(f".{self.name}.mlir")
        outcome = limits.run([str(self.weft.compiler), str(model), "-o", str(module), "--quiet", *self.flags], timeout=TIMEOUT)
        _check(outcome, "compile", model)
        if self.passes:
            tool = str(self.build / "bin" / "weft-opt")
            derived = module.with_suffix(".derived.mlir")
            _check(limits.run([tool, str(module), "-o", str(derived), *self.passes], timeout=TIMEOUT), "passes", model)
            module = derived
        try:
            reference = backends.ReferenceBackend(self.build, backends.binding)
            reference.weights = model.parent
            return reference.run(module, feeds)
        except RuntimeError as error:
            raise Failure(f"run: {str(error).replace(str(model.parent), '')[:300]}") from None


class PlannedBy(InReference):
    """By another planner, for every third graph."""

    planners = ("dnnfusion", "tvm-rules", "exact")

    def __init__(self, planner: str, build: pathlib.Path, target: str):
        super().__init__(planner, build, ["--compile-to=group", f"--target={target}", f"--planner={planner}"])
        self.turn = self.planners.index(planner)

    def skips(self, case: Case) -> bool:
        return case.seed % len(self.planners) != self.turn


class Printed(Variant):
    """Compiled on from its printed plan, for every third graph."""

    def skips(self, case: Case) -> bool:
        return case.seed % 3 != 0

    def run(self, model: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> Arrays:
        plan = model.with_suffix(f".{self.name}.mlir")
        command = [str(self.weft.compiler), str(model), f"--target={self.weft.target}", "--compile-to=plan", "--quiet", "-o", str(plan), *self.flags]
        _check(limits.run(command, timeout=TIMEOUT), "plan", model)
        bundle = plan.with_suffix(".weft")
        _check(self.weft.compile(plan, bundle, extra=["--compile-from=plan", *self.flags, "--quiet"], timeout=TIMEOUT), "compile", model)
        return _isolated(lambda: self.weft.run(bundle, feeds))


class InOrt(Variant):
    def skips(self, case: Case) -> bool:
        types = [value.dtype for value in case.inputs.values()] + [dtype for node in case.nodes for dtype in node.dtypes]
        return not case.ordinary or BF16 in types

    def run(self, model: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> Arrays:
        return _isolated(lambda: _run_ort(model, feeds))


def _run_ort(model: pathlib.Path, feeds: Mapping[str, np.ndarray]) -> Arrays:
    """Node by node: its optimizer makes models that it then refuses."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def _check(outcome: limits.Outcome, step: str, model: pathlib.Path) -> None:
    if outcome.code:
        kind = "hang" if outcome.timed_out else f"exit {outcome.code}"
        raise Failure(f"{step} {kind}: {' | '.join(outcome.stderr.replace(str(model.parent), '').strip().splitlines()[:2])[:300]}")


def _isolated(function: Callable[[], Arrays]) -> Arrays:
    done = limits.isolated(function, timeout=TIMEOUT)
    if done.value is None:
        raise Failure(f"run: {done.error.splitlines()[0][:300] if done.error else 'hang' if done.timed_out else f'signal {done.signal}'}")
    return [np.asarray(value) for value in done.value]


def all_variants(build: pathlib.Path, target: str, device: str) -> list[Variant]:
    gpu = "sm_80" if target == "cpu" else target
    return [
        Variant("fused", build, target=target, device=device),
        Variant("unfused", build, ["--no-fuse"], target=target, device=device),
        Printed("printed", build, target=target, device=device),
        InReference("reference", build, ["--compile-to=normalize"]),
        InReference("planned", build, ["--compile-to=group", f"--target={gpu}"]),
        *(PlannedBy(planner, build, gpu) for planner in PlannedBy.planners),
        InReference("folded", build, ["--compile-to=normalize"], ["--weft-derive-folds=when=proved", "--weft-unroll-folds=steps=3"]),
        InOrt("ort", build, loose=True),
    ]


def emulated_variants(build: pathlib.Path) -> list[Variant]:
    """Through the emulator: cp.async and mma.sync, and TMA and wgmma."""
    return [Variant(target, build, target=target, device=f"emu:{target}") for target in ("sm_80", "sm_90a")]


def quantised_variants(build: pathlib.Path) -> list[Variant]:
    """Through the emulator, and on the CPU, fused (weights are unpacked in registers) and not."""
    return [*emulated_variants(build), Variant("cpu", build), Variant("cpu-unfused", build, ["--no-fuse"])]


def index_variants(build: pathlib.Path) -> list[Variant]:
    """On the CPU, and through the emulator. onnxruntime lacks half of these ops for some types and modes."""
    return [Variant("fused", build), *emulated_variants(build)]


def run_together(variant: Variant, cases: Sequence[Case], folder: pathlib.Path) -> list[Arrays | Failure | None]:
    """The results of each case: one model for all of them; one model each where that fails. None: the variant does not run it."""
    wanted = [i for i, case in enumerate(cases) if not variant.skips(case)]
    found: list[Arrays | Failure | None] = [None] * len(cases)
    try:
        results = _run(variant, [cases[i] for i in wanted], folder)
        for i in wanted:
            found[i], results = results[:len(cases[i].outputs)], results[len(cases[i].outputs):]
    except Failure as failure:
        for i in wanted:
            found[i] = failure if len(wanted) == 1 else run_together(variant, [cases[i]], folder)[0]
    return found


def _run(variant: Variant, cases: Sequence[Case], folder: pathlib.Path) -> Arrays:
    if not cases:
        return []
    model = folder / "model.onnx"
    onnx.save(model_of(cases), model)
    results = variant.run(model, feeds_of(cases))
    wanted = sum(len(case.outputs) for case in cases)
    if len(results) != wanted:
        raise Failure(f"run: expected {wanted} results, got {len(results)}")
    return results


__all__ = ["Failure", "Variant", "all_variants", "run_together"]
