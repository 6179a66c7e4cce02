"""Attention under masks as exporters spell them, of symbolic extents.

Inputs query [batch, heads, sequence, width], key and value [batch, heads, sequence, width] behind past_key and past_value
[batch, heads, past, width], and what the mask reads; output y.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self, dtype: type, lowest: float):
        self.dtype, self.lowest = np.dtype(dtype), lowest
        self.nodes, self.weights, self.inputs = [], [], {}

    def op(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"{kind.lower()}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def array(self, values: object, dtype: object = np.int64) -> str:
        values = np.array(values, dtype)
        name = f"{values.dtype}.{'x'.join(map(str, values.ravel()[:8]))}.{values.ndim}"
        if all(tensor.name != name for tensor in self.weights):
            self.weights.append(numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        return self.array(value, self.dtype)

    def read(self, name: str, *extents: str, of: int = TensorProto.INT64) -> str:
        self.inputs[name] = (of, extents)
        return name

    def cast(self, x: str, to: object) -> str:
        return self.op("Cast", x, to=to if isinstance(to, int) else helper.np_dtype_to_tensor_dtype(np.dtype(to)))

    def extent(self, of: str, axis: int) -> str:
        return self.op("Gather", self.op("Shape", of), self.array(axis))

    def line(self, *extents: str) -> str:
        return self.op("Concat", *(self.op("Unsqueeze", extent, self.array([0])) for extent in extents), axis=0)

    @property
    def queries(self) -> str:
        return self.extent("query", 2)

    @property
    def keys(self) -> str:
        return self.extent("keys", 2)

    @property
    def past(self) -> str:
        return self.op("Sub", self.keys, self.queries)

    def range(self, start: str, stop: str) -> str:
        return self.op("Range", start, stop, self.array(1))

    def columns(self) -> str:
        return self.range(self.array(0), self.keys)

    def rows(self) -> str:
        """The places of the queries, as a column."""
        return self.op("Unsqueeze", self.range(self.past, self.keys), self.array([1]))

    def additive(self, seen: str) -> str:
        return self.op("Where", seen, self.number(0), self.number(self.lowest))


def range_less(g: Graph) -> str:
    """PyTorch's _make_causal_mask: columns < rows + 1."""
    return g.additive(g.op("Less", g.columns(), g.op("Add", g.rows(), g.array(1))))


def greater(g: Graph) -> str:
    """Masked where column > row, in float indices as older exporters make them."""
    return g.op("Where", g.op("Greater", g.columns(), g.rows()), g.number(g.lowest), g.number(0))


def trilu_bool(g: Graph) -> str:
    """SDPA's is_causal: tril(ones(L, S, bool), S - L)."""
    ones = g.op("ConstantOfShape", g.line(g.queries, g.keys), value=helper.make_tensor("v", TensorProto.INT64, [1], [1]))
    return g.additive(g.cast(g.op("Trilu", ones, g.past, upper=0), np.bool_))


def trilu_full(g: Graph) -> str:
    """triu(full(lowest), 1 + past)."""
    full = g.op("Expand", g.number(g.lowest), g.line(g.queries, g.keys))
    return g.op("Trilu", full, g.op("Add", g.past, g.array(1)), upper=1)


def full_times(g: Graph) -> str:
    """transformers 4.38 to 4.48: triu(full(lowest), 1) if sequence > 1, times (columns > cache_position)."""
    full = g.op("ConstantOfShape", g.line(g.queries, g.keys), value=helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(g.dtype), [1], [g.lowest]))
    behind = g.cast(g.op("Greater", g.columns(), g.rows()), g.dtype)
    return g.op("Mul", full, behind)


def cumsum(g: Graph) -> str:
    """Positions by CumSum of ones."""
    ones = g.op("Expand", g.array([1]), g.line(g.keys))
    columns = g.op("Sub", g.op("CumSum", ones, g.array(0)), g.array(1))
    return g.additive(g.op("LessOrEqual", columns, g.rows()))


def buffer_slice(g: Graph, dtype: type = np.bool_) -> str:
    """GPT-2: tril(ones(n, n), bool)[past:total, :total] of a stored buffer."""
    table = numpy_helper.from_array(np.tril(np.ones((1, 1, 128, 128), dtype)), "bias")
    g.weights.append(table)
    rows = g.op("Slice", "bias", g.op("Unsqueeze", g.past, g.array([0])), g.op("Unsqueeze", g.keys, g.array([0])), g.array([2]), g.array([1]))
    seen = g.op("Slice", rows, g.array([0]), g.op("Unsqueeze", g.keys, g.array([0])), g.array([3]), g.array([1]))
    return g.additive(seen if dtype == np.bool_ else g.cast(seen, np.bool_))


def buffer_bytes(g: Graph) -> str:
    """The same of bytes, as GPT-2 stored them up to transformers 4.29."""
    return buffer_slice(g, np.uint8)


def window(g: Graph, width: int = 24) -> str:
    """Mistral's: causal, and no further back than `width` places."""
    columns, rows = g.columns(), g.rows()
    far = g.op("LessOrEqual", columns, g.op("Sub", rows, g.array(width)))
    return g.additive(g.op("And", g.op("LessOrEqual", columns, rows), g.op("Not", far)))


def window_or(g: Graph, width: int = 24) -> str:
    """The same as a number where either side is masked."""
    columns, rows = g.columns(), g.rows()
    distance = g.op("Sub", rows, columns)
    out = g.op("Or", g.op("Less", distance, g.array(0)), g.op("GreaterOrEqual", distance, g.array(width)))
    return g.op("Where", out, g.number(g.lowest), g.number(0))


def positions(g: Graph) -> str:
    """cache_position is data."""
    rows = g.op("Unsqueeze", g.read("cache_position", "sequence"), g.array([1]))
    return g.op("Where", g.op("Greater", g.columns(), rows), g.number(g.lowest), g.number(0))


def causal_padding(g: Graph) -> str:
    """Llama: the padding's Where around the causal one."""
    padding = g.cast(g.op("Unsqueeze", g.read("attention_mask", "batch", "total"), g.array([1, 2])), np.bool_)
    causal = g.op("Unsqueeze", range_less(g), g.array([0, 1]))
    return g.op("Where", padding, causal, g.number(g.lowest))


def causal_plus_padding(g: Graph) -> str:
    """transformers 4.30: inverted padding, then the sum of both, clipped by Where."""
    padding = g.cast(g.op("Unsqueeze", g.read("attention_mask", "batch", "total"), g.array([1, 2])), g.dtype)
    inverted = g.op("Sub", g.number(1), padding)
    inverted = g.op("Where", g.cast(inverted, np.bool_), g.number(g.lowest), inverted)
    return g.op("Add", g.op("Unsqueeze", range_less(g), g.array([0, 1])), inverted)


def padding_filled(g: Graph) -> str:
    """transformers 4.40: masked_fill(causal + mask == 0, lowest)."""
    padding = g.cast(g.op("Unsqueeze", g.read("attention_mask", "batch", "total"), g.array([1, 2])), g.dtype)
    causal = g.op("Expand", g.op("Unsqueeze", full_times(g), g.array([0, 1])), g.op("Concat", g.line(g.extent("query", 0)), g.array([1, 1, 1]), axis=0))
    hidden = g.op("Equal", g.op("Add", causal, padding), g.number(0))
    return g.op("Where", hidden, g.number(g.lowest), causal)


def padding(g: Graph) -> str:
    """BERT: (1 - mask) * lowest."""
    mask = g.cast(g.op("Unsqueeze", g.read("attention_mask", "batch", "total"), g.array([1, 2])), g.dtype)
    return g.op("Mul", g.op("Sub", g.number(1), mask), g.number(g.lowest))


def vmap(g: Graph) -> str:
    """transformers 4.53: booleans, causal and the padding gathered, on four dimensions."""
    columns = g.op("Unsqueeze", g.columns(), g.array([0, 1, 2]))
    rows = g.op("Unsqueeze", g.range(g.past, g.keys), g.array([0, 1, 3]))
    seen = g.cast(g.op("Unsqueeze", g.read("attention_mask", "batch", "total"), g.array([1, 2])), np.bool_)
    return g.additive(g.op("And", g.op("LessOrEqual", columns, rows), seen))


SPELLINGS = {f.__name__: f for f in (range_less, greater, trilu_bool, trilu_full, full_times, cumsum, buffer_slice, buffer_bytes, window, window_or, positions,
                                     causal_padding, causal_plus_padding, padding_filled, padding, vmap)}


def attention(path: pathlib.Path, spelling: str, dtype: type = np.float32, lowest: float | None = None, heads: int = 2, width: int = 32, wide: bool = False,
              early: bool = False, **fixed: int) -> pathlib.Path:
    """softmax(query key^T / root + mask) value; `wide`: the mask and the softmax are in f32; `early`: queries and keys are divided, not what they give,
    as by PyTorch's exporter. `fixed`: extents of named dimensions."""
    of_mask = np.float32 if wide else dtype
    g = Graph(of_mask, float(np.finfo(of_mask).min) if lowest is None else lowest)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    g.read("query", "batch", heads, "sequence", width, of=element)
    for name in ("key", "value"):
        g.read(name, "batch", heads, "sequence", width, of=element)
        g.read(f"past_{name}", "batch", heads, "past", width, of=element)
        g.nodes.append(helper.make_node("Concat", [f"past_{name}", name], [f"{name}s"], name=f"{name}s", axis=2))
    scaled = {name: g.op("Mul", name, g.array(width ** -0.25, dtype)) if early else name for name in ("query", "keys")}
    scores = g.op("MatMul", scaled["query"], g.op("Transpose", scaled["keys"], perm=[0, 1, 3, 2]))
    if not early:
        scores = g.op("Mul", scores, g.array(width ** -0.5, dtype))
    if wide:
        scores = g.cast(scores, np.float32)
    scores = g.op("Add", scores, SPELLINGS[spelling](g))
    weights = g.op("Softmax", scores, axis=-1)
    if wide:
        weights = g.cast(weights, dtype)
    g.nodes.append(helper.make_node("MatMul", [weights, "values"], ["y"], name="y"))
    inputs = [helper.make_tensor_value_info(name, of, [fixed.get(extent, extent) for extent in extents]) for name, (of, extents) in g.inputs.items()]
    y = helper.make_tensor_value_info("y", element, [fixed.get(extent, extent) for extent in ("batch", heads, "sequence", width)])
    graph = helper.make_graph(g.nodes, spelling, inputs, [y], g.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="weft-test"), path)
    return path


def group_query(path: pathlib.Path, capacity: int, dtype: type = np.float16, heads: int = 4, key_heads: int = 2, width: int = 32) -> pathlib.Path:
    """GroupQueryAttention of symbolic batch and sequence: each sequence of the batch ends at its own length."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    tensor = helper.make_tensor_value_info
    inputs = [tensor("query", element, ["batch", "sequence", heads * width])]
    inputs += [tensor(name, element, ["batch", "sequence", key_heads * width]) for name in ("key", "value")]
    caches = {name: ["batch", key_heads, capacity, width] for name in ("key", "value")}
    inputs += [tensor(f"past_{name}", element, extents) for name, extents in caches.items()]
    inputs += [tensor("seqlens_k", TensorProto.INT32, ["batch"]), tensor("total", TensorProto.INT32, [1])]
    outputs = [tensor("y", element, ["batch", "sequence", heads * width])]
    outputs += [tensor(f"present_{name}", element, extents) for name, extents in caches.items()]
    node = helper.make_node("GroupQueryAttention", [value.name for value in inputs], [value.name for value in outputs], name="y", domain="com.microsoft",
                            num_heads=heads, kv_num_heads=key_heads)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(helper.make_graph([node], "ragged", inputs, outputs), opset_imports=opsets, ir_version=9, producer_name="weft-test"), path)
    return path


def static_cache(path: pathlib.Path, capacity: int, dtype: type = np.float16, heads: int = 2, width: int = 32) -> pathlib.Path:
    """Attention over a cache of a fixed capacity, rows of which are written at cache_position: transformers' StaticCache. The keys as index_copy is
    exported (N-dimensional updates of a transposed tensor), the values with an index for each element."""
    g, element = Graph(dtype, float("-inf")), helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for name in ("query", "key", "value"):
        g.read(name, "batch", heads, "sequence", width, of=element)
    for name in ("past_key", "past_value"):
        g.read(name, "batch", heads, capacity, width, of=element)
    at = g.read("cache_position", "sequence")
    first = (2, 0, 1, 3)
    moved = g.op("ScatterND", g.op("Transpose", "past_key", perm=first), g.op("Unsqueeze", at, g.array([-1])), g.op("Transpose", "key", perm=first))
    g.nodes.append(helper.make_node("Transpose", [moved], ["present_key"], name="present_key", perm=(1, 2, 0, 3)))
    each = g.op("Expand", g.op("Unsqueeze", at, g.array([0, 1, 3])), g.op("Shape", "value"))
    g.nodes.append(helper.make_node("ScatterElements", ["past_value", each, "value"], ["present_value"], name="present_value", axis=2))
    scores = g.op("MatMul", "query", g.op("Transpose", "present_key", perm=[0, 1, 3, 2]))
    seen = g.op("LessOrEqual", g.range(g.array(0), g.array(capacity)), g.op("Unsqueeze", at, g.array([1])))
    scores = g.op("Add", g.op("Mul", scores, g.array(width ** -0.5, dtype)), g.additive(seen))
    g.nodes.append(helper.make_node("MatMul", [g.op("Softmax", scores, axis=-1), "present_value"], ["y"], name="y"))
    inputs = [helper.make_tensor_value_info(name, of, extents) for name, (of, extents) in g.inputs.items()]
    extents = {"y": "sequence", "present_key": capacity, "present_value": capacity}
    outputs = [helper.make_tensor_value_info(name, element, ["batch", heads, rows, width]) for name, rows in extents.items()]
    graph = helper.make_graph(g.nodes, "static_cache", inputs, outputs, g.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="weft-test"), path)
    return path
