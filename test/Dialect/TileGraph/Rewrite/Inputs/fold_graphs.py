"""Graphs that the derivation of folds must accept or refuse, as plain `tg` ops, and inputs for them."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
from typing import Callable

import numpy as np

ROWS, KEYS, DEPTH, COLUMNS = 6, 24, 8, 5


@dataclasses.dataclass
class Value:
    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        return "tensor<" + "".join(f"{n}x" for n in self.shape) + self.element + ">"


class Graph:
    """Writes a function, op by op; types follow from operands."""

    def __init__(self, element: str):
        self.element, self.inputs, self.lines = element, [], []

    def input(self, *shape: int, element: str | None = None) -> Value:
        self.inputs.append(Value(f"%x{len(self.inputs)}", shape, element or self.element))
        return self.inputs[-1]

    def line(self, text: str, shape: tuple[int, ...], element: str | None = None) -> Value:
        value = Value(f"%v{len(self.lines)}", tuple(shape), element or self.element)
        self.lines.append(f"{value.name} = {text}")
        return value

    def constant(self, number: float | str, element: str | None = None) -> Value:
        element = element or self.element
        bits = {"f32": "0xFF800000", "f64": "0xFFF0000000000000", "f16": "0xFC00"}
        text = bits[element] if number == "-inf" else f"{number:.6f}" if element[0] == "f" else str(number)
        return self.line(f"tg.constant dense<{text}> : tensor<{element}>", (), element)

    def op(self, name: str, *operands: Value, element: str | None = None) -> Value:
        shape = np.broadcast_shapes(*(v.shape for v in operands))
        text = f"tg.{name} {', '.join(v.name for v in operands)} : {', '.join(v.type for v in operands)}"
        return self.line(text, shape, element or operands[-1].element)

    def cast(self, x: Value, element: str) -> Value:
        return self.line(f"tg.cast {x.name} : {x.type} to {Value('', x.shape, element).type}", x.shape, element)

    def reduce(self, kind: str, x: Value, attributes: str = "") -> Value:
        shape = (*x.shape[:-1], 1)
        return self.line(f"tg.reduce {kind} {x.name} axes = [{len(shape) - 1}] keep_dims {attributes} : {x.type}", shape, x.element)

    def contract(self, x: Value, y: Value, text: str, element: str | None = None, attributes: str = "") -> Value:
        left, right, out = text.replace("->", ",").split(",")
        dims = sorted(set(left + right))
        extent = dict(zip(left + right, x.shape + y.shape))
        maps = [f"affine_map<({', '.join(dims)}) -> ({', '.join(part)})>" for part in (left, right, out)]
        result = Value("", tuple(extent[d] for d in out), element or x.element)
        return self.line(f"tg.contract {x.name}, {y.name} [{', '.join(maps)}] {attributes} : {x.type}, {y.type} -> {result.type}", result.shape, result.element)

    def mean(self, x: Value) -> Value:
        return self.op("div", self.reduce("add", x), self.constant(float(x.shape[-1])))

    def iota(self, axis: int, shape: tuple[int, ...]) -> Value:
        return self.line(f"tg.iota {axis} : {Value('', shape, 'i64').type}", shape, "i64")

    def module(self, *results: Value) -> str:
        arguments = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        types = ", ".join(v.type for v in results)
        body = "\n  ".join(self.lines)
        return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n  return {', '.join(v.name for v in results)} : {types}\n}}\n"


# -- Parts of attention -----------------------------------------------------------------------------------------------


def scores(g: Graph) -> Value:
    q, k = g.input(ROWS, DEPTH), g.input(KEYS, DEPTH)
    return g.op("mul", g.contract(q, k, "id,jd->ij"), g.constant(0.5))


def exponentials(g: Graph, s: Value) -> tuple[Value, Value]:
    m = g.reduce("max", s)
    return g.op("exp", g.op("sub", s, m)), m


def softmax(g: Graph, s: Value) -> Value:
    e, _ = exponentials(g, s)
    return g.op("div", e, g.reduce("add", e))


def values(g: Graph, p: Value) -> Value:
    return g.contract(p, g.input(KEYS, COLUMNS), "ij,jn->in")


def attention(change: Callable[[Graph, Value], Value]) -> Callable[[Graph], list[Value]]:
    return lambda g: [values(g, softmax(g, change(g, scores(g))))]


def soft_cap(g: Graph, s: Value) -> Value:
    cap = g.constant(4.0)
    return g.op("mul", g.op("tanh", g.op("div", s, cap)), cap)


def places(g: Graph) -> tuple[Value, Value]:
    i, j = g.iota(0, (ROWS, 1)), g.iota(1, (1, KEYS))
    return i, j


def window(g: Graph, s: Value) -> Value:
    i, j = places(g)
    low = g.op("cmp ge", j, i, element="i1")
    high = g.op("cmp lt", j, g.op("add", i, g.constant(7, "i64")), element="i1")
    return g.op("select", g.op("and", low, high, element="i1"), s, g.constant("-inf"))


def alibi(g: Graph, s: Value) -> Value:
    i, j = places(g)
    distance = g.cast(g.op("sub", j, i), g.element)
    return g.op("add", s, g.op("mul", distance, g.constant(-0.25)))


def sink(g: Graph) -> list[Value]:
    s, extra = scores(g), g.input(ROWS, 1)
    m = g.op("max", g.reduce("max", s), extra)
    e = g.op("exp", g.op("sub", s, m))
    total = g.op("add", g.reduce("add", e), g.op("exp", g.op("sub", extra, m)))
    return [values(g, g.op("div", e, total))]


def grouped(g: Graph) -> list[Value]:
    q, k, v = g.input(2, 3, ROWS, DEPTH), g.input(2, KEYS, DEPTH), g.input(2, KEYS, COLUMNS)
    p = softmax(g, g.contract(q, k, "hgid,hjd->hgij"))
    return [g.contract(p, v, "hgij,hjn->hgin")]


def differential(g: Graph) -> list[Value]:
    first, second = softmax(g, scores(g)), softmax(g, scores(g))
    return [values(g, g.op("sub", first, g.op("mul", second, g.constant(0.3))))]


def log_sum_exp(g: Graph) -> list[Value]:
    e, m = exponentials(g, g.input(ROWS, KEYS))
    return [g.op("add", g.op("log", g.reduce("add", e)), m)]


def guarded_log_sum_exp(g: Graph) -> list[Value]:
    """As ReduceLogSumExp is decomposed: a maximum that is not finite counts as 0. Places far below 0 come after masked ones."""
    x = g.op("sub", g.input(ROWS, KEYS), g.constant(800.0))
    m = g.reduce("max", x)
    m = g.op("select", g.op("is_inf", m, element="i1"), g.constant(0.0), m)
    return [g.op("add", g.op("log", g.reduce("add", g.op("exp", g.op("sub", x, m)))), m)]


def softmax_row(g: Graph) -> list[Value]:
    return [softmax(g, g.input(ROWS, KEYS))]


def guarded(g: Graph, s: Value) -> Value:
    p = softmax(g, g.op("add", s, g.input(ROWS, KEYS)))
    return g.op("select", g.op("is_nan", p, element="i1"), g.constant(0.0), p)


# -- Norms and quantisation -------------------------------------------------------------------------------------------


def rms_norm(g: Graph) -> list[Value]:
    x, w = g.input(ROWS, KEYS), g.input(KEYS)
    root = g.op("rsqrt", g.op("add", g.mean(g.op("mul", x, x)), g.constant(1e-5)))
    return [values(g, g.op("mul", g.op("mul", x, root), w))]


def deviations(g: Graph, x: Value) -> Value:
    return g.op("sub", x, g.mean(x))


def variance(g: Graph) -> list[Value]:
    d = deviations(g, g.input(ROWS, KEYS))
    return [g.mean(g.op("mul", d, d))]


def layer_norm(g: Graph) -> list[Value]:
    x, w, b = g.input(ROWS, KEYS), g.input(KEYS), g.input(KEYS)
    d = deviations(g, x)
    root = g.op("rsqrt", g.op("add", g.mean(g.op("mul", d, d)), g.constant(1e-5)))
    return [values(g, g.op("add", g.op("mul", g.op("mul", d, root), w), b))]


def quantised(g: Graph) -> list[Value]:
    x = g.input(ROWS, KEYS)
    scale = g.op("div", g.reduce("max", g.op("abs", x)), g.constant(127.0))
    q = g.op("round", g.op("div", x, scale))
    return [g.op("mul", values(g, q), scale)]


def largest_probability(g: Graph) -> list[Value]:
    return [g.reduce("max", softmax(g, g.input(ROWS, KEYS)))]


def router(g: Graph) -> list[Value]:
    """The probabilities of the three best of a softmax, weighted by their places: both results of the order count."""
    p = softmax(g, g.input(ROWS, KEYS))
    n = len(g.lines)
    g.lines.append(f"%v{n}, %i{n} = tg.top_k {p.name} axis = 1 k = 3 {{largest}} : {p.type}")
    best, places_ = Value(f"%v{n}", (ROWS, 3), g.element), Value(f"%i{n}", (ROWS, 3), "i64")
    return [g.op("mul", best, g.cast(places_, g.element))]


def log_probabilities(g: Graph) -> list[Value]:
    """The difference with two reductions at once."""
    s = g.op("sub", x := g.input(ROWS, KEYS), g.reduce("max", x))
    return [values(g, g.op("sub", s, g.op("log", g.reduce("add", g.op("exp", s)))))]


def norm_of_norm(g: Graph) -> list[Value]:
    d = deviations(g, g.input(ROWS, KEYS))
    y = g.op("mul", g.op("mul", d, g.op("rsqrt", g.op("add", g.mean(g.op("mul", d, d)), g.constant(1e-3)))), g.input(KEYS))
    root = g.op("rsqrt", g.op("add", g.mean(g.op("mul", y, y)), g.constant(1e-3)))
    return [values(g, g.op("mul", g.op("mul", y, root), g.input(KEYS)))]


# -- What must be refused ---------------------------------------------------------------------------------------------


def sine(g: Graph) -> list[Value]:
    s = scores(g)
    return [values(g, g.op("sin", g.op("mul", s, g.reduce("max", s))))]


def unknown_sign(g: Graph) -> list[Value]:
    x = g.input(ROWS, KEYS)
    return [g.reduce("max", g.op("mul", x, g.reduce("add", x)))]


def index(g: Graph) -> list[Value]:
    x, table = g.input(ROWS, KEYS), g.input(KEYS)
    place = g.cast(g.op("mul", x, g.reduce("max", x)), "i64")
    read = Value("", (ROWS, KEYS), g.element)
    read = g.line(f"tg.gather {table.name}, {place.name} data_map = affine_map<(i, j)[s] -> (s)> index_maps = [affine_map<(i, j) -> (i, j)>] : "
                  f"{table.type}, {place.type} -> {read.type}", read.shape)
    return [values(g, read)]


def exact_sum(g: Graph) -> list[Value]:
    e, _ = exponentials(g, g.input(ROWS, KEYS))
    return [g.reduce("add", e, '{tg.numerics = "exact"}')]


def overflowing(g: Graph) -> list[Value]:
    x, y = g.input(ROWS, KEYS), g.input(ROWS, KEYS)
    return [g.reduce("add", g.op("exp", g.op("sub", x, g.reduce("max", y))))]


def product(g: Graph) -> list[Value]:
    x = g.input(ROWS, KEYS)
    return [g.reduce("add", g.op("div", x, g.reduce("mul", x)))]


def both(g: Graph) -> list[Value]:
    x, y = (softmax(g, g.input(ROWS, KEYS)) for _ in range(2))
    return [g.contract(x, y, "ij,ij->i")]


@dataclasses.dataclass
class Accepted:
    build: Callable[[Graph], list[Value]]
    numerics: str = "reassociating"
    folds: int = 1
    tolerance: float = 1e-11  # Of f64, relative to the largest result.


ACCEPTED: dict[str, Accepted] = {
    "softmax-sum": Accepted(softmax_row),
    "softmax-PV": Accepted(attention(lambda g, s: s)),
    "ALiBi": Accepted(attention(alibi)),
    "soft-cap": Accepted(attention(soft_cap)),
    "sliding window": Accepted(attention(window)),
    "additive mask": Accepted(attention(lambda g, s: g.op("add", s, g.input(ROWS, KEYS)))),
    "boolean mask": Accepted(attention(lambda g, s: g.op("select", g.input(ROWS, KEYS, element="i1"), s, g.constant("-inf")))),
    "guard of masked rows": Accepted(lambda g: [values(g, guarded(g, scores(g)))]),
    "GQA": Accepted(grouped),
    "attention sink": Accepted(sink),
    "differential attention": Accepted(differential),
    "RMSNorm + matmul": Accepted(rms_norm),
    "LayerNorm + matmul": Accepted(layer_norm),
    "abs-max + quantise + matmul": Accepted(quantised, "approximating", tolerance=2e-2),
    "variance": Accepted(variance),
    "log-sum-exp": Accepted(log_sum_exp),
    "guarded log-sum-exp": Accepted(guarded_log_sum_exp),
    "log-softmax + matmul": Accepted(log_probabilities),
    "LayerNorm + RMSNorm + matmul": Accepted(norm_of_norm),
    "softmax + top-k": Accepted(router),
    "softmax + max": Accepted(largest_probability),
    "both operands": Accepted(both, folds=2),
}

def other_places(g: Graph) -> list[Value]:
    """A mean over other places than the sum's: what broadcasts is not what streams."""
    mean = g.mean(g.input(ROWS, 7))
    return [values(g, g.op("mul", g.input(ROWS, KEYS), g.op("exp", mean)))]


REFUSED: dict[str, tuple[Callable[[Graph], list[Value]], str]] = {
    "sin(c * r)": (sine, "'sin' of a value that depends on a reduction: it neither separates nor can it be repaired"),
    "max of products of unknown sign": (unknown_sign, "a maximum of products with a factor of unknown sign"),
    "max that feeds an index": (index, "a reduction feeds an index"),
    "exact licence": (exact_sum, "the order of a sum may not change: its licence is exact"),
    "quantise without licence": (quantised, "repairing a sum of rounded quotients is approximating, and the licence is not"),
    "exp that can overflow on the way": (overflowing, "'exp' of a difference with what is not a maximum of the same values"),
    "product": (product, "a reduction that is neither a sum nor a maximum"),
    "another dimension": (other_places, "no operand depends on a reduction of the same dimension"),
}
