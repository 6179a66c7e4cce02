"""Draws random graphs that are valid by construction: the element type first, then operands that have it, then an op they fit.

Each candidate op is evaluated as it is drawn, so shapes and types of its results are known; one whose results are too large, or not finite where
the inputs are ordinary, is dropped. The same seed gives the same graph.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import random
from typing import Callable, Sequence

import numpy as np

from case import BF16, BOOL, F16, F32, F64, FLOATS, I8, I32, I64, INTEGERS, U8, Case, Node, is_float

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 33, 64]
MOST_ELEMENTS = 4096
LARGEST = {F64: 1e6, F32: 1e4, F16: 2e3, BF16: 1e4}
DTYPE_WEIGHTS = {F32: 10, F16: 3, BF16: 2, F64: 1, I32: 2, I64: 2, BOOL: 1, U8: 1, I8: 1}
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, 60000.0, -88.0, 89.0, 0.5, -0.5, 2.5]

OPS: list[tuple[Callable[["Builder"], bool], float]] = []


def op(weight: float = 1):
    """Registers a function that tries to add one op (or a small group of them) to a builder."""
    def register(function):
        OPS.append((function, weight))
        return function
    return register


class Builder:
    """A graph in the making."""

    most_elements = MOST_ELEMENTS

    def __init__(self, seed: int):
        self.rng, self.draw = random.Random(seed), np.random.default_rng(seed)
        self.case = Case(seed, {}, {}, [], [], ordinary=self.rng.random() < 0.9)
        self.values: dict[str, np.ndarray] = {}
        self.base = [self.rng.choice(EXTENTS) for _ in range(4)]
        self.dtype = self.rng.choices(list(DTYPE_WEIGHTS), list(DTYPE_WEIGHTS.values()))[0]

    def name(self, kind: str) -> str:
        return f"{kind}{len(self.values)}"

    def shape(self) -> tuple[int, ...]:
        rank = self.rng.choice([0, 1, 2, 2, 3, 3, 4])
        dims = [1 if self.rng.random() < 0.15 else n for n in self.base[len(self.base) - rank:]]
        while np.prod(dims, dtype=int) > self.most_elements:
            dims[self.rng.randrange(len(dims))] = 1
        return tuple(dims)

    def array(self, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
        if is_float(dtype):
            value = self.draw.standard_normal(shape)
            if not self.case.ordinary:
                value = np.where(self.draw.random(shape) < 0.2, self.draw.choice(EDGES, shape), value)
            return np.asarray(value).astype(dtype)
        if dtype == BOOL:
            return np.asarray(self.draw.integers(0, 2, shape)).astype(dtype)
        return np.asarray(self.draw.integers(0 if dtype == U8 else -5, 9, shape)).astype(dtype)

    def input(self, shape: Sequence[int], dtype: np.dtype) -> str:
        name = self.name("x")
        self.values[name] = self.case.inputs[name] = self.array(shape, dtype)
        return name

    def constant(self, value: np.ndarray) -> str:
        name = self.name("k")
        self.values[name] = self.case.constants[name] = np.asarray(value)
        return name

    def operand(self, shape: Sequence[int], dtype: np.dtype) -> str:
        """A new input, or a weight."""
        return self.constant(self.array(shape, dtype)) if self.rng.random() < 0.4 else self.input(shape, dtype)

    def pick(self, dtypes: Sequence[np.dtype] | None = None, rank: int = 0, where: Callable[[np.ndarray], bool] = lambda x: True) -> str | None:
        """A value with one of these types and at least this rank; later ones more often."""
        dtypes = dtypes or [self.dtype]
        names = [n for n, v in self.values.items() if v.dtype in dtypes and v.ndim >= rank and v.size and where(v)
                 and n not in self.case.constants]
        if not names:
            return None
        return names[-1] if self.rng.random() < 0.5 else self.rng.choice(names)

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.values[name].shape

    def dtype_of(self, name: str) -> np.dtype:
        return self.values[name].dtype

    def axis(self, name: str) -> int:
        return self.rng.randrange(len(self.shape_of(name)))

    def signed(self, axis: int, name: str) -> int:
        """An axis as it is, or counted from the end."""
        return axis if self.rng.random() < 0.5 else axis - len(self.shape_of(name))

    def add(self, kind: str, inputs: Sequence[str], evaluate: Callable, dtypes: Sequence[np.dtype] | np.dtype | None = None, *, roundings: float = 1,
            sums: Callable | None = None, **attributes) -> list[str] | None:
        """Adds a node and returns its results' names, or None if what comes out is not to be had in a test."""
        if isinstance(dtypes, np.dtype) or dtypes is None:
            dtypes = [dtypes or self.dtype_of(inputs[0])]

        def listed(*operands):
            found = evaluate(*operands)
            return found if isinstance(found, (list, tuple)) else [found]

        count = len(self.values)
        node = Node(kind, list(inputs), [f"v{count + i}" for i in range(len(dtypes))], list(dtypes), listed, attributes, roundings, sums)
        results = node.results([self.values[name] for name in inputs if name])
        for value in results:
            if value.size > self.most_elements or value.size == 0:
                return None
            if is_float(value.dtype) and self.case.ordinary:
                wide = np.abs(value.astype(np.float64))
                if not np.isfinite(wide).all() or wide.max() > LARGEST[value.dtype]:
                    return None
        self.values.update(zip(node.outputs, results))
        self.case.nodes.append(node)
        return node.outputs

    def finish(self, most_outputs: int = 4) -> Case:
        """Results: what nothing reads, and sometimes a value that is read too."""
        made = [name for node in self.case.nodes for name in node.outputs]
        read = {name for node in self.case.nodes for name in node.inputs}
        ends = [name for name in made if name not in read][-most_outputs:]
        inner = [name for name in made if name in read]
        if inner and self.rng.random() < 0.25:
            ends.append(self.rng.choice(inner))
        return self.case.pruned(ends)


def generate(seed: int, ops: int | None = None) -> Case:
    """The graph of this seed, of some 3 to 15 ops."""
    import table  # noqa: F401  (fills OPS)
    builder = Builder(seed)
    for _ in range(builder.rng.randint(1, 3)):
        builder.input(builder.shape(), builder.dtype)
    functions, weights = zip(*OPS)
    wanted = ops or builder.rng.randint(3, 11)
    for _ in range(20 * wanted):
        if len(builder.case.nodes) >= wanted:
            break
        if builder.rng.random() < 0.04:
            builder.dtype = builder.rng.choice([v.dtype for v in builder.values.values()])
        builder.rng.choices(functions, weights)[0](builder)
    return builder.finish()


__all__ = ["BF16", "BOOL", "F16", "F32", "F64", "FLOATS", "I32", "I64", "INTEGERS", "Builder", "Case", "generate", "op"]
