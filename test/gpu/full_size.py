"""Random graphs at the sizes of real models, for checks of code: compiled, assembled, never run.

`draw(seed)` is one graph of one kind, the kinds in turn. Extents are log-uniform, and as often odd, prime or one beside a power of two as they are
round, since choices made for round ones are what such graphs are to find out. Shapes are static.

  norm       a normalisation or softmax over rows, of a given axis, with elementwise operations around it
  reduce     sums, means and maxima over any axes, the map beside them as a result or not
  product    matrices transposed or not, batched, behind elementwise prologues, before biases, activations, residuals and norms
  attention  masks as exporters write them: none, causal, padding, added or chosen by Where, sliding windows, biases; any head width
  conv       1x1 to 7x7, strides, dilations, depthwise and grouped, with what follows them
  map        elementwise chains over broadcasts, transposes, slices, concatenations
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import math
import random
from typing import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 22
TYPES = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT}
MOST_ELEMENTS = 1 << 26  # Of a tensor.
UNARY = ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Neg", "Abs", "Sqrt", "HardSwish", "Gelu", "Softplus", "Elu", "LeakyRelu")


class Graph:
    """A graph in the making. `value(kind, *operands)` adds a node; shapes are ONNX's own inference's affair."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.dtype = self.rng.choices(list(TYPES), (3, 4, 3))[0]
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.count = 0

    def extent(self, low: int, high: int, multiple: int = 1) -> int:
        """Log-uniform in [low, high]; mostly as drawn, now and then the next multiple of 64, or one beside a power of two."""
        n = round(math.exp(self.rng.uniform(math.log(low), math.log(high))))
        shape = self.rng.random()
        if shape < 0.3 and n >= 64:
            n = (n + 63) // 64 * 64
        elif shape < 0.45 and n >= 16:
            n = 2 ** round(math.log2(n)) + self.rng.choice((-1, 0, 1))
        return max(low, min(high, max(1, n // multiple) * multiple))

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def input(self, *shape: int, dtype: str | int | None = None) -> str:
        kind = dtype if isinstance(dtype, int) else TYPES[dtype or self.dtype]
        self.inputs.append(helper.make_tensor_value_info(f"x{len(self.inputs)}", kind, shape))
        return self.inputs[-1].name

    def constant(self, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def number(self, value: float) -> str:
        """A scalar of the graph's type."""
        name = f"c{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, TYPES[self.dtype], (), [value]))
        return name

    def value(self, kind: str, *operands: str, domain: str = "", outputs: int = 1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, operands, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def unary(self, x: str, most: int = 2) -> str:
        """Up to `most` elementwise operations, a scale or an addend among them."""
        for _ in range(self.rng.randint(0, most)):
            pick = self.rng.random()
            if pick < 0.25:
                x = self.value("Mul", x, self.number(self.rng.uniform(0.1, 2)))
            elif pick < 0.4:
                x = self.value("Mul", x, self.value("Sigmoid", x))
            else:
                x = self.value(self.rng.choice(UNARY), x)
        return x

    def model(self, *results: str) -> onnx.ModelProto:
        outputs = [helper.make_empty_tensor_value_info(r) for r in results]
        graph = helper.make_graph(self.nodes, "full_size", self.inputs, outputs, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True, data_prop=True)
        for given, found in zip(graph.output, inferred.graph.output):
            given.CopyFrom(found)
        made.graph.CopyFrom(graph)
        onnx.checker.check_model(made, full_check=True)
        return made


def _rows(g: Graph, width: int, rank: int) -> list[int]:
    """Leading extents of a tensor of that rank whose last one is `width`."""
    left = max(1, min(MOST_ELEMENTS // width, g.extent(1, 32768)))
    lead = []
    for d in range(rank - 2):
        lead.append(g.extent(1, max(1, min(left, 64))))
        left = max(1, left // lead[-1])
    return [*lead, left]


def _norm(g: Graph) -> onnx.ModelProto:
    rank, width = g.rng.choice((2, 3, 3, 4)), g.extent(24, 20000)
    shape = [*_rows(g, width, rank), width]
    axis = -1 if g.rng.random() < 0.75 else g.rng.randrange(rank)
    x = g.input(*shape)
    if g.rng.random() < 0.4:
        x = g.value("Add", x, g.input(*shape))
    residual, x = x, g.unary(x, 1)
    kind = g.rng.choice(("layer", "layer", "rms", "softmax", "logsoftmax", "variance", "lp"))
    if kind == "layer" and axis == -1:
        y = g.value("LayerNormalization", x, g.input(width), g.input(width), axis=-1)
    elif kind == "rms" and axis == -1:
        square = g.value("ReduceMean", g.value("Mul", x, x), g.constant(np.array([-1])))
        y = g.value("Mul", g.value("Div", x, g.value("Sqrt", g.value("Add", square, g.number(1e-3)))), g.input(width))
    elif kind in ("softmax", "logsoftmax"):
        y = g.value("Softmax" if kind == "softmax" else "LogSoftmax", x, axis=axis)
    elif kind == "lp":
        y = g.value("Div", x, g.value("ReduceL2", x, g.constant(np.array([axis]))))
    else:  # As graphs that were traced have it.
        axes = g.constant(np.array([axis]))
        centred = g.value("Sub", x, g.value("ReduceMean", x, axes))
        variance = g.value("ReduceMean", g.value("Mul", centred, centred), axes)
        y = g.value("Div", centred, g.value("Sqrt", g.value("Add", variance, g.number(1e-3))))
    y = g.unary(y, 2)
    return g.model(*([y, residual] if residual in g.nodes[0].output and g.rng.random() < 0.5 else [y]))


def _reduce(g: Graph) -> onnx.ModelProto:
    rank, width = g.rng.choice((2, 3, 4)), g.extent(3, 8192)
    shape = [*_rows(g, width, rank), width]
    axes = sorted(g.rng.sample(range(rank), g.rng.randint(1, rank)))
    x = g.unary(g.input(*shape), 2)
    kind = g.rng.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp", "ReduceMin"))
    y = g.value(kind, x, g.constant(np.array(axes)), keepdims=g.rng.randint(0, 1))
    results = [g.unary(y, 1)]
    if g.nodes[0].op_type != kind and g.rng.random() < 0.4:
        results.append(x)
    return g.model(*[r for r in results if any(r in n.output for n in g.nodes)])


def _matrix(g: Graph, batch: Sequence[int], rows: int, columns: int) -> str:
    """[batch, rows, columns], as such or as a view of another order, behind an elementwise prologue now and then."""
    order = g.rng.random()
    lead = list(range(len(batch)))
    if order < 0.6:
        x = g.input(*batch, rows, columns)
    elif order < 0.85 or not batch:
        x = g.value("Transpose", g.input(*batch, columns, rows), perm=[*lead, len(lead) + 1, len(lead)])
    else:  # Heads inside of the rows: [rows, batch, columns].
        x = g.value("Transpose", g.input(rows, *batch, columns), perm=[*[d + 1 for d in lead], 0, len(lead) + 1])
    return g.unary(x, 1) if g.rng.random() < 0.25 else x


def _product(g: Graph) -> onnx.ModelProto:
    batch = [g.extent(2, 48)] if g.rng.random() < 0.35 else []
    most = 1024 if batch else 8192
    m, n, k = g.extent(1, most), g.extent(8, most), g.extent(8, most)
    while m * n * max(1, *batch, 1) > MOST_ELEMENTS:
        m //= 2
    a, b = _matrix(g, batch, m, k), _matrix(g, batch if g.rng.random() < 0.8 else [], k, n)
    y = g.value("MatMul", a, b)
    if g.rng.random() < 0.6:
        y = g.value("Add", y, g.input(n))
    y = g.unary(y, 2)
    end = g.rng.random()
    if end < 0.2:
        y = g.value("Add", y, g.input(*batch, m, n))
    elif end < 0.3:
        y = g.value("Mul", y, g.value("MatMul", a, _matrix(g, batch, k, n)))
    elif end < 0.4:
        y = g.value("LayerNormalization", g.value("Add", y, g.input(*batch, m, n)), g.input(n), g.input(n), axis=-1)
    elif end < 0.5:
        y = g.value("MatMul", y, _matrix(g, batch, n, g.extent(8, 512)))
    elif end < 0.6:
        y = g.value("Softmax", y, axis=-1)
    return g.model(y)


def _masked(g: Graph, scores: str, batch: int, heads: int, queries: int, keys: int) -> str:
    kind = g.rng.choice(("none", "causal add", "causal where", "padding add", "padding where", "bias", "head bias", "window"))
    rows, columns = np.arange(queries)[:, None], np.arange(keys)[None]
    least = {"f16": -65504.0, "bf16": -1e38, "f32": -3.4e38}[g.dtype]
    if kind in ("causal add", "causal where", "window") and queries * keys > 1 << 22:
        kind = "padding add"  # A mask of that size would fill the file.
    if kind in ("causal add", "window"):
        shown = rows >= columns - (keys - queries)
        if kind == "window":
            shown &= rows - columns < max(1, keys // 4)
        return g.value("Add", scores, g.value("Mul", g.value("Cast", g.constant(~shown), to=TYPES[g.dtype]), g.number(least)))
    if kind == "causal where":
        return g.value("Where", g.constant(rows >= columns - (keys - queries)), scores, g.number(least))
    if kind == "padding add":
        return g.value("Add", scores, g.input(batch, 1, 1, keys))
    if kind == "padding where":
        return g.value("Where", g.input(batch, 1, 1, keys, dtype=TensorProto.BOOL), scores, g.number(least))
    if kind in ("bias", "head bias"):
        return g.value("Add", scores, g.input(1, heads if kind == "head bias" else 1, queries, keys))
    return scores


def _attention(g: Graph) -> onnx.ModelProto:
    batch, heads, width = g.rng.choice((1, 1, 2, 4)), g.rng.choice((1, 3, 8, 12, 16, 25)), g.rng.choice(range(32, 257, 8))
    queries = g.extent(1, 4096)
    keys = queries if g.rng.random() < 0.6 else g.extent(1, 8192)
    value_width = width if g.rng.random() < 0.8 else g.rng.choice(range(32, 257, 8))

    def heads_of(tokens: int, features: int) -> str:
        if g.rng.random() < 0.5:
            return g.input(batch, heads, tokens, features)
        return g.value("Transpose", g.input(batch, tokens, heads, features), perm=[0, 2, 1, 3])

    q, k, v = heads_of(queries, width), heads_of(keys, width), heads_of(keys, value_width)
    scale = g.number(width ** -0.5)
    q = g.value("Mul", q, scale) if g.rng.random() < 0.3 else q
    scores = g.value("MatMul", q, g.value("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.value("Mul", scores, scale) if g.rng.random() < 0.6 else scores
    scores = g.value("Tanh", scores) if g.rng.random() < 0.1 else scores  # Soft caps.
    y = g.value("MatMul", g.value("Softmax", _masked(g, scores, batch, heads, queries, keys), axis=-1), v)
    if g.rng.random() < 0.5:
        y = g.value("Reshape", g.value("Transpose", y, perm=[0, 2, 1, 3]), g.constant(np.array([batch, queries, heads * value_width])))
    return g.model(y)


def _conv(g: Graph) -> onnx.ModelProto:
    depthwise, size = g.rng.random() < 0.35, g.rng.choice((1, 1, 3, 3, 5, 7))
    batch, height = g.rng.choice((1, 1, 2, 8)), g.extent(5, 224)
    channels, filters = g.extent(3, max(4, min(1024, 1 << 23 // (height * height)))), g.extent(4, 1024)
    stride, dilation = g.rng.choice((1, 1, 2)), g.rng.choice((1, 1, 1, 2)) if size > 1 else 1
    pad = min(dilation * (size - 1) // 2, height - 1)
    if depthwise:
        filters = channels
    x = g.input(batch, channels, height, height)
    y = g.value("Conv", x, g.input(filters, 1 if depthwise else channels, size, size), g.input(filters), group=channels if depthwise else 1,
                strides=[stride] * 2, dilations=[dilation] * 2, pads=[pad] * 4)
    y = g.unary(y, 2)
    end = g.rng.random()
    results = [y]
    if end < 0.2 and stride == 1 and filters == channels and 2 * pad == dilation * (size - 1):
        results = [g.value("Add", y, x)]
    elif end < 0.35:
        results.append(g.value("GlobalAveragePool", y))
    elif end < 0.5:
        results = [g.value("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)]
    return g.model(*[r for r in results if any(r in n.output for n in g.nodes)])


def _map(g: Graph) -> onnx.ModelProto:
    rank = g.rng.choice((2, 3, 4))
    width = g.extent(1, 8192)
    shape = [*_rows(g, width, rank), width]
    x = g.input(*shape)
    for _ in range(g.rng.randint(1, 4)):
        pick = g.rng.random()
        if pick < 0.35:
            x = g.value(g.rng.choice(("Add", "Mul", "Sub", "Max")), x, g.input(*[n if g.rng.random() < 0.6 else 1 for n in shape]))
        elif pick < 0.6:
            order = g.rng.sample(range(rank), rank)
            x, shape = g.value("Transpose", x, perm=order), [shape[d] for d in order]
        elif pick < 0.75:
            axis = g.rng.randrange(rank)
            half = max(1, shape[axis] // 2)
            low, high = g.value("Slice", x, *[g.constant(np.array([n])) for n in (0, half, axis)]), None
            high = g.value("Slice", x, *[g.constant(np.array([n])) for n in (shape[axis] - half, shape[axis], axis)])
            if g.rng.random() < 0.5:
                x, shape = g.value("Concat", g.value("Neg", high), low, axis=axis), [2 * half if d == axis else n for d, n in enumerate(shape)]
            else:
                x, shape = g.value("Mul", low, g.value("Sigmoid", high)), [half if d == axis else n for d, n in enumerate(shape)]
        else:
            x = g.unary(x, 2)
    return g.model(g.value("Relu", x))


KINDS: dict[str, Callable[[Graph], onnx.ModelProto]] = {"norm": _norm, "reduce": _reduce, "product": _product, "attention": _attention,
                                                        "conv": _conv, "map": _map}


def name_of(seed: int) -> str:
    """`norm 12`, ..."""
    return f"{list(KINDS)[seed % len(KINDS)]} {seed}"


def draw(seed: int) -> tuple[str, onnx.ModelProto]:
    """(name, model) of that seed."""
    name = name_of(seed)
    return name, KINDS[name.split()[0]](Graph(seed))
