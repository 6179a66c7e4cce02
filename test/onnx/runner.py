"""Runs one ONNX node case through a backend and says how it ended.

Verdicts
  pass         compiled as it is, every output within ONNX's tolerance (or, where the runner is given one, within a relative L2 error)
  pass-bound   the same, after the plain compile had asked for operands to be bound (`--bind`)
  pass-sized   the same, after it had asked for the number of elements of sequences and optionals alone (`--elements`)
  refused      a clean refusal: exit 3, 5 or 6 and a message that names the operator
  vague        a refusal whose message does not name the operator
  run-error    compiled, but the runtime returned an error
  wrong        compiled, ran, and a value, shape or type differs
  nearer       values differ, but each of them is nearer to the exact value (exact.py) than the case's data
  crash        a signal, or an exit status that no tool of ours defines
  hang         past the time limit
Pass and refused can be expected, and nearer if the case is listed as a deviation; the rest are bugs.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import pathlib
import re
import shutil

import numpy as np
import onnx

import exact
from node_cases import Case, to_array
from harness import compare, limits

DRAWING = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
CLEAN_REFUSALS = (3, 5, 6)
BUGS = ("vague", "run-error", "wrong", "crash", "hang")

# The importer asks for a constant by naming the operand and the flag: "input 1 `axes` ... fix that with --bind".
_BIND = re.compile(r"input \d+ `([^`]+)`[^\n]*--bind")
_ELEMENTS = re.compile(r"--elements=([^=\s]+)=")

# Reason classes, first match wins; they are what the list of expected failures compares.
_REASONS = (
    ("no-gpu-lowering", r"\bgpu\b|no lowering for|sm_\d+|'tk\.|legalize"),
    ("string-type", r"\bstring"),
    ("sequence-or-optional-type", r"\b(sequence|optional|map|sparse)\b"),
    ("random-operator", r"\brandom|\bbernoulli|\bmultinomial|\bnondeterministic"),
    ("needs-bound-operand", r"--bind|not known at compile time"),
    ("training-form", r"\btraining[_ ]mode"),
    ("unsupported-operator", r"operator .*(not supported|unsupported)|(unsupported|unknown) op"),
    ("unsupported-type", r"element type|dtype|data type|storage-only|storage only"),
    ("data-dependent-shape", r"data-dependent|depends on (the )?(data|values)|shape .* not known"),
    ("control-flow", r"\b(loop|scan|if)\b.*(trip|condition|body|branch)|subgraph"),
    ("unsupported-attribute", r"attribute|mode"),
)


def draws(model: onnx.ModelProto) -> bool:
    """Whether the results are random numbers: the data hold what another generator drew without a seed."""
    return any(node.op_type in DRAWING for node in model.graph.node)


def of_other_numbers(got: list, wanted: list) -> str | None:
    """What is wrong with results other than which numbers were drawn: types, shapes, numbers that cannot be drawn."""
    for have, want in zip(got, wanted, strict=True):
        if have.dtype != want.dtype or have.shape != want.shape:
            return f"expected {want.dtype}{list(want.shape)}, got {have.dtype}{list(have.shape)}"
        if not np.isin(have, (0, 1)).all():
            return "expected numbers that are 0 or 1"
    return None


@dataclasses.dataclass
class Result:
    name: str
    operator: str
    verdict: str
    message: str = ""
    reason: str = ""
    bound: bool = False  # Operands were bound because the compiler asked for it.
    sized: bool = False  # It was told, because it asked, how many elements a sequence or optional has.
    compile_seconds: float = 0.0
    run_seconds: float = 0.0
    peak_mb: float = 0.0


def reason_of(message: str) -> str:
    lowered = message.lower()
    return next((name for name, pattern in _REASONS if re.search(pattern, lowered)), "unsupported-form")


def first_line(text: str) -> str:
    """The first line of a diagnostic that says something, without the name of the temporary folder and LLVM's crash banner."""
    for line in text.splitlines():
        if line.startswith("PLEASE submit a bug report"):
            continue
        line = re.sub(r"\S*/model\.onnx", "model.onnx", line.strip())
        if line:
            return line[:300]
    return ""


def flat(values: list) -> list:
    """A sequence is several results of a compiled model, one for each element."""
    return [x for value in values for x in (flat(value) if isinstance(value, list) else [value])]


def elements_of(value, info: onnx.ValueInfoProto) -> str:
    """What --elements takes for a sequence or an optional: a count, with a rank where the model declares none."""
    if value is None:
        return "none"
    given, kind = value if isinstance(value, list) else [value], info.type
    while not kind.HasField("tensor_type"):
        kind = (kind.optional_type if kind.HasField("optional_type") else kind.sequence_type).elem_type
    is_declared = kind.tensor_type.HasField("shape")
    return str(len(given)) + (":" + "x".join("?" * given[0].ndim) if given and not is_declared else "")


def ports(name: str, value) -> dict:
    """The inputs of a compiled model that a value of the case is: a sequence is one for each element."""
    if isinstance(value, list):
        return {f"{name}[{i}]": element for i, element in enumerate(value)}
    return {} if value is None else {name: value}


def sources(graph: onnx.GraphProto, value: str) -> set[str]:
    """The graph inputs that a value is computed from."""
    producers = {name: node for node in graph.node for name in node.output}
    inputs = {v.name for v in graph.input}
    found, todo, seen = set(), [value], set()
    while todo:
        name = todo.pop()
        if name in inputs:
            found.add(name)
        elif name in producers and name not in seen:
            seen.add(name)
            todo += producers[name].input
    return found


def operators(nodes) -> set[str]:
    """The operators of nodes and of the subgraphs inside them."""
    found = {node.op_type for node in nodes}
    for node in nodes:
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                found |= operators(graph.node) if graph.node else set()
    return found


def names_operator(message: str, model: onnx.ModelProto) -> bool:
    """Whether a refusal points at something in the model: an operator, or an input when the type of one is the problem."""
    words = operators(model.graph.node) | {op for function in model.functions for op in operators(function.node)}
    words |= {value.name for value in list(model.graph.input) + list(model.graph.output)}
    return any(word in message for word in words if word)


def _nearer(case: Case, feeds: dict, got: list, wanted: list) -> str | None:
    """The figures that show `got` nearer to the exact value than the data wherever the two differ; None if it is not."""
    if len(got) != len(wanted) or compare.mismatches(got, wanted, np.inf, np.inf):
        return None  # Another shape or type.
    return exact.compare([np.asarray(g) for g in got], wanted, exact.outputs(case.model, feeds), case.rtol, case.atol)


def within_l2(got: list, wanted: list, tolerance: dict[str, float]) -> bool:
    """Whether every output has the right shape and type and, where it is of a floating type in `tolerance`, at most that relative L2 error;
    others must be equal."""
    if len(got) != len(wanted):
        return False
    for a, b in zip(map(np.asarray, got), map(np.asarray, wanted)):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if b.dtype.name in tolerance:
            if not compare.relative_l2(a, b) <= tolerance[b.dtype.name]:
                return False
        elif compare.mismatch(a, b, 0, 0):
            return False
    return True


class Runner:
    """`deviations`: the cases whose results may differ from the data where they are nearer to the exact value.

    `l2`: relative L2 errors by numpy type name that are accepted where a value misses ONNX's tolerance: other orders of summation and
    approximations within their stated bounds show on values near zero, where ONNX's absolute tolerance is 1e-7.

    `call`: how a bundle is run, limits.isolated or limits.direct.
    """

    def __init__(self, backend, folder: pathlib.Path, timeout: float, memory_mb: int, deviations=(), l2: dict[str, float] | None = None,
                 call=limits.isolated):
        self.call = call
        self.backend, self.folder, self.timeout, self.memory_mb = backend, folder, timeout, memory_mb
        self.deviations, self.l2 = frozenset(deviations), l2

    def __call__(self, case: Case) -> Result:
        folder = self.folder / case.name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            return self._run(case, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, case: Case, folder: pathlib.Path) -> Result:
        result = Result(case.name, case.operator, "pass")
        model, bundle = folder / "model.onnx", folder / "model.weft"
        onnx.save(case.model, model)
        names = [value.name for value in case.model.graph.input]
        data = [([to_array(v) for v in inputs], flat([to_array(v) for v in outputs])) for inputs, outputs in case.data]

        outcome = self._compile(model, bundle, {}, {})
        result.compile_seconds, result.peak_mb = outcome.seconds, outcome.peak_mb
        if outcome.code == 3 and (_BIND.search(outcome.stderr) or _ELEMENTS.search(outcome.stderr)):
            outcome, bound, sized = self._compile_told(case, folder, outcome, dict(zip(names, data[0][0])))
            result.compile_seconds += outcome.seconds
            if outcome.code == 0:
                result.bound, result.sized = bool(bound), bool(sized)
                result.verdict = "pass-bound" if bound else "pass-sized"
            names = [n for n in names if n not in bound]
        if outcome.code != 0 or outcome.timed_out:
            return self._refusal(result, outcome, case)
        return self._execute(result, case, bundle, names, data)

    def _compile(self, model: pathlib.Path, bundle: pathlib.Path, binds: dict, elements: dict) -> limits.Outcome:
        return self.backend.compile(model, bundle, binds=binds, extra=[f"--elements={name}={text}" for name, text in elements.items()],
                                    timeout=self.timeout, memory_mb=self.memory_mb)

    def _compile_told(self, case: Case, folder: pathlib.Path, outcome: limits.Outcome, feeds: dict) -> tuple[limits.Outcome, dict, dict]:
        """Bind the graph inputs that the compiler asks for, and count the elements of sequences, until it is content or asks for nothing
        new."""
        bound: dict[str, np.ndarray] = {}
        sized: dict[str, str] = {}
        graph = case.model.graph
        infos = {info.name: info for info in [*graph.input, *graph.output]}
        known = {**feeds, **{info.name: to_array(value) for info, value in zip(graph.output, case.data[0][1])}}
        while outcome.code == 3:
            lists = sorted({name for name in _ELEMENTS.findall(outcome.stderr) if name in known and name not in sized})
            wanted = {name for value in _BIND.findall(outcome.stderr) for name in sources(case.model.graph, value)}
            wanted = sorted(n for n in wanted if n in feeds and n not in bound and not isinstance(feeds[n], list))
            if not lists and not wanted:
                break
            sized.update({name: elements_of(known[name], infos[name]) for name in lists})
            bound.update({name: feeds[name] for name in wanted})
            outcome = self._compile(folder / "model.onnx", folder / "model.weft", bound, sized)
        return outcome, bound, sized

    def _refusal(self, result: Result, outcome: limits.Outcome, case: Case) -> Result:
        result.message = first_line(outcome.stderr) or first_line(outcome.stdout)
        if outcome.timed_out:
            result.verdict = "hang"
        elif outcome.code not in CLEAN_REFUSALS:
            result.verdict = "crash"
            result.message = f"exit {outcome.code}: {result.message}"
        elif not names_operator(outcome.stderr, case.model):
            result.verdict = "vague"
        else:
            result.verdict = "refused"
            result.reason = reason_of(result.message)
        return result

    def _execute(self, result: Result, case: Case, bundle, names, data) -> Result:
        if getattr(self.backend, "device", "cpu") == "none":  # It only compiles.
            return result
        inputs = [value.name for value in case.model.graph.input]

        def check() -> tuple[str, str] | None:
            found = None
            for values, wanted in data:
                given = {n: v for n, v in zip(inputs, values) if v is not None}
                feeds = [ports(n, v) for n, v in given.items() if n in names]
                got = self.backend.run(bundle, {port: v for feed in feeds for port, v in feed.items()})
                problem = of_other_numbers(got, wanted) if draws(case.model) else compare.mismatches(got, wanted, case.rtol, case.atol)
                if problem and not (self.l2 and within_l2(got, wanted, self.l2)):
                    figures = _nearer(case, given, got, wanted) if case.name in self.deviations else None
                    if figures is None:
                        return "wrong", problem
                    found = "nearer", figures
            return found

        outcome = self.call(check, timeout=self.timeout, memory_mb=self.memory_mb)
        result.run_seconds = outcome.seconds
        if outcome.timed_out:
            result.verdict = "hang"
        elif outcome.signal:
            result.verdict, result.message = "crash", f"signal {outcome.signal} at run time"
        elif outcome.error:
            result.verdict, result.message = "run-error", first_line(outcome.error)
        elif outcome.value:
            result.verdict, result.message = outcome.value
        return result
