"""Runs `tk` kernels without layouts (what --weft-kernelize makes) on numpy arrays: tile by tile, each tile one array.

It reads the generic form of MLIR (`weft-opt --weft-kernelize --mlir-print-op-generic`), so it shares no code with the compiler. Every
access is checked: a read or write out of bounds where the guard holds is an error, and so is a result place that nothing writes.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import functools
import itertools
import re

import numpy as np

from .tile_scalars import DTYPES, evaluate, parse_number


@dataclasses.dataclass
class Operation:
    name: str
    operands: list[str]
    result: str = ""
    num_results: int = 0
    attributes: dict = dataclasses.field(default_factory=dict)
    regions: list[tuple[list[str], list]] = dataclasses.field(default_factory=list)
    type: str = ""


def split(text: str) -> list[str]:
    """The parts of a list separated by commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ")]}" or (char == ">" and text[i - 1] != "-" and text[i + 1:i + 2] != "="):
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in parts + [text[start:].strip()] if part]


def close(text: str, start: int, opening: str, closing: str) -> int:
    """The place after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == opening) - (text[i] == closing)
        if depth == 0:
            return i + 1
    raise ValueError(f"expected '{closing}'")


class Parser:
    """MLIR's generic form, one op a line, regions in between."""

    HEAD = re.compile(r'(?:(%\w+)(?::(\d+))? = )?"([\w.]+)"\(([^)]*)\)')

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def skip(self, chars: str = " \n") -> str:
        while self.at < len(self.text) and self.text[self.at] in chars:
            self.at += 1
        return self.text[self.at:self.at + 1]

    def operations(self) -> list[Operation]:
        found = []
        while self.skip() not in ("", "}"):
            found.append(self.operation())
        return found

    def operation(self) -> Operation:
        head = self.HEAD.match(self.text, self.at)
        if not head:
            raise ValueError(f"expected an op at {self.text[self.at:self.at + 80]!r}")
        self.at = head.end()
        result, count, name, operands = head.groups()
        op = Operation(name, split(operands), result or "", int(count or 1) if result else 0)
        while (char := self.skip(" ")) != ":":
            if char == "(":
                self.at += 1
                while self.skip(" ,\n") != ")":
                    op.regions.append(self.region())
                self.at += 1
            else:  # <{properties}> or {attributes}
                begin = self.text.index("{", self.at)
                end = close(self.text, begin, "{", "}")
                op.attributes.update(self.attributes(self.text[begin + 1:end - 1]))
                self.at = end + (self.text[end:end + 1] == ">")
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        op.type, self.at = self.text[self.at + 1:end].strip(), end
        return op

    def region(self) -> tuple[list[str], list[Operation]]:
        self.at += 1
        arguments = []
        if self.skip() == "^":
            end = self.text.index(":\n", self.at)
            head = re.match(r"\^\w+\((.*)\)$", self.text[self.at:end], re.S)
            arguments = [part.split(":", 1)[0].strip() for part in split(head[1])] if head else []
            self.at = end + 2
        body = self.operations()
        self.at += 1
        return arguments, body

    @staticmethod
    def attributes(text: str) -> dict:
        pairs = (part.split(" = ", 1) for part in split(text))
        return {pair[0].strip(): pair[1].strip() if len(pair) == 2 else "unit" for pair in pairs}


def operands_of(expression: str) -> str:
    """An affine expression as Python: `ceildiv` as the negative of a floor, brackets as they are."""
    while " ceildiv " in expression:
        at = expression.index(" ceildiv ")
        left, right = expression[:at], expression[at + 9:]
        begin = re.search(r"\w+$", left)
        if left.endswith(")"):
            depth, start = 0, len(left)
            while depth > 0 or start == len(left):
                start -= 1
                depth += (left[start] == ")") - (left[start] == "(")
        else:
            start = begin.start()
        end = close(right, 0, "(", ")") if right.startswith("(") else re.match(r"\w+", right).end()
        expression = f"{left[:start]}(-(-({left[start:]}) // ({right[:end]}))){right[end:]}"
    return expression.replace("floordiv", "//").replace(" mod ", " % ")


@functools.lru_cache(None)
def parse_affine(text: str):
    """Names of dimensions and symbols, and the compiled expressions of a map or set (with whether each is an equality)."""
    head = re.match(r"affine_(?:map|set)<\(([^)]*)\)(?:\[([^\]]*)\])?\s*(?:->|:)\s*\((.*)\)>$", text, re.S)
    results = []
    for part in split(head[3]):
        body = re.sub(r"(>=|==) 0$", "", part)
        results.append((compile(operands_of(body).strip(), text, "eval"), part.endswith("== 0")))
    return split(head[1]), split(head[2] or ""), results


def tile_type(text: str) -> tuple[list[int], str]:
    shape, element = re.match(r"!tk\.tile<((?:\d+x)*)(\w+)", text).groups()
    return [int(extent) for extent in shape.split("x") if extent], element


def results_of(op: Operation) -> list[str]:
    end = close(op.type, 0, "(", ")")
    text = op.type[end:].strip().removeprefix("->").strip()
    return split(text[1:-1]) if text.startswith("(") else [text]


def integers(attribute: str) -> list[int]:
    return [int(x) for x in re.search(r": ([-\d, ]*)>", attribute)[1].split(",")]


class Kernel:
    """The kernel function of a module. `run` takes the buffers (inputs, then outputs, dense) and the symbols."""

    def __init__(self, text: str):
        self.aliases = dict(re.findall(r"^(#\w+) = (.*)$", text, re.M))
        module, = Parser("\n".join(line for line in text.split("\n") if not line.startswith("#"))).operations()
        self.function, = [op for op in module.regions[0][1] if op.name == "func.func"]
        self.written: dict[int, np.ndarray] = {}
        self.symbols: list[int] = []

    def run(self, inputs: list[np.ndarray], outputs: list[np.ndarray], symbols: list[int]) -> None:
        arguments, body = self.function.regions[0]
        self.symbols = list(symbols)
        self.written = {id(output): np.zeros(output.shape, bool) for output in outputs}
        self.block(body, dict(zip(arguments, [*inputs, *outputs, *symbols])))
        for i, output in enumerate(outputs):
            if not self.written[id(output)].all():
                raise AssertionError(f"result {i} is not written everywhere")

    def block(self, body: list[Operation], values: dict):
        for op in body:
            operands = [values[name] for name in op.operands]
            if op.name in ("tk.yield", "scf.yield", "func.return"):
                return operands
            if op.name == "tk.for_tiles":
                counts = self.places(op.attributes["extents"], [], self.symbols, [])
                for point in itertools.product(*(range(int(count)) for count in counts)):
                    self.region(op, values, point)
                continue
            if op.name == "scf.for":
                results = operands[3:]
                for i in range(*(int(x) for x in operands[:3])):
                    results = self.region(op, values, [i, *results])
            elif op.name.startswith("tk."):
                results = getattr(self, op.name[3:])(op, operands)
            else:
                results = [evaluate(op, operands, results_of(op)[0])]
            if op.num_results == 1:
                values[op.result] = results[0]
            for i in range(op.num_results):
                values[f"{op.result}#{i}"] = results[i]
        return []

    def region(self, op: Operation, values: dict, arguments) -> list:
        names, body = op.regions[0]
        return self.block(body, {**values, **dict(zip(names, arguments))})

    # Accesses.

    def affine_values(self, text: str, shape, symbols, indices):
        dims, names, results = parse_affine(self.aliases.get(text, text))
        places = dict(zip(names, (int(symbol) for symbol in symbols)))
        for i, name in enumerate(dims):
            if i < len(shape):
                places[name] = np.arange(shape[i]).reshape([-1 if j == i else 1 for j in range(len(shape))])
            else:
                places[name] = indices[i - len(shape)].astype(np.int64)
        return [(eval(code, {}, places), is_equality) for code, is_equality in results]

    def places(self, text: str, shape, symbols, indices) -> list[np.ndarray]:
        return [np.broadcast_to(np.asarray(value, np.int64), shape) for value, _ in self.affine_values(text, shape, symbols, indices)]

    def holds(self, text: str | None, shape, symbols, indices) -> np.ndarray:
        result = np.ones(shape, bool)
        for value, is_equality in self.affine_values(text, shape, symbols, indices) if text else []:
            result = result & ((value == 0) if is_equality else (value >= 0))
        return result

    @staticmethod
    def segments(op: Operation, operands: list) -> list[list]:
        ends = list(itertools.accumulate(integers(op.attributes["operandSegmentSizes"])))
        return [operands[begin:end] for begin, end in zip([0, *ends], ends)]

    def access(self, op: Operation, buffer, shape, symbols, indices, mask):
        """Where the access happens and at which places; none of those may be out of bounds."""
        inside = self.holds(op.attributes.get("guard"), shape, symbols, indices)
        inside = inside & mask[0] if mask else inside
        places = self.places(op.attributes["map"], shape, symbols, indices)
        for place, extent in zip(places, buffer.shape):
            if (inside & ((place < 0) | (place >= extent))).any():
                raise AssertionError(f"{op.name} out of bounds: {self.aliases.get(op.attributes['map'])} of {buffer.shape}")
        return inside, places

    def load(self, op, operands):
        (buffer,), symbols, indices, mask = self.segments(op, operands)
        shape, element = tile_type(results_of(op)[0])
        inside, places = self.access(op, buffer, shape, symbols, indices, mask)
        fill = parse_number(op.attributes["fill"]) if "fill" in op.attributes else DTYPES[element](0)
        values = buffer[tuple(np.where(inside, place, 0) for place in places)]
        return [np.where(inside, np.broadcast_to(values, shape), fill).astype(DTYPES[element])]

    def load_index(self, op, operands):
        buffer, *places = operands
        if any(not 0 <= place < extent for place, extent in zip(places, buffer.shape, strict=True)):
            raise AssertionError(f"{op.name} out of bounds: {places} of {buffer.shape}")
        return [max(-(1 << 30), min(int(buffer[tuple(places)]), 1 << 30))]

    def store(self, op, operands):
        (value,), (buffer,), symbols, indices, mask = self.segments(op, operands)
        inside, places = self.access(op, buffer, value.shape, symbols, indices, mask)
        where = tuple(place[inside] for place in places)
        buffer[where] = value[inside] if places else value.reshape(())
        self.written[id(buffer)][where] = True
        return []

    # Shared memory: the slots of a buffer, and which places somebody has written.

    def alloc(self, op, operands):
        slots, shape, element = re.match(r"!tk\.shared<(\d+) x ((?:\d+x)*)(\w+)", results_of(op)[0]).groups()
        extents = [int(slots), *(int(extent) for extent in shape.split("x") if extent)]
        return [(np.zeros(extents, DTYPES[element]), np.zeros(extents, bool))]

    def slot(self, op, operands):
        buffer, slot = operands
        return [tuple(part[slot:slot + 1] for part in buffer)]

    def local_store(self, op, operands):
        value, (buffer, written) = operands
        buffer[0], written[0] = value, True
        return []

    def local_read(self, op, operands):
        """Places past an extent are those that follow in row-major order, in any slot."""
        (buffer, written), *symbols = operands
        shape, element = tile_type(results_of(op)[0])
        flat = 0
        for place, extent in zip(self.places(op.attributes["map"], shape, symbols, []), buffer.shape[1:], strict=True):
            flat = flat * extent + place
        if ((flat < 0) | (flat >= buffer.size)).any():
            raise AssertionError(f"{op.name} out of bounds: {self.aliases.get(op.attributes['map'])} of {buffer.shape}")
        if not written.reshape(-1)[flat].all():
            raise AssertionError(f"{op.name} of places that nothing wrote: {self.aliases.get(op.attributes['map'])} of {buffer.shape}")
        return [buffer.reshape(-1)[flat].astype(DTYPES[element])]

    def barrier(self, op, operands):
        return []

    # Tiles.

    def constant(self, op, operands):
        shape, element = tile_type(results_of(op)[0])
        return [np.full(shape, parse_number(op.attributes["value"]), DTYPES[element])]

    def affine(self, op, operands):
        shape, element = tile_type(results_of(op)[0])
        return [self.places(op.attributes["map"], shape, *self.segments(op, operands))[0].astype(DTYPES[element])]

    def guard(self, op, operands):
        shape, _ = tile_type(results_of(op)[0])
        return [self.holds(op.attributes["guard"], shape, *self.segments(op, operands))]

    def map(self, op, operands):
        types = [tile_type(text) for text in results_of(op)]
        values = self.region(op, {}, operands)
        return [np.broadcast_to(np.asarray(value), shape).astype(DTYPES[element]) for value, (shape, element) in zip(values, types)]

    def broadcast(self, op, operands):
        shape, _ = tile_type(results_of(op)[0])
        dims = integers(op.attributes["dims"])
        extents = [1] * len(shape)
        for dim, extent in zip(dims, operands[0].shape):
            extents[dim] = extent
        return [np.broadcast_to(operands[0].transpose(np.argsort(dims)).reshape(extents), shape)]

    def reduce(self, op, operands):
        dims = integers(op.attributes["dims"])
        kept = [extent for d, extent in enumerate(operands[0].shape) if d not in dims]
        rows = [np.moveaxis(x, dims, range(len(dims))).reshape([-1, *kept]) for x in operands]
        results = [x[0] for x in rows]
        for i in range(1, len(rows[0])):
            results = [np.asarray(x) for x in self.region(op, {}, results + [x[i] for x in rows])]
        return results

    def scan(self, op, operands):
        dim = int(op.attributes["dim"].split(":")[0])
        step = -1 if "reverse" in op.attributes else 1
        result = np.moveaxis(operands[0], dim, 0)[::step].copy()
        for i in range(1, len(result)):
            result[i] = self.region(op, {}, [result[i - 1], result[i]])[0]
        return [np.moveaxis(result[::step], 0, dim)]

    def sort(self, op, operands):
        dim = int(op.attributes["dim"].split(":")[0])
        rows = [np.moveaxis(x, dim, -1).copy() for x in operands]

        def order(left, right):
            return -1 if self.region(op, {}, [*left, *right])[0] else int(bool(self.region(op, {}, [*right, *left])[0]))

        for place in np.ndindex(rows[0].shape[:-1]):
            tuples = sorted(zip(*(x[place] for x in rows)), key=functools.cmp_to_key(order))
            for x, column in zip(rows, zip(*tuples)):
                x[place] = column
        return [np.moveaxis(x, -1, dim) for x in rows]

    def dot(self, op, operands):
        """Exact products, one rounding of the sum: nearer to the true value than any order of additions."""
        lhs, rhs, acc = operands
        wide = np.float64 if acc.dtype.kind == "f" else np.int64

        def widened(x, flag):
            return (x.view(np.uint8) if flag in op.attributes else x).astype(wide)

        return [(acc + widened(lhs, "unsigned_lhs") @ widened(rhs, "unsigned_rhs")).astype(acc.dtype)]
