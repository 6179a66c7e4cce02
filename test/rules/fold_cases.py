"""Near misses of derived folds: for each guard of `--weft-derive-folds` a graph and inputs that violate it alone.

Where nothing else is said, the pass must leave the reduction at the end alone. `folds`: how many it makes all the same, because the guard is
a provision inside a fold (masked rows, zeros so far), or because another form of the sum is right.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import dataclasses
import pathlib
import sys
from typing import Callable

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "Dialect/TileGraph/Rewrite/Inputs")]

import fold_graphs as graphs  # noqa: E402
from fold_graphs import KEYS, ROWS, Graph, Value  # noqa: E402

HALF = KEYS // 2


@dataclasses.dataclass
class NearMiss:
    guard: str
    build: Callable[[Graph], list[Value]]
    prepare: Callable[[list[np.ndarray]], None] = lambda inputs: None
    folds: int = 0
    numerics: str = "reassociating"
    element: str = "f64"
    tolerance: float = 1e-9
    by_values: bool = True  # False: a licence, whose loss shows in what is derived only.


def row(g: Graph, count: int = 1) -> list[Value]:
    return [g.input(ROWS, KEYS) for _ in range(count)]


def total(g: Graph, x: Value) -> Value:
    return g.reduce("add", x)


def over(g: Graph, kind: str, x: Value, axes: list[int]) -> Value:
    shape = tuple(1 if d in axes else extent for d, extent in enumerate(x.shape))
    return g.line(f"tg.reduce {kind} {x.name} axes = {axes} keep_dims : {x.type}", shape, x.element)


def size(g: Graph, x: Value) -> Value:
    """A reduction that is positive, and rises."""
    return total(g, g.op("abs", x))


def soft(g: Graph, x: Value, most: Value, factor: Value | None = None) -> list[Value]:
    """The sum of exp((x - most) * factor)."""
    s = g.op("sub", x, most)
    return [total(g, g.op("exp", g.op("mul", s, factor) if factor else s))]


def soft_of_soft(g: Graph, x: Value) -> list[Value]:
    s = g.op("sub", x, g.reduce("max", x))
    v = g.op("sub", s, g.op("log", total(g, g.op("exp", s))))
    return soft(g, v, g.reduce("max", v))


def moment(g: Graph, x: Value, centre: Value) -> list[Value]:
    d = g.op("sub", x, centre)
    return [total(g, g.op("mul", d, d))]


def scale(g: Graph, x: Value) -> Value:
    return g.op("div", g.reduce("max", g.op("abs", x)), g.constant(127.0))


def rounded(g: Graph, x: Value, divisor: Value) -> Value:
    return g.op("round", g.op("div", x, divisor))


def late(number: float, which: int = 0) -> Callable[[list[np.ndarray]], None]:
    """The second half of each row is `number` times as large."""
    def change(inputs: list[np.ndarray]) -> None:
        inputs[which][:, HALF:] *= number
    return change


def early(number: float, which: int = 0) -> Callable[[list[np.ndarray]], None]:
    """The first half of row 0 is `number`."""
    def change(inputs: list[np.ndarray]) -> None:
        inputs[which][0, :HALF] = number
    return change


def masked(which: int) -> Callable[[list[np.ndarray]], None]:
    """Row 1 is masked."""
    def change(inputs: list[np.ndarray]) -> None:
        inputs[which][1, :] = -np.inf
    return change


# -- Graphs -----------------------------------------------------------------------------------------------------------


def whole_total(g: Graph) -> list[Value]:
    x, = row(g)
    return [total(g, g.op("mul", x, over(g, "add", x, [0, 1])))]


def integer_total(g: Graph) -> list[Value]:
    x, = row(g)
    n = g.input(ROWS, KEYS, element="i64")
    return [total(g, g.op("mul", x, g.cast(total(g, n), g.element)))]


def wraps(inputs: list[np.ndarray]) -> None:
    inputs[1][:] = 1 << 61


def wrapping(g: Graph) -> list[Value]:
    """A sum of i8 that wraps does not rise with its operand."""
    x, = row(g)
    n = g.cast(g.op("mul", g.op("div", x, g.reduce("max", g.op("abs", x))), g.constant(100.0)), "i8")
    return [g.reduce("max", g.cast(g.op("add", n, g.constant(60, "i8")), g.element))]


def two_changing(g: Graph) -> list[Value]:
    x, y = row(g, 2)
    return [g.reduce("max", g.op("mul", x, g.op("mul", g.op("abs", y), size(g, y))))]


def covariance(g: Graph) -> list[Value]:
    x, y = row(g, 2)
    return [total(g, g.op("mul", graphs.deviations(g, x), graphs.deviations(g, y)))]


def cube(g: Graph) -> list[Value]:
    d = graphs.deviations(g, *row(g))
    return [total(g, g.op("mul", g.op("mul", d, d), d))]


def late_guard(g: Graph) -> list[Value]:
    """Maxima below 5 count as -1000, which is less than they are."""
    x, = row(g)
    m = g.reduce("max", x)
    low = g.op("cmp lt", m, g.constant(5.0), element="i1")
    return soft(g, x, g.op("select", low, g.constant(-1000.0), m))


def first_then(first: float, then: float) -> Callable[[list[np.ndarray]], None]:
    def change(inputs: list[np.ndarray]) -> None:
        inputs[0][0, :HALF], inputs[0][0, HALF:] = first, then
    return change


def shrinking(inputs: list[np.ndarray]) -> None:
    """Row 0 is divided by 2.6 for half of the stream, then by 0.001."""
    first_then(4, 0.001)(inputs)
    inputs[0][0, 0] = 2.6


def other_late(inputs: list[np.ndarray]) -> None:
    inputs[0][0, 0] = inputs[1][0, -1] = 1000


def clipped(g: Graph) -> list[Value]:
    x, y = row(g, 2)
    return [total(g, g.op("min", g.op("max", rounded(g, x, scale(g, y)), g.constant(-127.0)), g.constant(127.0)))]


def nan_of_other(g: Graph) -> list[Value]:
    x, y = row(g, 2)
    return [total(g, g.op("select", g.op("is_nan", y, element="i1"), g.constant(0.0), graphs.softmax(g, x)))]


def some_nans(inputs: list[np.ndarray]) -> None:
    inputs[1][2, ::3] = np.nan


def guarded(number: float) -> Callable[[Graph], list[Value]]:
    def build(g: Graph) -> list[Value]:
        p = graphs.softmax(g, *row(g))
        return [total(g, g.op("mul", g.op("select", g.op("is_nan", p, element="i1"), g.constant(number), p), *row(g)))]
    return build


def guarded_share(g: Graph) -> list[Value]:
    x, = row(g)
    p = g.op("div", x, total(g, x))
    return [total(g, g.op("select", g.op("is_nan", p, element="i1"), g.constant(0.0), p))]


def one_infinity(inputs: list[np.ndarray]) -> None:
    inputs[0][1, 3] = np.inf


def above(g: Graph) -> list[Value]:
    x, = row(g)
    low = g.op("cmp gt", x, g.op("mul", g.reduce("max", x), g.constant(0.5)), element="i1")
    return [total(g, g.op("select", low, g.constant(0.0), g.op("mul", x, g.reduce("max", x))))]


def one_then(g: Graph) -> list[Value]:
    x, = row(g)
    is_positive = g.op("cmp gt", total(g, x), g.constant(0.0), element="i1")
    return [total(g, g.op("select", is_positive, g.constant(1.0), g.op("mul", x, total(g, x))))]


def several_dimensions(g: Graph) -> list[Value]:
    x, y = g.input(ROWS, KEYS, 3), g.input(KEYS, 3)
    e = g.op("exp", g.op("sub", x, over(g, "max", x, [1])))
    return [g.contract(e, y, "ijk,jk->i")]


def several_axes(g: Graph) -> list[Value]:
    x = g.input(ROWS, KEYS, 3)
    return [over(g, "add", g.op("exp", g.op("sub", x, over(g, "max", x, [1]))), [1, 2])]


def large_beside_f16(g: Graph) -> list[Value]:
    x = g.op("mul", g.cast(g.input(ROWS, KEYS), "f32"), g.constant(1000.0, "f32"))
    y = g.cast(g.op("div", x, g.op("add", g.reduce("max", g.op("abs", x)), g.constant(1.0, "f32"))), "f16")
    return [g.contract(y, g.input(KEYS, 5), "ij,jn->in")]


def hundreds(inputs: list[np.ndarray]) -> None:
    inputs[0] *= 100


def read_by_operand(g: Graph) -> list[Value]:
    """The values are scaled by the largest maximum, before the product that would give it."""
    e, m = graphs.exponentials(g, *row(g))
    v = g.op("mul", g.input(KEYS, 5), over(g, "max", m, [0]))
    return [g.contract(e, v, "ij,jn->in"), v]


def order(g: Graph, x: Value) -> list[Value]:
    return [g.line(f"tg.arg_reduce max {x.name} axis = 1 : {x.type}", (ROWS,), "i64")]


def order_of_integers(g: Graph) -> list[Value]:
    x, = row(g)
    return order(g, g.cast(g.op("mul", g.op("div", x, size(g, x)), g.constant(5.0)), "i64"))


def order_of_others(g: Graph) -> list[Value]:
    y, = row(g)
    return order(g, g.op("sub", g.input(1, KEYS), g.reduce("max", y)))


def with_row(build: Callable[..., list[Value]], count: int = 1) -> Callable[[Graph], list[Value]]:
    return lambda g: build(g, *row(g, count))


CASES = [
    NearMiss("same-axis", whole_total),
    NearMiss("same-extent", graphs.other_places),
    NearMiss("float-reduction", integer_total, wraps),
    NearMiss("free-factor", with_row(lambda g, x: soft(g, x, g.reduce("max", x), size(g, x))), late(3)),
    NearMiss("uniform-factor", with_row(lambda g, x, y: soft(g, x, g.reduce("max", x), g.op("abs", y)), 2)),
    NearMiss("monotone-op", with_row(lambda g, x: [g.reduce("max", g.op("abs", graphs.deviations(g, x)))])),
    NearMiss("integer-extreme", wrapping),
    NearMiss("one-changing", two_changing),
    NearMiss("changing-dividend", with_row(lambda g, x: [g.reduce("max", g.op("div", size(g, x), x))])),
    NearMiss("known-sign", graphs.unknown_sign),
    NearMiss("same-difference", covariance),
    NearMiss("second-degree", cube),
    NearMiss("exponent-sign", with_row(lambda g, x: soft(g, x, g.reduce("max", x), g.constant(-0.5)))),
    NearMiss("is-maximum", with_row(lambda g, x: soft(g, x, g.reduce("min", x)))),
    NearMiss("own-maximum", graphs.overflowing, other_late),
    NearMiss("high-guard", late_guard, first_then(1, 6)),
    NearMiss("shifted-exponent", with_row(lambda g, x, y: soft(g, x, g.op("max", g.reduce("max", x), y)), 2)),
    NearMiss("free-numerator", with_row(lambda g, x, y: [total(g, rounded(g, g.op("mul", x, size(g, x)), scale(g, y)))], 2),
             numerics="approximating", tolerance=5e-2),
    NearMiss("growing-divisor", with_row(lambda g, x: [total(g, rounded(g, x, g.reduce("min", g.op("abs", x))))]), shrinking,
             numerics="approximating", tolerance=5e-2),
    NearMiss("unclipped-quotient", clipped, late(1000, which=1), numerics="approximating", tolerance=5e-2),
    NearMiss("approximating", with_row(lambda g, x: [total(g, rounded(g, x, scale(g, x)))])),
    NearMiss("nan-of-itself", nan_of_other, some_nans, folds=1),
    NearMiss("zero-for-nan", guarded(7.0), masked(0), folds=1),
    NearMiss("nan-in-rows", guarded_share, one_infinity),
    NearMiss("uniform-condition", above),
    NearMiss("zero-then", one_then),
    NearMiss("free-exponent", with_row(soft_of_soft), late(20000.0), folds=1),
    NearMiss("free-divisor", with_row(lambda g, x: [total(g, g.op("div", x, g.op("add", g.op("abs", x), size(g, x))))])),
    NearMiss("float-cast", with_row(lambda g, x: [total(g, g.cast(g.cast(g.op("mul", x, total(g, x)), "i64"), g.element))])),
    NearMiss("square", with_row(lambda g, x: [total(g, g.op("pow", graphs.deviations(g, x), g.constant(3.0)))])),
    NearMiss("separable-op", with_row(lambda g, x: [total(g, g.op("sin", g.op("mul", x, g.reduce("max", x))))])),
    NearMiss("one-dimension", several_dimensions),
    NearMiss("one-axis", several_axes),
    NearMiss("float-stream", with_row(lambda g, x: [total(g, g.cast(g.op("mul", x, total(g, x)), "i64"))])),
    NearMiss("mean-count", with_row(lambda g, x: moment(g, x, g.op("div", total(g, x), g.constant(5.0)))), folds=1),
    NearMiss("mean-is-sum", with_row(lambda g, x: moment(g, x, g.op("div", g.reduce("max", x), g.constant(float(KEYS))))), folds=1),
    NearMiss("mean-of-same", with_row(lambda g, x, y: moment(g, x, g.mean(y)), 2), folds=1),
    NearMiss("sum-or-extreme", graphs.product),
    NearMiss("order-licence", graphs.exact_sum, by_values=False),
    NearMiss("fits-f16", large_beside_f16, hundreds, folds=1, element="f16", tolerance=2e-2),
    NearMiss("empty-extreme", graphs.softmax_row, early(-np.inf), folds=1),
    NearMiss("finite-difference", graphs.log_probabilities, folds=1),
    NearMiss("growing-maximum", graphs.guarded_log_sum_exp, early(-np.inf), folds=1),
    NearMiss("zero-divisor", with_row(lambda g, x: [total(g, rounded(g, x, scale(g, x)))]), early(0.0), folds=1, numerics="approximating",
             tolerance=5e-2),
    NearMiss("some-places", graphs.variance, folds=1),
    NearMiss("masked-sum", guarded(0.0), masked(0), folds=1),
    NearMiss("readers-behind", read_by_operand, folds=1),
    NearMiss("float-order", order_of_integers),
    NearMiss("same-shape", order_of_others),
]
