"""A random graph with the arrays it runs on: as an ONNX model, and as numbers in numpy with the error that each of them may have.

Every value is computed in f64 and rounded once to its type, as Weft's ops are. How far an implementation may be off follows from the graph itself:
the graph is evaluated again a few times with each op's result changed by about one rounding at random, and an output may differ by some times
the spread of these runs. So ill-conditioned places (a floor at a step, a difference of near equals, an overflow) get the room they need, and no
tolerance is chosen by hand for a graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
from typing import Callable, Sequence

import ml_dtypes
import numpy as np
import onnx

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = (np.dtype(name) for name in ("float16", "float32", "float64"))
I8, I32, I64, U8, BOOL = (np.dtype(name) for name in ("int8", "int32", "int64", "uint8", "bool"))
FLOATS = (F32, F16, BF16, F64)
INTEGERS = (I32, I64, I8, U8)
EPSILON = {F64: 2.0**-53, F32: 2.0**-24, F16: 2.0**-11, BF16: 2.0**-9}
TINY = {F64: 1e-300, F32: 1e-37, F16: 1e-7, BF16: 1e-37}
OPSET = 23

# How many times the spread of the runs, and how many roundings of the value itself, a result may be off.
SPREAD, ROUNDINGS, RUNS = 8.0, 8.0, 8


def is_float(dtype: np.dtype) -> bool:
    return dtype in EPSILON


@dataclasses.dataclass
class Node:
    """One ONNX node, and what it means: `evaluate` takes f64 arrays in place of floats and returns a list of results."""

    op: str
    inputs: list[str]
    outputs: list[str]
    dtypes: list[np.dtype]
    evaluate: Callable[..., list[np.ndarray]]
    attributes: dict
    roundings: float = 1  # Of each result, in units of its type; 0: exact.
    sums: Callable[..., np.ndarray] | None = None  # What is added up, in absolute values: it rounds in the accumulator's type.

    def results(self, operands: Sequence[np.ndarray], noise: np.random.Generator | None = None, loose: bool = False) -> list[np.ndarray]:
        """With `noise`, each float is off by at most one rounding (of the accumulator's type, for what is added up). `loose`: what onnxruntime
        does beside: sums in the element type, f64 in f32 inside norms and Gelu, Sigmoid and Elu with an absolute error, exponentials below f32's
        least normal number as 0 (on an x86 without AVX-512)."""
        wide = [x.astype(np.float64) if is_float(x.dtype) else x for x in operands]
        found = []
        with np.errstate(all="ignore"):
            for value, dtype in zip(self.evaluate(*wide), self.dtypes):
                value = np.asarray(value)
                if noise is not None and is_float(dtype) and (self.roundings or self.sums):
                    unit = max(EPSILON[dtype], EPSILON[F32]) if loose else EPSILON[dtype]
                    room = self.roundings * unit * np.abs(value)
                    if self.sums:
                        room = room + 2 * (unit if loose or dtype == F64 else EPSILON[F32]) * self.sums(*wide)
                    if loose and self.op in ("Sigmoid", "Elu"):
                        room = room + 2 * EPSILON[F32]
                    if loose and self.op in ("Exp", "Softmax"):
                        room = room + float(np.finfo(np.float32).tiny)
                    change = room * np.clip(noise.uniform(-2, 2, value.shape), -1, 1)
                    value = np.where(np.isfinite(change), value + change, value)
                found.append(value.astype(dtype))
        return found


@dataclasses.dataclass
class Case:
    """A graph. Names are unique within it; nodes are in order of their dependencies."""

    seed: int
    inputs: dict[str, np.ndarray]
    constants: dict[str, np.ndarray]
    nodes: list[Node]
    outputs: list[str]
    ordinary: bool = True  # No input is NaN, infinite or at the limits of its type.
    runs: int = RUNS

    def values(self, noise: np.random.Generator | None = None, loose: bool = False) -> dict[str, np.ndarray]:
        """Every value by its name."""
        found = {**self.inputs, **self.constants}
        for node in self.nodes:
            found.update(zip(node.outputs, node.results([found[name] for name in node.inputs if name], noise, loose)))
        return found

    def expected(self, loose: bool = False) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Each output, and by how much it may be off (infinite where it hangs on a rounding)."""
        exact = self.values()
        runs = [self.values(np.random.default_rng([self.seed, i]), loose) for i in range(2 * self.runs if loose else self.runs)]
        return {name: (exact[name], _room(exact[name], [run[name] for run in runs])) for name in self.outputs}

    def pruned(self, outputs: Sequence[str]) -> Case:
        """The part that `outputs` need."""
        needed, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if needed & set(node.outputs):
                nodes.insert(0, node)
                needed |= set(node.inputs)
        keep = {name: value for name, value in self.inputs.items() if name in needed}
        constants = {name: value for name, value in self.constants.items() if name in needed}
        return dataclasses.replace(self, inputs=keep, constants=constants, nodes=nodes, outputs=list(outputs))

    def finite(self) -> Case:
        """The same with 1 and -1 for infinities."""
        def change(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: np.where(np.isinf(value), np.sign(value), value).astype(value.dtype) if is_float(value.dtype) else value
                    for name, value in values.items()}
        return dataclasses.replace(self, inputs=change(self.inputs), constants=change(self.constants))

    def cut(self, node: Node) -> Case:
        """The same with the results of `node` as inputs."""
        values = self.values()
        rest = [n for n in self.nodes if n is not node]
        inputs = {**self.inputs, **{name: values[name] for name in node.outputs if name}}
        return dataclasses.replace(self, inputs=inputs, nodes=rest).pruned(self.outputs)

    @property
    def has_sums(self) -> bool:
        return any(node.sums for node in self.nodes)


def _room(exact: np.ndarray, runs: list[np.ndarray]) -> np.ndarray:
    if not is_float(exact.dtype):
        same = np.all([run == exact for run in runs], axis=0) if runs else np.ones(exact.shape, bool)
        return np.where(same, 0.0, np.inf)
    wide = exact.astype(np.float64)
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(run.astype(np.float64) - wide) for run in runs], axis=0)
        room = SPREAD * spread + ROUNDINGS * EPSILON[exact.dtype] * np.abs(wide) + TINY[exact.dtype]
        same = np.all([(run == exact) | (np.isnan(run.astype(np.float64)) & np.isnan(wide)) for run in runs], axis=0)
        finite = np.isfinite(wide) & np.all([np.isfinite(run.astype(np.float64)) for run in runs], axis=0)
    return np.where(finite, room, np.where(same & ~np.isfinite(wide), 0.0, np.inf))


def difference(got: np.ndarray, want: np.ndarray, room: np.ndarray) -> str | None:
    """What is wrong with `got`, or None."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"expected {want.dtype}{list(want.shape)}, got {got.dtype}{list(got.shape)}"
    a, b = (x.astype(np.float64) if is_float(want.dtype) else x for x in (got, want))
    with np.errstate(all="ignore"):
        if is_float(want.dtype):
            good = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= room) | np.isinf(room)
        else:
            good = (a == b) | np.isinf(room)
    if good.all():
        return None
    where = tuple(int(i) for i in np.argwhere(~good)[0])
    return f"{int((~good).sum())} of {want.size} differ; at {list(where)} expected {want[where]} +- {room[where]:.2g}, got {got[where]}"


def model_of(cases: Sequence[Case], names: Callable[[int, str], str] = lambda i, name: f"c{i}_{name}") -> onnx.ModelProto:
    """All of them side by side in one model."""
    graph = onnx.GraphProto(name="random")

    def info(name: str, value: np.ndarray) -> onnx.ValueInfoProto:
        return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

    for i, case in enumerate(cases):
        values = case.values()
        graph.input.extend(info(names(i, name), value) for name, value in case.inputs.items())
        graph.output.extend(info(names(i, name), values[name]) for name in case.outputs)
        for name, value in case.constants.items():
            graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), names(i, name)))
        for node in case.nodes:
            inputs, outputs = ([names(i, name) if name else "" for name in side] for side in (node.inputs, node.outputs))
            attributes = {key: value for key, value in node.attributes.items()}
            graph.node.append(onnx.helper.make_node(node.op, inputs, outputs, name=names(i, node.outputs[0]), **attributes))
    return onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("com.microsoft", 1)])


def feeds_of(cases: Sequence[Case]) -> dict[str, np.ndarray]:
    return {f"c{i}_{name}": value for i, case in enumerate(cases) for name, value in case.inputs.items()}
