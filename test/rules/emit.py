"""Cases as MLIR, and inputs for them."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import re

import numpy as np

from cases import COMMUTATIVE, Case

BOOLEAN = {"cmp"}
NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui16": np.uint16}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-3, 7.25, -3.5, 2.0]


def tensor(shape: tuple[int, ...], element: str) -> str:
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + element + ">"


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(np.broadcast_shapes(*shapes))


def parse(text: str):
    tokens = re.findall(r"[()]|[^\s()]+", text)

    def node():
        token = tokens.pop(0)
        if token != "(":
            return token
        found = []
        while tokens[0] != ")":
            found.append(node())
        tokens.pop(0)
        return found

    return node()


def contents(shape: tuple[int, ...], element: str, rng: np.random.Generator, nonzero: bool) -> np.ndarray:
    """Random numbers among which the edges are; no infinities, which reassociating rules do not keep."""
    size = int(np.prod(shape, dtype=int))
    if element.startswith(("i", "ui")):
        info = np.iinfo(NUMPY[element])
        values = rng.integers(info.min, info.max, size=size, endpoint=True, dtype=NUMPY[element])
        edges = np.array([info.min, info.max, 0, 1, 2], NUMPY[element])
    else:
        values = rng.normal(size=size) * 2
        edges = np.array([edge for edge in EDGES if edge or not nonzero])
    chosen = rng.random(size) < 0.25
    values[chosen] = rng.choice(edges, size=int(chosen.sum()))
    return values.astype(NUMPY[element]).reshape(shape)


class Emitter:
    """Emits cases, one after another, into one function."""

    def __init__(self, rng: np.random.Generator):
        self.rng, self.lines, self.results = rng, [], []
        self.arguments: list[tuple[str, np.ndarray, str]] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, case: Case) -> None:
        environment = {}
        for name, shape in case.shapes.items():
            element = case.cast[0] if f"(cast ?{name})" in case.expression else case.element
            values = contents(shape, element, self.rng, case.nonzero)
            value = self.fresh()
            if name in case.numbers:
                number = case.numbers[name] if element[0] == "f" else int(case.numbers[name])
                self.lines.append(f"{value} = tg.constant dense<{number}> : {tensor(shape, element)}")
            elif name in case.constants:
                if name in case.powers:
                    values = np.exp2(self.rng.integers(-2, 3, size=shape)).astype(values.dtype)
                values = values if case.magnify == 1 else (values * case.magnify).astype(values.dtype)
                if case.what == "float":
                    values = np.abs(values) & np.int8(127)
                data = re.sub(r"\s+", " ", str(values.tolist())).replace("inf", "0.0")
                self.lines.append(f"{value} = tg.constant dense<{data}> : {tensor(shape, element)}")
            else:
                self.arguments.append((value, values, tensor(shape, element)))
            if name in case.wrapped:
                wrapped = self.fresh()
                self.lines.append(f"{wrapped} = tg.abs {value} : {tensor(shape, element)}")
                value = wrapped
            environment[name] = (value, shape, element)
        self.einsums = list(case.einsums)
        value, shape, element = self.emit(parse(case.expression), case, environment, outermost=True)
        self.results.append((value, tensor(shape, element)))

    def emit(self, node, case: Case, environment: dict, outermost: bool = False):
        if isinstance(node, str):
            if node.startswith("?"):
                return environment[node[1:]]
            value, number = self.fresh(), node if "." in node or case.element[0] in "iu" else node + ".0"
            self.lines.append(f"{value} = tg.constant dense<{number}> : {tensor(case.number_shape, case.element)}")
            return value, case.number_shape, case.element
        op, *children = node
        einsum = self.einsums.pop(0) if op == "contract" else None
        operands = [self.emit(child, case, environment) for child in children]
        if op in COMMUTATIVE and case.swap:
            operands.reverse()
        value, names = self.fresh(), ", ".join(operand[0] for operand in operands)
        types = ", ".join(tensor(*operand[1:]) for operand in operands)
        shape, element = operands[0][1], operands[0][2]
        if op == "contract":
            widens = case.result and (outermost or not case.expression.startswith("(contract"))
            return self.contract(value, einsum, operands, case.result if widens else element)
        if op.startswith("reduce."):
            axes = sorted(axis % len(shape) for axis in self.axes_of(case, operands[0]))
            keep = " keep_dims" if case.keep else ""
            self.lines.append(f"{value} = tg.reduce {op[7:]} {names} axes = {axes}{keep} : {types}")
            shape = tuple(1 if d in axes else extent for d, extent in enumerate(shape) if case.keep or d not in axes)
        elif op == "broadcast":
            shape = tuple(5 if extent == 1 and case.what != "non-empty" else 0 if extent == 1 else extent for extent in shape)
            self.lines.append(f"{value} = tg.broadcast {names} : {types} to {tensor(shape, element)}")
        elif op == "cast":
            element = case.cast[1]
            self.lines.append(f"{value} = tg.cast {names} : {types} to {tensor(shape, element)}")
        else:
            shape = broadcast(*(operand[1] for operand in operands))
            self.lines.append(f"{value} = tg.{op} {names} : {types}")
        return value, shape, element

    @staticmethod
    def axes_of(case: Case, operand) -> tuple[int, ...]:
        """Of nested reductions the inner one takes the case's axes, the outer one the first dimension."""
        is_outer = case.rule.endswith("-twice") and any(extent == 1 for extent in operand[1])
        return (0,) if is_outer else case.axes

    def contract(self, value: str, einsum: str, operands: list, element: str):
        sides, result = einsum.split("->")
        letters = sorted(set(einsum) - set(",->"))
        maps = [f"affine_map<({', '.join(letters)}) -> ({', '.join(side)})>" for side in (*sides.split(","), result)]
        extents = {letter: extent for side, operand in zip(sides.split(","), operands) for letter, extent in zip(side, operand[1])}
        shape = tuple(extents[letter] for letter in result)
        self.lines.append(f"{value} = tg.contract {', '.join(operand[0] for operand in operands)} [{', '.join(maps)}] : "
                          f"{', '.join(tensor(*operand[1:]) for operand in operands)} -> {tensor(shape, element)}")
        return value, shape, element

    def module(self) -> str:
        arguments = ", ".join(f"{name}: {text}" for name, _, text in self.arguments)
        results, types = ", ".join(name for name, _ in self.results), ", ".join(text for _, text in self.results)
        body = "\n".join("  " + line for line in self.lines)
        return f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {results} : {types}\n}}\n"
