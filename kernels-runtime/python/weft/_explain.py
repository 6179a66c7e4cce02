"""What the compiler made of a model: the explanation that a bundle holds, as text and as a picture for notebooks."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import ctypes
import dataclasses
import html
import json
import os

from ._library import Error
from ._picture import amount, draw
from ._session import Bundle

SCHEMA = "weft.explain/3"


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel start: the ONNX nodes and ops it computes, its shapes (operands, then results), and what it moves, in bytes. Symbols count as
    their likely values."""
    name: str
    nodes: tuple[str, ...]
    ops: tuple[str, ...]
    shapes: tuple[str, ...]
    flops: float
    read_bytes: float
    written_bytes: float


@dataclasses.dataclass(frozen=True)
class Edge:
    """Two ops of which one reads what the other makes: numbers of their kernels, of two kernels the reason why they are not one, the bytes
    between them, and the level (register, shared, cluster, L2, memory) from which the reader gets them."""
    producer: int
    consumer: int
    producer_node: str
    consumer_node: str
    reason: str | None
    bytes: int
    level: str


@dataclasses.dataclass(frozen=True)
class Program:
    """Of a target, or of an interval of an extent."""
    target: str
    interval: str
    kernels: tuple[Kernel, ...]
    edges: tuple[Edge, ...]
    unfused_bytes: float | None
    fused_bytes: float | None
    assumed: tuple[tuple[str, int], ...] = ()  # What symbols of inputs count as.


def _program(data: dict) -> Program:
    plan = data.get("plan") or {}
    ops = {}
    for i, kernel in enumerate(data.get("kernels") or ()):
        facts = plan.get("kernel_facts") or []
        ops[kernel["name"]] = tuple((facts[i].get("ops") if i < len(facts) else None) or kernel.get("ops") or ())
    measures = plan.get("dispatch_facts") or []
    kernels = [Kernel(each["kernel"], tuple(each.get("nodes") or ()), ops.get(each["kernel"], ()), tuple(each.get("shapes") or ()),
                      *(measures[i] if i < len(measures) and len(measures[i]) == 3 else (0, 0, 0))) for i, each in enumerate(data.get("dispatches") or ())]
    names = plan.get("names") or []
    edges = [Edge(row[4], row[5], names[row[0]], names[row[1]], None if row[6] < 0 else names[row[6]], row[7], "memory" if row[9] < 0 else names[row[9]])
             for row in plan.get("edges") or ()]
    summary = plan.get("summary") or {}
    return Program(data["target"], data.get("interval", ""), tuple(kernels), tuple(edges), summary.get("unfused_bytes"), summary.get("fused_bytes"),
                   tuple((name, value) for name, value in filter(None, plan.get("assumed") or ())))


def _outline(program: Program) -> str:
    nodes = {node for kernel in program.kernels for node in kernel.nodes}
    text = f"{program.target}{' ' + program.interval if program.interval else ''}: {len(nodes)} nodes in {len(program.kernels)} kernels"
    text += "".join(f", {name} = {value}" for name, value in program.assumed)
    if program.fused_bytes is not None:
        text += f", {amount(program.fused_bytes, 'B')} of memory traffic ({amount(program.unfused_bytes, 'B')} unfused)"
    return text


class Explanation:
    """What `explain` returns. It prints as a table, and a notebook shows it as a picture: a box is a kernel, a line what goes from one
    to another by L2 or DRAM; what is fused has none. `weft explain` of the command line knows more: why, levels of memory, models of time."""

    def __init__(self, data: dict):
        if data.get("schema") != SCHEMA:
            raise Error(3, f"expected an explanation of schema {SCHEMA}, got {data.get('schema')!r}; compile the model again")
        self.model = data.get("model", "")
        self.programs = tuple(map(_program, data["programs"]))

    def why_not(self, producer: str, consumer: str) -> tuple[str, ...]:
        """Why the kernels of two nodes are not one, by program; empty if they are, or no tensor goes between them."""
        return tuple(dict.fromkeys(f"{program.target}: {edge.reason}" for program in self.programs for edge in program.edges
                                   if edge.reason and (edge.producer_node, edge.consumer_node) == (producer, consumer)))

    def __str__(self) -> str:
        lines = [f"model {self.model}"]
        for program in self.programs:
            lines.append(_outline(program))
            for number, kernel in enumerate(program.kernels):
                lines.append(f"  {number:3}  {', '.join(kernel.nodes) or kernel.name}: {' '.join(kernel.ops)}  {amount(kernel.flops, 'FLOP')}  "
                             f"{amount(kernel.read_bytes + kernel.written_bytes, 'B')}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self.model)}</b></p>"]
        for program in self.programs:
            parts.append(f"<p>{html.escape(_outline(program))}</p>{draw(program)}")
        return "".join(parts)


def explain(source: Bundle | str | os.PathLike | bytes, **options) -> Explanation:
    """Of a bundle (open, its path or its bytes), or of a model: the path of one that does not end in .weft, or an `onnx.ModelProto`, which is
    compiled with `options` as by `weft.compile`."""
    if hasattr(source, "SerializeToString") or (isinstance(source, (str, os.PathLike)) and not os.fspath(source).endswith(".weft")):
        from ._compiler import compile as compile_model
        source = compile_model(source, **options)
    elif options:
        raise Error(2, f"expected a model to compile with {', '.join(options)}, got a bundle")
    bundle = source if isinstance(source, Bundle) else Bundle(source)
    size = ctypes.c_size_t()
    text = bundle._library.weft_bundle_explanation(bundle._handle, size)
    if not text:
        raise Error(2, "the bundle has no explanation: it was compiled with explain=off")
    return Explanation(json.loads(ctypes.string_at(text, size.value)))
